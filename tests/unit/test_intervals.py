"""Next and previous values, and the interval of every condition, against brute force."""

from __future__ import annotations

import itertools
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.query.intervals import (
    above,
    at_least,
    at_most,
    below,
    contains,
    fill,
    greatest_below,
    intersection,
    predecessor,
    prefix_text,
    successor,
    text_between,
)
from shardweave.table.operations import Interval

LIMIT = 1024
EDGES = "\x00\x01 !#$az\x7f\x80\u07ff\u0800\ud7ff\ue000\uffff\U00010000\U0010ffff"
edge_text = st.text(alphabet=st.sampled_from(EDGES), max_size=4)
any_text = st.one_of(edge_text, st.text(max_size=4))
long_text = st.builds(
    lambda lead, tail: ("a" * (LIMIT - len(lead.encode()) - len(tail.encode())))[:LIMIT].join([lead, tail]),
    edge_text,
    edge_text,
)


def size(text: str) -> int:
    return len(text.encode())


def every_text_of_two_bytes() -> list[str]:
    ones = [chr(code) for code in range(0x80)]
    pairs = ["".join(pair) for pair in itertools.product(ones, repeat=2)]
    return sorted(["", *ones, *pairs, *(chr(code) for code in range(0x80, 0x800))])


def test_successor_and_predecessor_walk_the_whole_universe_of_two_bytes() -> None:
    universe = every_text_of_two_bytes()
    for lower, upper in itertools.pairwise(universe):
        assert successor(lower, 2) == upper
        assert predecessor(upper, 2) == lower
    assert successor(universe[-1], 2) is None
    assert predecessor("") is None


@given(st.one_of(any_text, long_text))
def test_neighbours_undo_each_other_and_fit_the_limit(text: str) -> None:
    following = successor(text)
    if following is not None:
        assert text < following
        assert size(following) <= LIMIT
        assert predecessor(following) == text
    preceding = predecessor(text)
    if preceding is not None:
        assert preceding < text
        assert size(preceding) <= LIMIT
        assert successor(preceding) == text


@given(st.one_of(any_text, long_text), st.one_of(any_text, long_text))
def test_nothing_lies_between_neighbours(one: str, other: str) -> None:
    lower, upper = sorted([one, other])
    if lower != upper:
        following, preceding = successor(lower), predecessor(upper)
        assert following is not None
        assert following <= upper
        assert preceding is not None
        assert preceding >= lower


@given(edge_text, st.one_of(any_text, long_text))
def test_fill_is_the_greatest_text_with_the_prefix(prefix: str, text: str) -> None:
    greatest = fill(prefix)
    assert greatest.startswith(prefix)
    assert size(greatest) <= LIMIT
    if text.startswith(prefix):
        assert text <= greatest
    following = successor(greatest)
    assert following is None or not following.startswith(prefix)


@given(edge_text, edge_text, st.one_of(any_text, long_text))
def test_an_operand_over_the_limit_becomes_its_neighbour_within_it(lead: str, tail: str, text: str) -> None:
    over = lead + "a" * (LIMIT - size(lead)) + "b" + tail
    below_it = greatest_below(over)
    assert size(below_it) <= LIMIT
    assert below_it < over
    following = successor(below_it)
    assert following is None or following > over
    high, low = text_between(None, over), text_between(over, None)
    assert high is not None
    assert contains(high, text) == (text <= over)
    assert (low is not None and contains(low, text)) == (text >= over)


@pytest.mark.parametrize("width", [1, 2, 3, 4])
def test_a_character_that_straddles_the_limit_is_cut_to_the_greatest_that_fits(width: int) -> None:
    character = {1: "z", 2: "\u0100", 3: "\u0900", 4: "\U0001f600"}[width]
    for room in range(width):
        text = "a" * (LIMIT - room) + character
        replaced = greatest_below(text)
        assert replaced < text
        assert size(replaced) <= LIMIT
        following = successor(replaced)
        assert following is not None
        assert following > text


@given(st.binary(max_size=4), st.binary(max_size=4))
def test_binary_neighbours(one: bytes, other: bytes) -> None:
    for value in (one, one.ljust(LIMIT, b"\xff"), one.ljust(LIMIT, b"\x00")):
        following, preceding = successor(value), predecessor(value)
        assert following is None or (value < following and predecessor(following) == value)
        assert preceding is None or (preceding < value and successor(preceding) == value)
    lower, upper = sorted([one, other])
    if lower != upper:
        following = successor(lower)
        assert following is not None
        assert following <= upper


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value="-1e30", max_value="1e30", places=5))
def test_decimal_neighbours_have_38_digits_and_nothing_between(value: Decimal) -> None:
    following, preceding = successor(value), predecessor(value)
    assert following is not None
    assert preceding is not None
    assert preceding < value < following
    assert len(following.as_tuple().digits) <= 38
    assert len(preceding.as_tuple().digits) <= 38
    assert predecessor(following) == value
    assert successor(preceding) == value


def test_numbers_around_zero_skip_what_dynamodb_can_not_hold() -> None:
    smallest = Decimal("1E-130")
    assert successor(Decimal(0)) == smallest
    assert predecessor(smallest) == 0
    assert predecessor(Decimal(0)) == -smallest
    assert successor(-smallest) == 0
    assert successor(7) == Decimal("7.0000000000000000000000000000000000001"), "1.5 may follow 1"
    assert predecessor(-7) == Decimal("-7.0000000000000000000000000000000000001")
    greatest = int("9" * 38 + "0" * 88)
    assert successor(greatest) is None
    assert predecessor(-greatest) is None
    assert predecessor(greatest) == Decimal("9.9999999999999999999999999999999999998E+125")


@given(st.lists(any_text, max_size=3), any_text, any_text, any_text)
def test_narrowing_is_exact(others: list[str], low: str, high: str, value: str) -> None:
    interval = intersection(Interval(low or None), Interval(high=high))
    for text in filter(None, [*others, low, high, value]):
        inside = interval is not None and contains(interval, text)
        assert inside == ((not low or text >= low) and text <= high)
        if interval is not None:
            for narrowed, keeps in (
                (at_least(interval, value), text >= value),
                (at_most(interval, value), text <= value),
                (above(interval, value), text > value),
                (below(interval, value), text < value),
            ):
                assert (narrowed is not None and contains(narrowed, text)) == (inside and keeps)


def test_a_prefix_alone_is_no_upper_bound() -> None:
    interval = prefix_text("ja")
    assert interval is not None
    assert contains(interval, "ja\U0010ffffx")
    assert not contains(interval, "jb")


@pytest.mark.parametrize("empty", ["", b""])
def test_an_empty_bound_is_never_an_operand(empty: str | bytes) -> None:
    """The table refuses an empty key as an operand; no key is one."""
    assert intersection(Interval(low=empty), Interval()) == Interval()
    assert intersection(Interval(), Interval(high=empty)) is None
    lowest = "\x00" if isinstance(empty, str) else b"\x00"
    assert below(Interval(), lowest) is None
