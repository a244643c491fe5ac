"""Conditions of a query on one index: the hash key that they determine, and the interval of the range key.

Conditions fix every element of the hash key, then elements of the range key from the left: equality, and on the last
one at most one of equality, prefix or range. `P` is the text through an element's name and the value delimiter:

    the whole key equal             [x, x]
    equal, elements follow          every text that starts with the text and its closing element delimiter
    prefix p                        every text that starts with P p
    from a, to b                    [P a, P b!] where elements follow, [P a, P b] where none do; a side left open ends
                                    with the texts that start with P
A descending element swaps its bounds. `b!` works because the element delimiter sorts below `!`, and every character
that could go on a value sorts above it; formats without that order refuse a range on an element that others follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from typing import Any

from ..errors import LimitExceeded, ShardweaveError, UnsupportedQuery, ValueRefused
from ..keys.entity_keys import EntityKeys
from ..keys.key_design import Element
from ..keys.key_format import escape
from ..schema.entity_type import EntityType, IndexView
from ..schema.property import Property
from ..table.operations import Interval
from ..table.values import MAX_RANGE_KEY_BYTES, Value, number, number_text, to_attribute_value, value_bytes
from ..values.codecs import BinaryCodec, Codec, DecimalCodec, EnumCodec, IntegerCodec, NumberCodec
from .intervals import WHOLE, equal_text, fill, intersection, prefix_text, text_between
from .spec import Constraint, Equal, OneOf, Prefix, Range

Conditions = Mapping[str, Constraint]
"""Stored property name -> constraint whose values are in stored form."""


RANGE = "use from and to, or in Python between(low, high)"
"""The operators of a range."""

MAX_CHOICES = 50
"""The maximum number of values in a condition "one of"."""


def expanded(conditions: Mapping[str, Constraint | OneOf]) -> list[dict[str, Constraint]]:
    """The conditions with every `OneOf` expanded: one mapping for each combination, in the given order."""
    combinations: list[dict[str, Constraint]] = [{}]
    for name, constraint in conditions.items():
        if not isinstance(constraint, OneOf):
            for combination in combinations:
                combination[name] = constraint
            continue
        if not 1 <= len(constraint.values) <= MAX_CHOICES:
            fix = "ask in several queries" if constraint.values else "give at least one, or leave the condition out"
            raise LimitExceeded(f"a list has 1 to {MAX_CHOICES} values", where=name, fix=fix)
        if len(combinations) * len(constraint.values) > MAX_CHOICES:
            raise LimitExceeded(f"there are over {MAX_CHOICES} combinations", where=name, fix="ask in several queries")
        try:
            distinct = dict.fromkeys(constraint.values)
        except TypeError:
            fix = "give texts, numbers and the like"
            raise ValueRefused("a list holds values that a key can have", where=name, fix=fix) from None
        combinations = [combination | {name: Equal(value)} for combination in combinations for value in distinct]
    return combinations


def normalized(entity: EntityType[Any], conditions: Mapping[str, Constraint], place: str = "") -> dict[str, Constraint]:
    """Conditions by stored name with values in stored form. Raises UnknownName, ValidationFailed, ValueRefused or
    UnsupportedQuery, each naming the property, after `place` where there is one."""
    try:
        return _normalized(entity, conditions)
    except ShardweaveError as error:
        error.where = f"{place}conditions.{error.where}".rstrip(".") if place else error.where
        raise


def _normalized(entity: EntityType[Any], conditions: Mapping[str, Constraint]) -> dict[str, Constraint]:
    found: dict[str, Constraint] = {}
    for name, constraint in conditions.items():
        each = entity.condition_property(name)
        if each.stored in found:
            raise UnsupportedQuery("the property has two conditions", where=each.stored, fix="give one")
        found[each.stored] = normalized_constraint(entity.keys, each, constraint)
    return found


def normalized_constraint(keys: EntityKeys, each: Property, constraint: Constraint) -> Constraint:
    """One constraint with values in stored form. Raises ValidationFailed, ValueRefused or UnsupportedQuery, each naming
    the property."""
    if each.codec is None:
        raise UnsupportedQuery("the property's type can't be in a key", where=each.stored, fix="use a filter for it")
    if isinstance(constraint, Equal):
        value = each.parse(constraint.value)
        _check(keys, Element(each.stored, each.codec), value)
        return Equal(value)
    if isinstance(constraint, Prefix):
        if not each.codec.is_text or not isinstance(constraint.text, str):
            raise UnsupportedQuery("a prefix is for text", where=each.stored, fix=RANGE)
        _check_characters(each.stored, constraint.text)
        begin = Prefix(each.begin(constraint.text))
        _check_prefix(keys, each.stored, begin.text)
        return begin
    if constraint.low is None and constraint.high is None:
        raise UnsupportedQuery("a range needs a bound", where=each.stored, fix=RANGE)
    return _checked_range(keys, each, constraint)


def _checked_range(keys: EntityKeys, each: Property, asked: Range) -> Range:
    """A range with bounds that the property can have: a number between two possible values is moved inwards. An error
    about a bound names the side."""
    assert each.codec is not None
    element = Element(each.stored, each.codec)
    with _placed_at(f"{each.stored}.from"):
        low = None if asked.low is None else each.bound(asked.low)
    with _placed_at(f"{each.stored}.to"):
        high = None if asked.high is None else each.bound(asked.high)
    if each.is_number and low is not None and high is not None and low > high:
        raise _reversed(each.stored)
    low, high = inward(each.codec, low, up=True), inward(each.codec, high, up=False)
    for side, bound in (("from", low), ("to", high)):
        if bound is not None:
            with _placed_at(f"{each.stored}.{side}"):
                _check(keys, element, bound)
    if (
        not each.is_number
        and low is not None
        and high is not None
        and place_of(each.codec, low) > place_of(each.codec, high)
    ):
        raise _reversed(each.stored)
    return Range(low, high)


@contextmanager
def _placed_at(where: str) -> Iterator[None]:
    try:
        yield
    except ShardweaveError as error:
        error.where = where
        raise


def _reversed(name: str) -> ValueRefused:
    return ValueRefused("the range begins above its end", where=name, fix=f"swap the bounds: {RANGE}")


def _check(keys: EntityKeys, element: Element, value: Value) -> None:
    if value is None:
        raise ValueRefused("a condition can't be null", where=element.name, fix="leave the condition out")
    if element.codec.key_type != "B":
        keys.encode(element, value)
        _check_characters(element.name, value)


def _check_characters(name: str, value: Value) -> None:
    """Refuse unpaired surrogates, which can't be encoded for a request."""
    try:
        to_attribute_value(value)
    except ValueRefused as error:
        error.where = name
        raise


