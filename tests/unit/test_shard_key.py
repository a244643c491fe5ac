"""Shard keys as values: what they hold, what they refuse, when they are equal, how they sort."""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import enum
import pickle
import uuid
import zoneinfo
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import InputError, InvalidShardArguments, InvalidShardKey
from shardweave.keys.shard_key import EMPTY, AnyKey, Id, ShardChild, ShardGrandchild, ShardKey, key_of
from shardweave.keys.shard_key.identifiers import MAX_ID_BYTES

from .shard_key_cases import IDS, KINDS, any_id, any_key, few_keys, same

USER = "wf5yU_5f63gqauSOLpP5O"


def test_a_key_is_its_parts() -> None:
    key = ShardKey("u", "1", USER)
    assert (key.origin, key.shard, key.record_id, key.ids) == ("u", "1", USER, (USER,))
    assert ShardKey(origin="u", shard="0a", record_id=7) == ShardKey("u", "0a", 7)
    grandchild = ShardGrandchild("o", "", "order", 2, "line")
    assert grandchild.ids == ("order", 2, "line")
    assert grandchild.parent == ShardChild("o", "", "order", 2)
    assert grandchild.parent.parent == ShardKey("o", "", "order")
    with pytest.raises(dataclasses.FrozenInstanceError):
        key.origin = "e"  # type: ignore[misc]


def test_the_number_of_ids_decides_the_kind() -> None:
    for count, kind in enumerate(KINDS, 1):
        assert key_of("o", "1", *range(count)) == kind("o", "1", *range(count))  # type: ignore[call-arg]
    for ids in ((), (1, 2, 3, 4)):
        with pytest.raises(InvalidShardArguments, match="one to three"):
            key_of("o", "1", *ids)


def test_its_text_lists_the_parts_on_one_line() -> None:
    assert str(ShardKey("u", "1", USER)) == f"origin u, shard '1', record '{USER}'"
    moment = dt.datetime(2024, 9, 21, 3, 8, 53, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    number = uuid.UUID("6f1c5f0e-2b7c-4c3f-9a51-0c1d2e3f4a5b")
    assert str(ShardGrandchild("o", "", number, moment, 7)) == (
        f"origin o, shard '', record {number}, child 2024-09-21T01:08:53.000000Z, grandchild 7"
    )
    assert str(ShardChild("o", "0a", b"\x01\xff", dt.timedelta(days=1))) == (
        "origin o, shard '0a', record 0x01ff, child P1DT0.000000S"
    )
    assert str(ShardChild("o", "0a", Decimal("1.50"), True)) == "origin o, shard '0a', record 1.50, child True"
    assert "\n" not in str(ShardKey("u", "1", "two\nlines"))


# -- ids --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("python", IDS, ids=lambda python: python.__name__)
@given(data=st.data())
def test_an_id_stays_what_it_is(python: type, data: st.DataObject) -> None:
    value = data.draw(IDS[python])
    assert same(ShardKey("u", "1", value).record_id, value)


def test_a_datetime_is_kept_in_utc() -> None:
    berlin = zoneinfo.ZoneInfo("Europe/Berlin")
    twice = dt.datetime(2024, 10, 27, 2, 30, tzinfo=berlin)
    first, second = ShardKey("u", "1", twice), ShardKey("u", "1", twice.replace(fold=1))
    assert same(first.record_id, dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC))
    assert same(second.record_id, dt.datetime(2024, 10, 27, 1, 30, tzinfo=dt.UTC))
    folded = ShardKey("u", "1", dt.datetime(2024, 10, 27, 0, 30, tzinfo=dt.UTC, fold=1))
    assert folded == first
    assert same(folded.record_id, first.record_id)


