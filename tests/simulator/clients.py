"""The application processes of a history: they write and read, and check every answer against the oracle (those that
walk through pages are in `walkers`).

Each writer has ids of its own, so what may be stored under them is known exactly; a counter and some ids are shared by
all, for lost updates and double creates.
"""

from __future__ import annotations

import contextlib
import itertools
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from shardweave.errors import (
    AlreadyExists,
    BatchIncomplete,
    DeleteIncomplete,
    HasChildren,
    NotFound,
    OutcomeUnknown,
    RevisionConflict,
    ShardMapChanged,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
)
from shardweave.query.shorthand import between
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Waits
from shardweave.schema.entity import Entity
from shardweave.schema.schema import Schema
from shardweave.store import Add, Delete, Put, RetryClock, Store, Update
from shardweave.table.operations import PutItem as TablePut
from shardweave.table.operations import TransactWrite
from tests.simulator.client import Connection, Network, Weather
from tests.simulator.guests import Guests
from tests.simulator.oracle import Oracle, Value
from tests.simulator.parts import Parts
from tests.simulator.scheduler import Process, Simulation
from tests.simulator.serials import Serials, shelf_of
from tests.simulator.server import Server
from tests.simulator.tallies import Tallies
from tests.simulator.things import CITIES, NAMES, OWNERS, SIZES, TAGS, home_of

SHARED = "shared-"
"""Records that all make, change and delete: what they have is known to nobody."""
NOT_DONE = (
    BatchIncomplete,
    DeleteIncomplete,
    HasChildren,
    RevisionConflict,
    ShardMapChanged,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
)


@dataclass
class World:
    """What all processes of a history share."""

    simulation: Simulation
    server: Server
    network: Network
    oracle: Oracle
    schema: Schema
    waits: Waits
    weather: Weather
    believed: Waits
    """What the processes that move records take for the waits, and `trusted` those that write and read."""
    trusted: Waits
    parts: Parts
    expiring: bool = False
    """Whether some records expire."""
    numbers: Any = field(default_factory=lambda: itertools.count(1))
    given: dict[int, dict[str, Any]] = field(default_factory=dict)
    """What was written, by its number."""
    created: dict[str, list[int]] = field(default_factory=dict)
    counted: list[int] = field(default_factory=lambda: [0, 0])
    """How often the counter was certainly, and perhaps, raised."""
    walks: int = 0
    scans: int = 0
    rewritten: bool = False
    """Whether all records were brought to the current version."""
    writes: int = 0
    done: Counter[str] = field(default_factory=Counter)
    """How often each kind of operation was carried out."""
    tallies: Tallies = field(default_factory=Tallies)
    serials: Serials = field(default_factory=Serials)
    parts_told: Oracle = field(default_factory=Oracle)
    """The oracle of the parts of things."""
    parts_of: dict[str, str] = field(default_factory=dict)
    """The thing of each part, and `deletions`: how many deletions of a thing began, and how many are under way."""
    deletions: dict[str, list[int]] = field(default_factory=dict)
    guests: Guests = field(default_factory=Guests)
    unfilled: str = ""
    """The lookup that is filled while others write."""
    requests: list[Any] = field(default_factory=list)
    """The requests under idempotency keys that were answered."""

    @property
    def model(self) -> type[Entity]:
        return self.schema.entities["thing"].model

    @property
    def tagged(self) -> bool:
        return "tag" in self.schema.entities["thing"].lookups

    @property
    def placed(self) -> bool:
        """Whether members of a model identify or place records."""
        return "home" in self.schema.entities["thing"].properties

    @property
    def numbered(self) -> bool:
        return bool(self.schema.entities["thing"].sequences)

    def store(self, process: Process, weather: Weather | None = None) -> tuple[Store, Connection, LeasedMaps]:
        """The parts of one process."""
        connection = Connection(self.network, process, weather or self.weather)
        maps = self.parts.maps(
            connection,
            self.trusted,
            clock=process.wall_ms,
            monotonic=lambda: self.simulation.now,
            waiting=self.waiting(),
        )
        store = self.parts.store(
            self.schema,
            connection,
            clock=process.wall_ms,
            maps=maps,
            waiting=self.waiting(),
            new_revision=self.name("rev"),
            new_token=self.name("token"),
            workers=1,
        )
        return store, connection, maps

    def waiting(self) -> RetryClock:
        return self.simulation.waiting()

    def name(self, kind: str) -> Callable[[], str]:
        return lambda: f"{kind}-{next(self.numbers)}"

    def arrived_late(self, operation: Any, by: str) -> None:
        """A write arrived that nobody waits for any more: a create of its kind may bring a record back."""
        puts = operation.actions if isinstance(operation, TransactWrite) else (operation,)
        for put in puts:
            if not isinstance(put, TablePut) or put.condition is None or not put.condition.evaluate({}):
                continue
            if "guestId" in put.item:
                self.guests.arrived_late(self.simulation.now, put.item)
            elif "thingId" in put.item and not str(put.item["thingId"]).startswith(SHARED):
                told, name = (self.parts_told, "partId") if "partId" in put.item else (self.oracle, "thingId")
                told.arrived_late(self.simulation.now, put.item[name], put.item["number"])

    def values(self, name: str, number: int) -> dict[str, Any]:
        draw = self.simulation.random
        given = {"thing_id": name, "name": draw.choice(NAMES), "owner": draw.choice(OWNERS), "number": number}
        if self.tagged:
            given["tags"] = set(draw.sample(TAGS, draw.randrange(len(TAGS))))
            given["sizes"] = {size: draw.randrange(-2, 3) for size in SIZES if draw.random() < 0.7}
            given["place"] = {"city": draw.choice(CITIES), "floor": number} if draw.random() < 0.8 else None
        if self.numbered:
            given["shelf"] = shelf_of(name)
        if self.placed:
            given["home"] = {**home_of(name), "floor": number}
        if self.expiring and not name.startswith(("counter", "contest")):
            lasts = draw.randrange(1, 25) if draw.random() < 0.4 else None
            given["ttl"] = None if lasts is None else self.simulation.now // 1000 + lasts
        self.give(number, given)
        return dict(given)

    def give(self, number: int, values: dict[str, Any]) -> None:
        """Remember what a number's record has."""
        self.given[number] = values
        self.oracle.expires.pop(number, None)
        if values.get("ttl") is not None:
            self.oracle.expires[number] = values["ttl"] * 1000


