"""The doctor beside writers, in every phase of a re-shard: what is only being written is no fault."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from shardweave.errors import ShardweaveError
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor, DoctorReport
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.entity_type import MARK
from shardweave.store import Store
from shardweave.table.operations import PutItem
from tests.unit.reshard_world import ReshardWorld
from tests.unit.shop_world import SCHEMA, Customer, Issue, Mailbox, Project

WIDER = ShardBump(0, char_bits=1, chars=4)
RECORDS = int(os.environ.get("SHARDWEAVE_DOCTOR_RECORDS", "30"))
WRITERS = int(os.environ.get("SHARDWEAVE_DOCTOR_WRITERS", "3"))
STAGES = [
    None,
    (Phase.DUAL_OLD, ReshardStep.COPY),
    (Phase.DUAL_OLD, ReshardStep.SETTLE),
    (Phase.DUAL_NEW, ReshardStep.SOAK),
    (Phase.NEW_ONLY, ReshardStep.SETTLE),
    (Phase.PURGE, ReshardStep.EMPTY),
    (Phase.PURGE, ReshardStep.QUIET),
    (Phase.STABLE, ReshardStep.REST),
]


def filled() -> ReshardWorld:
    world = ReshardWorld(schema=SCHEMA)
    for number in range(RECORDS):
        project = {"projectId": f"p{number % 5}"}
        with suppress(ShardweaveError):
            world.store.create(project, Project)
        world.store.create({"issueId": f"i{number}", **project, "code": f"c{number}"}, Issue)
        world.store.create({"customerId": f"c{number}", "phone": str(number), "city": "Bath"}, Customer)
        world.store.create({"address": f"a{number}", "ownerId": f"c{number}"}, Mailbox)
    return world


@contextmanager
def writers(world: ReshardWorld) -> Iterator[None]:
    """Processes that create, change and delete as long as the block lasts."""
    ended = threading.Event()

    def write(seed: int, store: Store) -> None:
        drawn = random.Random(seed)
        while not ended.is_set():
            number = drawn.randrange(RECORDS)
            with suppress(ShardweaveError):
                _write_one(store, drawn, number)

    threads = [threading.Thread(target=write, args=(seed, world.new_store())) for seed in range(WRITERS)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


def _write_one(store: Store, drawn: random.Random, number: int) -> None:
    kind = drawn.randrange(7)
    project = {"projectId": f"p{drawn.randrange(5)}"}
    if kind == 0:
        store.delete(Issue, f"i{number}")
    elif kind == 1:
        store.create({"issueId": f"i{number}", **project, "code": f"c{drawn.randrange(200)}"}, Issue)
    elif kind == 2:
        store.update(Issue, f"i{number}", {"code": f"c{drawn.randrange(200)}"})
    elif kind == 3:
        store.update(Customer, f"c{number}", {"phone": str(drawn.randrange(200)), "city": drawn.choice("XYZ")})
    elif kind == 4:
        store.delete(Customer, f"c{number}")
    elif kind == 5:
        store.put({"customerId": f"c{number}", "phone": str(drawn.randrange(200))}, Customer)
    else:
        store.delete(Mailbox, f"a{number}")
        store.create({"address": f"a{number}", "ownerId": f"c{drawn.randrange(9)}"}, Mailbox)


def doctor(world: ReshardWorld, **options: Any) -> Doctor:
    return Doctor(world.new_store().parts, world.clock, page=11, **options)


def at(stage: tuple[Phase, ReshardStep] | None) -> ReshardWorld:
    world = filled()
    if stage is not None:
        for model in (Issue, Customer, Mailbox):
            world.start(model, WIDER if model is Issue else ShardBump(0, char_bits=1, chars=5))
            world.run_until(model, *stage)
    return world


@pytest.mark.parametrize("stage", STAGES)
def test_writers_make_no_false_alarm_in_any_phase(stage: tuple[Phase, ReshardStep] | None) -> None:
    world = at(stage)
    with writers(world):
        reports: list[DoctorReport] = [doctor(world).run() for _ in range(2)]
    assert [report.findings.counts for report in reports] == [{}] * 2
    assert [report.code for report in reports] == [0] * 2
    assert doctor(world).run().code == 0, "nor is anything wrong when they have ended"


def test_one_table_through_every_phase_has_no_false_alarm() -> None:
    """As above, in one table that goes from phase to phase, so that it can be a large one."""
    world = filled()
    with writers(world):
        assert doctor(world).run().findings.counts == {}
    for model in (Issue, Customer, Mailbox):
        world.start(model, WIDER if model is Issue else ShardBump(0, char_bits=1, chars=5))
    # Every phase is gone through where a large table is asked for.
    for stage in STAGES[1:] if RECORDS > 30 else STAGES[1:3]:
        assert stage is not None
        for model in (Issue, Customer, Mailbox):
            world.run_until(model, *stage)
        with writers(world):
            assert doctor(world).run().findings.counts == {}, stage


@pytest.mark.parametrize("stage", STAGES)
def test_a_fault_among_them_is_found_and_repaired(stage: tuple[Phase, ReshardStep] | None) -> None:
    world = at(stage)
    world.store.create({"productId": "x", "name": "n"}, SCHEMA["product"].model)
    (item,) = world.items_of(SCHEMA["product"].model)
    world.inner.run(PutItem({**item, "cityHashKey": "customer! |city#X"}))
    with writers(world):
        assert doctor(world).run().findings.counts == {"superfluous_key": 1}
        assert doctor(world, repair=True).run().findings.repaired == {"superfluous_key": 1}
        assert doctor(world).run().findings.counts == {}


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
