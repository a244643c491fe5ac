"""Code that waits, as work of an event loop, without a thread.

`on_loop` runs a function on a stack of its own (a greenlet). Where the function waits, see `waiting`, that stack is put
aside, and the loop goes on with other things; when what it waits for has come, it is taken up again. All of that is in
the loop's thread, so that a function which computes for long holds the loop up as any other would.

A cancellation is raised in the function where it waits, and ends it as an interrupt ends a thread's call: connections
are closed, and the exception says whether a write may have been carried out. A loop that is closed while its work
waits leaves it standing, with what it holds; `asyncio.run` cancels it first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection
from contextvars import Context, copy_context
from functools import partial
from typing import Any, TypeVar

from greenlet import greenlet

from ..errors.outcomes import maybe_written, note_maybe_written
from ..table.waiting import step

T = TypeVar("T")
R = TypeVar("R")


async def on_loop(call: Callable[[], R]) -> R:
    """The result of `call`, which is run as work of the running event loop."""
    work = _Work(call, asyncio.get_running_loop())
    stack = work.stack
    came = step(work, stack.switch)
    while not stack.dead:
        try:
            value = await came
        except BaseException as error:  # noqa: BLE001 - it is the work's
            came = step(work, stack.throw, error)
        else:
            came = step(work, stack.switch, value)
    result: R = came
    return result


class _Work:
    """Implements `LoopWork`."""

    def __init__(self, call: Callable[[], Any], loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.stack = greenlet(call)
        self.stack.gr_context = copy_context()

    def wait_for(self, awaitable: Awaitable[R]) -> R:
        found: R = self.stack.parent.switch(awaitable)
        return found

    def run_concurrently(self, work: Callable[[T], R], items: Collection[T], workers: int) -> list[R]:
        context = copy_context()
        return self.wait_for(_all_of([partial(work, item) for item in items], workers, context))


async def _all_of(calls: Collection[Callable[[], R]], workers: int, context: Context) -> list[R]:
    """What the calls give, in order, each in a copy of the context."""
    free = asyncio.Semaphore(workers)
    raised: list[BaseException] = []

    async def one(call: Callable[[], R]) -> R:
        async with free:
            try:
                return await on_loop(call)
            except BaseException as error:
                raised.append(error)
                raise

    tasks = [asyncio.create_task(one(call), context=context.copy()) for call in calls]
    try:
        # Cancelled, it cancels all of them, and ends when they have.
        found = await asyncio.gather(*tasks, return_exceptions=True)
    except BaseException as error:
        if any(map(maybe_written, raised)):
            note_maybe_written(error)
        raise
    for each in found:
        if isinstance(each, BaseException):
            raise each
    return [task.result() for task in tasks]
