"""The SQLite connections of one table: many readers and one writer.

A table in a file is in write-ahead-log mode. The readers of a process take turns, and each statement (or `snapshot`)
sees the last commit before it began, whatever is being written. Writers take turns: a lock among this process's
threads, SQLite's own lock among processes. A write waits for both together at most `busy_seconds`; once another process
has held the file for that time, further writes try once without waiting, until one succeeds. `stop_waiting` ends the
current waits, and later writes don't wait. Reads never wait for writes. `synchronous` is NORMAL: a commit that returned
is in the operating system's cache, so it survives the death of the process (kill -9). A power failure may lose the last
commits, but never a part of one. A new file is readable only by its owner (mode 0600); SQLite uses the same mode for
the files beside it.

SQLite logs each page that a write changes as a whole; therefore the pages of a new file are small (`PAGE_BYTES`).

A table in memory is one private connection under one re-entrant lock, which serves readers and writers in turn.

SQLite's errors are distinguished by their codes: an operation on a busy file may be repeated, one on a full disk or a
read-only, damaged or unreadable file may not. In each case the transaction has changed nothing.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

from ...errors import (
    ConfigurationError,
    TableError,
    TableFull,
    TableUnavailable,
    TableUnusable,
    Throttled,
)
from ...errors.outcomes import note_maybe_written
from .waiting import Follower, Made

R = TypeVar("R")

BUSY_SECONDS = 30.0
BUSY_STEP_SECONDS = 0.02
"""The interval at which a write that waits for another process tries again."""

_STATEMENTS = 512
_WRITER_CACHE_KIB, _READER_CACHE_KIB = 8 * 1024, 1024
PAGE_BYTES = 1024
_LOG_BYTES = 32 * 1024 * 1024
"""The length of the log from which its content is moved into the file."""


class Connections:
    """Opens, lends out and closes the connections. Safe for many threads."""

    def __init__(
        self,
        path: Path | None,
        *,
        busy_seconds: float = BUSY_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._busy_seconds = busy_seconds
        self._monotonic = monotonic
        # SQLite gives up the interpreter at each row: threads that read at once would mostly wait for each other there.
        self._read_lock = threading.RLock()
        self._write_lock = threading.RLock()
        self._held_elsewhere = False
        self._stopping = threading.Event()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        self._made: Made = {}
        if path is not None:
            _make_private(path)
        try:
            self._writer = self._open(_WRITER_CACHE_KIB)
            # So that a wait for another process can be ended early.
            self._writer.execute("PRAGMA busy_timeout = 0")
        except sqlite3.Error as error:
            if _kind(error) == sqlite3.SQLITE_NOTADB:
                raise ConfigurationError("The file is not a table.", fix="choose another path") from error
            raise _table_error(error) from error

    def read(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Call `work` with a connection for a single read statement; see `snapshot` for several."""
        try:
            if self._path is None:
                with self._write_lock:
                    self._refuse_closed()
                    return work(self._writer)
            with self._read_lock:
                reader = self._take()
                try:
                    return work(reader)
                finally:
                    self._give_back(reader)
        except sqlite3.Error as error:
            raise _table_error(error) from error

    def snapshot(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Call `work` with a connection whose statements all see the same snapshot."""

        def in_transaction(reader: sqlite3.Connection) -> R:
            if self._path is None:
                return work(reader)
            reader.execute("BEGIN")
            try:
                return work(reader)
            finally:
                if reader.in_transaction:
                    # Nothing was written but the connection's own tables, which stay as they are.
                    reader.execute("COMMIT")

        return self.read(in_transaction)

    def write(self, work: Callable[[sqlite3.Connection], R]) -> R:
        """Call `work` with the writer inside a transaction: no other writer commits while it runs, and an exception
        rolls everything back."""
        ends = self._monotonic() + (0.0 if self._held_elsewhere else self._busy_seconds)
        with self._turn(ends):
            self._refuse_closed()
            if self._writer.in_transaction:
                raise TableError(
                    "A write was asked for inside another write of the same table.",
                    fix="a guard may read the table, not write to it",
                )
            try:
                return self._in_transaction(work, ends)
            except sqlite3.Error as error:
                raise _table_error(error) from error

    def stop_waiting(self) -> None:
        """From now on, refuse writes that can't begin immediately, and those that are waiting."""
        self._stopping.set()

    def close(self) -> None:
        """Close the connections; a connection in use is closed when it is returned."""
        with self._write_lock:
            self._closed = True
            self._close_idle()
            self._writer.close()

    @contextlib.contextmanager
    def _turn(self, ends: float) -> Iterator[None]:
        """Wait for this thread's turn to write. Raises Throttled, TableUnusable."""
        while not self._write_lock.acquire(timeout=BUSY_STEP_SECONDS):
            self._refuse_to_wait(self._monotonic() >= ends)
        try:
            yield
        finally:
            self._write_lock.release()

    def _begin(self, ends: float) -> None:
        """Take SQLite's lock among processes. Raises Throttled, TableUnusable."""
        while True:
            try:
                self._writer.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError as error:
                if _kind(error) not in _IN_USE:
                    raise
                self._held_elsewhere = self._held_elsewhere or self._monotonic() >= ends
                self._refuse_to_wait(self._held_elsewhere)
                self._stopping.wait(BUSY_STEP_SECONDS)
            else:
                self._held_elsewhere = False
                return

    def _refuse_to_wait(self, late: bool) -> None:
        if self._stopping.is_set():
            raise TableUnusable("The table is being closed; nothing was changed.", fix="try again when it is open")
        if late:
            raise Throttled(_HELD)

    def _in_transaction(self, work: Callable[[sqlite3.Connection], R], ends: float) -> R:
        writer = self._writer
        committing = False
        try:
            self._begin(ends)
            answer = work(writer)
            committing = True
            writer.execute("COMMIT")
        except BaseException as error:
            if committing and not writer.in_transaction and not isinstance(error, sqlite3.Error):
                # An interrupt that arrived at the end of the transaction.
                note_maybe_written(error)
            raise
        finally:
            if writer.in_transaction:
                writer.execute("ROLLBACK")
        return answer

    def _take(self) -> sqlite3.Connection:
        self._refuse_closed()
        try:
            return self._idle.pop()
        except IndexError:
            reader = self._open(_READER_CACHE_KIB)
            reader.execute("PRAGMA query_only = ON")
            return reader

    def _give_back(self, reader: sqlite3.Connection) -> None:
        self._idle.append(reader)
        if self._closed:
            self._close_idle()

    def _close_idle(self) -> None:
        while True:
            try:
                self._idle.pop().close()
            except IndexError:
                return

    def _refuse_closed(self) -> None:
        if self._closed:
            raise TableError("The table is closed.", fix="open it again, or close it later")

    def _open(self, cache_kib: int) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if self._path is None else self._path,
            timeout=self._busy_seconds,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS,
            factory=Follower,
        )
        connection.made, connection.followed = self._made, {}
        if self._path is not None:
            connection.execute(f"PRAGMA page_size = {PAGE_BYTES}")
            connection.execute("PRAGMA temp_store = MEMORY")
            _use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous = NORMAL")
            (page_bytes,) = connection.execute("PRAGMA page_size").fetchone()
            connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_BYTES // page_bytes}")
            connection.execute(f"PRAGMA cache_size = -{cache_kib}")
        return connection


