"""The fan-out: carries out lane reads in parallel over one thread-safe table.

At most `throttle` reads are under way at once in all queries of this object. A throttled or unanswered read is sent
again with full jitter; reads change nothing, so that is always safe. What still fails is raised.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

from ..errors import TableUnavailable, Throttled
from ..table import Table
from ..table.operations import PageAnswer, Query

DEFAULT_THROTTLE = 32
MAX_ATTEMPTS = 6
BACKOFF_SECONDS = 0.05
MAX_BACKOFF_SECONDS = 2.0


class FanOut:
    """A pool of at most `throttle` threads, started when first needed."""

    def __init__(
        self, table: Table, throttle: int = DEFAULT_THROTTLE, *, sleep: Callable[[float], None] = time.sleep
    ) -> None:
        self._table = table
        self._throttle = throttle
        self._sleep = sleep
        self._pool: ThreadPoolExecutor | None = None
        self._lock = Lock()

    def read(self, operations: Sequence[Query]) -> list[PageAnswer]:
        """The answers in the order of the operations. Raises the first failure after all have ended."""
        if len(operations) <= 1:
            return [self._attempt(operation) for operation in operations]
        return list(self._started().map(self._attempt, operations))

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

    def _attempt(self, operation: Query) -> PageAnswer:
        for attempt in range(MAX_ATTEMPTS - 1):
            try:
                return self._table.run(operation)
            except (Throttled, TableUnavailable):
                self._sleep(random.uniform(0, min(MAX_BACKOFF_SECONDS, BACKOFF_SECONDS * 2**attempt)))  # noqa: S311
        return self._table.run(operation)
