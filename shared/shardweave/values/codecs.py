"""Codecs: stored value <-> text whose byte order is the value's order.

Guarantees, for every codec: `decode(encode(value)) == value`, and `encode(a) < encode(b)` exactly when `a < b` (code
point order, which is UTF-8 byte order, which is DynamoDB's). Values for which this does not hold raise ValueRefused:
NaN, infinities, floats, overflow, a naive datetime, a timestamp of the wrong unit, an unpadded number in padded text, a
date spelled in another way than ours. A codec works on the *stored* form of a value (see `stored_form`), so that keys
can be recomputed from an item alone.

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
    text of padded digits      the digits, exactly the declared number (Annotated[str, PaddedIntegerCodec(8)])
"""

from __future__ import annotations

import datetime as dt
import enum
import re
import types
import typing
import uuid
from abc import ABC, abstractmethod
from collections.abc import Mapping
from decimal import Context, Decimal, Inexact, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal

import pydantic
from pydantic_core import PydanticCustomError

from ..errors import ConfigurationError, ValueRefused
from ..table.layout import KeyType
from ..table.values import Value, number, number_text
from .stored_form import checked_epoch, datetime_text, stored_form

_DIGITS = {ord(digit): str(9 - int(digit)) for digit in "0123456789"}
_SIGNED = _DIGITS | {ord("p"): "n", ord("n"): "p"}
_HEX = {ord(digit): f"{15 - int(digit, 16):x}" for digit in "0123456789abcdef"}
_EXACT = Context(prec=60, traps=[Inexact, InvalidOperation])
_SURROGATE = re.compile("[\ud800-\udfff]")


class Codec(ABC):
    """One type's text. `name` is what messages call the type.

    `key_type` is the DynamoDB type of a raw range key of this type, None if its stored form does not sort like the
    value. `is_text`: prefixes of the text are meaningful. `safe`: the text never contains a character that needs
    escaping. `complement` maps the text's characters so that the order is reversed; None if the text's width is not
    fixed. `sortable` is False for a type that can only be a raw range key.
    """

    name: ClassVar[str]
    key_type: ClassVar[KeyType | None] = "S"
    is_text: ClassVar[bool] = False
    safe: ClassVar[bool] = True
    complement: ClassVar[Mapping[int, str] | None] = None
    sortable: ClassVar[bool] = True

    @abstractmethod
    def encode(self, value: Value) -> str:
        """The text of a stored value. Raises ValueRefused."""

    def decode(self, text: str) -> Value:
        """The stored value of a text. Raises ValueRefused for a text that `encode` never writes."""
        try:
            value = self.read(text)
            written = self.encode(value) == text
        except (ValueError, IndexError, ValueRefused):
            written = False
        if not written:
            raise self.refuse("the text was not written by this codec", "check the key")
        return value

    @abstractmethod
    def read(self, text: str) -> Value:
        """The value of a text that `encode` wrote; anything, ValueError or IndexError for another."""

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

    def read(self, text: str) -> str:
        return text


class IntegerCodec(Codec):
    """Whole numbers of at most 20 digits."""

    name = "int"
    key_type = "N"
    complement = _SIGNED
    digits: ClassVar[int] = 20

    def encode(self, value: Value) -> str:
        return signed_digits(whole(self, value), self.digits, self)

    def read(self, text: str) -> int:
        return from_signed_digits(text)


class DecimalCodec(Codec):
    """Decimals of at most 20 digits before the point and exactly `places` after it."""

    name = "Decimal"
    key_type = "N"
    complement = _SIGNED

    def __init__(self, places: int) -> None:
        if type(places) is not int or not 0 < places <= 18:
            raise ConfigurationError("must be 1 to 18", where="DecimalCodec(places=...)", fix="use int for none")
        self.places = places
        self._digits = 20 + places

    def encode(self, value: Value) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            raise self.refuse(f"it is a {type(value).__name__}", "give a Decimal")
        number = Decimal(value)
        if not number.is_finite():
            raise self.refuse("it is not finite", "give a number")
        if number and number.adjusted() >= 20:
            raise self.refuse("it has more than 20 digits before the point", "give a smaller number")
        try:
            scaled = int(_EXACT.quantize(number, Decimal((0, (1,), -self.places))).scaleb(self.places, _EXACT))
        except Inexact:
            raise self.refuse(f"it has more than {self.places} decimal places", "round it before") from None
        text = signed_digits(scaled, self._digits, self)
        return f"{text[: -self.places]}.{text[-self.places :]}"

    def read(self, text: str) -> Decimal:
        unscaled = from_signed_digits(text.replace(".", "", 1))
        # Built from its parts, since arithmetic would round to the context's precision.
        number = Decimal(unscaled).as_tuple()
        return Decimal((number.sign, number.digits, -self.places))


