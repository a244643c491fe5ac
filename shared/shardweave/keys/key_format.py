"""Key formats: delimiters, escaping, hash function, and the form of values and of missing elements.

A key format is a frozen value. Three ship:
    ordered          `!`, `#`, ` |`; values escaped; CRC-32. The order of the text is the order of the tuple.
    article          `!`, `#`, `|`;  timestamps as given; CRC-32. A value that holds a delimiter is refused.
    entity_manager   `!`, `#`, `|`;  raw text as JavaScript prints it, missing as empty; string-hash.

Guarantees of an ordered format, for all tuples of strings: `unescape(escape(t)) == t`, and the joined text of `a` is
below that of `b` exactly when `a < b`; a missing element is below an empty one, which is below any other. This follows
from two facts: the element delimiter starts below every character in an escaped value, and the escape character `!` is
the lowest of these characters. In every format a key can be split into exactly its elements: in formats without
escaping, a value that contains a delimiter, or could form one with its neighbours, is refused.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from operator import xor

from ..errors import ConfigurationError, ValueRefused
from ..table.values import Value
from ..values.codecs import (
    BooleanCodec,
    Codec,
    DecimalCodec,
    DescendingCodec,
    EnumCodec,
    StringCodec,
    TimestampCodec,
    whole,
)
from ..values.js_numbers import number_of_text, text_of_number

MAX_SHORT = 64
_FOLDED = 32
_ESCAPED = re.compile("[\x00-!]")
_ESCAPE = re.compile("!([01][0-9a-f]|2[01])")


def crc32(text: str) -> int:
    """CRC-32 of the UTF-8 text: fast, and the same in every language."""
    return zlib.crc32(text.encode())


def string_hash(text: str) -> int:
    """The 32-bit hash of the JavaScript package string-hash: UTF-16 code units from the last to the first,
    `h = h * 33 ^ unit`, from 5381."""
    hashed = 5381
    if len(text) <= MAX_SHORT and text.isascii():
        # Higher bits never affect lower ones, so one truncation is enough.
        for unit in reversed(text.encode()):
            hashed = hashed * 33 ^ unit
        return hashed & 0xFFFFFFFF
    units = text.encode("utf-16-le", "surrogatepass")
    for position in range(len(units) - 2, -1, -2):
        hashed = (hashed * 33 & 0xFFFFFFFF) ^ (units[position] | units[position + 1] << 8)
    return hashed


LOW_BITS = 5
"""How many of string-hash's bits a text's units decide without carrying: modulo 32, 33 is 1."""


def string_hash_low(text: str) -> int:
    """The `LOW_BITS` low bits of `string_hash`: those of 5381 and of all units, each exclusive-or the others. The units
    are combined in halves until one is left, so that there is no loop over characters."""
    if text.isascii() and len(text) <= _FOLDED:
        units = int.from_bytes(text.encode(), "little")
        units ^= units >> 8 * 16
        units ^= units >> 8 * 8
        units ^= units >> 8 * 4
        units ^= units >> 8 * 2
        units ^= units >> 8
    else:
        units = reduce(xor, text.encode("utf-16-le", "surrogatepass")[::2], 0)
    return (units ^ 5381) & (1 << LOW_BITS) - 1


def escape(text: str) -> str:
    """Escape each character at or below `!` as `!` and two hexadecimal digits, which keeps the order."""
    return _ESCAPED.sub(lambda match: f"!{ord(match[0]):02x}", text)


def unescape(text: str) -> str:
    """The inverse of `escape`. Raises ValueRefused for a text that `escape` never writes."""
    plain = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)
    if escape(plain) != text:
        raise ValueRefused("not a valid escaped value: it was not written by this library", fix="check the key")
    return plain


@dataclass(frozen=True)
class KeyFormat:
    """The text form of keys.

    `ordered`: values are escaped and the order of the text is the tuple's. Else values are written as given, and one
    that holds a delimiter is refused. `raw_values`: no codec, the value's own text. `missing_as_empty`: a missing
    element of an unsharded property keeps its value delimiter, and the property is present when any element that is
    not the entity's unique or timestamp property is.
    """

    name: str
    shard_delimiter: str = "!"
    value_delimiter: str = "#"
    element_delimiter: str = " |"
    ordered: bool = True
    raw_timestamps: bool = False
    raw_values: bool = False
    missing_as_empty: bool = False
    hash: Callable[[str], int] = crc32

    @property
    def of_others(self) -> bool:
        """Whether keys have the form of another program, so that nothing can be added to them."""
        return self.raw_timestamps or self.raw_values or self.missing_as_empty

    @property
    def delimiters(self) -> tuple[str, str, str]:
        return self.shard_delimiter, self.value_delimiter, self.element_delimiter

    def is_raw(self, codec: Codec) -> bool:
        """Whether values are written without their codec, which is not possible for ranks and complements."""
        if isinstance(codec, (EnumCodec, DescendingCodec)):
            return False
        return self.raw_values or (self.raw_timestamps and isinstance(codec, TimestampCodec))

    def encode(self, codec: Codec, value: Value) -> str:
        """The text of an element's value, escaped or checked."""
        text = self.hashed_text(codec, value)
        if not self.ordered:
            return self._checked(text)
        return text if codec.safe else escape(text)

    def decode(self, codec: Codec, text: str) -> Value:
        """The inverse of `encode`. Raises ValueRefused for a text that it never writes."""
        if self.is_raw(codec):
            return value_of_plain_text(codec, text)
        return codec.decode(unescape(text) if self.ordered and not codec.safe else text)

    def hashed_text(self, codec: Codec, value: Value) -> str:
        """The text that decides the shard: the value's own text, not escaped."""
        return plain_text(codec, value) if self.is_raw(codec) else codec.encode(value)

    def faults(self) -> list[tuple[str, str]]:
        """The faults of the delimiters: (message, fix) pairs."""
        found = []
        if not all(one and all(" " <= character <= "~" for character in one) for one in self.delimiters):
            found.append(("a delimiter must be printable ASCII and not empty", "use ! # and ' |'"))
        if any(character.isalnum() or character == "_" for one in self.delimiters for character in one):
            found.append(("a delimiter can't hold what names hold", "use no letters, digits and underscores"))
        if self._collide():
            message = "delimiters contain one another, or run into one another"
            found.append((message, "choose three delimiters without common characters, such as ! # ' |'"))
        if self.ordered and self.element_delimiter[:1] >= "!":
            message = "the element delimiter sorts above characters that a value can hold, which breaks tuple order"
            found.append((message, "start it with a space, or declare the format with ordered=False"))
        if self.ordered and " " in self.value_delimiter + self.shard_delimiter:
            found.append(("only the element delimiter can hold a space in an ordered format", "use ! and #"))
        return found

    def _collide(self) -> bool:
        one, two, three = self.delimiters
        pairs = [(one, two), (one, three), (two, three)]
        contained = any(a in b or b in a for a, b in pairs)
        return contained or any((one_of + three).find(three) != len(one_of) for one_of in (one, two) if three)

    def _checked(self, text: str) -> str:
        """A text that can be parsed between a value delimiter and an element delimiter."""
        before, after = self.value_delimiter, self.element_delimiter
        ambiguous = (before + text + after).find(after) != len(before) + len(text)
        if ambiguous or before in text or self.shard_delimiter in text:
            raise ValueRefused(
                f"a value holds a delimiter, which the key format {self.name!r} can't escape",
                fix="use the key format 'ordered', or remove the character",
            )
        return text


