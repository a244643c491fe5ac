"""Indexes with shards of their own: what may be declared, which keys records get, and which lanes a query has."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave import Database
from shardweave.errors import SchemaError
from shardweave.keys.key_format import ARTICLE, ENTITY_MANAGER, ORDERED, KeyFormat
from shardweave.keys.sharding import Shard, ShardBump, ShardMap, ShardSpace, placements
from shardweave.query.plan import plan_query
from shardweave.query.spec import BranchSpec, Equal, Prefix, QuerySpec
from shardweave.reshard.declaration_guard import placement_of, schema_of
from shardweave.reshard.independent_keys import is_equal, recomputed
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.manifest import decode_manifest, encode_manifest, manifest_of, placement_faults
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema

from .index_shards_world import DAY, GROWN, NOW, SIXTY_FOUR, Visits, visits_schema

SPACES = st.builds(ShardSpace, st.integers(1, 5), st.integers(0, 3))
POWERS = st.sampled_from([1, 2, 4, 8, 16, 64, 512, 2**20])
SEA = {"place": Equal("sea")}


# -- numbers ----------------------------------------------------------------------------------------------------------


@given(space=SPACES, most=POWERS, hashed=st.integers(0, 2**32 - 1))
def test_the_number_in_an_index_is_that_of_the_record_s_shard_modulo_its_shards(
    space: ShardSpace, most: int, hashed: int
) -> None:
    shard = Shard(space, hashed % space.shards)
    expected = space.suffix(hashed % space.shards % most)
    assert space.suffix_within(hashed, most) == shard.suffix_within(0, most) == expected
    assert expected == space.suffix(hashed % min(most, space.shards))
    assert space.shard_of(shard.suffix) == shard
    assert shard.suffix == shard.suffix_of(0) == space.suffix_of(hashed)


@given(space=SPACES, most=POWERS)
def test_as_many_suffixes_are_looked_at_as_an_index_has_and_one_where_the_shard_is_known(
    space: ShardSpace, most: int
) -> None:
    generations = ShardMap.of_bumps((ShardBump(0, space.char_bits, space.chars),)).generations
    every = [place.suffix for place in placements(generations, len, None, most)]
    assert every == [space.suffix(number) for number in range(min(most, space.shards))]
    (only,) = placements(generations, len, "x" * 77, most)
    assert only.suffix == space.suffix_within(77, most)
    assert only.suffix in every


@pytest.mark.parametrize("suffix", ["", "00", "4", "w", "-"])
def test_a_suffix_that_is_none_of_the_space_names_no_shard(suffix: str) -> None:
    assert ShardSpace(2, 1).shard_of(suffix) is None


@given(most=POWERS, numbers=st.tuples(st.integers(0, 63), st.integers(0, 63)))
def test_two_generations_never_share_a_key_of_an_index(most: int, numbers: tuple[int, int]) -> None:
    suffixes = [
        {each.space.suffix_within(number, most) for number in numbers} for each in ShardMap.of_bumps(GROWN).generations
    ]
    assert not suffixes[0] & suffixes[1]
    assert not suffixes[1] & suffixes[2]
    assert not suffixes[0] & suffixes[2]


# -- declaring --------------------------------------------------------------------------------------------------------


def faults_of(key: HashKey, key_format: KeyFormat = ORDERED) -> list[str]:
    """What is wrong with a schema that has this key."""

    class Thing(Entity, token="thing"):
        thing_id: str = unique_property()
        team: str
        its_hash_key = key

    with pytest.raises(SchemaError) as wrong:
        Schema([Thing], [Index("its", "its_hash_key", "thing_id")], key_format=key_format)
    assert all(fault.where.startswith("entity Thing.its_hash_key") for fault in wrong.value.faults)
    return [f"{fault.message}; {fault.fix}" for fault in wrong.value.faults]


@pytest.mark.parametrize("shards", [0, -4, 3, 6, 2**20 + 1, 2**21])
def test_shards_are_a_power_of_two(shards: int) -> None:
    (fault,) = faults_of(HashKey("team", shards=shards))
    assert fault.startswith("shards must be a power of two from 1 to 1048576, and is ")
    near = int(fault.rpartition(" ")[2])
    assert near in {1, 2, 4, 2**20}
    assert not near & (near - 1)


@pytest.mark.parametrize(("shards", "kind"), [(4.0, "float"), ("4", "str"), (True, "bool")])
def test_shards_are_a_whole_number(shards: Any, kind: str) -> None:
    assert faults_of(HashKey("team", shards=shards)) == [
        f"must be a whole number, got {kind}; give a power of two, such as 4"
    ]


@pytest.mark.parametrize("key_format", [ARTICLE, ENTITY_MANAGER], ids=lambda each: each.name)
def test_key_formats_of_others_have_no_such_shards(key_format: KeyFormat) -> None:
    (fault,) = faults_of(HashKey("team", shards=4), key_format)
    assert fault.startswith(f"the key format '{key_format.name}' has the keys of another library")


def test_a_hash_key_without_elements_needs_shards_of_its_own() -> None:
    assert faults_of(HashKey()) == [
        "it has no elements; name at least one property, or give shards=4, say, to list the entity over so many"
    ]


@pytest.mark.parametrize(("shards", "lanes"), [(4, 4), (None, 16)])
def test_a_partitioned_entity_is_listed_by_a_hash_key_without_elements(shards: int | None, lanes: int) -> None:
    class Stay(Entity, token="stay", partition="guest", sort="day", shard_bumps=[ShardBump(0, 2, 2)]):
        guest: str
        day: str
        every_hash_key = HashKey(shards=shards)
        day_range_key = RangeKey("day")

    with Database(Schema([Stay], [Index("all", "every_hash_key", "day_range_key")])) as database:
        for number in range(30):
            database.create(Stay(guest=f"g{number}", day=f"d{number:02}"))
        found = [stay.day for stay in database.records(Stay)]
        assert found == [f"d{number:02}" for number in range(30)]
        explained = database.explain(Stay)
        assert (explained.indexes, len(explained.lanes)) == (("all",), lanes)


def test_the_table_s_hash_key_takes_no_shards() -> None:
    class Broken(Entity, token="broken", shards=4):  # type: ignore[call-arg]
        broken_id: str = unique_property()

    with pytest.raises(SchemaError, match="it has no keyword shards"):
        Schema([Broken], [])


# -- keys -------------------------------------------------------------------------------------------------------------


def test_a_record_s_keys() -> None:
    item = Visits().add("v0003")
    number = int(item["hashKey"].removeprefix("visit!"), 4)
    assert number > 16, "a number that differs in every index"
    space = SIXTY_FOUR[0].space
    assert {name: item[name] for name in item if name.endswith("HashKey")} == {
        "placeHashKey": f"visit!{space.suffix(number)} |place#sea",
        "oneHashKey": "visit!000 |place#sea",
        "manyHashKey": f"visit!{space.suffix(number % 16)} |place#sea",
        "allHashKey": f"visit!{space.suffix(number % 4)}",
        "idHashKey": f"visit!{space.suffix(number % 2)} |visitId#v0003",
    }


MAPS = {
    "one shard": ShardMap.of_bumps(()),
    "generations": ShardMap.of_bumps(GROWN),
    "256 shards": ShardMap.of_bumps((ShardBump(0, 4, 2),), 3, 3),
    "32 shards": ShardMap.of_bumps((ShardBump(0, 5, 1),), 4, 4),
}


@given(
    visit_id=st.text("ab! |#é", min_size=1, max_size=6),
    created=st.integers(NOW - 9 * DAY, NOW),
    shard_map=st.sampled_from(list(MAPS.values())),
    one=POWERS,
    many=POWERS,
)
def test_the_second_computation_of_a_re_shard_agrees_with_the_first(
    visit_id: str, created: int, shard_map: ShardMap, one: int, many: int
) -> None:
    entity = visits_schema(one=one, many=many).entity("visit")
    values = {"visitId": visit_id, "created": created, "place": "sea", "note": ""}
    before, after = entity.complete(values), entity.complete(values, shard_map)
    assert recomputed(entity, before, shard_map) == after
    assert is_equal(entity, after, after, shard_map)


def test_a_key_that_was_added_since_must_name_the_shard_that_it_should() -> None:
    entity, shard_map = visits_schema().entity("visit"), MAPS["256 shards"]
    right = entity.complete({"visitId": "v0003", "created": NOW, "place": "sea", "note": ""}, shard_map)
    for name in ("manyHashKey", "allHashKey", "placeHashKey"):
        expected = {each: value for each, value in right.items() if each != name}
        assert is_equal(entity, expected, right, shard_map)
        head, delimiter, rest = str(right[name]).partition(" ")
        wrong = head[:-1] + ("0" if head[-1] != "0" else "1") + delimiter + rest
        assert not is_equal(entity, expected, right | {name: wrong}, shard_map), name


# -- lanes ------------------------------------------------------------------------------------------------------------


def lanes(schema: Schema, index: str, conditions: Any = None) -> list[str]:
    """The hash keys of a plan's lanes."""
    spec = QuerySpec("visit", SEA if conditions is None else conditions, index)
    entity = schema.entity("visit")
    return [lane.hash_value for lane in plan_query(schema, spec, [entity.shard_map], NOW).lanes]


