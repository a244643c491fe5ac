"""Pages put together are the sorted answer: each record once, every page but the last exactly full."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from services import user_service
from services.user_service import User
from shardweave.errors import (
    CursorExpired,
    CursorMismatch,
    InvalidCursor,
    LimitExceeded,
    UnknownName,
    UnsupportedQuery,
)
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Constraint, Equal, Page, Prefix, QuerySpec, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.entity_type import EntityType
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import DeleteItem, PutItem
from shardweave.values.codecs import Timestamp

KEYS = CursorKeys("k", {"k": b"k" * 32})
DAY = 86_400_000
NOW = 1_730_000_000_000


class Clock:
    """A clock that tests set."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class World:
    """A schema over an embedded table, filled directly."""

    def __init__(self, schema: Schema, clock: Clock | None = None) -> None:
        self.schema = schema
        self.clock = clock or Clock()
        self.table = EmbeddedTable(schema.layout)
        self.runner = QueryRunner(schema, self.table, KEYS, clock=self.clock)

    def add(self, entity: EntityType[Any], **values: Any) -> dict[str, Any]:
        item = entity.complete(entity.dump(entity.validate(values)))
        self.table.run(PutItem(item))
        return item

    def remove(self, entity: EntityType[Any], item: Mapping[str, Any]) -> None:
        self.table.run(DeleteItem(entity.make_key(item)))

    def pages(self, between: Callable[[Page], None] | None = None, **spec: Any) -> Iterator[Page]:
        cursor = None
        while True:
            page = self.runner.run(QuerySpec(cursor=cursor, **spec))
            assert len(page.items) == spec["limit"] if page.cursor else len(page.items) <= spec["limit"]
            yield page
            if page.cursor is None:
                return
            cursor = page.cursor
            if between is not None:
                between(page)

    def close(self) -> None:
        self.runner.close()
        self.table.close()


def thing_schema(bumps: list[ShardBump]) -> Schema:
    class Thing(Entity, token="thing", shard_bumps=bumps):
        thing_id: str = unique_property(default_factory=nanoid)
        created: Timestamp = timestamp_property()
        name: str
        rank: int | None = None
        expires: int | None = ttl_property()

        group_hash_key = HashKey("name")
        name_range_key = RangeKey("name", "created")
        time_range_key = RangeKey("created", "name")

    return Schema(
        [Thing],
        [
            Index("name", "hash_key", "name_range_key"),
            Index("rank", "hash_key", "rank"),
            Index("created", "hash_key", "created"),
            Index("time", "hash_key", "time_range_key"),
            Index("grouped", "group_hash_key", "created"),
            Index("keys", "hash_key", "name", projection="KEYS_ONLY"),
        ],
    )


