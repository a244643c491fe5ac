"""What the doctor finds of read models of records: each kind of fault, found, named, repaired, clean after."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import RecordUnreadable
from shardweave.maintenance.count_judge import LATE
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.maintenance.fault_kinds import KINDS, Severity
from shardweave.maintenance.late_findings import LATE_SECONDS, MAX_SAVED
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.schema.read_models import Action, ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.table.operations import DeleteItem, PutItem
from tests.unit.read_model_world import post_office
from tests.unit.store_world import World
from tests.unit.summed_world import SCHEMA, Box, Hall, Letter, changes_of, feed, post_room, summed

MEMBERS = ("ann", "bob", "cid")
Damage = Callable[[World], Any]


def filled() -> World:
    """Letters that are counted, one of them settled by a reset; the numbers are what they should be."""
    world = post_room()
    for name, members, weight in (("a", ["ann", "bob"], 2), ("b", ["ann"], 3), ("c", ["cid"], 1)):
        world.store.create(Letter(letter_id=name, member_ids=members, weight=Decimal(weight)))
    feed(world.store, changes_of(world.inner))
    world.store.reset(Box, "cid")
    world.store.create(Letter(letter_id="d", member_ids=["cid"], weight=Decimal(4)))
    feed(world.store, changes_of(world.inner))
    return world


RIGHT = {"ann": (2, 5), "bob": (1, 2), "cid": (1, 4), "": 4}


def doctor(world: World, **options: Any) -> Doctor:
    return Doctor(world.new_store(world.inner).parts, world.clock, **options)


def examined(world: World, **options: Any) -> DoctorReport:
    report = doctor(world, **options).run()
    assert report.done
    return report


def one(world: World, head: str, **properties: Any) -> dict[str, Any]:
    (item,) = [
        each for each in world.items() if each["hashKey"].startswith(head) and properties.items() <= each.items()
    ]
    return item


def memory(world: World, letter: str) -> dict[str, Any]:
    return one(world, "letter.*sums-unread", rangeKey=f"letterId#{letter}")


def put(world: World, item: dict[str, Any], **attributes: Any) -> None:
    """Another program writes an item."""
    whole = {**item, **attributes}
    world.inner.run(PutItem({name: value for name, value in whole.items() if value is not None}))


def remove(world: World, item: dict[str, Any]) -> None:
    world.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))


# -- faults that are repaired -----------------------------------------------------------------------------------------


def not_told(world: World) -> None:
    world.store.create(Letter(letter_id="e", member_ids=["bob"], weight=Decimal(1)))


def change_not_told(world: World) -> None:
    world.store.update(Letter, "a", {"member_ids": ["bob", "cid"], "weight": Decimal(7)})


def removal_not_told(world: World) -> None:
    world.store.delete(Letter, "a")


def memory_of_another_state(world: World) -> None:
    """It says that it is of the record's revision, and is not."""
    found = memory(world, "c")
    parts = [[token, own, {name: [9, each[1], each[2]] for name, each in numbers.items()}, by]
             for token, own, numbers, by in found["_parts"]]  # fmt: skip
    put(world, found, _parts=parts)


def number_too_high(world: World) -> None:
    world.store.update(Box, "ann", {"unread": 77})


def number_too_low(world: World) -> None:
    put(world, one(world, "hall", letters=4), letters=1)


def number_removed(world: World) -> None:
    put(world, one(world, "box", memberId="bob"), weight=None)


def number_after_a_reset(world: World) -> None:
    world.store.update(Box, "cid", {"unread": 2})


def number_of_nobody(world: World) -> None:
    world.store.create(Box(member_id="eve", unread=3))


def record_of_numbers_written_anew(world: World) -> None:
    """By hand, and nothing was ever reset in it: the sums are known."""
    world.store.delete(Box, "ann")
    world.store.create(Box(member_id="ann"))


