"""A read model of records can be counted again: from the records, whatever its numbers say."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from shardweave.errors import Conflict, InputError
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.reshard.change_handler import ChangeCounts
from shardweave.service.build import feeding
from shardweave.table.operations import PutItem
from tests.unit.cli_world import shardweave
from tests.unit.read_model_world import post_office
from tests.unit.store_world import World
from tests.unit.summed_world import SCHEMA, UNREAD, Box, Letter, changes_of, feed, post_room, summed

MEMBERS = ("ann", "bob")


def filled() -> World:
    world = post_room()
    world.store.create(Letter(letter_id="a", member_ids=["ann", "bob"], weight=Decimal(2)))
    world.store.create(Letter(letter_id="b", member_ids=["ann"], weight=Decimal(3)))
    return world


RIGHT = {"ann": (2, 5), "bob": (1, 2), "": 2}


def test_records_that_were_there_before_the_read_model_are_counted() -> None:
    world = filled()
    report = Rebuild(world.store.parts, UNREAD).run()
    assert summed(world.store, MEMBERS) == RIGHT
    assert (report.done, report.counted, report.corrected, report.refused) == (True, 2, 0, 0)
    feed(world.store, changes_of(world.inner))
    assert summed(world.store, MEMBERS) == RIGHT


def test_wrong_and_lost_numbers_are_corrected_and_those_of_nothing_become_0() -> None:
    world = filled()
    feed(world.store, changes_of(world.inner))
    world.store.update(Box, "ann", {"unread": 77, "colour": "red"})
    world.store.delete(Box, "bob")
    world.store.create(Box(member_id="eve", unread=5))
    report = Rebuild(world.store.parts, UNREAD).run()
    assert summed(world.store, MEMBERS) == RIGHT
    eve, ann = world.store.get(Box, "eve"), world.store.get(Box, "ann")
    assert eve is not None
    assert ann is not None
    assert (eve.unread, ann.colour, report.corrected) == (0, "red", 2)
    assert Rebuild(world.store.parts, UNREAD).run().corrected == 0


def test_changes_that_the_stream_did_not_tell_of_are_found() -> None:
    world = filled()
    feed(world.store, changes_of(world.inner))
    world.store.delete(Letter, "b")
    Rebuild(world.store.parts, UNREAD).run()
    assert summed(world.store, MEMBERS) == {"ann": (1, 2), "bob": (1, 2), "": 1}


def test_what_a_reset_has_settled_stays_so() -> None:
    world = filled()
    feed(world.store, changes_of(world.inner))
    world.store.reset(Box, "ann", "unread")
    world.store.create(Letter(letter_id="c", member_ids=["ann"], weight=Decimal(1)))
    feed(world.store, changes_of(world.inner))
    report = Rebuild(world.store.parts, UNREAD).run()
    assert summed(world.store, MEMBERS) == {"ann": (1, 6), "bob": (1, 2), "": 3}
    assert report.corrected == 0


def test_a_reset_while_a_rebuild_is_under_way_holds() -> None:
    world = filled()
    feed(world.store, changes_of(world.inner))
    for stops in range(1, 40):
        left = [stops]

        def stop(left: list[int] = left) -> bool:
            left[0] -= 1
            return left[0] < 0

        Rebuild(world.store.parts, UNREAD, page=1).run(stop=stop)
        world.store.reset(Box, "ann")
        Rebuild(world.store.parts, UNREAD, page=1).run()
        assert summed(world.store, MEMBERS)["ann"] == (0, 0), stops


def test_numbers_are_read_as_they_were_while_a_rebuild_is_under_way_and_follow_changes() -> None:
    world = filled()
    feed(world.store, changes_of(world.inner))
    seen = []

    def stop() -> bool:
        seen.append(summed(world.store, MEMBERS)["ann"])
        if len(seen) == 3:
            world.store.delete(Letter, "b")
            feed(world.store, changes_of(world.inner))
        return False

    Rebuild(world.store.parts, UNREAD, page=1).run(stop=stop)
    assert seen[:3] == [(2, 5)] * 3
    assert set(seen[3:]) == {(1, 2)}
    assert summed(world.store, MEMBERS) == {"ann": (1, 2), "bob": (1, 2), "": 1}


def test_a_record_that_cannot_be_read_keeps_what_it_added_and_is_named() -> None:
    world = filled()
    feed(world.store, changes_of(world.inner))
    (item,) = [each for each in world.items_of(Letter) if each["letterId"] == "a"]
    world.inner.run(PutItem(item | {"memberIds": 5}))
    report = Rebuild(world.store.parts, UNREAD).run()
    assert summed(world.store, MEMBERS) == RIGHT
    assert report.refused > 0
    assert report.examples


def test_two_rebuilds_at_once_are_refused() -> None:
    world = filled()
    other = Rebuild(world.other.parts, UNREAD, page=1)

    def stop() -> bool:
        other.run(stop=lambda: True)
        return True

    with pytest.raises(Conflict, match="another process does the same work"):
        Rebuild(world.store.parts, UNREAD, page=1).run(stop=stop)


def test_a_read_model_of_events_cannot_be_rebuilt() -> None:
    world = post_office()
    with pytest.raises(InputError, match="only a read model of records can be rebuilt"):
        Rebuild(world.store.parts, world.schema.read_model("parcels"))


# -- the command, and what else knows of what is remembered -----------------------------------------------------------

SERVICE = """
from shardweave import ORDERED, Entity, ReadModel, Schema, UpdateRecord, unique_property

