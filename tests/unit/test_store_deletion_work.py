"""Deleting a parent with more children than one transaction changes: the work is stored, its progress can be asked for,
any process goes on with it, and no child comes meanwhile."""

from __future__ import annotations

import io
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from shardweave import Database
from shardweave.cli.console import Streams
from shardweave.cli.deletions import tell
from shardweave.errors import DeleteIncomplete, HasChildren, ParentMissing, ShardweaveError
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.reshard.change_handler import ChangeCounts
from shardweave.schema.declarations import Lookup, belongs_to
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.service.build import feeding
from shardweave.store import Create, Delete, RetryClock, Store
from shardweave.store.operations import NONE_VISIBLE, Visible
from shardweave.store.relations.deletion_work import deletion_key
from shardweave.store.relations.enforced import DELETING, counter_key
from shardweave.table.fault_injection import WRITES, Call, Crash, Crashed, Script
from shardweave.table.operations import DeleteItem, PutItem, UpdateItem
from shardweave.table.stream_operations import StreamRecord
from tests.unit.store_world import Note, World

from .cli_world import shardweave

MANY = 70


class Room(Entity, token="room"):
    """What guests belong to; it may expire."""

    room_id: str = unique_property(default_factory=nanoid)
    expires: int | None = ttl_property()


class Guest(Entity, token="guest"):
    """Goes with its room."""

    guest_id: str = unique_property(default_factory=nanoid)
    room_id: str

    rooms = Lookup("room_id")
    room = belongs_to(Room, by="room_id", enforced=True, on_delete="cascade")


class Picture(Entity, token="picture"):
    """Stays when its room goes."""

    picture_id: str = unique_property(default_factory=nanoid)
    room_id: str | None = None

    rooms = Lookup("room_id")
    room = belongs_to(Room, by="room_id", enforced=True, on_delete="detach")


class Bill(Entity, token="bill"):
    """A room with bills stays."""

    bill_id: str = unique_property(default_factory=nanoid)
    room_id: str

    room = belongs_to(Room, by="room_id", enforced=True)


SCHEMA = Schema([Room, Guest, Picture, Bill])
ROOM = SCHEMA[Room]
IDENTITY = {"roomId": "r"}


def hotel(guests: int = MANY, pictures: int = 0) -> tuple[World, Script]:
    """A room with guests and pictures, and another one."""
    script = Script(matching=WRITES)
    world = World(script, schema=SCHEMA)
    world.store.create(Room(room_id="r"))
    world.store.create(Room(room_id="other"))
    world.store.create(Guest(guest_id="stays", room_id="other"))
    world.store.batch_write([Guest(guest_id=f"g{number}", room_id="r") for number in range(guests)])
    world.store.batch_write([Picture(picture_id=f"p{number}", room_id="r") for number in range(pictures)])
    return world, script


def stopped(world: World) -> None:
    """Begin to delete the room, without time to end that."""
    with pytest.raises(DeleteIncomplete):
        world.store.delete(Room, "r", seconds=0)


def examined(world: World, *, repair: bool = False) -> DoctorReport:
    return Doctor(world.new_store(world.inner).parts, world.clock, repair=repair).run()


def is_gone(world: World) -> bool:
    """Whether all is gone that has to, with everything beside it."""
    guests = [item["guestId"] for item in world.items_of(Guest)]
    names = {str(item["rangeKey"]) for item in world.items()}
    left = [name for name in names if name.startswith("delete#")]
    attached = [item for item in world.items_of(Picture) if "roomId" in item]
    rooms = [item["roomId"] for item in world.items_of(Room)]
    return (guests, left, attached, rooms) == (["stays"], [], [], ["other"]) and examined(world).code == 0


def later(world: World) -> None:
    """When the time of any process that worked is over."""
    world.clock.now += 3_600_000


