"""Records that expire while they move, by clocks that differ: nothing that lives by any of them is left behind."""

from __future__ import annotations

import pytest

from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.copy_actions import STRAY, CopyUnit, copied, emptied
from shardweave.reshard.phases import MINUTE_MS, Phase, ReshardState, ReshardStep, Waits
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.operations import DeleteItem
from shardweave.values.codecs import TimestampSeconds
from tests.unit.reshard_world import ReshardWorld
from tests.unit.store_world import Clock


class Visit(Entity, token="visit", shard_bumps=[ShardBump(0, char_bits=1, chars=0)]):
    visit_id: str = unique_property()
    expires: TimestampSeconds | None = ttl_property()


SCHEMA = Schema([Visit])
TWO = ShardBump(0, char_bits=1, chars=1)
WAITS = Waits()


class Elsewhere:
    """The clock of a machine that is wrong by so much."""

    def __init__(self, clock: Clock, wrong_ms: int) -> None:
        self.clock = clock
        self.wrong_ms = wrong_ms

    def __call__(self) -> int:
        return self.clock.now + self.wrong_ms


def world_moved_by(wrong_ms: int) -> ReshardWorld:
    """A world in which what moves records has a clock that is wrong."""
    world = ReshardWorld(schema=SCHEMA, waits=WAITS)
    world.store.create(Visit(visit_id="first"))
    right = world.clock
    world.clock = Elsewhere(right, wrong_ms)  # type: ignore[assignment]
    world.rebirth()
    world.clock = right
    world.clock.now += 2 * WAITS.skew_ms
    return world


def widths(world: ReshardWorld, name: str) -> list[int]:
    """In which spaces a visit is, by the number of their characters."""
    return sorted(len(item["hashKey"]) - len("visit!") for item in world.items_of(Visit) if item["visitId"] == name)


@pytest.mark.parametrize("wrong_ms", [-14 * MINUTE_MS, 0, 14 * MINUTE_MS])
def test_what_lives_by_the_clock_of_any_process_is_found_after_the_flip(wrong_ms: int) -> None:
    world = world_moved_by(wrong_ms)
    stale = world.new_store()
    stale.get(Visit, "first")
    world.start(Visit, TWO)
    world.settle(Visit)
    flips = (world.clock.now + WAITS.skew_ms) // 1000
    lives = [flips + 60 * minutes for minutes in (-40, -5, 1, 8, 14, 29, 50)]
    for expires in lives:
        stale.create(Visit(visit_id=f"v{expires}", expires=expires))
    world.run_until(Visit, Phase.DUAL_NEW, tick=20_000)
    world.clock.now += WAITS.lease_ms
    now = world.clock.now // 1000
    assert any(now < expires < now + 15 * 60 for expires in lives)
    for expires in lives:
        if expires > now:
            assert world.new_store().get(Visit, f"v{expires}") is not None


@pytest.mark.parametrize("width", [0, 1])
@pytest.mark.parametrize("ago_minutes", [-10, 10])
def test_the_removal_of_one_copy_by_the_tables_ttl_is_no_difference_after_the_flip(
    ago_minutes: int, width: int
) -> None:
    world = world_moved_by(0)
    verified = world.clock.now + WAITS.skew_ms + WAITS.soak_ms
    world.store.create(Visit(visit_id="e", expires=verified // 1000 - 60 * ago_minutes))
    world.start(Visit, TWO)
    world.run_until(Visit, Phase.DUAL_NEW, tick=MINUTE_MS)
    assert widths(world, "e") == [0, 1]
    for item in world.items_of(Visit):
        if item["visitId"] == "e" and len(item["hashKey"]) == len("visit!") + width:
            world.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))
    world.run_until(Visit, Phase.NEW_ONLY, tick=MINUTE_MS * 5)


def control() -> ReshardState:
    new = ShardMap.of_bumps((TWO,), 1, 1)
    return ReshardState(1, SCHEMA[Visit].shard_map, new, Phase.DUAL_OLD, ReshardStep.COPY)


def test_a_mover_judges_by_a_time_that_is_past_for_everyone() -> None:
    visit = SCHEMA[Visit].complete({"visitId": "v", "expires": 1000, "rev": "r"})
    assert isinstance(copied(SCHEMA[Visit], control(), visit, 999_999), CopyUnit)
    assert copied(SCHEMA[Visit], control(), visit, 1_000_000) is None
    assert emptied(SCHEMA[Visit], control(), visit, 999_999) is STRAY
    assert isinstance(emptied(SCHEMA[Visit], control(), visit, 1_000_000), CopyUnit)
