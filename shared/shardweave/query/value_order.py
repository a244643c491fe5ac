"""Order and equality of a property's values in a filter: those of DynamoDB, or the library's own where DynamoDB's
differ.

The table compares stored forms. That is the type's own comparison for texts, numbers, bytes, dates, instants and UUIDs.
    an Enum, true and false     ordered as declared, false first: an order test is a choice of members
    a codec whose texts sort and whose stored form does not (semantic versions)     by the codec's text, after reading
    time spans, times of day    by Python's comparison, after reading; for times of day that holds for equality too,
                                since 12:00+02:00 is 10:00Z

Values of different kinds (a number and a text, a time with a zone and one without) are unequal, and neither is less
than the other. Lists, sets and mappings have no order, nor have unions with an Enum, a bool or a codec.
"""

from __future__ import annotations

import datetime as dt
import enum
import types
import typing
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

from pydantic import BaseModel, ValidationError
from typing_extensions import is_typeddict

from ..errors import ValueRefused
from ..schema.property import Property
from ..table.conditions import OPERATORS, Comparator, Compare, Condition, Contains, OnAttribute
from ..table.values import Item, Value
from ..values.codecs import BinaryCodec, BooleanCodec, Codec, EnumCodec, SemanticVersionCodec, stands_for
from ..values.nested_types import is_dataclass, model_of
from ..values.stored_form import is_written_as_text

Place = Callable[[Value], Any]
"""A function from a stored value to the value that is compared instead; None for a value without a place in the
order."""

Kind = Literal["text", "bytes", "sorted", "span", "clock", "ranked", "coded", "list", "map", "none", "any"]
"""The kind of a type's values in filters. `sorted` sorts as it is stored and has no parts; `span` is a duration,
`clock` a time of day; `ranked` is an Enum, a bool, or an address, path or URL, whose text has another order; `coded`
has a custom codec; `any` is unknown."""

_KINDS: tuple[tuple[tuple[type, ...], Kind], ...] = (
    ((enum.Enum, bool), "ranked"),
    ((str,), "text"),
    ((bytes, bytearray), "bytes"),
    ((int, float, Decimal, dt.date, uuid.UUID), "sorted"),
    ((dt.timedelta,), "span"),
    ((dt.time,), "clock"),
    ((type(None),), "none"),
    ((Mapping, BaseModel), "map"),
)


@dataclass(frozen=True)
class ValueOrder:
    """The order of a property's values: as stored (if both fields are empty), in the order of `members`, or by their
    `place`, after reading."""

    members: tuple[Value, ...] = ()
    place: Place | None = None


AS_STORED = ValueOrder()


def order_of(each: Property) -> ValueOrder | None:
    """The order of a property's values, None if they have none."""
    codec = each.codec
    if isinstance(codec, EnumCodec):
        return AS_STORED if codec.by_value else ValueOrder(codec.values)
    if isinstance(codec, BooleanCodec):
        return ValueOrder((False, True))
    if codec is not None:
        return AS_STORED if codec.key_type is not None else ValueOrder(place=_by_codec(codec))
    kinds = kinds_of(each) - {"list", "map", "none"}
    if not kinds or kinds & {"ranked", "coded"}:
        return None
    return ValueOrder(place=_by_python(each)) if kinds & {"span", "clock"} else AS_STORED


def equality_of(each: Property) -> Place | None:
    """The function that decides whether two values of a property are equal, None if the stored forms are compared."""
    return _by_python(each) if each.codec is None and _has_clock(each.annotation, ()) else None


def kinds_of(each: Property) -> frozenset[Kind]:
    """The kinds of a property's values."""
    return frozenset(_kinds_in(each.annotation, ()))


def has_text(each: Property) -> bool:
    """Whether its values may be texts or bytes, which have parts."""
    if isinstance(each.codec, EnumCodec):
        return any(isinstance(value, (str, bytes)) for value in each.codec.values)
    if each.codec is None:
        return bool(kinds_of(each) & {"text", "bytes", "any"})
    return each.codec.is_text or isinstance(each.codec, (BinaryCodec, SemanticVersionCodec))