def test_its_progress_is_what_the_counter_says() -> None:
    world, script = hotel()
    script._left = [None, None, None, Crash()]
    with pytest.raises(Crashed):
        world.store.delete(Room, "r")
    (deletion,) = world.other.deletions()
    left = len(world.items_of(Guest)) - 1
    assert 0 < left < MANY
    assert (deletion.entity, deletion.key, deletion.total, deletion.left) == ("room", {"roomId": "r"}, MANY, left)
    assert deletion.since == world.clock.now
    with pytest.raises(DeleteIncomplete, match=f"{left} of them are left"):
        world.other.delete(Room, "r", seconds=0)
    assert world.other.delete(Room, "r")
    assert list(world.other.deletions()) == []
    assert is_gone(world)


def test_how_many_are_left_is_only_told_to_those_who_may_see_all_of_them() -> None:
    world, _ = hotel()
    for related, words in (
        (lambda token: Visible(), f"{MANY} of them are left"),
        (lambda token: NONE_VISIBLE, "some of them are left"),
        (None, f"{MANY} of them are left"),
    ):
        with pytest.raises(DeleteIncomplete, match=words):
            world.store.delete(Room, "r", seconds=0, related=related)


def test_what_fits_one_transaction_is_not_stored() -> None:
    world, script = hotel(guests=10)
    seen: set[str] = set()

    class Look:
        """What is stored when a request is sent."""

        def execute(self, call: Call) -> Any:
            seen.update(item["rangeKey"] for item in world.items())
            return call.run(call.operation)

    script._left = [Look()] * 9
    assert world.store.delete(Room, "r")
    assert seen
    assert not any(name.startswith("delete#") for name in seen)
    assert is_gone(world)


@pytest.mark.parametrize("carried_out", [False, True])
@pytest.mark.parametrize("by", ["the deletion", "whoever goes on"])
@pytest.mark.parametrize("step", range(13))
def test_stopped_at_any_write_another_process_goes_on(step: int, by: str, carried_out: bool) -> None:
    world, script = hotel(guests=45, pictures=45)
    script._left = [None] * step + [Crash(carried_out)]
    with suppress(Crashed):
        world.store.delete(Room, "r")
    later(world)
    if by == "the deletion":
        world.other.delete(Room, "r")
    else:
        world.other.continue_deletions()
        if step == 0 or (step == 1 and not carried_out):  # nothing had begun
            assert world.other.delete(Room, "r")
    assert is_gone(world)


def test_no_child_comes_once_it_has_begun() -> None:
    world, _ = hotel()
    stopped(world)
    for write in (
        lambda: world.other.create(Guest(room_id="r")),
        lambda: world.other.put(Guest(guest_id="stays", room_id="r")),
        lambda: world.other.update(Guest, "stays", {"room_id": "r"}),
        lambda: world.other.transact([Create(Picture(room_id="r")), Create(Guest(room_id="other"))]),
        lambda: world.other.create(Bill(room_id="r")),
    ):
        before = world.items()
        with pytest.raises(ParentMissing, match="is being deleted"):
            write()
        assert world.items() == before
    world.other.update(Guest, "g1", {"room_id": "other"})
    world.other.update(Room, "r", {"expires": None})
    assert world.other.delete(Room, "r")
    assert {item["roomId"] for item in world.items_of(Guest)} == {"other"}


def test_a_backfill_counts_a_child_that_was_not_counted_yet() -> None:
    world, _ = hotel()
    (guest,) = (item for item in world.items_of(Guest) if item["guestId"] == "g1")
    world.inner.run(PutItem({name: value for name, value in guest.items() if name != "_counted"}))
    world.inner.run(UpdateItem(counter_key(ROOM, IDENTITY), add={"guest_room": -1}))
    stopped(world)
    report = world.other.backfill(Guest, "room", again=True)
    assert (report.filled, report.refused, report.ready) == (1, 0, True)
    assert [each.left for each in world.other.deletions()] == [MANY]
    assert world.other.delete(Room, "r")
    assert is_gone(world)


def test_what_restricts_it_keeps_it_from_beginning() -> None:
    world, _ = hotel()
    world.store.create(Bill(room_id="r"))
    before = world.items()
    with pytest.raises(HasChildren):
        world.store.delete(Room, "r")
    assert world.items() == before