REPAIRED: list[tuple[Damage, dict[str, int]]] = [
    (not_told, {"count_missing": 1}),
    (change_not_told, {"count_stale": 1}),
    (removal_not_told, {"count_dangling": 1}),
    (number_too_high, {"sum_wrong": 1}),
    (number_too_low, {"sum_wrong": 1}),
    (number_removed, {"sum_wrong": 1}),
    (number_after_a_reset, {"sum_wrong": 1}),
    (number_of_nobody, {"sum_wrong": 1}),
    (record_of_numbers_written_anew, {"sum_wrong": 1}),
]


@pytest.mark.parametrize(("damage", "kinds"), REPAIRED, ids=lambda each: getattr(each, "__name__", None))
def test_a_fault_is_found_repaired_and_gone_and_the_numbers_are_those_of_a_rebuild(
    damage: Damage, kinds: dict[str, int]
) -> None:
    world = filled()
    assert examined(world).findings.counts == {}
    damage(world)
    report = examined(world)
    assert (report.findings.counts, report.code) == (kinds, 1)
    repaired = examined(world, repair=True)
    assert (repaired.findings.repaired, repaired.code) == (kinds, 0)
    after = summed(world.store, (*MEMBERS, "eve"))
    assert examined(world).findings.counts == {}
    Rebuild(world.store.parts, SCHEMA.read_model("unread")).run()
    assert summed(world.store, (*MEMBERS, "eve")) == after
    feed(world.store, changes_of(world.inner))
    assert summed(world.store, (*MEMBERS, "eve")) == after
    assert examined(world).code == 0


def test_numbers_that_were_only_damaged_are_what_they_were() -> None:
    for damage in (number_too_high, number_too_low, number_removed, number_after_a_reset):
        world = filled()
        assert summed(world.store, MEMBERS) == RIGHT
        damage(world)
        assert summed(world.store, MEMBERS) != RIGHT
        examined(world, repair=True)
        assert summed(world.store, MEMBERS) == RIGHT, damage.__name__


def test_a_finding_names_the_records_key_and_the_numbers_but_not_what_they_are() -> None:
    world = filled()
    number_too_high(world)
    not_told(world)
    box, letter = one(world, "box", memberId="ann"), one(world, "letter!", letterId="e")
    missing, wrong = examined(world).findings.all_named
    assert (missing.about, missing.key) == ("letter.unread", (letter["hashKey"], letter["rangeKey"]))
    assert missing.other is not None
    assert missing.other[1] == "letterId#e"
    assert (wrong.about, wrong.key) == ("box.unread", (box["hashKey"], box["rangeKey"]))
    assert "77" not in str(wrong.document())


def test_a_memory_that_another_program_changed_is_found_and_a_rebuild_counts_right() -> None:
    world = filled()
    memory_of_another_state(world)
    report = examined(world)
    assert (report.findings.counts, report.code) == ({"count_stale": 1, "sum_lost": 1}, 2)
    Rebuild(world.store.parts, SCHEMA.read_model("unread")).run()
    assert summed(world.store, MEMBERS)[""] == RIGHT[""]
    assert examined(world).findings.counts == {}


def test_all_other_properties_of_a_repaired_record_stay() -> None:
    world = filled()
    world.store.update(Box, "ann", {"unread": 77, "colour": "red"})
    examined(world, repair=True)
    box = world.store.get(Box, "ann")
    assert box is not None
    assert (box.unread, box.colour) == (2, "red")


# -- faults that take a person ----------------------------------------------------------------------------------------


def record_of_numbers_removed(world: World) -> None:
    world.store.delete(Box, "ann")


def record_of_numbers_made_again_without_its_resets(world: World) -> None:
    world.store.delete(Box, "cid")
    world.store.create(Letter(letter_id="e", member_ids=["cid"], weight=Decimal(1)))
    feed(world.store, changes_of(world.inner))


@pytest.mark.parametrize("damage", [record_of_numbers_removed, record_of_numbers_made_again_without_its_resets])
def test_a_removed_record_of_numbers_is_named_and_a_rebuild_makes_it_again(damage: Damage) -> None:
    world = filled()
    damage(world)
    before = world.items()
    report = examined(world, repair=True)
    assert (report.findings.counts, report.findings.repaired, report.code) == ({"sum_lost": 1}, {}, 2)
    assert [each for each in world.items() if not each["hashKey"].startswith("_maintenance")] == before
    Rebuild(world.store.parts, SCHEMA.read_model("unread")).run()
    assert examined(world).findings.counts == {}