def usable_bumps(parts: list[int]) -> list[ShardBump]:
    """Generations of growing width: 1 to 64 shards each."""
    bumps = []
    for place, bits in enumerate(parts):
        chars = place + 1
        bumps.append(ShardBump(0 if place == 0 else NOW - (4 - place) * DAY, max(1, bits // chars), chars))
    return bumps


@settings(max_examples=40)
@given(
    bits=st.lists(st.integers(1, 5), max_size=3),
    rows=st.lists(
        st.tuples(st.sampled_from(["a", "b", "ann", "anna", "é"]), st.none() | st.integers(-2, 2), st.integers(0, 5)),
        max_size=60,
    ),
    limit=st.integers(1, 25),
    reverse=st.booleans(),
    index=st.sampled_from(["name", "rank", "created", "time", "keys", None]),
)
def test_pages_are_the_sorted_answer(
    bits: list[int], rows: list[tuple[str, int | None, int]], limit: int, reverse: bool, index: str | None
) -> None:
    world = World(thing_schema(usable_bumps(bits)))
    thing = world.schema.entity("thing")
    items = [
        world.add(thing, thingId=f"t{place}", created=NOW - days * DAY, name=name, rank=rank)
        for place, (name, rank, days) in enumerate(rows)
    ]
    view = thing.view(index)
    expected = sorted(
        (item for item in items if view.range_name in item),
        key=lambda item: (item[view.range_name], item[view.hash_name]),
        reverse=reverse,
    )
    pages = list(world.pages(entity="thing", index=index, limit=limit, reverse=reverse))
    found = [stored(thing, each) for page in pages for each in page.items]
    place = [(item.get(view.range_name), item["hashKey"]) if view.projected is None else item["name"] for item in found]
    wanted = [(item[view.range_name], item["hashKey"]) if view.projected is None else item["name"] for item in expected]
    assert place == wanted
    ids = [item["thingId"] for item in found] if view.projected is None else []
    assert len(set(ids)) == len(ids)
    assert len(pages) == max(1, -(-len(expected) // limit))
    world.close()


def stored(entity: EntityType[Any], each: Any) -> Mapping[str, Any]:
    return each if isinstance(each, Mapping) else entity.complete(entity.dump(each))


@settings(max_examples=40)
@given(seed=st.integers(0, 10**6), limit=st.integers(1, 7), reverse=st.booleans(), shards=st.sampled_from([1, 4, 16]))
def test_under_writes_an_unchanged_record_is_returned_exactly_once(
    seed: int, limit: int, reverse: bool, shards: int
) -> None:
    """Between pages records come, go and move, the cursor's own among them."""
    chooser = random.Random(seed)
    bits = {1: [], 4: [2], 16: [4]}[shards]
    world = World(thing_schema(usable_bumps(bits)))
    thing = world.schema.entity("thing")
    names = ["a", "ann", "anna", "b"]
    stable = {
        f"s{n}": world.add(thing, thingId=f"s{n}", created=NOW - n % 3, name=chooser.choice(names)) for n in range(25)
    }
    moving = {
        f"m{n}": world.add(thing, thingId=f"m{n}", created=NOW - n, name=chooser.choice(names)) for n in range(25)
    }

    def write(page: Page) -> None:
        last = page.items[-1].thing_id
        for key in [last, *chooser.sample(sorted(moving), min(3, len(moving)))]:
            if key in moving and chooser.random() < 0.5:
                world.remove(thing, moving.pop(key))
            elif key in moving:
                world.add(thing, thingId=key, created=moving[key]["created"], name=chooser.choice(names))
        world.add(thing, thingId=f"new{chooser.random()}", created=NOW, name=chooser.choice(names))

    found = [
        each.thing_id
        for page in world.pages(write, entity="thing", index="name", limit=limit, reverse=reverse)
        for each in page.items
    ]
    assert sorted(key for key in found if key in stable) == sorted(stable)
    order = [(stable[key]["nameRangeKey"], stable[key]["hashKey"]) for key in found if key in stable]
    assert order == sorted(order, reverse=reverse)
    world.close()


@pytest.fixture
def users() -> Iterator[World]:
    world = World(user_service.schema())
    yield world
    world.close()


def fill_users(world: World, count: int) -> list[dict[str, Any]]:
    chooser = random.Random(7)
    return [
        world.add(
            world.schema[User],
            userId=f"user-{n:06d}",
            created=NOW - n,
            updated=NOW - n,
            beneficiaryId=f"b{n % 5}",
            firstName=chooser.choice(["Ann", "Anna", "Jo", "John", "Li"]),
            lastName=chooser.choice(["Smith", "Wu"]),
        )
        for n in range(count)
    ]


def test_120_users_on_4_shards_are_12_pages(users: World) -> None:
    fill_users(users, 120)
    for index in ("firstName", "created", None):
        pages = list(users.pages(entity="user", index=index, limit=10))
        assert [len(page.items) for page in pages] == [10] * 12
        assert pages[-1].cursor is None


def test_no_cursor_when_nothing_is_left(users: World) -> None:
    fill_users(users, 10)
    assert users.runner.run(QuerySpec("user", limit=10)).cursor is None
    assert users.runner.run(QuerySpec("user", limit=9)).cursor is not None
    page = users.runner.run(QuerySpec("email", limit=9))
    assert (page.items, page.cursor, page.stats.requests) == ((), None, 1)


@pytest.mark.parametrize("bits", [[], [1], [2], [4], [5], [3, 3]])
def test_the_token_is_as_long_for_one_shard_as_for_many(bits: list[int]) -> None:
    lengths = {}
    for name, shards in (("one", []), ("many", bits)):
        world = World(thing_schema(usable_bumps(shards)))
        thing = world.schema.entity("thing")
        for n in range(5):
            world.add(thing, thingId=f"t{n}", created=NOW, name="ann")
        cursor = world.runner.run(QuerySpec("thing", index="name", limit=3)).cursor
        assert cursor is not None
        lengths[name] = len(cursor)
        world.close()
    assert abs(lengths["one"] - lengths["many"]) <= 16
    assert lengths["many"] <= 200 + 4 / 3 * len("thing!00nameRangeKeyname#ann |created#1730000000000thingId#t1")


def test_a_cursor_is_bound_to_its_query(users: World) -> None:
    fill_users(users, 30)
    base: dict[str, Any] = {"entity": "user", "index": "firstName", "limit": 5}
    cursor = users.runner.run(QuerySpec(**base)).cursor
    assert users.runner.run(QuerySpec(**base | {"limit": 7}, cursor=cursor)).items
    others: list[dict[str, Any]] = [
        {"index": "lastName"},
        {"entity": "email", "index": "created"},
        {"reverse": True},
        {"conditions": {"firstNameCanonical": Prefix("a")}},
        {"scope": "another tenant"},
        {"earliest": 1_000_000_000_000},
    ]
    for other in others:
        with pytest.raises(CursorMismatch):
            users.runner.run(QuerySpec(**base | other, cursor=cursor))
    with pytest.raises(InvalidCursor):
        users.runner.run(QuerySpec(**base, cursor="x" + (cursor or "")[1:]))


def test_a_walk_s_life_is_never_extended(users: World) -> None:
    fill_users(users, 30)
    cursor = None
    for hours in (0, 10, 20):
        users.clock.now = NOW + hours * 3_600_000
        cursor = users.runner.run(QuerySpec("user", index="created", limit=5, cursor=cursor)).cursor
    users.clock.now = NOW + 25 * 3_600_000
    with pytest.raises(CursorExpired):
        users.runner.run(QuerySpec("user", index="created", limit=5, cursor=cursor))


def test_a_bump_between_two_pages_keeps_the_walk() -> None:
    bumps = [ShardBump(0, 2, 1), ShardBump(NOW + 2 * DAY, 2, 2)]
    world = World(thing_schema(bumps))
    thing = world.schema.entity("thing")
    before = [world.add(thing, thingId=f"t{n}", created=NOW - n, name=f"n{n:02d}") for n in range(20)]
    after: list[dict[str, Any]] = []

    def begin(page: Page) -> None:
        world.clock.now = NOW + 2 * DAY
        if not after:
            after.extend(world.add(thing, thingId=f"x{n}", created=NOW + 2 * DAY, name=f"n{n:02d}x") for n in range(20))

    world.runner = QueryRunner(world.schema, world.table, KEYS, clock=world.clock, cursor_life_ms=9 * DAY)
    found = [each.thing_id for page in world.pages(begin, entity="thing", index="name", limit=6) for each in page.items]
    assert [key for key in found if key.startswith("t")] == [item["thingId"] for item in before]
    assert [key for key in found if key.startswith("x")] == [item["thingId"] for item in after if item["name"] > "n05"]
    world.close()


def test_generations_of_a_time_ordered_index_are_read_one_after_another() -> None:
    bumps = [ShardBump(0, 1, 1), ShardBump(NOW - 2 * DAY, 1, 2), ShardBump(NOW - DAY, 1, 3)]
    world = World(thing_schema(bumps))
    thing = world.schema.entity("thing")
    for n in range(60):
        world.add(thing, thingId=f"t{n:02d}", created=NOW - n * DAY // 20, name="x")
    plan = world.runner.plan(QuerySpec("thing", index="created", reverse=True))
    assert [len({lane.generation for lane in plan.lanes if lane.stage == stage}) for stage in range(3)] == [1, 1, 1]
    pages = list(world.pages(entity="thing", index="created", limit=5, reverse=True))
    assert [page.stats.requests <= 8 for page in pages[:3]] == [True, True, True], "the newest generation has 8 lanes"
    assert [each.thing_id for page in pages for each in page.items] == [f"t{n:02d}" for n in range(60)]
    world.close()


def test_pruning_reads_only_the_generations_that_can_hold_an_answer() -> None:
    bumps = [ShardBump(0, 2, 1), ShardBump(NOW - DAY, 2, 2)]
    world = World(thing_schema(bumps))
    plans = {
        "everything": QuerySpec("thing", index="name"),
        "old": QuerySpec("thing", index="name", latest=NOW - DAY - 1),
        "new": QuerySpec("thing", index="name", earliest=NOW - DAY),
        "old by condition": QuerySpec("thing", index="created", conditions={"created": Range(None, NOW - DAY - 1)}),
        "one moment": QuerySpec("thing", conditions={"created": Equal(NOW)}),
        "one record": QuerySpec("thing", conditions={"thingId": Equal("t")}),
    }
    lanes = {name: len(world.runner.plan(spec).lanes) for name, spec in plans.items()}
    assert lanes == {"everything": 20, "old": 4, "new": 16, "old by condition": 4, "one moment": 16, "one record": 2}
    world.close()


def test_a_time_window_is_exact() -> None:
    world = World(thing_schema([ShardBump(0, 2, 1)]))
    thing = world.schema.entity("thing")
    for n in range(30):
        world.add(thing, thingId=f"t{n:02d}", created=NOW - n, name="x")
    pages = world.pages(entity="thing", index="name", limit=4, earliest=NOW - 20, latest=NOW - 10)
    assert {each.thing_id for page in pages for each in page.items} == {f"t{n}" for n in range(10, 21)}
    with pytest.raises(UnsupportedQuery, match="does not project created"):
        world.runner.run(QuerySpec("thing", index="keys", earliest=NOW))
    world.close()


def test_expired_records_are_hidden_and_pages_stay_full() -> None:
    world = World(thing_schema([ShardBump(0, 2, 1)]))
    thing = world.schema.entity("thing")
    for n in range(60):
        world.add(thing, thingId=f"t{n:02d}", created=NOW, name=f"n{n:02d}", expires=NOW // 1000 + (5 if n % 3 else -5))
    pages = list(world.pages(entity="thing", index="name", limit=10))
    assert [each.thing_id for page in pages for each in page.items] == [f"t{n:02d}" for n in range(60) if n % 3]
    keys = list(world.pages(entity="thing", index="keys", limit=10))
    assert sum(len(page.items) for page in keys) == 40, "the TTL is projected everywhere"
    world.close()


def test_the_planner_chooses_the_index_that_uses_the_conditions(users: World) -> None:
    cases: list[tuple[dict[str, Constraint], str | None]] = [
        ({}, None),
        ({"userId": Equal("u")}, None),
        ({"beneficiaryId": Equal("b")}, "userBeneficiaryCreated"),
        ({"beneficiaryId": Equal("b"), "lastNameCanonical": Prefix("w")}, "userBeneficiaryLastName"),
        ({"firstNameCanonical": Prefix("ja")}, "firstName"),
        ({"lastNameCanonical": Equal("wu"), "firstNameCanonical": Prefix("ja")}, "lastName"),
        ({"phone": Prefix("177")}, "phone"),
        ({"created": Range(NOW)}, "created"),
        ({"userId": Equal("u"), "created": Range(NOW)}, "userCreated"),
        ({"first_name_canonical": Equal("x")}, "firstName"),
    ]
    for conditions, index in cases:
        assert users.runner.plan(QuerySpec("user", conditions)).branches[0].view.index == index, conditions


def test_what_can_not_be_answered_says_why_and_what_can(users: World) -> None:
    refused: list[tuple[dict[str, Any], type[Exception], str]] = [
        ({"limit": 0}, LimitExceeded, "1 to 500"),
        ({"limit": 501}, LimitExceeded, "1 to 500"),
        ({"index": "nope"}, UnknownName, "userBeneficiaryPhone"),
        ({"entity": "nope"}, UnknownName, "user, email"),
        ({"conditions": {"nope": Equal(1)}}, UnknownName, "firstNameCanonical"),
        ({"conditions": {"firstName": Equal("Jo")}}, UnsupportedQuery, "firstName: firstNameCanonical"),
        ({"conditions": {"phone": Equal("1"), "created": Range(NOW)}}, UnsupportedQuery, "no index"),
        ({"conditions": {"phone": Equal("1")}, "index": "firstName"}, UnsupportedQuery, "does not use phone"),
        ({"conditions": {}, "index": "userCreated"}, UnsupportedQuery, "needs userId to be fixed"),
        ({"consistent": True, "index": "phone"}, UnsupportedQuery, "can't be read consistently"),
        ({"consistent": True, "conditions": {"phone": Equal("1")}}, UnsupportedQuery, "can't be read consistently"),
        (
            {"conditions": {"firstNameCanonical": Range("b"), "lastNameCanonical": Prefix("x")}},
            UnsupportedQuery,
            "no index",
        ),
    ]
    for spec, error, text in refused:
        with pytest.raises(error, match=text):
            users.runner.run(QuerySpec(**{"entity": "user"} | spec))


def test_a_consistent_query_reads_the_table_itself(users: World) -> None:
    fill_users(users, 8)
    page = users.runner.run(QuerySpec("user", limit=3, consistent=True))
    assert [user.user_id for user in page.items] == ["user-000000", "user-000001", "user-000002"]


def test_the_last_page_costs_what_the_first_does(users: World) -> None:
    fill_users(users, 1000)
    pages = list(users.pages(entity="user", index="firstName", limit=50))
    first, last = pages[0], pages[-2]
    assert abs(first.stats.requests - last.stats.requests) <= 1
    assert abs(first.stats.scanned - last.stats.scanned) <= 0.2 * first.stats.scanned


@pytest.mark.parametrize("reverse", [False, True])
def test_whole_and_broken_numbers_and_the_greatest_ones_page_together(reverse: bool) -> None:
    """A whole number is stored as one, and what lies between it and the next one is not skipped."""

    class Sum(Entity, token="sum", shard_bumps=[ShardBump(0, 2, 1)]):
        sum_id: str = unique_property()
        amount: Decimal
        mark: str

    world = World(Schema([Sum], [Index("amount", "hash_key", "amount"), Index("mark", "hash_key", "mark")]))
    entity = world.schema[Sum]
    greatest = "9.9999999999999999999999999999999999999E+125"
    amounts = ["1", "1.5", "2", "0", "-1", "-1.5", greatest, f"-{greatest}", "1E-130"] * 3
    marks = ["\x00", "\x00\x00", "a", "\U0010ffff"]
    for number, amount in enumerate(amounts):
        world.add(entity, sumId=f"s{number:02d}", amount=Decimal(amount), mark=marks[number % 4])
    for index in ("amount", "mark"):
        pages = world.pages(entity="sum", index=index, limit=1, reverse=reverse)
        found = [each for page in pages for each in page.items]
        values = [getattr(each, index) for each in found]
        assert len({each.sum_id for each in found}) == len(amounts)
        assert values == sorted(values, reverse=reverse)
    world.close()
