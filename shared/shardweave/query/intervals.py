"""Intervals: every condition on a range key is one closed interval. Also the next and previous value of each type.

DynamoDB takes one condition on the sort key. Because every condition is an interval `[low, high]` of values that
DynamoDB accepts as operands (at most 1,024 bytes of UTF-8), resuming a query is only ever a smaller interval.

For text, within the limit: `successor(s)` is the least text above `s`, `predecessor(s)` the greatest below it,
`fill(p)` the greatest that starts with `p`. Order is by code point, which is UTF-8 byte order. Binary alike with 00
and FF. Numbers: the neighbour of 38 digits, also of a whole one, since 1.5 may follow 1.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Context, Decimal
from typing import TypeVar, cast

from ..table.operations import Interval
from ..table.values import MAX_RANGE_KEY_BYTES, Value

WHOLE = Interval()

_EMPTY = ("", b"")
_LIMIT = MAX_RANGE_KEY_BYTES
_GREATEST = {4: "\U0010ffff", 3: "\uffff", 2: "\u07ff", 1: "\x7f"}
_NUMBERS = Context(prec=38, Emin=-130, Emax=125)
_SMALLEST = Decimal("1E-130")

T = TypeVar("T")


def intersection(first: Interval, second: Interval) -> Interval | None:
    """The intersection of two intervals, or None if it is empty. A key is never an empty text or binary, and the table
    refuses them as operands: so an empty lower bound is no bound, and an empty upper bound excludes everything."""
    low = _pick(first.low, second.low, max)
    high = _pick(first.high, second.high, min)
    if low in _EMPTY:
        low = None
    if high in _EMPTY:
        return None
    if low is not None and high is not None and low > high:
        return None
    return Interval(low, high)


def _pick(first: Value, second: Value, choose: Callable[[Value, Value], Value]) -> Value:
    if first is None or second is None:
        return second if first is None else first
    return choose(first, second)


def at_least(interval: Interval, value: Value) -> Interval | None:
    """The part of an interval from `value` on."""
    return intersection(interval, Interval(low=value))


def at_most(interval: Interval, value: Value) -> Interval | None:
    """The part of an interval up to `value`."""
    return intersection(interval, Interval(high=value))


def above(interval: Interval, value: Value) -> Interval | None:
    """The part of an interval after `value`."""
    following = successor(value)
    return None if following is None else at_least(interval, following)


def below(interval: Interval, value: Value) -> Interval | None:
    """The part of an interval before `value`."""
    preceding = predecessor(value)
    return None if preceding is None else at_most(interval, preceding)


def contains(interval: Interval, value: Value) -> bool:
    """Whether a value lies in the interval."""
    return (interval.low is None or interval.low <= value) and (interval.high is None or value <= interval.high)


# -- text conditions --------------------------------------------------------------------------------------------------


def equal_text(text: str) -> Interval | None:
    """`[x, x]`; None for a text over the limit, since keys can't be that long."""
    return Interval(text, text) if text_bytes(text) <= _LIMIT else None


def prefix_text(prefix: str) -> Interval | None:
    """`[p, fill(p)]`; None for a prefix over the limit, since keys can't be that long."""
    return Interval(prefix or None, fill(prefix)) if text_bytes(prefix) <= _LIMIT else None


def text_between(low: str | None, high: str | None) -> Interval | None:
    """`[low, high]`, an operand over the limit replaced by its neighbour within it, or None when it is empty."""
    if low is not None and text_bytes(low) > _LIMIT:
        low = successor(greatest_below(low))
        if low is None:
            return None
    if high is not None and text_bytes(high) > _LIMIT:
        high = greatest_below(high)
    return intersection(Interval(low or None), Interval(high=high))


def text_bytes(text: str) -> int:
    """The length in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def fill(prefix: str, limit: int = _LIMIT) -> str:
    """The greatest text within the limit that starts with `prefix` (which must fit)."""
    room = limit - text_bytes(prefix)
    whole, rest = divmod(room, 4)
    return prefix + _GREATEST[4] * whole + _GREATEST.get(rest, "")


def greatest_below(text: str) -> str:
    """The greatest text within the limit that is below `text`, which is over the limit."""
    size, kept = 0, 0
    for character in text:
        size += text_bytes(character)
        if size > _LIMIT:
            break
        kept += 1
    return fill(text[:kept], _LIMIT)


# -- neighbours -------------------------------------------------------------------------------------------------------


def successor(value: T, limit: int = _LIMIT) -> T | None:
    """The least value above `value` within `limit` bytes (text and binary), or None."""
    if isinstance(value, str):
        return cast(T, _next_text(value, limit))
    if isinstance(value, bytes):
        return cast(T, _next_bytes(value, limit))
    return cast(T, _neighbour(Decimal(cast(Decimal, value)), up=True))


def predecessor(value: T, limit: int = _LIMIT) -> T | None:
    """The greatest value below `value` within `limit` bytes (text and binary), or None."""
    if isinstance(value, str):
        return cast(T, _previous_text(value, limit))
    if isinstance(value, bytes):
        return cast(T, _previous_bytes(value, limit))
    return cast(T, _neighbour(Decimal(cast(Decimal, value)), up=False))


def _next_text(text: str, limit: int) -> str | None:
    if text_bytes(text) < limit:
        return text + "\x00"
    room = limit - text_bytes(text)
    for position in range(len(text) - 1, -1, -1):
        code = ord(text[position])
        room += text_bytes(text[position])
        raised = 0xE000 if code == 0xD7FF else code + 1
        if raised <= 0x10FFFF and text_bytes(chr(raised)) <= room:
            return text[:position] + chr(raised)
    return None


def _previous_text(text: str, limit: int) -> str | None:
    if not text:
        return None
    code = ord(text[-1])
    if code == 0:
        return text[:-1]
    return fill(text[:-1] + chr(0xD7FF if code == 0xE000 else code - 1), limit)


def _next_bytes(value: bytes, limit: int) -> bytes | None:
    if len(value) < limit:
        return value + b"\x00"
    kept = value.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def _previous_bytes(value: bytes, limit: int) -> bytes | None:
    if not value:
        return None
    if value[-1] == 0:
        return value[:-1]
    return (value[:-1] + bytes([value[-1] - 1])).ljust(limit, b"\xff")


def _neighbour(value: Decimal, *, up: bool) -> Decimal | None:
    if not value:
        return _SMALLEST if up else -_SMALLEST
    following = _NUMBERS.next_plus(value) if up else _NUMBERS.next_minus(value)
    if not following.is_finite():
        return None
    if following.copy_abs() < _SMALLEST:
        return Decimal(0)
    return following