def test_what_adds_nothing_to_a_removed_record_is_no_fault() -> None:
    world = filled()
    world.store.delete(Letter, "a")
    feed(world.store, changes_of(world.inner))
    world.store.delete(Box, "bob")
    assert examined(world).findings.counts == {}


def test_a_record_for_which_project_fails_is_named_and_adds_what_it_added() -> None:
    def fails_for_c(letter: Letter) -> Sequence[Action]:
        if letter.letter_id == "c":
            raise KeyError
        return SCHEMA.read_model("unread").project(letter)

    world = filled()
    broken = ReadModel("unread", records=(Letter,), writes=(Box, Hall), project=fails_for_c)
    world.schema = Schema([Letter, Box, Hall], read_models=[broken])
    report = examined(world, repair=True)
    assert (report.findings.counts, report.code) == ({"uncountable_record": 1}, 2)
    (finding,) = report.findings.all_named
    assert finding.key[1] == "letterId#c"


def test_a_changed_project_is_found_and_repaired() -> None:
    def heavier(letter: Letter) -> Sequence[Action]:
        return [Update(Box, each, add={"unread": 1, "weight": letter.weight + 1}) for each in letter.member_ids]

    world = filled()
    changed = ReadModel("unread", records=(Letter,), writes=(Box, Hall), project=heavier)
    world.schema = Schema([Letter, Box, Hall], read_models=[changed])
    assert examined(world, repair=True).findings.repaired == {"count_stale": 4}
    after = {"ann": (2, 7), "bob": (1, 3), "cid": (1, 6), "": 0}
    assert summed(world.store, MEMBERS) == after, "of what was settled, the difference counts"
    Rebuild(world.new_store(world.inner).parts, changed).run()
    assert summed(world.store, MEMBERS) == after
    assert examined(world).findings.counts == {}


def test_while_something_remembered_is_damaged_no_sum_is_known_and_none_is_repaired() -> None:
    world = filled()
    put(world, memory(world, "b"), _parts="gone")
    report = examined(world, repair=True)
    assert (report.findings.counts, summed(world.store, MEMBERS)) == ({"bookkeeping_damaged": 1}, RIGHT)
    assert ({key[1] for key in report.unsummed}, report.undecided) == ({"memberId#ann", "hall"}, ())


@pytest.mark.parametrize(
    "part",
    [
        ["box", {"memberId": "ann"}, {"unread": ["many", 1, ""]}, ""],
        ["box", {"memberId": "ann"}, {"unread": [1, None, ""]}, ""],
        ["box", {"memberId": "ann"}, {"unread": [True, 1, ""]}, ""],
        ["box", {"memberId": "ann"}, ["unread"], ""],
        ["box", {"memberId": "ann"}, "unread", ""],
        ["box", {"memberId": 5}, {"unread": [1, 1, ""]}, ""],
        ["box", {}, {"unread": [1, 1, ""]}, ""],
        ["box", [], {"unread": [1, 1, ""]}, ""],
        ["box"],
    ],
)
def test_a_part_that_is_none_is_damaged_and_nothing_is_counted_by_it(part: Any) -> None:
    world = filled()
    put(world, memory(world, "b"), _parts=[part])
    report = examined(world, repair=True)
    assert report.findings.counts == {"bookkeeping_damaged": 1}
    world.store.delete(Letter, "b")
    with pytest.raises(RecordUnreadable, match="what is remembered of it"):
        feed(world.store, changes_of(world.inner))
    assert summed(world.store, MEMBERS) == RIGHT


def test_what_is_remembered_under_a_key_that_is_not_its_records_is_damaged() -> None:
    world = filled()
    found = memory(world, "b")
    digits = "0" if not found["hashKey"].endswith("00") else "1"
    put(world, found, hashKey=found["hashKey"][:-2] + digits * 2)
    assert examined(world).findings.counts["bookkeeping_damaged"] == 1