def has_length(each: Property) -> bool:
    """Whether its values may have a length: texts, bytes, or values with members."""
    if each.codec is None:
        return bool(kinds_of(each) & {"text", "bytes", "list", "map", "any"})
    return has_text(each) and (isinstance(each.codec, EnumCodec) or "sorted" not in kinds_of(each))


def may_be_none(each: Property) -> bool:
    """Whether None is among its values."""
    return bool(kinds_of(each) & {"none", "any"})


def _kinds_in(annotation: Any, within: tuple[Any, ...]) -> Iterator[Kind]:
    """`within` are the type aliases around a type, since an alias may be recursive."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        if any(isinstance(each, Codec) for each in arguments[1:]):
            yield "coded"
        else:
            yield from _kinds_in(arguments[0], within)
    elif origin in (typing.Union, types.UnionType):
        for each in arguments:
            yield from _kinds_in(each, within)
    elif origin is Literal:
        yield from (_kind_of_class(type(each)) for each in arguments)
    elif (meant := stands_for(annotation)) is not None:
        if annotation not in within:
            yield from _kinds_in(meant, (*within, annotation))
    else:
        yield "none" if annotation is None else _kind_of_class(annotation if origin is None else origin)


def _kind_of_class(kind: Any) -> Kind:
    if not isinstance(kind, type) or kind is object:
        return "any"
    found: Kind | None = next((kind_ for classes, kind_ in _KINDS if issubclass(kind, classes)), None)
    if found is not None:
        return found
    if is_written_as_text(kind):
        return "ranked"
    if is_typeddict(kind) or is_dataclass(kind):
        return "map"
    return "list" if issubclass(kind, Iterable) else "any"


def _has_clock(annotation: Any, within: tuple[Any, ...]) -> bool:
    """Whether a value may contain a time of day at any depth. `within` are the types around it."""
    if any(annotation is each for each in within):
        return False
    if isinstance(annotation, type) and issubclass(annotation, dt.time):
        return True
    parts = [*typing.get_args(annotation)]
    if typing.get_origin(annotation) is typing.Annotated:
        parts = parts[:1]
    elif (model := model_of(annotation)) is not None:
        parts = [each.annotation for each in model.model_fields.values()]
    elif (meant := stands_for(annotation)) is not None:
        parts.append(meant)
    return any(_has_clock(each, (*within, annotation)) for each in parts)


def _by_codec(codec: Codec) -> Place:
    def place(stored: Value) -> Any:
        try:
            return codec.encode(stored)
        except ValueRefused:
            return None

    return place


def _by_python(each: Property) -> Place:
    def place(stored: Value) -> Any:
        try:
            return each.python(stored)
        except ValidationError:
            return None

    return place


def stand_in(place: Place, left: Value, comparator: Comparator, right: Value) -> bool:
    """The result of a comparison of two stored values by their places: false for a value without a place, except for
    `<>`."""
    one, other = place(left), place(right)
    if one is None or other is None:
        return comparator == "<>"
    try:
        return bool(OPERATORS[comparator](one, other))
    except TypeError:
        return comparator == "<>"


@dataclass(frozen=True)
class PlacedCompare(Compare):
    """A comparison after reading, by the places of values."""

    place: Place = field(repr=False, compare=False)

    def evaluate(self, item: Item) -> bool:
        if item.get(self.attribute) is None:
            return self.operator == "<>"
        return stand_in(self.place, item[self.attribute], self.operator, self.value)


@dataclass(frozen=True)
class PlacedContains(Contains):
    """Whether a list holds a member, after reading, by the places of members."""

    place: Place = field(repr=False, compare=False)

    def evaluate(self, item: Item) -> bool:
        stored = item.get(self.attribute)
        return isinstance(stored, (list, tuple, set, frozenset)) and any(
            stand_in(self.place, each, "=", self.value) for each in stored
        )


@dataclass(frozen=True)
class OrMade(OnAttribute):
    """A test, after reading, of a property whose default is computed again for a record that lacks it."""

    test: Condition
    make: Callable[[], Value] = field(repr=False, compare=False)

    def evaluate(self, item: Item) -> bool:
        if self.attribute in item:
            return self.test.evaluate(item)
        made = self.make()
        return self.test.evaluate({**item, **({} if made is None else {self.attribute: made})})


AFTER_READING = (PlacedCompare, PlacedContains, OrMade)
"""Tests that DynamoDB can't evaluate."""
