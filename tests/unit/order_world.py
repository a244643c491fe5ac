"""The order tracking service on a new table in memory, and its events as they come over HTTP."""

from __future__ import annotations

from typing import Any

from shardweave.api.operators import ALL_OPERATORS
from shardweave.service.build import Settings, build
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import CURSOR_KEYS, Client, Clock, json_of
from tests.unit.openapi_answers import described_by

EVENTS = "/v1/_events/orders"


def order_client() -> Client:
    clock = Clock()
    service = build(
        Settings(cursor_keys=CURSOR_KEYS, service="order_tracking", operators=ALL_OPERATORS),
        open_table=lambda layout: EmbeddedTable(layout, clock=lambda: clock() / 1000),
        clock=clock,
    )
    return Client(described_by(service.api, "order_tracking"))


def placed(order: str, customer: str = "c1", at: str = "2024-01-05T10:00:00Z", *, lines: str = "") -> dict[str, Any]:
    """An order of `lines`, such as `electronics/p-1 books/p-2`."""
    parts = [line.split("/") for line in (lines or "electronics/p-1").split()]
    return {
        "type": "OrderPlaced",
        "eventId": f"{order}-1",
        "position": 1,
        "orderId": order,
        "customerId": customer,
        "placedAt": at,
        "lines": [
            {"category": category, "productId": product, "quantity": 2, "price": "10.50"} for category, product in parts
        ],
    }


def changed(order: str, position: int, status: str, at: str, **more: Any) -> dict[str, Any]:
    """A change of an order's status."""
    return {
        "type": "OrderStatusChanged",
        "eventId": f"{order}-{position}",
        "position": position,
        "orderId": order,
        "status": status,
        "changedAt": at,
        **more,
    }


def deliver(client: Client, *events: dict[str, Any]) -> None:
    for event in events:
        answer = client.post(EVENTS, event)
        assert answer.status == 200, answer.body


def items(client: Client, target: str) -> list[dict[str, Any]]:
    """The records of a page."""
    answer = client.get(target)
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = json_of(answer)["items"]
    return found
