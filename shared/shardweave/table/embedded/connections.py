"""The SQLite connections of one table: many readers beside one writer.

A table in a file is in write-ahead-log mode. Readers take a connection from a pool that grows to the most readers at
once, and each statement (or `snapshot`) sees the last commit before it began, whatever is being written. Writers
take turns: a lock among this process's threads, SQLite's own lock among processes, waited for up to `BUSY_SECONDS`.
`synchronous` is NORMAL: a commit that returned is in the operating system's hands, so it survives the death of the
process (kill -9); only a power failure may lose the last commits, never their consistency.

A table in memory is one private connection under one re-entrant lock, which serves readers and writers in turn.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...errors import TableError, TableUnavailable, Throttled

BUSY_SECONDS = 30.0

_STATEMENTS = 512
_CACHE_KIB = 8 * 1024
_CHECKPOINT_PAGES = 4000


class Connections:
    """Opens, lends and closes the connections. Safe for many threads."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._write_lock = threading.RLock()
        self._idle: list[sqlite3.Connection] = []
        self._closed = False
        with _as_table_errors():
            self._writer = self._open()

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection to read with, for one statement; see `snapshot` for several."""
        with _as_table_errors():
            if self._path is None:
                with self._write_lock:
                    self._refuse_closed()
                    yield self._writer
                return
            reader = self._take()
            try:
                yield reader
            finally:
                self._give_back(reader)

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """A connection whose statements all see one moment."""
        with self.reading() as reader:
            if reader.in_transaction:
                yield reader
                return
            reader.execute("BEGIN")
            try:
                yield reader
            finally:
                reader.execute("ROLLBACK")

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """The writer, inside a transaction that began before and commits after, or rolls back on any error."""
        with _as_table_errors(), self._write_lock:
            self._refuse_closed()
            writer = self._writer
            if writer.in_transaction:
                raise TableError(
                    "A write was asked for inside another write of the same table.",
                    fix="a guard may read the table, not write to it",
                )
            writer.execute("BEGIN IMMEDIATE")
            try:
                yield writer
                writer.execute("COMMIT")
            except BaseException:
                if writer.in_transaction:
                    writer.execute("ROLLBACK")
                raise

    def close(self) -> None:
        """Close the connections; one that is lent out is closed when it comes back."""
        with self._write_lock:
            self._closed = True
            while self._idle:
                self._idle.pop().close()
            self._writer.close()

    def _take(self) -> sqlite3.Connection:
        self._refuse_closed()
        try:
            return self._idle.pop()
        except IndexError:
            return self._open()

    def _give_back(self, reader: sqlite3.Connection) -> None:
        self._idle.append(reader)
        if self._closed:
            while self._idle:
                self._idle.pop().close()

    def _refuse_closed(self) -> None:
        if self._closed:
            raise TableError("The table is closed.", fix="open it again, or close it later")

    def _open(self) -> sqlite3.Connection:
        connection = sqlite3.connect(
            ":memory:" if self._path is None else self._path,
            timeout=BUSY_SECONDS,
            isolation_level=None,
            check_same_thread=False,
            cached_statements=_STATEMENTS,
        )
        if self._path is not None:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
            connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        return connection


@contextmanager
def _as_table_errors() -> Iterator[None]:
    try:
        yield
    except sqlite3.OperationalError as error:
        if "locked" in str(error) or "busy" in str(error):
            message = f"Another process held the table's file for more than {BUSY_SECONDS:.0f} seconds."
            raise Throttled(message) from error
        raise TableUnavailable(
            f"SQLite failed: {error}.", fix="check the file, its folder and the free space"
        ) from error
    except sqlite3.DatabaseError as error:
        raise TableUnavailable(f"SQLite failed: {error}.", fix="check that the file is a table of this kind") from error
