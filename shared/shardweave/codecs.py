"""Codecs: stored value <-> text whose byte order is the value's order.

Guarantees, for every codec: `decode(encode(value)) == value`, and `encode(a) < encode(b)` exactly when `a < b` (code
point order, which is UTF-8 byte order, which is DynamoDB's). What can't keep both is refused with ValueRefused: NaN,
infinities, floats, overflow, a naive datetime, a timestamp of the wrong unit, an unpadded number in padded text.
A codec works on the *stored* form of a value (see `stored_form`), so that keys can be recomputed from an item alone.

Formats (before escaping, which `key_format` does):
    str                        as it is, no lone surrogates
    int                        p + 20 digits; negatives n + the nines' complement of the 20 digits
    Decimal, fixed places      as int, with a point before the places
    Timestamp                  13 digits of epoch milliseconds; 10 of epoch seconds
    datetime, date             2024-01-31T09:30:00.000000Z; 2024-01-31
    bool                       f, t
    UUID                       its 36 characters
    Enum                       rank in declaration order, 3 digits (ranks are append-only)
    SemanticVersion            major.minor.patch of 10 digits each, then ~ (a release) or - and the pre-release
    PaddedInteger              its digits, exactly the declared number
"""

from __future__ import annotations

import datetime as dt
import enum
import re
import types
import typing
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping, Set
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Literal

from .errors import ValueRefused
from .table.layout import KeyType
from .table.values import Value

_DIGITS = {ord(digit): str(9 - int(digit)) for digit in "0123456789"}
_SIGNED = _DIGITS | {ord("p"): "n", ord("n"): "p"}
_HEX = {ord(digit): f"{15 - int(digit, 16):x}" for digit in "0123456789abcdef"}
_SURROGATE = re.compile("[\ud800-\udfff]")


class Codec(ABC):
    """One type's text. `name` is what messages call the type.

    `key_type` is the DynamoDB type of a raw range key of this type, None when its stored form does not sort like the
    value. `is_text` says whether a prefix of the text means anything. `safe` says that the text never holds a
    character that needs escaping. `complement` maps the text's characters so that the order is reversed; None where
    the text's width is not fixed.
    """

    name: ClassVar[str]
    key_type: ClassVar[KeyType | None] = "S"
    is_text: ClassVar[bool] = False
    safe: ClassVar[bool] = True
    complement: ClassVar[Mapping[int, str] | None] = None

    @abstractmethod
    def encode(self, value: Value) -> str:
        """The text of a stored value. Raises ValueRefused."""

    @abstractmethod
    def decode(self, text: str) -> Value:
        """The stored value of a text. Raises ValueRefused for a text that `encode` never writes."""

    def refuse(self, reason: str, fix: str) -> ValueRefused:
        return ValueRefused(f"not a valid {self.name}: {reason}", fix=fix)


class StringCodec(Codec):
    """Text as it is."""

    name = "str"
    is_text = True
    safe = False

    def encode(self, value: Value) -> str:
        if not isinstance(value, str):
            raise self.refuse(f"it is a {type(value).__name__}", "give a string")
        if _SURROGATE.search(value):
            raise self.refuse("it holds half of a surrogate pair", "give well-formed Unicode text")
        return value

    def decode(self, text: str) -> str:
        return text


class IntegerCodec(Codec):
    """Whole numbers of at most 20 digits."""

    name = "int"
    key_type = "N"
    complement = _SIGNED
    digits: ClassVar[int] = 20

    def encode(self, value: Value) -> str:
        return signed_digits(whole(self, value), self.digits, self)

    def decode(self, text: str) -> int:
        if len(text) != self.digits + 1 or not text[1:].isdecimal() or text[0] not in "np" or not text.isascii():
            raise self.refuse("the text was not written by this codec", "check the key")
        return from_signed_digits(text)


