"""The processes that move records: an operator who starts and aborts, coordinators and movers that die now and then.

They come upon their work in one of two ways, by the seed. As a watchdog does: each looks at the control record and at
the items of its step, and does one thing of what it finds, at its own pace. Or as consumers of the stream: each is
given changes, those of one item in order and of several in any, late, and some of them twice, and is woken now and
then. So the same item is worked on by several, late, and again.
"""

from __future__ import annotations

import random
from collections import deque
from dataclasses import dataclass

from shardweave.errors import Conflict, ReshardRefused, ShardweaveError
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.coordinator import Coordinator, Seen
from shardweave.reshard.declaration_guard import placement_of, schema_of
from shardweave.reshard.driver import ReshardDriver
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.mover import Mover
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep, aborted, map_in_force, started
from shardweave.reshard.timings import Pace
from shardweave.table.stream_operations import StreamRecord
from tests.simulator.client import Connection, Weather
from tests.simulator.clients import World
from tests.simulator.scheduler import START_MS, Process

WORKERS = 2
BATCH = 12
PACE = Pace(slice_ms=400, margin_ms=400, page=3)


@dataclass(frozen=True)
class Plot:
    """Something that the operator does: `start` a move to `target`, or `abort` when it is in `phase`."""

    what: str
    target: ShardBump | None = None
    phase: int = 0


