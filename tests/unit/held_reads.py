"""Reads that are late, fail, or come upon a changed table, at exactly the place that a test names, and the clock that
goes with it.

The clock stands still until a round is closed over a read that is held: then it shows the deadline, whatever the
machine's speed. A held read goes on after its round, and its answer comes too late.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import Any, Literal

from shardweave.errors import AccessDenied
from shardweave.table import Guard, Table
from shardweave.table.operations import BatchGet, Operation, Query

Place = tuple[str, int]
"""A read of a page: of which lane (index and hash key, `whole` for whole records), and which of that lane's."""

Fault = Literal["late", "fails"]

PATIENCE_SECONDS = 300


class HeldReads:
    """A table whose reads meet the faults of `faults`, by their places since the last `begin`. `seen` are the places
    so far, in the order in which they were first sent. `before` is called before each read of the named place."""

    def __init__(self, inner: Table) -> None:
        self.inner = inner
        self.layout = inner.layout
        self.now = 0.0
        self.faults: Mapping[Place, Fault] = {}
        self.before: Callable[[Operation[Any]], None] = lambda operation: None
        self.seen: list[Place] = []
        self._counts: Counter[str] = Counter()
        self._changed = threading.Condition()
        self._held = 0
        self._release = threading.Event()

    def begin(self, faults: Mapping[Place, Fault] | None = None) -> None:
        """A new page, with these faults."""
        with self._changed:
            self._counts.clear()
            self.seen = []
            self.faults = faults or {}

    # -- the table

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if not isinstance(operation, (Query, BatchGet)):
            return self.inner.run(operation, guard=guard)
        with self._changed:
            self.before(operation)
            name = "whole" if isinstance(operation, BatchGet) else f"{operation.index} {operation.hash_value}"
            self._counts[name] += 1
            place = (name, self._counts[name])
            self.seen.append(place)
            fault, release = self.faults.get(place), self._release
            if fault == "late":
                self._held += 1
                self._changed.notify_all()
        if fault == "late":
            assert release.wait(PATIENCE_SECONDS), "nobody closed the round over the held read"
        if fault == "fails":
            raise AccessDenied("the test refuses this read")
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()

    # -- the clock

    def monotonic(self) -> float:
        return self.now

    def wait(self, futures: Collection[Future[Any]], seconds: float | None) -> Collection[Future[Any]]:
        """Until every read has ended or is held. Where one is held, the time is over."""
        for future in futures:
            future.add_done_callback(self._notify)
        with self._changed:
            settled = self._changed.wait_for(lambda: self._is_settled(futures), PATIENCE_SECONDS)
            assert settled, "a read neither ended nor is held"
            ended = {future for future in futures if future.done()}
            if self._held:
                assert seconds is not None, "without a deadline nobody ends the wait for a held read"
                self.now += seconds
                self._held = 0
                self._release.set()
                self._release = threading.Event()
            return ended

    def _is_settled(self, futures: Collection[Future[Any]]) -> bool:
        return sum(future.done() for future in futures) + self._held == len(futures)

    def _notify(self, future: Future[Any]) -> None:
        with self._changed:
            self._changed.notify_all()
