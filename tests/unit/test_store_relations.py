"""Relations: what a page of records leads to, read together and each record once."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from shardweave.errors import ConfigurationError, LookupNotReady, UnknownName
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.schema.entity import Entity
from shardweave.store import Store
from shardweave.table.operations import PutItem
from tests.unit.shop_world import SCHEMA, Customer, Issue, Order, Product, Project, shop
from tests.unit.store_world import DAY, FIRST_BUMP, START, World


def filled() -> World:
    """Two customers, the second in a later generation, and some products."""
    world = shop()
    people: list[dict[str, Any]] = [
        {"customerId": "ann", "phone": "1", "email": "Ann@x", "city": "Bath"},
        {"customerId": "bob", "phone": "2", "email": "Bob@x", "city": "York"},
    ]
    for person, now in zip(people, (START, FIRST_BUMP), strict=True):
        world.clock.now = now
        world.other.create(person, Customer)
    for name in ("a", "b", "c"):
        world.other.create({"productId": name, "name": name.upper()}, Product)
    world.requests()
    return world


def names(related: list[dict[str, Any]], relation: str, by: str) -> list[Any]:
    found = [each[relation] for each in related]
    return [getattr(each, by) if isinstance(each, Entity) else each for each in found]


def test_one_record_is_found_by_its_id() -> None:
    world = filled()
    orders = [Order(customer_id=name) for name in ("bob", "ann", "nobody", None, "bob")]
    related = world.store.expand(orders, "customer")
    assert names(related, "customer", "customer_id") == ["bob", "ann", None, None, "bob"]
    assert related[0]["customer"] == world.store.get(Customer, "bob")


def test_the_customers_of_a_hundred_orders_cost_one_batch_a_hundred_customers_and_generation() -> None:
    world = filled()
    for number in range(100):
        world.other.create({"customerId": f"c{number}"}, Customer)
    orders = [Order(customer_id=f"c{number}") for number in range(100)]
    world.requests()
    assert None not in names(world.store.expand(orders, "customer"), "customer", "customer_id")
    assert world.requests() == ["BatchGet"] * 2, "two generations have begun"
    world.store.expand([Order(customer_id=f"c{number % 20}") for number in range(100)], "customer")
    assert world.requests() == ["BatchGet"], "each customer is read once"
    world.store.expand([Order() for _ in range(100)], "customer")
    assert world.requests() == []


def test_several_relations_are_read_together() -> None:
    world = filled()
    orders = [Order(customer_id="ann", product_ids=["c", "a"]), Order(product_ids=["a", "none"])]
    related = world.store.expand(orders, "customer", "products")
    assert world.requests() == ["BatchGet"]
    assert [[product.name for product in each["products"]] for each in related] == [["C", "A"], ["A"]]
    assert names(related, "customer", "customer_id") == ["ann", None]


def test_records_are_found_by_a_lookup_in_their_canonical_form() -> None:
    world = filled()
    orders = [Order(phone="2", email="ANN@X"), Order(phone="1", email="ann@x", tenant="u"), Order(phone="9")]
    related = world.store.expand(orders, "caller", "writer")
    assert names(related, "caller", "customer_id") == ["bob", "ann", None]
    assert names(related, "writer", "customer_id") == ["ann", None, None]
    assert world.requests() == ["BatchGet"] * 4, "lookup records and owners, for each of the two lookups"


def test_records_are_found_by_an_index() -> None:
    world = filled()
    runner = QueryRunner(SCHEMA, world.inner, CursorKeys("k", {"k": b"k" * 32}), clock=world.clock)
    store = Store(SCHEMA, world.inner, clock=world.clock, first=runner.first)
    related = store.expand([Order(city=city) for city in ("York", "Bath", "York", "Rome", None)], "neighbour")
    runner.close()
    assert names(related, "neighbour", "customer_id") == ["bob", "ann", "bob", None, None]
    with pytest.raises(ConfigurationError, match="first"):
        world.store.expand([Order(city="York")], "neighbour")


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_indexes_are_followed_by_as_many_threads_as_a_store_may_use(workers: int) -> None:
    world, threads = filled(), set[str]()

    def first(spec: QuerySpec) -> None:
        threads.add(threading.current_thread().name)

    store = Store(SCHEMA, world.inner, clock=world.clock, first=first, workers=workers)
    store.expand([Order(city=f"city {number}") for number in range(40)], "neighbour")
    assert 1 <= len(threads) <= workers
    assert (threading.current_thread().name in threads) == (workers == 1)


def test_what_has_expired_is_not_there() -> None:
    world = filled()
    world.other.update(Customer, "ann", {"expires": world.clock() // 1000 + 60})
    world.clock.now += DAY
    related = world.store.expand([Order(customer_id="ann", phone="1")], "customer", "caller")
    assert related == [{"customer": None, "caller": None}]


def test_an_enforced_relation_can_be_expanded_too() -> None:
    world = filled()
    world.other.create({"projectId": "p"}, Project)
    issues = [world.other.create({"projectId": "p"}, Issue) for _ in range(3)]
    world.requests()
    assert names(world.store.expand(issues, "project"), "project", "project_id") == ["p", "p", "p"]
    assert world.requests() == ["GetItem"]


def test_records_of_several_entities_and_none_can_be_expanded() -> None:
    world = filled()
    assert world.store.expand([], "customer") == []
    assert world.store.expand([Order()]) == [{}]


def test_a_relation_that_does_not_exist_is_refused_with_those_that_do() -> None:
    with pytest.raises(UnknownName, match="customer, caller, writer, neighbour, products"):
        filled().store.expand([Order()], "seller")


def test_a_relation_by_a_lookup_needs_it_ready() -> None:
    world = World(schema=SCHEMA)
    stray = {"customerId": "x", "created": START, "tenant": "t", "name": ""}
    world.inner.run(PutItem(SCHEMA[Customer].complete(stray)))
    with pytest.raises(LookupNotReady, match="backfill --entity customer --lookup phone"):
        world.store.expand([Order(phone="1")], "caller")


LONG = "x" * 3000


@pytest.mark.parametrize("value", [LONG, "", "a\ud800"], ids=["long", "empty", "no text"])
def test_a_value_that_no_record_can_have_leads_to_none_and_spares_the_others(value: str) -> None:
    world = filled()
    runner = QueryRunner(SCHEMA, world.inner, CursorKeys("k", {"k": b"k" * 32}), clock=world.clock)
    store = Store(SCHEMA, world.inner, clock=world.clock, first=runner.first)
    good = Order(customer_id="ann", phone="1", email="ann@x", city="Bath", product_ids=["a"])
    led = {"customer_id": value, "phone": value, "email": value, "city": value, "product_ids": [value, "b"]}
    relations = ("customer", "caller", "writer", "neighbour", "products")
    first, second = store.expand([Order.model_construct(**good.model_dump() | led), good], *relations)
    runner.close()
    assert [first[name] for name in relations[:-1]] == [None] * 4
    assert [product.product_id for product in first["products"]] == ["b"]
    assert {second[name].customer_id for name in relations[:-1]} == {"ann"}
