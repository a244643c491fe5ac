"""Running several I/O-bound functions in parallel, in threads that end with the call, or as work of its event loop.

An exception of one function is raised after all have ended.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TypeVar

from .waiting import loop_work

MAX_WORKERS = 8

T = TypeVar("T")
R = TypeVar("R")


def run_concurrently(work: Callable[[T], R], items: Collection[T], workers: int = MAX_WORKERS) -> list[R]:
    """The results of `work` for each item, in order. With one worker the calling thread does the work."""
    if len(items) < 2 or workers < 2:
        return [work(item) for item in items]
    of_loop = loop_work()
    if of_loop is not None:
        return of_loop.run_concurrently(work, items, workers)
    with ThreadPoolExecutor(min(workers, len(items)), thread_name_prefix="at-once") as pool:
        futures = [pool.submit(copy_context().run, work, item) for item in items]
    return [future.result() for future in futures]