class DecimalCodec(Codec):
    """Decimals of at most 20 digits before the point and exactly `places` after it."""

    name = "Decimal"
    key_type = "N"
    complement = _SIGNED

    def __init__(self, places: int) -> None:
        if not 0 < places <= 18:
            raise ValueError("places must be 1 to 18; use int for none")
        self.places = places
        self._digits = 20 + places

    def encode(self, value: Value) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            raise self.refuse(f"it is a {type(value).__name__}", "give a Decimal")
        number = Decimal(value)
        if not number.is_finite():
            raise self.refuse("it is not finite", "give a number")
        sign, digits, exponent = number.as_tuple()
        shift = int(exponent) + self.places
        unscaled = int("".join(map(str, digits)))
        if shift < 0 and unscaled % 10**-shift:
            raise self.refuse(f"it has more than {self.places} decimal places", "round it before")
        if shift > 60:
            raise self.refuse("it has more than 20 digits before the point", "give a smaller number")
        scaled = unscaled * 10**shift if shift >= 0 else unscaled // 10**-shift
        text = signed_digits(-scaled if sign else scaled, self._digits, self)
        return f"{text[: -self.places]}.{text[-self.places :]}"

    def decode(self, text: str) -> Decimal:
        unscaled = text.replace(".", "", 1)
        point = len(text) - self.places - 1
        if len(unscaled) != self._digits + 1 or text[point] != "." or not unscaled[1:].isdecimal():
            raise self.refuse("the text was not written by this codec", "check the key")
        return Decimal(from_signed_digits(unscaled)).scaleb(-self.places)


class TimestampCodec(Codec):
    """Epoch time as a whole number. `unit` is `ms` (13 digits) or `s` (10 digits)."""

    name = "Timestamp"
    key_type = "N"
    complement = _DIGITS

    def __init__(self, unit: Literal["ms", "s"] = "ms") -> None:
        self.unit = unit
        self.width = 13 if unit == "ms" else 10

    def encode(self, value: Value) -> str:
        number = whole(self, value)
        if not 0 <= number < 10**self.width:
            fix = "give epoch seconds, not milliseconds" if self.unit == "s" else "give epoch milliseconds up to 2286"
            raise self.refuse(f"it does not fit {self.width} digits of epoch {self.unit}", fix)
        if self.unit == "ms" and 0 < number < 10**11:
            raise self.refuse("it is in seconds, milliseconds are due", "multiply by 1000")
        return f"{number:0{self.width}d}"

    def decode(self, text: str) -> int:
        if len(text) != self.width or not text.isdecimal() or not text.isascii():
            raise self.refuse("the text was not written by this codec", "check the key")
        return int(text)

    def __repr__(self) -> str:
        return f"TimestampCodec({self.unit!r})"


class DateTimeCodec(Codec):
    """Instants in UTC to the microsecond. Stored, too, as this text."""

    name = "datetime"
    is_text = True
    complement = _DIGITS

    def encode(self, value: Value) -> str:
        text = stored_form(value)
        if isinstance(text, str):
            return self.encode_instant(text)
        raise self.refuse(f"it is a {type(value).__name__}", "give an aware datetime")

    def encode_instant(self, text: str) -> str:
        try:
            return datetime_text(dt.datetime.fromisoformat(text))
        except ValueError as error:
            raise self.refuse("it is not an ISO 8601 date and time", "give 2024-01-31T09:30:00Z") from error

    def decode(self, text: str) -> str:
        if self.encode_instant(text) != text:
            raise self.refuse("the text was not written by this codec", "check the key")
        return text


class DateCodec(Codec):
    """Calendar days. Stored, too, as this text."""

    name = "date"
    is_text = True
    complement = _DIGITS

    def encode(self, value: Value) -> str:
        text = stored_form(value)
        if isinstance(text, str) and len(text) == 10:
            try:
                return dt.date.fromisoformat(text).isoformat()
            except ValueError as error:
                raise self.refuse("it is not an ISO 8601 date", "give 2024-01-31") from error
        raise self.refuse(f"it is no day ({type(value).__name__})", "give 2024-01-31")

    def decode(self, text: str) -> str:
        return self.encode(text)


class BooleanCodec(Codec):
    """False before true."""

    name = "bool"
    key_type = None
    complement: ClassVar[Mapping[int, str] | None] = {ord("f"): "t", ord("t"): "f"}

    def encode(self, value: Value) -> str:
        if not isinstance(value, bool):
            raise self.refuse(f"it is a {type(value).__name__}", "give true or false")
        return "t" if value else "f"

    def decode(self, text: str) -> bool:
        if text not in ("f", "t"):
            raise self.refuse("the text was not written by this codec", "check the key")
        return text == "t"


