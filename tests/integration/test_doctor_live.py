"""The doctor beside writers, in every phase of a re-shard: what is only being written is no fault.

SHARDWEAVE_DOCTOR_RECORDS is how many records of each of three entities are gone over, SHARDWEAVE_DOCTOR_WRITERS how
many processes write. What each examination took is printed (`-s`):

    SHARDWEAVE_DOCTOR_RECORDS=16667 SHARDWEAVE_DOCTOR_WRITERS=8 ./run python -m pytest -s -n 0 \\
        tests/integration/test_doctor_live.py -k no_false_alarm
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import ShardweaveError
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.reshard.leased_maps import EMBEDDED, LeasedMaps
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.entity_type import MARK
from shardweave.store import Store
from shardweave.table.operations import PutItem
from tests.unit.reshard_world import PACE, STAGES, ReshardWorld
from tests.unit.shop_world import SCHEMA, Customer, Issue, Mailbox, Product, Project

WIDER = ShardBump(0, char_bits=1, chars=4)
FEW = 30
RECORDS = int(os.environ.get("SHARDWEAVE_DOCTOR_RECORDS", str(FEW)))
PROJECTS = max(5, RECORDS // 50)
PAUSE = 0.002 if RECORDS <= FEW else 0.02
"""The seconds between two writes of a writer: those of many records last as long as the doctor takes for them."""
WRITERS = int(os.environ.get("SHARDWEAVE_DOCTOR_WRITERS", "3"))


def filled() -> ReshardWorld:
    world = ReshardWorld(schema=SCHEMA, pace=PACE if RECORDS <= FEW else replace(PACE, page=100))
    for number in range(RECORDS):
        project = {"projectId": f"p{number % PROJECTS}"}
        with suppress(ShardweaveError):
            world.store.create(project, Project)
        world.store.create({"issueId": f"i{number}", **project, "code": f"c{number}"}, Issue)
        world.store.create({"customerId": f"c{number}", "phone": str(number), "city": "Bath"}, Customer)
        world.store.create({"address": f"a{number}", "ownerId": f"c{number}"}, Mailbox)
    return world


class Written(Counter[str]):
    """How many writes were carried out, and how many were refused."""


@contextmanager
def writers(world: ReshardWorld, new_store: Callable[[], Store] | None = None) -> Iterator[Written]:
    """Processes that create, change and delete as long as the block lasts, half of the time the same few records."""
    ended, written = threading.Event(), Written()

    def write(seed: int, store: Store) -> None:
        drawn = random.Random(seed)
        while not ended.wait(PAUSE):
            number = drawn.randrange(drawn.choice((FEW, RECORDS)))
            try:
                _write_one(store, drawn, number)
                written["done"] += 1
            except ShardweaveError:
                written["refused"] += 1

    made = [(new_store or world.new_store)() for _ in range(WRITERS)]
    threads = [threading.Thread(target=write, args=each) for each in enumerate(made)]
    for thread in threads:
        thread.start()
    try:
        yield written
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _write_one(store: Store, drawn: random.Random, number: int) -> None:
    kind = drawn.randrange(7)
    project = {"projectId": f"p{drawn.randrange(PROJECTS)}"}
    value = str(drawn.randrange(RECORDS + 170))
    if kind == 0:
        store.delete(Issue, f"i{number}")
    elif kind == 1:
        store.create({"issueId": f"i{number}", **project, "code": f"c{value}"}, Issue)
    elif kind == 2:
        store.update(Issue, f"i{number}", {"code": f"c{value}"})
    elif kind == 3:
        store.update(Customer, f"c{number}", {"phone": value, "city": drawn.choice("XYZ")})
    elif kind == 4:
        store.delete(Customer, f"c{number}")
    elif kind == 5:
        store.put({"customerId": f"c{number}", "phone": value}, Customer)
    else:
        store.delete(Mailbox, f"a{number}")
        store.create({"address": f"a{number}", "ownerId": f"c{drawn.randrange(9)}"}, Mailbox)


def doctor(world: ReshardWorld, **options: Any) -> Doctor:
    return Doctor(world.new_store().parts, world.clock, page=11 if RECORDS <= FEW else 100, **options)


def examined(world: ReshardWorld, name: str) -> DoctorReport:
    """What a doctor reports beside writers; what it took is printed."""
    begun, used = time.monotonic(), time.process_time()
    with writers(world) as written:
        report = doctor(world).run()
    seconds, used = time.monotonic() - begun, time.process_time() - used
    sys.stdout.write(
        f"{name:18} {report.read:7} items in {seconds:6.1f} s ({used:6.1f} s of CPU): {report.read / seconds:6.0f} a"
        f" second, {report.units / report.read:4.2f} read units each; {dict(written)}; {report.findings.counts}\n"
    )
    return report


def stages(world: ReshardWorld) -> Iterator[str]:
    """Let all entities go from one stage to the next."""
    yield "no re-shard"
    for model in (Issue, Customer, Mailbox):
        world.start(model, WIDER if model is Issue else ShardBump(0, char_bits=1, chars=5))
    for phase, step in STAGES:
        for model in (Issue, Customer, Mailbox):
            world.run_until(model, phase, step)
        yield f"{phase.name.lower()}, {step.value}"


def test_writers_make_no_false_alarm_in_any_phase() -> None:
    world = filled()
    for stage in stages(world):
        for _ in range(2 if RECORDS <= FEW else 1):
            report = examined(world, stage)
            assert (report.findings.counts, report.code) == ({}, 0), stage
    assert doctor(world).run().code == 0, "nor is anything wrong when they have ended"


def test_the_phases_change_while_the_doctor_is_at_work() -> None:
    """All entities move from the first phase to the last, and one back, while doctors examine the table."""
    world = filled()
    ended, reported = threading.Event(), threading.Semaphore(0)
    raised: list[BaseException] = []

    def new_store() -> Store:
        # The clock jumps, so a lease of some time would not be kept by processes that go on meanwhile.
        return Store(SCHEMA, world.inner, clock=world.clock, maps=LeasedMaps(world.inner, EMBEDDED, clock=world.clock))

    def move() -> None:
        try:
            for model in (Issue, Customer, Mailbox):
                world.start(model, WIDER if model is Issue else ShardBump(0, char_bits=1, chars=5))
                reported.acquire()
            world.run_until(Customer, Phase.DUAL_NEW)
            world.abort(Customer)
            for model in (Issue, Customer, Mailbox):
                reported.acquire()
                world.finish(model)
        except BaseException as error:  # noqa: BLE001 - told in the thread of the test
            raised.append(error)
        finally:
            ended.set()

    reports: list[DoctorReport] = []
    moving = threading.Thread(target=move)
    with writers(world, new_store):
        moving.start()
        try:
            while not ended.is_set():
                reports.append(doctor(world).run())
                reported.release()
        finally:
            reported.release(len(SCHEMA.entities) * 2)
            moving.join()
    assert raised == []
    assert len(reports) >= 6, "the phases of each entity begin and end between two reports"
    assert [report.findings.counts for report in reports] == [{}] * len(reports)
    assert doctor(world).run().code == 0


def test_a_fault_among_them_is_found_also_with_interruptions_and_repaired() -> None:
    """Each page is gone on from by another process, and others write in between."""
    world = filled()
    for stage in stages(world):
        world.store.put({"productId": "x", "name": "n"}, Product)
        (item,) = world.items_of(Product)
        world.inner.run(PutItem({**item, "cityHashKey": "customer! |city#X"}))
        whole = doctor(world).run()
        assert whole.findings.counts == {"superfluous_key": 1}, stage
        with writers(world):
            interrupted = 0
            while not (report := doctor(world).run(stop=lambda: True)).done:
                interrupted += 1
            assert interrupted > 3
            assert report.findings == whole.findings, stage
            assert doctor(world, repair=True).run().findings.repaired == {"superfluous_key": 1}, stage
            assert doctor(world).run().findings.counts == {}, stage


@pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.DUAL_NEW])
def test_a_copy_that_another_program_changed_is_found(phase: Phase) -> None:
    world = filled()
    world.start(Issue, WIDER)
    world.run_until(Issue, phase, ReshardStep.VERIFY)
    marked = next(item for item in world.items_of(Issue) if MARK in item)
    world.inner.run(PutItem({**marked, "title": "another"}))
    assert doctor(world).run().findings.counts.keys() == {"copy_differs"}


def test_marks_that_an_aborted_re_shard_has_left_are_no_fault() -> None:
    world = filled()
    world.start(Issue, WIDER)
    world.run_until(Issue, Phase.DUAL_NEW)
    world.abort(Issue)
    with writers(world):
        assert doctor(world).run().findings.counts == {}
    world.finish(Issue)
    assert doctor(world).run().findings.counts == {}
