"""Conversion between native values and DynamoDB attribute values, and their sizes.

Guarantees: DynamoDB stores every value that `to_attribute_value` accepts unchanged, and `from_attribute_value` returns
an equal value. Numbers are exact: `int` or `Decimal`, at most 38 significant digits, magnitude 1E-130 to 9.99E+125, or
zero; a whole number comes back as `int`, any other as `Decimal`. Floats are refused here (the store converts them
before). A number's text is plain digits, as DynamoDB answers it: no exponent, no zeros that say nothing, and one zero.
Text must have a UTF-8 form (no lone surrogates); lists and maps nest at most 32 deep. Sizes follow DynamoDB's published
rule (attribute names count), so a record can be refused before the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Set
from decimal import Context, Decimal, Inexact
from typing import Any

from ..errors import ValueRefused

Value = Any
"""None, bool, str, int, Decimal, bytes, list, dict with str keys, or a non-empty set of one of str, number, bytes."""

Item = Mapping[str, Value]
"""Attribute name -> native value."""

AttributeValue = dict[str, Any]
"""DynamoDB's typed form, as boto3's client takes it: `{"S": "text"}`, `{"N": "1"}`, `{"B": b"..."}`, ..."""

MAX_ITEM_BYTES = 400 * 1024
MAX_HASH_KEY_BYTES = 2048
MAX_RANGE_KEY_BYTES = 1024
MAX_DIGITS = 38
"""Significant digits of a number."""

_MAX_DEPTH = 32
_MIN_EXPONENT, _MAX_EXPONENT = -130, 125
_EXACT = Context(prec=400, Emin=-999_999, Emax=999_999, traps=[Inexact])


def to_attribute_value(value: Value) -> AttributeValue:
    """The typed form of `value`. Raises ValueRefused for what DynamoDB can't hold."""
    return _typed(value, 0)


def from_attribute_value(value: AttributeValue) -> Value:
    """The native value of a typed form; the inverse of `to_attribute_value`."""
    ((kind, content),) = value.items()
    if kind in ("S", "BOOL"):
        return content
    if kind == "N":
        return number(content)
    if kind == "NULL":
        return None
    if kind == "B":
        return bytes(content)
    if kind == "M":
        return {name: from_attribute_value(element) for name, element in content.items()}
    if kind == "L":
        return [from_attribute_value(element) for element in content]
    if kind == "NS":
        return {number(text) for text in content}
    return {bytes(element) if kind == "BS" else element for element in content}


def to_attribute_values(item: Item) -> dict[str, AttributeValue]:
    return {name: to_attribute_value(value) for name, value in item.items()}


def from_attribute_values(item: Mapping[str, AttributeValue]) -> dict[str, Value]:
    return {name: from_attribute_value(value) for name, value in item.items()}


def number(text: str) -> int | Decimal:
    """The number that DynamoDB's text stands for: `int` when whole."""
    try:
        return int(text)
    except ValueError:
        value = Decimal(text)
        return int(value) if value == value.to_integral_value() else value


def number_text(value: int | Decimal) -> str:
    """The canonical text of a number: plain digits, at most 170 characters. Raises ValueRefused for NaN, infinities,
    over 38 significant digits or out of range."""
    if isinstance(value, int):
        if -(10**MAX_DIGITS) < value < 10**MAX_DIGITS:
            return str(value)
        value = Decimal(value)
    if not value.is_finite():
        raise ValueRefused("a number must be finite", fix="store no NaN and no infinity")
    if not value:
        return "0"
    sign, digits, exponent = value.as_tuple()
    text = "".join(map(str, digits)).lstrip("0")
    stripped = text.rstrip("0")
    magnitude = len(text) + int(exponent) - 1
    if len(stripped) > MAX_DIGITS:
        raise ValueRefused("a number has more than 38 significant digits", fix="round it, or store it as a string")
    if not _MIN_EXPONENT <= magnitude <= _MAX_EXPONENT:
        raise ValueRefused("a number's magnitude is outside 1E-130 to 9.99E+125", fix="store it as a string")
    exponent = int(exponent) + len(text) - len(stripped)
    prefix = "-" if sign else ""
    if exponent >= 0:
        return prefix + stripped + "0" * exponent
    if magnitude >= 0:
        return f"{prefix}{stripped[:exponent]}.{stripped[exponent:]}"
    return f"{prefix}0.{'0' * (-magnitude - 1)}{stripped}"


