"""A value without a declared type comes back equal to what was given, or it is refused, wherever records come in."""

from __future__ import annotations

import datetime as dt
import enum
import json
import math
import uuid
from collections import Counter, OrderedDict
from collections.abc import Callable
from decimal import Decimal
from types import MappingProxyType
from typing import Annotated, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shardweave.cli.json_lines import parse_object
from shardweave.cli.load import Loading
from shardweave.cli.records import whole_record
from shardweave.errors import InputError, SchemaError, ValueRefused
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Put, Store
from shardweave.table.values import from_attribute_values, to_attribute_values
from tests.unit.api_world import CURSOR_KEYS, Client, api_of, json_of
from tests.unit.store_world import World
from tests.unit.values_world import same

Document = TypeAliasType("Document", dict[str, Any])


class Tone(enum.StrEnum):
    """Texts that are more."""

    LOW = "low"


class Sheet(Entity, token="sheet"):
    """A place for anything, in every way that a type can say so."""

    sheet_id: str = unique_property()
    anything: Any = None
    whatever: object = None
    document: dict[str, Any] = Field(default_factory=dict)
    bare: dict = Field(default_factory=dict)  # type: ignore[type-arg]
    row: list[Any] = Field(default_factory=list)
    bare_row: list = Field(default_factory=list)  # type: ignore[type-arg]
    place: tuple[Decimal, Any] | None = None
    many: tuple[Any, ...] = ()
    json_value: JsonValue = None
    alias: Document | None = None
    noted: Annotated[dict[str, Any] | list[Any] | None, Field(title="noted")] = None
    deep: list[dict[str, list[Any]]] = Field(default_factory=list)
    typed: dict[str, list[Decimal]] = Field(default_factory=dict)
    note: str = ""


SCHEMA = Schema([Sheet])
SHEETS = SCHEMA[Sheet]

FLOATS = st.floats(-1e100, 1e100).filter(
    lambda one: (one == 0 or abs(one) > 1e-100) and (not one.is_integer() or int(one) == int(Decimal(repr(one))))
)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
SCALARS = (
    st.none() | st.booleans() | st.integers(-(10**37), 10**37) | FLOATS | TEXTS | st.floats(-9, 9).map(lambda x: x / 8)
).filter(lambda one: one is None or not isinstance(one, float) or one == 0 or abs(one) > 1e-100)
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS.filter(bool), inner, max_size=3),
    max_leaves=8,
)
SETS = st.sets(TEXTS, min_size=1) | st.sets(st.binary(max_size=3), min_size=1) | st.sets(FLOATS, min_size=1, max_size=4)
ANYTHING = JSON | st.binary(max_size=4) | SETS
RECORDS = st.builds(
    lambda **given: Sheet(**given),
    sheet_id=st.just("s"),
    anything=ANYTHING,
    whatever=ANYTHING,
    document=st.dictionaries(TEXTS.filter(bool), ANYTHING, max_size=2),
    bare=st.dictionaries(TEXTS.filter(bool), JSON, max_size=2),
    row=st.lists(ANYTHING, max_size=3),
    bare_row=st.lists(JSON, max_size=3),
    place=st.none() | st.tuples(st.decimals(-9, 9, places=2), JSON),
    many=st.lists(JSON, max_size=3).map(tuple),
    json_value=JSON,
    alias=st.none() | st.dictionaries(TEXTS.filter(bool), JSON, max_size=2),
    noted=st.none() | st.lists(JSON, max_size=2) | st.dictionaries(TEXTS.filter(bool), JSON, max_size=2),
    deep=st.lists(st.dictionaries(TEXTS.filter(bool), st.lists(JSON, max_size=2), max_size=2), max_size=2),
    typed=st.dictionaries(TEXTS.filter(bool), st.lists(st.decimals(-9, 9, places=2), max_size=2), max_size=2),
)


SEEN: Counter[str] = Counter()


@settings(max_examples=100)
@given(RECORDS)
def _every_value_comes_back(record: Sheet) -> None:
    item = SHEETS.complete(SHEETS.dump(record))
    read = SHEETS.load(from_attribute_values(to_attribute_values(item)))
    for name in Sheet.model_fields:
        assert same(getattr(record, name), getattr(read, name), whole_floats_are_ints=True), name
        _count(name, getattr(record, name))
    assert SHEETS.complete(SHEETS.dump(read)) == item