FIRST_KINDS = (
    *("create", "put", "update", "delete", "get", "get_all", "transact", "batch"),
    *("update", "get", "raise_counter", "contest", "make_up"),
)
"""What a writer does, each as often as it is named."""

KINDS = (*FIRST_KINDS, "upsert", "remove", "add_to_counter", "add_in_transaction", "batch_updates")
TAGGED_KINDS = (*KINDS, "find", "find", "find", "list_names", "list_names", "list_sizes", "list_sizes")
"""What a writer of records with tags does."""


class Writer:
    """A process that writes and reads ids of its own, then those that all share."""

    not_done: tuple[type[Exception], ...] = NOT_DONE

    def __init__(self, world: World, name: str, operations: int, kinds: Sequence[str] = KINDS) -> None:
        self.world = world
        self.kinds = kinds
        self.ids = [f"{name}-{position}" for position in range(4)]
        self.left = operations
        self.failed = False
        """Whether the operation under way was not carried out."""
        self.began = 0
        """When the last write of records of its own began."""

    def key(self, name: str) -> Any:
        """What identifies a record."""
        return name

    def changes(self, name: str, number: int) -> dict[str, Any]:
        """New values of what may change."""
        values = self.world.values(name, number)
        del values["thing_id"]
        return values

    def run(self, process: Process) -> None:
        """Work until all operations are done. A process that died is followed by another."""
        self.process = process
        self.store, _, _ = self.world.store(process)
        simulation = self.world.simulation
        kinds: list[Callable[[], None]] = [getattr(self, kind) for kind in self.kinds]
        while self.left > 0:
            self.left -= 1
            simulation.sleep(int(simulation.random.random() ** 2 * 6_000))
            kind = simulation.random.choice(kinds)
            self.failed = False
            kind()
            self.world.done[kind.__name__] += not self.failed
            self.world.writes += 1

    # -- one record

    def create(self) -> None:
        name, number = self._pick(), self._number()
        try:
            self._write({name: number}, lambda: self.store.create(self.world.values(name, number), self.world.model))
        except AlreadyExists:
            self._learn(name, exists=True)

    def put(self) -> None:
        name, number = self._pick(), self._number()
        self._write({name: number}, lambda: self.store.put(self.world.values(name, number), self.world.model))

    def update(self) -> None:
        name, number = self._pick(), self._number()
        changes = self.changes(name, number)
        try:
            self._write({name: number}, lambda: self.store.update(self.world.model, self.key(name), changes))
        except NotFound:
            self._learn(name, exists=False)

    def upsert(self) -> None:
        """Changes of a record that is made where there is none."""
        name, number = self._pick(), self._number()
        changes = self.changes(name, number)
        self._write({name: number}, lambda: self.store.update(self.world.model, self.key(name), changes, upsert=True))

    def remove(self) -> None:
        """A delete that gives what was there."""
        name = self._pick()
        possible = self.world.oracle.of(name).possible
        delete = Delete(self.world.model, self.key(name), returning=True)
        written = self._write({name: None}, lambda: self.store.write(delete))
        if written is not None:
            before = None if written.before is None else written.before.number
            possible = self._seen(name, possible)
            assert before in possible, f"{name}: delete gives {before}, possible was {set(possible)}"

    def delete(self) -> None:
        name = self._pick()
        possible = self.world.oracle.of(name).possible
        done = self._write({name: None}, lambda: self._removed(name))
        if done is not None:
            possible = self._seen(name, possible)
            there = possible - {None}
            assert there if done else None in possible, f"{name}: delete says {done}, possible was {set(possible)}"

    def _removed(self, name: str) -> bool:
        return self.store.delete(self.world.model, self.key(name))

    def get(self) -> None:
        name = self._pick()
        self._check_read([name], lambda: [self.store.get(self.world.model, self.key(name))])

    def get_all(self) -> None:
        keys = [self.key(each) for each in self.ids]
        self._check_read(self.ids, lambda: self.store.batch_get(self.world.model, keys))

    def find(self) -> None:
        """The records with a tag: of the writer's own, those that had it all the time, and none that never had it."""
        tag = self.world.simulation.random.choice(TAGS)
        began = self._now()
        try:
            found = {each.thing_id for each in self.store.find_by(self.world.model, "tag", tag, limit=500).items}
        except self.not_done:
            return
        for name in self.ids:
            possible = self.world.oracle.of(name).between(began, self._now())
            had = {value is not None and tag in self.world.given[value]["tags"] for value in possible}
            assert (name in found) in had, f"{name}: found by {tag} is {name in found}, possible was {set(possible)}"

    def list_sizes(self) -> None:
        """An owner's records with a size up to a bound, in its order and then that of numbers, either way."""
        draw = self.world.simulation.random
        owner, size, high, reverse = draw.choice(OWNERS), draw.choice(SIZES), draw.randrange(-1, 3), draw.random() < 0.5
        asked: dict[str, Any] = {"within": {"owner": owner, "sizes.name": size}, "reverse": reverse, "limit": 500}
        began = self._now()
        try:
            found = self.store.find_by(self.world.model, "sizes", between(None, high), **asked).items
        except self.not_done:
            return
        self.world.done["things listed by size"] += len(found)
        values = [(each.sizes[size], each.number) for each in found]
        assert values == sorted(values, reverse=reverse), f"{owner}'s {size} is {values}"
        ids = [each.thing_id for each in found]
        for name in self.ids:
            possible = self.world.oracle.of(name).between(began, self._now())
            if len(possible) == 1:
                (value,) = possible
                given = {} if value is None else self.world.given[value]
                is_listed = given.get("owner") == owner and given["sizes"].get(size, high + 1) <= high
                assert ids.count(name) == is_listed, f"{name}: listed {ids.count(name)} times, possible was {possible}"

    # -- several records

    def transact(self) -> None:
        first, second = self.world.simulation.random.sample(self.ids, 2)
        one, other = self._number(), self._number()
        model = self.world.model
        operations = [Put(self.world.values(first, one), model), Put(self.world.values(second, other), model)]
        new: dict[str, Value] = {first: one, second: other}
        if self.world.oracle.of(second).possible.isdisjoint({None}):
            operations[1] = Delete(model, self.key(second))  # type: ignore[call-overload]
            new[second] = None
        with contextlib.suppress(NotFound):
            self._write(new, lambda: self.store.transact(operations))

    def batch(self) -> None:
        first, second = self.world.simulation.random.sample(self.ids, 2)
        new: dict[str, Value] = {first: self._number(), second: None}
        before = self.world.oracle.begin(self._now(), new)
        number = new[first]
        assert number is not None
        puts = [Put(self.world.values(first, number), self.world.model)]
        result = self.store.batch_write(puts, [Delete(self.world.model, self.key(second))])
        for name, outcome in zip((first, second), (*result.puts, *result.deletes), strict=True):
            if outcome.status == "written":
                self.world.oracle.end(self._now(), {name: new[name]})
            elif isinstance(outcome.error, OutcomeUnknown):
                self.world.oracle.unsure({name: new[name]})
            else:
                self.world.oracle.fail(self._now(), {name: before[name]})

    def batch_updates(self) -> None:
        """Changes in a batch, one of which may make its record."""
        first, second = self.world.simulation.random.sample(self.ids, 2)
        new: dict[str, Value] = {first: self._number(), second: self._number()}
        before = self.world.oracle.begin(self._now(), new)
        updates = []
        for name, number in new.items():
            assert number is not None
            changes = self.changes(name, number)
            updates.append(Update(self.world.model, self.key(name), changes, upsert=name == first))
        for name, outcome in zip(new, self.store.batch_write(updates=updates).updates, strict=True):
            if outcome.status == "written":
                self.world.oracle.end(self._now(), {name: new[name]})
            elif isinstance(outcome.error, OutcomeUnknown):
                self.world.oracle.unsure({name: new[name]})
            else:
                self.world.oracle.fail(self._now(), {name: before[name]})

    def make_up(self) -> None:
        """Puts of records whose ids are made up, which go without conditions where they can."""
        numbers = [self._number() for _ in range(3)]
        values = [self.world.values("", number) for number in numbers]
        for each in values:
            del each["thing_id"]
        result = self.store.batch_write([Put(each, self.world.model) for each in values])
        for outcome, number in zip(result.puts, numbers, strict=True):
            if outcome.status == "written" and outcome.record is not None:
                self.world.oracle.end(self._now(), {outcome.record.thing_id: number})  # type: ignore[attr-defined]

    # -- what all share

    def raise_counter(self) -> None:
        model = self.world.model
        self._count(lambda: self.store.update(model, self.key("counter"), _raised))

    def add_to_counter(self) -> None:
        """Additions that the table carries out by itself where it may."""
        self._count(lambda: self.store.add(self.world.model, self.key("counter"), {"number": 1}))

    def add_in_transaction(self) -> None:
        """An addition that is made together with a record, or not at all."""
        name, number = self._pick(), self._number()
        model = self.world.model
        operations = [Add(model, self.key("counter"), {"number": 1}), Put(self.world.values(name, number), model)]
        self._count(lambda: self._write({name: number}, lambda: self.store.transact(operations), told=True))

    def _count(self, work: Callable[[], Any]) -> None:
        try:
            work()
        except self.not_done:
            return
        except OutcomeUnknown:
            self.world.counted[1] += 1
            return
        self.world.counted[0] += 1

    def contest(self) -> None:
        """Create what others create too: at most one may win."""
        name = f"contest-{self.world.simulation.random.randrange(4)}"
        number = self._number()
        try:
            self.store.create(self.world.values(name, number), self.world.model)
        except (AlreadyExists, *self.not_done):
            return
        except OutcomeUnknown:
            return
        won = self.world.created.setdefault(name, [])
        won.append(number)
        assert len(won) == 1, f"{name} was created by {won}"

    # -- parts

    def _write(self, new: dict[str, Value], work: Callable[[], Any], *, told: bool = False) -> Any:
        """What the work gives, None where it was not done, or may not have been: with `told` that is raised."""
        oracle = self.world.oracle
        self.began = self._now()
        before = oracle.begin(self.began, new)
        self.world.done["writes where a record had expired"] += any(map(oracle.has_expired, new, before.values()))
        try:
            answer = work()
        except (OutcomeUnknown, DeleteIncomplete) as error:
            # A deletion that was given up may end by itself: by a request of it that arrives late.
            self.failed = self.failed or isinstance(error, DeleteIncomplete)
            oracle.unsure(new)
            if told:
                raise
            return None
        except self.not_done:
            self.failed = True
            oracle.fail(self._now(), before)
            if told:
                raise
            return None
        except (AlreadyExists, NotFound):
            oracle.fail(self._now(), before)
            raise
        oracle.end(self._now(), new)
        return answer

    def _learn(self, name: str, *, exists: bool) -> None:
        self.world.oracle.learn(self.began, self._now(), name, exists=exists)

    def _check_read(self, names: list[str], read: Callable[[], list[Any]]) -> None:
        began = self._now()
        try:
            found = read()
        except self.not_done:
            return
        for name, record in zip(names, found, strict=True):
            value = None if record is None else record.number
            possible = self.world.oracle.of(name).between(began, self._now())
            assert value in possible, f"{name}: read {value}, possible was {set(possible)}"
            if self.world.tagged and value is not None and name in self.ids:
                place, given = record.place, self.world.given[value].get("place")
                shown = None if place is None else place.model_dump()
                assert shown == given, f"{name}: {value} is at {shown}, it was given {given}"
                tags = self.world.given[value]["tags"]
                assert record.tags == tags, f"{name}: {value} has {record.tags}, it was given {tags}"
            home = self.world.given.get(value or 0, {}).get("home") if self.world.placed else None
            if home is not None:
                assert record.home.model_dump() == home, f"{name}: {value} is at home {record.home}, given was {home}"

    def _seen(self, name: str, possible: frozenset[Value]) -> frozenset[Value]:
        """What the last write may have taken for what was possible before it."""
        return self.world.oracle.of(name).seen(possible, self.began, self._now())

    def _pick(self) -> str:
        return self.world.simulation.random.choice(self.ids)

    def _number(self) -> int:
        return next(self.world.numbers)

    def _now(self) -> int:
        return self.world.simulation.now


def _raised(record: Any) -> dict[str, Any]:
    return {"number": record.number + 1}
