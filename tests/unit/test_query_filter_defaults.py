"""A property that was declared later: filters, counts and chosen properties see of older records what those show."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import Field

from shardweave.errors import UnsupportedQuery
from shardweave.query.filters import filter_from_json
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.conditions import And, Compare, Condition, Contains, Exists, In, Missing, Size
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem
from tests.unit.query_world import KEYS


class Mood(enum.Enum):
    """Declared in another order than that of the texts."""

    CALM = "calm"
    BUSY = "busy"


class Before(Entity, token="room"):
    """A room as it was declared at first."""

    room_id: str = unique_property()
    name: str

    name_range_key = RangeKey("name")


class Room(Entity, token="room"):
    """The same room later."""

    room_id: str = unique_property()
    name: str
    seats: int = 4
    mood: Mood = Mood.BUSY
    colour: str | None = "white"
    note: str | None = None
    tags: list[str] = Field(default_factory=list)
    marks: set[str] = Field(default_factory=lambda: {"new"})
    label: str = Field(default_factory=lambda data: data["name"])

    name_range_key = RangeKey("name")
    colour_range_key = RangeKey("colour", "name")
    name_hash_key = HashKey("name")


def schema_of(model: type[Entity], *more: Index) -> Schema:
    return Schema([model], [Index("name", "hash_key", "name_range_key"), *more])


LATER = schema_of(
    Room,
    Index("some", "name_hash_key", "name_range_key", projection=["seats"]),
    Index("colour", "hash_key", "colour_range_key", projection="KEYS_ONLY"),
)


@pytest.fixture(scope="module")
def queries() -> Iterator[QueryRunner]:
    table = EmbeddedTable(LATER.layout)
    records = [
        (schema_of(Before), Before(room_id="old", name="a")),
        (LATER, Room(room_id="none", name="b", colour=None, seats=9, mood=Mood.CALM, marks={"x"}, label="l")),
        (LATER, Room(room_id="red", name="c", colour="red", note="n", tags=["t"], marks={"y"}, label="l")),
    ]
    for schema, record in records:
        entity = schema[type(record)]
        table.run(PutItem(entity.complete(entity.dump(record))))
    runner = QueryRunner(LATER, table, KEYS)
    yield runner
    runner.close()
    table.close()


@pytest.mark.parametrize(
    ("test", "ids"),
    [
        (Compare("seats", "=", 4), "old red"),
        (Compare("seats", "<>", 4), "none"),
        (Compare("seats", "<", 5), "old red"),
        (Compare("seats", ">", 5), "none"),
        (In("seats", (4, 9)), "old none red"),
        (Exists("seats"), "old none red"),
        (Missing("seats"), ""),
        (~Compare("seats", "=", 4), "none"),
        (Compare("mood", ">", Mood.CALM), "old red"),
        (Compare("colour", "=", "white"), "old"),
        (Compare("colour", "<>", "white"), "none red"),
        (Compare("colour", "=", None), "none"),
        (Compare("colour", "<>", None), "old red"),
        (In("colour", (None, "red")), "none red"),
        (Exists("colour"), "old red"),
        (Missing("colour"), "none"),
        (Compare("note", "=", None), "old none"),
        (Exists("note"), "red"),
        (Size("tags", "=", 0), "old none"),
        (Contains("marks", "new"), "old"),
        (~Contains("marks", "new"), "none red"),
        (Size("marks", "=", 1), "old none red"),
        (Compare("seats", "=", 4) & Contains("marks", "new"), "old"),
    ],
)
def test_a_filter_sees_what_a_record_shows(queries: QueryRunner, test: Condition, ids: str) -> None:
    spec = QuerySpec("room", index="name", filter=test)
    assert " ".join(each.room_id for each in queries.records(spec)) == ids
    assert queries.count(spec).count == len(ids.split())


def test_chosen_properties_show_what_the_record_shows(queries: QueryRunner) -> None:
    names = ("seats", "mood", "colour", "note", "tags", "marks")
    parts = list(queries.records(QuerySpec("room", index="name", properties=names)))
    assert parts[0] == {"seats": 4, "mood": Mood.BUSY, "colour": "white", "tags": [], "marks": {"new"}}
    assert parts[1] == {"seats": 9, "mood": Mood.CALM, "colour": None, "tags": [], "marks": {"x"}}
    whole = list(queries.records(QuerySpec("room", index="name")))
    assert [each.seats for each in whole] == [part["seats"] for part in parts]


def test_a_narrow_index_shows_defaults_of_what_it_projects(queries: QueryRunner) -> None:
    later = queries.first(QuerySpec("room", {"name": Equal("c")}, "some"))
    assert later == {"roomId": "red", "name": "c", "seats": 4}


def test_a_record_without_the_attribute_is_in_no_index_that_needs_it(queries: QueryRunner) -> None:
    assert queries.first(QuerySpec("room", {"name": Equal("a")}, "some")) is None


def test_a_key_does_not_tell_none_from_a_default(queries: QueryRunner) -> None:
    with pytest.raises(UnsupportedQuery, match="does not project colour"):
        queries.run(QuerySpec("room", index="colour", filter=Exists("colour")))
    assert [sorted(part) for part in queries.run(QuerySpec("room", index="colour")).items] == [
        ["name", "roomId"],
        ["colour", "name", "roomId"],
    ]


def test_a_default_made_of_other_properties_can_not_be_filtered_on(queries: QueryRunner) -> None:
    with pytest.raises(UnsupportedQuery, match="made from the other properties") as refused:
        queries.run(QuerySpec("room", index="name", filter=Compare("label", "=", "a")))
    assert refused.value.where == "filter.eq"


def test_what_is_too_large_for_the_table_s_expression_is_evaluated_here(queries: QueryRunner) -> None:
    tests = [~In("seats", tuple(range(100 * block, 100 * block + 90))) for block in range(1, 9)]
    tests += [Compare("seats", "=", 4)]
    spec = QuerySpec("room", index="name", filter=And(tuple(tests)))
    explained = queries.explain(spec)
    assert explained.filter_by_table, explained
    assert explained.filter_here, explained
    assert [each.room_id for each in queries.records(spec)] == ["old", "red"]
    assert queries.count(spec).count == 2


def test_an_explanation_says_what_the_table_does_and_what_is_done_here(queries: QueryRunner) -> None:
    def parts(content: dict[str, Any]) -> tuple[Any, Any]:
        found = queries.explain(QuerySpec("room", index="name", filter=filter_from_json(content)))
        return found.filter_by_table, found.filter_here

    seats = {"property": "seats", "eq": 4}
    assert parts(seats) == (({"or": [{"property": "seats", "exists": False}, seats]},), ())
    marks = {"property": "marks", "contains": "new"}
    assert parts({"and": [seats, marks]})[1] == (marks,)
    note = {"property": "note", "exists": True}
    assert parts(note) == ((note,), ())
