"""What the store says of its writes, against a ledger of what was carried out, under random faults.

What is reported as done was done exactly once, what is reported as refused was not done, and only a write of which an
attempt got no answer is of unknown outcome; an interrupt says the same of the write that it ends.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from shardweave.errors import (
    AccessDenied,
    InvalidRequest,
    OutcomeUnknown,
    ShardMapChanged,
    ShardweaveError,
    TransactionInProgress,
)
from shardweave.errors.outcomes import maybe_written
from shardweave.schema.shard_maps import StaticMaps
from shardweave.store import Delete, Put, Store, Update
from shardweave.store.writing.sender import Sender
from shardweave.table.conditions import Missing
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import (
    WRITES,
    Afterwards,
    Fail,
    Fault,
    LoseAnswer,
    LoseRequest,
    MeetTransaction,
    ProcessPart,
    Script,
    SendAgain,
    SimulatedTable,
    Throttle,
)
from shardweave.table.operations import BatchGet, BatchWrite, GetItem, Operation, PutItem, TransactWrite, UpdateItem
from tests.unit.store_world import SCHEMA, SECOND_BUMP, Clock, Note, NoWaiting, Person
from tests.unit.write_ledger import Ledger

TRIALS = 110
WRITES_OF_A_TRIAL = 40
LEAST = 5

REFUSING: list[Fault] = [
    Throttle(),
    MeetTransaction(),
    Fail(lambda: AccessDenied("no")),
    Fail(lambda: InvalidRequest("no")),
    Fail(lambda: ShardMapChanged("no")),
    Fail(KeyboardInterrupt),
]


class RandomFaults:
    """Draws what becomes of each write. `lost`: the answer to one of them, since this was last set."""

    def __init__(self, draw: random.Random, meddle: Callable[[], object]) -> None:
        self._draw = draw
        self._meddle = meddle
        self.lost = False

    def next_for(self, operation: Operation[Any]) -> Fault | None:
        draw = self._draw
        if not isinstance(operation, WRITES) or draw.random() < 0.3:
            return None
        if draw.random() < 0.4:
            if isinstance(operation, BatchWrite) and draw.random() < 0.5:
                return ProcessPart(1)
            return draw.choice(REFUSING)
        self.lost = True
        losing: Fault = draw.choice([LoseAnswer(), LoseRequest()])
        if draw.random() < 0.5:
            again = draw.choice([None, losing, *REFUSING, Fail(KeyboardInterrupt)])
            losing = SendAgain(again, carried_out=draw.random() < 0.5)
        if isinstance(operation, TransactWrite) and draw.random() < 0.1:
            losing = SendAgain(Fail(lambda: TransactionInProgress("no")))
        return Afterwards(self._meddle, losing) if draw.random() < 0.2 else losing


class Trial:
    """A store under random faults, another writer, and what was told so far."""

    def __init__(self, seed: int, told: Counter[str]) -> None:
        clock = Clock(SECOND_BUMP)
        self.draw = random.Random(seed)
        self.told = told
        self.inner = EmbeddedTable(SCHEMA.layout, clock=lambda: clock.now / 1000)
        self.ledger = Ledger(self.inner)
        self.faults = RandomFaults(self.draw, self.meddle)
        parts: dict[str, Any] = {"clock": clock, "maps": StaticMaps(), "waiting": NoWaiting().waiting()}
        self.store = Store(SCHEMA, SimulatedTable(self.ledger, self.faults), **parts)
        self.other = Store(SCHEMA, self.inner, **parts)
        self.number = 0

    def meddle(self) -> None:
        """Another writer changes what was written last."""
        for item in self.ledger.written[-1:]:
            if "noteId" in item and self.other.get(Note, item["noteId"]) is not None:
                self.other.update(Note, item["noteId"], {"weight": self.draw.random()})

    def write(self) -> None:
        """One write of a random kind, and what is told of it against the ledger."""
        self.number += 1
        self.faults.lost = False
        self.ledger.written.clear()
        self.ledger.removed.clear()
        name, write = self.draw.choice(list(KINDS.items()))
        key = str(self.number)
        self.other.create({"noteId": f"old{key}", "text": "0"}, Note)
        try:
            outcome = write(self.store, key)
        except (ShardweaveError, KeyboardInterrupt) as error:
            self._judge(name, "interrupted" if isinstance(error, KeyboardInterrupt) else "", error)
        else:
            if name in BATCHES:
                for text, each in zip("12", outcome.puts, strict=True):
                    self._judge(name, each.status, each.error, key + text)
            elif name == "deleting batch":
                self._judge(name, outcome.deletes[0].status, outcome.deletes[0].error)
            else:
                self._judge(name, "done" if outcome is not False else "nothing to do", None)

    def _judge(self, name: str, what: str, error: BaseException | None, text: str | None = None) -> None:
        written = [item for item in self.ledger.written if text is None or item.get("text") == text]
        written = [item for item in written if "text" in item or "name" in item]
        times = len(self.ledger.removed if "delet" in name else written)
        expected = 2 if name == "transaction" else 1
        if error is not None and maybe_written(error):
            told = what if what == "interrupted" else "unknown"
            assert isinstance(error, OutcomeUnknown | KeyboardInterrupt)
            in_part = name in BATCHES and text is None and times == 1
            assert self.faults.lost or in_part, f"{name}: every attempt was answered"
            assert times <= (2 if name in BATCHES and text is None else expected), (
                f"{name}: {told}, carried out {times} times"
            )
            told += ", carried out" if times else ", not carried out"
            told += " in part" if text is None and name in BATCHES and times == 1 else ""
        elif what in ("done", "written"):
            told = "done"
            assert times == expected, f"{name}: reported as done, carried out {times} times"
            told += ", after a loss" if self.faults.lost else ""
        else:
            told = "refused"
            assert times == 0, f"{name}: reported as {error or what!r}, carried out {times} times"
        self.told[f"{name}: {told}"] += 1


KINDS: dict[str, Callable[[Store, str], Any]] = {
    "create": lambda store, key: store.create({"noteId": key, "text": "1"}, Note),
    "transacted create": lambda store, key: store.create({"personId": key, "name": "1"}, Person),
    "update": lambda store, key: store.update(Note, f"old{key}", {"text": "1"}),
    "put": lambda store, key: store.put({"noteId": f"old{key}", "text": "1"}, Note),
    "delete": lambda store, key: store.delete(Note, f"old{key}"),
    "transaction": lambda store, key: store.transact(
        [Update(Note, f"old{key}", {"text": "1"}), Put({"noteId": key, "text": "1"}, Note)]
    ),
    "batch": lambda store, key: store.batch_write([Put({"text": key + text}, Note) for text in "12"]),
    "short batch": lambda store, key: store.batch_write(
        [Put({"text": key + text}, Note) for text in "12"], seconds=0.03
    ),
    "deleting batch": lambda store, key: store.batch_write([], [Delete(Note, f"old{key}")]),
}

BATCHES = ("batch", "short batch")

TOLD = [
    "done",
    "done, after a loss",
    "refused",
    "unknown, carried out",
    "unknown, not carried out",
    "interrupted, carried out",
    "interrupted, not carried out",
]


def test_under_random_faults_what_is_told_is_what_the_ledger_says() -> None:
    told: Counter[str] = Counter()
    for seed in range(TRIALS):
        trial = Trial(seed, told)
        for _ in range(WRITES_OF_A_TRIAL):
            trial.write()
        trial.inner.close()
    shapes = [f"{name}: {what}" for name in KINDS for what in TOLD] + ["batch: interrupted, carried out in part"]
    rare = {shape: told[shape] for shape in shapes if told[shape] < LEAST}
    assert not rare, rare


# -- a sender alone ---------------------------------------------------------------------------------------------------

KEY = {"hashKey": "h", "rangeKey": "r"}
FREE = UpdateItem(KEY, {"owner": "me"}, condition=Missing("owner"))


def sender_of(*faults: Fault) -> tuple[Sender, EmbeddedTable]:
    inner = EmbeddedTable(SCHEMA.layout)
    table = SimulatedTable(inner, Script(*faults, matching=WRITES))
    return Sender(table, NoWaiting().waiting(), lambda: "token"), inner


@pytest.mark.parametrize("then", [None, *REFUSING[:2]])
def test_what_is_refused_by_its_own_doing_was_carried_out(then: Fault | None) -> None:
    for write in (FREE, PutItem({**KEY, "owner": "me"}, Missing("owner"))):
        sender, inner = sender_of(LoseAnswer() if then is None else SendAgain(then))
        assert sender.send([write]) is None
        assert inner.run(GetItem(KEY)).item == {**KEY, "owner": "me"}


def test_what_is_refused_by_another_after_a_lost_answer_may_have_been_carried_out() -> None:
    sender, inner = sender_of(Afterwards(lambda: inner.run(PutItem({**KEY, "owner": "other"})), LoseAnswer()))
    refusal = sender.send([FREE])
    assert refusal is not None
    assert refusal.uncertain


def test_what_is_refused_at_once_was_not_carried_out() -> None:
    sender, inner = sender_of(Throttle())
    inner.run(PutItem({**KEY, "owner": "me"}))
    refusal = sender.send([FREE])
    assert refusal is not None
    assert not refusal.uncertain


def test_a_batch_that_may_read_nothing_before_its_other_writes_says_what_it_wrote() -> None:
    clock = Clock(SECOND_BUMP)
    inner = EmbeddedTable(SCHEMA.layout, clock=lambda: clock.now / 1000)
    denied = [Fail(lambda: AccessDenied("no"))] * 5
    table = SimulatedTable(inner, Script(*denied, matching=[GetItem, BatchGet]))
    store = Store(SCHEMA, table, clock=clock, maps=StaticMaps(), waiting=NoWaiting().waiting())
    result = store.batch_write([Put({"text": "1"}, Note)], [Delete(Note, "a")])
    assert [each.status for each in (*result.puts, *result.deletes)] == ["written", "failed"]
