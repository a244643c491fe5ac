"""Nothing that is answered depends on records that the caller may not see: with and without them it is the same."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardweave.access import Allow
from shardweave.api.http import Response
from shardweave.keys.sharding import ShardBump
from shardweave.schema.checks.access import access_advice
from shardweave.schema.declarations import Index, Lookup
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from tests.unit.access_world import Person, person
from tests.unit.api_world import api_of, problem_of

OWN = Allow("*", owner="user_id")


class Entry(
    Entity,
    token="entry",
    collection="entries",
    access=[Allow("*", groups="admin"), OWN],
    shard_bumps=[ShardBump(0, char_bits=1, chars=1)],
):
    """Somebody's own, in orders that all share."""

    entry_id: str = unique_property()
    user_id: str
    shelf: str
    title: str
    words: int = 0

    shelf_hash_key = HashKey("shelf")
    user_hash_key = HashKey("user_id")
    title_range_key = RangeKey("title")

    titles = Lookup("title")


class Open(Entity, token="open", access=[Allow("*")]):
    """Everybody's, but by one index, which shows each their own."""

    open_id: str = unique_property()
    user_id: str
    shelf: str

    shelf_hash_key = HashKey("shelf")


SCHEMA = Schema(
    [Entry, Open],
    [
        Index("byShelf", "shelf_hash_key", "title_range_key"),
        Index("narrow", "shelf_hash_key", "words", entities=(Entry,), projection=("user_id",)),
        Index("byUser", "user_hash_key", "title_range_key"),
        Index("mine", "shelf_hash_key", "range_key", entities=(Open,), owner="user_id"),
    ],
)

TITLES = st.text("ab", min_size=1, max_size=3)
RECORDS = st.lists(st.tuples(TITLES, st.integers(0, 3)), max_size=6)
SOME = st.lists(st.tuples(TITLES, st.integers(0, 3)), min_size=3, max_size=6)
FILTERS = st.one_of(
    st.none(),
    st.builds(lambda text: {"property": "title", "beginsWith": text}, TITLES),
    st.builds(lambda number: {"property": "words", "ge": number}, st.integers(0, 3)),
)
CONDITIONS = st.sampled_from([{"shelf": "one"}, {"shelf": "one", "title": {"prefix": "a"}}])
ASKED = st.fixed_dictionaries(
    {"conditions": CONDITIONS, "limit": st.sampled_from([1, 1, 2, 100])},
    optional={
        "index": st.sampled_from(["byShelf", "narrow"]),
        "filter": FILTERS.filter(bool),
        "reverse": st.booleans(),
        "hydrate": st.booleans(),
        "timeLimitMs": st.just(3_000_000),
        "onShardError": st.sampled_from(["fail", "partial"]),
    },
)
COSTS = st.sampled_from([{}, {}, {}, {"stats": True}, {"stats": False}, {"budget": 1}, {"budget": 3}, {"run": True}])
LISTED = st.sampled_from(
    [
        "entries?index=byShelf&shelf=one&limit=2",
        "entries?index=byShelf&shelf=one&title.prefix=a&limit=1",
        "entries?lookup=titles&title=a&limit=1",
        "entries?limit=2",
        "entries/theirs0",
        "opens?index=mine&shelf=one&limit=2",
    ]
)


def test_the_schema_is_advised_to_put_the_owner_into_the_key_of_an_index() -> None:
    found = {advice.where: advice.fix for advice in access_advice(SCHEMA.entities.values())}
    fix = "put userId into its hash key"
    assert found == {"index byShelf": fix, "index narrow": fix, "index mine": fix}


@dataclass
class World:
    """A table with the caller's records, and one where others have some between them."""

    alone: Person
    among_others: Person


def world(mine: list[tuple[str, int]], theirs: list[tuple[str, int]]) -> World:
    people = []
    for others in ((), theirs):
        table = EmbeddedTable(SCHEMA.layout)
        store = Store(SCHEMA, table)
        for owner, records in (("ann", mine), ("bob", others)):
            name = "mine" if owner == "ann" else "theirs"
            for number, (title, words) in enumerate(records):
                shared = {"user_id": owner, "shelf": "one"}
                store.create(Entry(entry_id=f"{name}{number}", title=title, words=words, **shared))
                store.create(Open(open_id=f"{name}{number}", **shared))
        people.append(person(api_of(SCHEMA, table=table), "ann"))
    return World(*people)


