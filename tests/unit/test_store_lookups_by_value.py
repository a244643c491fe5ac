"""Lookups that many records share a value of: exact pages, consistent, owners checked."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import LimitExceeded, UnknownName
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.store import IdempotencyKey, Update
from shardweave.store.lookups.catalog import catalog
from shardweave.table.operations import PutItem
from tests.unit.shop_world import SCHEMA, Customer, Issue, Mailbox, Project, internal, shop, sound
from tests.unit.store_world import DAY, FIRST_BUMP, SECOND_BUMP, START, World

LATER = START // 1000 + 3600


def people(world: World, count: int, **values: Any) -> list[str]:
    """Customers of Bath, some in each generation; their ids in order."""
    names = [f"c{number:03}" for number in range(count)]
    for number, name in enumerate(names):
        world.clock.now = (START, FIRST_BUMP, SECOND_BUMP)[number * 3 // count]
        world.other.create({"customerId": name, "city": "Bath", **values}, Customer)
    world.requests()
    return names


def walked(world: World, limit: int) -> list[list[str]]:
    pages = []
    after: str | None = None
    while True:
        page = world.store.find_by(Customer, "city", "Bath", limit=limit, after=after)
        pages.append([customer.customer_id for customer in page.items])
        after = page.after
        if after is None:
            return pages


@pytest.mark.parametrize("limit", [1, 3, 4, 9, 10, 100])
def test_pages_are_exact_and_put_together_are_all_records_in_order(limit: int) -> None:
    world = shop()
    names = people(world, 9)
    world.other.create({"customerId": "elsewhere", "city": "Bath!"}, Customer)
    pages = walked(world, limit)
    assert [name for page in pages for name in page] == names
    assert all(len(page) == limit for page in pages[:-1])
    assert 1 <= len(pages[-1]) <= limit


def test_a_page_skips_what_has_expired_or_has_another_value_and_is_full_all_the_same() -> None:
    world = shop()
    names = people(world, 12)
    for name in names[:3]:
        world.other.update(Customer, name, {"expires": world.clock() // 1000 + 60})
    stored = next(item for item in world.items_of(Customer) if item["customerId"] == names[5])
    world.inner.run(PutItem(stored | {"city": "York"}))
    world.clock.now += DAY
    assert [len(page) for page in walked(world, 4)] == [4, 4]


def test_owners_are_read_together() -> None:
    world = shop()
    people(world, 30)
    world.store.find_by(Customer, "city", "Bath", limit=25)
    assert world.requests() == ["Query", "BatchGet"], "26 owners in three generations"
    world.store.find_by(Customer, "city", "nowhere")
    assert world.requests() == ["Query"]


def test_a_value_moves_and_goes_with_its_record() -> None:
    world = shop()
    people(world, 3)
    world.store.update(Customer, "c000", {"city": "York"})
    world.store.update(Customer, "c001", {"city": None})
    world.store.delete(Customer, "c002")
    assert walked(world, 10) == [[]]
    assert [each.customer_id for each in world.store.find_by(Customer, "city", "York").items] == ["c000"]
    assert sound(world)


def test_a_unique_value_is_found_too() -> None:
    world = shop()
    record = world.store.create({"phone": "1"}, Customer)
    assert world.store.find_by(Customer, "phone", "1").items == (record,)
    assert world.store.find_by(Customer, "phone", "2").items == ()


def test_a_record_that_is_sharded_by_another_property_is_found_by_it() -> None:
    world = shop()
    for name in ("a", "b", "c"):
        world.store.create({"address": name, "ownerId": "o"}, Mailbox)
        world.clock.now = SECOND_BUMP
    assert [box.address for box in world.store.find_by(Mailbox, "ownerId", "o").items] == ["a", "b", "c"]


def test_what_can_not_be_asked_is_refused() -> None:
    world = shop()
    with pytest.raises(LimitExceeded):
        world.store.find_by(Customer, "city", "Bath", limit=501)
    with pytest.raises(UnknownName, match="phone, email, city"):
        world.store.find_by(Customer, "name", "Ann")


# -- who sees lookup records ------------------------------------------------------------------------------------------


def busy() -> World:
    """A table with internal records of every kind."""
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1", "city": "Bath", "expires": LATER}, Customer)
    world.store.create({"projectId": "p"}, Project)
    world.store.create({"projectId": "p", "code": "c"}, Issue)
    world.store.create({"address": "a", "ownerId": "o"}, Mailbox)
    world.store.idempotent(
        IdempotencyKey("key", "tenant", b""), [Update(Customer, "ann", {"name": "Ann"})], lambda _: b"ok"
    )
    return world


def test_internal_records_belong_to_no_entity_and_are_in_no_index() -> None:
    found = internal(busy())
    kinds = {item["hashKey"].partition("!")[0] for item in found}
    assert kinds >= {"customer.phone", "customer.city", "mailbox.address", "issue.num+", "project.*", "_idempotency"}
    for item in found:
        assert SCHEMA.entity_of_key(item["hashKey"]) is None
        for index in SCHEMA.layout.indexes:
            assert not {index.hash_key.name, index.range_key.name} <= item.keys()


def test_queries_of_every_entity_give_its_records_alone() -> None:
    world = busy()
    runner = QueryRunner(SCHEMA, world.inner, CursorKeys("k", {"k": b"k" * 32}), clock=world.clock)
    for entity in SCHEMA.entities.values():
        found = list(runner.records(QuerySpec(entity.token)))
        assert len(found) == len(world.items_of(entity.model))
    assert len(list(runner.records(QuerySpec("customer", {"city": Equal("Bath")}, index="city")))) == 1
    runner.close()


# -- the catalog ------------------------------------------------------------------------------------------------------


def test_the_catalog_lists_entity_lookup_secondary_key_and_shard_key() -> None:
    listed = [
        (entry.entity, entry.kind, entry.lookup, entry.secondary_key, entry.shard_key, entry.stored)
        for entry in catalog(SCHEMA)
        if entry.entity in ("customer", "mailbox")
    ]
    assert listed == [
        ("customer", "identity", None, ("customerId",), ("customerId",), None),
        ("customer", "unique", "phone", ("phone",), ("customerId",), "customer.phone!"),
        ("customer", "unique", "email", ("tenant", "email"), ("customerId",), "customer.email!"),
        ("customer", "lookup", "city", ("city",), ("customerId",), "customer.city!"),
        ("mailbox", "identity", "address", ("address",), ("ownerId",), "mailbox.address!"),
        ("mailbox", "unique", "folded", ("address",), ("ownerId",), "mailbox.folded!"),
        ("mailbox", "lookup", "ownerId", ("ownerId",), ("ownerId",), "mailbox.ownerId!"),
    ]
