"""Fault injection: a table that wraps another one and injects the faults of networks and processes, call by call.

A `Fault` is one fault of one call; `Faults` decide which call gets which fault. The faults are those that a correct
caller must survive: lost requests and answers, also if the client sends the request again itself, throttling, conflicts
with transactions, partially processed batches, other writers in between, requests that arrive long after the caller has
given up, and the death of the process before or after a call. A call without a fault is passed to the wrapped table.

Safe for use by many threads. `calls` lists every requested operation, in order.
"""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol, TypeVar

from ..errors import (
    CancellationReason,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
)
from ..errors.outcomes import note_maybe_written
from . import Guard, Table
from .layout import TableLayout
from .many import Lanes, Outcome, RunMany, run_many_of
from .operations import WRITES, BatchGet, BatchWrite, Operation, TransactGet, TransactWrite, may_be_repeated

R = TypeVar("R")

ALL: tuple[type[Any], ...] = (Operation,)


@dataclass(frozen=True)
class Call:
    """One call. `run` carries out an operation on the wrapped table, `keep` stores it to be delivered late; `guard` is
    the caller's guard, and `send` carries out the operation without it."""

    operation: Operation[Any]
    run: Callable[[Operation[Any]], Any]
    keep: Callable[[], None]
    guard: Guard
    send: Callable[[Operation[Any]], Any]


class Fault(Protocol):
    """One fault of a call."""

    def execute(self, call: Call) -> Any:
        """Answer the call, or raise, according to the fault."""


class Faults(Protocol):
    """Decides the fault of each call, in the order of the calls."""

    def next_for(self, operation: Operation[Any]) -> Fault | None:
        """The fault of the next call, None for no fault."""


class SimulatedTable:
    """`table` with faults."""

    def __init__(self, table: Table, faults: Faults) -> None:
        self._table = table
        self._faults = faults
        self._lock = threading.Lock()
        self._late: list[Operation[Any]] = []
        self.calls: list[Operation[Any]] = []

    @property
    def layout(self) -> TableLayout:
        return self._table.layout

    @property
    def guards_inside_writes(self) -> bool:
        """False, since a request may be delivered long after its guard was called."""
        return False

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        with self._lock:
            self.calls.append(operation)
            fault = self._faults.next_for(operation)
        if fault is None:
            return self._table.run(operation, guard=guard)
        return self._with(fault, operation, guard)

    @property
    def run_many(self) -> RunMany | None:
        """The wrapped table's method, if it has one; each attempt of each read is a call with its own fault."""
        run_many = run_many_of(self._table)
        return None if run_many is None else partial(self._run_many, run_many)

    def _run_many(self, run_many: RunMany, lanes: Lanes[R]) -> Sequence[Outcome[R]]:
        outcomes: dict[int, Outcome[R]] = {}
        pending, attempts = list(range(len(lanes.operations))), 0
        while pending:
            attempts += 1
            outcomes.update(zip(pending, self._attempts(run_many, lanes, pending), strict=True))
            pauses: dict[int, float] = {}
            for number in pending:
                error = outcomes[number].error
                pause = None if error is None else lanes.pause_after(number, error, attempts)
                if pause is not None:
                    pauses[number] = pause
            pending = list(pauses)
            if pauses:
                lanes.sleep(max(pauses.values()))
        return [outcomes[number] for number in range(len(lanes.operations))]

    def _attempts(self, run_many: RunMany, lanes: Lanes[R], numbers: Sequence[int]) -> Sequence[Outcome[R]]:
        """One attempt at each of these reads."""
        with self._lock:
            asked = [lanes.operations[number] for number in numbers]
            self.calls += asked
            faults = [self._faults.next_for(operation) for operation in asked]
        clear = [operation for operation, fault in zip(asked, faults, strict=True) if fault is None]
        answered = iter(run_many(replace(lanes, operations=clear, pause_after=_no_more)) if clear else ())
        return [
            next(answered) if fault is None else self._outcome(operation, fault)
            for operation, fault in zip(asked, faults, strict=True)
        ]

    def _outcome(self, operation: Operation[R], fault: Fault) -> Outcome[R]:
        try:
            return Outcome(self._with(fault, operation, None), None, 0.0)
        except ShardweaveError as error:
            return Outcome(None, error, 0.0)

    def _with(self, fault: Fault, operation: Operation[R], guard: Guard | None) -> R:
        call = Call(
            operation,
            run=lambda given: self._table.run(given, guard=guard),
            keep=lambda: self._late.append(operation),
            guard=guard or _no_guard,
            send=self._table.run,
        )
        answer: R = fault.execute(call)
        return answer

    def deliver_late(self) -> None:
        """Deliver the stored requests. Their answers are dropped."""
        kept, self._late = self._late, []
        for operation in kept:
            with contextlib.suppress(ShardweaveError):
                self._table.run(operation)

    def close(self) -> None:
        self._table.close()


# -- what goes wrong --------------------------------------------------------------------------------------------------


def _unanswered(text: str, call: Call) -> TableUnavailable:
    error = TableUnavailable(text, where=call.operation.method, fix="retry")
    error.maybe_written = isinstance(call.operation, WRITES)
    return error


@dataclass(frozen=True)
class LoseRequest:
    """The request never arrives."""

    def execute(self, call: Call) -> Any:
        raise _unanswered("the request was lost", call)


@dataclass(frozen=True)
class LoseAnswer:
    """The request is carried out, and its answer is lost."""

    def execute(self, call: Call) -> Any:
        with contextlib.suppress(ShardweaveError):
            call.run(call.operation)
        raise _unanswered("the answer was lost", call)


