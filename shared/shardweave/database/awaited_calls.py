"""How the calls of a database are carried out for an event loop: as its own work, or in threads.

Where event loops can use the table, a call is the loop's own work (see `event_loop`): no thread is started, and what is
cancelled ends there and then, with an exception that says whether a write may have been carried out. Any other table is
asked from a pool of threads: what is cancelled is not waited for any more, and a write that was begun goes on, so read
before repeating it.

Guarantees: at most so many calls of a loop are under way at once; the others wait in the order in which they came.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar
from weakref import WeakKeyDictionary

from ..errors import ConfigurationError
from ..table import Table
from ..table.waiting import waits_on_loop

R = TypeVar("R")


class _Turns:
    """The calls of one loop. `ends` has one future for each that waits or is under way."""

    def __init__(self, at_once: int) -> None:
        self.free = asyncio.Semaphore(at_once)
        self.ends: set[asyncio.Future[None]] = set()


class AwaitedCalls:
    """Of one database. Raises ConfigurationError where it lacks what event loops need."""

    def __init__(self, table: Table, at_once: int) -> None:
        self._table = table
        self._at_once = at_once
        self._on_loop = _on_loop() if waits_on_loop(table) else None
        self._threads: ThreadPoolExecutor | None = None
        self._turns: WeakKeyDictionary[asyncio.AbstractEventLoop, _Turns] = WeakKeyDictionary()

    async def run(self, call: Callable[[], R]) -> R:
        """What a call gives or raises."""
        loop = asyncio.get_running_loop()
        if self._on_loop is None or not waits_on_loop(self._table):
            if self._threads is None:
                self._threads = ThreadPoolExecutor(self._at_once, thread_name_prefix="database")
            return await loop.run_in_executor(self._threads, call)
        turns = self._turns.get(loop)
        if turns is None:
            turns = self._turns[loop] = _Turns(self._at_once)
        ended = loop.create_future()
        turns.ends.add(ended)
        try:
            async with turns.free:
                found: R = await self._on_loop(call)
                return found
        finally:
            turns.ends.discard(ended)
            ended.set_result(None)

    async def end(self) -> None:
        """Wait until those of this loop have ended, and stop the threads."""
        if self._threads is not None:
            await asyncio.to_thread(self._threads.shutdown)
        turns = self._turns.get(asyncio.get_running_loop())
        while turns is not None and turns.ends:
            await asyncio.wait(turns.ends)


def _on_loop() -> Callable[[Callable[[], Any]], Awaitable[Any]]:
    """What runs work on an event loop."""
    try:
        from .event_loop import on_loop
    except ModuleNotFoundError as error:
        if error.name != "greenlet":
            raise
        raise ConfigurationError(
            "over DynamoDB, an AsyncDatabase needs the package greenlet",
            where="AsyncDatabase",
            fix="install the extra: pip install 'shardweave[async]'",
        ) from None
    return on_loop
