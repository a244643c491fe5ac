"""The process that moves records dies: at every write of a whole re-shard, and of one that is taken back.

What a process leaves behind is what its writes did: reads leave nothing. So a death before a write is the same as one
after the write before it, and a death after each write is a death at every step.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.reshard.timings import Pace
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.fault_injection import WRITES, Crash, Crashed
from shardweave.table.operations import Operation
from tests.unit.reshard_world import ReshardWorld, unmarked


class Leaf(Entity, token="leaf", shard_bumps=[ShardBump(0, char_bits=1, chars=0)]):
    leaf_id: str = unique_property()
    text: str = ""


SCHEMA = Schema([Leaf])
TWO = ShardBump(0, char_bits=1, chars=1)
NAMES = ("a", "b", "c")
MAX_LIVES = 400


class CrashAt:
    """The process dies after its n-th write, and those that follow it do not; or each process does, with `always`."""

    def __init__(self, number: int, *, always: bool = False) -> None:
        self.number = number
        self.always = always
        self.writes = 0

    def next_for(self, operation: Operation[Any]) -> Crash | None:
        if not isinstance(operation, WRITES):
            return None
        self.writes += 1
        return Crash(carried_out=True) if self.writes == self.number else None

    def reborn(self) -> None:
        if self.always:
            self.writes = 0


def moved(world: ReshardWorld) -> None:
    world.finish(Leaf)


def taken_back_from(phase: Phase, step: ReshardStep) -> Callable[[ReshardWorld], None]:
    def go(world: ReshardWorld) -> None:
        control = world.control(Leaf)
        if control.phase is not Phase.STABLE and not control.aborting:
            world.run_until(Leaf, phase, step)
            world.abort(Leaf)
        world.finish(Leaf)

    return go


PATHS = {
    "forward": moved,
    "back from copying": taken_back_from(Phase.DUAL_OLD, ReshardStep.SWEEP),
    "back from the new space": taken_back_from(Phase.DUAL_NEW, ReshardStep.SOAK),
}


def run(path: str, faults: CrashAt) -> tuple[ReshardWorld, int]:
    """A re-shard during which processes die; and how many did."""
    world = ReshardWorld(faults, schema=SCHEMA, pace=Pace(slice_ms=400, margin_ms=100, page=2))
    for name in NAMES:
        world.store.create(Leaf(leaf_id=name))
    world.start(Leaf, TWO)
    for life in range(MAX_LIVES):
        try:
            PATHS[path](world)
        except Crashed:
            faults.reborn()
            world.rebirth()
        else:
            return world, life
    raise AssertionError("it never ends")


@cache
def writes_of(path: str) -> int:
    faults = CrashAt(0)
    run(path, faults)
    return faults.writes


def assert_whole(world: ReshardWorld, path: str) -> None:
    width = 1 if path == "forward" else 0
    items = world.items_of(Leaf)
    assert sorted(item["leafId"] for item in items) == list(NAMES)
    assert {len(item["hashKey"]) for item in items} == {len("leaf!") + width}
    assert [item for item in unmarked(items) if set(item) - {"hashKey", "rangeKey", "leafId", "text", "rev"}] == []
    left = [item for item in world.items() if item["hashKey"] == "leaf._reshard!"]
    assert [item["rangeKey"] for item in left] == ["_control"]


@pytest.mark.parametrize("path", PATHS)
def test_a_death_after_any_write_is_recovered_from(path: str) -> None:
    for number in range(1, writes_of(path) + 1):
        world, deaths = run(path, CrashAt(number))
        assert deaths == 1
        assert_whole(world, path)


@pytest.mark.parametrize("path", PATHS)
def test_processes_that_live_for_a_slice_at_most_get_there_too(path: str) -> None:
    """A slice takes four writes: its claim, a transaction for each of two pages, what it saves."""
    world, deaths = run(path, CrashAt(5, always=True))
    assert deaths > 3
    assert_whole(world, path)
