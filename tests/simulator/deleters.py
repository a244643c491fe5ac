"""Deletions of things with many parts that go on in other processes, and one process that goes on with what is left."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from shardweave.errors import ShardweaveError
from shardweave.store.relations.deletion_work import PARTITION, STATE
from shardweave.table.values import Item
from tests.simulator.clients import World
from tests.simulator.scheduler import Process

CRASHES = 0.02


@dataclass
class Deletions:
    """Which things are being deleted, by what is stored of that, and when each was last."""

    world: World
    going: set[str] = field(default_factory=set)
    ended: dict[str, int] = field(default_factory=dict)

    def begin(self) -> None:
        """Start the process that goes on with deletions, and be told of each change."""
        written, world = self.world.server.written, self.world

        def noticed(key: tuple[str, str], old: Item | None, new: Item | None, by: str) -> None:
            written(key, old, new, by)
            if key[0].startswith(PARTITION):
                self._written(old, new)

        world.server.written = noticed
        world.oracle.going = self.may_have_gone
        self._spawn()

    @property
    def over(self) -> bool:
        """Whether none has begun that has not ended."""
        return not self.going

    def may_have_gone(self, name: str, since: int) -> bool:
        """Whether a thing was being deleted at some time since then."""
        return name in self.going or self.ended.get(name, -1) >= since

    def _written(self, old: Item | None, new: Item | None) -> None:
        state = ((new or old) or {})[STATE]
        name, now = str(state["id"]["thingId"]), self.world.simulation.now
        if new is None:
            self.going.discard(name)
            self.ended[name] = now
            self.world.done["deletions of many that ended"] += 1
        elif old is None:
            self.going.add(name)
            record = self.world.oracle.of(name)
            record.now(now, record.possible | {None})

    def _spawn(self) -> None:
        skew = self.world.waits.accepted_ms * 9 // 10

        def run(process: Process) -> None:
            try:
                self._go_on(process)
            finally:
                if process.crashed:
                    self.world.done["deletions whose process died"] += 1
                    self._spawn()

        self.world.simulation.spawn("deleter", run, self.world.simulation.random.randint(-skew, skew))

    def _go_on(self, process: Process) -> None:
        world, simulation = self.world, self.world.simulation
        store, _, _ = world.store(process, replace(world.weather, crash=CRASHES))
        while True:
            simulation.sleep(int(simulation.random.random() * 10_000))
            try:
                world.done["deletions that went on elsewhere"] += store.continue_deletions(seconds=2)
            except ShardweaveError:
                world.done["deletions that failed"] += 1
