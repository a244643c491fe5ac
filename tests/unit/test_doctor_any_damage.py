"""Any damage beside records: the doctor never fails, loses no record, and repairs what it says that it can."""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, Field

from shardweave.access import private_property
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.doctor_report import REPAIRABLE, DoctorReport
from shardweave.maintenance.fault_kinds import Severity
from shardweave.schema.declarations import Index, Lookup, OrderedLookup, Sequence, Unique, belongs_to
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.operations import DeleteItem, PutItem
from shardweave.values.codecs import Timestamp, TimestampSeconds
from tests.unit.store_world import FIRST_BUMP, START, World

BUMPS = (ShardBump(0, char_bits=2, chars=1), ShardBump(FIRST_BUMP, char_bits=2, chars=2))


class Maker(BaseModel):
    name: str
    born: dt.date | None = None


class House(Entity, token="house", shard_bumps=BUMPS):
    """In two generations, with shards of its own in two indexes."""

    house_id: str = unique_property()
    created: Timestamp = timestamp_property()
    city: str
    expires: TimestampSeconds | None = ttl_property()

    city_hash_key = HashKey("city", shards=4)
    all_hash_key = HashKey(shards=2)


class Room(Entity, token="room", partition="house_id", sort="name", shard_bumps=BUMPS[:1]):
    """Found by its house and its name."""

    house_id: str
    name: str

    house = belongs_to(House, by="house_id", enforced=True)


class Piece(Entity, token="piece", shard_by="house_id", shard_bumps=BUMPS[:1]):
    """In the shard of its house, with a lookup of each kind."""

    piece_id: str = unique_property()
    house_id: str
    num: int = 0
    maker: Maker | None = None
    tags: set[str] = Field(default_factory=set)
    aliases: list[str] = Field(default_factory=list)
    texts: dict[str, str] = Field(default_factory=dict)
    bought: dt.date | None = None
    secret: str | None = private_property(default=None)

    numbering = Sequence("num", within="house_id")
    num_lookup = Unique("num", within="house_id")
    tag_lookup = Lookup("tags", name="tag")
    alias_lookup = Unique("aliases", canonical=str.casefold)
    secret_lookup = Unique("secret")
    bought_list = OrderedLookup("bought", within="house_id", then="num")
    text_list = OrderedLookup("texts", within="house_id")
    house = belongs_to(House, by="house_id", enforced=True)

    house_hash_key = HashKey("house_id")
    bought_range_key = RangeKey("bought", "num")


class Total(Entity, token="total", singleton=True):
    pieces: int = 0


SCHEMA = Schema(
    [House, Room, Piece, Total],
    [
        Index("byCity", "city_hash_key", "created"),
        Index("all", "all_hash_key", "created"),
        Index("byHouse", "house_hash_key", "bought_range_key"),
    ],
)
GENERATED = {name for entity in SCHEMA.entities.values() for name in entity.keys.names} - {"hashKey", "rangeKey"}


def museum() -> World:
    world = World(schema=SCHEMA)
    for house in range(3):
        world.clock.now = FIRST_BUMP + 5 if house == 2 else START
        world.store.create({"houseId": f"h{house}", "city": f"{house}|x#!"}, House)
        world.store.create({"houseId": f"h{house}", "name": "r/1 é"}, Room)
        for number in range(3):
            piece = {
                "pieceId": f"h{house}p{number}",
                "houseId": f"h{house}",
                "secret": f"s{house}{number}",
                "maker": {"name": "Ann"},
                "tags": {f"t{number}", "all"},
                "texts": {"team": "x", "größe": "ä"},
                "aliases": [f"A{house}-{number}", f"B{house}-{number}"],
                "bought": dt.date(2026, 1, 1 + number),
            }
            world.store.create(piece, Piece)
    world.store.put({"pieces": 3}, Total)
    return world


def items(world: World) -> list[dict[str, Any]]:
    return [item for item in world.items() if not item["hashKey"].startswith("_")]


def said_by_records(world: World) -> dict[Any, Any]:
    """What each record says, without its revision."""
    found = {}
    for item in items(world):
        entity = SCHEMA.entity_of_key(item["hashKey"])
        if entity is not None:
            values = {name: value for name, value in entity.visible(item).items() if name != "rev"}
            found[(item["hashKey"], item["rangeKey"])] = values
    return found


def removed(world: World, item: dict[str, Any], drawn: random.Random) -> None:
    world.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))


def without_an_attribute(world: World, item: dict[str, Any], drawn: random.Random) -> None:
    names = sorted(item.keys() - {"hashKey", "rangeKey"})
    lacking = drawn.choice(names) if names else ""
    world.inner.run(PutItem({name: value for name, value in item.items() if name != lacking}))


def with_another_value(world: World, item: dict[str, Any], drawn: random.Random) -> None:
    name = drawn.choice(sorted(item.keys() - {"hashKey", "rangeKey"}) or ["more"])
    world.inner.run(PutItem({**item, name: drawn.choice([0, -1, "x", None, True, [], {"a": 1}, b"x"])}))


def at_another_key(world: World, item: dict[str, Any], drawn: random.Random) -> None:
    name = drawn.choice(["hashKey", "rangeKey"])
    world.inner.run(PutItem({**item, name: item[name] + "x"}))


def with_stale_keys(world: World, item: dict[str, Any], drawn: random.Random) -> None:
    names = sorted(item.keys() & GENERATED)
    damaged = dict(item)
    for name in drawn.sample(names, min(1, len(names))):
        damaged[name] += "x"
        if drawn.random() < 0.5:
            del damaged[name]
    world.inner.run(PutItem(damaged))


BESIDE = [removed, without_an_attribute, with_another_value, at_another_key]
"""What is done to what is no record."""


def examined(world: World, *, repair: bool = False) -> DoctorReport:
    return Doctor(world.new_store(world.inner).parts, world.clock, repair=repair).run()


def test_any_damage_beside_records_is_found_and_repaired_or_left_to_a_person() -> None:
    done: Counter[Callable[..., None]] = Counter()
    kinds: Counter[str] = Counter()
    for seed in range(25):
        drawn, world = random.Random(seed), museum()
        before = said_by_records(world)
        for _ in range(drawn.randrange(1, 5)):
            item = drawn.choice(items(world))
            is_record = SCHEMA.entity_of_key(item["hashKey"]) is not None
            damage = with_stale_keys if is_record else drawn.choice(BESIDE)
            damage(world, item, drawn)
            done[damage] += 1
        kinds.update(examined(world).findings.counts.keys())
        for _ in range(3):
            examined(world, repair=True)
        last = examined(world)
        assert last.code != REPAIRABLE, (seed, last.document()["named"])
        assert last.findings.left(Severity.REPAIRABLE) == 0, seed
        assert said_by_records(world) == before, seed
    assert all(done[each] >= 3 for each in (*BESIDE, with_stale_keys)), done
    assert all(kinds[each] for each in ("lookup_missing", "lookup_damaged", "lookup_dangling", "counter_wrong")), kinds
