"""The doctor beside processes that write the records of a read model, count them and reset the numbers, in every phase
of a re-shard of both sides: what is only not counted yet is no fault, and a number is judged in one revision.

While the doctor waits, the stream is handled to its end, so nothing here depends on how fast the machine is.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

import pytest

from shardweave.database.read_models import StreamFollower
from shardweave.errors import ShardweaveError
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.doctor_report import DoctorReport
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.store import Store
from shardweave.table.operations import DeleteItem
from shardweave.table.retry import RetryClock
from tests.integration.work_beside import beside
from tests.unit.reshard_world import SIXTEEN, STAGES, ReshardWorld
from tests.unit.summed_world import SCHEMA, Box, Letter

LETTERS = 30
MEMBERS = [f"m{number}" for number in range(12)]
QUIET = "m-quiet"
"""A member whose numbers nobody changes, among those that change all the time."""
OFTEN = 4
"""How often each kind of write is to have been carried out, and the doctor to have waited for the stream."""


@dataclass
class PostRoom:
    """A world whose letters are counted, by one process that follows the stream and by a doctor that waits for it."""

    world: ReshardWorld = field(default_factory=lambda: ReshardWorld(schema=SCHEMA))
    told: threading.Lock = field(default_factory=threading.Lock)
    shapes: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.follower = StreamFollower(self.world.new_store())
        for number in range(LETTERS):
            self.world.store.create(
                Letter(letter_id=f"l{number}", member_ids=[MEMBERS[number % 12]], weight=Decimal(number)), Letter
            )
        self.world.store.create(Letter(letter_id="quiet", member_ids=[QUIET], weight=Decimal(1)))
        self.follow()

    def follow(self) -> None:
        """Handle the stream to its end."""
        with self.told:
            for _ in range(20):
                try:
                    self.shapes["told"] += self.follower.follow()
                except ShardweaveError:
                    self.shapes["told again"] += 1
                else:
                    return
        raise AssertionError("the stream could not be handled")

    def doctor(self, **options: bool) -> Doctor:
        """A doctor that sleeps until the stream has been handled."""
        world, slept = self.world, [0.0]

        def sleep(seconds: float) -> None:
            slept[0] += seconds
            if seconds > 1:
                self.shapes["waited"] += 1
                self.follow()

        maps = LeasedMaps(world.inner, world.waits, clock=world.clock, monotonic=world.clock, exact=False)
        waiting = RetryClock(sleep, lambda: 0.5, lambda: slept[0])
        store = Store(SCHEMA, world.inner, clock=world.clock, maps=maps, waiting=waiting)
        return Doctor(store.parts, world.clock, page=11, held=9, **options)

    @contextmanager
    def at_work(self, *, counted: bool = True) -> Iterator[None]:
        """Two processes write and one counts, as long as the block lasts. Not `counted`: only the doctor's waits do."""
        stores = self.world.new_store(), self.world.new_store()
        counting = [lambda drawn: self.follow()] if counted else []
        with beside(*(partial(self._write, store) for store in stores), *counting):
            yield

    def _write(self, store: Store, drawn: random.Random) -> None:
        try:
            self.shapes[self._write_one(store, drawn)] += 1
        except ShardweaveError:
            self.shapes["refused"] += 1

    @staticmethod
    def _write_one(store: Store, drawn: random.Random) -> str:
        name, member = f"l{drawn.randrange(LETTERS)}", drawn.choice(MEMBERS)
        kind = drawn.choice(("create", "update", "update", "delete", "reset", "colour"))
        if kind == "create":
            store.create(Letter(letter_id=name, member_ids=[member], weight=Decimal(drawn.randrange(9))))
        elif kind == "update":
            store.update(Letter, name, {"member_ids": [member], "weight": Decimal(drawn.randrange(9))})
        elif kind == "delete":
            store.delete(Letter, name)
        elif kind == "reset":
            store.reset(Box, member)
        else:
            store.update(Box, member, {"colour": drawn.choice(("red", "blue"))})
        return kind

    def stages(self) -> Iterator[str]:
        """Let letters and boxes go from one stage of a re-shard to the next."""
        yield "no re-shard"
        for model in (Letter, Box):
            self.world.start(model, SIXTEEN)
        for phase, step in STAGES:
            for model in (Letter, Box):
                self.world.run_until(model, phase, step)
            yield f"{phase.name}, {step.value}"

    def examined(self, *, counted: bool = True) -> DoctorReport:
        with self.at_work(counted=counted):
            report = self.doctor().run()
        assert report.done
        return report


def test_what_is_written_counted_and_reset_meanwhile_is_no_fault_in_any_phase() -> None:
    room = PostRoom()
    for stage in room.stages():
        for _ in range(2):
            assert room.examined().findings.counts == {}, stage
    for number in range(OFTEN):
        room.world.store.create(Letter(letter_id=f"late{number}", member_ids=[MEMBERS[0]], weight=Decimal(1)))
        assert room.examined(counted=False).findings.counts == {}
    room.follow()
    still = room.doctor().run()
    assert (still.findings.counts, still.undecided) == ({}, ())
    for shape in ("create", "update", "delete", "reset", "colour", "told", "waited"):
        assert room.shapes[shape] >= OFTEN, (shape, room.shapes)


@pytest.mark.parametrize("phase", [*STAGES, None], ids=str)
def test_a_wrong_number_among_them_is_found_and_repaired_in_any_phase(
    phase: tuple[Phase, ReshardStep] | None,
) -> None:
    room = PostRoom()
    if phase is not None:
        for model in (Letter, Box):
            room.world.start(model, SIXTEEN)
        for model in (Letter, Box):
            room.world.run_until(model, *phase)
    room.world.store.update(Box, QUIET, {"unread": 9})
    assert room.examined().findings.counts == {"sum_wrong": 1}
    with room.at_work():
        assert room.doctor(repair=True).run().findings.repaired == {"sum_wrong": 1}
    box = room.world.store.get(Box, QUIET)
    assert box is not None
    assert box.unread == 1
    room.follow()
    assert room.doctor().run().findings.counts == {}


def test_a_record_of_which_nothing_is_remembered_is_found_among_them_and_counted_once() -> None:
    room = PostRoom()
    (memory,) = [each for each in room.world.items() if each["rangeKey"] == "letterId#quiet" and "_parts" in each]
    room.world.inner.run(DeleteItem({name: memory[name] for name in ("hashKey", "rangeKey")}))
    found = room.examined().findings
    assert found.counts["count_missing"] == 1
    assert found.named["count_missing"][0].key[1].endswith("letterId#quiet")
    with room.at_work():
        room.doctor(repair=True).run()
    room.follow()
    room.doctor(repair=True).run()
    assert room.doctor().run().findings.counts == {}
    box = room.world.store.get(Box, QUIET)
    assert box is not None
    assert (box.unread, box.weight) == (1, 1)
