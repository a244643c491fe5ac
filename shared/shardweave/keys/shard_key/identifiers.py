"""Ids: the types that a key may hold, each with its plain form, its order and its bytes.

Guarantees: `decode(encode(id))` is the id, of the same type (`True` is not `1`), with its digits (`Decimal("1.50")`)
and its bits (`-0.0`); two ids have the same bytes only when they are the same. A datetime becomes UTC, a subclass (a
StrEnum, say) the plain type, when a key is made. What can't keep this is refused with InvalidShardArguments. Ids are
totally ordered: by type, as listed here, then by value.

Format: one byte for the type, then
     1 str         UTF-8
     2 int         two's complement, high byte first, as few bytes as hold it; -2^63 to 2^64-1
     3 UUID        its 16 bytes
     4 Decimal     its text
     5 bool        one byte, 0 or 1
     6 datetime    microseconds since 1970 in UTC, as int
     7 date        days since 0001-01-01, that day being 1, as int
     8 timedelta   microseconds, as int
     9 float       IEEE 754 binary64, high byte first
    10 bytes       as they are
The numbers are for ever: texts made with them are kept by others.
"""

from __future__ import annotations

import datetime as dt
import math
import struct
import uuid
from abc import ABC, abstractmethod
from decimal import Decimal
from typing import Any, ClassVar, Generic, TypeAlias, TypeVar

from ...errors import InvalidShardArguments
from ...values.stored_form import stored_form

Id: TypeAlias = str | int | uuid.UUID | Decimal | bool | dt.datetime | dt.date | dt.timedelta | float | bytes
"""What identifies a record."""

MAX_ID_BYTES = 2048
"""The longest id: as long as a DynamoDB hash key, so that every record that can be stored has a key."""

T = TypeVar("T")

_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MICROSECOND = dt.timedelta(microseconds=1)


def encode_id(value: Any) -> tuple[Id, bytes]:
    """The plain form of an id, and its bytes. Raises InvalidShardArguments."""
    kind = _id_type(value)
    plain = kind.plain(value)
    content = kind.encode(plain)
    if len(content) > MAX_ID_BYTES:
        raise InvalidShardArguments(
            f"an id of {len(content)} bytes, {MAX_ID_BYTES} are possible",
            fix="identify the record by something shorter",
        )
    return plain, bytes((kind.tag,)) + content


def decode_id(encoded: bytes) -> Id:
    """The id of bytes that `encode_id` made. Raises ValueError, ArithmeticError or LookupError for others, or gives an
    id whose bytes are not these."""
    found: Id = _BY_TAG[encoded[0]].decode(encoded[1:])
    return found


def id_order(value: Id) -> tuple[Any, ...]:
    """What sorts plain ids of every type; equal for the same id only."""
    kind = _BY_PYTHON[type(value)]
    return kind.tag, *kind.order(value)


def id_text(value: Id) -> str:
    """A plain id to read, on one line."""
    if isinstance(value, bytes):
        return f"0x{value.hex()}"
    if isinstance(value, (str, float)):
        return repr(value)
    return str(value) if isinstance(value, Decimal) else str(stored_form(value))


def is_id_type(python: type) -> bool:
    """Whether ids can be of exactly this type."""
    return python in _BY_PYTHON


def _id_type(value: Any) -> IdType[Any]:
    found = _BY_PYTHON.get(type(value))
    if found is None:
        found = next((kind for kind in _TYPES if isinstance(value, kind.python)), None)
    if found is None:
        raise InvalidShardArguments(
            f"a {type(value).__name__} can't be an id",
            fix=f"use one of {', '.join(kind.python.__name__ for kind in _TYPES)}",
        )
    return found


# -- the types --------------------------------------------------------------------------------------------------------


class IdType(ABC, Generic[T]):
    """One type of ids. `tag` is its number in the format."""

    tag: ClassVar[int]
    python: ClassVar[type]

    @abstractmethod
    def plain(self, value: Any) -> T:
        """The value that a key holds for one of this type or of a subclass. Raises InvalidShardArguments."""

    def order(self, value: T) -> tuple[Any, ...]:
        """What sorts values of this type, and is equal for those with the same bytes only."""
        return (value,)

    @abstractmethod
    def encode(self, value: T) -> bytes: ...

    @abstractmethod
    def decode(self, content: bytes) -> T: ...


class _Text(IdType[str]):
    tag, python = 1, str

    def plain(self, value: Any) -> str:
        text = str.__str__(value)
        try:
            text.encode()
        except UnicodeEncodeError:
            raise InvalidShardArguments(
                "a str with half of a surrogate pair can't be an id", fix="give well-formed Unicode text"
            ) from None
        return text

    def encode(self, value: str) -> bytes:
        return value.encode()

    def decode(self, content: bytes) -> str:
        return content.decode()


