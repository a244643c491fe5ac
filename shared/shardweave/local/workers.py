"""A limited pool of threads that answer requests, with a limited queue.

Guarantees: work for which the queue has no space is refused at once, without waiting, so the queue never grows beyond
what can be answered in time. Work that can't begin before its deadline is refused instead of started.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from ..errors import Throttled

R = TypeVar("R")

REQUEST_SECONDS = 30.0


@dataclass(frozen=True)
class Deadline:
    """The deadline of a request, with the method of a Lambda context."""

    ends: float
    monotonic: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> Deadline:
        """The deadline that is some seconds from now."""
        return cls(monotonic() + seconds, monotonic)

    def get_remaining_time_in_millis(self) -> int:
        """The time left, at least 0."""
        return max(0, round((self.ends - self.monotonic()) * 1000))


class Workers:
    """A pool of `threads` threads with a queue of `waiting` pieces of work. `name` is the prefix of the threads'
    names."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._most = threads + waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._counting = threading.Lock()
        self._accepted = 0

    @property
    def accepted(self) -> int:
        """The number of pieces of work that are running or queued."""
        return self._accepted

    async def run(self, work: Callable[[], R], deadline: Deadline) -> R:
        """Run the work in a thread, and return its result. Raises its exceptions, and Throttled if the queue is full or
        the deadline has passed."""
        with self._counting:
            if self._accepted >= self._most:
                raise Throttled("The server is at work on as many requests as it takes.")
            self._accepted += 1

        def begin() -> R:
            if not deadline.get_remaining_time_in_millis():
                raise Throttled("The request waited for as long as it may take.")
            return work()

        future = self._pool.submit(begin)
        future.add_done_callback(self._ended)
        return await asyncio.wrap_future(future)

    def close(self) -> None:
        """Accept no more work. Running work ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, future: Future[R]) -> None:
        del future
        with self._counting:
            self._accepted -= 1