# -- what is no fault -------------------------------------------------------------------------------------------------


def test_what_the_stream_tells_of_within_a_few_seconds_is_no_fault() -> None:
    world = filled()
    for damage in (not_told, change_not_told):
        damage(world)
    world.store.delete(Letter, "b")
    seen: list[float] = []

    class Pauses:
        """The stream is handled while the doctor waits."""

        def sleep(self, seconds: float) -> None:
            seen.append(seconds)
            feed(world.store, changes_of(world.inner))
            world.pauses.now += seconds

    world.pauses.sleep = Pauses().sleep  # type: ignore[method-assign]
    assert examined(world).findings.counts == {}
    assert sum(seen) >= LATE_SECONDS


def test_a_table_without_late_changes_is_not_waited_for() -> None:
    world = filled()
    assert examined(world).code == 0
    assert sum(world.pauses.slept) == 0


def test_a_record_that_keeps_changing_is_left_to_the_next_run() -> None:
    world = filled()
    not_told(world)
    sleep = world.pauses.sleep

    def change(seconds: float) -> None:
        world.store.update(Letter, "e", {"note": f"{world.pauses.now}"})
        sleep(seconds)

    world.pauses.sleep = change  # type: ignore[method-assign]
    assert examined(world).findings.counts == {}
    world.pauses.sleep = sleep  # type: ignore[method-assign]
    assert examined(world).findings.counts == {"count_missing": 1}


