"""Shard spaces, bumps, generations, and where a query must look."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.keys.key_format import crc32
from shardweave.keys.sharding import (
    MAX_SHARDS,
    READ_AHEAD_MS,
    Placement,
    ShardBump,
    ShardMap,
    ShardSpace,
    bump_faults,
    is_suffix,
    placements,
)

DIGITS = "0123456789abcdefghijklmnopqrstuv"
SPACES = st.builds(ShardSpace, st.integers(1, 5), st.integers(0, 2))


@given(SPACES)
def test_suffixes_are_the_shard_numbers_in_the_base_and_sort_like_them(space: ShardSpace) -> None:
    suffixes = list(space.suffixes())
    assert len(suffixes) == len(set(suffixes)) == space.shards == (2**space.char_bits) ** space.chars
    assert suffixes == sorted(suffixes)
    for number, suffix in enumerate(suffixes):
        assert len(suffix) == space.chars
        value = 0
        for digit in suffix:
            value = value * 2**space.char_bits + DIGITS.index(digit)
        assert value == number
        assert is_suffix(suffix)


@given(SPACES, st.integers(0, 2**32 - 1))
def test_a_hash_falls_into_its_remainder(space: ShardSpace, hashed: int) -> None:
    assert space.suffix_of(hashed) == space.suffix(hashed % space.shards)


@pytest.mark.parametrize("text", ["w", "A", "!", "0" * 17, " "])
def test_what_is_no_suffix(text: str) -> None:
    assert not is_suffix(text)


TIMES = st.integers(0, 60)
MAPS = st.builds(
    lambda times, zero: ShardMap.of_bumps(
        tuple(ShardBump(time, 1, chars) for chars, time in enumerate([0, *sorted(times)] if zero else sorted(times), 1))
    ),
    st.sets(st.integers(1, 50), max_size=4),
    st.booleans(),
)


@given(MAPS, TIMES)
def test_a_record_belongs_to_the_last_bump_at_or_before_its_time(shard_map: ShardMap, time: int) -> None:
    generation = shard_map.generation_of(time)
    assert generation.begins <= time
    assert generation.ends is None or time < generation.ends
    assert generation.begins == max(each.begins for each in shard_map.generations if each.begins <= time)


@given(MAPS)
def test_generations_cover_all_time_without_gap_or_overlap(shard_map: ShardMap) -> None:
    generations = shard_map.generations
    assert generations[0].begins == 0
    assert [each.ends for each in generations] == [*(each.begins for each in generations[1:]), None]
    assert len({each.space.chars for each in generations}) == len(generations)
    assert shard_map.sole == (generations[0] if len(generations) == 1 else None)


@given(MAPS, st.none() | TIMES, st.none() | TIMES)
def test_a_window_meets_exactly_the_generations_of_the_times_in_it(
    shard_map: ShardMap, earliest: int | None, latest: int | None
) -> None:
    first, last = 0 if earliest is None else earliest, 200 if latest is None else latest
    expected = {shard_map.generation_of(time) for time in range(first, last + 1)}
    found = shard_map.between(earliest, latest)
    assert expected == set(found) if first <= last else expected <= set(found)
    assert list(found) == sorted(found, key=lambda each: each.begins)


def test_without_a_bump_there_is_one_shard_with_an_empty_suffix() -> None:
    assert [each.space for each in ShardMap.of_bumps(()).generations] == [ShardSpace(1, 0)]
    later = ShardMap.of_bumps((ShardBump(100, 2, 1),))
    assert [(each.begins, each.ends, each.space.shards) for each in later.generations] == [(0, 100, 1), (100, None, 4)]


def test_a_generation_that_begins_within_the_hour_is_read_already() -> None:
    begins = 1_726_967_333_000
    shard_map = ShardMap.of_bumps((ShardBump(0, 1, 1), ShardBump(begins, 1, 2)))
    assert len(shard_map.begun(begins - READ_AHEAD_MS - 1)) == 1
    assert len(shard_map.begun(begins - READ_AHEAD_MS)) == 2
    seconds = ShardMap.of_bumps((ShardBump(0, 1, 1), ShardBump(begins // 1000, 1, 2)))
    assert len(seconds.begun(begins // 1000 - 3601, "s")) == 1
    assert len(seconds.begun(begins // 1000 - 3600, "s")) == 2


@given(MAPS, st.none() | st.text(max_size=5))
def test_placements_are_all_shards_or_one_a_generation(shard_map: ShardMap, text: str | None) -> None:
    found = list(placements(shard_map.generations, crc32, text))
    if text is None:
        assert len(found) == sum(each.space.shards for each in shard_map.generations)
    else:
        assert found == [Placement(each, each.space.suffix_of(crc32(text))) for each in shard_map.generations]
    assert len({placement.suffix for placement in found}) == len(found)
    assert found == sorted(found, key=lambda placement: (placement.generation.begins, placement.suffix))


FAULTY: list[tuple[tuple[ShardBump, ...], str]] = [
    ((ShardBump(0, 0, 1),), "out of range"),
    ((ShardBump(0, 6, 1),), "out of range"),
    ((ShardBump(0, 1, -1),), "out of range"),
    ((ShardBump(0, 1, 17),), "out of range"),
    ((ShardBump(0, 5, 5),), f"over {MAX_SHARDS} shards"),
    ((ShardBump(-1, 1, 1),), "before the epoch"),
    ((ShardBump(0, 1, 1), ShardBump(0, 1, 2)), "out of order"),
    ((ShardBump(9, 1, 1), ShardBump(3, 1, 2)), "out of order"),
    ((ShardBump(0, 1, 2), ShardBump(9, 5, 2)), "not wider"),
    ((ShardBump(0, 1, 2), ShardBump(9, 5, 1)), "not wider"),
    ((ShardBump(9, 1, 0),), "not wider than the one shard of the time before it"),
]


@pytest.mark.parametrize(("bumps", "message"), FAULTY)
def test_bumps_that_can_t_be_are_faults(bumps: tuple[ShardBump, ...], message: str) -> None:
    faults = bump_faults(bumps)
    assert any(message in found for found, _ in faults)
    assert all(fix for _, fix in faults)


def test_bumps_that_can_be() -> None:
    assert bump_faults(()) == []
    assert bump_faults((ShardBump(0, 1, 0), ShardBump(5, 2, 1), ShardBump(9, 5, 4))) == []