class UuidCodec(Codec):
    """UUIDs as their canonical text, lower case. Stored, too, as this text."""

    name = "UUID"
    is_text = True
    complement = _HEX

    def encode(self, value: Value) -> str:
        try:
            return str(value if isinstance(value, uuid.UUID) else uuid.UUID(value))
        except (ValueError, AttributeError, TypeError) as error:
            raise self.refuse("it is not a UUID", "give 8-4-4-4-12 hexadecimal digits") from error

    def decode(self, text: str) -> str:
        if self.encode(text) != text:
            raise self.refuse("the text was not written by this codec", "check the key")
        return text


class EnumCodec(Codec):
    """Members of an Enum by rank. Adding members at the end keeps every stored key valid."""

    name = "Enum"
    key_type = None
    complement = _DIGITS

    def __init__(self, members: type[enum.Enum]) -> None:
        self.members = members
        self._values = [stored_form(member) for member in members]
        self._ranks = {value: f"{rank:03d}" for rank, value in enumerate(self._values)}
        if len(self._values) > 1000:
            raise ValueError("an Enum in a key has at most 1,000 members")

    def encode(self, value: Value) -> str:
        try:
            return self._ranks[stored_form(value)]
        except (KeyError, TypeError) as error:
            raise self.refuse("it is no member", f"give a value of {self.members.__name__}") from error

    def decode(self, text: str) -> Value:
        if len(text) != 3 or not text.isdecimal() or not int(text) < len(self._values):
            raise self.refuse("the text was not written by this codec", "check the key")
        return self._values[int(text)]


class SemanticVersionCodec(Codec):
    """Semantic versions (2.0.0 of that specification) in precedence order; build metadata is refused, since two
    versions that differ in it alone have no order."""

    name = "SemanticVersion"
    key_type = None
    _FORM = re.compile(r"(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})\.(0|[1-9]\d{0,9})(?:-([0-9A-Za-z.-]+))?", re.ASCII)

    def encode(self, value: Value) -> str:
        match = self._FORM.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            raise self.refuse("it is not major.minor.patch[-pre.release]", "give 1.12.0 or 1.12.0-beta.2")
        *numbers, pre_release = match.groups()
        segments = ".".join(f"{int(number):010d}" for number in numbers)
        if pre_release is None:
            return segments + "~"
        return segments + "-" + "+".join(self._identifier(text) for text in pre_release.split("."))

    def decode(self, text: str) -> str:
        segments, mark, rest = text[:32], text[32:33], text[33:]
        version = ".".join(str(int(segment)) for segment in segments.split("."))
        if mark == "-":
            parts = [str(int(part[1:])) if part[0] == "0" else part[1:] for part in rest.split("+")]
            version += "-" + ".".join(parts)
        if self.encode(version) != text:
            raise self.refuse("the text was not written by this codec", "check the key")
        return version

    def _identifier(self, text: str) -> str:
        if not text:
            raise self.refuse("an identifier of the pre-release is empty", "give 1.12.0-beta.2")
        if not text.isdecimal():
            return "1" + text
        if len(text) > 10 or (text[0] == "0" and text != "0"):
            raise self.refuse("a numeric identifier is padded or over 10 digits", "give 1.12.0-beta.2")
        return f"0{int(text):010d}"


class PaddedIntegerCodec(Codec):
    """Numbers kept as text of exactly `width` digits."""

    name = "padded integer"
    is_text = True
    complement = _DIGITS

    def __init__(self, width: int) -> None:
        self.width = width

    def encode(self, value: Value) -> str:
        if not isinstance(value, str) or not value.isdecimal() or not value.isascii():
            raise self.refuse("it is no text of digits", f"give {self.width} digits")
        if len(value) != self.width:
            raise self.refuse(f"it has {len(value)} digits, {self.width} are due", f"pad it: {1:0{self.width}d} for 1")
        return value

    def decode(self, text: str) -> str:
        return self.encode(text)


class BinaryCodec(Codec):
    """Bytes: a raw range key, never an element of a generated one."""

    name = "bytes"
    key_type = "B"

    def encode(self, value: Value) -> str:
        raise self.refuse("bytes have no text", "use a raw range key, or a str property")

    def decode(self, text: str) -> Value:
        raise self.refuse("bytes have no text", "use a raw range key, or a str property")


class DescendingCodec(Codec):
    """Another codec with the order reversed, by complementing each character of a text of fixed width."""

    name = "desc"
    key_type = None

    def __init__(self, inner: Codec) -> None:
        if inner.complement is None:
            raise ValueError(f"{inner.name} has no fixed width")
        self.inner = inner
        self._complement = inner.complement

    def encode(self, value: Value) -> str:
        return self.inner.encode(value).translate(self._complement)

    def decode(self, text: str) -> Value:
        return self.inner.decode(text.translate(self._complement))


