"""Several pieces of waiting at a time, for one call: threads that end with it.

What one piece raises is raised when all have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

MAX_WORKERS = 8

T = TypeVar("T")
R = TypeVar("R")


def run_concurrently(work: Callable[[T], R], items: Collection[T], workers: int = MAX_WORKERS) -> list[R]:
    """What `work` gives for each item, in order. One worker is the caller itself."""
    if len(items) < 2 or workers < 2:
        return [work(item) for item in items]
    with ThreadPoolExecutor(min(workers, len(items)), thread_name_prefix="at-once") as pool:
        futures = [pool.submit(copy_context().run, work, item) for item in items]
    return [future.result() for future in futures]