def told(answer: Response) -> Any:
    """What a caller learns from an answer: of a token, which nobody can read, that there is one."""
    document = json.loads(answer.body)
    for name in ("nextToken", "prevToken"):
        if document.get(name):
            document[name] = "a token"
    return answer.status, document


def walked(caller: Person, verb: str, asked: dict[str, Any]) -> list[Any]:
    """All that a caller learns from a query and the pages after it, and on the way back."""
    found, way, token = [], "nextToken", None
    for _ in range(60):
        answer = caller.post(f"/v1/entries/{verb}", asked if token is None else {**asked, way: token})
        found.append(told(answer))
        tokens = json.loads(answer.body)
        if way == "nextToken" and tokens.get(way) is None:
            way = "prevToken"
        token = tokens.get(way)
        if token is None:
            return found
    raise AssertionError("the walk does not end")


met: Counter[str] = Counter()


@settings(max_examples=150, suppress_health_check=[HealthCheck.too_slow])
@given(mine=SOME, theirs=RECORDS, verb=st.sampled_from(["query", "count", "explain"]), asked=ASKED, costs=COSTS)
def _answers_are_equal(
    mine: list[tuple[str, int]], theirs: list[tuple[str, int]], verb: str, asked: dict[str, Any], costs: dict[str, Any]
) -> None:
    both = world(mine, theirs)
    asked = {**asked, **costs} if verb == "explain" or "run" not in costs else asked
    answers = walked(both.alone, verb, asked)
    assert walked(both.among_others, verb, asked) == answers
    met[f"{verb} answered" if answers[0][0] == 200 else f"{verb} refused"] += 1
    met["several pages"] += len(answers) > 1
    met["others between"] += bool(theirs) and bool(mine)


def test_a_query_tells_nothing_of_records_that_the_caller_may_not_see() -> None:
    met.clear()
    _answers_are_equal()
    floors = {
        "query answered": 20,
        "query refused": 5,
        "count answered": 8,
        "explain answered": 8,
        "several pages": 5,
        "others between": 30,
    }
    assert {name: met[name] for name, floor in floors.items() if met[name] < floor} == {}


@settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow])
@given(mine=RECORDS, theirs=RECORDS, target=LISTED)
def test_a_list_tells_nothing_of_records_that_the_caller_may_not_see(
    mine: list[tuple[str, int]], theirs: list[tuple[str, int]], target: str
) -> None:
    both = world(mine, theirs)
    assert told(both.among_others.get(f"/v1/{target}")) == told(both.alone.get(f"/v1/{target}"))


@pytest.mark.parametrize(
    ("verb", "more"),
    [("query", {"stats": True}), ("query", {"budget": 1}), ("count", {"stats": True}), ("explain", {"run": True})],
)
def test_what_is_read_is_told_only_where_nothing_else_is_read(verb: str, more: dict[str, Any]) -> None:
    caller = world([("a", 1)], [("a", 1), ("b", 2)]).among_others
    shared = {"index": "byShelf", "conditions": {"shelf": "one"}}
    refused = problem_of(caller.post(f"/v1/entries/{verb}", {**shared, **more}), 400, "unsupported_query")
    assert (refused["where"], refused["fix"]) == (next(iter(more)), f"leave {next(iter(more))} out, or fix userId")
    own = {"index": "byUser", "conditions": {"userId": "ann"}}
    assert caller.post(f"/v1/entries/{verb}", {**own, **more}).status == 200
    for others in ("bob", "an"):
        foreign = {"index": "byUser", "conditions": {"userId": others}}
        problem_of(caller.post(f"/v1/entries/{verb}", {**foreign, **more}), 400, "unsupported_query")
    mine = {"index": "mine", "conditions": {"shelf": "one"}}
    problem_of(caller.post(f"/v1/opens/{verb}", {**mine, **more}), 400, "unsupported_query")
    admin = person(caller.api, "root", "admin")
    assert admin.post(f"/v1/entries/{verb}", {**shared, **more}).status == 200