@pytest.mark.parametrize(("index", "most"), [("byPlace", 64), ("byPlaceOne", 1), ("byPlaceMany", 16), ("all", 4)])
def test_a_query_has_as_many_lanes_as_its_index_has_shards_in_each_generation(index: str, most: int) -> None:
    conditions = {} if index == "all" else SEA
    assert len(lanes(visits_schema(), index, conditions)) == most
    grown = lanes(visits_schema(GROWN), index, conditions)
    assert len(grown) == min(2, most) + min(16, most) + min(64, most)
    assert len(set(grown)) == len(grown)


def test_it_has_one_where_the_query_fixes_what_decides_the_shard() -> None:
    assert len(lanes(visits_schema(), "byVisit", {"visit_id": Equal("v0003")})) == 1
    assert len(lanes(visits_schema(GROWN), "byVisit", {"visit_id": Equal("v0003")})) == 3
    visits = Visits()
    visits.fill(50)
    assert visits.ids(QuerySpec("visit", {"visit_id": Equal("v0003")}, "byVisit")) == ["v0003"]


def test_an_explanation_says_how_many_shards_an_index_has() -> None:
    visits = Visits()
    explained = visits.runner.explain(QuerySpec("visit", SEA, "byPlaceMany"))
    assert "byPlaceMany has at most 16 shards of its own" in explained.reasons
    assert {lane.generation for lane in explained.lanes} == {"64 shards from 0, 16 in this index"}
    plain = visits.runner.explain(QuerySpec("visit", SEA, "byPlace"))
    assert {lane.generation for lane in plain.lanes} == {"64 shards from 0"}


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", ["byPlace", "byPlaceOne", "byPlaceMany", "all"])
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_of_every_index_are_the_same(index: str, *, reverse: bool) -> None:
    visits = Visits(visits_schema(GROWN))
    ids = visits.fill(120)
    for number in range(30):
        visits.add(f"old{number:02d}", created=NOW - 8 * DAY + number)
        ids.insert(number, f"old{number:02d}")
    spec = QuerySpec("visit", {} if index == "all" else SEA, index, reverse=reverse, limit=7)
    assert visits.ids(spec) == (ids[::-1] if reverse else ids)


