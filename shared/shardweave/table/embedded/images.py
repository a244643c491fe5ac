"""Items as the table keeps them: checked, in one normal form, as compact bytes.

Format: a byte that names the form, then JSON in UTF-8 with sorted names. Form `p` is the item itself, for items of
text, integers, booleans, nulls, lists and maps; it decodes in one call of the C parser. Form `t` is DynamoDB's typed
form (binary as base64), for items that hold anything else. Guarantees: equal items have equal bytes, whatever the
order of their attributes; what comes back equals what went in, numbers exactly.
"""

from __future__ import annotations

import json
from base64 import b64decode, b64encode
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Any

from ...errors import InvalidRequest
from ..values import (
    Item,
    Value,
    from_attribute_values,
    number,
    number_text,
    to_attribute_value,
    to_attribute_values,
    value_bytes,
)

MAX_DEPTH = 32

_PLAIN, _TYPED = b"p", b"t"


class _NotPlain(Exception):
    """The item holds a value that plain JSON can't."""


def encode(item: Item) -> bytes:
    """The bytes of an item in normal form."""
    try:
        return _PLAIN + _plain_json.encode(item).encode()
    except _NotPlain:
        return _TYPED + _typed_json.encode(to_attribute_values(item)).encode()


def decode(image: bytes) -> dict[str, Value]:
    """The item of `encode`'s bytes."""
    content = image[1:]
    if image[:1] == _PLAIN:
        plain: dict[str, Value] = json.loads(content)
        return plain
    return from_attribute_values({name: _from_typed(value) for name, value in json.loads(content).items()})


def normal_form(item: Item) -> tuple[dict[str, Value], int]:
    """A copy of the item with each value in its one form (whole numbers as int, tuples as lists, ...), and the
    item's size. Raises ValueRefused or InvalidRequest for what the table can't hold."""
    normal: dict[str, Value] = {}
    size = 0
    for name, value in item.items():
        size += len(name) if name.isascii() else _text_bytes(name)
        if type(value) is str and value.isascii():
            normal[name] = value
            size += len(value)
        else:
            normal[name] = one = normal_value(value)
            size += value_bytes(one)
    if "" in normal:
        raise InvalidRequest("An attribute's name is empty.", fix="name every attribute")
    return normal, size


def normal_value(value: Value, depth: int = 1) -> Value:
    """The one form of a value. `depth` counts the lists and maps that it lies in."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, str):
        _text_bytes(value)
        return str.__str__(value)
    if isinstance(value, (int, Decimal)):
        text = number_text(value)
        return value if type(value) is int else number(text)
    if isinstance(value, (bytes, bytearray)):
        return bytes(value)
    if isinstance(value, (Mapping, list, tuple)):
        return _normal_document(value, depth)
    if isinstance(value, Set):
        to_attribute_value(value)
        return {normal_value(element) for element in value}
    to_attribute_value(value)
    raise AssertionError("unreachable: values refuses what is none of the above")


def _normal_document(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> Value:
    if depth > MAX_DEPTH:
        raise InvalidRequest(
            f"An attribute is nested more than {MAX_DEPTH} levels deep.", fix="flatten it, or store it as text"
        )
    if not isinstance(value, Mapping):
        return [normal_value(element, depth + 1) for element in value]
    if not all(isinstance(name, str) and name for name in value):
        raise InvalidRequest("A map has a name that is empty or not text.", fix="name every element with text")
    return {normal_value(name): normal_value(element, depth + 1) for name, element in value.items()}


def _text_bytes(text: str) -> int:
    try:
        return len(text.encode())
    except UnicodeEncodeError:
        raise InvalidRequest("A text holds a lone surrogate, which UTF-8 can't encode.", fix="remove it") from None


def _refuse(_value: Any) -> Any:
    raise _NotPlain


def _binary_to_json(value: Any) -> str:
    return b64encode(value).decode()


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
