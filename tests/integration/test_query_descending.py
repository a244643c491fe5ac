"""Newest first as the natural order: a descending `sort`, a descending range key of an index, and an element that
stands in both keys of an index."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import SchemaError, UnsupportedQuery
from shardweave.keys.sharding import ShardBump
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, Equal, QuerySpec, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from shardweave.values.codecs import Timestamp
from tests.integration.conftest import OpenTable
from tests.unit.api_world import CURSOR_KEYS
from tests.unit.store_world import START, Clock

FOUR = [ShardBump(0, char_bits=2, chars=1)]


class Message(Entity, token="message", shard_bumps=FOUR, partition="room", sort=(desc("created"), "message_id")):
    """What somebody says: the newest first."""

    room: str
    created: Timestamp = timestamp_property()
    message_id: str
    text: str = ""


class Task(Entity, token="task", shard_bumps=FOUR):
    """Something to do."""

    task_id: str = unique_property()
    created: Timestamp = timestamp_property()
    state: str = "open"
    title: str = ""

    state_hash_key = HashKey("state")
    state_range_key = RangeKey("state", "title")
    title_range_key = RangeKey("title")


SCHEMA = Schema(
    [Message, Task],
    [
        Index("newest", "hash_key", desc("created"), entities=(Task,)),
        Index("newestOfState", "state_hash_key", desc("created")),
        Index("byTitle", "state_hash_key", "state_range_key"),
        Index("backwards", "hash_key", desc("title_range_key")),
    ],
)


class Place:
    """A store and queries on a new table of the backend."""

    def __init__(self, open_table: OpenTable) -> None:
        self.clock = Clock(START + 1_000)
        self.table = open_table(SCHEMA.layout)
        self.store = Store(SCHEMA, self.table, clock=self.clock, waiting=RetryClock(sleep=lambda _: None))
        self.queries = QueryRunner(SCHEMA, self.table, CURSOR_KEYS, clock=self.clock)

    def found(self, entity: str, limit: int = 3, **asked: Any) -> list[int]:
        """The positions in time of all records, page by page."""
        spec, times = QuerySpec(entity, limit=limit, **asked), []
        while True:
            page = self.queries.run(spec)
            times += [each.created - START for each in page.items]
            if page.cursor is None:
                return times
            spec = replace(spec, cursor=page.cursor)


@pytest.fixture
def place(open_table: OpenTable) -> Iterator[Place]:
    found = Place(open_table)
    for at in range(10):
        found.store.create(Message(room="a" if at % 2 else "b", created=START + at, message_id=f"m{at}"))
        state = "open" if at % 3 else "done"
        found.store.create(Task(task_id=f"t{at}", created=START + at, state=state, title=f"t{9 - at}"))
    yield found
    found.queries.close()


def test_a_descending_sort_is_the_order_of_the_table(place: Place) -> None:
    room = {"room": Equal("a")}
    assert place.found("message", conditions=room) == [9, 7, 5, 3, 1]
    assert place.found("message", conditions=room, reverse=True) == [1, 3, 5, 7, 9]
    assert place.found("message", conditions={**room, "created": Range(START + 3, START + 7)}) == [7, 5, 3]
    assert place.found("message", conditions={**room, "created": Equal(START + 5)}) == [5]
    key = {"room": "a", "created": START + 5, "message_id": "m5"}
    assert place.store.get(Message, key) is not None
    assert place.store.update(Message, key, {"text": "x"}).text == "x"
    assert place.store.delete(Message, key)
    assert place.found("message", conditions=room) == [9, 7, 3, 1]


def test_a_descending_range_key_is_the_order_of_the_index(place: Place) -> None:
    assert place.found("task", index="newest") == [*range(9, -1, -1)]
    assert place.found("task", index="newest", reverse=True) == [*range(10)]
    assert place.found("task", index="newest", conditions={"created": Range(START + 2, START + 5)}) == [5, 4, 3, 2]
    assert place.found("task", index="newestOfState", conditions={"state": Equal("done")}, limit=2) == [9, 6, 3, 0]
    assert place.found("task", index="backwards") == [*range(10)]
    first = place.queries.first(QuerySpec("task", index="newest"))
    assert first is not None
    assert first.task_id == "t9"
    explained = place.queries.explain(QuerySpec("task", index="newest"))
    assert explained.order == "descending"


def test_pages_of_branches_have_one_order(place: Place) -> None:
    branches = tuple(BranchSpec({"state": Equal(state)}, "newestOfState") for state in ("open", "done"))
    assert place.found("task", branches=branches, limit=4) == [*range(9, -1, -1)]
    mixed = (BranchSpec({}, "newest"), BranchSpec({"state": Equal("open")}, "byTitle"))
    with pytest.raises(UnsupportedQuery):
        place.queries.run(QuerySpec("task", branches=mixed))


def test_an_element_of_both_keys_leaves_the_next_ones_to_conditions(place: Place) -> None:
    done = {"state": Equal("done")}
    assert place.found("task", index="byTitle", conditions=done) == [9, 6, 3, 0]
    assert place.found("task", index="byTitle", conditions={**done, "title": Equal("t3")}) == [6]
    assert place.found("task", index="byTitle", conditions={**done, "title": Range("t1", "t6")}) == [6, 3]
    with pytest.raises(UnsupportedQuery):
        place.queries.run(QuerySpec("task", {"state": Range("a", "z")}, index="byTitle"))


def test_what_has_no_fixed_width_has_no_reverse_order_in_a_key() -> None:
    class Word(Entity, token="word", partition="page", sort=desc("text")):
        page: str
        text: str

    with pytest.raises(SchemaError, match="fixed width") as refused:
        Schema([Word])
    assert "sort" in str(refused.value)

    class Other(Entity, token="other", partition=desc("page"), sort="text"):  # type: ignore[arg-type]
        page: str
        text: str

    with pytest.raises(SchemaError, match="desc"):
        Schema([Other])


def test_one_pair_of_keys_has_one_index() -> None:
    with pytest.raises(SchemaError, match="same pair of keys"):
        Schema([Task], [Index("up", "hash_key", "created"), Index("down", "hash_key", desc("created"))])