@pytest.mark.parametrize("index", ["byPlaceOne", "byPlaceMany", "all"])
@pytest.mark.parametrize("reverse", [False, True])
def test_ties_of_many_table_shards_are_cut_in_the_middle_and_each_is_given_once(index: str, *, reverse: bool) -> None:
    visits = Visits()
    ids = visits.fill(90, created=NOW)
    assert len({visits.add(each)["hashKey"] for each in ids}) > 40
    spec = QuerySpec("visit", {} if index == "all" else SEA, index, reverse=reverse, limit=4)
    pages = [[each.visit_id for each in page.items] for page in visits.pages(spec)]
    assert [len(page) for page in pages[:-1]] == [4] * (len(pages) - 1)
    given_ids = [each for page in pages for each in page]
    assert sorted(given_ids) == ids
    other = visits.ids(QuerySpec("visit", {} if index == "all" else SEA, index, reverse=not reverse, limit=100))
    assert given_ids == other[::-1]


@pytest.mark.parametrize("index", ["byPlaceOne", "byPlaceMany", "all"])
@pytest.mark.parametrize("reverse", [False, True])
def test_pages_before_meet_those_after_in_the_middle_of_ties(index: str, *, reverse: bool) -> None:
    visits = Visits(visits_schema(GROWN))
    visits.fill(60, created=NOW)
    for number in range(20):
        visits.add(f"old{number}", created=NOW - 3 * DAY)
    spec = QuerySpec("visit", {} if index == "all" else SEA, index, reverse=reverse, limit=7)
    pages = [page for page, _ in zip(visits.pages(spec), range(6), strict=False)]
    there = [[each.visit_id for each in page.items] for page in pages]
    back, token = [], pages[-1].prev_token
    while token is not None:
        page = visits.runner.run(replace(spec, cursor=token))
        back.insert(0, [each.visit_id for each in page.items])
        token = page.prev_token
    assert [page for page in back if page] == there[:-1]


