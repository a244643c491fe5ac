"""One query over several entities: one order, one limit, a token each way, and each entity's own shards and filters."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from shardweave import (
    AsyncDatabase,
    Collection,
    CursorKeys,
    Database,
    Entity,
    HashKey,
    Index,
    RangeKey,
    Schema,
    ShardBump,
    Timestamp,
    TimestampSeconds,
    between,
    branch,
    desc,
    prefix,
    timestamp_property,
    ttl_property,
    unique_property,
    where,
)
from shardweave.errors import (
    CursorMismatch,
    InputError,
    LaneFailed,
    LimitExceeded,
    SchemaError,
    Throttled,
    UnknownName,
    UnsupportedQuery,
)
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, Page, QuerySpec, joined
from shardweave.schema.shard_maps import StaticMaps
from shardweave.table.operations import PutItem
from tests.unit.query_world import NOW, TestTable

KEYS = CursorKeys("k", {"k": b"k" * 32})


class Kept(Entity):
    customer: str
    created: Timestamp = timestamp_property()
    total: int = 0
    expires: int | None = ttl_property()
    customer_hash_key = HashKey("customer")
    total_range_key = RangeKey("total", desc("created"))


class Order(Kept, token="order", shard_bumps=[ShardBump(0, 2, 1)]):
    order_id: str = unique_property()
    state: str = "open"


class Invoice(Kept, token="invoice", shard_bumps=[ShardBump(0, 1, 1), ShardBump(NOW - 50, 1, 3)]):
    invoice_id: str = unique_property()


class Note(Kept, token="note"):
    note_id: str = unique_property()
    text: str = ""


INDEXES = (
    Index("byCustomer", "customer_hash_key", "created"),
    Index("byTotal", "customer_hash_key", "total_range_key", projection=["created"]),
)
EVERY = (Order, Invoice, Note)
HISTORY = Collection("customer-history", EVERY, index="byCustomer")


def name_of(record: Any) -> str:
    return str(next(getattr(record, name) for name in ("order_id", "invoice_id", "note_id") if hasattr(record, name)))


def records() -> list[Kept]:
    found: list[Kept] = []
    for number in range(30):
        values: dict[str, Any] = {"customer": "ab"[number % 7 == 3], "created": NOW - 100 + number * 3}
        values["total"] = number % 5
        kind, key = EVERY[number % 3], f"{number:02d}"
        found.append(kind(**{f"{kind.declaration.token}_id": key}, **values))
    return found


@pytest.fixture
def db() -> Iterator[Database]:
    with Database(Schema(EVERY, INDEXES, collections=[HISTORY]), cursor_keys=KEYS, clock=lambda: NOW) as made:
        for record in records():
            made.create(record)
        yield made


def names(page: Page[Any]) -> list[str]:
    return [name_of(each) for each in page.items]


def expected(customer: str = "a", kinds: tuple[type[Kept], ...] = EVERY) -> list[str]:
    of = [each for each in records() if each.customer == customer and isinstance(each, kinds)]
    return [name_of(each) for each in sorted(of, key=lambda each: each.created)]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 4, 7, 100])
@pytest.mark.parametrize("kinds", [EVERY, (Note, Order), (Invoice,)])
def test_pages_forwards_and_back_put_together_are_the_sorted_answer(
    db: Database, kinds: tuple[type[Kept], ...], limit: int, reverse: bool
) -> None:
    asked: dict[str, Any] = {"customer": "a", "index": "byCustomer", "limit": limit, "reverse": reverse}
    pages = [db.query(kinds, **asked)]
    while pages[-1].next_token is not None:
        pages.append(db.query(kinds, **asked, next_token=pages[-1].next_token))
    assert [name for page in pages for name in names(page)] == expected("a", kinds)[:: -1 if reverse else 1]
    assert all(len(page.items) == limit for page in pages[:-1])
    for before, page in pairwise(pages):
        assert names(db.query(kinds, **asked, prev_token=page.prev_token)) == names(before)


def test_records_are_of_their_entities(db: Database) -> None:
    page = db.query(HISTORY, customer="a", limit=6)
    assert Counter(type(each) for each in page.items) == {Order: 2, Invoice: 2, Note: 2}
    assert names(page) == expected()[:6]
    assert page.index == "byCustomer"


def test_every_method_of_queries_takes_several(db: Database) -> None:
    asked: dict[str, Any] = {"customer": "a"}
    assert [name_of(each) for each in db.records(HISTORY, **asked, limit=4)] == expected()
    assert db.count(HISTORY, **asked) == len(expected())
    assert db.count((Order, Note), **asked, index="byCustomer") == len(expected("a", (Order, Note)))
    found = db.first(HISTORY, **asked, reverse=True)
    assert found is not None
    assert name_of(found) == expected()[-1]
    assert db.exists(("order", "note"), **asked)
    assert not db.exists(HISTORY, customer="c")


def test_an_asynchronous_database_takes_several() -> None:
    asyncio.run(ask_asynchronously())


async def ask_asynchronously() -> None:
    async with AsyncDatabase(Schema(EVERY, INDEXES), cursor_keys=KEYS, clock=lambda: NOW) as made:
        for record in records():
            await made.create(record)
        page = await made.query(HISTORY, customer="a", limit=5)
        after = await made.query((*EVERY,), customer="a", index="byCustomer", limit=5, next_token=page.next_token)
        assert names(page) + names(after) == expected()[:10]
        assert [name_of(each) async for each in made.records(HISTORY, customer="b")] == expected("b")


def test_conditions_filters_and_branches_hold_for_each(db: Database) -> None:
    late = between(NOW - 60, NOW - 20)
    assert names(db.query(HISTORY, customer="a", created=late)) == [
        name_of(each) for each in records() if each.customer == "a" and NOW - 60 <= each.created <= NOW - 20
    ]
    dear = where("total") >= 3
    assert names(db.query(HISTORY, customer="a", filter=dear)) == [
        name_of(each) for each in records() if each.customer == "a" and each.total >= 3
    ]
    both = [branch(customer="a", total=1), branch(customer="b", total=1)]
    page = db.query((Order, Invoice), branches=both, index=None, limit=50)
    assert page.index == "byTotal"
    chosen = [each for each in records() if each.total == 1 and not isinstance(each, Note)]
    assert names(page) == [name_of(each) for each in sorted(chosen, key=lambda each: -each.created)]
    assert all(isinstance(each, (Order, Invoice)) for each in page.items), "an index with less gives whole records"
    assert names(db.query(HISTORY, branches=[branch(customer=["a", "b"])], limit=50)) == [
        name_of(each) for each in records()
    ]


def test_one_lane_list_names_each_lanes_entity(db: Database) -> None:
    explained = db.explain(HISTORY, customer="a", run=True)
    assert explained.entity == "order, invoice, note"
    assert Counter(lane.entity for lane in explained.lanes) == {"order": 4, "invoice": 2 + 8, "note": 1}
    assert all(lane.hash_key.startswith(lane.entity) for lane in explained.lanes)
    assert "15 lanes of 3 entities in 4 generations, 1 stage" in explained.reasons
    assert explained.stats is not None
    assert explained.stats.lanes == 15


def test_entities_with_the_same_bumps_are_read_in_stages() -> None:
    bumps = [ShardBump(0, 1, 1), ShardBump(NOW - 40, 1, 2)]

    class Log(Kept, token="log", shard_bumps=bumps):
        log_id: str = unique_property()

    class Mark(Kept, token="mark", shard_bumps=bumps):
        mark_id: str = unique_property()

    with Database(Schema([Log, Mark], INDEXES[:1]), clock=lambda: NOW) as made:
        for number in range(20):
            kind = (Log, Mark)[number % 2]
            made.create(
                kind, {f"{kind.declaration.token}_id": str(number), "customer": "a", "created": NOW - 5 * number}
            )
        assert made.explain((Log, Mark), customer="a", index="byCustomer").stages == 2
        found = [each.created for each in made.records((Log, Mark), customer="a", index="byCustomer", limit=3)]
        assert found == sorted(NOW - 5 * number for number in range(20))


def test_a_token_is_of_the_entities_in_their_order(db: Database) -> None:
    asked: dict[str, Any] = {"customer": "a", "index": "byCustomer", "limit": 2}
    token = db.query((Order, Note), **asked).next_token
    for other in ((Note, Order), (Order, Invoice), (Order,), EVERY):
        with pytest.raises(CursorMismatch):
            db.query(other, **asked, next_token=token)


def test_a_token_has_a_few_bytes_for_each_further_map(db: Database) -> None:
    asked: dict[str, Any] = {"customer": "a", "index": "byCustomer", "limit": 1, "reverse": True}
    one, three = (db.query(kinds, **asked).next_token for kinds in ((Order,), (Order, Invoice, Note)))
    assert one is not None
    assert three is not None
    assert 0 < len(three) - len(one) <= 8 * 2 * 4 / 3


def test_expired_records_are_hidden_by_each_entitys_own_property(db: Database) -> None:
    db.create(Order(order_id="gone", customer="z", created=NOW, expires=NOW // 1000 - 1))
    db.create(Note(note_id="stays", customer="z", created=NOW, expires=NOW // 1000 + 9))
    assert names(db.query(HISTORY, customer="z")) == ["stays"]
    assert db.count(HISTORY, customer="z") == 1


def refused(kind: type[Exception], db: Database, of: Any, **asked: Any) -> str:
    with pytest.raises(kind) as caught:
        db.query(of, **asked)
    return str(caught.value)


def test_what_does_not_fit_together_is_refused(db: Database) -> None:
    assert "twice" in refused(InputError, db, (Order, Order), customer="a")
    assert "no entity" in refused(InputError, db, (), customer="a")
    assert "Kept is not in the schema" in refused(UnknownName, db, (Order, Kept), customer="a")
    assert "'invoice' has no property 'state'" in refused(UnknownName, db, (Invoice, Order), customer="a", state="open")
    assert "'note' has no property 'state'" in refused(
        UnknownName, db, (Order, Note), customer="a", filter=where("state") == "open"
    )
    assert "no index of 'order' answers" in refused(UnsupportedQuery, db, EVERY, customer=prefix("a"))
    many = [branch(customer=str(number)) for number in range(20)]
    assert "50 branches" in refused(LimitExceeded, db, EVERY, branches=many)


def test_the_limit_of_lanes_counts_those_of_all() -> None:
    wide = [ShardBump(0, 5, 2)]

    class Left(Kept, token="left", shard_bumps=wide):
        left_id: str = unique_property()

    class Right(Kept, token="right", shard_bumps=wide):
        right_id: str = unique_property()

    with Database(Schema([Left, Right], INDEXES[:1]), clock=lambda: NOW) as made:
        two = ["a", "b", "c"]
        assert len(made.explain(Left, customer=two).lanes) == 3072
        assert "6144 lanes" in refused(LimitExceeded, made, (Left, Right), customer=two)


class Second(Entity, token="second"):
    second_id: str = unique_property()
    customer: str
    created: TimestampSeconds = timestamp_property()
    total: int = 0
    customer_hash_key = HashKey("customer")
    total_range_key = RangeKey("total", "created")
    size_range_key = RangeKey("total")


class First(Kept, token="first"):
    first_id: str = unique_property()
    size_range_key = RangeKey("total", "customer")


def test_orders_that_differ_are_refused() -> None:
    indexes = [*INDEXES, Index("bySize", "customer_hash_key", "size_range_key")]
    with Database(Schema([First, Second], indexes)) as made:
        asked: dict[str, Any] = {"customer": "a"}
        by_time = refused(UnsupportedQuery, made, (First, Second), **asked, index="byCustomer")
        assert "created in byCustomer of first and created in byCustomer of second differ in type" in by_time
        assert "differ in type or direction" in refused(
            UnsupportedQuery, made, (First, Second), **asked, index="byTotal"
        )
        assert "different numbers of elements" in refused(
            UnsupportedQuery, made, (First, Second), **asked, index="bySize"
        )
        window = refused(UnsupportedQuery, made, (First, Second), **asked, earliest=5)
        assert "different units" in window


class Lead(Entity, token="lead"):
    lead_id: str = unique_property()
    created: Timestamp = timestamp_property()
    total: int
    customer: str = "a"
    customer_hash_key = HashKey("customer")
    total_range_key = RangeKey("total")


class Sale(Entity, token="sale"):
    sale_id: str = unique_property()
    created: TimestampSeconds = timestamp_property()
    total: int
    customer: str = "a"
    customer_hash_key = HashKey("customer")
    total_range_key = RangeKey("total")


def test_a_window_of_datetimes_is_of_each_in_its_own_unit() -> None:
    with Database(Schema([Lead, Sale], [Index("byTotal", "customer_hash_key", "total_range_key")])) as made:
        second = NOW // 1000
        for total in range(6):
            made.create(Lead(lead_id=f"l{total}", created=1000 * (second - 2 * total), total=2 * total))
            made.create(Sale(sale_id=f"s{total}", created=second - 2 * total - 1, total=2 * total + 1))
        earliest = dt.datetime.fromtimestamp(second - 6, dt.UTC)
        found = made.query((Lead, Sale), customer="a", earliest=earliest).items
        assert [(type(each), each.total) for each in found] == [
            (Sale if total % 2 else Lead, total) for total in range(7)
        ]
        latest = earliest + dt.timedelta(seconds=2)
        assert [each.total for each in made.records((Lead, Sale), customer="a", latest=latest)][:2] == [4, 5]
        refused(UnsupportedQuery, made, (Lead, Sale), customer="a", latest=1000 * second)


class Holder:
    """The records in a table whose lanes can fail, and a runner."""

    def __init__(self) -> None:
        self.schema = Schema(EVERY, INDEXES)
        self.table = TestTable(self.schema)
        for record in records():
            entity = self.schema[type(record)]
            self.table.inner.run(PutItem(entity.complete(entity.dump(record))))
        self.broken: set[str] = set()
        self.table.before = self.fail
        self.runner = QueryRunner(
            self.schema, self.table, KEYS, maps=StaticMaps(), clock=lambda: NOW, throttle=4, sleep=lambda seconds: None
        )
        parts = [QuerySpec(kind.declaration.token, {"customer": Equal("a")}, "byCustomer") for kind in EVERY]
        self.spec = joined([replace(parts[0], limit=4, on_shard_error="partial"), *parts[1:]])

    def fail(self, query: Any) -> None:
        if any(query.hash_value.startswith(each) for each in self.broken):
            raise Throttled


def test_a_lane_that_fails_is_named_by_its_entity_and_its_records_come_late() -> None:
    world = Holder()
    world.broken = {"invoice!0"}
    page = world.runner.run(world.spec)
    assert page.failed
    assert all(each.startswith("byCustomer invoice!") for each in page.failed)
    assert not page.complete
    first = [name_of(each) for each in page.items]
    world.broken = set()
    found, late = list(first), 0
    while page.cursor is not None:
        page = world.runner.run(replace(world.spec, cursor=page.cursor))
        found += [name_of(each) for each in page.items]
        late += page.late
    assert sorted(found) == sorted(expected())
    assert late
    world.broken = {"note"}
    with pytest.raises(LaneFailed, match="byCustomer note!"):
        world.runner.run(replace(world.spec, on_shard_error="fail"))
    world.runner.close()


# -- declared ---------------------------------------------------------------------------------------------------------


def faults(*collections: Any, entities: Any = EVERY, indexes: Any = INDEXES) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        Schema(entities, indexes, collections=collections)
    return [str(fault) for fault in caught.value.faults]


@pytest.mark.parametrize(
    ("collection", "text"),
    [
        (Collection("orders", EVERY, index="byCustomer"), "the name 'orders' is already the collection of Order"),
        (Collection("no way", EVERY, index="byCustomer"), "can't stand in a URL"),
        (Collection("order", EVERY, index="byCustomer"), "its operations would be called as those of Order"),
        (Collection("history", (Order,), index="byCustomer"), "fewer than two entities"),
        (Collection("history", (Order, Note, Order), index="byCustomer"), "it names an entity twice"),
        (Collection("history", (Order, First), index="byCustomer"), "First is not in the schema"),
        (Collection("history", EVERY, index="byColor"), "there is no index 'byColor'"),
        (Collection("history", (Order, "note"), index="byCustomer"), "must be an entity, got str"),  # type: ignore[arg-type]
        (Collection("history", 5, index="byCustomer"), "must be a list of entities, got int"),  # type: ignore[call-overload]
        ("history", "must be a collection, got str"),
    ],
)
def test_a_wrong_collection_is_a_fault_of_the_schema(collection: Any, text: str) -> None:
    (fault,) = faults(collection)
    assert text in fault


def test_two_collections_need_two_names() -> None:
    (fault,) = faults(HISTORY, Collection("customerHistory", EVERY, index="byCustomer"))
    assert "2 collections have this name" in fault


class Foreign(Entity, token="foreign"):
    foreign_id: str = unique_property()
    buyer: str
    created: Timestamp = timestamp_property()
    customer_hash_key = HashKey("buyer")


class Bare(Entity, token="bare"):
    bare_id: str = unique_property()
    created: Timestamp = timestamp_property()


def test_entities_whose_index_has_another_shape_are_faults() -> None:
    indexes = [*INDEXES, Index("bySize", "customer_hash_key", "size_range_key")]

    entities = [*EVERY, First, Second, Foreign, Bare]

    def of(index: str, *models: Any) -> str:
        (fault,) = faults(Collection("history", models, index=index), entities=entities, indexes=indexes)
        return fault

    assert "created in byCustomer of First and created in byCustomer of Second differ in type" in of(
        "byCustomer", First, Second
    )
    assert "differ in type or direction" in of("byTotal", Order, Second)
    assert "ordered by different numbers of elements" in of("bySize", First, Second)
    assert "has customer in Order, and buyer in Foreign" in of("byCustomer", Order, Foreign)
    assert "does not have Bare" in of("byCustomer", Order, Bare)
    hidden = [replace(INDEXES[0], exposed=False)]
    assert "is not exposed" in faults(HISTORY, indexes=hidden)[0]
