"""The connection pool of one table: its idle connections, and the limit of those in use. Shared by threads; nothing
else of a round is.

Connections are handed out last in, first out, so that those beyond the need grow old and are closed. A round of reads
takes its first slot of the budget when there is one, and further ones only if they are free; it never waits while it
holds one. A part of the budget is for single calls alone, so that no number of pages keeps a write waiting. A slot that
is given back goes to whoever has waited longest and may have it, threads and work of event loops alike.

An idle connection is no loop's and no thread's: nothing is registered anywhere while it is not in use.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import deque
from collections.abc import Callable
from itertools import count

from ...waiting import Flag, new_flag
from .connection import Connection

_LEFT_TO_PARENTS: list[Connection] = []
"""Closed in this process, and never freed: freeing may wait for a lock of OpenSSL that a thread of the parent held."""


class Waiter:
    """A caller that wants a slot. The one with the lowest `number` is the oldest."""

    __slots__ = ("flag", "granted", "left", "number")

    def __init__(self, number: int) -> None:
        self.number = number
        self.flag: Flag | None = None
        self.granted = self.left = False


class Pool:
    """The connections of one table. Rounds of reads may use `limit` slots, and single calls some more."""

    def __init__(self, limit: int, monotonic: Callable[[], float]) -> None:
        self.limit = limit
        self.reserve = max(1, limit // 8)
        self._monotonic = monotonic
        self._closed = False
        self._all: set[Connection] = set()
        self._reset()
        weakref.finalize(self, _close_all, self._all).atexit = False

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._in_use = self._in_rounds = 0
        self._singles: deque[Waiter] = deque()
        self._rounds: deque[Waiter] = deque()
        self._numbers = count()
        self._idle: list[Connection] = []
        self.process = os.getpid()

    # -- the budget

    def take_slot(self, *, single: bool, until: float | None) -> bool:
        """Wait for a slot until a time of `monotonic`; False if there was none by then."""
        waiter, process = Waiter(next(self._numbers)), self.process
        try:
            self._ask(waiter, single=single)
            while not waiter.granted:
                seconds = None if until is None else until - self._monotonic()
                if seconds is not None and seconds <= 0:
                    break
                assert waiter.flag is not None
                waiter.flag.wait(seconds)
        except BaseException:
            if self._is_granted_at_last(waiter):
                self.give_slots(1, process, single=single)
            raise
        return waiter.granted or self._is_granted_at_last(waiter)

    def _ask(self, waiter: Waiter, *, single: bool) -> None:
        with self._lock:
            # If one is free, no waiter could use it.
            if self._is_free(single):
                self._take(single)
                waiter.granted = True
            else:
                waiter.flag = new_flag()
                (self._singles if single else self._rounds).append(waiter)

    def _is_granted_at_last(self, waiter: Waiter) -> bool:
        """Whether a waiter got a slot. It gets none after this call."""
        with self._lock:
            waiter.left = True
            return waiter.granted

    def exceed(self, *, single: bool) -> None:
        """Take a slot beyond the limit, for a nested call: its caller already has a slot, and waiting could be a
        deadlock."""
        with self._lock:
            self._take(single)

    def try_slot(self, *, single: bool) -> bool:
        """Take a slot if one is free."""
        with self._lock:
            free = self._is_free(single)
            if free:
                self._take(single)
            return free

    def give_slots(self, count: int, process: int, *, single: bool) -> None:
        """Return slots. A forked process does not own the slots of its parent."""
        if not count or process != self.process:
            return
        with self._lock:
            self._in_use -= count
            self._in_rounds -= 0 if single else count
            while (waiter := self._next_waiter()) is not None:
                assert waiter.flag is not None
                waiter.flag.set()

    def _next_waiter(self) -> Waiter | None:
        """The oldest waiter for which there is a slot; the slot is taken for it."""
        found = []
        for single, waiting in ((True, self._singles), (False, self._rounds)):
            while waiting and waiting[0].left:
                waiting.popleft()
            if waiting and self._is_free(single):
                found.append((waiting[0].number, single, waiting))
        if not found:
            return None
        _, single, waiting = min(found)
        waiter = waiting.popleft()
        self._take(single)
        waiter.granted = True
        return waiter

    def _is_free(self, single: bool) -> bool:
        return self._in_use < self.limit + self.reserve and (single or self._in_rounds < self.limit)

    def _take(self, single: bool) -> None:
        self._in_use += 1
        self._in_rounds += not single

    # -- the connections

    def take(self) -> Connection | None:
        """A usable idle connection, if there is one."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_usable():
                return connection
            self.drop(connection)

    def add(self, connection: Connection) -> None:
        """Add a newly established connection."""
        with self._lock:
            self._all.add(connection)

    def keep(self, connection: Connection) -> None:
        """Return a connection that can be reused."""
        connection.rest()
        with self._lock:
            kept = not self._closed and connection in self._all and len(self._idle) < self.limit + self.reserve
            if kept:
                self._idle.append(connection)
            old = self._idle.pop(0) if self._idle and self._idle[0].is_old else None
        if not kept:
            self.drop(connection)
        if old is not None:
            self.drop(old)

    def drop(self, connection: Connection) -> None:
        """Close a connection that can't be reused."""
        with self._lock:
            self._all.discard(connection)
        connection.close()

    @property
    def idle(self) -> int:
        return len(self._idle)

    def close(self) -> None:
        """Close idle connections. Connections in use are closed when their calls end."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self.drop(connection)

    def leave_to_parent(self) -> None:
        """Forget the parent's connections, in a forked process."""
        for connection in self._all:
            connection.forget()
        _LEFT_TO_PARENTS.extend(self._all)
        self._all.clear()
        self._reset()


def _close_all(connections: set[Connection]) -> None:
    for connection in connections:
        connection.close()
