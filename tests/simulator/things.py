"""The records of a history, and what their properties may be."""

from __future__ import annotations

import zlib
from functools import cache
from typing import Any

from pydantic import BaseModel, Field

from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, OrderedLookup, Sequence, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp
from tests.simulator.totals import totals_of

NAMES = ("ann", "anna", "annabel", "bob")
OWNERS = ("o1", "o2")
TAGS = ("red", "green", "blue", "grey")
CITIES = ("moss", "oslo")
SIZES = ("length", "width", "height")


class MadeUp:
    """Ids that are made up, the same in each history."""

    def __init__(self) -> None:
        self.last = 0

    def __call__(self) -> str:
        self.last += 1
        return f"made-up-{self.last}"


MADE_UP = MadeUp()


def note_of_remark(values: dict[str, Any]) -> dict[str, Any]:
    """The upgrade of the records that are there before a history."""
    note = values.pop("remark")
    return {**values, "note": note}


class Home(BaseModel):
    """Where a thing belongs: its area and block identify or place it, and never change."""

    area: str
    block: str
    floor: int = 0


HOMES: dict[str, dict[str, Any]] = {
    "": {},
    "identity": {"partition": "home.area", "sort": ("thing_id", "home.block")},
    "shard": {"shard_by": "home.area"},
}
"""What members of a model decide of a record: nothing, which one it is, or its shard."""


def home_of(name: str) -> dict[str, Any]:
    """Where a thing belongs for ever."""
    number = zlib.crc32(name.encode())
    return {"area": f"area {number % 3}", "block": "ab"[number // 3 % 2]}


class Place(BaseModel):
    """Where a thing is: a model in its record."""

    city: str
    floor: int = 0


@cache
def thing_schema(
    bumps: tuple[ShardBump, ...],
    shards: tuple[int | None, int | None] = (None, None),
    *,
    tagged: bool = False,
    family: bool = False,
    summed: bool = False,
    numbered: bool = False,
    decided: str = "",
) -> Schema:
    """The records of a history, and the shards that the indexes of names and of owners have of their own. `tagged`:
    they have tags and sizes, a lookup by each tag, lists of each owner in the order of names and of each size, a model,
    and an upgrade.
    `numbered`: a sequence numbers them within a shelf, and no two may have a code.
    `decided`: what a model in them decides, see `HOMES`.
    `family`: they have parts, which go with them, and guests, which do not.
    `summed`: read models have sums over them and over events, see `totals`."""
    by_name, by_owner = shards
    name_hash_key = "hash_key" if by_name is None and decided != "identity" else "all_hash_key"

    upgrades = [note_of_remark] if tagged else []

    class Thing(Entity, token="thing", shard_bumps=list(bumps), upgrades=upgrades, **HOMES[decided]):
        """What a history writes. `number` is different in each write."""

        thing_id: str = unique_property(default_factory=MADE_UP)
        created: Timestamp = timestamp_property()
        name: str
        owner: str
        number: int
        ttl: int | None = ttl_property()

        name_range_key = RangeKey("name", "created")
        owner_hash_key = HashKey("owner", shards=by_owner)
        if decided:
            home: Home
        if by_name is not None or decided == "identity":
            all_hash_key = HashKey(shards=by_name)
        if tagged:
            tags: set[str] = Field(default_factory=set)
            place: Place | None = None
            note: str | None = None
            city_hash_key = HashKey("place.city")
            floor_range_key = RangeKey("place.floor", "created")
            tag_lookup = Lookup("tags", name="tag")
            name_list = OrderedLookup("name", within="owner", name="byName")
            sizes: dict[str, int] = Field(default_factory=dict)
            size_list = OrderedLookup("sizes", within="owner", then="number")
        if family:
            guest_ids: list[str] = Field(default_factory=list)
            listed = has_many("guest", by="guest_ids")
            seated = has_many("guest", via="thing")
        if numbered:
            shelf: str
            serial: int = 0
            code: int | None = None
            numbering = Sequence("serial", within="shelf")
            code_lookup = Unique("code")

    class Part(Entity, token="part", shard_bumps=list(bumps)):
        """What goes with its thing."""

        part_id: str = unique_property()
        created: Timestamp = timestamp_property()
        thing_id: str
        number: int

        things = Lookup("thing_id")
        thing = belongs_to(Thing, by="thing_id", enforced=True, on_delete="cascade")

    class Guest(Entity, token="guest", shard_bumps=list(bumps)):
        """What may leave its thing, and goes on without it."""

        guest_id: str = unique_property()
        created: Timestamp = timestamp_property()
        thing_id: str | None = None

        things = Lookup("thing_id")
        thing = belongs_to(Thing, by="thing_id", enforced=True, on_delete="detach")

    placed = Index("city", hash_key="city_hash_key", range_key="floor_range_key")
    written, read_models = totals_of(Thing)
    more: list[type[Entity]] = [*([Part, Guest] if family else []), *(written if summed else [])]
    return Schema(
        [Thing, *more],
        [
            *([placed] if tagged else []),
            Index("name", hash_key=name_hash_key, range_key="name_range_key"),
            Index("owner", hash_key="owner_hash_key", range_key="created"),
        ],
        read_models=read_models if summed else [],
    )
