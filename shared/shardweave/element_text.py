"""An element as one text: its property, its type, and every setting of the type that its text in a key depends on.

    created:Timestamp ms     price:Decimal 2     state:Enum open|closed descending

Guarantee: two elements that write values otherwise have different texts, in every process and release alike. Manifests
and the fingerprints of re-shards compare declarations by it.

Pure.
"""

from __future__ import annotations

from .codecs import Codec, DecimalCodec, DescendingCodec, EnumCodec, PaddedIntegerCodec, TimestampCodec
from .keys import Element


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
        return ["|".join(str(member.value) for member in codec.members)]
    return []
