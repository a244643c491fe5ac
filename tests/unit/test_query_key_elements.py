"""Properties of every type that only keys hold: behind a narrow index they are shown and filtered on all the same.

They stand in the table's hash key (`kind`), in its range key, in the index's own keys, and in keys of other indexes
that this one projects.
"""

from __future__ import annotations

import datetime as dt
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

import pytest

from shardweave.errors import UnsupportedQuery
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, Equal, QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.conditions import Between, Compare, Condition, Exists, Missing
from shardweave.table.embedded import EmbeddedTable
from shardweave.values.codecs import DecimalCodec, Timestamp
from tests.unit.api_world import Client, api_of, json_of, problem_of

NOW = 1_730_000_000_000


class Colour(StrEnum):
    RED = "red"
    BLUE = "blue"


class Sheet(Entity, token="sheet", partition=("kind", "number", "colour"), sort=("serial", "day")):
    kind: str
    number: int
    colour: Colour
    serial: uuid.UUID
    day: dt.date
    created: Timestamp = timestamp_property()
    price: Annotated[Decimal, DecimalCodec(2)]
    seen: dt.datetime
    live: bool
    state: str
    owner: str | None = None
    place: str | None = None
    note: str | None = None

    state_hash_key = HashKey("state")
    owner_hash_key = HashKey("owner")
    pair_hash_key = HashKey("owner", "place")
    price_range_key = RangeKey("price", desc("created"))
    seen_range_key = RangeKey("seen", "live", "owner")


SCHEMA = Schema(
    [Sheet],
    [
        Index("byState", "state_hash_key", "range_key", projection="KEYS_ONLY"),
        Index("byPrice", "state_hash_key", "price_range_key", projection="KEYS_ONLY"),
        Index("byOwner", "owner_hash_key", "price_range_key"),
        Index("bySeen", "hash_key", "seen_range_key"),
        Index("wide", "state_hash_key", "created", projection=["seen_range_key", "price_range_key", "pair_hash_key"]),
        Index("byPair", "pair_hash_key", "created"),
    ],
)
VALUES: dict[str, list[Any]] = {
    "kind": ["a b", "c!#"],
    "number": [-3, 10],
    "colour": [Colour.BLUE, Colour.RED],
    "serial": [uuid.UUID(int=7), uuid.UUID(int=9)],
    "day": [dt.date(2024, 2, 29), dt.date(2025, 1, 1)],
    "created": [NOW, NOW - 1],
    "price": [Decimal("1.50"), Decimal("-2.25")],
    "seen": [dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC), dt.datetime(2024, 5, 1, 0, 0, 0, 7, tzinfo=dt.UTC)],
    "live": [True, False],
    "state": ["open", "open"],
    "owner": ["ann", None],
    "place": [None, "attic"],
}
IN_TABLE = ("kind", "number", "colour", "serial", "day", "state")
HELD = {
    "byState": IN_TABLE,
    "byPrice": (*IN_TABLE, "price", "created"),
    "wide": (*IN_TABLE, "created", "price", "seen", "live", "owner"),
}


@dataclass
class World:
    runner: QueryRunner
    records: list[Sheet]


@pytest.fixture(scope="module")
def world() -> Iterator[World]:
    table = EmbeddedTable(SCHEMA.layout)
    store = Store(SCHEMA, table, clock=lambda: NOW)
    records = [Sheet(**{name: values[n] for name, values in VALUES.items()}, note="n") for n in (0, 1)]
    for record in records:
        store.create(record)
    runner = QueryRunner(SCHEMA, table, CursorKeys("k", {"k": bytes(32)}), clock=lambda: NOW)
    yield World(runner, records)
    runner.close()
    table.close()


def spec_of(index: str, **asked: Any) -> QuerySpec:
    return replace(QuerySpec("sheet", {"state": Equal("open")}, index), **asked)


CASES = [(index, name) for index, names in HELD.items() for name in names]


@pytest.mark.parametrize(("index", "name"), CASES)
def test_what_a_key_holds_is_shown(world: World, index: str, name: str) -> None:
    python_name = SCHEMA.entity("sheet").properties[name].name
    expected = {record.kind: getattr(record, python_name) for record in world.records}
    for properties in (None, ("kind", name)):
        parts = world.runner.run(spec_of(index, properties=properties)).items
        shown = {part["kind"]: part.get(name) for part in parts}
        assert shown == expected
        assert {type(each) for each in shown.values()} == {type(each) for each in expected.values()}