class Movers:
    """All of them, until everything that was plotted has come to its end. `token` is what they move."""

    def __init__(
        self, world: World, plots: tuple[Plot, ...], crashes: float, naps: float = 0.0, token: str = "thing"
    ) -> None:
        self._world = world
        self._plots = list(plots)
        self._crashes = crashes
        self._naps = naps
        self._entity = world.schema.entities[token]
        self._last: ReshardState | None = None
        self.phases: list[str] = []
        self.over = not plots
        self._by_stream = world.simulation.random.random() < 0.5
        self._name = 0

    def begin(self) -> None:
        """Start them."""
        self._spawn("operator", self._operate)
        for position in range(WORKERS):
            self._spawn(f"mover {position}", self._work)

    def map_in_force(self) -> ShardMap:
        """The map by which everything is stored in the end."""
        return map_in_force(self._entity.shard_map, self._last)

    # -- processes

    def _spawn(self, name: str, work: object) -> None:
        skew = self._world.waits.accepted_ms * 9 // 10
        offset = self._world.simulation.random.randint(-skew, skew)

        def run(process: Process) -> None:
            try:
                work(process)  # type: ignore[operator]
            finally:
                if process.crashed:
                    self._spawn(name, work)

        self._world.simulation.spawn(name, run, offset)

    def _operate(self, process: Process) -> None:
        coordinator = self._coordinator(process, Weather())
        simulation = self._world.simulation
        while self._plots:
            simulation.sleep(200 + int(simulation.random.random() * 2_000))
            try:
                if self._plotted(self._plots[0], coordinator, process):
                    self._plots.pop(0)
            except ShardweaveError:
                continue
        while not self.over:
            simulation.sleep(4_000)
            try:
                seen = coordinator.read(self._entity)
            except ShardweaveError:
                continue
            if seen is not None and not seen.control.moving:
                self._last = seen.control
                self.over = True

    def _plotted(self, plot: Plot, coordinator: Coordinator, process: Process) -> bool:
        seen = coordinator.read(self._entity)
        control = None if seen is None else seen.control
        now = process.wall_ms()
        try:
            if plot.what == "abort":
                return self._abort(plot, coordinator, seen, now)
            assert plot.target is not None
            following = started(
                control,
                map_in_force(self._entity.shard_map, control),
                plot.target,
                now_ms=now,
                now=now,
                waits=self._world.believed,
                placement=placement_of(self._entity),
                schema=schema_of(self._entity),
            )
        except Conflict:
            return False
        except ReshardRefused:
            return True
        return coordinator.replace(self._entity, seen, following)

    def _abort(self, plot: Plot, coordinator: Coordinator, seen: Seen | None, now: int) -> bool:
        if seen is None or not seen.control.moving:
            return True
        control = seen.control
        if control.phase < plot.phase or self._world.simulation.random.random() < 0.7:
            return control.phase > Phase.DUAL_NEW or control.step is ReshardStep.CLEAN
        return coordinator.replace(self._entity, seen, aborted(control, now))

    def _work(self, process: Process) -> None:
        weather = Weather(crash=self._crashes, nap=self._naps)
        coordinator = self._coordinator(process, weather)
        self._name += 1
        mover = Mover(
            Connection(self._world.network, process, weather),
            self._world.believed,
            owner=f"{process.name} {self._name}",
            new_token=self._world.name("token"),
            clock=process.wall_ms,
            waiting=self._world.waiting(),
            pace=PACE,
            tasks=self._world.parts.tasks,
            carrier=self._world.parts.carrier,
        )
        if self._by_stream:
            self._consume(process, coordinator, mover, Connection(self._world.network, process, weather))
        simulation = self._world.simulation
        busy = True
        while not self.over:
            simulation.sleep(int(simulation.random.random() ** 2 * (1_000 if busy else 5_000)))
            try:
                busy = self._one_thing(coordinator, mover, simulation.random)
            except ShardweaveError:
                continue

    def _consume(self, process: Process, coordinator: Coordinator, mover: Mover, table: Connection) -> None:
        """Be given changes, as a function is by the mapping of a stream."""
        simulation, events = self._world.simulation, self._world.server.events
        draw = simulation.random
        maps = LeasedMaps(
            table,
            self._world.believed,
            clock=process.wall_ms,
            monotonic=lambda: simulation.now,
            waiting=self._world.waiting(),
        )
        driver = ReshardDriver(
            self._world.schema,
            coordinator,
            mover,
            maps,
            clock=process.wall_ms,
            monotonic=lambda: simulation.now,
            budget_ms=2_000,
        )
        while not self.over:
            simulation.sleep(int(draw.random() ** 2 * 3_000))
            waiting = [key for key, changes in events.items() if changes]
            draw.shuffle(waiting)
            try:
                for key in waiting[:BATCH]:
                    self._give(events[key], driver)
                driver.drain()
                if draw.random() < 0.15:
                    driver.wake()
                seen = coordinator.read(self._entity)
            except ShardweaveError:
                continue
            if seen is not None:
                self._told(seen.control)

    def _give(self, changes: deque[StreamRecord], driver: ReshardDriver) -> None:
        """Give the oldest change of an item; it is given again when that fails, and sometimes when it does not."""
        if not changes:
            return
        change = changes[0]
        driver.handle(change)
        if changes and changes[0] is change and self._world.simulation.random.random() < 0.9:
            changes.popleft()

    def _one_thing(self, coordinator: Coordinator, mover: Mover, draw: random.Random) -> bool:
        """Do one thing that is to be done, and say whether there was any."""
        seen = coordinator.read(self._entity)
        if seen is None:
            return False
        self._told(seen.control)
        open_items = [item for item in coordinator.items(self._entity, seen.control) if item.open]
        if open_items and draw.random() < 0.85:
            return mover.slice(self._entity, draw.choice(open_items)) is not None
        return coordinator.step(self._entity)

    def _told(self, control: ReshardState) -> None:
        name = control.phase.name.lower()
        if not self.phases or self.phases[-1] != name:
            self.phases.append(name)
        assert not control.attention, f"it stopped: {control.attention}"
        assert self._world.simulation.now < START_MS + 10**7, "it takes for ever"

    def _coordinator(self, process: Process, weather: Weather) -> Coordinator:
        return Coordinator(
            Connection(self._world.network, process, weather),
            self._world.believed,
            new_token=self._world.name("token"),
            clock=process.wall_ms,
            waiting=self._world.waiting(),
        )