class TimestampCodec(Codec):
    """Epoch time as a whole number, `unit` `ms` (13 digits) or `s` (10); with `of_datetimes` given as datetimes."""

    name = "Timestamp"
    key_type = "N"
    complement = _DIGITS

    def __init__(self, unit: Literal["ms", "s"] = "ms", *, of_datetimes: bool = False) -> None:
        self.unit, self.width, self._of_datetimes = unit, 13 if unit == "ms" else 10, of_datetimes

    def encode(self, value: Value) -> str:
        number = checked_epoch(whole(self, value), self.unit) if self._of_datetimes else whole(self, value)
        if not 0 <= number < 10**self.width:
            fix = "give epoch seconds, not milliseconds" if self.unit == "s" else "give epoch milliseconds up to 2286"
            raise self.refuse(f"it does not fit {self.width} digits of epoch {self.unit}", fix)
        if self.unit == "ms" and 0 < number < 10**11:
            raise self.refuse("it is in seconds, milliseconds are due", "multiply by 1000")
        return f"{number:0{self.width}d}"

    def read(self, text: str) -> int:
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
        if not isinstance(text, str):
            raise self.refuse(f"it is a {type(value).__name__}", "give an aware datetime")
        try:
            canonical = datetime_text(dt.datetime.fromisoformat(text))
        except ValueError:
            raise self.refuse("it is not an ISO 8601 date and time", "give 2024-01-31T09:30:00.000000Z") from None
        if canonical != text:
            raise self.refuse("it is not in UTC with microseconds", "give 2024-01-31T09:30:00.000000Z")
        return text

    def read(self, text: str) -> str:
        return text


class DateCodec(Codec):
    """Calendar days. Stored, too, as this text."""

    name = "date"
    is_text = True
    complement = _DIGITS

    def encode(self, value: Value) -> str:
        text = stored_form(value)
        try:
            if isinstance(text, str) and dt.date.fromisoformat(text).isoformat() == text:
                return text
        except ValueError:
            pass
        raise self.refuse("it is not an ISO 8601 date", "give 2024-01-31")

    def read(self, text: str) -> str:
        return text


class BooleanCodec(Codec):
    """False before true."""

    name = "bool"
    key_type = None
    complement: ClassVar[Mapping[int, str] | None] = {ord("f"): "t", ord("t"): "f"}

    def encode(self, value: Value) -> str:
        if not isinstance(value, bool):
            raise self.refuse(f"it is a {type(value).__name__}", "give true or false")
        return "t" if value else "f"

    def read(self, text: str) -> bool:
        return text == "t"


class UuidCodec(Codec):
    """UUIDs as their canonical text, lower case. Stored, too, as this text."""

    name = "UUID"
    is_text = True
    complement = _HEX

    def encode(self, value: Value) -> str:
        text = stored_form(value)
        try:
            if isinstance(text, str) and str(uuid.UUID(text)) == text:
                return text
        except ValueError:
            pass
        raise self.refuse("it is not a UUID in lower case", "give 8-4-4-4-12 hexadecimal digits")

    def read(self, text: str) -> str:
        return text


class EnumCodec(Codec):
    """Members of an Enum by rank. Adding members at the end keeps every stored key valid. `by_value`: the members are
    numbers in ascending order, so that any number can be a bound."""

    name = "Enum"
    key_type = None
    complement = _DIGITS

    def __init__(self, members: type[enum.Enum]) -> None:
        self.members = members
        self.values = tuple(stored_form(member) for member in members)
        if len(self.values) > 1000:
            raise ValueError("an Enum in a key has at most 1,000 members")
        self._ranks = {_with_kind(value): f"{rank:03d}" for rank, value in enumerate(self.values)}
        if len(self._ranks) < len(self.values):
            raise ValueError("two members of the Enum have the same stored form")
        numbers = all(is_number(value) for value in self.values)
        self.by_value = numbers and list(self.values) == sorted(self.values, key=Decimal)

    def encode(self, value: Value) -> str:
        try:
            return self._ranks[_with_kind(stored_form(value))]
        except (KeyError, TypeError):
            raise self.refuse(
                "must be a member of the enumeration", f"give a value of {self.members.__name__}"
            ) from None

    def read(self, text: str) -> Value:
        return self.values[int(text)]


def is_number(value: Any) -> bool:
    """Whether a value is a number, which true and false are not."""
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def _with_kind(value: Value) -> tuple[bool, Value]:
    """Python takes True for 1."""
    return isinstance(value, bool), value


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

    def read(self, text: str) -> str:
        segments, mark, rest = text[:32], text[32:33], text[33:]
        version = ".".join(str(int(segment)) for segment in segments.split("."))
        if mark == "-":
            parts = [str(int(part[1:])) if part[0] == "0" else part[1:] for part in rest.split("+")]
            version += "-" + ".".join(parts)
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
        if width < 1:
            raise ValueError("width must be at least 1")
        self.width = width

    def encode(self, value: Value) -> str:
        if not isinstance(value, str) or not value.isdecimal() or not value.isascii():
            raise self.refuse("must be a text of digits", f"give {self.width} digits")
        if len(value) != self.width:
            raise self.refuse(f"it has {len(value)} digits, {self.width} are due", f"pad it: {1:0{self.width}d} for 1")
        return value

    def read(self, text: str) -> str:
        return text