class Color(enum.StrEnum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Moment(dt.datetime):
    """A datetime of somebody's own."""


class Day(dt.date):
    """A date of somebody's own."""


class Number(uuid.UUID):
    """A UUID of somebody's own."""


class Ratio(float):
    """A float that prints itself in its own way."""

    def __repr__(self) -> str:
        return "a ratio"


@pytest.mark.parametrize(
    ("value", "plain"),
    [
        (Color.RED, "red"),
        (Level.HIGH, 3),
        (Moment(2024, 1, 31, tzinfo=dt.UTC), dt.datetime(2024, 1, 31, tzinfo=dt.UTC)),
        (Day(2024, 1, 31), dt.date(2024, 1, 31)),
        (Number(int=5), uuid.UUID(int=5)),
        (Ratio(0.5), 0.5),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_id_of_a_subclass_becomes_the_plain_type(value: Any, plain: Id) -> None:
    key = ShardKey("u", "1", value)
    assert type(key.record_id) is type(plain)
    assert key == ShardKey("u", "1", plain)


REFUSED_IDS: list[tuple[str, Any]] = [
    ("NoneType can't be an id", None),
    ("list can't be an id", [1]),
    ("tuple can't be an id", ("a",)),
    ("complex can't be an id", 1j),
    ("time can't be an id", dt.time(1)),
    ("bytearray can't be an id", bytearray(b"1")),
    ("object can't be an id", object()),
    ("ShardKey can't be an id", ShardKey("u", "1", 1)),
    ("outside -2^63 to 2^64-1", -(2**63) - 1),
    ("outside -2^63 to 2^64-1", 2**64),
    ("no time zone", dt.datetime(2024, 1, 31)),  # noqa: DTZ001
    ("years 1 to 9999", dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))),
    ("years 1 to 9999", dt.datetime(9999, 12, 31, 23, 30, tzinfo=dt.timezone(dt.timedelta(hours=-1)))),
    ("float id is not finite", float("nan")),
    ("float id is not finite", float("inf")),
    ("float id is not finite", float("-inf")),
    ("Decimal id is not finite", Decimal("NaN")),
    ("Decimal id is not finite", Decimal("sNaN")),
    ("Decimal id is not finite", Decimal("-Infinity")),
    ("surrogate pair", "\ud800"),
    (f"{MAX_ID_BYTES + 1} bytes", "x" * (MAX_ID_BYTES + 1)),
    (f"{MAX_ID_BYTES + 2} bytes", "é" * (MAX_ID_BYTES // 2 + 1)),
    (f"{MAX_ID_BYTES + 1} bytes", b"x" * (MAX_ID_BYTES + 1)),
]


@pytest.mark.parametrize(("message", "value"), REFUSED_IDS, ids=lambda value: repr(value)[:20])
def test_what_can_t_be_an_id_is_refused_wherever_it_stands(message: str, value: Any) -> None:
    for kind in KINDS:
        for place, name in enumerate(kind.id_names):
            ids: list[Any] = [1] * len(kind.id_names)
            ids[place] = value
            for origin in ("u", "0"):
                with pytest.raises(InvalidShardArguments, match=message.replace("^", r"\^")) as refused:
                    kind(origin, "1", *ids)  # type: ignore[call-arg]
                assert refused.value.where == name
                assert refused.value.fix


def test_the_longest_id_is_as_long_as_a_hash_key() -> None:
    assert len(str(ShardKey("u", "1", "x" * MAX_ID_BYTES).record_id)) == MAX_ID_BYTES


def test_an_error_does_not_show_the_id() -> None:
    with pytest.raises(InvalidShardArguments) as refused:
        ShardKey("u", "1", "secret" * 1000)
    assert "secret" not in str(refused.value)


# -- origin and shard -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("origin", ["", "uu", "é", "٣", "-", "_", " ", "u\n", None, 1, b"u"])
def test_an_origin_is_one_ascii_letter_or_digit(origin: Any) -> None:
    with pytest.raises(InvalidShardArguments) as refused:
        ShardKey(origin, "1", 1)
    assert refused.value.where == "origin"


@pytest.mark.parametrize("shard", [None, 1, b"1", "w", "A", "-", "1 ", "٣", "0" * 17])
def test_a_shard_is_a_suffix(shard: Any) -> None:
    with pytest.raises(InvalidShardArguments) as refused:
        ShardKey("u", shard, 1)
    assert refused.value.where == "shard"


def test_both_are_input_errors_with_codes_of_their_own() -> None:
    assert issubclass(InvalidShardArguments, InputError)
    assert issubclass(InvalidShardKey, InputError)
    assert {InvalidShardArguments.code, InvalidShardKey.code} == {"invalid_shard_arguments", "invalid_shard_key"}


def test_only_empty_has_the_origin_0() -> None:
    assert (EMPTY.origin, EMPTY.shard, EMPTY.record_id) == ("0", "", "")
    assert ShardKey("0", "", "") == EMPTY
    for shard, value in (("1", ""), ("", "a"), ("1", "a"), ("", 0), ("", False), ("", b""), ("", 0.0)):
        with pytest.raises(InvalidShardArguments) as refused:
            ShardKey("0", shard, value)
        assert refused.value.where == "origin"
    with pytest.raises(InvalidShardArguments):
        ShardChild("0", "", "", "")
    with pytest.raises(InvalidShardArguments):
        ShardGrandchild("0", "", "", "", "")


@given(any_key)
def test_nothing_else_can_take_the_origin_0_and_empty_sorts_before_everything(key: AnyKey) -> None:
    with pytest.raises(InvalidShardArguments):
        dataclasses.replace(key, origin="0", shard=key.shard or "1")  # type: ignore[type-var]
    assert key > EMPTY
    assert key != EMPTY


# -- equality and order -----------------------------------------------------------------------------------------------


@given(few_keys, few_keys)
def test_keys_are_equal_when_kind_and_parts_are_and_then_hash_alike(one: AnyKey, other: AnyKey) -> None:
    alike = (
        type(one) is type(other)
        and (one.origin, one.shard) == (other.origin, other.shard)
        and all(same(a, b) for a, b in zip(one.ids, other.ids, strict=True))
    )
    assert (one == other) == alike
    assert (one != other) == (not alike)
    if alike:
        assert hash(one) == hash(other)
        assert len({one, other}) == 1


@given(any_key)
def test_a_copy_is_equal_and_hashes_alike(key: AnyKey) -> None:
    for twin in (type(key)(key.origin, key.shard, *key.ids), copy.deepcopy(key), pickle.loads(pickle.dumps(key))):  # type: ignore[call-arg]
        assert twin == key
        assert hash(twin) == hash(key)
        assert str(twin) == str(key)


@given(few_keys | any_key, few_keys | any_key)
def test_of_two_keys_one_is_less_or_they_are_equal(one: AnyKey, other: AnyKey) -> None:
    assert [one < other, one == other, one > other].count(True) == 1
    assert (one <= other) == (one < other or one == other)
    assert (one >= other) == (one > other or one == other)
    assert (one < other) == (other > one)


@given(st.lists(few_keys | any_key, max_size=12))
def test_the_order_is_transitive(keys: list[AnyKey]) -> None:
    in_order = sorted(keys)
    backwards = keys[::-1]
    assert sorted(backwards) == in_order
    for place, key in enumerate(in_order):
        assert all(key <= later for later in in_order[place:])


@pytest.mark.parametrize("python", IDS, ids=lambda python: python.__name__)
@given(data=st.data())
def test_ids_of_one_type_sort_by_value(python: type, data: st.DataObject) -> None:
    one, other = data.draw(IDS[python]), data.draw(IDS[python])
    if one < other:  # type: ignore[operator]
        assert ShardKey("u", "1", one) < ShardKey("u", "1", other)


def test_keys_sort_by_origin_shard_type_and_value_and_a_parent_before_its_children() -> None:
    in_order: list[AnyKey] = [
        EMPTY,
        ShardKey("1", "1", "z"),
        ShardKey("e", "", "z"),
        ShardKey("e", "0", "z"),
        ShardKey("u", "0", "z"),
        ShardKey("u", "00", "a"),
        ShardKey("u", "1", "a"),
        ShardChild("u", "1", "a", "x"),
        ShardGrandchild("u", "1", "a", "x", 1),
        ShardChild("u", "1", "a", 7),
        ShardKey("u", "1", "b"),
        ShardKey("u", "1", -5),
        ShardKey("u", "1", 1),
        ShardKey("u", "1", uuid.UUID(int=0)),
        ShardKey("u", "1", Decimal("-0")),
        ShardKey("u", "1", Decimal("0")),
        ShardKey("u", "1", Decimal("1.0")),
        ShardKey("u", "1", Decimal("1.00")),
        ShardKey("u", "1", Decimal("1E+1")),
        ShardKey("u", "1", False),
        ShardKey("u", "1", True),
        ShardKey("u", "1", dt.datetime(2024, 1, 31, tzinfo=dt.UTC)),
        ShardKey("u", "1", dt.date(2024, 1, 31)),
        ShardKey("u", "1", dt.timedelta(-1)),
        ShardKey("u", "1", -0.0),
        ShardKey("u", "1", 0.0),
        ShardKey("u", "1", b""),
    ]
    assert all(one < other for one, other in pairwise(in_order))


@given(any_key, any_id)
def test_a_key_is_neither_equal_nor_comparable_to_anything_else(key: AnyKey, other: Id) -> None:
    assert key != other
    assert key != key.parts
    for compare in ("__lt__", "__le__", "__gt__", "__ge__"):
        assert getattr(key, compare)(other) is NotImplemented