def plain_text(codec: Codec, value: Value) -> str:
    """The text that JavaScript's string conversion gives for a value of that type: whole numbers in full, others as
    the double that they are, true and false. Raises ValueRefused where that text stands for another value."""
    if isinstance(codec, BooleanCodec):
        return "true" if codec.encode(value) == "t" else "false"
    if isinstance(codec, DecimalCodec):
        return text_of_number(value)
    if codec.key_type == "N":
        return str(whole(codec, value))
    if isinstance(value, str):
        return StringCodec().encode(value)
    return codec.encode(value)


def value_of_plain_text(codec: Codec, text: str) -> Value:
    """The inverse of `plain_text`."""
    if isinstance(codec, BooleanCodec):
        value: Value = text == "true"
    elif isinstance(codec, DecimalCodec):
        value = number_of_text(text)
    elif codec.key_type == "N":
        value = int(text) if re.fullmatch("-?[0-9]{1,40}", text) else None
    else:
        return text
    if value is None or plain_text(codec, value) != text:
        raise ValueRefused(f"not a valid {codec.name}: it was not written by this library", fix="check the key")
    return value


ORDERED = KeyFormat("ordered")
"""Keys sort as their values do, whatever characters these contain. The default format of a schema."""

ARTICLE = KeyFormat("article", element_delimiter="|", ordered=False, raw_timestamps=True)
"""The keys of the article on which the library is based."""

ENTITY_MANAGER = KeyFormat(
    "entity_manager",
    element_delimiter="|",
    ordered=False,
    raw_timestamps=True,
    raw_values=True,
    missing_as_empty=True,
    hash=string_hash,
)
"""The keys of the JavaScript library Entity Manager, version 8."""

KEY_FORMATS = {key_format.name: key_format for key_format in (ORDERED, ARTICLE, ENTITY_MANAGER)}


def key_format(name: str) -> KeyFormat:
    """The built-in format with a name. Raises ConfigurationError that lists the names."""
    try:
        return KEY_FORMATS[name]
    except KeyError:
        raise ConfigurationError(
            f"there is no key format {name!r}", where="key format", fix=f"use one of {', '.join(KEY_FORMATS)}"
        ) from None
