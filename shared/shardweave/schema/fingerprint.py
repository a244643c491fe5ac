"""The fingerprint of a key element: a text with its property, its type, and every setting of the type that its key text
depends on.

    created:Timestamp ms     price:Decimal 2     state:Enum open|closed descending     size:Enum 1|2

Guarantee: two elements that write values differently have different texts, and the text of an element is the same in
every process and release. Custom codecs are distinguished by their `name`, and by attributes that are texts, bytes,
numbers or None. Manifests and the fingerprints of re-shards compare declarations by it.

Pure.
"""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

from ..keys.key_design import Element
from ..values.codecs import Codec, DecimalCodec, DescendingCodec, EnumCodec, PaddedIntegerCodec, TimestampCodec


def element_text(element: Element) -> str:
    """The text of an element."""
    codec = element.codec.inner if isinstance(element.codec, DescendingCodec) else element.codec
    words = [f"{element.name}:{codec.name}", *_settings(codec), *(["descending"] if element.descending else [])]
    return " ".join(words)


def _settings(codec: Codec) -> list[str]:
    if isinstance(codec, TimestampCodec):
        return [codec.unit]
    if isinstance(codec, DecimalCodec):
        return [str(codec.places)]
    if isinstance(codec, PaddedIntegerCodec):
        return [str(codec.width)]
    if isinstance(codec, EnumCodec):
        return ["|".join(_member(member.value) for member in codec.members)]
    return [f"{name}={value!r}" for name, value in sorted(vars(codec).items()) if isinstance(value, _PLAIN)]


def _member(value: Any) -> str:
    """A member as text: a word unchanged, and anything else quoted so that it can't be confused with a word or several
    members."""
    return value if isinstance(value, str) and _WORD.fullmatch(value) and not _MORE.search(value) else repr(value)


_PLAIN = (str, bytes, int, float, Decimal, type(None))
"""The types of parameters by which custom codecs are distinguished."""
_WORD = re.compile(r"[^\W\d][^|'\"\\]*")
_MORE = re.compile("^(True|False|None|inf|nan)$| descending$")
"""Parameters that are not plain texts."""
