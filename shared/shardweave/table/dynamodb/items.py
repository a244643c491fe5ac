"""Items in a reply's JSON -> native values, in one pass.

The same values as those of `values.from_attribute_value`, and a built-in exception for an invalid attribute value.
Binary may be base64, as JSON has it, or bytes, as botocore's own parser leaves it: `replies` does not read every reply.
Most attributes are texts, which are handled first.
"""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Callable, Mapping
from typing import Any

from ..values import Value, number

TypedItem = Mapping[str, Mapping[str, Any]]


def native_item(item: TypedItem) -> dict[str, Value]:
    """The item with native values."""
    return {name: typed["S"] if "S" in typed else _native(typed) for name, typed in item.items()}


def _native(typed: Mapping[str, Any]) -> Value:
    ((kind, content),) = typed.items()
    return _BY_KIND[kind](content)


def _same(content: Value) -> Value:
    return content


def _null(content: bool) -> None:
    return None


def _list(content: list[Mapping[str, Any]]) -> list[Value]:
    return [typed["S"] if "S" in typed else _native(typed) for typed in content]


def _binary(content: str | bytes) -> bytes:
    return b64decode(content) if isinstance(content, str) else bytes(content)


def _numbers(content: list[str]) -> set[Value]:
    return set(map(number, content))


def _binaries(content: list[str | bytes]) -> set[bytes]:
    return set(map(_binary, content))


_BY_KIND: dict[str, Callable[[Any], Value]] = {
    "S": _same,
    "N": number,
    "BOOL": _same,
    "NULL": _null,
    "M": native_item,
    "L": _list,
    "B": _binary,
    "SS": set,
    "NS": _numbers,
    "BS": _binaries,
}