def test_a_bill_that_comes_when_it_begins_keeps_it_from_beginning() -> None:
    world, script = hotel()

    class Billed:
        """Somebody writes a bill before this request."""

        def execute(self, call: Call) -> Any:
            world.other.create(Bill(room_id="r"))
            return call.run(call.operation)

    script._left = [None, Billed()]
    with suppress(ShardweaveError):
        world.store.delete(Room, "r")
    assert len(world.items_of(Guest)) >= 1
    assert DELETING not in next(item for item in world.items() if "bill_room" in item)
    with pytest.raises(HasChildren):
        world.other.delete(Room, "r")


def test_nobody_goes_on_while_another_process_may_be_at_it() -> None:
    world, _ = hotel()
    stopped(world)
    assert world.other.continue_deletions() == 0
    assert len(world.items_of(Guest)) == MANY + 1
    later(world)
    assert world.other.continue_deletions() == 1
    assert is_gone(world)
    assert world.other.continue_deletions() == 0


def test_several_are_continued_in_pages() -> None:
    world, _ = hotel(guests=0)
    world.other.delete(Room, "r")
    for number in range(30):
        world.other.create(Room(room_id=f"r{number}"))
        world.other.batch_write([Guest(room_id=f"r{number}") for _ in range(25)])
        with pytest.raises(DeleteIncomplete):
            world.other.delete(Room, f"r{number}", seconds=0)
    assert len(list(world.other.deletions())) == 30
    later(world)
    assert world.other.continue_deletions(seconds=60) == 30
    assert is_gone(world)


def test_a_transaction_does_not_delete_a_record_whose_deletion_has_begun() -> None:
    world, script = hotel()
    script._left = [None] * 8 + [Crash()]
    with pytest.raises(Crashed):
        world.store.delete(Room, "r")
    assert len(world.items_of(Guest)) == 1
    with pytest.raises(HasChildren):
        world.other.transact([Delete(Room, "r")])
    assert world.other.delete(Room, "r")
    assert is_gone(world)


