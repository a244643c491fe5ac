"""The questions that read models of orders are asked in GraphQL, by the names that a plugin gives them."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from shardweave import Entity, GraphQL, HashKey, Index, RangeKey, Schema, ShardBump, belongs_to, unique_property
from tests.unit.api_world import Client, api_of
from tests.unit.graphql_world import Graph

BUMPS = [ShardBump(0, char_bits=2, chars=1)]


class Customer(Entity, token="customer"):
    """Who orders."""

    customer_id: str = unique_property()
    name: str
    email: str


class OrderTracking(
    Entity,
    token="orderTracking",
    collection="order-tracking",
    partition="order_id",
    sort="changed_at",
    shard_bumps=BUMPS,
):
    """What happened to an order."""

    order_id: str
    changed_at: dt.datetime
    customer_id: str
    status: str
    total: float

    customer_hash_key = HashKey("customer_id")
    status_hash_key = HashKey("status")
    changed_range_key = RangeKey("changed_at")

    customer = belongs_to(Customer, by="customer_id")


class Order(Entity, token="order", partition="order_id", sort="version"):
    """An order as it is, and as it was."""

    order_id: str
    version: str
    status: str


class OrderLine(
    Entity, token="orderLine", collection="order-lines", partition="order_id", sort=("category", "product_id")
):
    """What was ordered."""

    order_id: str
    category: str
    product_id: str
    quantity: int


SCHEMA = Schema(
    [Customer, OrderTracking, Order, OrderLine],
    [
        Index("customerId", "customer_hash_key", "range_key"),
        Index("byStatus", "status_hash_key", "changed_range_key"),
    ],
)


@pytest.fixture(scope="module")
def asked() -> Graph:
    client = Client(api_of(SCHEMA, graphql=GraphQL(name_prefix="Plugin_", capitalised=True)))
    client.post("/v1/customers", {"customerId": "cust-456", "name": "Ann", "email": "ann@example.org"})
    states = ("placed", "paid", "shipped")
    for order, customer in (("order-123", "cust-456"), ("order-124", "cust-456"), ("order-125", "cust-457")):
        for month, status in enumerate(states, 1):
            moment = f"2024-0{month}-0{order[-1]}T10:00:00Z"
            entry = {"orderId": order, "changedAt": moment, "customerId": customer, "status": status, "total": 5.5}
            assert client.post("/v1/order-tracking", entry).status == 201
    for version, status in (("v1", "placed"), ("v2", "paid"), ("~current", "paid")):
        client.post("/v1/orders", {"orderId": "order-123", "version": version, "status": status})
    for line in ("books/p-1", "electronics/p-1", "electronics/p-2"):
        category, product = line.split("/")
        client.post(
            "/v1/order-lines", {"orderId": "order-123", "category": category, "productId": product, "quantity": 1}
        )
    return Graph(client)


QUESTIONS: dict[str, tuple[str, Any]] = {
    "the whole timeline": (
        'query { Plugin_OrderTrackingById(id: "order-123") { items { changedAt status total } } }',
        [
            {"changedAt": "2024-01-03T10:00:00Z", "status": "placed", "total": 5.5},
            {"changedAt": "2024-02-03T10:00:00Z", "status": "paid", "total": 5.5},
            {"changedAt": "2024-03-03T10:00:00Z", "status": "shipped", "total": 5.5},
        ],
    ),
    "the last change": (
        'query { Plugin_OrderTrackingById(id: "order-123", reverse: true, limit: 1) { items { status } } }',
        [{"status": "shipped"}],
    ),
    "the changes of a time": (
        '{ Plugin_OrderTrackingById(id: "order-123", from: "2024-01-04", to: "2024-03-31") { items { status } } }',
        [{"status": "paid"}, {"status": "shipped"}],
    ),
    "the changes of a month": (
        'query { Plugin_OrderTrackingById(id: "order-123", prefix: "2024-02") { items { status } } }',
        [{"status": "paid"}],
    ),
    "the orders of a customer": (
        'query { Plugin_OrderTrackingByCustomerId(customerId: "cust-456") { items { orderId } } }',
        [{"orderId": f"order-12{number}"} for number in (3, 4, 3, 4, 3, 4)],
    ),
    "what was shipped, newest first": (
        'query { Plugin_OrderTrackingByStatus(status: "shipped", reverse: true) { items { orderId changedAt } } }',
        [{"orderId": f"order-12{n}", "changedAt": f"2024-03-0{n}T10:00:00Z"} for n in (5, 4, 3)],
    ),
    "an order as it is, with its customer": (
        'query { Plugin_OrderTracking(id: "order-123") { orderId status customer { name email } } }',
        {"orderId": "order-123", "status": "shipped", "customer": {"name": "Ann", "email": "ann@example.org"}},
    ),
    "the history without what is": (
        'query { Plugin_OrderById(id: "order-123", to: "z") { items { version status } } }',
        [{"version": "v1", "status": "placed"}, {"version": "v2", "status": "paid"}],
    ),
    "lines of a category": (
        'query { Plugin_OrderLineById(id: "order-123", prefix: "electronics/") { items { productId } } }',
        [{"productId": "p-1"}, {"productId": "p-2"}],
    ),
}


@pytest.mark.parametrize(("text", "expected"), QUESTIONS.values(), ids=QUESTIONS)
def test_what_a_read_model_is_asked(asked: Graph, text: str, expected: Any) -> None:
    (found,) = asked.data(text).values()
    assert (found.get("items", found) if isinstance(found, dict) else found) == expected


def test_the_next_page_is_asked_for_with_the_token(asked: Graph) -> None:
    text = """query($token: String) {
        Plugin_OrderTrackingById(id: "order-123", reverse: true, limit: 2, nextToken: $token) {
            items { status }
            nextToken
        }
    }"""
    first = asked.data(text)["Plugin_OrderTrackingById"]
    second = asked.data(text, token=first["nextToken"])["Plugin_OrderTrackingById"]
    assert [each["status"] for each in first["items"]] == ["shipped", "paid"]
    assert second == {"items": [{"status": "placed"}], "nextToken": None}


def test_what_is_current_is_asked_for_by_its_version(asked: Graph) -> None:
    text = """{
        a: Plugin_OrderById(id: "order-123", eq: "~current") { items { status } }
        b: Plugin_Order(id: "order-123") { version }
    }"""
    assert asked.data(text) == {"a": {"items": [{"status": "paid"}]}, "b": {"version": "~current"}}