def _make_private(path: Path) -> None:
    """Create the file if there is none. SQLite, which opens it next, reports errors."""
    with contextlib.suppress(OSError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Set the journal mode. If several processes do so on the same new file, SQLite refuses all but one immediately,
    regardless of the connection's timeout."""
    ends = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if _kind(error) not in _IN_USE or time.monotonic() >= ends:
                raise
            time.sleep(0.01)
        else:
            return


_HELD = "The table's file is held by another process, or by other writes, for longer than is waited for."
_FULL, _IN_USE = {sqlite3.SQLITE_FULL}, {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DAMAGED = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_FORMAT}
_UNUSABLE = {
    sqlite3.SQLITE_READONLY: ("can't be written", "make the file and its folder writable"),
    sqlite3.SQLITE_PERM: ("may not be used", "make the file and its folder writable"),
    sqlite3.SQLITE_CANTOPEN: ("can't be opened", "check that its folder is there and can be written"),
    sqlite3.SQLITE_IOERR: ("can't be read or written", "check the disk, its free space and limits on the file's size"),
}


def _table_error(error: sqlite3.Error) -> TableError:
    text = str(error)
    kind = _kind(error)
    if kind in _IN_USE:
        return Throttled(_HELD)
    if kind in _FULL:
        return TableFull("The disk of the table's file is full; nothing was changed.", fix="make room, then try again")
    if kind in _DAMAGED:
        return TableUnusable(
            f"The table's file is damaged, or is not a table ({text}).",
            fix="put a copy of it back, or choose another file",
        )
    if kind in _UNUSABLE:
        what, fix = _UNUSABLE[kind]
        return TableUnusable(f"The table's file {what} ({text}); nothing was changed.", fix=fix)
    if "no such table" in text:
        return TableUnusable(
            f"Another process has replaced the table's file by one of another format ({text}).",
            fix="open the table again",
        )
    return TableUnavailable(f"SQLite failed: {text}.", fix="check the file, its folder and the free space")


def _kind(error: sqlite3.Error) -> int:
    """SQLite's primary error code; errors of Python itself have none."""
    return int(getattr(error, "sqlite_errorcode", sqlite3.SQLITE_ERROR)) & 0xFF
