"""Bounds of ranges that are not valid values of their property: the nearest valid values.

Any number can bound a range of a number property, but a key contains only numbers that the property's codec can encode.
So a bound is replaced by the nearest such number inside the range, which bounds the same values.
"""

from __future__ import annotations

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from ..table.values import Value, number, number_text
from ..values.codecs import BinaryCodec, Codec, DecimalCodec, EnumCodec, IntegerCodec, NumberCodec

_WIDE = Context(prec=80)


def inward(codec: Codec, bound: Value, *, up: bool) -> Value:
    """The nearest value of a codec that is not below a bound (`up`), or not above it. A bound that the codec can
    encode, and None, are returned unchanged; for a bound beyond the last member of an Enum the result is None."""
    if bound is None:
        return None
    if isinstance(codec, EnumCodec) and codec.by_value and bound not in codec.values:
        inside = [value for value in codec.values if (value >= bound if up else value <= bound)]
        return (inside[0] if up else inside[-1]) if inside else bound
    places = codec.places if isinstance(codec, DecimalCodec) else 0
    if isinstance(codec, (IntegerCodec, DecimalCodec)) and isinstance(bound, Decimal) and bound.adjusted() < 40:
        unit = Decimal((0, (1,), -places))
        rounded = bound.quantize(unit, ROUND_CEILING if up else ROUND_FLOOR, _WIDE)
        return number(number_text(rounded))
    return bound


def place_of(codec: Codec, value: Value) -> Any:
    """A value that sorts as the codec's values do."""
    return value if isinstance(codec, (BinaryCodec, NumberCodec)) else codec.encode(value)