def _check_prefix(keys: EntityKeys, name: str, text: str) -> None:
    """In a format that can't escape, a delimiter in the prefix would reach into the next element."""
    if not keys.format.ordered and any(delimiter in text for delimiter in keys.format.delimiters):
        raise ValueRefused(
            f"the prefix holds a delimiter, which the key format {keys.format.name!r} can't escape",
            where=name,
            fix="use the key format 'ordered', or a shorter prefix",
        )


@dataclass(frozen=True)
class Match:
    """How conditions use a view: the equalities of its hash key, and how many leading elements of its range key are
    fixed. `last` is the constraint on the element after those, None when there is none."""

    hash_values: Mapping[str, Value]
    fixed: int
    last: Constraint | None


def match(view: IndexView, conditions: Conditions) -> Match | str:
    """How the view answers the conditions, or the reason why it can't."""
    hash_values: dict[str, Value] = {}
    for element in view.hash_elements:
        constraint = conditions.get(element.name)
        if not isinstance(constraint, Equal):
            return f"it needs {element.name} to be fixed"
        hash_values[element.name] = constraint.value
    used = set(hash_values)
    fixed, last = 0, None
    for element in view.range_elements:
        constraint = conditions.get(element.name)
        if constraint is None:
            break
        used.add(element.name)
        if not isinstance(constraint, Equal):
            last = constraint
            break
        fixed += 1
    unused = sorted(set(conditions) - used)
    if unused:
        return f"it does not use {', '.join(unused)} after the conditions before"
    return Match(hash_values, fixed, last)


