"""A property that may be None keeps a None that it was given, also where its default is something else."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from shardweave.entity import Entity, RangeKey, ttl_property, unique_property
from shardweave.errors import SchemaError
from shardweave.query.filters import compile_filter
from shardweave.schema import Index, Schema
from shardweave.table.conditions import Exists, Missing
from tests.unit.store_world import World


class Lamp(Entity, token="lamp"):
    """Something with defaults."""

    lamp_id: str = unique_property()
    colour: str | None = "white"
    tags: list[str] | None = Field(default_factory=lambda: ["new"])
    watts: int = 60
    note: str | None = None

    colour_range_key = RangeKey("colour", "lamp_id")


SCHEMA = Schema(entities=[Lamp], indexes=[Index("colour", "hash_key", "colour_range_key")])
NOTHING: dict[str, Any] = {"colour": None, "tags": None, "note": None}


@pytest.mark.parametrize("how", ["create", "put", "record", "update", "batch"])
def test_none_comes_back_as_none(how: str) -> None:
    world = World(schema=SCHEMA)
    store = world.store
    if how == "create":
        store.create({"lampId": "a", **NOTHING}, Lamp)
    elif how == "put":
        store.create({"lampId": "a"}, Lamp)
        store.put({"lampId": "a", **NOTHING}, Lamp)
    elif how == "record":
        store.create(Lamp(lamp_id="a", **NOTHING))
    elif how == "update":
        store.create({"lampId": "a"}, Lamp)
        store.update(Lamp, "a", NOTHING)
    else:
        store.batch_write([Lamp(lamp_id="a", **NOTHING)])
    lamp = store.get(Lamp, "a")
    assert lamp is not None
    assert (lamp.colour, lamp.tags, lamp.note) == (None, None, None)
    assert store.update(Lamp, "a", {"watts": 40}).colour is None, "it stays through later changes"
    assert "note" not in world.stored(Lamp), "a None that is the default is left out"


def test_a_value_can_be_taken_away_and_given_again() -> None:
    world = World(schema=SCHEMA)
    world.store.create({"lampId": "a"}, Lamp)
    assert world.stored(Lamp)["colour"] == "white"
    assert world.store.update(Lamp, "a", {"colour": None}).colour is None
    assert world.store.update(Lamp, "a", {"colour": "red"}).colour == "red"


def test_a_property_that_may_not_be_none_takes_its_default_again() -> None:
    world = World(schema=SCHEMA)
    world.store.create({"lampId": "a", "watts": 5}, Lamp)
    assert world.store.update(Lamp, "a", {"watts": None}).watts == 60


def test_a_stored_null_is_a_missing_element_of_a_key() -> None:
    world = World(schema=SCHEMA)
    world.store.create({"lampId": "a", "colour": None}, Lamp)
    assert world.stored(Lamp)["colourRangeKey"] == "colour |lampId#a"


def test_a_filter_takes_a_stored_null_for_no_value() -> None:
    entity = SCHEMA[Lamp]
    view = entity.view("colour")
    there, gone = (compile_filter(entity, view, [(kind("colour"), "filter")]) for kind in (Exists, Missing))
    for item, exists in (({"colour": None}, False), ({"colour": "red"}, True), ({}, False)):
        assert there.evaluate(item) is exists
        assert gone.evaluate(item) is not exists


def test_where_no_null_can_be_stored_the_schema_says_so() -> None:
    class Door(Entity, token="door"):
        door_id: str = unique_property()
        colour: str | None = "white"
        expires: int | None = ttl_property(default=1_800_000_000)

    with pytest.raises(SchemaError) as raised:
        Schema(entities=[Door], indexes=[Index("colour", "hash_key", "colour")])
    places = {fault.where: fault.fix for fault in raised.value.faults}
    assert "let its default be None" in places["index colour"]
    assert places["entity Door.expires"] == "let it be None"
