"""The connection pool of one table: its idle connections, and the limit of those in use. Shared by threads; nothing
else of a round is.

Connections are handed out last in, first out, so that those beyond the need grow old and are closed. A round of reads
takes its first slot of the budget when there is one, and further ones only if they are free; it never waits while it
holds one. A part of the budget is for single calls alone, so that no number of pages keeps a write waiting.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable

from .connection import Connection


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
        self._changed = threading.Condition(self._lock)
        self._in_use = self._waiting = 0
        self._idle: list[Connection] = []
        self.process = os.getpid()

    # -- the budget

    def take_slot(self, *, single: bool, until: float | None) -> bool:
        """Wait for a slot until a time of `monotonic`; False if there was none by then."""
        with self._lock:
            self._waiting += 1
            try:
                while not self._is_free(single):
                    seconds = None if until is None else until - self._monotonic()
                    if seconds is not None and seconds <= 0:
                        return False
                    self._changed.wait(seconds)
                self._in_use += 1
            finally:
                self._waiting -= 1
            return True

    def exceed(self) -> None:
        """Take a slot beyond the limit, for a nested call: its thread already has a slot, and waiting could be a
        deadlock."""
        with self._lock:
            self._in_use += 1

    def try_slot(self, *, single: bool) -> bool:
        """Take a slot if one is free and no other round waits for its first slot."""
        with self._lock:
            free = not self._waiting and self._is_free(single)
            self._in_use += free
            return free

    def give_slots(self, count: int, process: int) -> None:
        """Return slots. A forked process does not own the slots of its parent."""
        if count and process == self.process:
            with self._lock:
                self._in_use -= count
                if self._waiting:
                    self._changed.notify_all()

    def _is_free(self, single: bool) -> bool:
        return self._in_use < self.limit + (self.reserve if single else 0)

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
        self._all.clear()
        self._reset()


def _close_all(connections: set[Connection]) -> None:
    for connection in connections:
        connection.close()