@pytest.mark.parametrize(("index", "name"), CASES)
def test_what_a_key_holds_is_filtered_on_and_counted(world: World, index: str, name: str) -> None:
    value = VALUES[name][0]
    filters: list[Condition] = [Compare(name, "=", value), Compare(name, "<>", value), Exists(name), Missing(name)]
    if name not in ("live",):
        filters.append(Between(name, value, value))
    for each in filters:
        held = [record for record in world.records if _holds(each, getattr(record, name))]
        for shown in (None, ("state",)):
            found = world.runner.run(spec_of(index, filter=each, properties=shown)).items
            assert len(found) == len(held), each
        assert world.runner.count(spec_of(index, filter=each)).count == len(held)
        assert world.runner.explain(spec_of(index, filter=each)).filter_here


def _holds(test: Condition, value: Any) -> bool:
    if isinstance(test, Exists):
        return value is not None
    if isinstance(test, Missing):
        return value is None
    if isinstance(test, Between):
        return bool(value == test.low)
    assert isinstance(test, Compare)
    return bool(value == test.value) if test.operator == "=" else bool(value != test.value)


@pytest.mark.parametrize("index", ["byPrice", "wide"])
def test_a_time_window_reads_the_time_in_a_key(world: World, index: str) -> None:
    for properties in (None, ("kind",)):
        found = world.runner.run(spec_of(index, earliest=NOW, properties=properties)).items
        assert [part["kind"] for part in found] == ["a b"]
    assert world.runner.count(spec_of(index, earliest=NOW)).count == 1
    with pytest.raises(UnsupportedQuery, match="does not project created"):
        world.runner.run(spec_of("byState", earliest=NOW))


@pytest.mark.parametrize(("index", "name"), [("byState", "owner"), ("byPrice", "seen"), ("wide", "place")])
def test_what_no_key_says_of_every_record_is_refused(world: World, index: str, name: str) -> None:
    """A sharded key with two elements is not there when one is missing, and then says nothing of the other."""
    for more in ({"properties": (name,)}, {"filter": Exists(name)}):
        with pytest.raises(UnsupportedQuery, match=f"does not project {name}"):
            world.runner.run(spec_of(index, **more))


def test_a_branch_that_projects_everything_shows_what_another_has_in_its_keys() -> None:
    class Note(Entity, token="note", partition=("book",), sort=("page",)):
        book: str
        page: str
        state: str
        owner: str
        state_hash_key = HashKey("state")
        owner_hash_key = HashKey("owner")
        line_range_key = RangeKey("page", "owner")

    keys = ["state_hash_key", "owner_hash_key"]
    schema = Schema(
        [Note],
        [
            Index("byState", "state_hash_key", "line_range_key", projection=keys[1:]),
            Index("byOwner", "owner_hash_key", "line_range_key"),
        ],
    )
    table = EmbeddedTable(schema.layout)
    store = Store(schema, table)
    store.create(Note(book="b1", page="p1", state="open", owner="ann"))
    store.create(Note(book="b2", page="p2", state="shut", owner="ann"))
    runner = QueryRunner(schema, table, CursorKeys("k", {"k": bytes(32)}))
    branches = (BranchSpec({"state": Equal("open")}, "byState"), BranchSpec({"owner": Equal("ann")}, "byOwner"))
    spec = QuerySpec("note", branches=branches, properties=("book", "state", "owner"))
    expected = [("b1", "open", "ann"), ("b2", "shut", "ann")]
    assert [(part["book"], part["state"], part["owner"]) for part in runner.run(spec).items] == expected
    for book in ("b1", "b2"):
        asked = replace(spec, filter=Compare("book", "=", book))
        assert [part["book"] for part in runner.run(asked).items] == [book]
        assert runner.count(asked).count == 1
    runner.close()
    table.close()


def test_it_is_so_over_http() -> None:
    client = Client(api_of(SCHEMA))
    body = {
        "kind": "a b", "number": -3, "colour": "blue", "serial": str(uuid.UUID(int=7)), "day": "2024-02-29",
        "price": "1.50", "seen": "2024-01-01T12:00:00Z", "live": True, "state": "open",
    }  # fmt: skip
    assert client.post("/v1/sheets", body).status == 201
    asked = {"index": "byPrice", "conditions": {"state": "open"}}
    names = ["kind", "number", "colour", "serial", "day", "price"]
    (shown,) = json_of(client.post("/v1/sheets/query", asked | {"properties": names}))["items"]
    assert {name: shown[name] for name in names if name != "price"} == {n: body[n] for n in names if n != "price"}
    assert Decimal(str(shown["price"])) == Decimal("1.50")
    for name in names:
        filtered = asked | {"filter": {"property": name, "eq": body[name]}}
        assert len(json_of(client.post("/v1/sheets/query", filtered))["items"]) == 1, name
        assert json_of(client.post("/v1/sheets/count", filtered)) == {"count": 1}
        assert client.post("/v1/sheets/explain", filtered).status == 200
    refused = client.post("/v1/sheets/query", asked | {"filter": {"property": "note", "eq": "n"}})
    assert "does not project note" in problem_of(refused, 400, "unsupported_query")["detail"]
