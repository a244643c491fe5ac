"""The process of a history that writes every record again with its current declaration, while others write and move
them."""

from __future__ import annotations

from shardweave.errors import ShardweaveError
from shardweave.maintenance.rewriting import Rewrite
from tests.simulator.clients import World
from tests.simulator.scheduler import Process


class Rewriter:
    """A process that rewrites all things, and stops now and then; another process goes on from where it came to."""

    def __init__(self, world: World) -> None:
        self.world = world

    def run(self, process: Process) -> None:
        simulation, world = self.world.simulation, self.world
        simulation.sleep(int(simulation.random.random() * 60_000))
        while not world.rewritten:
            store, _, _ = world.store(process)
            rewrite = Rewrite(store.parts, world.schema.entities["thing"], page=2, workers=1)
            try:
                report = rewrite.run(stop=lambda: simulation.random.random() < 0.1)
            except ShardweaveError:
                world.done["rewrites that failed"] += 1
            else:
                assert not report.refused, f"a rewrite refuses {[each.reason for each in report.examples]}"
                world.done["things rewritten"] += report.written if report.done else 0
                world.done["rewrites that stopped"] += not report.done
                world.rewritten = report.done
            simulation.sleep(int(simulation.random.random() * 2_000))
