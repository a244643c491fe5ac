"""The control record and work items as they are stored: what another version wrote, and what is damaged."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import ReshardUnreadable
from shardweave.keys.sharding import ShardBump
from shardweave.reshard.admin import ReshardAdmin
from shardweave.reshard.control import FORMAT, REKEY_FORMAT, control_key, decode_control, encode_control
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.reshard.work_items import WorkItem, decode_work, encode_work, work_key
from shardweave.table.operations import GetItem, PutItem, UpdateItem
from tests.integration.test_reshard_driver import PATH, Stage
from tests.unit.api_world import problem_of
from tests.unit.reshard_world import ReshardWorld
from tests.unit.store_world import SCHEMA, Note

NOTES = SCHEMA[Note]
SIXTEEN = ShardBump(0, char_bits=2, chars=2)

DAMAGED: dict[str, Any] = {
    "an unknown phase": {"phase": 9},
    "a phase that is a text": {"phase": "x"},
    "an unknown step": {"step": "fancy"},
    "no step": {"step": None},
    "a time that is a text": {"entered_ms": "soon"},
    "a version that is none": {"version": None},
    "a map that is none": {"old": {"id": 1}},
    "bumps that are texts": {"new": {"id": 1, "bumps": [["x", 2, 2]]}},
    "a target that is missing": {"new": None},
    "a rate below zero": {"rate": -5},
    "a format that is a text": {"format": "9"},
    "a format that never was": {"format": 0},
    "no bumps": {"old": {"id": 1, "bumps": []}},
    "more shards than there can be": {"old": {"id": 1, "bumps": [[0, 2, 40]]}},
    "bumps out of order": {"old": {"id": 1, "bumps": [[9, 2, 1], [0, 2, 2]]}},
}
NEWER = {"format": REKEY_FORMAT + 1, "phase": 9, "step": "fancy"}


def moving() -> ReshardWorld:
    """Notes on their way."""
    world = ReshardWorld()
    world.store.create(Note(note_id="n", text="t"))
    world.start(Note, SIXTEEN)
    world.coordinator.step(NOTES)
    return world


def changed(world: ReshardWorld, **change: Any) -> None:
    """Another version, or something else, writes the control record."""
    stored = world.inner.run(GetItem(control_key(NOTES), consistent=True)).item
    record = {name: value for name, value in {**(stored or {}), **change}.items() if value is not None}
    world.inner.run(PutItem(record))
    world.clock.now += world.waits.lease_ms + 1


@pytest.mark.parametrize("change", [*DAMAGED.values(), NEWER], ids=[*DAMAGED, "a newer format"])
def test_a_control_record_that_can_not_be_read_stops_everything_and_is_named(change: dict[str, Any]) -> None:
    world = moving()
    item = world.work(Note)[0]
    changed(world, **change)
    before = world.items()
    operator = ReshardAdmin(world.inner, world.coordinator, world.waits, clock=world.clock)
    for does in (
        lambda: world.store.get(Note, "n"),
        lambda: world.store.update(Note, "n", {"text": "other"}),
        lambda: world.coordinator.step(NOTES),
        lambda: world.mover.slice(NOTES, item),
        lambda: operator.status(NOTES),
        lambda: operator.abort(NOTES),
    ):
        with pytest.raises(ReshardUnreadable) as refused:
            does()
        assert refused.value.where == "note: _control"
        assert "nothing is read or written until then" in refused.value.fix
    assert world.items() == before


def test_a_record_of_a_newer_format_says_which_it_has() -> None:
    world = moving()
    changed(world, **NEWER)
    with pytest.raises(ReshardUnreadable, match="has the format 3; this version reads formats to 2"):
        world.store.get(Note, "n")


def test_a_record_from_before_there_was_a_format_is_read() -> None:
    world = moving()
    stored = encode_control(NOTES, world.control(Note), "r")
    assert stored.pop("format") == FORMAT
    assert decode_control(NOTES, stored) == world.control(Note)


def test_what_a_version_that_knows_more_wrote_besides_is_kept_to_the_end_and_after() -> None:
    world = moving()
    changed(world, newer={"than": 1})
    world.coordinator.step(NOTES)
    world.finish(Note)
    stored = world.inner.run(GetItem(control_key(NOTES), consistent=True)).item
    assert (stored or {})["newer"] == {"than": 1}
    world.clock.now += world.waits.skew_ms
    world.start(Note, ShardBump(0, 2, 1))
    assert world.control(Note).unknown == (("newer", {"than": 1}),)


@pytest.mark.parametrize("change", [{"step": "fancy"}, {"side": "x"}, {"token": None}, {"format": REKEY_FORMAT + 1}])
def test_a_work_item_that_can_not_be_read_is_named(change: dict[str, Any]) -> None:
    item = WorkItem(1, int(Phase.DUAL_OLD), 0, ReshardStep.COPY, next(iter(moving().work(Note))).side, 0, 1, "token")
    record = {name: value for name, value in {**encode_work(NOTES, item), **change}.items() if value is not None}
    with pytest.raises(ReshardUnreadable) as refused:
        decode_work(NOTES, record)
    assert refused.value.where == f"note: {work_key(NOTES, item)['rangeKey']}"


@pytest.mark.parametrize("change", [{"phase": 9}, NEWER])
def test_over_http_it_is_a_problem_of_its_own(change: dict[str, Any]) -> None:
    stage = Stage()
    (name,) = stage.add_users(1)
    assert stage.client.post(PATH, {"charBits": 2, "chars": 2}).status == 202
    table, key = stage.service.parts.table, control_key(stage.service.parts.schema.entities["user"])
    table.run(UpdateItem(key, change))
    stage.clock.now += 60_000
    for target in (PATH, f"/v1/users/{name}", "/v1/users?index=created"):
        problem_of(stage.client.get(target), 503, "reshard_unreadable")
    problem_of(stage.client.post(f"{PATH}/abort", {}), 503, "reshard_unreadable")
