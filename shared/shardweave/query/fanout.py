"""The fan-out: carries out lane reads in parallel over one thread-safe table.

At most `throttle` reads are under way at once in all queries of this object. A throttled or unanswered read is sent
again with full jitter, inside the deadline when there is one; reads change nothing, so that is always safe. Every
read has an outcome of its own: one that fails does not take the others with it.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from threading import Lock
from typing import Generic, TypeVar

from ..errors import ConfigurationError, DeadlineTooShort, ShardweaveError, TableUnavailable, Throttled
from ..table import Table
from ..table.operations import Operation

DEFAULT_THROTTLE = 32
MAX_THROTTLE = 1000
MAX_ATTEMPTS = 6
BACKOFF_SECONDS = 0.05
MAX_BACKOFF_SECONDS = 2.0

R = TypeVar("R")


@dataclass(frozen=True)
class Outcome(Generic[R]):
    """What became of one read: an answer or an error, and how long it took."""

    answer: R | None
    error: ShardweaveError | None
    milliseconds: float


class FanOut:
    """A pool of at most `throttle` threads, started when first needed. One at a time without a deadline needs none."""

    def __init__(
        self,
        table: Table,
        throttle: int = DEFAULT_THROTTLE,
        *,
        sleep: Callable[[float], None] = time.sleep,
        jitter: Callable[[], float] = random.random,
    ) -> None:
        if isinstance(throttle, bool) or not isinstance(throttle, int) or not 1 <= throttle <= MAX_THROTTLE:
            message = f"1 to {MAX_THROTTLE} reads are under way at once"
            raise ConfigurationError(message, where="throttle", fix="give a number in it")
        self._table = table
        self._throttle = throttle
        self._sleep = sleep
        self._jitter = jitter
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def read(self, operations: Sequence[Operation[R]], deadline: float | None = None) -> list[Outcome[R]]:
        """The outcomes in the order of the operations. `deadline` is a time of the monotonic clock; what has not
        ended by then has DeadlineTooShort as its error."""
        if deadline is None and (len(operations) <= 1 or self._throttle == 1):
            return [self._attempt(operation, None) for operation in operations]
        begun = time.monotonic()
        pool = self._started()
        futures = [pool.submit(self._attempt, operation, deadline) for operation in operations]
        wait(futures, None if deadline is None else max(0.0, deadline - begun))
        return [self._outcome(future, begun) for future in futures]

    def close(self) -> None:
        """Let running reads end and stop the threads."""
        with self._lock:
            if self._pool is not None:
                self._pool.shutdown()
                self._pool = None

    def _started(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self._throttle, thread_name_prefix="lane")
            return self._pool

    def _outcome(self, future: Future[Outcome[R]], begun: float) -> Outcome[R]:
        if future.done():
            return future.result()
        future.cancel()
        return Outcome(None, _too_late(), (time.monotonic() - begun) * 1000)

    def _attempt(self, operation: Operation[R], deadline: float | None) -> Outcome[R]:
        begun = time.monotonic()
        attempt = 0
        while True:
            try:
                return Outcome(self._table.run(operation), None, (time.monotonic() - begun) * 1000)
            except (Throttled, TableUnavailable) as error:
                pause = self._jitter() * min(MAX_BACKOFF_SECONDS, BACKOFF_SECONDS * 2**attempt)
                attempt += 1
                if attempt >= MAX_ATTEMPTS or (deadline is not None and time.monotonic() + pause >= deadline):
                    return Outcome(None, error, (time.monotonic() - begun) * 1000)
            except ShardweaveError as error:
                return Outcome(None, error, (time.monotonic() - begun) * 1000)
            self._sleep(pause)


def _too_late() -> DeadlineTooShort:
    return DeadlineTooShort("the deadline passed before the table answered", where="timeLimitMs", fix="allow more time")
