"""Each guard of the protocol taken away from what is built: a history that is right with it goes wrong without.

Where another guard would make up for it, that one is taken away on both sides; `docs/resharding.md` has the table.
What is missing is missing in a part that is given to the processes where they are put together (`simulator.parts`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.reshard.phases import Phase, ReshardStep, Waits
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.fault_injection import WRITES, Meanwhile, Script, SimulatedTable, Stall
from shardweave.table.operations import TransactWrite
from tests.simulator.parts import WHOLE, EveryMarkIsKnown, Parts, WithoutConditions, WithoutToken, without
from tests.unit.reshard_world import WAITS, ReshardWorld


class Leaf(Entity, token="leaf", shard_bumps=[ShardBump(0, 1, 1)]):
    leaf_id: str = unique_property()
    text: str = "old"
    number: int = 0


SCHEMA = Schema([Leaf])
FOUR = ShardBump(0, char_bits=1, chars=2)
SHORT = Waits(WAITS.lease_ms, 0, 0, clocks_ms=0, cursor_life_ms=0, quiet_ms=0, recheck_ms=())
"""Phases that wait for leases, and for no request that was signed before."""
FOR_EVER = 10**9
STALL_MS = WAITS.accepted_ms + WAITS.request_ms
"""A request that is sent so long after it was signed is accepted still."""


class World(ReshardWorld):
    """Leaves `a` and `b`, and a writer that stops between its check and its request. `lease_ms` is for how long that
    writer believes what it read."""

    def __init__(self, parts: Parts = WHOLE, waits: Waits = WAITS, lease_ms: int = WAITS.lease_ms) -> None:
        super().__init__(schema=SCHEMA, waits=waits, parts=parts)
        self._lease_ms = lease_ms
        for name in "ab":
            self.store.create(Leaf(leaf_id=name))

    def writer(self, meanwhile: Callable[[], object]) -> Store:
        table = SimulatedTable(self.inner, Script(Stall(meanwhile), matching=WRITES))
        waits = replace(self.waits, lease_ms=self._lease_ms)
        maps = self.parts.maps(self.inner, waits, clock=self.clock, monotonic=self.clock, exact=False)
        return Store(SCHEMA, table, clock=self.clock, maps=maps, waiting=self.pauses.waiting())

    def copy_all(self) -> None:
        self.start(Leaf, FOUR)
        self.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SETTLE)

    def copy(self) -> None:
        self.start(Leaf, FOUR)
        self.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SWEEP)

    def before_the_first_copy(self, meanwhile: Callable[[], object]) -> None:
        """A re-shard begins, and something happens between a mover's reading and its writing."""
        self.start(Leaf, FOUR)
        self.coordinator.step(SCHEMA[Leaf])
        happened: list[object] = []
        self.table._faults = Script(Meanwhile(lambda: happened.append(meanwhile())), matching=[TransactWrite])
        while not happened:
            self.act(Leaf)

    def go_on_for(self, milliseconds: int) -> None:
        """As far as the re-shard comes in that time."""
        ends = self.clock.now + milliseconds
        self.settle(Leaf)
        while self.clock.now < ends:
            self.clock.now += 500
            self.settle(Leaf)

    def found(self, name: str = "a") -> Any:
        self.clock.now += self.waits.lease_ms
        record = self.store.get(Leaf, name)
        return None if record is None else (record.text, record.number)


# -- histories, each with what readers find in the end ----------------------------------------------------------------


def change_planned_before(world: World) -> Any:
    """A writer that knows of no move changes a record that has been copied."""
    world.writer(world.copy_all).update(Leaf, "a", {"text": "new"})
    world.run_until(Leaf, Phase.DUAL_NEW)
    return world.found()


def removal_planned_before(world: World) -> Any:
    """A writer that knows of no move removes a record that has been copied."""
    world.writer(world.copy).delete(Leaf, "a")
    world.go_on_for(world.waits.skew_ms)
    return world.found(), world.control(Leaf).phase.name, world.control(Leaf).attention


def create_planned_before(world: World) -> Any:
    """A writer that knows of no move creates a record where everything has been copied."""
    world.writer(world.copy_all).create(Leaf(leaf_id="late"))
    world.run_until(Leaf, Phase.DUAL_NEW)
    return world.found("late")


