"""Metrics of queries: which there are, and that every query has them, also one that fails."""

from __future__ import annotations

import json
from typing import Any

from shardweave.api.emf_metrics import QueryMetrics
from shardweave.errors import TransactionConflict
from shardweave.table import Table
from shardweave.table.operations import Query
from tests.unit.api_world import Client, Stopwatch, WatchedTable, json_of, user_service

FIGURES = {
    "Queries",
    "Lanes",
    "Requests",
    "Rounds",
    "ReadUnits",
    "RecordsRead",
    "RecordsReturned",
    "EmptyLanes",
    "LaneFailures",
    "UnreadableRecords",
    "DeadlineCuts",
}


class World:
    """The user service with three users, and the lines that its queries wrote."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.metrics = QueryMetrics(self.lines.append, service="users", dimensions={"stage": "test"})
        self.stopwatch = Stopwatch()
        self.service = user_service(watch=self._watched, stopwatch=self.stopwatch, observe_query=self.metrics.observe)
        self.client = Client(self.service.api)
        for number in range(3):
            user = {"userId": f"u{number}", "firstName": "A", "lastName": "B", "beneficiaryId": "b", "phone": "1"}
            self.client.post("/v1/users", user)

    def _watched(self, table: Table) -> Table:
        self.table = WatchedTable(table)
        return self.table

    def flushed(self) -> list[dict[str, Any]]:
        self.metrics.flush()
        found = [json.loads(line) for line in self.lines]
        self.lines.clear()
        return found


def test_a_request_writes_what_its_queries_cost_in_the_embedded_format() -> None:
    world = World()
    stats = json_of(world.client.post("/v1/users/query", {"index": "phone", "stats": True}))["stats"]
    (line,) = world.flushed()
    (described,) = line["_aws"]["CloudWatchMetrics"]
    assert described["Namespace"] == "Shardweave"
    assert [set(names) for names in described["Dimensions"]] == [{"service", "stage", "entity"}]
    assert (line["service"], line["stage"], line["entity"]) == ("users", "test", "user")
    assert {metric["Name"] for metric in described["Metrics"]} == FIGURES
    assert {name: line[name] for name in FIGURES} == {
        "Queries": [1],
        "Lanes": [4],
        "Requests": [4],
        "Rounds": [1],
        "ReadUnits": [stats["units"]],
        "RecordsRead": [3],
        "RecordsReturned": [3],
        "EmptyLanes": [stats["empty"]],
        "LaneFailures": [0],
        "UnreadableRecords": [0],
        "DeadlineCuts": [0],
    }


def test_each_query_is_a_figure_and_each_entity_a_line() -> None:
    world = World()
    world.client.get("/v1/users?index=phone")
    world.client.post("/v1/users/count", {"index": "phone"})
    world.client.get("/v1/user-search?name=a")
    world.client.get("/v1/emails?index=created")
    lines = {line["entity"]: line for line in world.flushed()}
    assert lines.keys() == {"user", "email"}
    assert lines["user"]["Lanes"] == [4, 4, 8]
    assert lines["user"]["RecordsReturned"] == [3, 3, 3]
    assert lines["email"]["Lanes"] == [1]


def test_what_asks_no_query_writes_nothing() -> None:
    world = World()
    world.client.get("/v1/users/u1")
    world.client.post("/v1/users/explain", {"index": "phone"})
    world.client.post("/v1/users/query", {"index": "nosuch"})
    assert world.flushed() == []


def test_a_lane_that_fails_is_counted_whether_the_query_fails_or_not() -> None:
    world = World()

    def before(query: Query) -> None:
        if query.hash_value == "user!1":
            raise TransactionConflict("another transaction is in progress")

    world.table.before = before
    assert world.client.get("/v1/users?index=phone").status == 503
    assert world.client.get("/v1/users?index=phone&onShardError=partial").status == 200
    assert world.client.post("/v1/users/count", {"index": "phone"}).status == 503
    (line,) = world.flushed()
    assert line["LaneFailures"] == [1, 1, 1]
    assert line["DeadlineCuts"] == [0, 0, 0]


def test_a_query_without_time_is_a_cut() -> None:
    world = World()
    world.table.before = lambda query: world.stopwatch.passes(0.002)
    assert world.client.get("/v1/users?index=phone&timeLimitMs=1").status == 400
    assert world.client.post("/v1/users/count", {"index": "phone", "timeLimitMs": 1}).status == 400
    (line,) = world.flushed()
    assert line["DeadlineCuts"] == [1, 1]


def test_no_line_holds_a_value() -> None:
    world = World()
    world.client.get("/v1/users?index=userBeneficiaryPhone&beneficiaryId=secret&phone=secret")
    assert "secret" not in json.dumps(world.flushed())


def test_what_can_not_be_read_is_counted_where_no_query_met_it() -> None:
    world = World()
    world.client.get("/v1/users?index=phone")
    world.metrics.count_unreadable(["user", "email", "email"])
    lines = {line["entity"]: line for line in world.flushed()}
    assert lines["user"]["UnreadableRecords"] == [0, 1]
    assert lines["email"]["UnreadableRecords"] == [2]
    assert "Queries" not in lines["email"]
    assert world.flushed() == []