def _count(name: str, value: Any) -> None:
    SEEN[type(value).__name__] += 1
    SEEN[name] += value not in (None, [], {}, ())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple, set)):
        for each in value:
            _count("inside", each)


def test_every_value_comes_back() -> None:
    SEEN.clear()
    _every_value_comes_back()
    kinds = ("str", "int", "float", "bool", "NoneType", "bytes", "list", "dict", "set", "tuple", "Decimal")
    names = [name for name in Sheet.model_fields if name != "note"]
    assert {name for name in (*kinds, *names) if SEEN[name] < 4} == set(), SEEN


REFUSED: list[Any] = [
    Decimal("0.5"),
    Decimal(2),
    1e23,
    float("nan"),
    float("inf"),
    (1, 2),
    frozenset({"a"}),
    set(),
    {1: "a"},
    {None: "a"},
    bytearray(b"x"),
    dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    dt.date(2024, 1, 1),
    dt.time(1),
    dt.timedelta(1),
    uuid.UUID(int=5),
    Tone.LOW,
    OrderedDict(a=1),
    MappingProxyType({"a": 1}),
    object(),
]
WAYS: dict[str, Callable[[Store, dict[str, Any]], Any]] = {
    "create": lambda store, given: store.create({"sheet_id": "b", **given}, Sheet),
    "record": lambda store, given: store.create(Sheet(sheet_id="b", **given)),
    "put": lambda store, given: store.put(Sheet(sheet_id="a", **given)),
    "update": lambda store, given: store.update(Sheet, "a", given),
    "copy": lambda store, given: store.put(Sheet(sheet_id="a").model_copy(update=given)),
    "batch": lambda store, given: batched(store, Put({"sheet_id": "b", **given}, Sheet)),
}


def batched(store: Store, put: Put) -> None:
    (outcome,) = store.batch_write([put]).puts
    if outcome.error is not None:
        raise outcome.error


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("value", REFUSED, ids=lambda value: f"{type(value).__name__}")
def test_what_would_come_back_as_another_value_or_type_is_refused(way: str, value: Any) -> None:
    world = World(schema=SCHEMA)
    world.store.create(Sheet(sheet_id="a"))
    before = world.items()
    no_number = isinstance(value, float) and not math.isfinite(value)  # refused in any type, so at its place
    for name, held, place in (
        ("anything", value, "anything"),
        ("document", {"x": [value]}, "document.x[0]"),
        ("deep", [{"x": [value]}], "deep[0].x[0]"),
    ):
        with pytest.raises(InputError) as refused:
            WAYS[way](world.store, {name: held})
        assert refused.value.where == (place if no_number else name)
        assert refused.value.fix
    assert world.items() == before


def test_an_update_of_another_property_leaves_it_as_it_is() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Sheet(sheet_id="a", document={"x": 0.1, "y": [1, 2.5]}, json_value=[0.5]))
    before = world.stored(Sheet)["document"]
    assert world.store.update(Sheet, "a", {"note": "new"}).document == {"x": 0.1, "y": [1, 2.5]}
    assert world.stored(Sheet)["document"] == before
    exact = Decimal("0.30000000000000000000000001")
    world.written_behind(Sheet, document={"x": exact})
    assert world.store.update(Sheet, "a", {"note": "newer"}).document == {"x": exact}


def test_chosen_properties_are_as_in_the_record() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Sheet(sheet_id="a", document={"x": 0.1}))
    runner = QueryRunner(SCHEMA, world.inner, CURSOR_KEYS, clock=world.clock)
    (part,) = runner.run(QuerySpec("sheet", properties=("document",))).items
    assert same(part["document"], {"x": 0.1})


def test_over_http_and_from_a_line_too() -> None:
    given = {"x": 0.1, "y": [1, 2.5, True, None, "t"], "z": {"w": 1e-7, "v": 1e22, "u": 2.0}}
    client = Client(api_of(SCHEMA))
    assert (
        client.post("/v1/sheets", {"sheetId": "a", "document": given, "anything": given, "jsonValue": given}).status
        == 201
    )
    read = json_of(client.get("/v1/sheets/a"))
    assert read["document"] == read["anything"] == read["jsonValue"] == given
    assert client.put("/v1/sheets/a", read).status == 200
    assert json_of(client.get("/v1/sheets?properties=document"))["items"] == [{"document": given}]
    line = whole_record(SHEETS, parse_object(json.dumps({"sheetId": "b", "document": given})))
    store = World(schema=SCHEMA).store
    batched(store, Put(line, Sheet))
    sheet = store.get(Sheet, "b")
    assert sheet is not None
    assert same(sheet.document, {**given, "z": {"w": 1e-7, "v": 10**22, "u": 2}})


