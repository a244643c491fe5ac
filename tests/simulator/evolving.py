"""What evolves in a history: an entity under an old and a new declaration, and what an operator does with it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

from pydantic import BaseModel

from shardweave.keys.key_format import ORDERED, KeyFormat, string_hash
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, OrderedLookup, Unique, belongs_to
from shardweave.schema.declarations import Sequence as Numbers
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.old_mapping import forms_given
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp
from tests.simulator.things import MADE_UP

OLD, NEW = "thing", "thing2"
PLAIN, EXPIRING, FAMILY = "plain", "expiring", "family"
SHAPES = (PLAIN, EXPIRING, FAMILY)
"""Records that only are there; that expire; and that belong to boxes, by an enforced relation."""
FINISH, BACK = ("start", "run", "switch", "run", "finish", "run"), ("start", "run", "switch", "back")
PLOTS = {
    "finished": FINISH,
    "back and finished": (*BACK, "run", *FINISH[2:]),
    "taken back": (*BACK, "abort", "run"),
    "taken back early": ("start", "run", "abort", "run"),
    "taken back and finished": (*BACK, "abort", "run", *FINISH),
    "from another table": ("start", "run", "finish", "run"),
    "from another table, taken back": ("start", "run", "abort", "run"),
    "from another table, at the second try": ("start", "run", "abort", "run", "start", "run", "finish", "run"),
}
"""What an operator does."""
ELSEWHERE = "from another table"
"""How the names of those begin in which the old items are in a table of their own."""
STATES = {"start": "follow", "switch": "dual", "back": "follow", "finish": "finish", "abort": "undo"}
PARTITIONED = {"partition": "owner", "sort": "thing_id"}
BY_MEMBER = {"partition": "home.owner", "sort": "thing_id"}


@dataclass(frozen=True)
class Row:
    """What changes: the options of both declarations, and the key format of the new one."""

    old: dict[str, Any]
    new: dict[str, Any]
    key_format: KeyFormat = ORDERED


ROWS = {
    "token": Row({}, {}),
    "shard_by": Row({}, {"shard_by": "owner"}),
    "partition and sort": Row({}, PARTITIONED),
    "back to the id": Row(PARTITIONED, {"shard_by": "owner"}),
    "hash": Row({}, {}, KeyFormat("ordered", hash=string_hash)),
    "delimiters": Row({}, {}, KeyFormat("other", "~", "=", " ;")),
    "elements of a key": Row({}, {"elements": ("number", "name")}),
    "shard_by a member": Row({}, {"shard_by": "home.owner"}),
    "to a member": Row(PARTITIONED, {**BY_MEMBER, "shard_by": "owner"}),
    "back from a member": Row(BY_MEMBER, {**PARTITIONED, "shard_by": "home.owner"}),
}


BOXES = ("box-0", "box-1", "box-2")


class Box(Entity, token="box"):
    """What things belong to, which does not evolve."""

    box_id: str = unique_property()


class Home(BaseModel):
    """Whose a record is, as a member of a model, and what may change beside it."""

    owner: str
    floor: int = 0


def thing_class(
    token: str,
    bumps: tuple[ShardBump, ...],
    *,
    elements: tuple[str, ...] = ("name", "created"),
    owned: bool,
    homely: bool = False,
    shape: str,
    **options: Any,
) -> type[Entity]:
    """A declaration of what a history writes. `owned`: records have lookups, a unique value, and a number. `homely`:
    they have a model. `shape` is one of `SHAPES`."""

    class Thing(Entity, token=token, shard_bumps=list(bumps), **options):
        """`number` is different in each write."""

        thing_id: str = unique_property(default_factory=MADE_UP)
        created: Timestamp = timestamp_property()
        name: str
        owner: str
        number: int
        if homely:
            home: Home

        owner_hash_key = HashKey("owner")
        place_range_key = RangeKey(*elements)
        if owned:
            code: str | None = None
            num: int | None = None
            codes = Unique("code")
            names = Lookup("name")
            places = OrderedLookup("name", within="owner", name="byName")
            numbers = Numbers("num", within="owner")
        if shape == EXPIRING:
            ttl: int | None = ttl_property()
        if shape == FAMILY:
            box_id: str | None = None
            box = belongs_to(Box, by="box_id", enforced=True)

    return Thing


@cache
def schemas(row: str, bumps: tuple[ShardBump, ...], *, owned: bool, shape: str) -> tuple[Schema, Schema, Any]:
    """The schema of old programs, that of new ones, and what those know of the old form."""
    chosen = ROWS[row]
    own: dict[str, Any] = {"owned": owned, "homely": "home.owner" in repr(chosen), "shape": shape}
    old, new = (
        thing_class(token, bumps, **own, **options) for token, options in ((OLD, chosen.old), (NEW, chosen.new))
    )
    indexes = [Index("place", hash_key="owner_hash_key", range_key="place_range_key")]
    if shape == FAMILY:
        both = Schema([old, new, Box], indexes)
        return Schema([old, Box], indexes), both, forms_given(both, {NEW: OLD})
    earlier = Schema([old], indexes)
    schema = Schema([new], indexes, key_format=chosen.key_format)
    return earlier, schema, forms_given(schema, {NEW: earlier[OLD]})
