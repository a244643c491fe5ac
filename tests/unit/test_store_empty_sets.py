"""A set that was made empty is empty, whatever its default is, and filters find it as it is shown. An empty set is
stored as an empty list; only where the default is empty, nothing is stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import Field

from shardweave.query.filters import compile_filter
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Put, Store
from shardweave.table.conditions import Compare, Condition, Contains, Exists, In, Missing, Size
from tests.unit.api_world import CURSOR_KEYS, Client, api_of, json_of
from tests.unit.store_world import World


class Door(Entity, token="door"):
    """Opened by whoever is in one of its sets."""

    door_id: str = unique_property()
    colours: set[str] = Field({"white"})
    days: frozenset[int] = Field(default_factory=lambda: frozenset({1, 2}))
    limits: set[int] | None = Field({7})
    guests: set[str] | None = None
    badges: set[bytes] = Field(default_factory=set)
    hours: list[set[int]] = Field(default_factory=list)
    note: str = ""


class Gate(Entity, token="gate"):
    """Has to be given a set."""

    gate_id: str = unique_property()
    keepers: set[str]


SCHEMA = Schema([Door, Gate])
NAMES = ("colours", "days", "limits", "guests", "badges")
EMPTY: dict[str, Any] = {name: set() for name in NAMES}
WAYS: dict[str, Callable[[Store], Any]] = {
    "create": lambda store: store.create({"door_id": "a", **EMPTY}, Door),
    "record": lambda store: store.create(Door(door_id="a", **EMPTY)),
    "put": lambda store: store.put({"door_id": "a", **EMPTY}, Door),
    "update": lambda store: (store.create(Door(door_id="a")), store.update(Door, "a", EMPTY))[1],
    "copy": lambda store: store.put(store.create(Door(door_id="a")).model_copy(update=EMPTY)),
    "batch": lambda store: store.batch_write([Put({"door_id": "a", **EMPTY}, Door)]).puts[0].record,
}


@pytest.mark.parametrize("way", WAYS)
def test_an_emptied_set_is_empty(way: str) -> None:
    world = World(schema=SCHEMA)
    answered = WAYS[way](world.store)
    read = world.store.get(Door, "a")
    for door in (answered, read, world.store.update(Door, "a", {"note": "new"})):
        assert {name: getattr(door, name) for name in NAMES} == EMPTY
    assert isinstance(read.days, frozenset)  # type: ignore[union-attr]
    assert [world.stored(Door).get(name) for name in NAMES] == [[], [], [], [], None]


def test_what_is_not_given_has_its_default_and_none_stays_none() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Door(door_id="a"))
    door = world.store.get(Door, "a")
    assert door is not None
    assert [getattr(door, name) for name in NAMES] == [{"white"}, {1, 2}, {7}, None, set()]
    assert world.store.update(Door, "a", {"limits": None, "guests": set()}).limits is None
    assert world.store.update(Door, "a", {"guests": None}).guests is None
    assert world.store.update(Door, "a", {"limits": {8}}).limits == {8}


def test_older_records_that_have_no_set_stored_are_read_as_before() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Door(door_id="a", **EMPTY))
    world.inner.run(_without(world.stored(Door), NAMES))
    door = world.store.get(Door, "a")
    assert door is not None
    assert [getattr(door, name) for name in NAMES] == [{"white"}, {1, 2}, {7}, None, set()]


def _without(item: dict[str, Any], names: tuple[str, ...]) -> Any:
    from shardweave.table.operations import PutItem

    return PutItem({name: value for name, value in item.items() if name not in names})


def test_one_that_must_be_given_may_be_given_empty_and_so_may_one_in_a_list() -> None:
    world = World(schema=SCHEMA)
    assert world.store.create(Gate(gate_id="g", keepers=set())).keepers == set()
    gate = world.store.get(Gate, "g")
    world.store.create(Door(door_id="a", hours=[set(), {1}]))
    door = world.store.get(Door, "a")
    assert gate is not None
    assert door is not None
    assert (gate.keepers, door.hours) == (set(), [set(), {1}])


TESTS: list[Callable[[str], Condition]] = [
    Exists,
    Missing,
    lambda name: Size(name, "=", 0),
    lambda name: Size(name, ">", 0),
    lambda name: Compare(name, "=", []),
    lambda name: Compare(name, "<>", []),
    lambda name: In(name, ([],)),
    lambda name: Contains(name, 7 if name in ("days", "limits") else b"x" if name == "badges" else "white"),
]
SHOWN: list[Callable[[Any], bool]] = [
    lambda value: value is not None,
    lambda value: value is None,
    lambda value: value is not None and len(value) == 0,
    lambda value: value is not None and len(value) > 0,
    lambda value: value == set(),
    lambda value: value != set(),
    lambda value: value == set(),
    lambda value: value is not None and any(one in value for one in (7, b"x", "white")),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("number", range(len(TESTS)))
def test_what_a_filter_finds_is_what_is_shown(name: str, number: int) -> None:
    member = {7} if name in ("days", "limits") else {b"x"} if name == "badges" else {"white"}
    world = World(schema=SCHEMA)
    world.store.create(Door(door_id="empty", **EMPTY))
    world.store.create({"door_id": "full", **{one: set(member) for one in (name,)}}, Door)
    if name in ("limits", "guests"):
        world.store.create({"door_id": "none", name: None}, Door)
    runner = QueryRunner(SCHEMA, world.inner, CURSOR_KEYS, clock=world.clock)
    doors = list(runner.records(QuerySpec("door")))
    found = runner.records(QuerySpec("door", filter=TESTS[number](name)))
    assert {door.door_id for door in found} == {each.door_id for each in doors if SHOWN[number](getattr(each, name))}
    assert len({bool(SHOWN[number](getattr(each, name))) for each in doors}) == 2 or number in (0, 1)


def test_an_empty_set_is_shown_as_one_among_chosen_properties() -> None:
    world = World(schema=SCHEMA)
    world.store.create(Door(door_id="a", **EMPTY))
    runner = QueryRunner(SCHEMA, world.inner, CURSOR_KEYS, clock=world.clock)
    (part,) = runner.run(QuerySpec("door", properties=("colours", "hours"))).items
    assert part == {"colours": set(), "hours": []}


def test_over_http_a_set_is_emptied_by_an_empty_list() -> None:
    client = Client(api_of(SCHEMA))
    client.post("/v1/doors", {"doorId": "a", "colours": ["red"]})
    assert json_of(client.patch("/v1/doors/a", {"colours": [], "guests": []}))["colours"] == []
    read = json_of(client.get("/v1/doors/a"))
    assert (read["colours"], read["guests"], read["limits"]) == ([], [], [7])
    assert client.put("/v1/doors/a", read).status == 200
    assert json_of(client.get("/v1/doors/a"))["colours"] == []
    found = client.post("/v1/doors/query", {"filter": {"property": "colours", "contains": "white"}})
    assert json_of(found)["items"] == []


def test_a_compiled_filter_says_what_it_asks_of_older_records() -> None:
    entity = SCHEMA[Door]
    compiled = compile_filter(entity, entity.view(None), [(Compare("badges", "=", []), "filter")])
    assert compiled.evaluate({}) is compiled.evaluate({"badges": []}) is True
    assert compiled.evaluate({"badges": {b"x"}}) is False
