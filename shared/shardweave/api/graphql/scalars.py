"""The types of properties in GraphQL.

A value is in a GraphQL answer what it is in the JSON of the rest of the API, and is taken as that: a scalar of GraphQL
says what is meant, and the same checks as over the other routes say what is wrong with a value. Models, mappings and
unions are `JSON`: they are asked for and written whole.
"""

from __future__ import annotations

import typing
from decimal import Decimal
from typing import Any

from graphql import (
    GraphQLBoolean,
    GraphQLError,
    GraphQLFloat,
    GraphQLList,
    GraphQLNonNull,
    GraphQLScalarType,
    GraphQLString,
    ValueNode,
)
from graphql.language import (
    BooleanValueNode,
    FloatValueNode,
    IntValueNode,
    ListValueNode,
    NullValueNode,
    ObjectValueNode,
    StringValueNode,
)

from ...schema.property import Property
from ...values.codecs import (
    BinaryCodec,
    BooleanCodec,
    DateCodec,
    DateTimeCodec,
    DecimalCodec,
    EnumCodec,
    IntegerCodec,
    StringCodec,
    TimestampCodec,
    UuidCodec,
    codec_of,
)
from ...values.json_types import json_number, without_none

MAX_DIGITS = 100


def literal_value(node: ValueNode) -> Any:
    """What a literal says, as its JSON does. Raises GraphQLError for a number that no JSON body may have."""
    match node:
        case IntValueNode() | FloatValueNode():
            return _number_of(node)
        case StringValueNode() | BooleanValueNode():
            return node.value
        case NullValueNode():
            return None
        case ListValueNode():
            return [literal_value(each) for each in node.values]
        case ObjectValueNode():
            return {each.name.value: literal_value(each.value) for each in node.fields}
        case _:
            raise GraphQLError("must be a number, a text in quotes, true, false, a list or an object", node)


def _number_of(node: IntValueNode | FloatValueNode) -> int | float | Decimal:
    text = node.value
    if len(text) > MAX_DIGITS:
        raise GraphQLError("a number has too many digits", node)
    try:
        return int(text) if isinstance(node, IntValueNode) else json_number(text)
    except ArithmeticError:
        raise GraphQLError("a number has too many digits", node) from None


def _given(value: Any) -> Any:
    return value


def _json_scalar(name: str, description: str) -> GraphQLScalarType:
    return GraphQLScalarType(
        name,
        coerce_output_value=_given,
        coerce_input_value=_given,
        coerce_input_literal=literal_value,
        description=description,
    )


LONG = _json_scalar("Long", "A whole number of any size.")
TIMESTAMP = _json_scalar("Timestamp", "Epoch milliseconds or seconds; in conditions and filters ISO 8601 text, too.")
DECIMAL = _json_scalar("Decimal", "A decimal number as text, such as `1.10`.")
DATE_TIME = _json_scalar("DateTime", "A date and time, as ISO 8601 text.")
DATE = _json_scalar("Date", "A date, as ISO 8601 text.")
BYTES = _json_scalar("Bytes", "Bytes, as base64url text.")
JSON = _json_scalar("JSON", "Any JSON value.")

_BY_CODEC = (
    (TimestampCodec, TIMESTAMP),
    (BooleanCodec, GraphQLBoolean),
    (DecimalCodec, DECIMAL),
    (DateTimeCodec, DATE_TIME),
    (DateCodec, DATE),
    (BinaryCodec, BYTES),
    (UuidCodec, GraphQLString),
    (StringCodec, GraphQLString),
    (IntegerCodec, LONG),
)


def type_of(each: Property) -> Any:
    """The type of a property's values, nullable."""
    return type_of_annotation(each.annotation, each.codec, each.members)


def scalar_of(each: Property) -> GraphQLScalarType:
    """The type of one value in a condition or a filter: of a list's members."""
    found = type_of(each if each.members is None else each.members)
    return found if isinstance(found, GraphQLScalarType) else JSON


def type_of_annotation(annotation: Any, codec: Any = None, members: Property | None = None) -> Any:
    """The type of values of a Python type, nullable."""
    plain = without_none(annotation)
    while typing.get_origin(plain) is typing.Annotated:
        plain = typing.get_args(plain)[0]
    codec = codec or codec_of(annotation)
    if isinstance(codec, EnumCodec):
        return GraphQLString if all(isinstance(each, str) for each in codec.values) else JSON
    for kind, scalar in _BY_CODEC:
        if isinstance(codec, kind):
            return scalar
    if plain in (str, int, float, Decimal):
        return {str: GraphQLString, int: LONG, float: GraphQLFloat, Decimal: DECIMAL}[plain]
    if members is not None and typing.get_origin(plain) in (list, set, frozenset):
        return GraphQLList(GraphQLNonNull(type_of(members)))
    return JSON
