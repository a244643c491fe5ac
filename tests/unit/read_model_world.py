"""A read model fed by events, in the smallest form that has every kind of record.

Parcel   needs its owner, which only `Sent` gives; unique by its label
Scan     one for each time that a parcel was seen; a record of its own for each event
Tally    a singleton of totals
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Unique
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import unique_property, updated_property
from shardweave.schema.read_models import Action, Delete, Event, ReadModel, Set, Update
from shardweave.schema.schema import Schema
from shardweave.store.events.lww_registers import PROJECTED
from shardweave.table.fault_injection import Faults
from shardweave.values.codecs import Timestamp
from tests.unit.store_world import World


class Parcel(Entity, token="parcel", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """Something on its way."""

    parcel_id: str = unique_property()
    updated: Timestamp = updated_property()
    owner: str
    place: str | None = None
    note: str | None = "none"
    label: str | None = None

    owner_hash_key = HashKey("owner")
    label_lookup = Unique("label")


class Scan(Entity, token="scan", partition="parcel_id", sort="position"):
    """Where a parcel was seen."""

    parcel_id: str
    position: int
    place: str


class Tally(Entity, token="tally", singleton=True):
    """How many parcels were sent, and how often they were seen."""

    sent: int = 0
    seen: int = 0


class Sent(Event):
    """A parcel was sent."""

    type: Literal["Sent"] = "Sent"
    parcel_id: str
    owner: str
    label: str | None = None


class Seen(Event):
    """A parcel was seen."""

    type: Literal["Seen"] = "Seen"
    parcel_id: str
    place: str | None
    note: str | None = None


class Lost(Event):
    """A parcel was lost."""

    type: Literal["Lost"] = "Lost"
    parcel_id: str


def project(event: Event) -> Sequence[Action]:
    """What each event means."""
    match event:
        case Sent():
            parcel = Parcel(parcel_id=event.parcel_id, owner=event.owner, label=event.label)
            return Set(parcel), Update(Tally, {}, add={"sent": 1})
        case Seen():
            changes = {"place": event.place} | ({} if event.note is None else {"note": event.note})
            told: list[Action] = [Update(Parcel, event.parcel_id, changes), Update(Tally, {}, add={"seen": 1})]
            if event.place is not None:
                told.append(Set(Scan(parcel_id=event.parcel_id, position=event.position, place=event.place)))
            return told
        case _:
            assert isinstance(event, Lost)
            return (Delete(Parcel, event.parcel_id),)


PARCELS = ReadModel("parcels", events=(Sent, Seen, Lost), writes=(Parcel, Scan, Tally), project=project)

SCHEMA = Schema(
    entities=[Parcel, Scan, Tally], indexes=[Index("owner", "owner_hash_key", "updated")], read_models=[PARCELS]
)


def post_office(faults: Faults | None = None) -> World:
    """A world of these entities whose markers are set."""
    world = World(faults, schema=SCHEMA)
    for store in (world.other, world.store):
        store.batch_write()
    world.requests()
    return world


def read_model(world: World) -> list[tuple[Any, ...]]:
    """What applications see, in an order of its own, without what changes with every write."""
    left_out = {"rev", "updated", PROJECTED}
    items = [
        sorted((name, value) for name, value in item.items() if name not in left_out)
        for item in world.items()
        if world.schema.entity_of_key(item["hashKey"]) is not None
    ]
    return sorted(map(tuple, items), key=repr)


def told(events: Iterable[Event]) -> list[tuple[Any, ...]]:
    """The read model of some events, each delivered once, in order."""
    world = post_office()
    for event in sorted(events, key=lambda each: (each.position, each.event_id)):
        world.store.apply("parcels", event)
    return read_model(world)
