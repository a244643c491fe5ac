"""A move that meets damage: nothing is lost, the rest moves, attention names what does not, and it goes on once that is
mended. What is kept of one entity's re-shard, damaged, stops neither the changes nor the re-shards of others."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import ReshardUnreadable
from shardweave.reshard.control import control_key
from shardweave.reshard.phases import Phase, Step
from shardweave.reshard.policy import verdict_key
from shardweave.reshard.signal import load_key
from shardweave.table.operations import GetItem, Put
from tests.integration.test_reshard_driver import PATH, SIXTEEN, Stage
from tests.unit.reshard_world import SIXTEEN as WIDER
from tests.unit.reshard_world import ReshardWorld, add_notes
from tests.unit.store_world import Note

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


def damaged(world: ReshardWorld, name: str, change: dict[str, Any]) -> dict[str, Any]:
    """Let another program change a note; the item as it was."""
    (whole,) = [item for item in world.items_of(Note) if item["noteId"] == name]
    world.inner.run(Put({key: value for key, value in {**whole, **change}.items() if value is not None}))
    return whole


def run(world: ReshardWorld) -> None:
    """Until the re-shard has ended, or needs attention."""
    for _ in range(3000):
        control = world.control(Note)
        if control.attention or (control.phase is Phase.STABLE and control.step is Step.REST):
            return
        if not world.act(Note):
            world.clock.now += 500
    raise AssertionError(f"it never rests: {world.control(Note)}")


@pytest.mark.parametrize("change", DAMAGE.values(), ids=DAMAGE)
def test_what_can_not_be_moved_is_named_and_the_move_goes_on_once_it_is_mended(change: dict[str, Any]) -> None:
    world = ReshardWorld()
    names = add_notes(world, 12)
    whole = damaged(world, "note-3", change)
    world.start(Note, WIDER)
    run(world)
    control = world.control(Note)
    assert (control.phase, control.step) == (Phase.DUAL_OLD, Step.VERIFY)
    assert control.attention
    assert (whole["hashKey"], whole["rangeKey"]) in control.concerned
    wide = [item for item in world.items_of(Note) if len(item["hashKey"].partition("!")[2]) == WIDER.chars]
    assert {item["noteId"] for item in wide} >= set(names) - {"note-3"}, "the rest has moved meanwhile"
    there = [item for item in world.items_of(Note) if item["hashKey"] == whole["hashKey"]]
    assert whole["rangeKey"] in {item["rangeKey"] for item in there}, "what is damaged is where it was"
    world.inner.run(Put(whole))
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


def _broken(stage: Stage, key: dict[str, Any], **change: Any) -> dict[str, Any]:
    """Let another program change a record about a re-shard; the item as it was."""
    table = stage.service.parts.table
    whole = dict(table.run(GetItem(key, consistent=True)).item or key)
    table.run(Put({**whole, **change}))
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
    stage.service.parts.table.run(Put(whole))
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
