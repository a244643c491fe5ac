"""Histories of an evolution: programs of an old and of a new declaration of one entity write and read at once, while
the records are brought from the one to the other, taken back, or finished.

Old programs know nothing of it, and end before `finish`; new ones work from `start` on, and not when all is taken back,
as docs/bringing-a-table-in.md asks for. Each client has ids of
its own, whose values are known exactly; a counter is raised by all, and some ids are created by all. An old program
reads every write of both at once; a new one reads those of old programs as of the last run, or later.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from shardweave.errors import AlreadyExists, Conflict, NotFound, OutcomeUnknown, ReshardRefused, ShardweaveError
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.rekeying import Rekey
from shardweave.maintenance.run_fence import RunEnded
from shardweave.reshard.coordinator import Coordinator
from shardweave.schema.entity_type import EntityType
from shardweave.schema.old_forms import OldForm
from shardweave.store.lookups.backfill_state import READY, STATE, marker_key
from shardweave.store.lookups.lookup_records import OWNER, lookup_record
from shardweave.table.fault_injection import WRITES
from tests.simulator.client import Connection, Network, Weather
from tests.simulator.clients import NOT_DONE, Writer
from tests.simulator.evolution_world import Side, World, owner_of
from tests.simulator.evolving import NEW, OLD, PLOTS, ROWS, STATES, schemas
from tests.simulator.history import MAX_LAG_MS, WAITS, lookup_keys_in
from tests.simulator.oracle import Oracle
from tests.simulator.scheduler import START_MS, Process, Simulation
from tests.simulator.server import Server
from tests.simulator.things import MADE_UP

SKEW_MS = WAITS.accepted_ms * 9 // 10


@dataclass(frozen=True)
class Told:
    """What happened in a history."""

    row: str
    plot: str
    owned: bool
    steps: int
    milliseconds: int
    writes: Counter[str]
    """By the token of who wrote."""
    dual: int
    """Writes while programs of both could."""
    reads: int
    followed: int
    """Reads by new programs of records that an old one writes."""
    conflicts: int
    crashes: int
    taken: int
    """Writes that were refused since another record had the value."""
    held: int
    """Writes of a run that were sent when the operator was further than when they were read."""
    fenced: int
    """Those of them that were refused since another run had begun, or the state had been changed."""


@dataclass(frozen=True)
class Parts:
    """What processes are made of, and in which one guard may be missing: what brings records in, and the old form."""

    rekey: type[Rekey] = Rekey
    form: Callable[[OldForm], OldForm] = lambda form: form


WHOLE = Parts()


KINDS = (
    *("create", "put", "update", "update", "delete", "get_all", "transact", "batch", "remove", "make_up"),
    *("raise_counter", "raise_counter", "add_to_counter", "contest", "read_others", "read_others"),
    *("take_code", "take_code"),
)


class Client(Writer):
    """A process of one declaration."""

    not_done = (*NOT_DONE, ReshardRefused)
    side: Side
    others: tuple[Client, ...] = ()

    def __init__(self, side: Side, name: str, operations: int, kinds: Sequence[str]) -> None:
        super().__init__(side, name, operations, kinds)  # type: ignore[arg-type]
        self.side = side
        self.is_old = side.token == OLD
        self.busy = False

    def key(self, name: str) -> Any:
        values = {"thingId": name, "owner": owner_of(name), "home.owner": owner_of(name)}
        return {each: values[each] for each in self.side.schema.entities[self.side.token].identity}

    def changes(self, name: str, number: int) -> dict[str, Any]:
        return {"name": self.side.simulation.random.choice("abc"), "number": number} | self.side.home(name, number)

    def take_code(self) -> None:
        """Give a record a value that only one record may have, or none, and leave its number."""
        name, code = self._pick(), self.side.simulation.random.choice(("x", "y", None))
        if not self.side.schema.entities[self.side.token].lookups:
            return
        try:
            self.store.update(self.side.model, self.key(name), {"code": code})
        except AlreadyExists:
            self.side.world.taken += 1
        except (NotFound, OutcomeUnknown, *self.not_done):
            pass

    def run(self, process: Process) -> None:
        world = self.side.world
        self.process = process
        self.store, _, _ = self.side.store(process)
        kinds: list[Callable[[], None]] = [getattr(self, kind) for kind in self.kinds]
        left = self.left
        while left > 0 and not (self.is_old and world.old_stops):
            left -= world.over
            world.simulation.sleep(int(world.simulation.random.random() ** 2 * 5_000))
            if world.new_stops and not self.is_old:
                continue
            self.busy = True
            with suppress(ReshardRefused):
                world.simulation.random.choice(kinds)()
                self.side.writes += 1
                world.dual += world.state == "dual" and not world.old_stops
            self.busy = False

    def read_others(self) -> None:
        """What the programs of the other declaration write."""
        world, draw = self.side.world, self.side.simulation.random
        other = draw.choice(self.others)
        name = draw.choice(other.ids)
        followed, began = world.followed_ms, world.simulation.now
        try:
            found = self.store.get(self.side.model, self.key(name))
        except self.not_done:
            return
        value = None if found is None else found.number  # type: ignore[attr-defined]
        since = followed if other.is_old and not self.is_old else began
        world.reads += 1
        world.followed += since == followed
        possible = world.oracle.of(name).between(since, world.simulation.now)
        assert value in possible, f"{name}: {process_name(self)} read {value}, possible was {set(possible)}"


def process_name(client: Client) -> str:
    """Which client it is, in a failure."""
    return f"the {'old' if client.is_old else 'new'} client"


class Pausing(Connection):
    """The connection of a process that its machine stops for as long as it likes, when it has read something and is
    about to write; a command is given meanwhile, or several are."""

    def __init__(self, operator: Operator, process: Process) -> None:
        world = operator.side.world
        super().__init__(world.network, process, Weather(crash=world.crash))
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


PAUSES = 0.3


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
        return self.make(store.parts, coordinator, form, process.wall_ms, WAITS, page=5, workers=1)

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
        if state == STATES[command] or (command == "finish" and state == "purge"):
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
            world.followed_ms = max(world.followed_ms, report.began_ms - SKEW_MS)
        return report

    def _old_ended(self) -> bool:
        world = self.side.world
        world.old_stops = True
        running = any(process.name.startswith("client old") for process in world.simulation.processes)
        if running or any(late.by.startswith("client old") for late in world.network.late):
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


def run(
    seed: int,
    *,
    row: str | None = None,
    plot: str | None = None,
    operations: int = 3,
    kinds: Sequence[str] = KINDS,
    pausing: bool | None = None,
    parts: Parts = WHOLE,
) -> Told:
    """Let one history happen. Raises AssertionError with what is wrong in it."""
    simulation = Simulation(seed)
    draw = simulation.random
    row = row or list(ROWS)[seed % len(ROWS)]
    plot = plot or list(PLOTS)[seed // len(ROWS) % len(PLOTS)]
    owned = draw.random() < 0.5
    bumps = [ShardBump(0, 1, 1)]
    if draw.random() < 0.3:
        bumps.append(ShardBump(START_MS + draw.choice((5_000, 30_000)), 1, 2))
    MADE_UP.last = 0
    earlier, schema, forms = schemas(row, tuple(bumps), owned=owned)
    server = Server(simulation, schema.layout, MAX_LAG_MS, WAITS.request_ms)
    network = Network(server, WAITS.accepted_ms)
    world = World(simulation, server, network, Oracle(), itertools.count(1), PLOTS[plot], draw.choice((0, 0.003)))
    network.arrived_late = world.arrived_late
    server.written = world.written
    forms = {token: parts.form(form) for token, form in forms.items()}
    old, new = Side(world, earlier, OLD), Side(world, schema, NEW, forms)

    def happen() -> int | None:
        moments = [moment for moment in (server.happen(), network.happen()) if moment is not None]
        return min(moments, default=None)

    simulation.world = happen
    clients = [Client(side, name, operations, kinds) for side, name in ((old, "a"), (new, "b"), (new, "c"))]
    _fill(world, old, [name for client in clients for name in client.ids[:2]])
    for client in clients:
        client.others = tuple(each for each in clients if each is not client)
        name = f"client {'old' if client.is_old else 'new'} {client.ids[0]}"
        simulation.spawn(name, client.run, draw.randint(-SKEW_MS, SKEW_MS))
    Operator(new, clients, parts, pausing=draw.random() < 0.5 if pausing is None else pausing).begin()
    simulation.run(lambda: not (simulation.processes or simulation.jobs or network.late))
    server.settle()
    _check_end(world, new if world.plot[-2] == "finish" else old)
    return Told(
        row,
        plot,
        owned,
        simulation.steps,
        simulation.now - START_MS,
        world.writes,
        world.dual,
        world.reads,
        world.followed,
        server.conflicts,
        world.crashes,
        world.taken,
        world.held,
        world.fenced,
    )


def _fill(world: World, side: Side, names: list[str]) -> None:
    """Records that are there before anything happens."""
    entity, draw = side.schema.entities[OLD], world.simulation.random
    for name in ("counter", *names):
        number = 0 if name == "counter" else next(world.numbers)
        values = side.values(name, number) | {"created": START_MS - draw.randrange(1, 10_000_000)}
        item = entity.complete(entity.dump(entity.validate(values)) | {"rev": f"first-{name}"})
        world.server.set(world.server.key_of(item), item, "filling")
        for lookup, key in lookup_keys_in(entity, item):
            world.server.set(world.server.key_of(key), lookup_record(entity, key, item, "first"), "filling")
            marker = {**marker_key(entity, lookup), STATE: READY, "rev": "first"}
            world.server.set(world.server.key_of(marker), marker, "filling")
        if name != "counter":
            world.oracle.begin(START_MS, {name: number})
            world.oracle.end(START_MS, {name: number})
    world.server.settle()


def _check_end(world: World, side: Side) -> None:
    """What is stored in the end is what the oracle says, each record once, under one declaration."""
    entity = side.schema.entities[side.token]
    stored: dict[str, int] = {}
    for key, item in world.server.items.items():
        if "thingId" not in item:
            continue
        name = item["thingId"]
        assert name not in stored, f"{name} is stored twice, the second time as {key}"
        stored[name] = item["number"]
        whole = entity.complete(entity.visible(item) | {"rev": item["rev"]})
        assert item == whole, f"{name} is {item}, not {whole}"
        assert "home" not in item or item["home"]["owner"] == item["owner"], f"{name} is at {item['home']}"
        for index, entries in world.server.indexes.items():
            assert entries.get(key) == item, f"{name} is not in {index} as it is stored"
    _check_owned(world, entity)
    for name, record in world.oracle.records.items():
        assert stored.get(name) in record.possible, f"{name}: {stored.get(name)} is stored, not {set(record.possible)}"
    certain, perhaps = world.counted
    assert certain <= stored["counter"] <= certain + perhaps, f"the counter is {stored['counter']}: {world.counted}"
    for name, numbers in world.created.items():
        assert name in stored, f"{name} was created as {numbers} and is not there"


def _check_owned(world: World, entity: EntityType[Any]) -> None:
    """Each value and each number is that of one record, and lookup records are those of the records that are there."""
    items = [item for item in world.server.items.values() if "thingId" in item]
    wanted = {world.server.key_of(key) for item in items for _, key in lookup_keys_in(entity, item)}
    found = {key for key, item in world.server.items.items() if OWNER in item}
    assert found == wanted, f"lookup records without a record: {found - wanted}, missing: {wanted - found}"
    for names in (("code",), ("owner", "num")):
        values = Counter(tuple(item[name] for name in names) for item in items if names[-1] in item)
        assert not values or max(values.values()) == 1, f"{names} are given twice: {values}"
