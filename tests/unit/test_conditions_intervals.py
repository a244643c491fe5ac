"""The interval of every condition of a query, against brute force over the keys it selects from."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from shardweave.errors import UnsupportedQuery, ValidationFailed, ValueRefused
from shardweave.keys.key_format import ARTICLE, ORDERED
from shardweave.query.conditions import match, normalized, range_interval
from shardweave.query.intervals import contains
from shardweave.query.spec import Constraint, Equal, Prefix, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp

NAMES = ["first", "second", "number"]


class Thing(Entity, token="thing"):
    thing_id: str = unique_property()
    created: Timestamp = timestamp_property()
    first: str | None = None
    second: str | None = None
    number: int | None = None
    day: dt.date | None = None
    code: bytes | None = None

    group_hash_key = HashKey("first")
    three_range_key = RangeKey("first", "second", "number")
    down_range_key = RangeKey("first", desc("number"), "second")


SCHEMA = Schema(
    [Thing],
    [
        Index("three", "hash_key", "three_range_key"),
        Index("down", "hash_key", "down_range_key"),
        Index("second", "hash_key", "second"),
        Index("number", "hash_key", "number"),
        Index("code", "hash_key", "code"),
        Index("grouped", "group_hash_key", "three_range_key"),
    ],
)
THING = SCHEMA[Thing]

words = st.text(alphabet='\x00 !"#$|aé\U0010ffff', max_size=4)
numbers = st.integers(-3, 3)
records = st.lists(
    st.fixed_dictionaries({"first": st.none() | words, "second": st.none() | words, "number": st.none() | numbers}),
    max_size=12,
)


def holds(value: Any, constraint: Constraint) -> bool:
    """The meaning of a constraint, without any key."""
    if value is None:
        return False
    if isinstance(constraint, Equal):
        return bool(value == constraint.value)
    if isinstance(constraint, Prefix):
        return bool(value.startswith(constraint.text))
    return (constraint.low is None or value >= constraint.low) and (constraint.high is None or value <= constraint.high)


def constraints(values: st.SearchStrategy[Any], *, text: bool) -> st.SearchStrategy[Constraint]:
    ranges = st.builds(Range, st.none() | values, st.none() | values).filter(
        lambda r: r != Range() and (None in (r.low, r.high) or r.low <= r.high)
    )
    kinds: list[st.SearchStrategy[Any]] = [st.builds(Equal, values), ranges]
    return st.one_of(*kinds, *([st.builds(Prefix, values)] if text else []))


def selected(index: str, conditions: dict[str, Constraint], rows: list[dict[str, Any]]) -> list[int]:
    """The rows that the interval selects by their stored range key."""
    view = THING.view(index)
    found = normalized(THING, conditions)
    matched = match(view, found)
    assert not isinstance(matched, str), matched
    interval = range_interval(THING.keys, view, found, matched)
    chosen = []
    for place, row in enumerate(rows):
        stored = {name: value for name, value in row.items() if value is not None} | {"thingId": f"t{place}"}
        key = (stored | THING.keys.build(stored, THING.shard_map)).get(view.range_name)
        if key is not None and interval is not None and contains(interval, key):
            chosen.append(place)
    return chosen


@settings(max_examples=150)
@given(records, st.integers(0, 3), st.data())
def test_conditions_on_a_generated_key_select_exactly_their_records(
    rows: list[dict[str, Any]], depth: int, data: st.DataObject
) -> None:
    conditions: dict[str, Constraint] = {}
    for name in NAMES[:depth]:
        values: st.SearchStrategy[Any] = numbers if name == "number" else words
        last = name == NAMES[depth - 1]
        conditions[name] = data.draw(constraints(values, text=name != "number") if last else st.builds(Equal, values))
    expected = [p for p, row in enumerate(rows) if all(holds(row[n], c) for n, c in conditions.items())]
    assert selected("three", conditions, rows) == expected


@settings(max_examples=100)
@given(records, st.data())
def test_a_descending_element_swaps_its_bounds(rows: list[dict[str, Any]], data: st.DataObject) -> None:
    conditions: dict[str, Constraint] = {"first": Equal(data.draw(words))}
    conditions["number"] = data.draw(constraints(numbers, text=False))
    expected = [p for p, row in enumerate(rows) if all(holds(row[n], c) for n, c in conditions.items())]
    assert selected("down", conditions, rows) == expected


@settings(max_examples=100)
@given(records, st.sampled_from(["second", "number"]), st.data())
def test_conditions_on_a_raw_key_select_exactly_their_records(
    rows: list[dict[str, Any]], name: str, data: st.DataObject
) -> None:
    values: st.SearchStrategy[Any] = words if name == "second" else numbers
    conditions = {name: data.draw(constraints(values, text=name == "second"))}
    rows = [row for row in rows if row[name] != ""]
    expected = [p for p, row in enumerate(rows) if holds(row[name], conditions[name])]
    assert selected(name, conditions, rows) == expected


@given(st.integers(1000, 1040), st.sampled_from(["eq", "prefix", "from", "to"]), st.integers(1000, 1030))
def test_operands_around_the_limit(length: int, kind: str, stored: int) -> None:
    operand = "a" * length
    constraint = {"eq": Equal(operand), "prefix": Prefix(operand), "from": Range(operand), "to": Range(None, operand)}
    room = 1024 - len("first# |second |number")
    assume(stored <= room)
    rows = [{"first": "a" * stored, "second": None, "number": None}, {"first": "b", "second": None, "number": None}]
    conditions = {"first": constraint[kind]}
    expected = [p for p, row in enumerate(rows) if holds(row["first"], constraint[kind])]
    assert selected("three", conditions, rows) == expected


def test_ann_comes_before_anna_and_a_range_up_to_ann_leaves_anna_out() -> None:
    rows = [{"first": name, "second": "z", "number": 1} for name in ("annabel", "anna", "ann", "an")]
    keys = [THING.keys.build(row | {"thingId": "t"}, THING.shard_map)["threeRangeKey"] for row in rows]
    assert sorted(keys) == list(reversed(keys))
    assert selected("three", {"first": Range("ann", "ann")}, rows) == [2]
    assert selected("three", {"first": Equal("an")}, rows) == [3]


def test_a_missing_element_matches_no_condition() -> None:
    rows: list[dict[str, Any]] = [
        {"first": None, "second": "x", "number": None},
        {"first": "", "second": "x", "number": 0},
    ]
    assert selected("three", {"first": Range(high="\U0010ffff")}, rows) == [1]
    assert selected("three", {"first": Prefix("")}, rows) == [1]
    assert selected("three", {}, rows) == [0, 1]


def test_a_condition_is_taken_in_the_property_s_own_type() -> None:
    assert normalized(THING, {"created": Range("1726880933000")}) == {"created": Range(1726880933000, None)}
    assert normalized(THING, {"day": Equal(dt.date(2024, 1, 31))}) == {"day": Equal("2024-01-31")}
    assert normalized(THING, {"day": Prefix("2024-01")}) == {"day": Prefix("2024-01")}
    with pytest.raises(ValidationFailed, match="number"):
        normalized(THING, {"number": Equal("many")})
    with pytest.raises(ValueRefused, match="seconds, milliseconds are due"):
        normalized(THING, {"created": Equal(1726880933)})
    with pytest.raises(UnsupportedQuery, match="a prefix is for text"):
        normalized(THING, {"number": Prefix("1")})
    with pytest.raises(UnsupportedQuery, match="needs a bound"):
        normalized(THING, {"number": Range()})
    with pytest.raises(ValueRefused, match="begins above its end"):
        normalized(THING, {"number": Range(2, 1)})
    assert normalized(THING, {"number": Range(-1.5, Decimal("2.5"))}) == {"number": Range(-1, 2)}
    with pytest.raises(ValidationFailed, match="not true or false"):
        normalized(THING, {"number": Equal(True)})
    with pytest.raises(ValueRefused, match="can't be null"):
        normalized(THING, {"first": Equal(None)})


def test_binary_ranges_at_the_limit() -> None:
    view = THING.view("code")

    def bounds(constraint: Constraint) -> Any:
        conditions = {"code": constraint}
        matched = match(view, conditions)
        assert not isinstance(matched, str)
        return range_interval(THING.keys, view, conditions, matched)

    over = b"\x01" * 1025
    assert contains(bounds(Range(None, over)), b"\x01" * 1024)
    assert not contains(bounds(Range(over)), b"\x01" * 1024)
    assert contains(bounds(Range(over)), b"\x02")
    assert bounds(Range(b"\xff" * 1025)) is None
    assert bounds(Equal(over)) is None


def test_a_bare_bar_format_refuses_a_range_on_an_element_that_others_follow() -> None:
    for key_format, refused in ((ORDERED, False), (ARTICLE, True)):
        thing = Schema([Thing], SCHEMA.indexes, key_format=key_format)[Thing]
        view, conditions = thing.view("three"), {"first": Range("a", "b")}
        matched = match(view, conditions)
        assert not isinstance(matched, str)
        if refused:
            with pytest.raises(UnsupportedQuery, match="no order on an element that others follow"):
                range_interval(thing.keys, view, conditions, matched)
        else:
            assert range_interval(thing.keys, view, conditions, matched) is not None


def test_a_bare_bar_format_refuses_a_prefix_that_reaches_into_the_next_element() -> None:
    thing = Schema([Thing], SCHEMA.indexes, key_format=ARTICLE)[Thing]
    with pytest.raises(ValueRefused, match="the prefix holds a delimiter"):
        normalized(thing, {"first": Prefix("a|second#b")})
    assert normalized(THING, {"first": Prefix("a|second#b")}) == {"first": Prefix("a|second#b")}
