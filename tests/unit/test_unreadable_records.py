"""Damaged records, whatever was damaged: each is told once, in its place, with its key and what is wrong; everything
else is answered as without it, and it can be mended."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from enum import StrEnum
from typing import Any

import pytest
from pydantic import Field, computed_field

from shardweave.errors import RecordUnreadable, Unreadable
from shardweave.keys.sharding import ShardBump
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import MAX_UNREADABLE, BranchSpec, Equal, OneOf, Page, Prefix, QuerySpec
from shardweave.schema.declarations import Index, Lookup, Unique, belongs_to
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.schema.shard_maps import StaticMaps
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem, Scan
from shardweave.values.codecs import Timestamp
from tests.unit.query_world import DAY, KEYS, NOW

SECRET = "sesame"


class State(StrEnum):
    NEW = "new"
    OLD = "old"


class Shop(
    Entity,
    token="shop",
    shard_bumps=[ShardBump(0, char_bits=1, chars=1), ShardBump(NOW - DAY, char_bits=1, chars=2)],
):
    shop_id: str = unique_property()
    created: Timestamp = timestamp_property()
    city: str
    name: str = ""
    state: State = State.NEW
    size: int | list[int] = 1
    code: str = Field(default="ok", max_length=4)
    phone: str | None = None
    owner_id: str | None = None
    expires: int | None = ttl_property()

    city_hash_key = HashKey("city")
    name_range_key = RangeKey("name")

    phones = Unique("phone")
    owners = Lookup("owner_id")
    owner = belongs_to("shop", by="owner_id")
    owned = belongs_to("shop", by="city", on="city", index="byName")

    @computed_field  # type: ignore[prop-decorator]
    @property
    def half(self) -> int:
        return 7 // (0 if self.name == "zero" else 2)


class Stall(Entity, token="stall"):
    stall_id: str = unique_property()
    city: str

    city_hash_key = HashKey("city")


SCHEMA = Schema(
    [Shop, Stall],
    [
        Index("byName", "city_hash_key", "name_range_key"),
        Index("names", "city_hash_key", "name", entities=(Shop,), projection=("state",)),
        Index("byTime", "city_hash_key", "created", entities=(Shop,), projection="KEYS_ONLY"),
    ],
)
SHOP = SCHEMA[Shop]

DAMAGE: dict[str, tuple[dict[str, Any], str]] = {
    "an attribute is missing": ({"city": None}, "invalid"),
    "an attribute is of another type": ({"size": [SECRET]}, "invalid"),
    "a member that the Enum does not have": ({"state": SECRET}, "invalid"),
    "a text that is too long": ({"code": SECRET}, "invalid"),
    "a revision that is no text": ({"rev": 7}, "wrong_revision"),
    "a TTL that is no number": ({"expires": SECRET}, "invalid"),
    "the properties of another record": ({"shopId": SECRET}, "wrong_key"),
    "a range key that nothing decodes": ({"rangeKey": SECRET}, "wrong_key"),
    "a hash key of another entity": ({"hashKey": "stall!0"}, "another_entity"),
    "a hash key of nobody": ({"hashKey": SECRET}, "another_entity"),
}


UNDER_ITS_KEY = [kind for kind, (change, _) in DAMAGE.items() if not {"hashKey", "rangeKey"} & change.keys()]
"""Kinds of damage of an item that is still found by the record's key."""


class World:
    """Shops of one city in the order of their names, and a table into which other programs write."""

    def __init__(self) -> None:
        self.table = EmbeddedTable(SCHEMA.layout)
        self.store = Store(SCHEMA, self.table, maps=StaticMaps(), clock=lambda: NOW, first=self._first)
        self.queries = QueryRunner(SCHEMA, self.table, KEYS, maps=StaticMaps(), clock=lambda: NOW, throttle=1)

    def _first(self, spec: QuerySpec) -> Any:
        return self.queries.first(spec)

    def add(self, shop_id: str, **values: Any) -> None:
        age = 0 if int(shop_id[1:]) % 2 else 2 * DAY
        given = {"shop_id": shop_id, "created": NOW - age, "city": "Bath", "name": shop_id, **values}
        self.store.create(given, Shop)

    def damage(self, shop_id: str, change: dict[str, Any]) -> None:
        """Put an item in place of a shop's, as another program may: of another key where the change has one."""
        (item,) = [each for each in self.items() if each.get("shopId") == shop_id and "name" in each]
        changed = {name: value for name, value in {**item, **change}.items() if value is not None}
        if (changed["hashKey"], changed["rangeKey"]) != (item["hashKey"], item["rangeKey"]):
            self.store.delete(Shop, shop_id)
        self.table.run(PutItem(changed))

    def items(self) -> list[dict[str, Any]]:
        return [dict(item) for item in self.table.run(Scan(consistent=True)).items]

    def pages(self, spec: QuerySpec) -> Iterator[Page]:
        while True:
            page = self.queries.run(spec)
            yield page
            if page.cursor is None:
                return
            spec = replace(spec, cursor=page.cursor)

    def walked(self, spec: QuerySpec) -> list[tuple[str, str]]:
        """What the pages give and tell, in order: (id, code), without a code where it is given."""
        found: list[tuple[str, str]] = []
        for page in self.pages(spec):
            assert len(page.items) <= spec.limit
            assert page.cursor is None or not page.complete or len(page.items) == spec.limit
            for position, item in enumerate((*page.items, None)):
                told = [each for each in page.unreadable if each.position == position]
                found += [(each.key.get("shopId", ""), each.code) for each in told]
                found += [] if item is None else [(item["shopId"] if isinstance(item, dict) else item.shop_id, "")]
        return found


