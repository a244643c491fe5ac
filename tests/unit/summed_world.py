"""A read model fed by records: what members have not read of the letters that lie in the table.

Letter    who gets it, and how much it weighs; three generations, a TTL
Box       of a member: how many letters there are, and what they weigh together
Hall      a singleton of all letters
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal
from typing import Annotated, Any

from shardweave.keys.sharding import ShardBump
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property, updated_property
from shardweave.schema.read_models import Action, ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table import Table
from shardweave.table.stream_operations import StreamRead, StreamRecord, StreamShards
from shardweave.values.codecs import DecimalCodec, Timestamp, TimestampSeconds
from tests.unit.store_world import BUMPS, World


class Letter(Entity, token="letter", shard_bumps=BUMPS):
    """What somebody sent to members."""

    letter_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    expires: TimestampSeconds | None = ttl_property()
    member_ids: list[str]
    weight: Decimal = Decimal(0)
    note: str | None = None


class Box(Entity, token="box", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """What a member has not read."""

    member_id: str = unique_property()
    updated: Timestamp = updated_property()
    unread: int = 0
    weight: Annotated[Decimal, DecimalCodec(2)] = Decimal(0)
    colour: str | None = None


class Hall(Entity, token="hall", singleton=True):
    """All letters."""

    letters: int = 0


def project(letter: Letter) -> Sequence[Action]:
    """What a letter adds, to each member once."""
    boxes = [Update(Box, each, add={"unread": 1, "weight": letter.weight}) for each in sorted({*letter.member_ids})]
    return [*boxes, Update(Hall, {}, add={"letters": 1})]


UNREAD = ReadModel("unread", records=(Letter,), writes=(Box, Hall), project=project)
SCHEMA = Schema([Letter, Box, Hall], read_models=[UNREAD])


def changes_of(table: Table) -> tuple[StreamRecord, ...]:
    """Every change of a table, in the order of its stream."""
    found: list[StreamRecord] = []
    for shard in table.run(StreamShards()):
        after = "TRIM_HORIZON"
        while True:
            page = table.run(StreamRead(shard.id, after))
            found += page.records
            if not page.records:
                break
            after = page.position
    return tuple(found)


def post_room() -> World:
    """A world of these entities."""
    return World(schema=SCHEMA)


def feed(store: Store, changes: Iterable[StreamRecord]) -> None:
    """Give changes to the read models of a store."""
    for each in changes:
        store.feed.handle(each)


def summed(store: Store, members: Iterable[str]) -> dict[str, Any]:
    """The numbers of each member, those of nobody as zeros, and of all letters."""
    found: dict[str, Any] = {}
    for name in members:
        box = store.get(Box, name)
        found[name] = (0, Decimal(0)) if box is None else (box.unread, box.weight)
    hall = store.get(Hall, {})
    return {**found, "": 0 if hall is None else hall.letters}


def recounted(letters: Iterable[Letter], members: Iterable[str]) -> dict[str, Any]:
    """What the numbers have to be for these letters."""
    all_letters = list(letters)
    found: dict[str, Any] = {}
    for name in members:
        own = [each for each in all_letters if name in each.member_ids]
        found[name] = (len(own), sum((each.weight for each in own), Decimal(0)))
    return {**found, "": len(all_letters)}