def test_a_position_names_the_record_by_the_table_s_key_beside_the_index_s() -> None:
    view = Visits().entity.view("byPlaceOne")
    assert set(view.page_key) == {"hashKey", "rangeKey", "oneHashKey", "created"}


@pytest.mark.parametrize("reverse", [False, True])
def test_a_record_of_several_branches_is_given_once_whatever_shards_their_indexes_have(*, reverse: bool) -> None:
    visits = Visits(visits_schema(GROWN))
    wanted = set()
    for number in range(160):
        place, note = ("sea", "spa", "hut")[number % 3], ("sun", "sea", "")[number % 5 % 3]
        visits.add(f"v{number:03d}", place=place, note=note, created=NOW - number % 7 * DAY)
        if place == "sea" or (place == "spa" and note.startswith("s")):
            wanted.add(f"v{number:03d}")
    branches = (
        BranchSpec({"place": Equal("sea"), "note": Prefix("s")}, "notesOne"),
        BranchSpec({"place": Equal("sea")}, "placesMany"),
        BranchSpec({"place": Equal("spa"), "note": Prefix("s")}, "notesOne"),
    )
    given_ids = visits.ids(QuerySpec("visit", branches=branches, reverse=reverse, limit=6))
    assert sorted(given_ids) == sorted(wanted)
    assert visits.runner.count(QuerySpec("visit", branches=branches)).count == len(wanted)


def test_a_page_over_branches_of_unequal_shards_asks_each_lane_for_its_part() -> None:
    visits = Visits(visits_schema(many=64))
    for number in range(300):
        visits.add(f"v{number:03d}", place="sea" if number % 2 else "spa", note="spa", created=NOW + number)
    branches = (
        BranchSpec({"place": Equal("sea")}, "notesOne"),
        BranchSpec({"place": Equal("spa")}, "placesMany"),
    )
    explained = visits.runner.explain(QuerySpec("visit", branches=branches, limit=25), run=True)
    sizes = {(lane.index, lane.first_fetch) for lane in explained.lanes}
    assert sizes == {("notesOne", 22), ("placesMany", 4)}
    assert explained.stats is not None
    assert explained.stats.rounds == 1


# -- changing it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("before", "after", "was"), [(1, 2, "shards=1"), (None, 1, "the table's shards")])
def test_another_number_under_one_name_is_refused(before: int | None, after: int | None, was: str) -> None:
    old, new = manifest_of(visits_schema(one=before)), manifest_of(visits_schema(one=after))
    for one, other, said in ((old, new, was), (new, old, f"shards={after}")):
        (fault,) = placement_faults(one, other)
        assert fault.where == "visit: generated property oneHashKey"
        assert said in fault.message
        assert "with another name" in fault.fix
    assert placement_faults(old, old) == []


def test_a_manifest_carries_them_and_says_nothing_of_schemas_that_have_none() -> None:
    manifest = manifest_of(visits_schema())
    assert manifest.entities["visit"].shards == {
        "oneHashKey": 1,
        "manyHashKey": 16,
        "allHashKey": 4,
        "idHashKey": 2,
    }
    assert decode_manifest(encode_manifest(manifest)) == manifest

    class Plain(Entity, token="plain"):
        plain_id: str = unique_property()

    text = encode_manifest(manifest_of(Schema([Plain], [])))
    assert '"shards"' not in text
    assert decode_manifest(text).entities["plain"].shards == {}


def test_movers_of_another_number_stop_and_records_stay_where_they_are() -> None:
    one, two = (visits_schema(one=shards).entity("visit") for shards in (1, 2))
    assert schema_of(one) != schema_of(two)
    assert placement_of(one) == placement_of(two)
