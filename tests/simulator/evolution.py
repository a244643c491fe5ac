"""Histories of an evolution: programs of an old and of a new declaration of one entity write and read at once, while
the records are brought from the one to the other, taken back, or finished.

Records may expire, or belong to boxes, which are made, and deleted if they are empty, by programs of both.
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
from random import Random
from typing import Any

from shardweave.errors import AlreadyExists, HasChildren, NotFound, OutcomeUnknown, ParentMissing, ReshardRefused
from shardweave.keys.key_format import ORDERED
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.rekeying import Rekey
from shardweave.schema.old_forms import OldForm
from shardweave.store.lookups.backfill_state import READY, STATE, marker_key
from shardweave.store.lookups.lookup_records import lookup_record
from tests.simulator.client import Network
from tests.simulator.clients import NOT_DONE, Writer
from tests.simulator.evolution_ends import check_end
from tests.simulator.evolution_operator import SKEW_MS, Operator
from tests.simulator.evolution_world import Side, World, owner_of
from tests.simulator.evolving import BOXES, ELSEWHERE, EXPIRING, FAMILY, NEW, OLD, PLAIN, PLOTS, ROWS, Box, schemas
from tests.simulator.history import MAX_LAG_MS, WAITS, lookup_keys_in
from tests.simulator.oracle import Oracle
from tests.simulator.scheduler import START_MS, Process, Simulation
from tests.simulator.server import Server
from tests.simulator.things import MADE_UP


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
    shape: str
    done: Counter[str]
    """How often what a shape is about has happened."""


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


OF_BOXES = ("make_box", "make_box", "drop_box", "drop_box", "drop_box")


class Client(Writer):
    """A process of one declaration."""

    not_done = (*NOT_DONE, ParentMissing, ReshardRefused)
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
        changed = {"name": self.side.simulation.random.choice("abc"), "number": number}
        return changed | self.side.home(name, number) | self.side.belongings(name, number)

    def make_box(self) -> None:
        with suppress(AlreadyExists, OutcomeUnknown, *self.not_done):
            self.store.create({"box_id": self._box()}, Box)
            self.side.world.done["boxes made"] += 1

    def drop_box(self) -> None:
        """Delete a box, unless there are things in it."""
        try:
            self.side.world.done["boxes dropped"] += self.store.delete(Box, self._box())
        except HasChildren:
            self.side.world.done["boxes kept"] += 1
        except (OutcomeUnknown, *self.not_done):
            pass

    def _box(self) -> str:
        return self.side.simulation.random.choice(BOXES)

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


def run(
    seed: int,
    *,
    row: str | None = None,
    plot: str | None = None,
    operations: int = 3,
    kinds: Sequence[str] = KINDS,
    pausing: bool | None = None,
    shape: str | None = None,
    parts: Parts = WHOLE,
) -> Told:
    """Let one history happen. Raises AssertionError with what is wrong in it."""
    simulation = Simulation(seed)
    draw = simulation.random
    row = row or list(ROWS)[seed % len(ROWS)]
    plot = plot or list(PLOTS)[seed // len(ROWS) % len(PLOTS)]
    owned = draw.random() < 0.5 and shape != EXPIRING
    bumps = [ShardBump(0, 1, 1)]
    if draw.random() < 0.3:
        bumps.append(ShardBump(START_MS + draw.choice((5_000, 30_000)), 1, 2))
    MADE_UP.last = 0
    elsewhere = plot.startswith(ELSEWHERE)
    shape = shape or _shape(seed, row, owned=owned, elsewhere=elsewhere)
    earlier, schema, forms = schemas(row, tuple(bumps), owned=owned, shape=shape)
    networks = tuple(
        Network(Server(simulation, layout, MAX_LAG_MS, WAITS.request_ms), WAITS.accepted_ms)
        for layout in ((earlier.layout, schema.layout) if elsewhere else (schema.layout,))
    )
    world = World(
        simulation, networks, Oracle(SKEW_MS + 1_000), itertools.count(1), PLOTS[plot], draw.choice((0, 0.003))
    )
    world.shape, kinds = shape, (*kinds, *OF_BOXES) if shape == FAMILY else kinds
    for each in networks:
        each.arrived_late = world.arrived_late
        each.server.written = world.written_elsewhere if elsewhere and each is networks[0] else world.written
    forms = {token: parts.form(form) for token, form in forms.items()}
    old, new = Side(world, earlier, OLD, networks[0]), Side(world, schema, NEW, networks[-1], forms)

    def happen() -> int | None:
        acting = [act for each in networks for act in (each.server.happen, each.happen)]
        return min((moment for act in acting if (moment := act()) is not None), default=None)

    simulation.world = happen
    clients = [Client(side, name, operations, kinds) for side, name in ((old, "a"), (new, "b"), (new, "c"))]
    _fill(world, old, [name for client in clients for name in client.ids[:2]])
    for client in clients:
        client.others = tuple(each for each in clients if each is not client)
        name = f"client {'old' if client.is_old else 'new'} {client.ids[0]}"
        simulation.spawn(name, client.run, draw.randint(-SKEW_MS, SKEW_MS))
    Operator(new, clients, parts, pausing=draw.random() < 0.5 if pausing is None else pausing).begin()
    simulation.run(lambda: not (simulation.processes or simulation.jobs or any(each.late for each in networks)))
    for each in networks:
        each.server.settle()
    check_end(world, *((new, old) if "finish" in world.plot[-2:] else (old, new)))
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
        sum(each.server.conflicts for each in networks),
        world.crashes,
        world.taken,
        world.held,
        world.fenced,
        shape,
        world.done,
    )


def _shape(seed: int, row: str, *, owned: bool, elsewhere: bool) -> str:
    """The shape of a history's records, of those that a row can have."""
    shapes = [PLAIN]
    shapes += [] if owned else [EXPIRING]
    shapes += [FAMILY] if ROWS[row].key_format is ORDERED and not elsewhere else []
    return Random(f"shape {seed}").choice(shapes)


def _fill(world: World, side: Side, names: list[str]) -> None:
    """Records that are there before anything happens."""
    entity, draw = side.schema.entities[OLD], world.simulation.random
    if world.shape == FAMILY:
        _fill_boxes(world, side)
    for name in ("counter", *names):
        number = 0 if name == "counter" else next(world.numbers)
        values = side.values(name, number) | {"created": START_MS - draw.randrange(1, 10_000_000)}
        values |= {} if world.shape != FAMILY else {"box_id": None}
        item = entity.complete(entity.dump(entity.validate(values)) | {"rev": f"first-{name}"})
        side.server.set(side.server.key_of(item), item, "filling")
        for lookup, key in lookup_keys_in(entity, item):
            side.server.set(side.server.key_of(key), lookup_record(entity, key, item, "first"), "filling")
            marker = {**marker_key(entity, lookup), STATE: READY, "rev": "first"}
            side.server.set(side.server.key_of(marker), marker, "filling")
        if name != "counter":
            world.oracle.begin(START_MS, {name: number})
            world.oracle.end(START_MS, {name: number})
    side.server.settle()


def _fill_boxes(world: World, side: Side) -> None:
    """Boxes that are there before anything happens, and that every relation to them is complete."""
    box = side.schema.entities["box"]
    for name in BOXES[:2]:
        item = box.complete(box.dump(box.validate({"box_id": name})) | {"rev": f"first-{name}"})
        side.server.set(side.server.key_of(item), item, "filling")
    marker = {**marker_key(side.schema.entities[OLD], "box"), STATE: READY, "rev": "first"}
    side.server.set(side.server.key_of(marker), marker, "filling")