class _Integer(IdType[int]):
    tag, python = 2, int

    def plain(self, value: Any) -> int:
        number = int.__int__(value)
        if not -(2**63) <= number < 2**64:
            raise InvalidShardArguments(
                "an int id lies outside -2^63 to 2^64-1", fix="use a Decimal, or the number's text"
            )
        return number

    def encode(self, value: int) -> bytes:
        return value.to_bytes(value.bit_length() // 8 + 1, "big", signed=True)

    def decode(self, content: bytes) -> int:
        return int.from_bytes(content, "big", signed=True)


class _Uuid(IdType[uuid.UUID]):
    tag, python = 3, uuid.UUID

    def plain(self, value: Any) -> uuid.UUID:
        return uuid.UUID(int=value.int)

    def encode(self, value: uuid.UUID) -> bytes:
        return value.bytes

    def decode(self, content: bytes) -> uuid.UUID:
        return uuid.UUID(bytes=content)


class _Decimal(IdType[Decimal]):
    tag, python = 4, Decimal

    def plain(self, value: Any) -> Decimal:
        if not value.is_finite():
            raise InvalidShardArguments("a Decimal id is not finite", fix="use no NaN and no infinity")
        return Decimal(value)

    def order(self, value: Decimal) -> tuple[Any, ...]:
        return value, str(value)

    def encode(self, value: Decimal) -> bytes:
        return str(value).encode()

    def decode(self, content: bytes) -> Decimal:
        return Decimal(content.decode())


class _Boolean(IdType[bool]):
    tag, python = 5, bool

    def plain(self, value: Any) -> bool:
        return bool(value)

    def encode(self, value: bool) -> bytes:
        return bytes((value,))

    def decode(self, content: bytes) -> bool:
        return content != b"\0"


class _DateTime(IdType[dt.datetime]):
    tag, python = 6, dt.datetime

    def plain(self, value: Any) -> dt.datetime:
        if value.utcoffset() is None:
            raise InvalidShardArguments("a datetime id has no time zone", fix="give it one, such as UTC")
        try:
            utc = value.astimezone(dt.UTC)
        except OverflowError:
            raise InvalidShardArguments(
                "a datetime id lies outside the years 1 to 9999 in UTC", fix="give a later or earlier one"
            ) from None
        return dt.datetime.combine(utc.date(), utc.time().replace(fold=0), dt.UTC)

    def encode(self, value: dt.datetime) -> bytes:
        return _INTEGER.encode((value - _EPOCH) // _MICROSECOND)

    def decode(self, content: bytes) -> dt.datetime:
        return _EPOCH + _INTEGER.decode(content) * _MICROSECOND


class _Date(IdType[dt.date]):
    tag, python = 7, dt.date

    def plain(self, value: Any) -> dt.date:
        return dt.date.fromordinal(value.toordinal())

    def encode(self, value: dt.date) -> bytes:
        return _INTEGER.encode(value.toordinal())

    def decode(self, content: bytes) -> dt.date:
        return dt.date.fromordinal(_INTEGER.decode(content))


class _TimeSpan(IdType[dt.timedelta]):
    tag, python = 8, dt.timedelta

    def plain(self, value: Any) -> dt.timedelta:
        return dt.timedelta(value.days, value.seconds, value.microseconds)

    def encode(self, value: dt.timedelta) -> bytes:
        return _INTEGER.encode(value // _MICROSECOND)

    def decode(self, content: bytes) -> dt.timedelta:
        return _INTEGER.decode(content) * _MICROSECOND


class _Float(IdType[float]):
    tag, python = 9, float

    def plain(self, value: Any) -> float:
        if not math.isfinite(value):
            raise InvalidShardArguments("a float id is not finite", fix="use no NaN and no infinity")
        return float.__float__(value)

    def order(self, value: float) -> tuple[Any, ...]:
        return value, math.copysign(1, value)

    def encode(self, value: float) -> bytes:
        return struct.pack(">d", value)

    def decode(self, content: bytes) -> float:
        if len(content) != 8:
            raise ValueError("a float has 8 bytes")
        (value,) = struct.unpack(">d", content)
        return float(value)


class _Bytes(IdType[bytes]):
    tag, python = 10, bytes

    def plain(self, value: Any) -> bytes:
        return bytes(value)

    def encode(self, value: bytes) -> bytes:
        return value

    def decode(self, content: bytes) -> bytes:
        return content


_INTEGER = _Integer()

_TYPES: tuple[IdType[Any], ...] = (
    _Text(),
    _Boolean(),
    _INTEGER,
    _Uuid(),
    _Decimal(),
    _DateTime(),
    _Date(),
    _TimeSpan(),
    _Float(),
    _Bytes(),
)
"""A type stands before its bases: a bool is an int, a datetime a date."""

_BY_PYTHON: dict[type, IdType[Any]] = {kind.python: kind for kind in _TYPES}
_BY_TAG = {kind.tag: kind for kind in _TYPES}
