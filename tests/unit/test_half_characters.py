"""Half a character (a lone surrogate) has no UTF-8 form. Wherever one is given it is an input error that changes
nothing, never a failure of the table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from pydantic import Field

from shardweave.errors import InputError
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, Constraint, Equal, OneOf, Prefix, QuerySpec, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Store
from shardweave.table.conditions import BeginsWith, Between, Compare, Condition, Contains, In, Size
from tests.unit.api_world import CURSOR_KEYS, Client, api_of, problem_of
from tests.unit.store_world import World

HALF = "a\ud83d"
ESCAPED = "a\\ud83d"
IN_A_URL = "a%ED%A0%BD"


class Page(Entity, token="page", partition="book", sort="title"):
    """One page of a book."""

    book: str
    title: str
    text: str | None = None
    tags: list[str] = Field(default_factory=list)
    notes: dict[str, str] = Field(default_factory=dict)

    text_range_key = RangeKey("text", "title")


class Shelf(Entity, token="shelf", collection="shelves"):
    """What holds books."""

    shelf_id: str = unique_property()
    name: str | None = None


SCHEMA = Schema([Page, Shelf], [Index("texts", "hash_key", "text_range_key", entities=(Page,))])
BOOK: Mapping[str, Constraint] = {"book": Equal("b")}
AT: Mapping[str, Any] = {"book": "b", "title": "t"}

QUERIES: dict[str, QuerySpec] = {
    "equal": QuerySpec("page", {"book": Equal(HALF)}),
    "one of": QuerySpec("page", {**BOOK, "title": OneOf(("t", HALF))}),
    "prefix": QuerySpec("page", {**BOOK, "title": Prefix(HALF)}),
    "prefix of an index": QuerySpec("page", {**BOOK, "text": Prefix(HALF)}, "texts"),
    "low": QuerySpec("page", {**BOOK, "title": Range(HALF, None)}),
    "high": QuerySpec("page", {**BOOK, "title": Range(None, HALF)}),
    "branch": QuerySpec("page", branches=(BranchSpec({**BOOK, "title": Prefix(HALF)}),)),
    "cursor": QuerySpec("page", BOOK, cursor=HALF),
    "entity": QuerySpec(HALF, BOOK),
    "index": QuerySpec("page", BOOK, HALF),
    "condition": QuerySpec("page", {HALF: Equal("b")}),
    "properties": QuerySpec("page", BOOK, properties=(HALF,)),
}

FILTERS: dict[str, Condition] = {
    "eq": Compare("text", "=", HALF),
    "ne": Compare("text", "<>", HALF),
    "lt": Compare("text", "<", HALF),
    "begins with": BeginsWith("text", HALF),
    "between": Between("text", "a", HALF),
    "in": In("text", ("a", HALF)),
    "contains": Contains("text", HALF),
    "contains a member": Contains("tags", HALF),
    "a list": Compare("tags", "=", [HALF]),
    "a mapping": Compare("notes", "=", {HALF: "a"}),
    "a name": Size(HALF, "=", 1),
}

WRITES: dict[str, Callable[[Store], Any]] = {
    "key": lambda store: store.create({"book": "b", "title": HALF}, Page),
    "text": lambda store: store.create({"book": "b", "title": "u", "text": HALF}, Page),
    "member": lambda store: store.create({"book": "b", "title": "u", "tags": [HALF]}, Page),
    "name of a mapping": lambda store: store.create({"book": "b", "title": "u", "notes": {HALF: "a"}}, Page),
    "name of a property": lambda store: store.create({"book": "b", "title": "u", HALF: "a"}, Page),
    "record": lambda store: store.create(Page(book="b", title="u", text=HALF)),
    "put": lambda store: store.put(Page(book="b", title="t", text=HALF)),
    "update": lambda store: store.update(Page, AT, {"text": HALF}),
    "update of a key": lambda store: store.update(Shelf, HALF, {"name": "n"}),
    "delete": lambda store: store.delete(Shelf, HALF),
    "transaction": lambda store: store.transact([Create({"book": "b", "title": HALF}, Page)]),
}

READS: dict[str, Callable[[Store], Any]] = {
    "get": lambda store: store.get(Shelf, HALF),
    "get by several": lambda store: store.get(Page, {"book": HALF, "title": "t"}),
    "batch": lambda store: store.batch_get(Shelf, [HALF]),
}


@pytest.fixture
def world() -> World:
    world = World(schema=SCHEMA)
    world.store.create({**AT, "text": "kept"}, Page)
    return world


def asked(world: World, spec: QuerySpec) -> list[Any]:
    """The records that a query finds on the store's table."""
    return list(QueryRunner(SCHEMA, world.table, CURSOR_KEYS, clock=world.clock).records(spec))


@pytest.mark.parametrize("how", QUERIES)
def test_in_a_query(world: World, how: str) -> None:
    with pytest.raises(InputError):
        asked(world, QUERIES[how])


@pytest.mark.parametrize("how", FILTERS)
def test_in_a_filter(world: World, how: str) -> None:
    with pytest.raises(InputError):
        asked(world, QuerySpec("page", BOOK, filter=FILTERS[how]))


@pytest.mark.parametrize("how", WRITES)
def test_in_a_write(world: World, how: str) -> None:
    before = world.items()
    with pytest.raises(InputError):
        WRITES[how](world.store)
    assert world.items() == before


def test_in_a_batch(world: World) -> None:
    before = world.items()
    (answer,) = world.store.batch_write([Page(book="b", title="u", text=HALF)]).puts
    assert isinstance(answer.error, InputError)
    assert world.items() == before


@pytest.mark.parametrize("how", READS)
def test_in_a_read(world: World, how: str) -> None:
    with pytest.raises(InputError):
        READS[how](world.store)


@pytest.mark.parametrize(
    ("method", "target", "body"),
    [
        ("POST", "/v1/shelves", '{"shelfId": "%s"}'),
        ("POST", "/v1/shelves", '{"shelfId": "s", "name": "%s"}'),
        ("POST", "/v1/shelves", '{"shelfId": "s", "%s": "n"}'),
        ("PUT", "/v1/shelves/s", '{"name": "%s"}'),
        ("PATCH", "/v1/shelves/s", '{"name": "%s"}'),
        ("POST", "/v1/shelves/batch-write", '{"puts": [{"shelfId": "%s"}]}'),
        ("POST", "/v1/shelves/batch-write", '{"deletes": ["%s"]}'),
        ("POST", "/v1/shelves/batch-get", '{"keys": ["%s"]}'),
        ("POST", "/v1/pages/query", '{"conditions": {"book": "%s"}}'),
        ("POST", "/v1/pages/query", '{"conditions": {"book": "b", "title": {"prefix": "%s"}}}'),
        ("POST", "/v1/pages/query", '{"conditions": {"book": "b"}, "filter": {"property": "text", "eq": "%s"}}'),
    ],
)
def test_in_a_body(method: str, target: str, body: str) -> None:
    headers = {"content-type": "application/json"}
    answer = Client(api_of(SCHEMA)).request(method, target, (body % ESCAPED).encode(), headers)
    problem_of(answer, 400, "malformed_request")


@pytest.mark.parametrize(
    "target",
    [
        "/v1/pages?book=%s",
        "/v1/pages?book=b&title=%s",
        "/v1/pages?book=b&title[prefix]=%s",
        "/v1/pages?book=b&nextToken=%s",
        "/v1/pages?book=b&%s=1",
    ],
)
def test_in_a_url(target: str) -> None:
    assert Client(api_of(SCHEMA)).get(target % IN_A_URL).status == 400
