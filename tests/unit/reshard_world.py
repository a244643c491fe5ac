"""Fixtures for tests of re-sharding: the entities of `store_world`, one clock, movers and a coordinator.

`step` takes the coordinator and one mover as far as they come without time passing; `run_until` lets time pass too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

from shardweave.keys.sharding import ShardBump
from shardweave.reshard.control import encode_control
from shardweave.reshard.coordinator import Coordinator
from shardweave.reshard.declaration_guard import placement_of, schema_of
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.mover import Mover
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep, Waits, aborted, map_in_force, resumed, started
from shardweave.reshard.timings import Pace
from shardweave.reshard.work_items import WorkItem
from shardweave.schema.entity import Entity
from shardweave.schema.entity_type import MARK, EntityType
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table import Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import Faults, Script, SimulatedTable
from shardweave.table.operations import Scan
from tests.simulator.parts import WHOLE, Parts
from tests.unit.store_world import SCHEMA, SECOND_BUMP, Clock, Note, NoWaiting

WAITS = Waits(
    lease_ms=1000,
    accepted_ms=2000,
    request_ms=500,
    clocks_ms=0,
    cursor_life_ms=20_000,
    quiet_ms=1000,
    recheck_ms=(60_000, 90_000),
)
PACE = Pace(slice_ms=10_000, margin_ms=1000, page=7)
SIXTEEN = ShardBump(0, char_bits=2, chars=3)
FOUR = ShardBump(0, char_bits=2, chars=1)
STAGES = [
    (Phase.DUAL_OLD, ReshardStep.COPY),
    (Phase.DUAL_OLD, ReshardStep.SETTLE),
    (Phase.DUAL_NEW, ReshardStep.SOAK),
    (Phase.NEW_ONLY, ReshardStep.SETTLE),
    (Phase.PURGE, ReshardStep.EMPTY),
    (Phase.PURGE, ReshardStep.QUIET),
    (Phase.STABLE, ReshardStep.REST),
]
"""Where a re-shard is when it is looked at: as it copies, waits, is read from, and clears up; and at rest."""


class ReshardWorld:
    """A table, and processes that read, write and move."""

    def __init__(
        self,
        faults: Faults | None = None,
        *,
        schema: Schema = SCHEMA,
        waits: Waits = WAITS,
        pace: Pace = PACE,
        parts: Parts = WHOLE,
    ) -> None:
        self.parts = parts
        self.clock = Clock(SECOND_BUMP + 10**9)
        self.pauses = NoWaiting()
        self.waits = waits
        self.pace = pace
        self.schema = schema
        self.inner = EmbeddedTable(schema.layout, clock=lambda: self.clock.now / 1000)
        self.table = SimulatedTable(self.inner, faults or Script())
        self._names = itertools.count()
        self.coordinator = self.new_coordinator(self.table)
        self.mover = self.new_mover(self.table)
        self.store = self.new_store()

    def new_name(self) -> str:
        return f"name-{next(self._names)}"

    def new_coordinator(self, table: Table) -> Coordinator:
        return Coordinator(table, self.waits, new_token=self.new_name, clock=self.clock, waiting=self.pauses.waiting())

    def new_mover(self, table: Table) -> Mover:
        return Mover(
            table,
            self.waits,
            owner=self.new_name(),
            new_token=self.new_name,
            clock=self.clock,
            waiting=self.pauses.waiting(),
            pace=self.pace,
            tasks=self.parts.tasks,
            carrier=self.parts.carrier,
        )

    def new_store(self) -> Store:
        maps = LeasedMaps(self.inner, self.waits, clock=self.clock, monotonic=self.clock, exact=False)
        return Store(self.schema, self.inner, clock=self.clock, maps=maps, waiting=self.pauses.waiting())

    def rebirth(self) -> None:
        """The process that moves records is a new one."""
        self.coordinator = self.new_coordinator(self.table)
        self.mover = self.new_mover(self.table)

    # -- operators

    def start(
        self, model: type[Entity], target: ShardBump, *, coordinator: Coordinator | None = None, rate: int = 0
    ) -> None:
        coordinator = coordinator or self.new_coordinator(self.inner)
        entity = self.schema[model]
        seen = coordinator.read(entity)
        before = None if seen is None else seen.control
        control = started(
            before,
            map_in_force(entity.shard_map, before),
            target,
            now_ms=self.clock.now,
            now=entity.in_unit(self.clock.now),
            waits=self.waits,
            placement=placement_of(entity),
            schema=schema_of(entity),
            rate=rate,
        )
        assert coordinator.replace(entity, seen, control)

    def abort(self, model: type[Entity]) -> None:
        self._change(model, lambda control: aborted(control, self.clock.now))

    def resume(self, model: type[Entity]) -> None:
        schema = schema_of(self.schema[model])
        self._change(model, lambda control: resumed(control, self.clock.now, schema=schema))

    def _change(self, model: type[Entity], change: Callable[[ReshardState], ReshardState]) -> None:
        entity = self.schema[model]
        coordinator = self.new_coordinator(self.inner)
        seen = coordinator.read(entity)
        assert seen is not None
        assert coordinator.replace(entity, seen, change(seen.control))

    # -- time passing

    def control(self, model: type[Entity]) -> ReshardState:
        seen = self.new_coordinator(self.inner).read(self.schema[model])
        assert seen is not None
        return seen.control

    def work(self, model: type[Entity]) -> list[WorkItem]:
        return self.new_coordinator(self.inner).items(self.schema[model], self.control(model))

    def act(self, model: type[Entity], *, coordinator: Coordinator | None = None, mover: Mover | None = None) -> bool:
        """One thing: a slice of an open item if there is one, else the coordinator's. False when nothing is to do."""
        entity = self.schema[model]
        for item in self.work(model):
            if item.open and (mover or self.mover).slice(entity, item) is not None:
                return True
        return (coordinator or self.coordinator).step(entity)

    def settle(self, model: type[Entity]) -> None:
        """Everything that can be done without time passing."""
        for _ in range(1000):
            if not self.act(model):
                return
        raise AssertionError("it never rests")

    def run_until(self, model: type[Entity], phase: Phase, step: ReshardStep | None = None, *, tick: int = 500) -> None:
        """Let time pass until the re-shard is there."""
        for _ in range(2000):
            control = self.control(model)
            if control.phase is phase and (step is None or control.step is step):
                return
            if not self.act(model):
                self.clock.now += tick
        raise AssertionError(f"it stays in {self.control(model)}")

    def finish(self, model: type[Entity]) -> None:
        self.run_until(model, Phase.STABLE, ReshardStep.REST)
        self.settle(model)

    # -- what is there

    def items(self) -> list[dict[str, Any]]:
        return [dict(item) for item in self.inner.run(Scan(consistent=True)).items]

    def items_of(self, model: type[Entity]) -> list[dict[str, Any]]:
        prefix = f"{self.schema[model].token}!"
        return [item for item in self.items() if item["hashKey"].startswith(prefix)]

    def put_control(self, entity: EntityType[Any], control: ReshardState) -> None:
        """Set the control value, whatever it is."""
        from shardweave.table.operations import PutItem

        self.inner.run(PutItem(encode_control(entity, control, self.new_name())))


def unmarked(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The items without their marks."""
    return ({name: value for name, value in item.items() if name != MARK} for item in items)


def add_notes(world: ReshardWorld, count: int) -> list[str]:
    """Notes with ids of their own, by id."""
    names = [f"note-{number}" for number in range(count)]
    for name in names:
        world.store.create(Note(note_id=name, text=f"text of {name}"))
    return names
