"""A table that measures the read units of each request, across threads.

Reads inside `metered()` are added to its meter, also reads of threads that run in a copy of the context, such as those
of `FanOut` and `run_concurrently`. Answers that arrive after the block has ended are not counted.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import TypeVar

from . import Guard, Table
from .layout import TableLayout
from .many import Lanes, Outcome, RunMany, answers_in_process, run_many_of
from .operations import BatchGet, GetItem, Operation, Query, Scan, TransactGet

R = TypeVar("R")

_READS = (BatchGet, GetItem, Query, Scan, TransactGet)


class Meter:
    """The read units of one request. Safe for many threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.read_units = 0.0

    def add(self, units: float) -> None:
        with self._lock:
            self.read_units += units


_METER: ContextVar[Meter | None] = ContextVar("meter", default=None)


@contextmanager
def metered() -> Iterator[Meter]:
    """The meter of the reads inside the block."""
    meter = Meter()
    before = _METER.set(meter)
    try:
        yield meter
    finally:
        _METER.reset(before)


class MeteredTable:
    """A `Table` whose reads are added to the current meter, if there is one."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @property
    def layout(self) -> TableLayout:
        return self._table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self._table.guards_inside_writes

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """See `Table`."""
        answer = self._table.run(operation, guard=guard)
        meter = _METER.get()
        if meter is not None and isinstance(operation, _READS):
            meter.add(getattr(answer, "units", 0.0))
        return answer

    @property
    def answers_in_process(self) -> bool:
        """See `many`."""
        return answers_in_process(self._table)

    @property
    def run_many(self) -> RunMany | None:
        """The method of the table, if it has one."""
        run_many = run_many_of(self._table)
        return None if run_many is None else partial(self._run_many, run_many)

    def close(self) -> None:
        self._table.close()

    @staticmethod
    def _run_many(run_many: RunMany, lanes: Lanes[R]) -> Sequence[Outcome[R]]:
        outcomes = run_many(lanes)
        meter = _METER.get()
        if meter is not None:
            meter.add(sum(getattr(outcome.answer, "units", 0.0) for outcome in outcomes))
        return outcomes
