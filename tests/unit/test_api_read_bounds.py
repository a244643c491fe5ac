"""What one query may read over HTTP, and what counts as the service's own failure to answer it whole."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.access import private_property
from shardweave.api.app import ANSWER_MS, Observation
from shardweave.api.http import PageFacts
from shardweave.api.lambda_event import event_of
from shardweave.errors import TransactionConflict
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table import Guard, Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Operation, Query
from tests.unit.api_world import Client, Stopwatch, WatchedTable, api_of, json_of, problem_of
from tests.unit.lambda_context import Context

COUNT = 40
UNITS = 8
"""Those of eight records, which take a read unit each where reads are eventually consistent."""


class Sheet(Entity, token="sheet", shard_bumps=[ShardBump(0, char_bits=1, chars=1)]):
    """One of a binder's."""

    name: str = unique_property()
    binder: str = "b"
    text: str = ""

    binder_hash_key = HashKey("binder")


class Secret(Sheet, token="secret"):
    """A sheet with something that nobody sees."""

    note: str | None = private_property(default=None)


SHEETS = Schema([Sheet], [Index("byBinder", "binder_hash_key", "name")])
SECRETS = Schema([Secret], [Index("byBinder", "binder_hash_key", "name")])


def client_of(schema: Schema, collection: str, **options: Any) -> Client:
    table = options.pop("table", None) or EmbeddedTable(schema.layout)
    found = Client(api_of(schema, table=table, **options))
    for number in range(COUNT):
        answer = found.post(f"/v1/{collection}", {"name": f"s{number:02}", "text": "x" * 8000})
        assert answer.status == 201
    return found


NONE_OF_THEM = {"conditions": {"binder": "b"}, "index": "byBinder", "filter": {"property": "text", "eq": "y"}}


def test_a_page_ends_where_the_units_of_a_request_are_spent_and_its_token_goes_on() -> None:
    client = client_of(SHEETS, "sheets", max_units=UNITS)
    asked: dict[str, Any] = {**NONE_OF_THEM, "limit": 1, "stats": True}
    pages = [json_of(client.post("/v1/sheets/query", asked))]
    while pages[-1]["nextToken"] is not None:
        pages.append(json_of(client.post("/v1/sheets/query", {**asked, "nextToken": pages[-1]["nextToken"]})))
    assert len(pages) > 1
    whole = json_of(client_of(SHEETS, "sheets").post("/v1/sheets/query", asked))
    assert (whole["complete"], whole["stats"]["cutBy"]) == (True, "")
    for page in pages[:-1]:
        assert (page["items"], page["complete"], page["stats"]["cutBy"]) == ([], False, "units")
        assert page["stats"]["units"] < whole["stats"]["units"]
    assert pages[-1]["complete"] is True


def test_a_count_that_takes_more_than_a_request_may_is_refused() -> None:
    class OnePageEach(WatchedTable):
        def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
            if isinstance(operation, Query):
                operation = Query(**{**vars(operation), "limit": 4})
            return super().run(operation, guard=guard)

    client = client_of(SHEETS, "sheets", max_units=UNITS, table=OnePageEach(EmbeddedTable(SHEETS.layout)))
    asked = {"conditions": {"binder": "b"}, "index": "byBinder"}
    assert "narrower" in problem_of(client.post("/v1/sheets/count", asked), 413, "too_many_reads")["fix"]
    assert json_of(client.post("/v1/sheets/count", {**asked, "conditions": {"binder": "c"}}))["count"] == 0


def test_where_records_are_not_shown_whole_what_they_take_ends_no_page() -> None:
    client = client_of(SECRETS, "secrets", max_units=UNITS)
    page = json_of(client.post("/v1/secrets/query", {**NONE_OF_THEM, "limit": 1}))
    assert (page["items"], page["complete"], page["nextToken"]) == ([], True, None)


class TestWhatCountsAsFailing:
    @pytest.fixture
    def seen(self) -> list[Observation]:
        return []

    @pytest.fixture
    def table(self) -> WatchedTable:
        return WatchedTable(EmbeddedTable(SHEETS.layout))

    @pytest.fixture
    def stopwatch(self) -> Stopwatch:
        return Stopwatch()

    @pytest.fixture
    def client(self, seen: list[Observation], table: Table, stopwatch: Stopwatch) -> Client:
        """Lanes are read one after another, so that a slow one makes no other late."""
        return client_of(SHEETS, "sheets", table=table, observe=seen.append, stopwatch=stopwatch, throttle=1)

    @pytest.mark.parametrize(
        "more", [{"budget": 1}, {"limit": 1, "budget": 2}, {"timeLimitMs": 200}], ids=["budget", "few", "time"]
    )
    def test_what_the_caller_chose_does_not(
        self,
        client: Client,
        seen: list[Observation],
        table: WatchedTable,
        stopwatch: Stopwatch,
        more: dict[str, Any],
    ) -> None:
        asked = {**NONE_OF_THEM, "limit": 1, **more}
        if "timeLimitMs" in more:
            asked |= {"onShardError": "partial"}
            table.before = lambda query: stopwatch.passes(0.3 if "!1" in query.hash_value else 0)
        page = json_of(client.post("/v1/sheets/query", asked))
        assert page["complete"] is False
        assert seen[-1].page == PageFacts(0, fell_short=False)

    def test_that_lanes_fail_does(self, client: Client, seen: list[Observation], table: WatchedTable) -> None:
        def before(query: Query) -> None:
            if "!1" in query.hash_value:
                raise TransactionConflict("another transaction is in progress")

        table.before = before
        asked = {**NONE_OF_THEM, "onShardError": "partial"}
        assert json_of(client.post("/v1/sheets/query", asked))["complete"] is False
        assert seen[-1].page == PageFacts(0, fell_short=True)

    def test_that_the_requests_own_time_was_over_does(
        self, client: Client, seen: list[Observation], table: WatchedTable, stopwatch: Stopwatch
    ) -> None:
        table.before = lambda query: stopwatch.passes(0.3 if "!1" in query.hash_value else 0)
        target = "index=byBinder&binder=b&onShardError=partial&timeLimitMs=60000"
        event = event_of("GET", "/v1/sheets", target, {}, b"")
        assert json_of(client.answer(event, Context(ANSWER_MS + 200)))["complete"] is False
        facts = seen[-1].page
        assert facts is not None
        assert facts.fell_short
