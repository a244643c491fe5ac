"""Key values as bytes that sort in SQLite as the values do in DynamoDB.

Format: text is its UTF-8 bytes, binary is itself. A number is its sign (00, 01 for zero, 02), its magnitude as one byte
and its significant digits; a negative one has magnitude and digits complemented and ends in a byte above every digit.
Guarantees: two keys of one type are equal, or in order, exactly when their bytes are, for all numbers of 38 digits. A
hash key is preceded by four bytes of a hash, which determine the arbitrary order of scans. In the entries of indexes a
long hash key is represented by a digest (`place_bytes`), since it is only ever compared for equality.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from hashlib import blake2b
from typing import Literal

from ...errors import InvalidRequest
from ..layout import KeyType
from ..values import MAX_HASH_KEY_BYTES, MAX_RANGE_KEY_BYTES, Item, Value, number_text, to_attribute_value

PLACE_BYTES = 4
_DIGEST_BYTES = 12

Role = Literal["hash", "range"]

_KINDS: dict[KeyType, str] = {"S": "text", "N": "a number", "B": "binary"}
_LOWEST_MAGNITUDE, _HIGHEST_MAGNITUDE = -130, 125
_COMPLEMENT = bytes.maketrans(b"0123456789", b"9876543210")
_ABOVE_DIGITS = b"~"


@dataclass(frozen=True)
class KeyColumn:
    """A key attribute in one role. An attribute that serves in both has two."""

    attribute: str
    type: KeyType
    role: Role

    def encode(self, value: Value) -> bytes:
        """The value's bytes. Raises InvalidRequest for a value that can't be this key, ValueRefused for one that
        can't be stored at all."""
        ordered = self._ordered(value)
        if self.role == "range":
            return ordered
        return blake2b(ordered, digest_size=PLACE_BYTES).digest() + ordered

    def _ordered(self, value: Value) -> bytes:
        if self.type == "S" and isinstance(value, str):
            ordered = _text_bytes(value)
        elif self.type == "N" and isinstance(value, (int, Decimal)) and not isinstance(value, bool):
            return number_bytes(value)
        elif self.type == "B" and isinstance(value, (bytes, bytearray)):
            ordered = bytes(value)
        else:
            raise InvalidRequest(
                f"The {self.role} key must be {_KINDS[self.type]}, and is {_describe(value)}.",
                where=self.attribute,
                fix=f"give it {_KINDS[self.type]}; leave an index's key out to keep the item out of the index",
            )
        limit = MAX_HASH_KEY_BYTES if self.role == "hash" else MAX_RANGE_KEY_BYTES
        if not 0 < len(ordered) <= limit:
            size = f"{len(ordered)} bytes long" if ordered else "empty"
            message = f"The {self.role} key is {size}."
            raise InvalidRequest(message, where=self.attribute, fix=f"give it 1 to {limit:,} bytes")
        return ordered


def checked_keys(columns: Iterable[KeyColumn], item: Item) -> list[bytes | None]:
    """The bytes of each column, None for one that the item lacks. Raises InvalidRequest, ValueRefused."""
    return [column.encode(item[column.attribute]) if column.attribute in item else None for column in columns]


def possible_keys(columns: Iterable[KeyColumn], item: Item) -> list[bytes | None]:
    """As `checked_keys`, None also for a value that can't be a key."""
    keys: list[bytes | None] = []
    for column in columns:
        value = item.get(column.attribute)
        try:
            keys.append(None if value is None else column.encode(value))
        except InvalidRequest:
            keys.append(None)
    return keys


def number_bytes(value: int | Decimal) -> bytes:
    """The ordered bytes of a number. Raises ValueRefused for one that DynamoDB can't hold."""
    text = number_text(value)
    if text == "0":
        return b"\x01"
    digits = text.lstrip("-")
    magnitude = len(digits) - 1
    if not digits.isdecimal():
        exact = Decimal(digits)
        digits, magnitude = "".join(map(str, exact.as_tuple().digits)), exact.adjusted()
    significant = digits.rstrip("0").encode()
    if text[0] == "-":
        return bytes((0, _HIGHEST_MAGNITUDE - magnitude)) + significant.translate(_COMPLEMENT) + _ABOVE_DIGITS
    return bytes((2, magnitude - _LOWEST_MAGNITUDE)) + significant


def place_bytes(hash_key: bytes) -> bytes:
    """An encoded hash key in at most 16 bytes that begin with its place. A digest of a longer one has exactly 16, so it
    never equals a short one."""
    if len(hash_key) < PLACE_BYTES + _DIGEST_BYTES:
        return hash_key
    return hash_key[:PLACE_BYTES] + blake2b(hash_key, digest_size=_DIGEST_BYTES).digest()


def tie_bytes(hash_key: bytes, range_key: bytes) -> bytes:
    """The order of items with the same index keys: a hash of the table's key, so that it is not the order of that
    key."""
    return blake2b(len(hash_key).to_bytes(2, "big") + hash_key + range_key, digest_size=8).digest()


def segment_bounds(segment: int, total: int) -> tuple[bytes, bytes | None]:
    """The places of one of `total` disjoint parts: from the first, up to but without the second (None: to the end)."""
    places = 1 << 8 * PLACE_BYTES
    low, high = (-(-part * places // total) for part in (segment, segment + 1))
    return low.to_bytes(PLACE_BYTES, "big"), None if high >= places else high.to_bytes(PLACE_BYTES, "big")


def _text_bytes(text: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:
        to_attribute_value(text)
        raise


def _describe(value: Value) -> str:
    if value is None:
        return "null"
    return f"of type {type(value).__name__}"
