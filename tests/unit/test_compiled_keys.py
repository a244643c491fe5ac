"""What is compiled for an entity builds what the way step by step builds, and refuses what that refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import KeyTooLong, ShardweaveError, ValueRefused
from shardweave.keys.entity_keys import EntityKeys
from shardweave.keys.key_design import Element, Generated, KeyDesign
from shardweave.keys.key_format import KEY_FORMATS, KeyFormat
from shardweave.keys.sharding import Shard, ShardBump, ShardMap, ShardSpace
from shardweave.values.codecs import IntegerCodec, StringCodec, TimestampCodec

ID, TEAM, NAME = (Element(name, StringCodec()) for name in ("userId", "team", "name"))
AGE, CREATED = Element("age", IntegerCodec()), Element("created", TimestampCodec("ms"))
CITY = Element("place.city", StringCodec(), path=("place", "city"))
FLOOR = Element("place.floor", IntegerCodec(), path=("place", "floor"))
DESIGN = KeyDesign(
    token="user",
    key_format=KEY_FORMATS["ordered"],
    hash_name="hashKey",
    range_name="rangeKey",
    partition=(),
    sort=(ID,),
    shard_by=(ID,),
    timestamp="created",
    generated=(
        Generated("teamHashKey", (TEAM,), sharded=True),
        Generated("teamNameHashKey", (TEAM, NAME), sharded=True),
        Generated("nameRangeKey", (NAME, CREATED), sharded=False),
        Generated("ageRangeKey", (AGE, NAME), sharded=False),
    ),
    hints=frozenset({"userId", "created"}),
)
SHARD = Shard(ShardSpace(5, 2), 3 * 32 + 31)
DESIGNS = {
    "one property": DESIGN,
    "shards of their own": replace(
        DESIGN,
        generated=(
            Generated("allHashKey", (), sharded=True, shards=1),
            Generated("teamHashKey", (TEAM,), sharded=True, shards=4),
            Generated("teamNameHashKey", (TEAM, NAME), sharded=True),
            Generated("nameHashKey", (NAME,), sharded=True, shards=64),
            Generated("idHashKey", (ID,), sharded=True, shards=4),
        ),
    ),
    "partitioned": replace(DESIGN, partition=(TEAM,), sort=(CREATED,), shard_by=(TEAM,)),
    "singleton": replace(DESIGN, partition=(), sort=(), generated=()),
    "sharded by a number": replace(DESIGN, shard_by=(AGE,)),
    "sharded by two": replace(DESIGN, shard_by=(TEAM, NAME)),
    "members of a model": replace(
        DESIGN,
        generated=(
            Generated("cityHashKey", (CITY,), sharded=True),
            Generated("floorRangeKey", (FLOOR, CITY, NAME), sharded=False),
        ),
    ),
    "twice in a key": replace(DESIGN, generated=(Generated("k", (NAME, NAME, CREATED), sharded=False),)),
}
TEXTS = st.one_of(
    st.text(max_size=5), st.text("ab|#! ", max_size=8), st.sampled_from(["x" * 241, "x" * 2033, "ü" * 600, "\ud800"])
)
MAPS = {
    "one shard": ShardMap.of_bumps(()),
    "four shards": ShardMap.of_bumps((ShardBump(0, 2, 1),)),
    "more than are listed": ShardMap.of_bumps((ShardBump(0, 5, 3),)),
    "two generations": ShardMap.of_bumps((ShardBump(0, 2, 1), ShardBump(1_500_000_000_000, 3, 2))),
}
ITEMS = st.fixed_dictionaries(
    {},
    optional={
        "userId": TEXTS,
        "team": st.one_of(TEXTS, st.sampled_from([0, b"b", 1.5, True])),
        "name": TEXTS,
        "age": st.integers(-(10**21), 10**21),
        "place": st.one_of(
            st.none(),
            TEXTS,
            st.fixed_dictionaries({}, optional={"city": st.none() | TEXTS, "floor": st.integers(-9, 9)}),
        ),
        "created": st.one_of(st.integers(10**12, 10**13 - 1), st.integers(-5, 10**14), st.text(max_size=2)),
    },
)


def outcome(build: Callable[[], Any]) -> Any:
    """What is built, or what is wrong with it."""
    try:
        return build()
    except ShardweaveError as error:
        return type(error), error.where, error.message


@pytest.mark.parametrize("key_format", KEY_FORMATS.values(), ids=KEY_FORMATS)
@given(item=ITEMS, design=st.sampled_from(list(DESIGNS.values())))
def test_both_ways_build_the_same_or_refuse_alike(key_format: KeyFormat, design: KeyDesign, item: Any) -> None:
    keys = EntityKeys(replace(design, key_format=key_format))
    assert outcome(lambda: keys.build_in(item, SHARD)) == outcome(lambda: keys.build_step_by_step(item, SHARD))


@pytest.mark.parametrize("key_format", KEY_FORMATS.values(), ids=KEY_FORMATS)
@given(item=ITEMS, design=st.sampled_from(list(DESIGNS.values())), shard_map=st.sampled_from(list(MAPS.values())))
def test_both_ways_choose_the_same_shard(
    key_format: KeyFormat, shard_map: ShardMap, item: Any, design: KeyDesign
) -> None:
    keys = EntityKeys(replace(design, key_format=key_format))
    expected = outcome(lambda: keys.build_step_by_step(item, keys.shard(item, shard_map)))
    assert outcome(lambda: keys.build(item, shard_map)) == expected


def test_names_of_a_declaration_are_literals_whatever_they_hold() -> None:
    quoted = Element('it\'s "quoted" \\', StringCodec())
    keys = EntityKeys(replace(DESIGN, generated=(Generated("k'", (quoted,), sharded=False),)))
    built = keys.build_in({"userId": "u", "created": 10**12, quoted.name: "v"}, Shard(ShardSpace(1, 0), 0))
    assert built["k'"] == f"{quoted.name}#v"


def test_a_refused_value_is_named_and_one_that_is_too_long_too() -> None:
    keys = EntityKeys(DESIGN)
    with pytest.raises(ValueRefused) as refused:
        keys.build_in({"userId": "u", "created": 5}, SHARD)
    assert refused.value.where == "created"
    with pytest.raises(KeyTooLong) as too_long:
        keys.build_in({"userId": "u" * 1100, "created": 10**12}, SHARD)
    assert too_long.value.where == "userId"
