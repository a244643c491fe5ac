"""The doctor's steps after the records, and repairs that wait for others: stopped or killed, nothing is lost."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from shardweave.maintenance.doctor import MAX_POSTPONED_SAVED, Doctor, last_report
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.maintenance.doctor_steps import IndexSteps, Place, ordered
from shardweave.maintenance.index_examination import IndexExaminer
from shardweave.maintenance.progress import Progress
from shardweave.maintenance.sums import Sums
from shardweave.reshard.retrying_reads import Asking
from shardweave.store import RetryClock
from shardweave.store.lookups.lookup_records import lookup_keys, lookup_record
from shardweave.table.fault_injection import Crash, Crashed
from shardweave.table.operations import Scan
from tests.unit.doctor_world import Clinic
from tests.unit.shop_world import SCHEMA, Customer
from tests.unit.store_world import Script
from tests.unit.test_doctor_indexes import Index, hidden

# -- indexes ----------------------------------------------------------------------------------------------------------


def index_steps(world: Clinic, table: Any, sums: dict[str, Sums]) -> IndexSteps:
    names = SCHEMA.hash_key, SCHEMA.range_key
    examiner = IndexExaminer(Asking(table, RetryClock()), RetryClock(sleep=lambda seconds: None), names, page=1)
    return IndexSteps(examiner, SCHEMA.layout.indexes, sums, lambda: len(world.items()))


def sums_of(world: Clinic, steps: IndexSteps) -> None:
    """What the records of the table add, as if they had been gone over."""
    for index in SCHEMA.layout.indexes:
        steps.sums[index.name] = Sums()
    steps.examiner.add(steps.sums, SCHEMA.layout.indexes, world.items())


def test_an_index_is_gone_on_with_after_every_round_of_pages_and_finds_the_same() -> None:
    world = Clinic()
    table = Index(world.inner, hidden)
    sums: dict[str, Sums] = {}
    sums_of(world, index_steps(world, table, sums))
    place: Place | None = index_steps(world, table, sums).first(())
    found, places = [], 0
    while place is not None:
        # Another process, which has the sums and the place as they were saved.
        sums = {name: Sums(each.encode()) for name, each in sums.items()}
        steps = index_steps(world, table, sums)
        kept = json.loads(json.dumps(place))
        steps.check(kept)
        step = steps.take(kept, lambda: None)
        found += [finding for finding, _ in step.found]
        place, places = step.following, places + 1
    assert [(each.kind, each.about) for each in found] == [("index_entry_missing", "index city")]
    assert places > len(SCHEMA.layout.indexes) + 1


def damaged_places() -> list[Any]:
    left = [each.name for each in SCHEMA.layout.indexes]
    starts = ["x", [1], [[0, "x"]], [[99, None]], [["x", None]], [[0, {"hashKey": "a"}]], {"x": "y"}, 7]
    lefts = [[], ["nobody"], "x", None, 7, [["x"]]]
    return [
        *({"left": left, "starts": each} for each in starts),
        *({"left": each} for each in lefts),
        *({"left": left, "bucket": each} for each in ("x", None, [1])),
        None,
        "x",
        {},
    ]


@pytest.mark.parametrize("place", damaged_places(), ids=repr)
def test_a_place_that_another_program_has_damaged_is_known(place: Any) -> None:
    world = Clinic()
    with pytest.raises((ArithmeticError, AttributeError, LookupError, TypeError, ValueError)):
        index_steps(world, world.inner, {}).check(place)


def test_a_round_of_pages_that_is_stopped_takes_nothing_away_from_the_sums() -> None:
    world = Clinic()
    sums: dict[str, Sums] = {}
    steps = index_steps(world, world.inner, sums)
    sums_of(world, steps)
    before = {name: each.encode() for name, each in sums.items()}

    def stop() -> None:
        raise RuntimeError

    place = steps.first(())
    assert place is not None
    with pytest.raises(RuntimeError):
        steps.take(place, stop)
    assert {name: each.encode() for name, each in sums.items()} == before


def test_what_was_not_examined_comes_first() -> None:
    assert ordered(["a", "b", "c"], "index", ["index c", "read model a"]) == {"left": ["c", "a", "b"]}
    assert ordered([], "index", ["index c"]) is None
    world, read = Clinic(), list[str]()
    names = [each.name for each in SCHEMA.layout.indexes]
    kept = Progress(world.store.parts, "doctor's last report")
    kept.read()
    kept.save({"unfinished": [f"index {names[-1]}"], "units": "0", "seconds": "0"})

    class Noting:
        def __getattr__(self, name: str) -> Any:
            return getattr(world.inner, name)

        def run(self, operation: Any, **options: Any) -> Any:
            if isinstance(operation, Scan) and operation.index is not None:
                read.append(operation.index)
            return world.inner.run(operation, **options)

    assert world.doctor(Noting()).run().done
    assert list(dict.fromkeys(read)) == [names[-1], *names[:-1]]
    told = last_report(world.store.parts)
    assert told is not None
    assert told["unfinished"] == []


# -- repairs that wait ------------------------------------------------------------------------------------------------


def dangling(world: Clinic, count: int) -> None:
    """Lookup records that lead to nobody, which are removed when all else is right."""
    entity = SCHEMA[Customer]
    for number in range(count):
        owner = {"customerId": f"gone{number}", "phone": f"999{number}"}
        (key,) = lookup_keys(entity, entity.lookups["phone"], owner)
        world.put(lookup_record(entity, key, owner, "r"))


def repaired_by(runs: Callable[[Clinic], DoctorReport], count: int) -> DoctorReport:
    world = Clinic()
    dangling(world, count)
    report = runs(world)
    assert world.found() == {}
    return report


@pytest.mark.parametrize("count", [3, MAX_POSTPONED_SAVED + 30])
def test_a_repair_that_is_stopped_after_every_round_makes_those_that_wait_in_the_end(count: int) -> None:
    def stopped(world: Clinic) -> DoctorReport:
        runs = 1
        while not (report := world.doctor(page=9, repair=True).run(stop=lambda: True)).done:
            runs += 1
        assert runs > 2
        return report

    report = repaired_by(stopped, count)
    assert (report.findings.counts, report.findings.repaired) == (
        {"lookup_dangling": count},
        {"lookup_dangling": count},
    )
    assert report.code == 0


@pytest.mark.parametrize("calls", [20, 60, 100])
def test_a_repair_that_is_killed_and_begun_again_reports_the_same(calls: int) -> None:
    script = Script()
    world = Clinic(script)
    dangling(world, 3)
    world.doctor(page=2, repair=True).run(stop=iter([False, True, True]).__next__)
    script._left = [None] * calls + [Crash(carried_out=False)]
    with suppress(Crashed):
        world.examined(page=2, repair=True)
    script._left = []
    report = world.examined(page=2, repair=True)
    assert report.findings.counts in ({"lookup_dangling": 3}, {}), "all of them, or by the run that was killed"
    assert report.findings.repaired == report.findings.counts
    assert Doctor(world.new_store(world.inner).parts, world.clock).run().findings.counts == {}