@dataclass(frozen=True)
class DeliverLate:
    """The request gets no answer, and is delivered by `SimulatedTable.deliver_late`."""

    def execute(self, call: Call) -> Any:
        call.keep()
        raise _unanswered("the request is late", call)


@dataclass(frozen=True)
class Throttle:
    """The request is refused for lack of capacity."""

    def execute(self, call: Call) -> Any:
        raise Throttled


@dataclass(frozen=True)
class Fail:
    """The request ends with the exception that `make` returns: an error of the table, of the caller's guard, or an
    interrupt."""

    make: Callable[[], BaseException]

    def execute(self, call: Call) -> Any:
        raise self.make()


@dataclass(frozen=True)
class SendAgain:
    """The table's client gets no answer to a request, which may be carried out, and sends it again itself; then `then`
    happens, or no further fault. A write that may not be repeated is not sent again."""

    then: Fault | None = None
    carried_out: bool = True

    def execute(self, call: Call) -> Any:
        first: Fault = LoseAnswer() if self.carried_out else LoseRequest()
        try:
            return first.execute(call)
        except TableUnavailable:
            if not may_be_repeated(call.operation):
                raise
        try:
            return call.run(call.operation) if self.then is None else self.then.execute(call)
        except BaseException as error:
            if isinstance(call.operation, WRITES):
                note_maybe_written(error)
            raise


@dataclass(frozen=True)
class MeetTransaction:
    """Another transaction is in progress on an item of the request."""

    def execute(self, call: Call) -> Any:
        operation = call.operation
        if isinstance(operation, TransactWrite | TransactGet):
            count = len(operation.actions if isinstance(operation, TransactWrite) else operation.keys)
            others = [CancellationReason("None")] * (count - 1)
            raise TransactionCanceled([CancellationReason("TransactionConflict"), *others])
        raise TransactionConflict("a transaction is in progress on the same item", where=operation.method, fix="retry")


@dataclass(frozen=True)
class ProcessPart:
    """Only the first `count` items of a batch are processed. Other requests have no fault."""

    count: int

    def execute(self, call: Call) -> Any:
        operation = call.operation
        if isinstance(operation, BatchGet):
            return self._get(operation, call)
        if isinstance(operation, BatchWrite):
            return self._write(operation, call)
        return call.run(operation)

    def _get(self, operation: BatchGet, call: Call) -> Any:
        now, left = operation.keys[: self.count], operation.keys[self.count :]
        if not now:
            raise Throttled
        answer = call.run(replace(operation, keys=now))
        return replace(answer, unprocessed=(*answer.unprocessed, *left))

    def _write(self, operation: BatchWrite, call: Call) -> Any:
        puts, deletes = operation.puts[: self.count], operation.deletes[: max(0, self.count - len(operation.puts))]
        if not puts and not deletes:
            raise Throttled
        answer = call.run(BatchWrite(puts, deletes))
        return replace(
            answer,
            unprocessed_puts=(*answer.unprocessed_puts, *operation.puts[len(puts) :]),
            unprocessed_deletes=(*answer.unprocessed_deletes, *operation.deletes[len(deletes) :]),
        )


@dataclass(frozen=True)
class Meanwhile:
    """Another writer acts just before the request arrives; then `then` happens, or no further fault."""

    act: Callable[[], object]
    then: Fault | None = None

    def execute(self, call: Call) -> Any:
        self.act()
        return call.run(call.operation) if self.then is None else self.then.execute(call)


@dataclass(frozen=True)
class Stall:
    """Another writer acts after the caller's guard has been called; the request arrives after that."""

    act: Callable[[], object]

    def execute(self, call: Call) -> Any:
        call.guard()
        self.act()
        return call.send(call.operation)


@dataclass(frozen=True)
class Afterwards:
    """The request is carried out with the fault `first`, and another writer acts before the caller continues."""

    act: Callable[[], object]
    first: Fault | None = None

    def execute(self, call: Call) -> Any:
        try:
            return call.run(call.operation) if self.first is None else self.first.execute(call)
        finally:
            self.act()


def _no_more(number: int, error: ShardweaveError, attempts: int) -> None:
    """The default: no further fault."""


def _no_guard() -> None:
    """A guard that checks nothing."""


class Crashed(BaseException):
    """The process died. No library code may catch it."""


@dataclass(frozen=True)
class Crash:
    """The process dies before the request is carried out, or after."""

    carried_out: bool = False

    def execute(self, call: Call) -> Any:
        if self.carried_out:
            with contextlib.suppress(ShardweaveError):
                call.run(call.operation)
        raise Crashed


# -- when it goes wrong -----------------------------------------------------------------------------------------------


class Script:
    """The n-th call of one of the `matching` kinds has the n-th fault; None means no fault, and later calls have
    none."""

    def __init__(self, *faults: Fault | None, matching: Sequence[type[Any]] = ALL) -> None:
        self._left = list(faults)
        self._matching = tuple(matching)

    def next_for(self, operation: Operation[Any]) -> Fault | None:
        if not self._left or not isinstance(operation, self._matching):
            return None
        return self._left.pop(0)


class Seeded:
    """Each call of one of the `matching` kinds has each fault with its probability; the same seed gives the same
    faults."""

    def __init__(self, seed: int, rates: Mapping[Fault, float], matching: Sequence[type[Any]] = ALL) -> None:
        self._random = random.Random(seed)
        self._rates = dict(rates)
        self._matching = tuple(matching)

    def next_for(self, operation: Operation[Any]) -> Fault | None:
        if not isinstance(operation, self._matching):
            return None
        drawn = self._random.random()
        for fault, rate in self._rates.items():
            drawn -= rate
            if drawn < 0:
                return fault
        return None