def test_a_parent_that_expires_meanwhile_takes_its_children_along() -> None:
    world, _ = hotel()
    world.store.update(Room, "r", {"expires": world.clock.now // 1000 + 60})
    stopped(world)
    later(world)
    assert world.other.get(Room, "r") is None
    assert world.other.continue_deletions() == 1
    assert [item["guestId"] for item in world.items_of(Guest)] == ["stays"]
    assert list(world.other.deletions()) == []


def test_the_doctor_goes_on_with_one_that_has_stopped() -> None:
    world, _ = hotel()
    stopped(world)
    assert examined(world).code == 0
    later(world)
    report = examined(world)
    assert [each.kind for each in report.findings.all_named] == ["deletion_stopped"]
    assert examined(world, repair=True).findings.repaired == {"deletion_stopped": 1}
    assert is_gone(world)


def with_a_half(removed: str) -> World:
    """A world with a stopped deletion whose record or whose mark another program has removed."""
    world, _ = hotel()
    stopped(world)
    if removed == "record":
        world.inner.run(DeleteItem(deletion_key(ROOM, IDENTITY)))
    else:
        world.inner.run(UpdateItem(counter_key(ROOM, IDENTITY), remove=(DELETING,)))
    return world


@pytest.mark.parametrize("what", ["record", "mark"])
def test_the_doctor_clears_what_is_left_of_one(what: str) -> None:
    world = with_a_half(what)
    report = examined(world)
    assert [each.kind for each in report.findings.all_named] == ["deletion_remains"]
    assert examined(world, repair=True).findings.repaired == {"deletion_remains": 1}
    assert world.other.create(Guest(room_id="r"))
    assert world.other.delete(Room, "r")
    assert is_gone(world)


@pytest.mark.parametrize("what", ["record", "mark"])
def test_deleting_again_mends_what_another_program_removed(what: str) -> None:
    world = with_a_half(what)
    assert world.other.delete(Room, "r")
    assert is_gone(world)


def test_it_goes_on_when_the_function_of_the_stream_is_woken() -> None:
    world, _ = hotel()
    stopped(world)
    later(world)
    handler = feeding(ChangeCounts(SCHEMA), world.other)
    assert handler.wake() == 1
    assert is_gone(world)
    assert handler.wake() == 0
    handler.handle(StreamRecord("INSERT", {"hashKey": "room!", "rangeKey": "x"}, None, {}, "1", "1", 0.0))
    assert set(handler.drain()) == {"room!"}
    assert handler.proposals() == {}


def test_a_schema_without_such_children_has_no_more_to_do() -> None:
    plain = ChangeCounts(SCHEMA)
    assert feeding(plain, World(schema=Schema([Note])).store) is plain


def told(world: World, **options: Any) -> tuple[int, str, str]:
    """The exit code, and what the command writes. Where it waits, time passes."""

    def sleep(seconds: float) -> None:
        world.clock.now += int(seconds * 1000)

    output, errors = io.BytesIO(), io.StringIO()
    streams = Streams(io.BytesIO(), output, errors, world.clock)
    code = tell(world.other, streams, sleep=sleep, **options)
    return code, output.getvalue().decode(), errors.getvalue()


@pytest.mark.parametrize("asked", [{"go_on": True, "wait": True}, {"go_on": False, "wait": True}])
def test_the_command_waits_for_one_that_a_killed_process_holds(asked: dict[str, bool]) -> None:
    world, script = hotel()
    script._left = [None, None, None, Crash()]
    with pytest.raises(Crashed):
        world.store.delete(Room, "r")
    begun, (deletion,) = world.clock.now, world.other.deletions()
    assert deletion.held_until > begun
    code, output, errors = told(world, **asked)
    assert (code, output) == (0, "")
    assert errors.startswith("1 deletion held; waiting until 2024-10-27 03:33:35 UTC\ncontinued; 0 records left\n")
    assert world.clock.now == deletion.held_until, "no longer than it was held"
    assert is_gone(world)


@pytest.mark.parametrize(("seconds", "is_done"), [(0.4, True), (3, False)])
def test_one_that_takes_longer_than_a_turn_is_continued_while_it_gets_on(seconds: float, is_done: bool) -> None:
    world, _ = hotel()
    stopped(world)
    later(world)

    def slow() -> float:
        """Each look at the clock takes some seconds, so that a turn of 30 seconds is soon over."""
        world.clock.now += int(seconds * 1000)
        return world.clock.now / 1000

    waiting = RetryClock(sleep=lambda seconds: None, monotonic=slow)
    world.other = Store(SCHEMA, world.inner, clock=world.clock, maps=world.maps, waiting=waiting)
    code, _, errors = told(world, go_on=True)
    assert errors.count("continued") > 1
    assert (code == 0, is_gone(world)) == (is_done, is_done)


def test_the_command_lists_and_continues_them(tmp_path: Path) -> None:
    world, _ = hotel()
    stopped(world)

    line = "room roomId=r: since 2024-10-27 03:33:20 UTC, 0 of 70 gone"
    held = "1 deletion not continued: held by the process that worked on it last, which may have ended; --wait goes on "
    held += "when that is over, at 2024-10-27 03:33:25 UTC at the latest\n"
    assert told(world, go_on=False) == (0, f"{line}, held until 2024-10-27 03:33:25 UTC\n", "")
    assert told(world, go_on=True) == (1, f"{line}, held until 2024-10-27 03:33:25 UTC\n", held)
    later(world)
    assert told(world, go_on=False) == (0, f"{line}\n", "")
    assert told(world, go_on=True) == (0, "", "continued; 0 records left\nno deletion is under way\n")
    shardweave("load", "-", "--data", str(tmp_path))
    outcome = shardweave("deletions", "--continue", "--data", str(tmp_path))
    assert (outcome.code, outcome.output, outcome.errors) == (0, "", "no deletion is under way\n")


def test_a_database_says_how_far_they_are_and_continues_them() -> None:
    with Database(SCHEMA) as db:
        db.create(Room(room_id="r"))
        db.batch_write([Guest(room_id="r") for _ in range(40)])
        with pytest.raises(DeleteIncomplete):
            db.store.delete(Room, "r", seconds=0)
        (deletion,) = db.deletions()
        assert (deletion.key, deletion.total, deletion.left) == ({"roomId": "r"}, 40, 40)
        assert db.continue_deletions() == 0
        assert db.delete(Room, "r")
        assert db.deletions() == []