class NumberCodec(Codec):
    """Numbers of any size and number of places: a raw range key, never an element of a generated one."""

    name = "number"
    key_type = "N"
    sortable = False

    def encode(self, value: Value) -> str:
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            raise self.refuse(f"it is a {type(value).__name__}", "give a number")
        return number_text(value)

    def read(self, text: str) -> Value:
        return number(text)


class BinaryCodec(Codec):
    """Bytes: a raw range key, never an element of a generated one."""

    name = "bytes"
    key_type = "B"
    sortable = False

    def encode(self, value: Value) -> str:
        raise self.refuse("bytes have no text", "use a raw range key, or a str property")

    def read(self, text: str) -> Value:
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

    def read(self, text: str) -> Value:
        return self.inner.read(text.translate(self._complement))


def _refuse_bool(value: Any) -> Any:
    if isinstance(value, bool):
        raise PydanticCustomError("number_type", "Input should be a number, not true or false")
    return value


NO_BOOL = pydantic.BeforeValidator(_refuse_bool)
"""For the annotation of a number: without it `true` counts as 1."""

Timestamp = Annotated[int, TimestampCodec("ms"), NO_BOOL]
"""Epoch milliseconds."""

TimestampSeconds = Annotated[int, TimestampCodec("s"), NO_BOOL]
"""Epoch seconds."""

SemanticVersion = Annotated[str, SemanticVersionCodec()]
"""A semantic version, kept as its text, ordered by precedence."""


def codec_of(annotation: Any) -> Codec | None:
    """The codec for a property's type, or None when the type can't be in a key. A codec in `Annotated` has priority;
    `None` in a union only makes the property optional; a NewType or a type alias is replaced by its type."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Annotated:
        found = next((item for item in arguments[1:] if isinstance(item, Codec)), None)
        return found or codec_of(arguments[0])
    if origin in (typing.Union, types.UnionType):
        members = [member for member in arguments if member is not type(None)]
        return codec_of(members[0]) if len(members) == 1 else None
    if origin is Literal:
        kinds = {type(value) for value in arguments if value is not None}
        return codec_of(kinds.pop()) if len(kinds) == 1 else None
    if (meant := stands_for(annotation)) is not None:
        return codec_of(meant)
    if not isinstance(annotation, type):
        return None
    if issubclass(annotation, enum.Enum):
        return _enum_codec(annotation)
    return next((codec for kind, codec in _BY_TYPE if issubclass(annotation, kind)), None)


def stands_for(annotation: Any) -> Any:
    """The type that a NewType or a type alias stands for, None for any other type."""
    return getattr(annotation, "__supertype__", getattr(annotation, "__value__", None))


def _enum_codec(members: type[enum.Enum]) -> Codec | None:
    """None for an Enum whose values can't be ranked."""
    try:
        return EnumCodec(members)
    except (ValueError, TypeError, ValueRefused):
        return None


_BY_TYPE: list[tuple[Any, Codec]] = [
    (bool, BooleanCodec()),
    (str, StringCodec()),
    (int, IntegerCodec()),
    ((dt.datetime, pydantic.AwareDatetime, pydantic.PastDatetime, pydantic.FutureDatetime), DateTimeCodec()),
    ((dt.date, pydantic.PastDate, pydantic.FutureDate), DateCodec()),
    (uuid.UUID, UuidCodec()),
    ((Decimal, float), NumberCodec()),
    (bytes, BinaryCodec()),
]


def whole(codec: Codec, value: Value) -> int:
    """`value` as an int. Refuses bools, floats and fractions."""
    if isinstance(value, int) and not isinstance(value, bool):
        return int(value)
    if isinstance(value, Decimal) and value.is_finite():
        if value.adjusted() > 40:
            raise codec.refuse("it has too many digits", "give a smaller number")
        if value == value.to_integral_value():
            return int(value)
    raise codec.refuse(f"it is a {type(value).__name__}, not a whole number", "give an int")


def signed_digits(value: int, digits: int, codec: Codec) -> str:
    """`p` and the digits, or `n` and their nines' complement, so that -2 sorts before -1."""
    if not -(10**digits) < value < 10**digits:
        raise codec.refuse("it has too many digits", "give a smaller number")
    return f"p{value:0{digits}d}" if value >= 0 else f"n{10**digits - 1 + value:0{digits}d}"


def from_signed_digits(text: str) -> int:
    """The inverse of `signed_digits`; for another text, some number or ValueError."""
    magnitude = int(text[1:])
    return magnitude if text[0] == "p" else magnitude - (10 ** (len(text) - 1) - 1)
