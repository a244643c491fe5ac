"""Fixtures for tests of the store: entities of every placement, a clock to set, a table to look into.

Note      one generation, generated ids
Person    three generations, sparse and composite index attributes, a TTL
Address   sharded by its owner, so that its id has a lookup; three generations; a TTL
Version   found by partition and sort
Settings  a singleton
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.entity_type import REVISION
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.schema.shard_maps import ShardMaps, StaticMaps
from shardweave.store import RetryClock, Store
from shardweave.store.lookups.lookup_records import identity_lookup_key
from shardweave.table import Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import Faults, Script, SimulatedTable
from shardweave.table.operations import GetItem, PutItem, Scan
from shardweave.values.codecs import Timestamp, TimestampSeconds

DAY = 86_400_000
START = 1_730_000_000_000
FIRST_BUMP = START + 10 * DAY
SECOND_BUMP = START + 20 * DAY

BUMPS = (
    ShardBump(0, char_bits=1, chars=0),
    ShardBump(FIRST_BUMP, char_bits=2, chars=1),
    ShardBump(SECOND_BUMP, char_bits=2, chars=2),
)


class Note(Entity, token="note", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A short text."""

    note_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    text: str
    weight: float | None = None
    number: int | None = None
    price: Decimal | None = None


class Person(Entity, token="person", shard_bumps=BUMPS):
    """Somebody with a name."""

    person_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    expires: TimestampSeconds | None = ttl_property()
    group: str | None = None
    name: str
    name_canonical: str
    phone: str | None = None

    group_hash_key = HashKey("group")
    name_range_key = RangeKey("name_canonical", "created")

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        name = values.get("name")
        return values | {"nameCanonical": name.lower()} if isinstance(name, str) else values


class Address(Entity, token="address", shard_by="owner_id", shard_bumps=BUMPS):
    """An address that lives in its owner's shard."""

    address: str = unique_property()
    owner_id: str
    created: Timestamp = timestamp_property()
    expires: TimestampSeconds | None = ttl_property()
    label: str | None = None

    owner_hash_key = HashKey("owner_id")


class Version(Entity, token="version", partition="order_id", sort="number"):
    """One version of an order."""

    order_id: str
    number: int
    created: Timestamp = timestamp_property()
    state: str


class Settings(Entity, token="settings", singleton=True):
    """The one record of its kind."""

    colour: str


SCHEMA = Schema(
    entities=[Note, Person, Address, Version, Settings],
    indexes=[
        Index("created", "hash_key", "created"),
        Index("phone", "hash_key", "phone"),
        Index("groupName", "group_hash_key", "name_range_key"),
        Index("ownerCreated", "owner_hash_key", "created"),
    ],
)

PEOPLE = SCHEMA[Person]
ADDRESSES = SCHEMA[Address]


class Clock:
    """Epoch milliseconds, as set."""

    def __init__(self, now: int = START) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class NoWaiting:
    """Pauses that only move a clock of their own; `slept` lists them."""

    def __init__(self, drawn: float = 0.5) -> None:
        self.now = 0.0
        self.drawn = drawn
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def waiting(self) -> RetryClock:
        return RetryClock(self.sleep, lambda: self.drawn, lambda: self.now)


class World:
    """A store over an embedded table, or the one given, with faults on the way if asked for."""

    def __init__(
        self,
        faults: Faults | None = None,
        *,
        maps: ShardMaps | None = None,
        schema: Schema = SCHEMA,
        table: Table | None = None,
    ) -> None:
        self.clock = Clock()
        self.pauses = NoWaiting()
        self.schema = schema
        self.inner = table or EmbeddedTable(schema.layout, clock=lambda: self.clock.now / 1000)
        self.table = SimulatedTable(self.inner, faults or Script())
        self.maps = StaticMaps() if maps is None else maps
        self.store = self.new_store(self.table)
        self.other = self.new_store(self.inner)

    def new_store(self, table: Table) -> Store:
        """Another store on the world's clock: `other` is one without faults, for another writer."""
        return Store(self.schema, table, clock=self.clock, maps=self.maps, waiting=self.pauses.waiting())

    def items(self) -> list[dict[str, Any]]:
        """Everything in the table."""
        return [dict(item) for item in self.inner.run(Scan(consistent=True)).items]

    def items_of(self, model: type[Entity]) -> list[dict[str, Any]]:
        """The stored items of an entity's records."""
        return [item for item in self.items() if item["hashKey"].startswith(f"{self.schema[model].token}!")]

    def lookups(self) -> list[dict[str, Any]]:
        """The lookup records."""
        return [item for item in self.items() if "." in item["hashKey"].partition("!")[0]]

    def stored(self, model: type[Entity]) -> dict[str, Any]:
        """The one stored item of an entity."""
        (item,) = self.items_of(model)
        return item

    def written_behind(self, model: type[Entity], **attributes: Any) -> None:
        """Another program changes the one stored item of an entity."""
        self.inner.run(PutItem(self.stored(model) | attributes))

    def requests(self) -> list[str]:
        """The kinds of the requests since the last time this was asked."""
        kinds = [type(operation).__name__ for operation in self.table.calls]
        self.table.calls.clear()
        return kinds

    def lookup_of(self, address: str) -> Mapping[str, Any] | None:
        key = identity_lookup_key(self.schema[Address], {"address": address})
        return self.inner.run(GetItem(key, consistent=True)).item


def is_consistent(world: World, now_ms: int) -> Iterator[str]:
    """What is wrong with the table's content: generated attributes that differ from recomputed ones, an id that is
    live in two places, a live record without its lookup, a lookup that names another place."""
    live: dict[tuple[Any, ...], int] = {}
    for entity in world.schema.entities.values():
        for item in world.items_of(entity.model):
            if entity.complete(item) != {name: value for name, value in item.items() if name in known_names(entity)}:
                yield f"{entity.token}: generated attributes differ"
            if entity.is_expired(item, now_ms // 1000):
                continue
            identity = (entity.token, *(item[name] for name in entity.identity))
            live[identity] = live.get(identity, 0) + 1
            if entity.lookup_placed:
                lookup = world.inner.run(GetItem(identity_lookup_key(entity, item), consistent=True)).item
                if lookup is None:
                    yield f"{entity.token}: no lookup"
                elif any(item.get(name) != value for name, value in lookup["_place"].items()):
                    yield f"{entity.token}: the lookup names another place"
                elif entity.ttl is not None and lookup.get(entity.ttl) != item.get(entity.ttl):
                    yield f"{entity.token}: the lookup has another TTL"
    for identity, count in live.items():
        if count > 1:
            yield f"{identity[0]}: live in {count} places"


def known_names(entity: Any) -> set[str]:
    return {*entity.properties, *entity.keys.names, REVISION}
