"""Records as JSON text.

The key of a record that has one comes first. A property without a value is left out, or null where leaving it out would
say its default, so that a record that is read says the same when it is written; bytes are base64, decimals text,
so that every digit stays. A number in a value without a declared type (a property of type `dict[str, Any]`, say) is a
JSON number again, as it was given, although the table keeps it as a decimal; only one that no JSON reader would read
back exactly stays text.
"""

from __future__ import annotations

import json
from collections.abc import Set
from functools import cache
from typing import Any

from pydantic import BaseModel

from ..schema.entity import Entity


def record_json(record: Entity, key: str = "", private: Set[str] = frozenset()) -> bytes:
    """The JSON text of a record, with its key if it has one, without its `private` properties (Python names)."""
    hidden = {*private, *(name for name in _left_out_when_none(type(record)) if getattr(record, name) is None)}
    return _with_key(key, record.model_dump_json(by_alias=True, exclude=hidden).encode())


def part_json(part: BaseModel, key: str = "") -> bytes:
    """The JSON text of the properties of a record that were read, alike."""
    return _with_key(key, part.model_dump_json(by_alias=True, exclude_unset=True).encode())


def _with_key(key: str, text: bytes) -> bytes:
    """The members of an object after a key, which is URL-safe text."""
    if not key:
        return text
    return b'{"key":"' + key.encode() + (b'"}' if text == b"{}" else b'",' + text[1:])


def record_document(record: Entity) -> dict[str, Any]:
    """A record as a JSON object."""
    document: dict[str, Any] = json.loads(record_json(record))
    return document


@cache
def _left_out_when_none(model: type[BaseModel]) -> tuple[str, ...]:
    """The properties that have no value where they are left out."""
    fields = model.model_fields.items()
    return tuple(name for name, field in fields if not field.is_required() and field.default is None)
