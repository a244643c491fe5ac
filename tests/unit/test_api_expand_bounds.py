"""What `expand` may take: neither more time than the request has, nor more room than an answer has."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import Field

from shardweave.api.app import ANSWER_MS
from shardweave.api.expansion import MAX_RELATED
from shardweave.api.http import Response
from shardweave.schema.declarations import Index, Lookup, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.store.relations import relation_loader
from shardweave.table import Guard, Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import MAX_BATCH_GET, BatchGet, Operation
from tests.unit.api_world import Client, Clock, CountedTable, Stopwatch, api_of, json_of, problem_of
from tests.unit.lambda_context import Context
from tests.unit.lambda_events import event

FUNCTION_BYTES = 6 * 1024 * 1024
LINKS = 900
"""More than are followed at once."""


class Fan(Entity, token="fan"):
    """Leads to many others."""

    name: str = unique_property()
    club: str = "all"
    text: str = ""
    friend_names: list[str] = Field(default_factory=list)
    idol_name: str | None = None

    friends = has_many("fan", by="friend_names")
    idol = belongs_to("fan", by="idol_name", on="club", index="byClub")
    clubs = Lookup("club")

    club_hash_key = HashKey("club")


FANS = Schema([Fan], [Index("byClub", "club_hash_key", "name")])


class SlowTable(CountedTable):
    """Once it is told to, friends are not answered until a moment has passed."""

    def __init__(self, inner: Table, stopwatch: Stopwatch) -> None:
        super().__init__(inner)
        self.stopwatch = stopwatch
        self.until: float | None = None

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if self.until is not None and isinstance(operation, BatchGet) and "-" in str(operation.keys[0]):
            self.stopwatch.comes(self.until)
        return super().run(operation, guard=guard)


@pytest.fixture
def table() -> SlowTable:
    clock = Clock()
    return SlowTable(EmbeddedTable(FANS.layout, clock=lambda: clock() / 1000), Stopwatch())


@pytest.fixture
def client(table: SlowTable) -> Client:
    return Client(api_of(FANS, table=table, stopwatch=table.stopwatch))


def befriend(table: SlowTable, *counts: int, text: str = "") -> list[str]:
    """Fans of the club `big` in the order of their names, each with so many friends of its own, which are not there."""
    store = Store(FANS, table, clock=Clock())
    names = [f"f{number}" for number in range(len(counts))]
    for name, count in zip(names, counts, strict=True):
        store.create(Fan(name=name, club="big", text=text, friend_names=[f"{name}-{each}" for each in range(count)]))
    return names


def refused(answer: Response, name: str, code: str) -> None:
    """One record is answered that it can't be expanded, by its own error; in a list it is told and passed."""
    if answer.status == 200:
        found = json_of(answer)
        told = {"entity": "fan", "key": name, "code": "too_large", "position": 0}
        assert (found["items"], found["unreadable"]) == ([], [told])
        assert found["nextToken"] is not None
    else:
        assert "by key" in problem_of(answer, 413, code)["fix"]


def test_a_page_ends_before_the_first_record_that_there_was_no_time_for(client: Client, table: SlowTable) -> None:
    names = befriend(table, 10, 10, LINKS, 1)
    target = "/v1/fans?index=byClub&club=big&expand=friends"
    assert len(json_of(client.get(target))["items"]) == 4
    table.until = table.stopwatch.now + 1.1
    page = json_of(client.get(f"{target}&timeLimitMs=1000"))
    assert ([each["name"] for each in page["items"]], page["complete"]) == (names[:2], False)
    table.until = None
    rest = json_of(client.get(f"{target}&nextToken={page['nextToken']}"))
    assert ([each["name"] for each in rest["items"]], rest["complete"]) == (names[2:], True)
    table.until = table.stopwatch.now + 1.1
    late = client.get(f"{target}&nextToken={page['nextToken']}&timeLimitMs=1000")
    assert problem_of(late, 400, "time_limit_too_short")["where"] == "expand"


def test_every_other_way_keeps_to_the_time_of_the_request(client: Client, table: SlowTable) -> None:
    names = befriend(table, 10, LINKS)
    for method, target, document in (
        ("GET", "/v1/fans/f1?expand=friends", None),
        ("GET", "/v1/fans?lookup=club&club=big&expand=friends", None),
        ("POST", "/v1/fans/batch-get", {"keys": names, "expand": ["friends"]}),
    ):
        path, _, query = target.partition("?")
        table.until = table.stopwatch.now + 1.1
        body = None if document is None else json.dumps(document)
        answer = client.answer(event(method, path, query, body), Context(ANSWER_MS + 1000))
        if method == "GET" and not query.startswith("lookup"):
            problem_of(answer, 503, "deadline_too_short")
            continue
        found = json_of(answer)
        assert found["items"][0]["name"] == "f0"
        assert found["items"][1:] in ([], [None])
        if "unprocessed" in found:
            assert found["unprocessed"] == [1]
        else:
            assert found["complete"] is False
            table.until = None
            rest = json_of(client.get(f"{target}&nextToken={found['nextToken']}"))
            assert ([each["name"] for each in rest["items"]], rest["nextToken"]) == (["f1"], None)


