"""A property has two names, its stored and its Python name. Wherever properties are given by name, either will do; a
name that is none, and both names of one property at once, are refused, and nothing is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, Literal

import pytest
from pydantic import Field

from shardweave.cli.records import item_of, values_of, whole_record
from shardweave.errors import InputError, ShardweaveError, ValidationFailed
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.schema.declarations import Index, Sequence, Unique
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.read_models import Event, ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.store import Create, Put, Store
from shardweave.store import Update as Change
from tests.unit.api_world import CURSOR_KEYS, Client, api_of
from tests.unit.store_world import World


class Visitor(Entity, token="visitor", partition="house_name", sort="visit_number"):
    """Who comes to a house; numbered, and known by a badge there."""

    house_name: str
    visit_number: int = 0
    first_name: str = ""
    badge_text: str | None = None
    seat_number: int = 0

    house_hash_key = HashKey("house_name")
    by_badge = Unique("badge_text", within="house_name")
    numbers = Sequence("seat_number", within="house_name")


class Shown(Entity, token="shown", partition="house_name", sort="visit_number"):
    """What events say of a visitor."""

    house_name: str
    visit_number: int
    first_name: str = ""
    seat_number: int = 0


class Renamed(Event):
    """Somebody has another name."""

    type: Literal["renamed"]
    changes: dict[str, Any] = Field(default_factory=dict)
    add: dict[str, int] = Field(default_factory=dict)


READ_MODEL = ReadModel(
    "renames",
    (Renamed,),
    (Shown,),
    lambda event: (Update(Shown, {"house_name": "h", "visit_number": 1}, event.changes, event.add),),
)
SCHEMA = Schema([Visitor, Shown], [Index("house", "house_hash_key", "range_key", (Visitor,))], read_models=[READ_MODEL])
KEY = {"house_name": "h", "visit_number": 1}


def batched(store: Store, put: Put) -> None:
    (outcome,) = store.batch_write([put]).puts
    if outcome.error is not None:
        raise outcome.error


def applied(store: Store, **said: Mapping[str, Any]) -> None:
    store.apply("renames", Renamed(type="renamed", event_id="e", position=1, **said))  # type: ignore[arg-type]


WAYS: dict[str, Callable[[Store, dict[str, Any]], Any]] = {
    "create": lambda store, given: store.create({"house_name": "i", **given}, Visitor),
    "put": lambda store, given: store.put({**KEY, **given}, Visitor),
    "copy": lambda store, given: store.put(store.batch_get(Visitor, [KEY])[0].model_copy(update=given)),  # type: ignore[union-attr]
    "update": lambda store, given: store.update(Visitor, KEY, given),
    "function": lambda store, given: store.update(Visitor, KEY, lambda record: given),
    "transact": lambda store, given: store.transact([Create({"house_name": "i", **given}, Visitor)]),
    "transact an update": lambda store, given: store.transact([Change(Visitor, KEY, given)]),
    "batch": lambda store, given: batched(store, Put({**KEY, **given}, Visitor)),
    "event": lambda store, given: applied(store, changes=given),
    "line": lambda store, given: whole_record(store.schema[Visitor], {"house_name": "i", **given}),
    "line of keys": lambda store, given: item_of(store.schema[Visitor], given),
    "line of some": lambda store, given: values_of(store.schema[Visitor], given),
    "model": lambda store, given: Visitor.model_validate({"house_name": "i", **given}),
}


def stocked() -> World:
    world = World(schema=SCHEMA)
    world.store.create({**KEY, "first_name": "Ann"}, Visitor)
    return world


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "given",
    [{"first_name": "Bea", "firstName": "Cid"}, {"firstName": "Bea", "first_name": "Bea"}, {"frist_name": "Bea"}],
)
def test_both_names_at_once_and_a_name_that_is_none_are_refused(way: str, given: dict[str, Any]) -> None:
    world = stocked()
    before = world.items()
    with pytest.raises((ShardweaveError, ValueError)) as refused:
        WAYS[way](world.store, given)
    assert way == "model" or isinstance(refused.value, InputError)
    assert re.search("first_?name|frist_name", str(refused.value), re.IGNORECASE)
    assert world.items() == before


@pytest.mark.parametrize("way", [way for way in WAYS if way not in ("line of keys", "line of some")])
@pytest.mark.parametrize("name", ["first_name", "firstName"])
def test_either_name_is_the_property(way: str, name: str) -> None:
    world = stocked()
    read = WAYS[way](world.store, {name: "Bea"})
    stored = {record["firstName"] for model in (Visitor, Shown) for record in world.items_of(model)}
    assert "Bea" in stored or way in ("line", "model")
    assert way != "line" or read["firstName"] == "Bea"


TWICE: dict[str, Callable[[Store], Any]] = {
    "key": lambda store: store.get(Visitor, {**KEY, "houseName": "i"}),
    "keys": lambda store: store.batch_get(Visitor, [{**KEY, "houseName": "i"}]),
    "deleted": lambda store: store.delete(Visitor, {**KEY, "visitNumber": 2}),
    "within": lambda store: store.get_by(Visitor, "badge_text", "x", within={"house_name": "h", "houseName": "i"}),
    "numbers": lambda store: store.take(Visitor, "seat_number", within={"house_name": "h", "houseName": "i"}),
    "number": lambda store: store.create({"house_name": "i", "seat_number": 5, "seatNumber": 0}, Visitor),
    "added": lambda store: applied(store, changes={"seat_number": 1}, add={"seatNumber": 1}),
}


@pytest.mark.parametrize("what", TWICE)
def test_keys_and_scopes_are_given_once(what: str) -> None:
    with pytest.raises(ValidationFailed, match="given twice"):
        TWICE[what](stocked().store)


def test_a_condition_is_given_once() -> None:
    world = stocked()
    spec = QuerySpec("visitor", {"house_name": Equal("h"), "houseName": Equal("i")})
    with pytest.raises(InputError, match="two conditions"):
        QueryRunner(SCHEMA, world.inner, CURSOR_KEYS, clock=world.clock).run(spec)


def test_over_http_only_the_stored_name_is_one() -> None:
    client = Client(api_of(SCHEMA))
    given = {"houseName": "h", "visitNumber": 1, "firstName": "Ann"}
    assert client.post("/v1/visitors", given).status == 201
    assert client.post("/v1/visitors", {**given, "visitNumber": 2, "first_name": "Bea"}).status == 400
    assert client.patch("/v1/visitors/h/1", {"first_name": "Bea"}).status == 400
    twice = b'{"houseName": "h", "visitNumber": 3, "firstName": "Ann", "firstName": "Bea"}'
    assert client.request("POST", "/v1/visitors", twice, {"content-type": "application/json"}).status == 400


def test_a_copy_takes_values_of_the_type_alone() -> None:
    ann = Visitor(house_name="h", visit_number=1)
    with pytest.raises(ValidationFailed) as refused:
        ann.model_copy(update={"visit_number": "one", "nobody": 1})
    assert [fault.location for fault in refused.value.fields] == [("visit_number",), ("nobody",)]
    assert ann.model_copy(update={"visit_number": "2"}).visit_number == 2
    assert ann.model_copy() == ann