Timestamp = Annotated[int, TimestampCodec("ms")]
"""Epoch milliseconds."""

TimestampSeconds = Annotated[int, TimestampCodec("s")]
"""Epoch seconds."""

SemanticVersion = Annotated[str, SemanticVersionCodec()]
"""A semantic version, kept as its text, ordered by precedence."""


def codec_of(annotation: Any) -> Codec | None:
    """The codec for a property's type, or None when the type can't be in a key. A codec in `Annotated` wins; `None`
    in a union only makes the property optional."""
    if typing.get_origin(annotation) is Annotated:
        base, *metadata = typing.get_args(annotation)
        found = next((item for item in metadata if isinstance(item, Codec)), None)
        return found or codec_of(base)
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        members = [member for member in typing.get_args(annotation) if member is not type(None)]
        return codec_of(members[0]) if len(members) == 1 else None
    if typing.get_origin(annotation) is Literal:
        return StringCodec() if all(isinstance(value, str) for value in typing.get_args(annotation)) else None
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, enum.Enum):
        return EnumCodec(annotation)
    return next((codec for kind, codec in _BY_TYPE if issubclass(annotation, kind)), None)


_BY_TYPE: list[tuple[type, Codec]] = [
    (bool, BooleanCodec()),
    (str, StringCodec()),
    (int, IntegerCodec()),
    (dt.datetime, DateTimeCodec()),
    (dt.date, DateCodec()),
    (uuid.UUID, UuidCodec()),
    (bytes, BinaryCodec()),
]


def stored_form(value: Any) -> Value:
    """The table's native value for a Python value: datetimes, dates and UUIDs as text, Enums as their values, floats
    as `Decimal(repr(x))`. Raises ValueRefused for what has no exact form."""
    if value is None or isinstance(value, (bool, bytes)):
        return value
    if isinstance(value, enum.Enum):
        return stored_form(value.value)
    if isinstance(value, (str, int, Decimal)):
        return value
    if isinstance(value, float):
        number = Decimal(repr(value))
        if not number.is_finite():
            raise ValueRefused("a number is not finite", fix="store no NaN and no infinity")
        return number
    if isinstance(value, dt.datetime):
        return datetime_text(value)
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.time):
        return value.isoformat(timespec="microseconds")
    if isinstance(value, dt.timedelta):
        return Decimal(value // dt.timedelta(microseconds=1)).scaleb(-6)
    if isinstance(value, uuid.UUID):
        return str(value)
    if isinstance(value, Mapping):
        return {str(stored_form(name)): stored_form(element) for name, element in value.items()}
    if isinstance(value, (list, tuple)):
        return [stored_form(element) for element in value]
    if isinstance(value, Set):
        return {stored_form(element) for element in value}
    raise ValueRefused(f"a {type(value).__name__} has no stored form", fix="declare another type for the property")


def datetime_text(value: dt.datetime) -> str:
    """UTC, microseconds, `Z`. Raises ValueRefused for a naive datetime."""
    if value.tzinfo is None:
        raise ValueRefused("a datetime has no time zone", fix="give it one, such as datetime.UTC")
    return value.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ").rjust(27, "0")


def whole(codec: Codec, value: Value) -> int:
    """`value` as an int. Refuses bools, floats and fractions."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal) and value.is_finite() and value == value.to_integral_value():
        return int(value)
    raise codec.refuse(f"it is a {type(value).__name__}, not a whole number", "give an int")


def signed_digits(value: int, digits: int, codec: Codec) -> str:
    """`p` and the digits, or `n` and their nines' complement, so that -2 sorts before -1."""
    if not -(10**digits) < value < 10**digits:
        raise codec.refuse("it has too many digits", "give a smaller number")
    return f"p{value:0{digits}d}" if value >= 0 else f"n{10**digits - 1 + value:0{digits}d}"


def from_signed_digits(text: str) -> int:
    """The inverse of `signed_digits`."""
    magnitude = int(text[1:])
    if text[0] == "p":
        return magnitude
    value = magnitude - (10 ** (len(text) - 1) - 1)
    if value == 0:
        raise ValueRefused("not a valid number: negative zero was never written", fix="check the key")
    return value