STORED = {
    "b": b"x",
    "d": Decimal("0.1234567890123456789"),
    "s": {1, 2.5},
    "t": {b"x", b"y"},
    "deep": {"k": {"b": [b"y", {"s": {"u"}, "d": Decimal("1.00000000000000000001E-100")}]}},
    "text": "eA==",
}
"""Of what JSON has no form for, some of each, and a text that looks like one."""


def stored_sheet() -> tuple[World, Client]:
    world = World(schema=SCHEMA)
    held = dict.fromkeys(("anything", "whatever", "document", "bare", "alias", "noted"), STORED)
    rows = {name: [STORED, b"z"] for name in ("row", "bare_row")}
    world.store.create(
        Sheet(sheet_id="a", place=(Decimal(1), b"x"), many=(b"x", {"y"}), deep=[{"x": [b"x"]}], **held, **rows)
    )
    return world, Client(api_of(SCHEMA, table=world.inner))


def test_a_patch_keeps_what_it_does_not_name() -> None:
    world, client = stored_sheet()
    for name in ("anything", "whatever", "document", "bare", "alias", "noted"):
        assert client.patch("/v1/sheets/a", {name: {"n": 1, "deep": {"k": {"m": 2}}, "text": None}}).status == 200
        expected = {**STORED, "n": 1, "deep": {"k": {**STORED["deep"]["k"], "m": 2}}}
        del expected["text"]
        assert same(getattr(world.store.get(Sheet, "a"), name), expected), name


@pytest.mark.parametrize("way", ["put", "patch", "batch-write", "load"])
def test_what_is_put_back_as_json_shows_it_is_what_was_stored(way: str) -> None:
    world, client = stored_sheet()
    before = world.store.get(Sheet, "a")
    read = json_of(client.get("/v1/sheets/a"))
    read["document"]["s"].reverse()
    if way == "load":
        Loading(world.store, SCHEMA, None, pytest.fail).load(iter([json.dumps(read).encode()]))
    elif way == "batch-write":
        assert json_of(client.post("/v1/sheets/batch-write", {"puts": [read]}))["complete"]
    else:
        send = client.put if way == "put" else client.patch
        assert send("/v1/sheets/a", read).status == 200
    after = world.store.get(Sheet, "a")
    for name in Sheet.model_fields:
        assert same(getattr(before, name), getattr(after, name)), name


def test_what_is_given_otherwise_is_what_is_given() -> None:
    world, client = stored_sheet()
    read = json_of(client.get("/v1/sheets/a"))["document"]
    read |= {"b": "eQ==", "d": "0.12345678901234567890", "s": [1, 2.5, 3], "t": [], "text": read["b"], "new": read["b"]}
    read["deep"]["k"]["b"].insert(0, "first")
    assert client.patch("/v1/sheets/a", {"document": read}).status == 200
    sheet = world.store.get(Sheet, "a")
    assert sheet is not None
    assert same(sheet.document, read)
    assert client.patch("/v1/sheets/a", {"many": [True, ["y"]]}).status == 200
    sheet = world.store.get(Sheet, "a")
    assert sheet is not None
    assert same(sheet.many, (True, {"y"}))


def test_in_python_a_text_is_a_text() -> None:
    world, _ = stored_sheet()
    world.store.update(Sheet, "a", {"document": {"b": "eA=="}})
    assert world.store.put({"sheet_id": "a", "anything": "eA=="}, Sheet).anything == "eA=="
    sheet = world.store.update(Sheet, "a", {"document": {"b": "eA=="}})
    assert same(sheet.document, {"b": "eA=="})


def test_a_default_that_would_come_back_as_another_is_a_fault() -> None:
    class Wrong(Entity, token="wrong"):
        wrong_id: str = unique_property()
        options: dict[str, Any] = Field({"rate": Decimal("0.5")})

    with pytest.raises(SchemaError, match="its default is not a value of its type"):
        Schema([Wrong])


def test_the_message_names_the_property_and_the_fix() -> None:
    with pytest.raises(ValueRefused) as refused:
        World(schema=SCHEMA).store.create(Sheet(sheet_id="a", document={"x": Decimal("0.5")}))
    assert "Decimal" in refused.value.message
    assert "declare the type" in refused.value.fix