def change_while_it_is_copied(world: World) -> Any:
    """A record is changed, in both spaces, after a mover read it."""
    world.before_the_first_copy(lambda: world.store.update(Leaf, "a", {"text": "new"}))
    world.run_until(Leaf, Phase.DUAL_NEW)
    return world.found()


def copy_that_wakes_late(world: World) -> Any:
    """A mover stops after it read a record, and goes on when the new space is the only one."""

    def meanwhile() -> None:
        world.rebirth()
        world.run_until(Leaf, Phase.NEW_ONLY)
        world.store.update(Leaf, "a", {"text": "new"})

    world.before_the_first_copy(meanwhile)
    return world.found()


def change_that_arrives_late(world: World) -> Any:
    """A writer stops between its check and its request, for as long as the request is accepted; another changes the
    record before that arrives."""
    world.copy_all()

    def meanwhile() -> None:
        world.go_on_for(STALL_MS)
        world.store.update(Leaf, "a", {"number": 1})

    world.writer(meanwhile).update(Leaf, "a", {"text": "new"})
    return world.found()


def change_by_an_old_copy_of_the_control_record(world: World) -> Any:
    """A process sleeps through the flip; another changes the record before it wakes."""
    world.copy_all()
    sleeper = world.writer(lambda: None)
    sleeper.get(Leaf, "a")
    world.run_until(Leaf, Phase.NEW_ONLY)
    world.store.update(Leaf, "a", {"number": 1})
    sleeper.update(Leaf, "a", {"text": "new"})
    return world.found()


@dataclass(frozen=True)
class Case:
    """A guard: a history, what comes of it with the guard and without. `with_it` and `without_it` are how the world is
    made; of guards that overlap, the other is missing in both."""

    history: Callable[[World], Any]
    with_it: Callable[[], World]
    without_it: Callable[[], World]
    right: Any
    wrong: Any


UNVERIFIED, UNSWEPT = without(ReshardStep.VERIFY), without(ReshardStep.SWEEP)
OLD, NEW = ("old", 0), ("new", 0)

GUARDS = {
    "mark": Case(
        change_planned_before,
        lambda: World(Parts(tasks=UNVERIFIED)),
        lambda: World(Parts(EveryMarkIsKnown, tasks=UNVERIFIED)),
        NEW,
        OLD,
    ),
    "sweep": Case(
        removal_planned_before,
        lambda: World(Parts(EveryMarkIsKnown)),
        lambda: World(Parts(EveryMarkIsKnown, tasks=UNSWEPT)),
        (None, "DUAL_NEW", ""),
        (None, "DUAL_OLD", "items, old or new, keep differing between the spaces: 1"),
    ),
    "phase wait": Case(change_that_arrives_late, World, lambda: World(waits=SHORT), ("new", 1), NEW),
    "condition on content": Case(
        change_while_it_is_copied,
        lambda: World(Parts(tasks=UNVERIFIED)),
        lambda: World(Parts(carrier=WithoutConditions, tasks=UNVERIFIED)),
        NEW,
        OLD,
    ),
    "token": Case(copy_that_wakes_late, World, lambda: World(Parts(carrier=WithoutToken)), NEW, OLD),
    "verification": Case(create_planned_before, World, lambda: World(Parts(tasks=UNVERIFIED)), OLD, None),
    "age": Case(change_by_an_old_copy_of_the_control_record, World, lambda: World(lease_ms=FOR_EVER), ("new", 1), NEW),
}


DOCUMENT = Path(__file__).parents[2] / "docs" / "resharding.md"


@pytest.mark.parametrize("guard", GUARDS)
def test_with_the_guard_all_is_right(guard: str) -> None:
    case = GUARDS[guard]
    assert case.history(case.with_it()) == case.right


@pytest.mark.parametrize("guard", GUARDS)
def test_without_the_guard_something_is_wrong(guard: str) -> None:
    case = GUARDS[guard]
    assert case.history(case.without_it()) == case.wrong


def test_the_document_has_each_guard_with_its_history() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    missing = [name for name, case in GUARDS.items() if f"| {name} | `{case.history.__name__}` |" not in text]
    assert not missing
