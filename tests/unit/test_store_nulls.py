"""A property that may be None keeps a None that it was given, also where its default is something else."""

from __future__ import annotations

from typing import Annotated, Any, Literal, NewType, TypeAlias

import pytest
from pydantic import Field, JsonValue
from typing_extensions import TypeAliasType

from shardweave.errors import SchemaError, ValueRefused
from shardweave.query.filters import compile_filter
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema
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


def test_a_filter_takes_a_stored_null_for_no_value_and_an_absent_attribute_for_the_default() -> None:
    entity = SCHEMA[Lamp]
    view = entity.view("colour")
    there, gone = (compile_filter(entity, view, [(kind("colour"), "filter")]) for kind in (Exists, Missing))
    for item, exists in (({"colour": None}, False), ({"colour": "red"}, True), ({}, True)):
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


Shade: TypeAlias = "Literal['dark', 'light'] | None"
Tone = TypeAliasType("Tone", Literal["dark", "light"] | None)


class Wall(Entity, token="wall"):
    """Its properties may be None in every way that a type can say so."""

    wall_id: str = unique_property()
    literal: Literal["dark", None] = "dark"
    alias: Shade = "dark"
    named: Tone = "dark"
    noted: Annotated[str | None, Field(max_length=9)] = "dark"
    nested: Annotated[Annotated[int | None, Field(ge=0)] | str, Field(title="nested")] = 7
    any_value: Any = "dark"
    json_value: JsonValue = "dark"
    new: NewType("Name", str | None) = "dark"  # type: ignore[valid-type]
    made: Any = Field(default_factory=list)


WALLS = Schema([Wall])


@pytest.mark.parametrize("how", ["create", "record", "update", "copy", "batch"])
@pytest.mark.parametrize("name", [name for name in Wall.model_fields if name != "wall_id"])
def test_none_is_kept_however_the_type_allows_it(how: str, name: str) -> None:
    store = World(schema=WALLS).store
    if how == "create":
        store.create({"wall_id": "a", name: None}, Wall)
    elif how == "record":
        store.create(Wall.model_validate({"wall_id": "a", name: None}))
    elif how == "batch":
        store.batch_write([Wall.model_validate({"wall_id": "a", name: None})])
    else:
        wall = store.create(Wall(wall_id="a"))
        if how == "copy":
            store.put(wall.model_copy(update={name: None}))
        else:
            store.update(Wall, "a", {name: None})
    assert getattr(store.get(Wall, "a"), name) is None
    other = next(each for each in Wall.model_fields if each not in ("wall_id", name))
    assert getattr(store.get(Wall, "a"), other) is not None


def test_none_of_a_type_that_does_not_allow_it_is_refused_where_it_would_be_read_as_the_default() -> None:
    world = World(schema=SCHEMA)
    lamp = Lamp.model_construct(lamp_id="a", watts=None)
    with pytest.raises(ValueRefused, match="would be read as its default") as refused:
        world.store.put(lamp)
    assert refused.value.where == "watts"
    assert world.items() == []


class Slot(Entity, token="slot"):
    """Has to be told whether it is taken."""

    slot_id: str = unique_property()
    holder: str | None
    day: int | None = Field(..., ge=0)


@pytest.mark.parametrize("how", ["mapping", "record", "batch", "put"])
def test_none_is_kept_of_a_property_that_must_be_given(how: str) -> None:
    world = World(schema=Schema([Slot]))
    given = {"slot_id": "a", "holder": None, "day": None}
    if how == "mapping":
        world.store.create(given, Slot)
    elif how == "record":
        world.store.create(Slot.model_validate(given))
    elif how == "put":
        world.store.put(given, Slot)
    else:
        world.store.batch_write([Slot.model_validate(given)])
    slot = world.store.get(Slot, "a")
    assert slot is not None
    assert (slot.holder, slot.day) == (None, None)
    assert world.store.update(Slot, "a", {"holder": "Ann"}).holder == "Ann"
    assert world.store.update(Slot, "a", {"holder": None}).holder is None
    entity = world.schema[Slot]
    for kind, wanted in ((Exists, False), (Missing, True)):
        compiled = compile_filter(entity, entity.view(None), [(kind("holder"), "filter")])
        assert compiled.evaluate(world.stored(Slot)) is wanted
