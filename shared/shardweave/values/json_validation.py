"""Validating JSON by a model: all faults together, and no number is changed.

Guarantees: a number is read exactly as in its text, or refused. JSON parsers convert fractions to doubles; a number
that a double can't represent (`0.30000000000000000000000001`, `1e-400`) becomes a Decimal in `json_number`, by which it
is recognized here.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeVar

from pydantic import BaseModel, ValidationError

from ..errors import FieldFault, ValidationFailed
from .json_types import is_inexact, json_bytes

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

M = TypeVar("M", bound=BaseModel)

Place = tuple[str | int, ...]

MAX_UNKNOWN = 100
"""The maximum number of unknown members that are listed; of others only their number is reported."""


def read_model(model: type[M], value: Mapping[str, Any], every_digit: Collection[str] = ()) -> M:
    """The result of a model for a JSON object. `every_digit` names the members whose numbers the caller takes from the
    object itself, so that the model's numbers may be rounded. Raises ValidationFailed that lists every fault, or
    MalformedRequest for text without UTF-8."""
    faults: list[FieldFault] = []
    value, more = with_few_unknown(model, value)
    try:
        read = model.model_validate_json(json_bytes(value), strict=True, by_alias=True, by_name=False)
    except ValidationError as error:
        faults = field_faults(error)
    named = [fault.location for fault in faults]
    for place in _inexact_places(value):
        if place[0] not in every_digit and not any(_overlap(place, other) for other in named):
            message = "Readers of JSON make another number of it: write fewer digits, or a decimal as text"
            faults.append(FieldFault(place, message, "number_inexact"))
    if faults:
        raise ValidationFailed(faults, more=more)
    return read


def with_few_unknown(model: type[BaseModel], value: Mapping[str, Any]) -> tuple[Mapping[str, Any], int]:
    """The object without the unknown members beyond those that are listed, and their number."""
    if model.model_config.get("extra") != "forbid":
        return value, 0
    known = {field.alias or name for name, field in model.model_fields.items()}
    unknown = [name for name in value if name not in known]
    left_out = set(unknown[MAX_UNKNOWN:])
    return {name: each for name, each in value.items() if name not in left_out}, len(left_out)


def field_faults(error: ValidationError, prefix: Iterable[str | int] = ()) -> list[FieldFault]:
    """Pydantic's errors as faults, without the input values."""
    start = tuple(prefix)
    return [
        FieldFault((*start, *each["loc"]), _message(each), each["type"])
        for each in error.errors(include_url=False, include_input=False)
    ]


def _message(fault: ErrorDetails) -> str:
    """Pydantic's message, except for messages that contain a part of the value, or mention items for values without
    items."""
    context = fault.get("ctx", {})
    match fault["type"]:
        case "bytes_invalid_encoding":
            return "Input should be base64url (RFC 4648), with its padding"
        case "uuid_parsing":
            return "Input should be a valid UUID"
        case "union_tag_invalid":
            return f"Input should be of one of the kinds {context.get('expected_tags')}"
        case "too_long" | "too_short" if context.get("field_type") == "Value":
            limit = context.get("max_length", context.get("min_length"))
            return f"Its length should be at {'most' if fault['type'] == 'too_long' else 'least'} {limit}"
    return fault["msg"]


def _inexact_places(value: Mapping[str, Any]) -> Iterator[Place]:
    """The places of numbers that a double can't represent."""
    unread: list[tuple[Place, Any]] = [((), value)]
    while unread:
        place, each = unread.pop()
        if isinstance(each, Mapping):
            unread += [((*place, name), one) for name, one in each.items()]
        elif isinstance(each, (list, tuple)):
            unread += [((*place, at), one) for at, one in enumerate(each)]
        elif isinstance(each, Decimal) and is_inexact(each):
            yield place


def _overlap(one: Place, other: Place) -> bool:
    shorter = min(len(one), len(other))
    return one[:shorter] == other[:shorter]
