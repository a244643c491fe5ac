"""The order tracking service: what events make of it, and what its keys can be asked."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import pytest

from tests.unit.api_world import Client, json_of, problem_of
from tests.unit.order_world import EVENTS, changed, deliver, items, order_client, placed

PLACED = placed("o1", lines="electronics/p-1 books/p-2")
PAID = changed("o1", 2, "paid", "2024-01-06T10:00:00Z")
SHIPPED = changed("o1", 3, "shipped", "2024-02-01T00:00:00Z", note="by rail")


@pytest.fixture
def client() -> Client:
    return order_client()


def order(client: Client, version: str = "~current") -> dict[str, Any]:
    found: dict[str, Any] = json_of(client.get(f"/v1/orders/o1/{version}"))
    return found


def everything(client: Client) -> list[Any]:
    """All that can be seen of the order."""
    lists = ("orders", "order-tracking", "order-lines")
    seen: list[Any] = [items(client, f"/v1/{name}?orderId=o1") for name in lists]
    return [*seen, json_of(client.get("/v1/order-total/orderTotal"))]


def test_an_order_has_a_current_version_and_one_for_each_event(client: Client) -> None:
    deliver(client, PLACED, PAID, SHIPPED)
    assert order(client) == {
        "orderId": "o1",
        "version": "~current",
        "status": "shipped",
        "changedAt": "2024-02-01T00:00:00Z",
        "placedAt": "2024-01-05T10:00:00Z",
        "customerId": "c1",
        "productIds": ["p-1", "p-2"],
        "total": "42",
        "note": "by rail",
    }
    assert order(client, "v000001")["status"] == "placed"
    assert order(client, "v000003")["note"] == "by rail"
    versions = [each["version"] for each in items(client, "/v1/orders?orderId=o1")]
    assert versions == ["v000001", "v000002", "v000003", "~current"]


def test_every_order_of_events_and_every_repetition_gives_the_same(client: Client) -> None:
    deliver(client, PLACED, PAID, SHIPPED)
    expected = everything(client)
    for arrival in permutations([PLACED, PAID, SHIPPED]):
        other = order_client()
        deliver(other, *arrival, arrival[0], arrival[2])
        assert everything(other) == expected


def test_a_status_never_blanks_the_customer_also_when_it_comes_first(client: Client) -> None:
    deliver(client, PAID)
    assert order(client)["status"] == "paid"
    assert "customerId" not in order(client)
    deliver(client, PLACED)
    assert (order(client)["status"], order(client)["customerId"]) == ("paid", "c1")
    deliver(client, SHIPPED)
    assert (order(client)["status"], order(client)["customerId"]) == ("shipped", "c1")


def test_a_status_of_the_same_moment_leaves_who_ordered_in_the_timeline(client: Client) -> None:
    deliver(client, PLACED, changed("o1", 2, "paid", PLACED["placedAt"]))
    (entry,) = items(client, "/v1/order-tracking?orderId=o1")
    assert (entry["status"], entry["customerId"]) == ("paid", "c1")


def test_totals_count_every_order_once(client: Client) -> None:
    deliver(client, PLACED, PLACED, placed("o2"), PAID)
    assert json_of(client.get("/v1/order-total/orderTotal")) == {"orders": 2, "items": 6, "amount": "63"}


@pytest.mark.parametrize(
    ("target", "where"),
    [
        ("schema-changes?environment=production&plugin.eq=", "plugin.eq"),
        ("order-lines?orderId=o1&sort.prefix=/a", "sort.prefix"),
        ("products?category=", "category"),
    ],
)
def test_a_value_that_no_property_can_have_is_placed_at_its_parameter(client: Client, target: str, where: str) -> None:
    problem = problem_of(client.get(f"/v1/{target}"), 400, "validation_failed")
    assert problem["where"] == problem["errors"][0]["where"] == where


def test_a_composite_value_without_its_last_part_is_refused_with_that_part(client: Client) -> None:
    found = problem_of(client.get("/v1/schema-changes?partition=production/"), 400, "value_refused")
    assert (found["where"], found["detail"]) == ("partition", "its part plugin is empty, as no record's is")
    assert found["fix"] == "write environment/plugin: a record has all of them"
    found = problem_of(client.get("/v1/order-lines?orderId=o1&sort=electronics/"), 400, "value_refused")
    assert (found["where"], found["detail"]) == ("sort", "its part productId is empty, as no record's is")
    assert found["fix"] == "write category/productId, or use sort.prefix"


def test_the_timeline_of_an_order_takes_ranges_prefixes_and_the_last_few(client: Client) -> None:
    deliver(client, PLACED, PAID, SHIPPED)

    def states(conditions: str) -> list[str]:
        return [each["status"] for each in items(client, f"/v1/order-tracking?orderId=o1{conditions}")]

    assert states("") == ["placed", "paid", "shipped"]
    assert states("&reverse=true&limit=2") == ["shipped", "paid"]
    assert states("&changedAt.from=2024-01-06") == ["paid", "shipped"]
    assert states("&changedAt.to=2024-02-01") == ["placed", "paid", "shipped"]
    assert states("&changedAt.to=2024-01-06") == ["placed"]
    assert states("&changedAt.prefix=2024-01") == ["placed", "paid"]
    shown = items(client, "/v1/order-tracking?orderId=o1")[1]["changedAt"]
    for whole in (shown, "2024-01-06T11:00:00.0%2B01:00"):
        assert states(f"&changedAt.prefix={whole}") == ["paid"]
    assert states(f"&changedAt.prefix={shown[:-4]}") == ["paid"]
    assert states("&changedAt.prefix=2024-13-06T11:00:00Z") == []
    assert states("&changedAt=2024-01-06T11:00:00%2B01:00") == ["paid"]
    answer = client.get("/v1/order-tracking?orderId=o1&changedAt.prefix=2024&changedAt.from=2024-01-06")
    problem_of(answer, 400, "unsupported_query")
    problem_of(client.get("/v1/order-tracking?orderId=o1&changedAt.from=2024-01-06T10:00:00"), 400, "value_refused")


def test_orders_are_found_by_status_and_by_customer(client: Client) -> None:
    deliver(client, PLACED, SHIPPED, placed("o2", at="2024-03-01T00:00:00Z"), placed("o3", "c2"))
    deliver(client, changed("o3", 2, "shipped", "2024-03-02T00:00:00Z"))
    shipped = items(client, "/v1/order-tracking?status=shipped&reverse=true")
    assert [each["orderId"] for each in shipped] == ["o3", "o1"]
    mine = items(client, "/v1/orders?customerId=c1&version=~current&reverse=true")
    assert [each["orderId"] for each in mine] == ["o2", "o1"]
    told = items(client, "/v1/order-tracking?customerId=c1")
    assert [each["orderId"] for each in told] == ["o1", "o2"]


def test_indexes_give_what_they_project(client: Client) -> None:
    client.post("/v1/products", {"productId": "p-1", "category": "electronics", "name": "Lamp", "price": "10.50"})
    (product,) = items(client, "/v1/products?index=byCategory&category=electronics")
    assert product == {"productId": "p-1", "category": "electronics"}
    deliver(client, PLACED)
    (entry,) = items(client, "/v1/order-tracking?status=placed")
    assert entry == {"orderId": "o1", "changedAt": "2024-01-05T10:00:00Z", "status": "placed"}


def test_changes_of_a_schema_are_kept_by_environment_and_plugin_in_the_order_of_their_versions(client: Client) -> None:
    for version in ("1.10.0", "1.9.0", "1.10.0-rc.1"):
        change = {"environment": "production", "plugin": "search", "version": version, "text": f"to {version}"}
        assert client.post("/v1/schema-changes", change).status == 201
    found = items(client, "/v1/schema-changes?partition=production/search")
    assert [each["version"] for each in found] == ["1.9.0", "1.10.0-rc.1", "1.10.0"]
    assert found == items(client, "/v1/schema-changes?environment=production&plugin=search")
    assert client.get("/v1/schema-changes/production/search/1.9.0").status == 200


@pytest.mark.parametrize(
    ("event", "faults"),
    [
        ({**PLACED, "lines": []}, {"lines"}),
        ({**PLACED, "lines": PLACED["lines"] * 2}, {"lines"}),
        (
            {**PLACED, "lines": [{"category": "a/b"}]},
            {f"lines[0].{x}" for x in ("category", "productId", "quantity", "price")},
        ),
        (
            {**PAID, "status": "eaten", "changedAt": "2024-01-06T10:00:00", "position": 0},
            {"status", "changedAt", "position"},
        ),
    ],
)
def test_a_bad_event_is_refused_with_every_field(client: Client, event: dict[str, Any], faults: set[str]) -> None:
    document = problem_of(client.post(EVENTS, event), 400, "validation_failed")
    assert {fault["where"] for fault in document["errors"]} == faults


def test_the_largest_order_fits_a_transaction(client: Client) -> None:
    deliver(client, placed("o1", lines=" ".join(f"books/p-{number:02}" for number in range(25))))
    assert len(items(client, "/v1/order-lines?orderId=o1")) == 25


def test_the_dearest_order_that_an_event_can_be_is_taken(client: Client) -> None:
    event = placed("o1", lines=" ".join(f"books/p-{number}" for number in range(25)))
    event["lines"] = [{**line, "quantity": 1000, "price": "9999999999.99"} for line in event["lines"]]
    deliver(client, event)
    assert order(client)["total"] == "249999999999750"
