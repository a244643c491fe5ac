"""Entities whose indexes have shards of their own move there, back, and half way back: every record is in each index
once, at the keys that follow from where it is, and walks by such an index go on over the flip."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.maintenance.doctor import Doctor
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.reshard.independent_keys import recomputed
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Phase, ReshardStep, map_in_force
from shardweave.table.operations import DeleteItem, PutItem
from tests.unit.index_shards_world import SIXTY_FOUR, visits_schema
from tests.unit.reshard_world import ReshardWorld, unmarked

SCHEMA = visits_schema(SIXTY_FOUR)
VISIT = SCHEMA.entity("visit")
MODEL = VISIT.model
INDEXES = {"byPlace": {"place": Equal("sea")}, "byPlaceOne": {"place": Equal("sea")},
           "byPlaceMany": {"place": Equal("sea")}, "all": {}}  # fmt: skip
TARGETS = {"256 shards": ShardBump(0, 2, 4), "4 shards": ShardBump(0, 1, 2), "one shard": ShardBump(0, 1, 0)}


def examined(world: World) -> dict[str, int]:
    """What the doctor finds, by kind."""
    report = Doctor(world.store.parts, world.clock).run()
    assert report.done
    return dict(report.findings.counts)


class World(ReshardWorld):
    """Visits to the sea, and who walks through them."""

    def __init__(self) -> None:
        super().__init__(schema=SCHEMA)
        maps = LeasedMaps(self.inner, self.waits, clock=self.clock, monotonic=self.clock, exact=False)
        keys = CursorKeys("k", {"k": b"k" * 32})
        self.queries = QueryRunner(SCHEMA, self.inner, keys, maps=maps, clock=self.clock)
        self.names = [f"v{number:02}" for number in range(60)]
        for number, name in enumerate(self.names):
            given = {"visit_id": name, "created": self.clock.now - 100 + number, "place": "sea", "note": "n"}
            self.store.create(given, MODEL)

    def page(self, index: str, cursor: str | None = None, limit: int = 25) -> tuple[list[str], str | None]:
        page = self.queries.run(QuerySpec("visit", INDEXES[index], index, limit=limit, cursor=cursor))
        return [each.visit_id for each in page.items], page.cursor

    def check(self) -> None:
        """Everything that is stored is at the keys of the map in force, by either computation."""
        shard_map = map_in_force(VISIT.shard_map, self.control(MODEL))
        stored = list(unmarked(self.items_of(MODEL)))
        assert sorted(item["visitId"] for item in stored) == self.names
        for item in stored:
            assert item == recomputed(VISIT, item, shard_map)
            assert item == VISIT.complete(VISIT.visible(item) | {"rev": item["rev"]}, shard_map)
        for index, conditions in INDEXES.items():
            assert self.page(index, limit=500)[0] == self.names, index
            lanes = self.queries.plan(QuerySpec("visit", conditions, index)).lanes
            most = {"byPlaceOne": 1, "byPlaceMany": 16, "all": 4}.get(index, 10**6)
            assert len(lanes) == min(most, shards_of(shard_map))
        assert examined(self) == {}


def shards_of(shard_map: ShardMap) -> int:
    return shard_map.generations[0].space.shards


@pytest.mark.parametrize("target", TARGETS.values(), ids=TARGETS)
def test_records_move_with_the_keys_of_their_indexes_and_walks_go_on(target: ShardBump) -> None:
    world = World()
    before = {index: world.page(index) for index in INDEXES}
    world.start(MODEL, target)
    world.run_until(MODEL, Phase.DUAL_OLD, ReshardStep.COPY)
    world.store.update(MODEL, "v03", {"note": "changed"})
    world.run_until(MODEL, Phase.DUAL_NEW)
    world.clock.now += world.waits.lease_ms
    for index, (names, cursor) in before.items():
        assert names + world.page(index, cursor, limit=100)[0] == world.names, index
    world.finish(MODEL)
    assert not world.control(MODEL).attention
    world.check()


@pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.DUAL_NEW])
def test_a_move_that_is_taken_back_leaves_the_keys_as_they_were(phase: Phase) -> None:
    world = World()
    before = sorted(world.items_of(MODEL), key=lambda item: item["visitId"])
    world.start(MODEL, TARGETS["256 shards"])
    world.run_until(MODEL, phase)
    world.settle(MODEL)
    world.abort(MODEL)
    world.finish(MODEL)
    world.check()
    assert sorted(unmarked(world.items_of(MODEL)), key=lambda item: item["visitId"]) == before


def test_a_copy_with_another_shard_of_an_index_is_found_and_mended() -> None:
    world = World()
    world.start(MODEL, TARGETS["256 shards"])
    world.run_until(MODEL, Phase.DUAL_OLD, ReshardStep.VERIFY)
    (copy,) = [each for each in world.items_of(MODEL) if each["visitId"] == "v07" and len(each["hashKey"]) == 10]
    harmed = copy | {"manyHashKey": "visit!3333 |place#sea"}
    assert harmed["manyHashKey"] != copy["manyHashKey"]
    put(world, harmed)
    world.run_until(MODEL, Phase.DUAL_OLD, ReshardStep.COPY)
    assert world.control(MODEL).round > 0, "what differed is copied again"
    world.finish(MODEL)
    world.check()


def test_the_doctor_names_a_record_in_another_shard_of_an_index() -> None:
    world = World()
    assert examined(world) == {}
    (item,) = [each for each in world.items_of(MODEL) if each["visitId"] == "v07"]
    put(world, item | {"manyHashKey": "visit!333 |place#sea"})
    assert examined(world) != {}


def put(world: World, item: dict[str, Any]) -> None:
    """What another program writes."""
    world.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))
    world.inner.run(PutItem(item))
