"""What all processes of an evolution share, and the programs of one declaration."""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.schema.entity import Entity
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from shardweave.table.values import Item
from tests.simulator.client import Connection, Network, Weather
from tests.simulator.clients import OWNERS
from tests.simulator.evolving import BOXES, EXPIRING, FAMILY, PLAIN
from tests.simulator.history import WAITS
from tests.simulator.oracle import Oracle
from tests.simulator.scheduler import START_MS, Process, Simulation
from tests.simulator.server import Key, Server


@dataclass
class World:
    """What all processes of a history share."""

    simulation: Simulation
    networks: tuple[Network, ...]
    """Of the one table, or of that of the old items and that of the records."""
    oracle: Oracle
    numbers: Any
    plot: tuple[str, ...]
    crash: float
    old_stops: bool = False
    new_stops: bool = True
    over: bool = False
    state: str = ""
    followed_ms: int = START_MS
    """From when on a new program reads what an old one wrote."""
    created: dict[str, list[int]] = field(default_factory=dict)
    counted: list[int] = field(default_factory=lambda: [0, 0])
    writes: Counter[str] = field(default_factory=Counter)
    done: Counter[str] = field(default_factory=Counter)
    """How often what writers do was met."""
    dual: int = 0
    reads: int = 0
    followed: int = 0
    crashes: int = 0
    taken: int = 0
    held: int = 0
    fenced: int = 0
    shape: str = PLAIN
    strangers: set[str] = field(default_factory=set)
    """Who wrote in a table of old items, and is none of the programs that write them."""
    late: set[tuple[Any, Any]] = field(default_factory=set)
    """Creates that arrived when nobody waited for them any more."""

    def waiting(self) -> RetryClock:
        return self.simulation.waiting()

    def name(self, kind: str) -> Callable[[], str]:
        return lambda: f"{kind}-{next(self.numbers)}"

    def arrived_late(self, operation: Any, by: str) -> None:
        """A write arrived that nobody waits for any more: a create of its kind may bring a record back."""
        for put in getattr(operation, "actions", (operation,)):
            item = getattr(put, "item", {})
            if by.startswith("client") and "thingId" in item and put.condition is not None:
                if not put.condition.evaluate({}):
                    continue
                self.late.add((item["thingId"], item["number"]))
                self.oracle.arrived_late(self.simulation.now, item["thingId"], item["number"])

    def written(self, key: Key, old: Item | None, new: Item | None, by: str) -> None:
        """What a transaction that arrived late wrote is seen only now."""
        self.done["removed by TTL"] += by == "ttl"
        named = (new or {}).get("thingId"), (new or {}).get("number")
        if named in self.late:
            self.oracle.arrived_late(self.simulation.now, *named)

    def written_elsewhere(self, key: Key, old: Item | None, new: Item | None, by: str) -> None:
        """In a table of old items nobody writes but the programs of the old declaration."""
        if not by.startswith(("client old", "filling", "ttl")):
            self.strangers.add(by)
        self.written(key, old, new, by)


@dataclass
class Side:
    """The programs of one declaration, as `Writer` sees them."""

    world: World
    schema: Schema
    token: str
    network: Network
    forms: Any = None
    tagged: bool = False
    placed: bool = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self.world, name)

    @property
    def server(self) -> Server:
        """The table of this declaration's items."""
        return self.network.server

    @property
    def writes(self) -> int:
        return self.world.writes[self.token]

    @writes.setter
    def writes(self, count: int) -> None:
        self.world.writes[self.token] = count

    @property
    def model(self) -> type[Entity]:
        return self.schema.entities[self.token].model

    def values(self, name: str, number: int) -> dict[str, Any]:
        draw = self.world.simulation.random
        values = {"thing_id": name, "name": draw.choice("abc"), "owner": owner_of(name), "number": number}
        return values | self.home(name, number) | self.belongings(name, number)

    def belongings(self, name: str, number: int) -> dict[str, Any]:
        """What the shape of the records adds to one."""
        world, draw = self.world, self.world.simulation.random
        if name == "counter" or name.startswith("contest"):
            return {}
        if world.shape == EXPIRING:
            seconds = world.simulation.now // 1000 + draw.randrange(2, 60) if draw.random() < 0.6 else None
            if seconds is not None:
                world.oracle.expires[number] = seconds * 1000
            return {"ttl": seconds}
        if world.shape == FAMILY:
            return {"box_id": draw.choice(BOXES) if draw.random() < 0.5 else None}
        return {}

    def home(self, name: str, number: int) -> dict[str, Any]:
        """The model of a record, if it has one."""
        is_homely = "home" in self.schema.entities[self.token].properties
        return {"home": {"owner": owner_of(name), "floor": number}} if is_homely else {}

    def store(
        self, process: Process, *, bringing: bool = False, connection: Connection | None = None
    ) -> tuple[Store, Connection, LeasedMaps]:
        """The parts of one process."""
        simulation = self.world.simulation
        weather = Weather(crash=self.world.crash if bringing else 0)
        connection = connection or Connection(self.network, process, weather)
        clocks: dict[str, Any] = {"clock": process.wall_ms, "monotonic": lambda: simulation.now}
        maps = LeasedMaps(
            connection, WAITS, waiting=self.world.waiting(), forms=self.forms or {}, bringing=bringing, **clocks
        )
        revisions = {"new_revision": self.world.name("rev"), "new_token": self.world.name("token")}
        store = Store(
            self.schema,
            connection,
            clock=process.wall_ms,
            maps=maps,
            waiting=self.world.waiting(),
            workers=1,
            **revisions,
        )
        return store, connection, maps


def owner_of(name: str) -> str:
    """Whose a record is, for ever."""
    return OWNERS[zlib.crc32(name.encode()) % len(OWNERS)]