@pytest.fixture
def world() -> World:
    return World()


def by_name(**more: Any) -> QuerySpec:
    return QuerySpec("shop", {"city": Equal("Bath")}, "byName", **more)


SHAPES: tuple[dict[str, Any], ...] = (
    {"index": "byName"},
    {"index": "names", "hydrate": True},
    {"index": "byTime", "hydrate": True},
    {"index": "byName", "budget": 1},
    {"index": "byName", "conditions": {"city": OneOf(("Bath", "York"))}},
    {"branches": (BranchSpec({"city": Equal("Bath"), "name": Prefix("s")}, "byName"),
                  BranchSpec({"city": Equal("Bath"), "name": Prefix("s0")}, "byName"))},
)  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_each_kind_is_told_once_in_its_place_and_the_walk_goes_on(world: World, kind: str) -> None:
    change, code = DAMAGE[kind]
    for number in range(9):
        world.add(f"s{number:02}")
    world.damage("s04", change)
    names = ["" if code == "another_entity" or "rangeKey" in change else "s04"]
    for shape, limit, reverse in itertools.product(SHAPES, (1, 2, 3, 8, 100), (False, True)):
        if {"hashKey", "rangeKey"} & change.keys() and shape.get("hydrate"):
            continue  # what lies under the item's key is no record of the index
        spec = QuerySpec("shop", **{"conditions": {} if "branches" in shape else {"city": Equal("Bath")}, **shape})
        found = world.walked(replace(spec, limit=limit, reverse=reverse))
        expected = [(f"s{number:02}", "") if number != 4 else (names[0], code) for number in range(9)]
        if shape.get("index") == "byTime":
            assert sorted(found) == sorted(expected)
        else:
            assert found == (expected[::-1] if reverse else expected), (shape, limit, reverse)
        assert world.queries.count(replace(spec, limit=100)).count == 9


@pytest.mark.parametrize("kind", UNDER_ITS_KEY)
def test_alone_it_is_an_error_of_its_own_that_says_nothing_of_what_is_stored(world: World, kind: str) -> None:
    change, code = DAMAGE[kind]
    world.add("s1", phone="1", owner_id="o")
    world.add("s3")
    world.damage("s1", change)
    for read in (
        lambda: world.store.get(Shop, "s1"),
        lambda: world.store.get_by(Shop, "phone", "1"),
        lambda: world.store.update(Shop, "s1", lambda shop: {"name": shop.name + "x"}),
        lambda: world.store.batch_get(Shop, ["s3", "s1"]),
    ):
        with pytest.raises(RecordUnreadable) as failure:
            read()
        assert (failure.value.record.entity, failure.value.record.code) == ("shop", code)
        assert failure.value.record.key == {"shopId": "s1"}
        assert SECRET not in str(failure.value) + repr(failure.value.record)
    told: list[Unreadable] = []
    found = world.store.batch_get(Shop, ["s3", "s1"], unreadable=told.append)
    assert (found[0] is not None, found[1], [each.position for each in told]) == (True, None, [1])
    page = world.store.find_by(Shop, "ownerId", "o")
    assert (page.items, [(each.key, each.position) for each in page.unreadable]) == ((), [({"shopId": "s1"}, 0)])
    related = world.store.expand([Shop(shop_id="x", city="York", owner_id="s1")], "owner")
    assert isinstance(related[0]["owner"], Unreadable)