def number_sum(one: int | Decimal, other: int | Decimal) -> int | Decimal:
    """The exact sum, whatever the caller's decimal context. Raises ValueRefused for one that DynamoDB can't hold."""
    try:
        return number(number_text(_EXACT.add(Decimal(one), Decimal(other))))
    except Inexact:
        raise ValueRefused("a number has more than 38 significant digits", fix="round it before adding") from None


def item_bytes(item: Item) -> int:
    """The size that DynamoDB charges and limits: names and values."""
    total = 0
    for name, value in item.items():
        total += len(name) if name.isascii() else len(name.encode())
        # Most are ASCII text, whose size is known without encoding it.
        total += len(value) if type(value) is str and value.isascii() else value_bytes(value)
    return total


def value_bytes(value: Value) -> int:
    """The size of one value by DynamoDB's rule: UTF-8 bytes; about half a byte a digit, plus one; 1 for bool and
    null; 3 plus 1 an element for lists and maps."""
    if isinstance(value, str):
        return len(value.encode())
    if value is None or isinstance(value, bool):
        return 1
    if isinstance(value, (int, Decimal)):
        return _number_bytes(value)
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    if isinstance(value, Mapping):
        return 3 + sum(len(name.encode()) + value_bytes(element) + 1 for name, element in value.items())
    if isinstance(value, (list, tuple)):
        return 3 + sum(value_bytes(element) + 1 for element in value)
    return sum(value_bytes(element) for element in value)


def _number_bytes(value: int | Decimal) -> int:
    if isinstance(value, int) and -(10**MAX_DIGITS) < value < 10**MAX_DIGITS:
        digits = str(abs(value))
    else:
        digits = "".join(map(str, Decimal(value).as_tuple().digits))
    significant = len(digits.strip("0"))
    return min(21, (significant + 1) // 2 + 1 + (1 if value < 0 else 0))


def _typed(value: Value, depth: int) -> AttributeValue:
    if isinstance(value, str):
        return {"S": _text(value)}
    if isinstance(value, bool):
        return {"BOOL": value}
    if isinstance(value, (int, Decimal)):
        return {"N": number_text(value)}
    if value is None:
        return {"NULL": True}
    if isinstance(value, (bytes, bytearray)):
        return {"B": bytes(value)}
    if isinstance(value, (Mapping, list, tuple)):
        return _document(value, depth + 1)
    if isinstance(value, Set):
        return _set_value(value)
    raise ValueRefused(
        f"a value of type {type(value).__name__} can't be stored",
        fix="use None, bool, str, int, Decimal, bytes, list, dict or a set of one scalar type",
    )


def too_deep(where: str = "") -> ValueRefused:
    """The refusal of a value that nests deeper than DynamoDB allows."""
    return ValueRefused(f"lists and maps nest more than {_MAX_DEPTH} deep", where=where, fix="store a flatter value")


def _document(value: Mapping[Any, Any] | list[Any] | tuple[Any, ...], depth: int) -> AttributeValue:
    if depth > _MAX_DEPTH:
        raise too_deep()
    if isinstance(value, Mapping):
        return {"M": {_name(name): _typed(element, depth) for name, element in value.items()}}
    return {"L": [_typed(element, depth) for element in value]}


def _text(value: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise ValueRefused(
                "a text with a lone surrogate has no UTF-8 form", fix="store whole characters, or bytes"
            ) from None
    return value


def _name(name: Any) -> str:
    if not isinstance(name, str) or not name:
        raise ValueRefused("the names in a map must be texts that are not empty", fix="name each element")
    return _text(name)


def _set_value(value: Set[Any]) -> AttributeValue:
    if not value:
        raise ValueRefused(
            "an empty set can't be stored", fix="leave it out; a filter is given [], or asks for the size"
        )
    if all(isinstance(element, str) for element in value):
        return {"SS": sorted(map(_text, value))}
    if all(isinstance(element, bytes) for element in value):
        return {"BS": sorted(value)}
    if all(isinstance(element, (int, Decimal)) and not isinstance(element, bool) for element in value):
        return {"NS": sorted(map(number_text, value), key=Decimal)}
    raise ValueRefused("a set must hold elements of one type: str, number or bytes", fix="use a list")
