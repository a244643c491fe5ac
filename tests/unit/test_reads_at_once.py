"""Reads that a table carries out at once by itself: what the fan-out makes of it, and what tables that wrap it do."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import pytest

from shardweave.errors import DeadlineTooShort, ShardweaveError, TableUnavailable, Throttled
from shardweave.keys.sharding import ShardBump
from shardweave.query.fanout import MAX_ATTEMPTS, FanOut
from shardweave.reshard.load.counters import decode_loads, loads_query
from shardweave.reshard.load.throttle_recorder import FLUSH_MS, ThrottleNotes
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table import Guard
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import LoseRequest, Script, SimulatedTable, Throttle
from shardweave.table.layout import TableLayout
from shardweave.table.many import Lanes, Outcome, answers_in_process, run_many_of, too_late
from shardweave.table.metered import MeteredTable, metered
from shardweave.table.operations import GetItem, Operation, PutItem, Query
from shardweave.values.codecs import Timestamp

KEY_RANGE = "TableReadKeyRangeThroughputExceeded arn:aws:dynamodb:eu-west-1:1:table/t"


class Thing(Entity, token="thing", shard_bumps=[ShardBump(0, 2, 1)]):
    """Something."""

    thing_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()


SCHEMA = Schema([Thing], [])
LANES = [Query("hashKey", f"thing!{shard}", "rangeKey") for shard in range(4)]


class AtOnce:
    """An embedded table that carries reads out at once. The n-th attempt at a read, counted for each hash key, has the
    n-th of its `failures`; of those in `late`, nothing is heard. `asked` are the lanes that it was given."""

    def __init__(self, **failures: Sequence[ShardweaveError]) -> None:
        self.inner = EmbeddedTable(SCHEMA.layout)
        for shard in range(4):
            self.inner.run(PutItem({"hashKey": f"thing!{shard}", "rangeKey": "thingId#a"}))
        self.failures = {name.replace("shard", "thing!"): list(errors) for name, errors in failures.items()}
        self.late: set[str] = set()
        self.asked: list[Lanes[Any]] = []
        self.single: list[Operation[Any]] = []
        self.pauses: list[float] = []

    @property
    def layout(self) -> TableLayout:
        return self.inner.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self.inner.guards_inside_writes

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        self.single.append(operation)
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()

    def run_many(self, lanes: Lanes[Any]) -> Sequence[Outcome[Any]]:
        self.asked.append(lanes)
        return [self._outcome(lanes, number, operation) for number, operation in enumerate(lanes.operations)]

    def _outcome(self, lanes: Lanes[Any], number: int, operation: Any) -> Outcome[Any]:
        if operation.hash_value in self.late:
            return Outcome(None, too_late(), 1.0, late=True)
        left, attempts = self.failures.get(operation.hash_value, []), 0
        while left:
            error = left.pop(0)
            attempts += 1
            pause = lanes.pause_after(number, error, attempts)
            if pause is None:
                return Outcome(None, error, 1.0)
            self.pauses.append(pause)
        return Outcome(self.inner.run(operation), None, 1.0)


def answered(outcomes: Sequence[Outcome[Any]]) -> list[str]:
    return [
        outcome.answer.items[0]["hashKey"] if outcome.answer else type(outcome.error).__name__ for outcome in outcomes
    ]


EVERY = [f"thing!{shard}" for shard in range(4)]


def test_the_fan_out_gives_all_reads_of_a_round_to_such_a_table() -> None:
    table = AtOnce()
    fanout = FanOut(table, throttle=3, monotonic=lambda: 10.0)
    assert answered(fanout.read(LANES)) == EVERY
    assert answered(fanout.read(LANES[:1], deadline=12.5)) == EVERY[:1]
    assert [(len(lanes.operations), lanes.at_once, lanes.seconds) for lanes in table.asked] == [
        (4, 3, None),
        (1, 3, 2.5),
    ]
    assert table.single == []


def test_the_fan_out_alone_decides_what_is_sent_again() -> None:
    """A28."""
    table = AtOnce(
        shard0=[Throttled()] * 2,
        shard1=[TableUnavailable("no")] * 99,
        shard2=[ShardweaveError("no")] * 2,
    )
    outcomes = FanOut(table, jitter=lambda: 1.0).read(LANES)
    assert answered(outcomes) == ["thing!0", "TableUnavailable", "ShardweaveError", "thing!3"]
    assert table.pauses == [0.05, 0.1, *(0.05 * 2**number for number in range(MAX_ATTEMPTS - 1))]
    assert len(table.failures["thing!2"]) == 1


def test_nothing_is_sent_after_the_deadline_and_what_is_late_says_so() -> None:
    table = AtOnce()
    table.late = {"thing!1"}
    fanout = FanOut(table, monotonic=lambda: 10.0)
    outcomes = fanout.read(LANES, deadline=11.0)
    assert [outcome.late for outcome in outcomes] == [False, True, False, False]
    assert isinstance(outcomes[1].error, DeadlineTooShort)
    assert all(outcome.late for outcome in fanout.read(LANES, deadline=10.0))
    assert len(table.asked) == 1


# -- a table in this process ------------------------------------------------------------------------------------------


class InProcess(AtOnce):
    """An embedded table; `threads` are those that read. It answers in process as it says; each read takes a second of
    `now`."""

    run_many = None  # type: ignore[assignment]

    def __init__(self, *, answers_in_process: bool) -> None:
        super().__init__()
        self.answers_in_process = answers_in_process
        self.threads: set[int] = set()
        self.now = 10.0

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        self.threads.add(threading.get_ident())
        self.now += 1
        return super().run(operation, guard=guard)


@pytest.mark.parametrize(
    "wrap",
    [
        lambda table: table,
        lambda table: MeteredTable(ThrottleNotes(table, SCHEMA)),
    ],
)
@pytest.mark.parametrize("in_process", [True, False])
def test_a_table_in_this_process_is_read_in_the_callers_thread(wrap: Any, in_process: bool) -> None:
    table = InProcess(answers_in_process=in_process)
    fanout = FanOut(wrap(table))
    assert answered(fanout.read(LANES, deadline=fanout.monotonic() + 3600)) == EVERY
    fanout.close()
    assert (table.threads == {threading.get_ident()}) is in_process


def test_the_embedded_table_is_one_and_one_that_delays_answers_is_not() -> None:
    table = EmbeddedTable(SCHEMA.layout)
    assert answers_in_process(table)
    assert not answers_in_process(SimulatedTable(table, Script()))


def test_reads_one_after_another_end_with_the_deadline() -> None:
    table = InProcess(answers_in_process=True)
    outcomes = FanOut(table, monotonic=lambda: table.now).read(LANES, deadline=12.0)
    assert answered(outcomes) == ["thing!0", "thing!1", "DeadlineTooShort", "DeadlineTooShort"]
    assert [outcome.late for outcome in outcomes] == [False, False, True, True]
    assert len(table.single) == 2


# -- tables that wrap one ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrap",
    [
        lambda table: ThrottleNotes(table, SCHEMA),
        lambda table: SimulatedTable(table, Script()),
        MeteredTable,
        lambda table: MeteredTable(ThrottleNotes(SimulatedTable(table, Script()), SCHEMA)),
    ],
)
def test_a_table_that_wraps_one_carries_reads_out_at_once_too(wrap: Any) -> None:
    """A29: and one that wraps another does not say that it could."""
    table = AtOnce()
    assert answered(FanOut(wrap(table)).read(LANES)) == EVERY
    assert len(table.asked) == 1
    assert table.single == []
    assert run_many_of(wrap(EmbeddedTable(SCHEMA.layout))) is None


def test_what_is_throttled_in_a_round_is_noted_at_every_attempt() -> None:
    """A29."""
    table = AtOnce(
        shard0=[Throttled(reasons=[KEY_RANGE])] * 3,
        shard2=[Throttled(reasons=[KEY_RANGE])] * 99,
        shard3=[Throttled(reasons=["TableReadAccountLimitExceeded arn"])],
    )
    now = [FLUSH_MS]
    notes = ThrottleNotes(table, SCHEMA, clock=lambda: now[0])
    FanOut(notes, jitter=lambda: 0.0).read(LANES)
    now[0] += FLUSH_MS
    notes.run(GetItem({"hashKey": "thing!0", "rangeKey": "thingId#a"}))
    loads = decode_loads(SCHEMA[Thing], table.inner.run(loads_query(SCHEMA[Thing])).items)
    assert {suffix: load.throttled for suffix, load in loads.items()} == {"0": 3, "2": MAX_ATTEMPTS}


def test_simulated_faults_meet_the_attempts_of_a_round() -> None:
    """A29."""
    table = AtOnce()
    pauses: list[float] = []
    simulated = SimulatedTable(table, Script(Throttle(), None, *[LoseRequest()] * 2, None, Throttle()))
    fanout = FanOut(simulated, sleep=pauses.append, jitter=lambda: 1.0)
    assert answered(fanout.read(LANES)) == EVERY
    assert len(simulated.calls) == 4 + 3 + 1
    assert pauses == [0.05, 0.1]
    ever = SimulatedTable(table, Script(*[Throttle()] * 99))
    assert answered(FanOut(ever, sleep=pauses.append).read(LANES)) == ["Throttled"] * 4
    assert len(ever.calls) == 4 * MAX_ATTEMPTS


def test_what_a_round_reads_is_metered() -> None:
    table = AtOnce(shard0=[TableUnavailable("no")] * 99)
    with metered() as meter:
        FanOut(MeteredTable(table), jitter=lambda: 0.0, sleep=lambda _: None).read(LANES)
    expected = sum(table.inner.run(operation).units for operation in LANES[1:])
    assert meter.read_units == expected > 0
