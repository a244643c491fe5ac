"""Threads that answer requests: so many at once, so many that wait for one, and no more.

Guarantees: what finds no room is refused at once, without having waited, so that a queue never grows beyond what is
answered in time; work that can't begin before its deadline is refused instead of begun.
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
    """Until when a request is to be answered, told as Lambda tells it to a function."""

    ends: float
    monotonic: Callable[[], float] = time.monotonic

    @classmethod
    def after(cls, seconds: float, monotonic: Callable[[], float] = time.monotonic) -> Deadline:
        """So many seconds from now."""
        return cls(monotonic() + seconds, monotonic)

    def get_remaining_time_in_millis(self) -> int:
        """What is left of the time; not less than none."""
        return max(0, round((self.ends - self.monotonic()) * 1000))


class Workers:
    """`threads` threads, for which `waiting` pieces of work may wait. `name` is that of the threads."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._most = threads + waiting
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._counting = threading.Lock()
        self._accepted = 0

    @property
    def accepted(self) -> int:
        """How much work is under way or waits."""
        return self._accepted

    async def run(self, work: Callable[[], R], deadline: Deadline) -> R:
        """What the work gives. Raises what it raises; Throttled when there is no room for it, or no time left."""
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
        """Begin nothing more. What is under way ends by itself."""
        self._pool.shutdown(wait=False, cancel_futures=True)

    def _ended(self, future: Future[R]) -> None:
        del future
        with self._counting:
            self._accepted -= 1
