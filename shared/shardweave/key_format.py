"""How key text is put together: delimiters, escaping, hash, and the form of values and of missing elements.

A key format is a frozen value. Three ship:
    ordered          `!`, `#`, ` |`; values escaped; CRC-32. The order of the text is the order of the tuple.
    article          `!`, `#`, `|`;  values and timestamps as given; CRC-32. A value that holds a delimiter is refused.
    entity_manager   `!`, `#`, `|`;  raw text as JavaScript prints it, missing as empty; string-hash.

Guarantees of an ordered format, for all tuples of strings: `unescape(escape(t)) == t`, and the joined text of `a` is
below that of `b` exactly when `a < b`; a missing element is below an empty one, which is below any other. It rests on
two facts: the element delimiter starts below every character that an escaped value can hold, and the escape character
`!` is itself the lowest of those.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

from .codecs import Codec
from .errors import ConfigurationError, ValueRefused
from .table.values import Value, number_text

_ESCAPED = re.compile("[\x00-!]")
_ESCAPE = re.compile("!([01][0-9a-f]|2[01])")


def crc32(text: str) -> int:
    """CRC-32 of the UTF-8 text: fast, and the same in every language."""
    return zlib.crc32(text.encode())


def string_hash(text: str) -> int:
    """The 32-bit hash of the JavaScript package string-hash: UTF-16 code units from the last to the first,
    `h = h * 33 ^ unit`, from 5381."""
    units = text.encode("utf-16-le", "surrogatepass")
    hashed = 5381
    for position in range(len(units) - 2, -1, -2):
        hashed = (hashed * 33 & 0xFFFFFFFF) ^ (units[position] | units[position + 1] << 8)
    return hashed


def escape(text: str) -> str:
    """Each character at or below `!` as `!` and two hexadecimal digits; order is kept."""
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
    def delimiters(self) -> tuple[str, str, str]:
        return self.shard_delimiter, self.value_delimiter, self.element_delimiter

    def encode(self, codec: Codec, value: Value) -> str:
        """The text of an element's value, escaped or checked."""
        if self.raw_values or (self.raw_timestamps and codec.name == "Timestamp"):
            return self._checked(plain_text(value))
        text = codec.encode(value)
        if codec.safe:
            return text
        return escape(text) if self.ordered else self._checked(text)

    def decode(self, codec: Codec, text: str) -> Value:
        """The inverse of `encode`. In the raw formats numbers come back only where the codec is numeric."""
        if self.raw_values or (self.raw_timestamps and codec.name == "Timestamp"):
            return _from_plain_text(codec, text)
        return codec.decode(unescape(text) if self.ordered and not codec.safe else text)

    def hashed_text(self, codec: Codec, value: Value) -> str:
        """The text that decides the shard: the value's own text, not escaped."""
        if self.raw_values or (self.raw_timestamps and codec.name == "Timestamp"):
            return plain_text(value)
        return codec.encode(value)

    def faults(self) -> list[tuple[str, str]]:
        """What is wrong with the delimiters: (message, fix) pairs."""
        found = []
        for one in self.delimiters:
            if not one or not one.isascii() or any(character.isalnum() for character in one):
                found.append(("a delimiter must be ASCII and not empty, without letters and digits", "use ! # and ' |'"))
            if any(one in other for other in self.delimiters if other is not one) or self.delimiters.count(one) > 1:
                found.append(("delimiters contain one another", "choose three distinct delimiters, such as ! # ' |'"))
        if self.ordered and self.element_delimiter[:1] >= "!":
            message = "the element delimiter sorts above characters that a value can hold, which breaks tuple order"
            found.append((message, "start it with a space, or declare the format with ordered=False"))
        if self.ordered and not self.element_delimiter[:1] < self.value_delimiter[:1]:
            found.append(("the value delimiter sorts below the element delimiter", "use # and ' |'"))
        return list(dict.fromkeys(found))

    def _checked(self, text: str) -> str:
        if any(delimiter in text for delimiter in self.delimiters):
            raise ValueRefused(
                f"a value holds a delimiter, which the key format {self.name!r} can't escape",
                fix="use the key format 'ordered', or remove the character",
            )
        return text


def plain_text(value: Value) -> str:
    """The text that JavaScript's string conversion gives for a JSON value."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal)):
        return number_text(value)
    raise ValueRefused(f"a {type(value).__name__} can't be an element of a key", fix="use a string or a number")


def _from_plain_text(codec: Codec, text: str) -> Value:
    if codec.key_type == "N":
        number = Decimal(text)
        return int(number) if number == number.to_integral_value() else number
    return text == "true" if codec.name == "bool" else text


ORDERED = KeyFormat("ordered")
ARTICLE = KeyFormat("article", element_delimiter="|", ordered=False, raw_timestamps=True)
ENTITY_MANAGER = KeyFormat(
    "entity_manager",
    element_delimiter="|",
    ordered=False,
    raw_timestamps=True,
    raw_values=True,
    missing_as_empty=True,
    hash=string_hash,
)

KEY_FORMATS = {key_format.name: key_format for key_format in (ORDERED, ARTICLE, ENTITY_MANAGER)}


def key_format(name: str) -> KeyFormat:
    """The shipped format of that name. Raises ConfigurationError that lists the names."""
    try:
        return KEY_FORMATS[name]
    except KeyError:
        raise ConfigurationError(
            f"there is no key format {name!r}", where="key format", fix=f"use one of {', '.join(KEY_FORMATS)}"
        ) from None