class Letter(Entity, token="letter"):
    letter_id: str = unique_property()
    member: str

class Box(Entity, token="box"):
    member: str = unique_property()
    unread: int = 0

def count(letter):
    return [UpdateRecord(Box, letter.member, add={"unread": 1})]

def schema(key_format=ORDERED):
    unread = ReadModel("unread", records=(Letter,), writes=(Box,), project=count)
    return Schema([Letter, Box], key_format=key_format, read_models=[unread])
"""


def test_the_command_counts_again_and_says_what_it_corrected(tmp_path: Path) -> None:
    service = tmp_path / "unread_letters.py"
    service.write_text(SERVICE)
    where = ("--service", str(service), "--data", str(tmp_path / "data"))
    lines = '{"letterId": "a", "member": "ann"}\n{"letterId": "b", "member": "ann"}\n'
    assert shardweave("load", *where, "-", given=lines).code == 0
    first = shardweave("rebuild", "unread", *where)
    assert (first.code, first.errors.splitlines()[-1]) == (0, "unread: 2 records counted, 0 corrected")
    again = shardweave("rebuild", *where)
    assert (again.code, again.errors.splitlines()[-1]) == (0, "unread: 2 records counted, 0 corrected")
    scanned = shardweave("scan", "--entity", "box", *where)
    assert [each["unread"] for each in scanned.lines] == [2]
    for wrong in (("letters",), ("unread", "--rate", "-1")):
        refused = shardweave("rebuild", *wrong, *where)
        assert refused.code in (1, 2)
        assert "Fix: " in refused.errors
        assert "Traceback" not in refused.errors


def test_the_doctor_knows_what_is_remembered_and_says_what_is_damaged() -> None:
    world = filled()
    feed(world.store, changes_of(world.inner))
    assert Doctor(world.store.parts, world.clock).run().findings.counts == {}
    (memory, _) = [item for item in world.items() if "*sums-unread" in item["hashKey"]]
    world.inner.run(PutItem(memory | {"_parts": "gone"}))
    assert Doctor(world.store.parts, world.clock).run().findings.counts == {"bookkeeping_damaged": 1}


def test_a_handler_of_changes_feeds_read_models_after_everything_else() -> None:
    world = filled()
    handler = feeding(ChangeCounts(SCHEMA), world.store)
    for change in changes_of(world.inner):
        handler.handle(change)
    assert summed(world.store, MEMBERS) == RIGHT
    assert sum(each.changes for each in handler.drain().values()) == 2
    assert (handler.wake(), handler.proposals()) == (0, {})
    plain = ChangeCounts(post_office().schema)
    assert feeding(plain, post_office().store) is plain
