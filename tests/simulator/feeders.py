"""The processes that feed a read model from the table's stream, and one that rebuilds it, while records move.

Each is given changes, those of one item in order and of several in any, late, and some of them twice; it dies now and
then, and another goes on. In the end the numbers are the sums over the records that are stored, less what resets left
out, and what was remembered of each record is what it adds.
"""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass, field, replace

from shardweave.errors import ShardweaveError
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.maintenance.sum_recount import SumRecount
from shardweave.maintenance.sums import END
from shardweave.reshard.retrying_reads import Asking
from shardweave.schema.entity_type import REVISION
from shardweave.store import Store
from shardweave.table.stream_operations import StreamRecord
from shardweave.table.values import Item
from tests.simulator.clients import World
from tests.simulator.scheduler import Process
from tests.simulator.server import TTL, Key
from tests.simulator.things import OWNERS

FEEDERS = 2
BATCH = 6
CRASHES = 0.004
RECOUNTS = 3


@dataclass
class Feeders:
    """All of them. `waiting` are the changes of each item that were not handled yet; `shapes` counts what happened."""

    world: World
    waiting: dict[Key, deque[StreamRecord]] = field(default_factory=dict)
    shapes: Counter[str] = field(default_factory=Counter)
    seen: set[str] = field(default_factory=set)

    def begin(self) -> None:
        """Start them, and be told of each change."""
        self.world.server.written = self._written
        for position in range(FEEDERS):
            self._spawn(f"feeder {position}")
        self.world.simulation.spawn("client that rebuilds", self._rebuild)
        self.world.simulation.spawn("client that recounts", self._recount)

    @property
    def over(self) -> bool:
        """Whether everything that expires was removed, and every change was handled."""
        return not any(self.waiting.values()) and not any(
            item.get(TTL) for key, item in self.world.server.items.items() if key[0].startswith("thing!")
        )

    def check_end(self) -> None:
        """Each owner's numbers are the sums over the records that are stored."""
        items, tallies = self.world.server.items, self.world.tallies
        things = [item for key, item in items.items() if key[0].startswith("thing!")]
        totals, noted = self._by_owner("total!"), self._by_owner("tally!")
        for owner in OWNERS:
            own = [item["number"] for item in things if item["owner"] == owner]
            remembered = tallies.whole(owner, "things"), tallies.whole(owner, "numbers")
            assert remembered == (len(own), sum(own)), f"of {owner} is remembered {remembered}, not {own}"
            total = totals.get(owner, {})
            found = total.get("things", 0), total.get("numbers", 0)
            wanted = tallies.counted(owner, "things"), tallies.counted(owner, "numbers")
            assert found == wanted, f"{owner} has {found}, not {wanted}"
            self.shapes["owners with less than all"] += found != remembered
        tallies.check_events(noted)
        self.shapes.update(tallies.shapes)

    def _by_owner(self, prefix: str) -> dict[str, Item]:
        found: dict[str, Item] = {}
        for key, item in self.world.server.items.items():
            if key[0].startswith(prefix):
                assert item["owner"] not in found, f"{item['owner']} is stored twice, the second time as {key}"
                found[item["owner"]] = item
        return found

    # -- processes

    def _spawn(self, name: str) -> None:
        skew = self.world.waits.accepted_ms * 9 // 10

        def run(process: Process) -> None:
            try:
                self._feed(process)
            finally:
                if process.crashed:
                    self.shapes["crash"] += 1
                    self._spawn(name)

        self.world.simulation.spawn(name, run, self.world.simulation.random.randint(-skew, skew))

    def _feed(self, process: Process) -> None:
        store, _, _ = self.world.store(process, replace(self.world.weather, crash=CRASHES))
        simulation = self.world.simulation
        while True:
            simulation.sleep(int(simulation.random.random() ** 2 * 3_000))
            keys = [key for key, changes in self.waiting.items() if changes]
            simulation.random.shuffle(keys)
            for key in keys[:BATCH]:
                self._give(store, self.waiting[key])

    def _give(self, store: Store, changes: deque[StreamRecord]) -> None:
        """Give the oldest change of an item; it is given again when that fails, and sometimes when it does not."""
        if not changes:
            return
        change = changes[0]
        try:
            store.feed.handle(change)
        except ShardweaveError:
            self.shapes["failed"] += 1
            return
        self.shapes[change.event] += 1
        if not changes or changes[0] is not change:
            self.shapes["handled by two"] += 1
        elif self.world.simulation.random.random() < 0.9:
            changes.popleft()
        else:
            self.shapes["told again"] += 1

    def _rebuild(self, process: Process) -> None:
        """Rebuild once, stopped now and then."""
        simulation, world = self.world.simulation, self.world
        simulation.sleep(int(simulation.random.random() * 20_000))
        store, _, _ = world.store(process)
        read_model = world.schema.read_model("totals")
        for _ in range(60):
            rebuild = Rebuild(store.parts, read_model, page=4, workers=1)
            try:
                report = rebuild.run(stop=lambda: simulation.random.random() < 0.2)
            except ShardweaveError:
                self.shapes["rebuild failed"] += 1
            else:
                if report.done:
                    self.shapes["rebuilt"] += 1
                    return
            simulation.sleep(int(simulation.random.random() * 2_000))

    def _recount(self, process: Process) -> None:
        """Recount as the doctor does, now and then: whatever others do meanwhile, no number is wrong or lost."""
        simulation, world = self.world.simulation, self.world
        for _ in range(RECOUNTS):
            simulation.sleep(int(simulation.random.random() * 10_000))
            store, _, _ = world.store(process)
            parts = store.parts
            recount = SumRecount(parts, Asking(parts.table, parts.waiting), held=3, workers=1)
            position, low = 0, 0
            try:
                while position < len(recount.read_models):
                    found = recount.slice(position, low)
                    assert not found.wrong, f"the doctor takes {[each.finding for each in found.wrong]} for faults"
                    self.shapes["recounted"] += 1
                    self.shapes["left undecided"] += bool(found.undecided)
                    position, low = (position, found.high) if found.high < END else (position + 1, 0)
            except ShardweaveError:
                self.shapes["recount failed"] += 1

    # -- the stream

    def _written(self, key: Key, old: Item | None, new: Item | None, by: str) -> None:
        self.world.tallies.written(key[0], new, by)
        if not key[0].startswith("thing!"):
            return
        server = self.world.server
        change = server.events[key][-1]
        rev = None if new is None else str(new.get(REVISION))
        if old is None and rev in self.seen:
            self.shapes["copy"] += 1
        if old is not None and new is None and by.startswith("mover"):
            self.shapes["removed by a mover"] += 1
        if rev is not None:
            self.seen.add(rev)
        self.waiting.setdefault(key, deque()).append(change)
