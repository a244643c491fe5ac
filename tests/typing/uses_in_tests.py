"""A test module of the README's service. It is checked, and not run."""

from types import ModuleType
from typing import assert_type

import orders
import pytest
from orders import Order, schema

from shardweave import Database, Schema
from shardweave.testing import Answer, Client, Clock, Problem

pytest_plugins = ["shardweave.testing"]


@pytest.fixture(name="schema")
def of_schema() -> Schema:
    return schema()


@pytest.fixture
def service() -> ModuleType:
    return orders


def test_an_order_is_kept(database: Database, clock: Clock) -> None:
    clock.advance(days=1)
    made = database.create(Order(customer_id="c", state="open", total=5))
    assert database.get(Order, made.order_id) == made
    assert made.created == clock.now_ms


def test_orders_are_served(client: Client) -> None:
    answer = client.as_caller("ann", tenant="acme", groups=["admin"]).post("/v1/orders", {"total": 5})
    assert_type(answer, Answer)
    assert_type(answer.expect(400).problem, Problem | None)
    assert client.patch("/v1/orders/x", {"total": 6}, if_match=answer.etag).status == 404
    assert client.database.count(Order, index="created") == 0
