"""Items as the table keeps them: checked, in one normal form, as compact bytes.

Format: a byte that names the form, then JSON in UTF-8 with sorted names. Form `p` is the item itself, when JSON has all
that it holds: text, integers, booleans, nulls, lists and maps; it decodes in one call of the C parser. Form `t`, for
the others, is a list of two objects: the attributes that are plain scalars, and the rest in DynamoDB's typed form
(binary as base64). Guarantees: equal items have equal bytes, whatever the order of their attributes; what comes back
equals what went in, numbers exactly.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from types import NoneType
from typing import Any

from ...errors import InvalidRequest
from ..values import (
    Item,
    Value,
    from_attribute_value,
    to_attribute_value,
    value_bytes,
)

_PLAIN, _TYPED = b"p", b"t"
_SCALARS = (str, int, NoneType)


class _NotPlain(Exception):
    """The item holds a value that plain JSON can't."""


def encode(item: Item) -> bytes:
    """The bytes of an item in normal form."""
    try:
        return _PLAIN + _plain_json.encode(item).encode()
    except _NotPlain:
        plain = {name: value for name, value in item.items() if isinstance(value, _SCALARS)}
        typed = {name: to_attribute_value(value) for name, value in item.items() if name not in plain}
        return _TYPED + _typed_json.encode([plain, typed]).encode()


def decode(image: bytes) -> dict[str, Value]:
    """The item of `encode`'s bytes."""
    content, _ = _json.raw_decode(image.decode(), 1)
    if image[:1] == _PLAIN:
        item: dict[str, Value] = content
    else:
        item, typed = content
        item.update((name, from_attribute_value(_from_typed(value))) for name, value in typed.items())
    return item


def normal_form(item: Item) -> tuple[dict[str, Value], int]:
    """A copy of the item with each value in its one form (whole numbers as int, tuples as lists, ...), and the
    item's size. Raises ValueRefused or InvalidRequest for what the table can't hold."""
    normal: dict[str, Value] = {}
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else value_bytes(normal_value(name))
        if type(value) is str and value.isascii():
            normal[name] = value
            size += len(value)
        else:
            normal[name] = one = normal_value(value)
            size += value_bytes(one)
    if "" in normal:
        raise InvalidRequest("An attribute's name is empty.", fix="name every attribute")
    return normal, size


def normal_value(value: Value) -> Value:
    """The one form of a value: what DynamoDB gives back for it. Raises ValueRefused for what it can't hold."""
    return from_attribute_value(to_attribute_value(value))


def _refuse(_value: Any) -> Any:
    raise _NotPlain


def _binary_to_json(value: Any) -> str:
    return b64encode(value).decode()


_json = json.JSONDecoder()
_plain_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=_refuse)
_typed_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=_binary_to_json)


def _from_typed(value: dict[str, Any]) -> dict[str, Any]:
    ((kind, content),) = value.items()
    if kind == "B":
        return {kind: b64decode(content)}
    if kind == "BS":
        return {kind: [b64decode(element) for element in content]}
    if kind == "L":
        return {kind: [_from_typed(element) for element in content]}
    if kind == "M":
        return {kind: {name: _from_typed(element) for name, element in content.items()}}
    return value
