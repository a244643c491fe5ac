"""The process of a history that examines the table as the doctor does, while others write and move what is in it."""

from __future__ import annotations

from shardweave.errors import ShardweaveError
from shardweave.maintenance.count_judge import LATE
from shardweave.maintenance.examination import Examiner
from shardweave.maintenance.walk import Walk, table_lanes
from shardweave.reshard.retrying_reads import Asking
from shardweave.table.values import Item
from tests.simulator.clients import World
from tests.simulator.scheduler import Process
from tests.simulator.server import TTL

PAGE = 20


class Examining:
    """A process that examines every item, and is to find nothing wrong: whatever others do meanwhile."""

    def __init__(self, world: World) -> None:
        self.world = world

    def run(self, process: Process) -> None:
        """Examine all items once, at some time."""
        simulation, world = self.world.simulation, self.world
        simulation.sleep(int(simulation.random.random() * 60_000))
        store, _, _ = world.store(process)
        asking = Asking(store.parts.table, store.parts.waiting)
        examiner = Examiner(world.schema, asking, process.wall_ms)
        entity = world.schema.entities["thing"]
        walk = Walk(asking, entity, table_lanes(), lambda items: (items, examiner.page(items)), page=PAGE, workers=1)
        while not walk.done:
            try:
                results = walk.round()
            except ShardweaveError:
                world.done["examinations that failed"] += 1
                simulation.sleep(500)
                continue
            for items, confirmed in results:
                world.done["items examined"] += len(items)
                for each in (each for each in confirmed if not self._may_have_expired(each.item)):
                    wrong = [finding for finding in each.findings if finding.kind not in LATE]
                    assert not wrong, f"an examiner finds {wrong} in {each.item}"
            simulation.sleep(int(simulation.random.random() ** 2 * 2_000))
        world.done["examinations"] += 1

    def _may_have_expired(self, item: Item) -> bool:
        """Whether an item has expired by somebody's clock: the table removes a record and its lookup records one after
        the other, while it is there by another's clock."""
        skew, expires = self.world.waits.accepted_ms * 9 // 10, item.get(TTL)
        return expires is not None and expires * 1000 - skew <= self.world.simulation.now
