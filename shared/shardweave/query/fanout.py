"""The fan-out: reads lanes in parallel from one thread-safe table.

At most `throttle` reads are under way at once in all queries of this object. A table that carries out parallel reads
itself (see `many`) gets all reads of a round together, and no threads are needed; then at most `throttle` reads of a
query are in progress, and for all queries as many as the table has connections. Where reads wait for nobody, they are
carried out one after another in the caller's thread. A throttled or unanswered read is sent again with full jitter,
within the deadline if there is one; this is always safe, since reads change nothing. Every read has its own outcome: a
failed read does not affect the others.

A round closes once: reads that have not ended when the wait ends are late, and their answers are dropped. The clock and
the wait function are arguments, so that tests decide which reads are late.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import wait as wait_for_futures
from contextvars import copy_context
from threading import Lock
from typing import Any, TypeVar

from ..errors import ConfigurationError, ShardweaveError, TableUnavailable, Throttled
from ..table import Table
from ..table.many import Lanes, Outcome, answers_in_process, run_many_of, too_late
from ..table.operations import Operation
from ..table.retry import system_random
from ..table.waiting import sleep

__all__ = ["DEFAULT_THROTTLE", "MAX_THROTTLE", "FanOut", "Outcome", "Wait", "too_late", "wait_for"]

DEFAULT_THROTTLE = 32
MAX_THROTTLE = 1000
MAX_ATTEMPTS = 6
BACKOFF_SECONDS = 0.05
MAX_BACKOFF_SECONDS = 2.0

R = TypeVar("R")

Wait = Callable[[Collection[Future[Any]], float | None], Collection[Future[Any]]]
"""A function that waits until all futures have ended, or for some seconds, and returns those that have ended."""


def wait_for(futures: Collection[Future[Any]], seconds: float | None) -> Collection[Future[Any]]:
    """Wait for futures for some seconds of real time, and return those that have ended."""
    return wait_for_futures(futures, seconds).done


class FanOut:
    """A pool of at most `throttle` threads, started when they are first needed. Single reads without a deadline need no
    thread."""

    def __init__(
        self,
        table: Table,
        throttle: int = DEFAULT_THROTTLE,
        *,
        sleep: Callable[[float], object] = sleep,
        jitter: Callable[[], float] = system_random,
        monotonic: Callable[[], float] = time.monotonic,
        wait: Wait = wait_for,
    ) -> None:
        if isinstance(throttle, bool) or not isinstance(throttle, int) or not 1 <= throttle <= MAX_THROTTLE:
            message = f"1 to {MAX_THROTTLE} reads are under way at once"
            raise ConfigurationError(message, where="throttle", fix="give a number in it")
        self._table = table
        self._in_process = answers_in_process(table)
        self._throttle = throttle
        self._sleep = sleep
        self._jitter = jitter
        self.monotonic = monotonic
        self._wait = wait
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def read(self, operations: Sequence[Operation[R]], deadline: float | None = None) -> list[Outcome[R]]:
        """The outcomes in the order of the operations. `deadline` is a time of `monotonic`; reads that have not ended
        by then are late, and nothing is sent after it."""
        run_many = None if self._in_process else run_many_of(self._table)
        if run_many is None and deadline is None and (len(operations) <= 1 or self._throttle == 1):
            return [self._attempt(operation, None) for operation in operations]
        begun = self.monotonic()
        if deadline is not None and begun >= deadline:
            return [Outcome(None, too_late(), 0.0, late=True) for _ in operations]
        if run_many is not None:
            seconds = None if deadline is None else deadline - begun
            return list(run_many(Lanes(operations, self._throttle, self._lane_pause, seconds, self._sleep)))
        if self._in_process:
            return [self._in_turn(operation, deadline) for operation in operations]
        pool = self._started()
        futures = [pool.submit(copy_context().run, self._attempt, operation, deadline) for operation in operations]
        ended = self._wait(futures, None if deadline is None else deadline - begun)
        return [future.result() if future in ended else self._dropped(future, begun) for future in futures]

    def close(self) -> None:
        """Wait for running reads and stop the threads."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None

    def _started(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._throttle, thread_name_prefix="lane")
            return self._pool

    def _dropped(self, future: Future[Outcome[R]], begun: float) -> Outcome[R]:
        future.cancel()
        return Outcome(None, too_late(), self._since(begun), late=True)

    def _since(self, begun: float) -> float:
        return (self.monotonic() - begun) * 1000

    def _in_turn(self, operation: Operation[R], deadline: float | None) -> Outcome[R]:
        if deadline is not None and self.monotonic() >= deadline:
            return Outcome(None, too_late(), 0.0, late=True)
        return self._attempt(operation, deadline)

    def _attempt(self, operation: Operation[R], deadline: float | None) -> Outcome[R]:
        begun = self.monotonic()
        attempt = 0
        while True:
            try:
                return Outcome(self._table.run(operation), None, self._since(begun))
            except ShardweaveError as error:
                attempt += 1
                pause = self._pause_after(error, attempt)
                late = pause is not None and deadline is not None and self.monotonic() + pause >= deadline
                if pause is None or late:
                    return Outcome(None, error, self._since(begun), late=late)
            self._sleep(pause)

    def _lane_pause(self, number: int, error: ShardweaveError, attempts: int) -> float | None:
        return self._pause_after(error, attempts)

    def _pause_after(self, error: ShardweaveError, attempts: int) -> float | None:
        """The seconds to wait before the next attempt; None if there is no further attempt."""
        if attempts >= MAX_ATTEMPTS or not isinstance(error, (Throttled, TableUnavailable)):
            return None
        return self._jitter() * min(MAX_BACKOFF_SECONDS, BACKOFF_SECONDS * 2.0 ** (attempts - 1))
