"""The idle connections of one table, and the budget of those in use. Shared by threads; nothing else of a round is.

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
    """The connections of one table. `limit` may be in use by rounds of reads, and some more by single calls."""

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
        """Wait for a slot, at most until a time of `monotonic`; False when there was none by then."""
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
        """A slot beyond the budget, for a call within a call: its thread has one, and would wait for others like it."""
        with self._lock:
            self._in_use += 1

    def try_slot(self, *, single: bool) -> bool:
        """A slot, if one is free now, and nobody waits for the first of theirs."""
        with self._lock:
            free = not self._waiting and self._is_free(single)
            self._in_use += free
            return free

    def give_slots(self, count: int, process: int) -> None:
        """Give slots back. What a forked process took over from its parent is none of its own."""
        if count and process == self.process:
            with self._lock:
                self._in_use -= count
                if self._waiting:
                    self._changed.notify_all()

    def _is_free(self, single: bool) -> bool:
        return self._in_use < self.limit + (self.reserve if single else 0)

    # -- the connections

    def take(self) -> Connection | None:
        """A connection that can be used, if one is there."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_usable():
                return connection
            self.drop(connection)

    def add(self, connection: Connection) -> None:
        """One has come about."""
        with self._lock:
            self._all.add(connection)

    def keep(self, connection: Connection) -> None:
        """One is not needed now, and can be used again."""
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
        """One is of no use any more."""
        with self._lock:
            self._all.discard(connection)
        connection.close()

    @property
    def idle(self) -> int:
        return len(self._idle)

    def close(self) -> None:
        """Close what is idle. What is in use is closed when its call ends."""
        with self._lock:
            self._closed = True
            idle, self._idle = self._idle, []
        for connection in idle:
            self.drop(connection)

    def leave_to_parent(self) -> None:
        """Forget the parent's connections, in a process that was just forked."""
        for connection in self._all:
            connection.forget()
        self._all.clear()
        self._reset()


def _close_all(connections: set[Connection]) -> None:
    for connection in connections:
        connection.close()