def test_a_record_that_has_expired_counts_until_the_table_removes_it() -> None:
    world = post_room()
    world.store.create(Letter(letter_id="a", member_ids=["ann"], expires=world.clock.now // 1000 + 60))
    feed(world.store, changes_of(world.inner))
    world.clock.now += 120_000
    assert examined(world).findings.counts == {}
    remove(world, one(world, "letter!", letterId="a"))
    assert examined(world).findings.counts == {"count_dangling": 1}
    assert examined(world, repair=True).code == 0
    assert summed(world.store, ("ann",)) == {"ann": (0, 0), "": 0}


def test_a_number_to_which_nothing_adds_is_somebodys_own() -> None:
    def only_unread(letter: Letter) -> Sequence[Action]:
        return [Update(Box, each, add={"unread": 1}) for each in letter.member_ids]

    world = post_room()
    model = ReadModel("unread", records=(Letter,), writes=(Box,), project=only_unread)
    world.schema = Schema([Letter, Box, Hall], read_models=[model])
    store = world.new_store(world.inner)
    store.create(Letter(letter_id="a", member_ids=["ann"]))
    feed(store, changes_of(world.inner))
    store.update(Box, "ann", {"weight": Decimal(3)})
    assert examined(world).findings.counts == {}


class Counting:
    """A table in which something happens each time that a number of requests has been made."""

    def __init__(self, world: World, happens: Callable[[int], object], every: int) -> None:
        self._world, self._happens, self._every, self._number = world, happens, every, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.inner, name)

    def run(self, operation: Any, **options: Any) -> Any:
        self._number += 1
        if self._number % self._every == 0:
            self._happens(self._number)
        return self._world.inner.run(operation, **options)


def test_sums_that_change_while_they_are_counted_make_no_false_alarm_and_a_wrong_one_is_found() -> None:
    world = filled()
    world.store.update(Box, "bob", {"unread": 9})
    store = world.new_store(world.inner)

    def happens(number: int) -> None:
        store.create(Letter(letter_id=f"n{number}", member_ids=["ann"], weight=Decimal(number)))
        feed(store, changes_of(world.inner)[-30:])
        if number % 3 == 0:
            store.reset(Box, "ann")

    table = Counting(world, happens, 60)
    report = Doctor(world.new_store(table).parts, world.clock).run()  # type: ignore[arg-type]
    assert report.findings.counts == {"sum_wrong": 1}
    assert {key[1] for key in report.undecided} <= {"memberId#ann", "hall"}
    assert examined(world).findings.counts == {"sum_wrong": 1}


def test_a_number_that_is_changed_before_its_repair_is_not_written() -> None:
    world = filled()
    number_too_high(world)
    store = world.new_store(world.inner)
    before: list[int] = []

    class Meanwhile(Counting):
        def run(self, operation: Any, **options: Any) -> Any:
            if "TransactWrite" in type(operation).__name__ or isinstance(operation, PutItem):
                keys = [str(getattr(each, "item", {}).get("hashKey", "")) for each in getattr(operation, "actions", [])]
                keys.append(str(getattr(operation, "item", {}).get("hashKey", "")))
                if any(each.startswith("box!") for each in keys) and not before:
                    before.append(1)
                    store.update(Box, "ann", {"unread": 50})
            return super().run(operation, **options)

    table = Meanwhile(world, lambda number: None, 10**9)
    report = Doctor(world.new_store(table).parts, world.clock, repair=True).run()  # type: ignore[arg-type]
    assert before == [1]
    assert (report.findings.counts, report.findings.repaired) == ({"sum_wrong": 1}, {})
    box = world.store.get(Box, "ann")
    assert box is not None
    assert box.unread == 50


# -- long tables ------------------------------------------------------------------------------------------------------


def test_no_more_records_are_held_than_may_be_and_the_report_is_the_same() -> None:
    world = post_room()
    for number in range(40):
        world.store.create(Letter(letter_id=f"l{number}", member_ids=[f"m{number}"]))
    feed(world.store, changes_of(world.inner))
    for number in (3, 17, 31):
        world.store.update(Box, f"m{number}", {"unread": 5})
    world.store.delete(Box, "m20")
    whole = examined(world)
    assert whole.findings.counts == {"sum_wrong": 3, "sum_lost": 1}
    few = examined(world, held=4)
    assert few.findings == whole.findings


def test_one_that_is_stopped_after_every_page_and_slice_reports_the_same() -> None:
    world = filled()
    for damage in (not_told, change_not_told, number_removed):
        damage(world)
    world.store.delete(Letter, "b")
    world.store.delete(Box, "cid")
    whole = examined(world)
    assert whole.findings.counts == {
        "count_missing": 1, "count_stale": 1, "count_dangling": 1, "sum_wrong": 1, "sum_lost": 1,
    }  # fmt: skip
    runs = 1
    while not (report := doctor(world, page=1, held=2).run(stop=lambda: True)).done:
        runs += 1
    assert runs > 5
    assert report.findings == whole.findings


def test_more_than_can_be_saved_is_waited_for() -> None:
    world = post_room()
    count = MAX_SAVED + 30
    for number in range(count):
        world.inner.run(PutItem(SCHEMA[Letter].complete(
            {"letterId": f"l{number}", "created": 1, "memberIds": [], "weight": Decimal(0), "rev": "r"}
        ) | {"rev": "r"}))  # fmt: skip
    runs = 1
    while not (report := doctor(world).run(stop=lambda: True)).done:
        runs += 1
    assert runs > 1
    assert report.findings.counts == {"count_missing": count}


def test_kinds_that_are_skipped_are_not_looked_for() -> None:
    world = filled()
    number_too_high(world)
    not_told(world)
    skipped = examined(world, skip=("sum_wrong", "sum_lost", "count_missing"))
    assert (skipped.findings.counts, skipped.code) == ({}, 0)


def test_read_models_of_events_are_named_as_not_recounted() -> None:
    office = post_office()
    report = examined(office)
    assert report.not_recounted == ("parcels",)
    assert report.document()["notRecounted"] == ["parcels"]
    assert examined(filled()).not_recounted == ()


def test_every_kind_of_read_models_is_put_there_by_a_test_and_repaired_where_it_says_so() -> None:
    repaired = {kind for _, kinds in REPAIRED for kind in kinds}
    assert repaired == {*LATE, "sum_wrong"}
    assert all(KINDS[kind].severity is Severity.REPAIRABLE for kind in repaired)
    assert all(KINDS[kind].severity is Severity.NEEDS_A_PERSON for kind in ("uncountable_record", "sum_lost"))
