"""Who brings the records of an evolution in: an operator who does what was plotted, and a second process beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from shardweave.errors import Conflict, ShardweaveError
from shardweave.maintenance.rekeying import OldTable, Rekey
from shardweave.maintenance.run_fence import RunEnded
from shardweave.reshard.coordinator import Coordinator
from shardweave.table.fault_injection import WRITES
from tests.simulator.client import Connection, Weather
from tests.simulator.evolving import NEW, STATES
from tests.simulator.history import WAITS
from tests.simulator.scheduler import START_MS, Process

if TYPE_CHECKING:
    from tests.simulator.evolution import Client, Parts, Side

SKEW_MS = WAITS.accepted_ms * 9 // 10
PAUSES = 0.3


class Pausing(Connection):
    """The connection of a process that its machine stops for as long as it likes, when it has read something and is
    about to write; a command is given meanwhile, or several are."""

    def __init__(self, operator: Operator, process: Process) -> None:
        world = operator.side.world
        super().__init__(operator.side.network, process, Weather(crash=world.crash))
        self._operator, self._world = operator, world

    def run(self, operation: Any, *, guard: Any = None) -> Any:
        draw, at = self._world.simulation.random, self._operator.position
        if not isinstance(operation, WRITES) or draw.random() > PAUSES:
            return super().run(operation, guard=guard)
        goes_on = at + draw.choice((1, 1, 2, 3, len(self._world.plot)))
        while self._operator.position < goes_on and not self._world.over:
            self._world.simulation.sleep(200)
        self._world.held += 1
        return super().run(operation, guard=guard)


class Operator:
    """The process that does what was plotted, and one that only runs beside it. Both die now and then. `pausing`: the
    other one is stopped between reading and writing."""

    def __init__(self, side: Side, clients: Sequence[Client], parts: Parts, *, pausing: bool) -> None:
        self.side = side
        self.pausing = pausing
        self.make = parts.rekey
        self.clients = clients
        self.position = 0
        self.old_ended_ms = 0
        self.ran_ms = 0

    def begin(self) -> None:
        self._spawn("operator", self.operate)
        self._spawn("helper", self.help)

    def _spawn(self, name: str, work: Callable[[Process], None]) -> None:
        simulation = self.side.simulation

        def run(process: Process) -> None:
            try:
                work(process)
            finally:
                if process.crashed:
                    self.side.world.crashes += 1
                    self._spawn(name, work)

        simulation.spawn(name, run, simulation.random.randint(-SKEW_MS, SKEW_MS))

    def rekey(self, process: Process, connection: Connection | None = None) -> Rekey:
        """What brings the records in, in this process."""
        world = self.side.world
        store, connection, _ = self.side.store(process, bringing=True, connection=connection)
        coordinator = Coordinator(
            connection, WAITS, new_token=world.name("token"), clock=process.wall_ms, waiting=world.waiting()
        )
        form = self.side.forms[NEW]
        olds = world.networks[0]
        old_table = OldTable("old", Connection(olds, process, Weather(crash=world.crash)))
        places: dict[str, Any] = {"old_table": None if olds is self.side.network else old_table}
        return self.make(store.parts, coordinator, form, process.wall_ms, WAITS, page=5, workers=1, **places)

    def operate(self, process: Process) -> None:
        world, simulation = self.side.world, self.side.simulation
        rekey = self.rekey(process)
        while self.position < len(world.plot):
            simulation.sleep(100 + int(simulation.random.random() * 2_000))
            try:
                done = self._one(rekey, world.plot[self.position])
            except ShardweaveError:
                continue
            self.position += done
            assert simulation.now < START_MS + 10**6, f"it takes for ever: {world.plot[self.position :]}"
        world.over = True

    def help(self, process: Process) -> None:
        """Run now and then, as a process that was started twice does."""
        world, simulation = self.side.world, self.side.simulation
        rekey = self.rekey(process, Pausing(self, process) if self.pausing else None)
        while not world.over:
            simulation.sleep(int(simulation.random.random() * (5_000 if self.pausing else 20_000)))
            held = world.held
            try:
                if rekey.status().state:
                    self._ran(rekey, lambda: simulation.random.random() < 0.2)
            except ShardweaveError as error:
                world.fenced += isinstance(error, RunEnded) and world.held > held

    def _one(self, rekey: Rekey, command: str) -> bool:
        """Do one thing, and say whether it is done."""
        world = self.side.world
        world.state = state = rekey.status().state
        if command == "run":
            if state == "":
                return True
            report = self._ran(rekey, lambda: world.simulation.random.random() < 0.05)
            return report.done and (report.state == "" or state in ("follow", "dual"))
        if state == STATES[command] or (command == "finish" and state in ("purge", "")):
            world.new_stops = command == "abort"
            return True
        if command == "finish" and not (self._old_ended() and self._ran_since(rekey)):
            return False
        if command == "abort" and not self._new_ended():
            return False
        try:
            getattr(rekey, command)()
        except Conflict:
            # Something differs yet, or the last run began too early: another run, then again.
            if state in ("follow", "dual"):
                self._ran(rekey, lambda: False)
            return False
        world.new_stops = command == "abort"
        return True

    def _ran(self, rekey: Rekey, stop: Callable[[], bool]) -> Any:
        report = rekey.run(stop=stop)
        if report.done and report.state in ("follow", "dual"):
            assert not report.refused, f"it can't bring in: {[dict(each.passes) for each in (report,)]}"
            world = self.side.world
            if not report.changed:  # What was changed in that moment is left to the next run.
                world.followed_ms = max(world.followed_ms, report.began_ms - SKEW_MS)
        return report

    def _old_ended(self) -> bool:
        world = self.side.world
        world.old_stops = True
        running = any(process.name.startswith("client old") for process in world.simulation.processes)
        if running or any(late.by.startswith("client old") for each in world.networks for late in each.late):
            return False
        self.old_ended_ms = self.old_ended_ms or world.simulation.now
        return True

    def _ran_since(self, rekey: Rekey) -> bool:
        """Whether a whole run began when the old programs had ended. If none did, there is one more."""
        if self.ran_ms - SKEW_MS < self.old_ended_ms:
            report = self._ran(rekey, lambda: False)
            self.ran_ms = report.began_ms if report.done else 0
        return self.ran_ms - SKEW_MS >= self.old_ended_ms

    def _new_ended(self) -> bool:
        world = self.side.world
        world.new_stops = True
        return not any(client.busy for client in self.clients if not client.is_old)
