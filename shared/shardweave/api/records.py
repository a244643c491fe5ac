"""Records as JSON text.

The key of a record that has one comes first. A property without a value is left out, or null where leaving it out would
say its default, so that a record that is read says the same when it is written; bytes are base64, decimals text,
so that every digit stays. A number in a value without a declared type (a property of type `dict[str, Any]`, say) is a
JSON number again, as it was given, although the table keeps it as a decimal; only one that no JSON reader would read
back exactly stays text.
"""

from __future__ import annotations

import json
import typing
from collections.abc import Mapping, Set
from decimal import Decimal
from functools import cache
from typing import Any

from pydantic import BaseModel

from ..entity import Entity


def record_json(record: Entity, key: str = "", private: Set[str] = frozenset()) -> bytes:
    """The JSON text of a record, with its key if it has one, without its `private` properties (Python names)."""
    hidden = {*private, *(name for name in _left_out_when_none(type(record)) if getattr(record, name) is None)}
    return _with_key(key, _closed(record).model_dump_json(by_alias=True, exclude=hidden).encode())


def part_json(part: BaseModel, key: str = "") -> bytes:
    """The JSON text of the properties of a record that were read, alike."""
    return _with_key(key, _closed(part).model_dump_json(by_alias=True, exclude_unset=True).encode())


def _with_key(key: str, text: bytes) -> bytes:
    """The members of an object after a key, which is URL-safe text."""
    if not key:
        return text
    return b'{"key":"' + key.encode() + (b'"}' if text == b"{}" else b'",' + text[1:])


def record_document(record: Entity) -> dict[str, Any]:
    """A record as a JSON object."""
    document: dict[str, Any] = json.loads(record_json(record))
    return document


def _closed(record: BaseModel) -> BaseModel:
    names = [name for name in _open_properties(type(record)) if name in record.model_fields_set]
    plain = {name: _plain(getattr(record, name)) for name in names}
    return BaseModel.model_copy(record, update=plain) if names else record


@cache
def _left_out_when_none(model: type[BaseModel]) -> tuple[str, ...]:
    """The properties that have no value where they are left out."""
    fields = model.model_fields.items()
    return tuple(name for name, field in fields if not field.is_required() and field.get_default() is None)


@cache
def _open_properties(model: type[BaseModel]) -> tuple[str, ...]:
    """The properties that can hold values of any type."""
    return tuple(name for name, field in model.model_fields.items() if _is_open(field.annotation))


def _is_open(annotation: Any) -> bool:
    return annotation in (Any, object) or any(_is_open(each) for each in typing.get_args(annotation))


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return _number(value)
    if isinstance(value, Mapping):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(each) for each in value]
    return value


def _number(value: Decimal) -> int | float | Decimal:
    if value == value.to_integral_value() and value.adjusted() < 38:
        return int(value)
    near = float(value)
    return near if Decimal(repr(near)) == value else value
