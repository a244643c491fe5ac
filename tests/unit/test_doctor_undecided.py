"""What the doctor leaves undecided, and why: counters and sums that keep changing, sums of which something that is
remembered can't be read, and what no run had the time for. Counters are counted in slices, and every read is told."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from typing import Any

import pytest

from shardweave.cli.doctor import progress_line, readable
from shardweave.maintenance.doctor import GRACE_SECONDS, MAX_TRIES, Doctor, last_report
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.maintenance.recount import Recount
from shardweave.maintenance.sums import END
from shardweave.reshard.retrying_reads import Asking
from shardweave.store import RetryClock, Store
from shardweave.table.operations import PutItem, Query, Scan
from tests.unit.doctor_world import Clinic
from tests.unit.shop_world import SCHEMA, Issue, Project
from tests.unit.store_world import World
from tests.unit.summed_world import Box, Letter, changes_of, feed, post_room


class ChangingChildren:
    """A table in which a child is written anew each time that the table is gone over."""

    def __init__(self, world: Clinic) -> None:
        self._world, self._number = world, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.inner, name)

    def run(self, operation: Any, **options: Any) -> Any:
        if isinstance(operation, Scan):
            self._number += 1
            self._world.store.update(Issue, "p0i0", {"title": f"t{self._number}"})
        return self._world.inner.run(operation, **options)


def test_a_counter_whose_children_keep_changing_is_named_and_not_decided() -> None:
    clinic = Clinic()
    counters = [each for each in clinic.items() if each["hashKey"].startswith("project.*!")]
    (item,) = [each for each in counters if each["rangeKey"].endswith("p0")]
    clinic.put(item, issue_project=9)
    report = clinic.doctor(table=ChangingChildren(clinic)).run()
    assert report.findings.counts == {}
    assert report.undecided == ((item["hashKey"], item["rangeKey"]),)
    assert report.document()["undecided"] == [[item["hashKey"], item["rangeKey"]]]
    later = clinic.examined()
    assert (later.findings.counts, later.undecided) == ({"counter_wrong": 1}, ())
    assert "undecided: 1 counter of children, or records of sums, kept changing" in readable(report)
    assert readable(report).endswith(": clean (1 undecided)")
    assert report.code == 0, "live traffic is no alarm"


# -- many counters ----------------------------------------------------------------------------------------------------

PROJECTS = 40


def many() -> Clinic:
    """Projects with two children each, of which a few have wrong counters."""
    clinic = Clinic()
    for number in range(PROJECTS):
        clinic.store.create({"projectId": f"q{number}"}, Project)
        for child in range(2):
            clinic.store.create(
                {"issueId": f"q{number}i{child}", "projectId": f"q{number}", "code": f"q{number}-{child}"}, Issue
            )
    for item in clinic.items():
        if item["hashKey"].startswith("project.*!") and item["rangeKey"].endswith(("q3", "q17", "q31")):
            clinic.put(item, issue_project=9)
    return clinic


def keys(report: DoctorReport) -> list[tuple[str, str]]:
    return [each.key for each in report.findings.all_named]


def test_no_more_counters_are_held_than_may_be_and_the_report_is_the_same() -> None:
    clinic = many()
    whole = clinic.examined()
    assert whole.findings.counts == {"counter_wrong": 3}
    assert clinic.examined(held=4).findings == whole.findings
    recount, low, slices = Recount(SCHEMA, Asking(clinic.inner, RetryClock()), held=4), 0, 0
    wrong: list[tuple[str, str]] = []
    while low < END:
        part = recount.slice(frozenset(range(256)), low)
        wrong += [each.finding.key for each in part.wrong]
        low, slices = part.high, slices + 1
    assert sorted(wrong) == sorted(keys(whole))
    assert slices > PROJECTS // 4


def test_a_recount_that_is_stopped_after_every_slice_goes_on_and_reports_the_same() -> None:
    clinic = many()
    whole = clinic.examined()
    parts = list[str]()
    while not (report := clinic.doctor(page=9, held=1).run(stop=lambda: True)).done:
        parts.append(report.part)
    assert parts.count("counters") > 1
    assert report.findings == whole.findings


def test_what_is_read_again_counts_in_the_rate_and_is_told() -> None:
    clinic, waited, rate = many(), [0.0], 50
    waiting = RetryClock(sleep=lambda seconds: waited.__setitem__(0, waited[0] + seconds), monotonic=lambda: waited[0])
    store = Store(SCHEMA, clinic.inner, clock=clinic.clock, maps=clinic.maps, waiting=waiting)
    told: list[DoctorReport] = []
    report = Doctor(store.parts, clinic.clock, rate=rate, page=5).run(told.append)
    most = max(after.units - before.units for before, after in pairwise(told))
    for part in ("records", "counters"):
        of_part = [each for each in told if each.part == part]
        spent, seconds = of_part[-1].units - of_part[0].units, of_part[-1].seconds - of_part[0].seconds
        assert len(of_part) > 2, part
        assert 0 < spent <= rate * seconds + 2 * most, part
    assert {each.part for each in told} == {"records", "indexes", "counters"}
    assert report.units <= rate * report.seconds + 2 * most
    (last,) = [each for each in told if each.part == "counters"][-1:]
    assert progress_line(last).endswith(f"counters, {last.units:,.0f} read units so far")
    assert report.units >= last.units


class SlowScans:
    """A table of which a page of a scan takes longer than a run has."""

    def __init__(self, world: World, waited: list[float]) -> None:
        self._inner, self._waited = world.inner, waited

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run(self, operation: Any, **options: Any) -> Any:
        self._waited[0] += GRACE_SECONDS if isinstance(operation, Scan) and operation.index is None else 0
        return self._inner.run(operation, **options)


def test_what_no_run_has_the_time_for_is_left_out_and_named() -> None:
    clinic, waited = many(), [0.0]
    waiting = RetryClock(sleep=lambda seconds: None, monotonic=lambda: waited[0])
    store = Store(SCHEMA, SlowScans(clinic, waited), clock=clinic.clock, maps=clinic.maps, waiting=waiting)  # type: ignore[arg-type]
    stopped = 0
    while not (report := Doctor(store.parts, clinic.clock).run(stop=lambda: True)).done:
        stopped += report.part == "counters"
    assert stopped == MAX_TRIES + 1, "the first time before it was begun"
    assert (report.unfinished, report.findings.counts) == (("counters",), {})
    assert "not examined, since every run was stopped before: counters" in readable(report)
    assert readable(report).endswith(": 1 not examined")
    assert (report.code, report.document()["verdict"]) == (2, "needs a person")
    kept = last_report(store.parts)
    assert kept is not None
    assert (kept["verdict"], kept["unfinished"]) == ("needs a person", ["counters"])
    later = Doctor(store.parts, clinic.clock).run()
    assert (later.unfinished, later.findings.counts) == ((), {"counter_wrong": 3})


def test_a_run_without_a_limit_leaves_out_nothing_that_others_had_no_time_for() -> None:
    clinic, waited = many(), [0.0]
    waiting = RetryClock(sleep=lambda seconds: None, monotonic=lambda: waited[0])
    slow = SlowScans(clinic, waited)
    store = Store(SCHEMA, slow, clock=clinic.clock, maps=clinic.maps, waiting=waiting)  # type: ignore[arg-type]
    runs = iter(range(100))
    while Doctor(store.parts, clinic.clock).run(stop=lambda: True).part != "counters":
        next(runs)
    for _ in range(MAX_TRIES):
        assert Doctor(store.parts, clinic.clock).run(stop=lambda: True).part == "counters"
    report = Doctor(store.parts, clinic.clock).run()
    assert (report.unfinished, report.findings.counts) == ((), {"counter_wrong": 3})


# -- sums -------------------------------------------------------------------------------------------------------------


class LiveTraffic:
    """A table in which something happens before each read of what a read model keeps."""

    def __init__(self, world: World, happens: Callable[[int], object]) -> None:
        self._world, self._happens, self._number = world, happens, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.inner, name)

    def run(self, operation: Any, **options: Any) -> Any:
        if isinstance(operation, Query) and "*sums-" in str(operation.hash_value):
            self._number += 1
            self._happens(self._number)
        return self._world.inner.run(operation, **options)


def busy(letters: int) -> tuple[World, Callable[[int], object]]:
    """Letters to Ann, and what changes the weight of one of them again and again."""
    world = post_room()
    for number in range(letters):
        world.store.create(Letter(letter_id=f"l{number}", member_ids=["ann"], weight=Decimal(1)))
    feed(world.store, changes_of(world.inner))
    store, read = world.new_store(world.inner), [len(changes_of(world.inner))]

    def happens(number: int) -> None:
        if number % 50 == 0:
            store.update(Letter, f"l{number % letters}", {"weight": Decimal(number)})
            changes = changes_of(world.inner)
            feed(store, changes[read[0] :])
            read[0] = len(changes)

    return world, happens


def examined(world: World, happens: Callable[[int], object]) -> DoctorReport:
    table = LiveTraffic(world, happens)
    return Doctor(world.new_store(table).parts, world.clock).run()  # type: ignore[arg-type]


@pytest.mark.parametrize("letters", [3, 150])
def test_a_sum_that_keeps_changing_is_right_if_it_is_at_one_moment(letters: int) -> None:
    world, happens = busy(letters)
    report = examined(world, happens)
    assert (report.findings.counts, report.undecided, report.code) == ({}, (), 0)


def test_a_wrong_sum_that_keeps_changing_is_undecided_and_a_fault_when_it_is_quiet() -> None:
    world, happens = busy(3)
    box = world.store.get(Box, "ann")
    assert box is not None
    world.store.update(Box, "ann", {"unread": box.unread + 5})
    report = examined(world, happens)
    assert (report.findings.counts, [key[1] for key in report.undecided]) == ({}, ["memberId#ann"])
    assert report.code == 0
    assert examined(world, lambda number: None).findings.counts == {"sum_wrong": 1}


def test_what_is_damaged_is_named_where_a_sum_is_not_known_for_it() -> None:
    world, _ = busy(3)
    (memory,) = [each for each in world.items() if each["rangeKey"] == "letterId#l1" and "*sums-" in each["hashKey"]]
    world.inner.run(PutItem({**memory, "_parts": "what?"}))
    report = examined(world, lambda number: None)
    damaged = (memory["hashKey"], memory["rangeKey"])
    assert report.findings.counts == {"bookkeeping_damaged": 1}
    assert (report.undecided, report.damaged, len(report.unsummed)) == ((), (damaged,), 2)
    text = readable(report)
    assert "kept changing" not in text
    assert "undecided: the sums of 2 records, in which what can't be read may be counted:\n    box!" in text
    assert f"(bookkeeping_damaged):\n    {' '.join(damaged)}\n" in text
    assert text.endswith(": 1 needs a person (2 undecided)")
    assert report.code == 2
    document = report.document()
    assert (document["damaged"], len(document["unsummed"])) == ([list(damaged)], 2)
