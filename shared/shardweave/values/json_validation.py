"""A JSON value read by a model: all of its faults at once, and no number that becomes another one.

Guarantees: a number of the value is read as exactly the number that its text says, or refused. JSON's readers make a
double of what is not whole; one that a double does not give back (`0.30000000000000000000000001`, `1e-400`) stays a
Decimal from `json_number` on, which is how it is told here.
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
"""Members that a model has not which are told one by one; of others it is told how many they are."""


def read_model(model: type[M], value: Mapping[str, Any], every_digit: Collection[str] = ()) -> M:
    """What a model reads from a JSON object. `every_digit` names the members whose numbers are taken from the object
    itself, so that what the model has of them may be near. Raises ValidationFailed that lists every fault, or
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
    """The object with no more members that the model has not than are told one by one, and how many were left out."""
    if model.model_config.get("extra") != "forbid":
        return value, 0
    known = {field.alias or name for name, field in model.model_fields.items()}
    unknown = [name for name in value if name not in known]
    left_out = set(unknown[MAX_UNKNOWN:])
    return {name: each for name, each in value.items() if name not in left_out}, len(left_out)


def field_faults(error: ValidationError, prefix: Iterable[str | int] = ()) -> list[FieldFault]:
    """Pydantic's faults as ours, without the input values."""
    start = tuple(prefix)
    return [
        FieldFault((*start, *each["loc"]), _message(each), each["type"])
        for each in error.errors(include_url=False, include_input=False)
    ]


def _message(fault: ErrorDetails) -> str:
    """Pydantic's words, but for those that show a part of the value, or speak of items where there may be none."""
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
    """Where the numbers are that no double gives back."""
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
