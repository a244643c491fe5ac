"""The process of a history that fills a lookup which was declared when its records were there, while others write and
move them."""

from __future__ import annotations

from dataclasses import replace

from shardweave.errors import ShardweaveError
from shardweave.store import BackfillReport
from tests.simulator.clients import World
from tests.simulator.scheduler import Process

CRASHES = 0.01


class Filler:
    """A process that fills the lookup, and dies now and then; another goes on from where it came to."""

    def __init__(self, world: World) -> None:
        self.world = world

    def begin(self) -> None:
        """Start it, after some time."""
        self._spawn(int(self.world.simulation.random.random() * 30_000))

    def _spawn(self, begins_in: int) -> None:
        simulation = self.world.simulation
        skew = self.world.waits.accepted_ms * 9 // 10

        def run(process: Process) -> None:
            try:
                simulation.sleep(begins_in)
                self._fill(process)
            finally:
                if process.crashed:
                    self.world.done["fillings that died"] += 1
                    self._spawn(1_000)

        simulation.spawn("client that fills", run, simulation.random.randint(-skew, skew))

    def _rest(self, report: BackfillReport) -> None:
        """Let others write and move records between two pages."""
        simulation = self.world.simulation
        simulation.sleep(int(simulation.random.random() ** 3 * 60_000))

    def _fill(self, process: Process) -> None:
        world = self.world
        store, _, maps = world.store(process, replace(world.weather, crash=CRASHES))
        entity = world.schema.entities["thing"]
        while True:
            before = maps.view(entity).shard_map
            try:
                report = store.backfill(entity.model, world.unfilled, follow=self._rest)
            except ShardweaveError:
                world.done["fillings that failed"] += 1
                world.simulation.sleep(500)
                continue
            assert report.ready, f"a backfill refuses {report.examples}"
            world.done["things filled"] += report.filled
            world.done["fillings while things moved"] += maps.view(entity).shard_map != before
            world.done["lookups filled"] += 1
            return
