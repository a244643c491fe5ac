"""Key values as bytes: their order is DynamoDB's, equal exactly when the values are, and places cover every segment."""

from __future__ import annotations

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import InvalidRequest
from shardweave.table.embedded.ordering import PLACE_BYTES, KeyColumn, number_bytes, segment_bounds, tie_bytes

TEXT = KeyColumn("name", "S", "range")
HASH = KeyColumn("name", "S", "hash")


@st.composite
def numbers(draw: st.DrawFn) -> Decimal:
    digits = str(draw(st.integers(1, 999) | st.integers(1, 10**38 - 1)))
    magnitude = draw(st.integers(-3, 3) | st.integers(-130, 125))
    exponent = magnitude - len(digits) + 1
    return draw(st.sampled_from([Decimal(0), Decimal((draw(st.integers(0, 1)), tuple(map(int, digits)), exponent))]))


@given(numbers(), numbers())
def test_the_bytes_of_numbers_are_ordered_and_equal_as_the_numbers_are(left: Decimal, right: Decimal) -> None:
    assert (number_bytes(left) < number_bytes(right)) == (left < right)
    assert (number_bytes(left) == number_bytes(right)) == (left == right)


@given(numbers(), numbers())
def test_no_encoded_number_begins_another_negative_one(left: Decimal, right: Decimal) -> None:
    """Else a longer negative number would sort on the wrong side of a shorter one."""
    shorter, longer = number_bytes(-abs(left)), number_bytes(-abs(right))
    assert shorter == longer or not longer.startswith(shorter)


def test_a_number_is_one_key_however_it_is_written() -> None:
    assert len({number_bytes(value) for value in (10, Decimal(10), Decimal("10.00"), Decimal("1E+1"))}) == 1


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8"), min_size=1))
def test_the_bytes_of_texts_are_ordered_as_their_utf8(left: str, right: str) -> None:
    assert (TEXT.encode(left) < TEXT.encode(right)) == (left.encode() < right.encode())


@given(st.text(st.characters(codec="utf-8"), min_size=1), st.text(st.characters(codec="utf-8"), min_size=1))
def test_hash_keys_keep_apart_what_differs(left: str, right: str) -> None:
    assert (HASH.encode(left) == HASH.encode(right)) == (left == right)
    assert HASH.encode(left)[PLACE_BYTES:] == left.encode()


def test_ties_are_not_in_the_order_of_the_keys() -> None:
    keys = [f"user{number:03}".encode() for number in range(50)]
    ties = [tie_bytes(b"h", key) for key in keys]
    assert len(set(ties)) == len(keys)
    assert ties not in (sorted(ties), sorted(ties, reverse=True))


def test_a_tie_tells_the_hash_key_from_the_range_key() -> None:
    assert tie_bytes(b"ab", b"c") != tie_bytes(b"a", b"bc")


@given(st.integers(1, 1_000_000))
def test_segments_follow_one_another_and_cover_every_place(total: int) -> None:
    parts = range(total) if total <= 64 else [0, 1, total // 2, total - 2, total - 1]
    for segment in parts:
        low, high = segment_bounds(segment, total)
        if segment == 0:
            assert low == b"\x00" * PLACE_BYTES
        if segment == total - 1:
            assert high is None
        else:
            assert high is not None
            assert low < high
            assert high == segment_bounds(segment + 1, total)[0]


@pytest.mark.parametrize("value", ["", None, True, 1, b"x", ["x"], {"x"}])
def test_what_is_no_text_is_no_text_key(value: object) -> None:
    with pytest.raises(InvalidRequest) as refused:
        TEXT.encode(value)
    assert refused.value.where == "name"


@pytest.mark.parametrize(("column", "limit"), [(HASH, 2048), (TEXT, 1024)])
def test_a_key_is_limited_in_bytes_not_in_characters(column: KeyColumn, limit: int) -> None:
    column.encode("é" * (limit // 2))
    with pytest.raises(InvalidRequest):
        column.encode("é" * (limit // 2) + "x")
