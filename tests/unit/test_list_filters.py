"""Filters of lists as parameters, and refusals of conditions that say so."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest

from shardweave.schema.schema import Schema
from shardweave.wire.list_parameters import ListQuery
from tests.unit.api_world import PARTS, Client, api_of, json_of, problem_of

STORED: tuple[dict[str, Any], ...] = (
    {"sku": "a", "state": "new", "weight": 1.5, "limit": "x", "number": 1, "price": "2.50", "made": "2024-05-01"},
    {"sku": "b", "state": "worn", "weight": 2.5, "limit": "xy", "number": 2, "seen": "2024-05-01T12:00:00Z"},
    {"sku": "c", "state": "new", "urgent": True, "number": 3, "labels": {"a": 1}},
)


@pytest.fixture(scope="module")
def client() -> Client:
    made = Client(api_of(PARTS))
    for values in STORED:
        answer = made.post("/v1/parts", values)
        assert answer.status == 201, answer.body
    return made


def listed(client: Client, **query: str) -> str:
    page = json_of(client.get(f"/v1/parts?sku.from=a&{urlencode(query)}"))
    return "".join(sorted(each["sku"] for each in page["items"]))


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"filter.state": "new"}, "ac"),
        ({"filter.urgent": "true"}, "c"),
        ({"filter.weight": "2.5"}, "b"),
        ({"filter.weight.from": "2"}, "b"),
        ({"filter.weight.to": "2"}, "a"),
        ({"filter.number.from": "2", "filter.number.to": "2"}, "b"),
        ({"filter.price": "2.5"}, "a"),
        ({"filter.limit.prefix": "x"}, "ab"),
        ({"filter.limit": "x"}, "a"),
        ({"filter.made.from": "2024-01-01"}, "a"),
        ({"filter.seen": "2024-05-01T14:00:00+02:00"}, "b"),
        ({"filter.state": "new", "filter.number.from": "2"}, "c"),
    ],
)
def test_a_list_takes_filters(client: Client, query: dict[str, str], expected: str) -> None:
    assert listed(client, **query) == expected


def test_it_is_the_filter_of_a_query(client: Client) -> None:
    spec = ListQuery(PARTS["part"]).spec({"sku.from": "a", "filter.state": "new", "filter.weight.from": "2"})
    tests = {"and": [{"property": "state", "eq": "new"}, {"property": "weight", "ge": 2}]}
    document = {"conditions": {"sku": {"from": "a"}}, "filter": tests}
    first = json_of(client.get("/v1/parts?sku.from=a&filter.state=new&filter.number.from=1&limit=1"))
    assert first["nextToken"] is not None
    assert spec.filter is not None
    assert json_of(client.post("/v1/parts/query", document))["items"] == []
    token = f"&limit=1&nextToken={first['nextToken']}"
    assert json_of(client.get(f"/v1/parts?sku.from=a&filter.state=new&filter.number.from=1{token}"))["items"]
    problem_of(client.get(f"/v1/parts?sku.from=a&filter.state=new{token}"), 400, "cursor_mismatch")


@pytest.mark.parametrize(
    ("query", "where"),
    [
        ("filter.state=other", "filter.state"),
        ("filter.weight.from=heavy", "filter.weight.from"),
        ("filter.urgent=yes", "filter.urgent"),
        ("filter.made=2024-13-01", "filter.made"),
    ],
)
def test_a_value_that_is_none_is_refused_at_its_parameter(client: Client, query: str, where: str) -> None:
    answer = client.get(f"/v1/parts?sku.from=a&{query}")
    assert answer.status == 400
    assert json_of(answer)["where"] == where


def test_a_refusal_says_how_a_filter_is_asked(client: Client) -> None:
    refused = problem_of(client.get("/v1/parts?sku.from=a&weight=2"), 400, "unknown_name")
    assert refused["where"] == "weight"
    assert refused["fix"] == (
        "no index has it: test it after reading, with filter.weight=, or `filter` of POST /v1/parts/query"
    )
    refused = problem_of(client.get("/v1/parts?weight.prefix=2"), 400, "unknown_name")
    assert "filter.weight=" in refused["fix"]
    refused = problem_of(client.get("/v1/parts?labels=2"), 400, "unknown_name")
    assert refused["fix"] == (
        "no index has it: test it after reading, with filter.labels.PATH=, or `filter` of POST /v1/parts/query"
    )
    for query in ("sku=a&number=2", "index=byDay&made=2024-05-01&number=2"):
        refused = problem_of(client.get(f"/v1/parts?{query}"), 400, "unsupported_query")
        assert "or test what is left in a filter: filter." in refused["fix"]
        assert "POST /v1/parts/query" in refused["fix"]
    refused = problem_of(client.get("/v1/parts?filter.labels=2"), 400, "unknown_name")
    assert "use some of" in refused["fix"]


def test_a_name_that_is_a_condition_s_stays_one() -> None:
    assert isinstance(PARTS, Schema)
    names = [each.name for each in ListQuery(PARTS["part"]).parameters]
    assert len(names) == len(set(names))
