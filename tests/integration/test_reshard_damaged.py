"""A move that meets damage: nothing is lost, the rest moves, attention names what does not, and it goes on once that is
mended. What is kept of one entity's re-shard, damaged, stops neither the changes nor the re-shards of others."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import ReshardUnreadable
from shardweave.keys.sharding import ShardBump
from shardweave.reshard.control import control_key
from shardweave.reshard.load.counters import load_key
from shardweave.reshard.load.policy import verdict_key
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.entity import Entity
from shardweave.table.operations import DeleteItem, GetItem, PutItem
from tests.integration.test_reshard_driver import PATH, SIXTEEN, Stage
from tests.unit.reshard_world import SIXTEEN as WIDER
from tests.unit.reshard_world import ReshardWorld, add_notes
from tests.unit.store_world import Note, Person

DAMAGE: dict[str, dict[str, Any]] = {
    "its id is missing": {"noteId": None},
    "its id is another's": {"noteId": "somebody"},
    "its id is a list": {"noteId": ["x"]},
    "its time is missing": {"created": None},
}
MOVED_AS_IT_IS: dict[str, dict[str, Any]] = {
    "a property is missing": {"text": None},
    "a property is of another type": {"text": ["x"]},
    "its revision is a number": {"rev": 7},
    "its time is before all time": {"created": -1},
    "its mark is a text": {"_mark": "x"},
}
WIDER_PEOPLE = ShardBump(0, char_bits=1, chars=4)
IN_A_KEY: dict[str, dict[str, Any]] = {
    "what a key is built from is missing": {"group": None},
    "what a key is built from is another": {"nameCanonical": "zzz"},
    "what a key is built from is a list": {"nameCanonical": ["x"]},
    "a hash key is of another record": {"groupHashKey": "zzz"},
    "a range key is of another record": {"nameRangeKey": "zzz"},
}
BESIDE_THE_KEYS: dict[str, dict[str, Any]] = {
    "a property beside the keys is missing": {"name": None},
    "a property beside the keys is a list": {"name": ["x"]},
    "a property that an index has as it is": {"phone": "zzz"},
    "a built key is missing": {"groupHashKey": None},
}


def damaged(world: ReshardWorld, name: str, change: dict[str, Any]) -> dict[str, Any]:
    """Let another program change a note; the item as it was."""
    (whole,) = [item for item in world.items_of(Note) if item["noteId"] == name]
    world.inner.run(PutItem({key: value for key, value in {**whole, **change}.items() if value is not None}))
    return whole


def run(world: ReshardWorld, model: type[Entity] = Note) -> None:
    """Until the re-shard has ended, or needs attention."""
    for _ in range(3000):
        control = world.control(model)
        if control.attention or (control.phase is Phase.STABLE and control.step is ReshardStep.REST):
            return
        if not world.act(model):
            world.clock.now += 500
    raise AssertionError(f"it never rests: {world.control(model)}")


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_what_can_not_be_moved_is_named_and_the_move_goes_on_once_it_is_mended(change: dict[str, Any]) -> None:
    world = ReshardWorld()
    names = add_notes(world, 12)
    whole = damaged(world, "note-3", change)
    world.start(Note, WIDER)
    run(world)
    control = world.control(Note)
    assert (control.phase, control.step) == (Phase.DUAL_OLD, ReshardStep.VERIFY)
    assert control.attention
    assert (whole["hashKey"], whole["rangeKey"]) in control.concerned
    wide = [item for item in world.items_of(Note) if len(item["hashKey"].partition("!")[2]) == WIDER.chars]
    assert {item["noteId"] for item in wide} >= set(names) - {"note-3"}, "the rest has moved meanwhile"
    there = [item for item in world.items_of(Note) if item["hashKey"] == whole["hashKey"]]
    assert whole["rangeKey"] in {item["rangeKey"] for item in there}, "what is damaged is where it was"
    world.inner.run(PutItem(whole))
    world.resume(Note)
    world.finish(Note)
    assert sorted(item["noteId"] for item in world.items_of(Note)) == sorted(names)
    assert [world.new_store().get(Note, name).text for name in names] == [f"text of {name}" for name in names]


@pytest.mark.parametrize("change", MOVED_AS_IT_IS.values(), ids=MOVED_AS_IT_IS)
def test_what_decides_no_place_moves_as_it_is(change: dict[str, Any]) -> None:
    world = ReshardWorld()
    names = add_notes(world, 12)
    damaged(world, "note-3", change)
    world.start(Note, WIDER)
    world.finish(Note)
    assert sorted(item["noteId"] for item in world.items_of(Note)) == sorted(names)
    (moved,) = [item for item in world.items_of(Note) if item["noteId"] == "note-3"]
    kept = {name: value for name, value in change.items() if name != "_mark"}
    assert {name: moved.get(name) for name in kept} == kept


def with_people() -> tuple[ReshardWorld, set[str]]:
    world = ReshardWorld()
    names = {f"p{number}" for number in range(4)}
    for name in names:
        person = {"personId": name, "group": "g", "name": name.upper(), "nameCanonical": name, "phone": name}
        world.store.create(person, Person)
    return world, names


def damaged_person(world: ReshardWorld, change: dict[str, Any]) -> dict[str, Any]:
    (whole,) = [item for item in world.items_of(Person) if item["personId"] == "p3"]
    world.inner.run(PutItem({key: value for key, value in {**whole, **change}.items() if value is not None}))
    return whole


@pytest.mark.parametrize("change", IN_A_KEY.values(), ids=IN_A_KEY)
def test_what_differs_from_the_keys_of_its_indexes_is_named_and_the_rest_moves(change: dict[str, Any]) -> None:
    world, names = with_people()
    whole = damaged_person(world, change)
    world.start(Person, WIDER_PEOPLE)
    run(world, Person)
    control = world.control(Person)
    assert (control.phase, control.step, bool(control.attention)) == (Phase.DUAL_OLD, ReshardStep.VERIFY, True)
    assert (whole["hashKey"], whole["rangeKey"]) in control.concerned
    assert {range_key for _, range_key in control.concerned} == {whole["rangeKey"]}, "no other is named"
    wide = [item for item in world.items_of(Person) if len(item["hashKey"].partition("!")[2]) == WIDER_PEOPLE.chars]
    assert {item["personId"] for item in wide} >= names - {"p3"}, "the rest has moved meanwhile"
    world.inner.run(PutItem(whole))
    world.resume(Person)
    world.finish(Person)
    assert {item["personId"]: item["nameCanonical"] for item in world.items_of(Person)} == {
        each: each for each in names
    }


def test_a_damaged_record_that_is_deleted_leaves_no_copy() -> None:
    world, names = with_people()
    whole = damaged_person(world, {"nameCanonical": "zzz"})
    world.start(Person, WIDER_PEOPLE)
    run(world, Person)
    assert world.control(Person).attention
    world.inner.run(DeleteItem({name: whole[name] for name in ("hashKey", "rangeKey")}))
    world.resume(Person)
    world.finish(Person)
    assert {item["personId"] for item in world.items_of(Person)} == names - {"p3"}


@pytest.mark.parametrize("change", BESIDE_THE_KEYS.values(), ids=BESIDE_THE_KEYS)
def test_what_no_key_is_built_from_moves_as_it_is_and_a_key_that_is_missing_is_built(change: dict[str, Any]) -> None:
    world, names = with_people()
    whole = damaged_person(world, change)
    world.start(Person, WIDER_PEOPLE)
    world.finish(Person)
    assert {item["personId"] for item in world.items_of(Person)} == names
    (moved,) = [item for item in world.items_of(Person) if item["personId"] == "p3"]
    kept = {name: value for name, value in {**whole, **change}.items() if not name.endswith("Key") and name != "_mark"}
    assert {name: moved.get(name) for name in kept} == kept
    assert moved["groupHashKey"] == moved["hashKey"] + " |group#g"


def _broken(stage: Stage, key: dict[str, Any], **change: Any) -> dict[str, Any]:
    """Let another program change a record about a re-shard; the item as it was."""
    table = stage.service.parts.table
    whole = dict(table.run(GetItem(key, consistent=True)).item or key)
    table.run(PutItem({**whole, **change}))
    return whole


def test_a_damaged_control_record_is_said_by_each_wake_and_stops_no_change_of_the_stream() -> None:
    stage = Stage()
    names = stage.add_users(8)
    stage.client.post(PATH, SIXTEEN)
    stage.stream()
    user = stage.service.parts.schema.entities["user"]
    whole = _broken(stage, control_key(user), phase="x")
    stage.stream()
    with pytest.raises(ReshardUnreadable) as failure:
        stage.driver.wake()
    assert failure.value.where.startswith("user")
    stage.service.parts.table.run(PutItem(whole))
    stage.clock.now += 2000
    stage.pass_time(40)
    assert not stage.status()["moving"]
    assert stage.listed() == sorted(names)


@pytest.mark.parametrize("value", ["x", ["x"], {"a": 1}, None], ids=str)
def test_damaged_numbers_of_the_policy_stop_neither_the_status_nor_a_wake(value: Any) -> None:
    stage = Stage()
    stage.add_users(2)
    user = stage.service.parts.schema.entities["user"]
    _broken(stage, verdict_key(user), target=value, at=value)
    _broken(stage, load_key(user, ""), writes=value)
    assert (stage.status()["phase"], stage.status().get("proposal", "")) == ("stable", "")
    stage.pass_time(2)
