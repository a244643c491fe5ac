"""Pages of large records: none is longer than a function may answer, and the walk goes on exactly where one was cut."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.api.response_size import MAX_PAGE_BYTES, carried_bytes
from shardweave.keys.sharding import ShardBump
from shardweave.query.page_budget import fitting
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import CURSOR_KEYS, Client, Clock, api_of, json_of
from tests.unit.lambda_events import Context, event

FUNCTION_BYTES = 6 * 1024 * 1024
"""What a function may return."""

COUNT = 30


class Page(Entity, token="page", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A page of a book."""

    number: int = unique_property()
    text: str = ""

    number_range_key = RangeKey("number")


BOOK = Schema(
    entities=[Page],
    indexes=[
        Index("inOrder", "hash_key", "number_range_key"),
        Index("keys", "hash_key", "number", projection="KEYS_ONLY"),
    ],
)


def filled(text: str, count: int) -> EmbeddedTable:
    table = EmbeddedTable(BOOK.layout)
    store = Store(BOOK, table, clock=Clock())
    for number in range(count):
        store.create(Page(number=number, text=text))
    return table


def book(text: str, count: int = COUNT) -> Client:
    return Client(api_of(BOOK, table=filled(text, count)))


@pytest.fixture(scope="module")
def plain() -> Client:
    return book("x" * 400_000)


def walk(client: Client, ask: dict[str, Any], *, by_query: bool) -> list[dict[str, Any]]:
    """Every page, each as short as the function's answer has to be."""
    pages: list[dict[str, Any]] = []
    token: str | None = None
    while token is not None or not pages:
        asked = {**ask, **({"nextToken": token} if token else {})}
        target = "/v1/pages/query" if by_query else "/v1/pages"
        body = json.dumps(asked) if by_query else None
        query = "" if by_query else urlencode(asked)
        answer = client.api.resolve(event("POST" if by_query else "GET", target, query, body), Context())
        assert answer["statusCode"] == 200
        assert len(json.dumps(answer)) < FUNCTION_BYTES
        pages.append(json.loads(answer["body"]))
        token = pages[-1]["nextToken"]
    return pages


@pytest.mark.parametrize(("by_query", "reverse"), [(False, False), (True, True)])
def test_a_page_ends_where_the_answer_would_be_too_long(plain: Client, reverse: bool, by_query: bool) -> None:
    ask: dict[str, Any] = {"index": "inOrder", "limit": 500, "reverse": reverse if by_query else str(reverse).lower()}
    pages = walk(plain, ask, by_query=by_query)
    assert [len(page["items"]) for page in pages] == [13, 13, 4]
    assert [page["complete"] for page in pages] == [False, False, True]
    found = [each["number"] for page in pages for each in page["items"]]
    assert found == sorted(range(COUNT), reverse=reverse)


def test_a_limit_that_fits_is_kept(plain: Client) -> None:
    pages = walk(plain, {"index": "inOrder", "limit": 10}, by_query=False)
    assert [(len(page["items"]), page["complete"]) for page in pages] == [(10, True)] * 3


def test_what_is_not_answered_takes_no_room(plain: Client) -> None:
    (page,) = walk(plain, {"index": "inOrder", "limit": 500, "properties": ["number"]}, by_query=True)
    assert len(page["items"]) == COUNT


def test_whole_records_behind_keys_are_measured_as_they_are_answered(plain: Client) -> None:
    pages = walk(plain, {"index": "keys", "limit": 500, "hydrate": True}, by_query=True)
    assert [len(page["items"]) for page in pages] == [13, 13, 4]
    assert [each["number"] for page in pages for each in page["items"]] == list(range(COUNT))


@pytest.mark.parametrize("text", ["\x01" * 390_000, "😀" * 97_000])
def test_escapes_of_the_answer_count(text: str) -> None:
    pages = walk(book(text, 3), {"index": "inOrder"}, by_query=False)
    assert [each["number"] for page in pages for each in page["items"]] == list(range(3))


def test_reading_stops_with_the_page() -> None:
    client = book("x" * 400_000, 40)
    costs = json_of(client.post("/v1/pages/query", {"index": "inOrder", "limit": 500, "stats": True}))["stats"]
    assert costs["returned"] == 13
    assert costs["cut"] is True
    assert costs["scanned"] < 30


def test_without_room_named_a_page_is_as_long_as_its_limit() -> None:
    runner = QueryRunner(BOOK, filled("x" * 400_000, COUNT), CURSOR_KEYS, clock=Clock())
    page = runner.run(QuerySpec("page", index="inOrder"))
    assert (len(page.items), page.complete) == (COUNT, True)
    runner.close()


def test_a_batch_gives_what_fits_and_says_which_keys_to_ask_for_again(plain: Client) -> None:
    numbers = list(range(COUNT + 5))
    found: dict[int, Any] = {}
    while numbers:
        body = json.dumps({"keys": numbers})
        answer = plain.api.resolve(event("POST", "/v1/pages/batch-get", "", body), Context())
        assert len(json.dumps(answer)) < FUNCTION_BYTES
        got = json.loads(answer["body"])
        found |= {
            number: each
            for at, (number, each) in enumerate(zip(numbers, got["items"], strict=True))
            if at not in got["unprocessed"]
        }
        numbers = [numbers[at] for at in got["unprocessed"]]
    assert {number for number, each in found.items() if each is not None} == set(range(COUNT))
    assert len(found) == COUNT + 5


@given(st.lists(st.integers(1, 20)), st.integers(1, 60))
def test_as_many_fit_as_stay_within_the_limit_and_always_the_first(sizes: list[int], limit: int) -> None:
    count = fitting(sizes, limit)
    assert count >= min(1, len(sizes))
    assert count <= 1 or sum(sizes[:count]) <= limit
    assert count == len(sizes) or sum(sizes[: count + 1]) > limit


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_carried_bytes_are_those_of_the_text_in_a_json_object(text: str) -> None:
    assert carried_bytes(text.encode()) + 1 == len(json.dumps(text))


def test_a_page_leaves_room_for_the_rest_of_the_answer() -> None:
    assert MAX_PAGE_BYTES < FUNCTION_BYTES - 64 * 1024