def test_relations_by_an_index_are_not_begun_when_the_time_is_over(table: SlowTable) -> None:
    store = Store(FANS, table, clock=Clock(), first=lambda spec: pytest.fail("it was asked"))
    fan = Fan(name="a", idol_name="b")
    assert store.expand([fan], "idol", deadline=store.monotonic()) == []
    assert store.expand([Fan(name="c")], "idol", deadline=store.monotonic()) == [{"idol": None}]
    assert relation_loader.MAX_LINKS_AT_ONCE < LINKS


def test_one_record_leads_to_no_more_than_an_answer_can_carry(client: Client, table: SlowTable) -> None:
    store = Store(FANS, table, clock=Clock())
    friends = [f"g{number:03}" for number in range(LINKS // 3)]
    for name in friends:
        store.create(Fan(name=name, text="x" * 340_000))
    store.create(Fan(name="f0", club="big", friend_names=friends))
    for ask in ("/v1/fans/f0?expand=friends", "/v1/fans?index=byClub&club=big&expand=friends"):
        table.asked_since()
        refused(client.get(ask), "f0", "answer_too_large")
        assert table.asked_since().count("BatchGet") <= 4, "the first hundred says it, in pieces of 16 MB"


def test_a_page_ends_before_the_record_that_leads_to_too_many(client: Client, table: SlowTable) -> None:
    befriend(table, 10, MAX_RELATED - 10, 1, 2)
    target = "/v1/fans?index=byClub&club=big&expand=friends"
    page = json_of(client.get(target))
    assert ([each["name"] for each in page["items"]], page["complete"]) == (["f0", "f1"], False)
    assert client.seen == [] or not client.seen[-1].failing
    rest = json_of(client.get(f"{target}&nextToken={page['nextToken']}"))
    assert ([each["name"] for each in rest["items"]], rest["complete"]) == (["f2", "f3"], True)


def test_a_first_record_that_leads_to_too_many_is_refused_before_anything_is_read_for_it(
    client: Client, table: SlowTable
) -> None:
    befriend(table, MAX_RELATED + 1)
    for ask in ("/v1/fans/f0?expand=friends", "/v1/fans?index=byClub&club=big&expand=friends"):
        table.asked_since()
        refused(client.get(ask), "f0", "too_many_reads")
        assert table.asked_since().count("BatchGet") <= 1


def test_the_bound_of_related_records_is_a_setting(table: SlowTable) -> None:
    befriend(table, 3, 2)
    for bound, status in ((2, 413), (3, 200)):
        client = Client(api_of(FANS, table=table, max_related=bound))
        assert client.get("/v1/fans/f0?expand=friends").status == status


def test_what_follows_a_full_page_is_not_read(client: Client, table: SlowTable) -> None:
    befriend(table, *[LINKS] * 5, text="\x01" * 380_000)
    table.asked_since()
    page = json_of(client.get("/v1/fans?index=byClub&club=big&expand=friends"))
    assert ([each["name"] for each in page["items"]], page["complete"]) == (["f0"], False)
    assert table.asked_since().count("BatchGet") * MAX_BATCH_GET < 3 * LINKS, "those of the other two are not read"


def test_answers_with_related_records_are_no_longer_than_a_function_may_answer(
    client: Client, table: SlowTable
) -> None:
    store = Store(FANS, table, clock=Clock())
    friends = [f"g{number}" for number in range(18)]
    for name in friends:
        store.create(Fan(name=name, text="x" * 300_000))
    for number, leads in enumerate((friends[:9], friends[9:], friends)):
        store.create(Fan(name=f"f{number}", club="big", friend_names=leads))
    by_list = "/v1/fans?index=byClub&club=big&expand=friends"
    by_lookup = "/v1/fans?lookup=club&club=big&expand=friends"
    for target in (by_list, by_lookup):
        path, _, query = target.partition("?")
        names: list[str] = []
        token = ""
        for _ in range(2):
            answer = client.api.resolve(event("GET", path, query + token), Context())
            assert len(json.dumps(answer)) < FUNCTION_BYTES
            page = json.loads(answer["body"])
            names += [each["name"] for each in page["items"]]
            assert page["complete"] is False
            token = f"&nextToken={page['nextToken']}"
        assert names == ["f0", "f1"]
        last = json_of(client.get(target + token))
        assert (last["items"], last["complete"]) == ([], False)
        refused(client.get(target + token), "f2", "answer_too_large")
        end = json_of(client.get(f"{target}&nextToken={last['nextToken']}"))
        assert end.pop("prevToken") is not None
        assert end == {"items": [], "nextToken": None, "complete": True}
    problem = problem_of(client.get("/v1/fans/f2?expand=friends"), 413, "answer_too_large")
    assert (problem["where"], "by key" in problem["fix"]) == ("expand", True)
    got = json_of(client.post("/v1/fans/batch-get", {"keys": ["f0", "f1", "f2"], "expand": ["friends"]}))
    assert got["unprocessed"] == [1, 2]
    got = json_of(client.post("/v1/fans/batch-get", {"keys": ["f2", "f0"], "expand": ["friends"]}))
    assert got == {
        "items": [None, None],
        "unprocessed": [1],
        "unreadable": [{"entity": "fan", "key": "f2", "code": "too_large", "position": 0}],
    }
