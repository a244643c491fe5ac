"""An index that projects keys alone: what its keys hold can be shown and filtered on, and nothing else."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table import Guard
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchGet, BatchGetAnswer, Operation
from shardweave.values.codecs import Timestamp
from tests.unit.api_world import Client, CountedTable, Stopwatch, api_of, json_of, problem_of


class Item(Entity, token="item"):
    """One thing."""

    item_id: str = unique_property()
    created: Timestamp = timestamp_property()
    limit: str
    day: dt.date
    note: str | None = None

    thin_hash_key = HashKey("limit")
    thin_range_key = RangeKey(desc("day"), "created")


SCHEMA = Schema([Item], [Index("thin", "thin_hash_key", "thin_range_key", projection="KEYS_ONLY")])


@pytest.fixture(scope="module")
def client() -> Client:
    made = Client(api_of(SCHEMA))
    for number in range(6):
        item = {"itemId": f"i{number}", "limit": f"l{number % 2}", "day": f"2024-01-0{number + 1}", "note": "n"}
        assert made.post("/v1/items", item).status == 201
    return made


def ids(client: Client, **asked: Any) -> list[str]:
    answer = client.post("/v1/items/query", {"index": "thin", "conditions": {"limit": "l1"}} | asked)
    assert answer.status == 200, answer.body
    counted = client.post("/v1/items/count", {"index": "thin", "conditions": {"limit": "l1"}} | asked)
    assert json_of(counted) == {"count": len(json_of(answer)["items"])}
    return [item["itemId"] for item in json_of(answer)["items"]]


@pytest.mark.parametrize(
    ("test", "expected"),
    [
        ({"property": "day", "ge": "2024-01-04"}, ["i5", "i3"]),
        ({"property": "itemId", "in": ["i1", "i2"]}, ["i1"]),
        ({"property": "limit", "ne": "l1"}, []),
        ({"property": "created", "exists": True}, ["i5", "i3", "i1"]),
        ({"or": [{"property": "itemId", "eq": "i5"}, {"property": "day", "lt": "2024-01-03"}]}, ["i5", "i1"]),
        ({"not": {"property": "itemId", "begins_with": "i5"}}, ["i3", "i1"]),
    ],
)
@pytest.mark.parametrize("hydrate", [False, True])
def test_what_a_key_holds_can_be_filtered_on(
    client: Client, test: dict[str, Any], expected: list[str], hydrate: bool
) -> None:
    assert ids(client, filter=test, hydrate=hydrate) == expected
    assert ids(client, filter=test, properties=["itemId", "day"]) == expected


def test_it_can_be_filtered_on_in_branches(client: Client) -> None:
    branches = [
        {"index": "thin", "conditions": {"limit": limit}, "filter": {"property": "day", "le": "2024-01-03"}}
        for limit in ("l0", "l1")
    ]
    answer = json_of(client.post("/v1/items/query", {"branches": branches, "limit": 2}))
    assert [item["itemId"] for item in answer["items"]] == ["i2", "i1"]
    rest = json_of(client.post("/v1/items/query", {"branches": branches, "nextToken": answer["nextToken"]}))
    assert [item["itemId"] for item in rest["items"]] == ["i0"]


def test_it_can_be_chosen(client: Client) -> None:
    asked = {"index": "thin", "conditions": {"limit": "l0"}, "limit": 1}
    shown = json_of(client.post("/v1/items/query", asked))["items"][0]
    assert shown.keys() == {"itemId", "day", "limit", "created"}
    for name, value in shown.items():
        assert json_of(client.post("/v1/items/query", asked | {"properties": [name]}))["items"] == [{name: value}]


@pytest.mark.parametrize("hydrate", [False, True])
def test_what_no_key_holds_is_refused_with_the_reason(client: Client, hydrate: bool) -> None:
    asked = {"index": "thin", "conditions": {"limit": "l0"}}
    test = {"filter": {"property": "note", "exists": True}, "hydrate": hydrate}
    problem = problem_of(client.post("/v1/items/query", asked | test), 400, "unsupported_query")
    assert (problem["where"], "hydrated after" in problem["fix"]) == ("filter", True)
    chosen = client.post("/v1/items/query", asked | {"properties": ["note"]})
    assert problem_of(chosen, 400, "unsupported_query")["where"] == "properties"


class Unread(CountedTable):
    """A table that takes its time for whole records, or gives none."""

    seconds = 0.0
    gives = True
    stopwatch = Stopwatch()

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, BatchGet):
            self.stopwatch.passes(self.seconds)
            if not self.gives:
                return BatchGetAnswer((), operation.keys)
        return super().run(operation, guard=guard)


@pytest.mark.parametrize(
    ("seconds", "gives", "more", "problem"),
    [
        (1.1, True, {"timeLimitMs": 1000}, (400, "time_limit_too_short", "timeLimitMs")),
        (0.0, False, {}, (503, "table_unavailable", "hydrate")),
    ],
    ids=["in time", "at all"],
)
def test_whole_records_that_are_not_read(seconds: float, gives: bool, more: Any, problem: tuple[int, str, str]) -> None:
    table = Unread(EmbeddedTable(SCHEMA.layout))
    table.stopwatch = Stopwatch()
    client = Client(api_of(SCHEMA, table=table, stopwatch=table.stopwatch))
    client.post("/v1/items", {"itemId": "i", "limit": "l1", "day": "2024-01-01", "note": "n"})
    table.seconds, table.gives = seconds, gives
    asked = {"index": "thin", "conditions": {"limit": "l1"}, "hydrate": True, **more}
    status, code, where = problem
    assert problem_of(client.post("/v1/items/query", asked), status, code)["where"] == where
