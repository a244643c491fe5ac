"""What differs after the flip: which records are named, and what letting the move go on makes of them."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.reshard.admin import ReshardAdmin
from shardweave.reshard.copy_actions import CopyUnit, mended
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.entity_type import MARK
from shardweave.store.writing.dual_write import rekeyed
from shardweave.table.operations import ConditionCheck, DeleteItem, PutItem, UpdateItem
from tests.unit.reshard_world import ReshardWorld
from tests.unit.store_world import SCHEMA, Note

NOTES = SCHEMA[Note]
SIXTEEN = ShardBump(0, char_bits=2, chars=2)


def soaked() -> ReshardWorld:
    """Four notes after the flip, about to be compared once more."""
    world = ReshardWorld()
    for number in range(4):
        world.store.create(Note(note_id=f"n{number}", text="t"))
    world.start(Note, SIXTEEN)
    world.run_until(Note, Phase.DUAL_NEW)
    return world


def item(world: ReshardWorld, name: str, width: int) -> dict[str, Any]:
    """The stored item of a note in the space of that width."""
    items = (each for each in world.items_of(Note) if each["noteId"] == name)
    return next(each for each in items if len(each["hashKey"]) == len("note!") + width)


def key(stored: dict[str, Any]) -> dict[str, Any]:
    return {name: stored[name] for name in ("hashKey", "rangeKey")}


def verified(world: ReshardWorld) -> list[tuple[str, str]]:
    """What needs attention when the spaces are compared, as operators are told."""
    world.run_until(Note, Phase.DUAL_NEW, ReshardStep.VERIFY)
    world.settle(Note)
    status = ReshardAdmin(world.inner, world.coordinator, world.waits, clock=world.clock).status(NOTES)
    assert status.attention
    return list(status.concerned)


DIFFERENCES = {
    "is gone in the old space": lambda old: DeleteItem(key(old)),
    "was changed there": lambda old: UpdateItem(key(old), {"text": "foreign", "rev": "foreign"}),
    "was changed there and has no revision": lambda old: UpdateItem(key(old), {"text": "foreign"}, remove=("rev",)),
}


@pytest.mark.parametrize("change", DIFFERENCES.values(), ids=list(DIFFERENCES))
def test_a_record_that_differs_is_named_and_made_what_readers_see_when_it_goes_on(change: Any) -> None:
    world = soaked()
    world.inner.run(change(item(world, "n2", 1)))
    named = verified(world)
    assert {range_key for _, range_key in named} == {"noteId#n2"}
    assert {hash_key for hash_key, _ in named} <= {item(world, "n2", 2)["hashKey"], item_key_of_old(world)}
    world.resume(Note)
    world.settle(Note)
    assert world.control(Note).concerned == ()
    world.finish(Note)
    found = world.new_store().get(Note, "n2")
    assert found is not None
    assert found.text == "t"
    assert len(world.items_of(Note)) == 4


def item_key_of_old(world: ReshardWorld) -> str:
    return str(rekeyed(NOTES, item(world, "n2", 2), world.control(Note).old)["hashKey"])


def test_what_only_the_old_space_has_stays_there_until_someone_removes_it() -> None:
    world = soaked()
    world.inner.run(DeleteItem(key(item(world, "n2", 2))))
    for _ in range(2):
        assert verified(world) == [tuple(key(item(world, "n2", 1)).values())]
        world.resume(Note)
    world.inner.run(DeleteItem(key(item(world, "n2", 1))))
    world.finish(Note)
    assert len(world.items_of(Note)) == 3


def test_at_most_a_few_are_named() -> None:
    world = soaked()
    for number in range(20):
        world.store.create(Note(note_id=f"more{number}", text="t"))
    for stored in world.items_of(Note):
        if len(stored["hashKey"]) == len("note!") + 1:
            world.inner.run(DeleteItem(key(stored)))
    assert 0 < len(verified(world)) <= 5
    world.resume(Note)
    world.finish(Note)


def test_what_another_program_left_in_the_old_space_is_named_before_it_is_emptied() -> None:
    world = soaked()
    world.run_until(Note, Phase.NEW_ONLY)
    stray = {**item(world, "n1", 1), "text": "stray"}
    world.inner.run(PutItem({name: value for name, value in stray.items() if name != MARK}))
    for _ in range(40):
        world.settle(Note)
        world.clock.now += 500
    assert "other programs" in world.control(Note).attention
    assert world.control(Note).concerned == (tuple(key(stray).values()),)


def test_mending_is_conditioned_on_both_sides_as_they_were_read() -> None:
    world = soaked()
    control, new, old = world.control(Note), item(world, "n1", 2), item(world, "n1", 1)
    for stored, allowed in ((old, old), (None, {})):
        piece = mended(NOTES, control, new, stored)
        assert isinstance(piece, CopyUnit)
        check, put = piece.actions
        assert isinstance(check, ConditionCheck)
        assert isinstance(put, PutItem)
        assert (check.key, key(dict(put.item))) == (key(new), key(old))
        assert put.item == {**old, MARK: control.version}
        assert check.condition is not None
        assert put.condition is not None
        assert check.condition.evaluate(new)
        assert not check.condition.evaluate({**new, "rev": "other"})
        assert put.condition.evaluate(allowed)
        assert not put.condition.evaluate({**old, "rev": "other"})