def range_interval(
    keys: EntityKeys, view: IndexView, conditions: Conditions, matched: Match, window: Range | None = None
) -> Interval | None:
    """The interval of the view's range key, None when nothing can be in it. `window` narrows the element after the
    fixed ones, in the element's own values."""
    if not view.range_elements:
        return WHOLE
    last = matched.last
    if window is not None:
        last = window if last is None else _narrowed(last, window)
        if last is None:
            return None
    if view.raw:
        return _raw_interval(conditions, view.range_elements[0], matched, last)
    return _generated_interval(keys, view, conditions, matched, last)


def _narrowed(constraint: Constraint, window: Range) -> Constraint | None:
    if not isinstance(constraint, Range):
        return constraint
    both = intersection(Interval(constraint.low, constraint.high), Interval(window.low, window.high))
    return None if both is None else Range(both.low, both.high)


def _raw_interval(conditions: Conditions, element: Element, matched: Match, last: Constraint | None) -> Interval | None:
    if matched.fixed:
        constraint = conditions[element.name]
        assert isinstance(constraint, Equal)
        if isinstance(constraint.value, (str, bytes)) and not 0 < value_bytes(constraint.value) <= MAX_RANGE_KEY_BYTES:
            return None
        return Interval(constraint.value, constraint.value)
    if isinstance(last, Prefix):
        return prefix_text(last.text)
    if isinstance(last, Range):
        if isinstance(last.low, bytes) or isinstance(last.high, bytes):
            return _binary_between(last.low, last.high)
        if isinstance(last.low, str) or isinstance(last.high, str):
            return text_between(last.low, last.high)
        return intersection(Interval(last.low), Interval(high=last.high))
    return WHOLE


def _binary_between(low: bytes | None, high: bytes | None) -> Interval | None:
    if low is not None and len(low) > MAX_RANGE_KEY_BYTES:
        cut = low[:MAX_RANGE_KEY_BYTES].rstrip(b"\xff")
        if not cut:
            return None
        low = cut[:-1] + bytes([cut[-1] + 1])
    if high is not None:
        high = high[:MAX_RANGE_KEY_BYTES]
    return intersection(Interval(low or None), Interval(high=high))


def _generated_interval(
    keys: EntityKeys, view: IndexView, conditions: Conditions, matched: Match, last: Constraint | None
) -> Interval | None:
    elements, key_format = view.range_elements, keys.format
    fixed = [_text(keys, element, conditions[element.name]) for element in elements[: matched.fixed]]
    text = key_format.element_delimiter.join(fixed)
    if matched.fixed == len(elements):
        return equal_text(text)
    lead = text + key_format.element_delimiter if fixed else ""
    element = elements[matched.fixed]
    start = lead + element.name + key_format.value_delimiter
    if isinstance(last, Prefix):
        if element.descending:
            raise UnsupportedQuery("a prefix on a descending element", where=element.name, fix=RANGE)
        return prefix_text(start + (escape(last.text) if key_format.ordered else last.text))
    if isinstance(last, Range):
        return _text_range(keys, element, start, last, follows=matched.fixed + 1 < len(elements))
    return prefix_text(lead) if fixed else WHOLE


def _text_range(keys: EntityKeys, element: Element, start: str, bounds: Range, *, follows: bool) -> Interval | None:
    if follows and not keys.format.ordered:
        raise UnsupportedQuery(
            f"the key format {keys.format.name!r} has no order on an element that others follow",
            where=element.name,
            fix="use eq or prefix, or the key format 'ordered'",
        )
    low, high = (None if bound is None else keys.encode(element, bound) for bound in (bounds.low, bounds.high))
    if element.descending:
        low, high = high, low
    end = "!" if follows else ""
    return text_between(
        start if low is None else start + low,
        fill(start) if high is None else start + high + end,
    )


def _text(keys: EntityKeys, element: Element, constraint: Constraint) -> str:
    assert isinstance(constraint, Equal)
    return f"{element.name}{keys.format.value_delimiter}{keys.encode(element, constraint.value)}"


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