@pytest.mark.parametrize("mend", ["put", "delete"])
@pytest.mark.parametrize("kind", UNDER_ITS_KEY)
def test_it_can_be_mended(world: World, kind: str, mend: str) -> None:
    world.add("s1", phone="1", owner_id="o")
    world.damage("s1", DAMAGE[kind][0] if kind != "a revision that is no text" else {"rev": None, "state": SECRET})
    if mend == "put":
        assert world.store.put(Shop(shop_id="s1", created=NOW, city="Bath", name="s1", phone="1")).phone == "1"
        assert world.store.get(Shop, "s1") is not None
    else:
        assert world.store.delete(Shop, "s1")
        assert world.store.get(Shop, "s1") is None


def test_where_records_are_given_one_by_one_it_is_raised_in_its_place(world: World) -> None:
    for number in range(3):
        world.add(f"s{number}")
    world.damage("s1", {"state": SECRET})
    records = world.queries.records(by_name())
    assert next(records).shop_id == "s0"
    with pytest.raises(RecordUnreadable):
        next(records)
    assert world.queries.first(by_name()).shop_id == "s0"
    with pytest.raises(RecordUnreadable):
        world.queries.first(by_name(filter=None, cursor=world.queries.run(by_name(limit=1)).cursor))
    assert world.queries.exists(by_name())
    owned = world.store.expand([Shop(shop_id="x", city="Bath")], "owned")
    assert isinstance(owned[0]["owned"], Shop)


def test_a_page_tells_a_hundred_at_most(world: World) -> None:
    for number in range(MAX_UNREADABLE + 30):
        world.add(f"s{number:03}")
        if number not in (3, 110):
            world.damage(f"s{number:03}", {"state": SECRET})
    pages = list(world.pages(by_name(limit=10)))
    assert [(len(page.items), len(page.unreadable), page.stats.cut_by) for page in pages] == [
        (1, MAX_UNREADABLE, "unreadable"),
        (1, 28, ""),
    ]
    found = world.walked(by_name(limit=10))
    assert [name for name, _ in found] == [f"s{number:03}" for number in range(MAX_UNREADABLE + 30)]


def test_whoever_sees_some_records_alone_meets_none(world: World) -> None:
    for number in range(5):
        world.add(f"s{number}", owner_id="o", phone=str(number))
    world.damage("s2", {"state": SECRET})
    visibility: Any = {"visibility": lambda item: True}
    page = world.queries.run(by_name(tells_unreadable=False, **visibility))
    assert ([each.shop_id for each in page.items], page.unreadable) == (["s0", "s1", "s3", "s4"], ())
    assert [each.key for each in page.stats.unreadable] == [{"shopId": "s2"}], "who runs the service is told"
    assert world.store.get(Shop, "s2", **visibility) is None
    assert world.store.batch_get(Shop, ["s2"], **visibility) == [None]
    page_of_owner = world.store.find_by(Shop, "ownerId", "o", **visibility)
    assert ([each.shop_id for each in page_of_owner.items], page_of_owner.unreadable) == (["s0", "s1", "s3", "s4"], ())
    assert world.store.find_by(Shop, "phone", "2", **visibility).unreadable == ()


def test_a_damaged_lookup_record_is_told_where_it_leads(world: World) -> None:
    world.add("s1", phone="1", owner_id="o")
    for lookup in [each for each in world.items() if "_owner" in each]:
        world.table.run(PutItem({**lookup, "_owner": SECRET}))
    with pytest.raises(RecordUnreadable) as failure:
        world.store.get_by(Shop, "phone", "1")
    assert failure.value.record.code == "lookup_damaged"
    assert SECRET not in str(failure.value)
    (found,) = world.store.find_by(Shop, "ownerId", "o").items
    assert found.shop_id == "s1", "a lookup of many says by its key whose it is"


def test_walks_by_a_lookup_go_on_whatever_the_limit(world: World) -> None:
    for number in range(12):
        world.add(f"s{number:02}", owner_id="o")
        if number % 3 == 1:
            world.damage(f"s{number:02}", {"state": SECRET})
    for limit in (1, 2, 3, 8, 100):
        found: list[str] = []
        after = None
        while True:
            page = world.store.find_by(Shop, "ownerId", "o", limit=limit, after=after)
            for position, item in enumerate((*page.items, None)):
                found += [each.key["shopId"] for each in page.unreadable if each.position == position]
                found += [] if item is None else [item.shop_id]
            after = page.after
            if after is None:
                break
        assert found == [f"s{number:02}" for number in range(12)], limit
