"""`EmbeddedTable`: a table in a SQLite file, or in memory. The package's docstring has its guarantees and costs."""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from ...errors import InvalidRequest, ShardweaveError, TableError, TableUnusable
from .. import Guard
from ..layout import TableLayout
from ..operations import (
    BatchGet,
    BatchWrite,
    BatchWriteAnswer,
    DeleteItem,
    Describe,
    GetItem,
    Operation,
    PutItem,
    Query,
    Scan,
    TableDescription,
    TransactAnswer,
    TransactGet,
    TransactGetAnswer,
    TransactWrite,
    UpdateItem,
    WriteAnswer,
)
from ..stream_operations import StreamPage, StreamRead, StreamShard, StreamShards
from . import change_log, expiry
from .connections import BUSY_SECONDS, Connections
from .files import open_schema, read_revision
from .pages import query, scan
from .reads import batch_get, get_item, transact_get
from .sqlite_layout import SqliteLayout
from .transactions import plan_transaction, transact
from .waiting import WAIT, write_all
from .writes import plan, plan_batch, write_batch, write_one

R = TypeVar("R")

CHECKED_BYTES = 128 * 1024
"""Slightly more bytes than a write of a small record adds to the log of a table with 20 indexes."""

_TAKE_ROOM = f"INSERT OR REPLACE INTO settings VALUES ('room', '\"' || printf('%{CHECKED_BYTES}s', '') || '\"')"
_GIVE_BACK = "DELETE FROM settings WHERE name = 'room'"


class EmbeddedTable:
    """A table at `path` (None: in memory, private to this object). `clock` gives epoch seconds; the stream's
    retention and the tokens of transactions follow it. A write waits `busy_seconds` for its turn. In a file, the
    entries of up to `wait` new items in secondary indexes are written together."""

    def __init__(
        self,
        layout: TableLayout,
        path: str | Path | None = None,
        *,
        name: str = "local",
        clock: Callable[[], float] = time.time,
        busy_seconds: float = BUSY_SECONDS,
        wait: int = WAIT,
    ) -> None:
        self._name = name
        self._clock = clock
        self._wrote = False
        try:
            self._connections = Connections(None if path is None else Path(path), busy_seconds=busy_seconds)
            self._schema = self._opened(layout, 0 if path is None else wait)
        except ShardweaveError as error:
            error.where = error.where or str(path or "")
            raise
        self._carry_out: dict[type, Callable[[Any, Guard | None], Any]] = {
            GetItem: self._read,
            BatchGet: self._read,
            TransactGet: self._read_snapshot,
            Query: self._read,
            Scan: self._read,
            StreamShards: self._stream_shards,
            StreamRead: self._stream_read,
            Describe: self._describe,
            PutItem: self._write,
            UpdateItem: self._write,
            DeleteItem: self._write,
            BatchWrite: self._write_batch,
            TransactWrite: self._transact,
        }

    def _opened(self, layout: TableLayout, wait: int) -> SqliteLayout:
        try:
            return self._connections.write(lambda writer: open_schema(writer, layout, wait))
        except BaseException:
            self._connections.close()
            raise

    @property
    def layout(self) -> TableLayout:
        return self._schema.layout

    @property
    def guards_inside_writes(self) -> bool:
        return True

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """Carry out one operation. A write calls `guard` inside its own transaction, when no other writer, of any
        process, can commit before it; a read calls it right before it reads. The guard may read this table."""
        execute = self._carry_out.get(type(operation))
        if execute is None:
            raise InvalidRequest(f"The table has no operation {type(operation).__name__}.", fix="use the closed set")
        answer: R = execute(operation, guard)
        return answer

    @property
    def answers_in_process(self) -> bool:
        """True: reads wait neither for other processes nor for writes."""
        return True

    def expire(self, now: float) -> int:
        """Remove the items that have expired at `now`, as DynamoDB does after some time, and return how many."""
        removed = 0
        while True:
            count = self._in_write(lambda writer: expiry.expire(self._schema, writer, now, self._clock()))
            removed += count
            if count < expiry.EXPIRE_ROWS:
                return removed

    def check(self) -> None:
        """Check that a read and a write of the size of a record succeed, without changing stored data. Raises
        TableError if they don't."""
        self._connections.read(lambda reader: reader.execute("SELECT 1 FROM items LIMIT 1").fetchone())
        self._in_write(lambda writer: writer.execute(_TAKE_ROOM))
        # A row that is removed before the commit would take no space.
        self._in_write(lambda writer: writer.execute(_GIVE_BACK))

    def stop_waiting(self) -> None:
        """From now on a write that can't begin at once is refused, and so is each that waits for its turn."""
        self._connections.stop_waiting()

    def close(self) -> None:
        """Close the table. Entries that wait are written before, if this object wrote and no other holds the file: the
        next process need not make them to read."""
        if self._wrote and self._schema.wait:
            self._wrote = False
            self._connections.stop_waiting()
            with contextlib.suppress(TableError):
                self._in_write(lambda writer: write_all(self._schema, writer))
        self._connections.close()

    # -- reads

    def _read(self, operation: GetItem | BatchGet | Query | Scan, guard: Guard | None) -> Any:
        execute = _READS[type(operation)]
        _call(guard)
        # A read of an index looks first what waits.
        reads_twice = self._schema.wait and isinstance(operation, (Query, Scan)) and operation.index is not None
        lend = self._connections.snapshot if reads_twice else self._connections.read
        return lend(partial(execute, self._schema, operation=operation))

    def _read_snapshot(self, operation: TransactGet, guard: Guard | None) -> TransactGetAnswer:
        _call(guard)
        return self._connections.snapshot(lambda reader: transact_get(self._schema, reader, operation))

    def _stream_shards(self, _operation: StreamShards, guard: Guard | None) -> tuple[StreamShard, ...]:
        _call(guard)
        return (change_log.SHARD,)

    def _stream_read(self, operation: StreamRead, guard: Guard | None) -> StreamPage:
        _call(guard)
        now = self._clock()
        if self._connections.read(lambda reader: change_log.needs_trim(reader, now)):
            while self._in_write(lambda writer: change_log.trim(writer, now)):
                pass
        return self._connections.snapshot(lambda reader: change_log.read(self._schema, reader, operation, now))

    def _describe(self, _operation: Describe, guard: Guard | None) -> TableDescription:
        _call(guard)
        items, size = self._connections.read(
            lambda reader: reader.execute("SELECT count(*), coalesce(sum(size), 0) FROM items").fetchone()
        )
        indexes = self.layout.indexes
        return TableDescription(self._name, "ACTIVE", indexes, {index.name: "ACTIVE" for index in indexes}, items, size)

    # -- writes

    def _write(self, operation: PutItem | UpdateItem | DeleteItem, guard: Guard | None) -> WriteAnswer:
        planned = plan(self._schema, operation)
        return self._in_write(lambda writer: write_one(self._schema, writer, operation, planned, self._clock()), guard)

    def _write_batch(self, operation: BatchWrite, guard: Guard | None) -> BatchWriteAnswer:
        planned = plan_batch(self._schema, operation)
        return self._in_write(lambda writer: write_batch(self._schema, writer, planned, self._clock()), guard)

    def _transact(self, operation: TransactWrite, guard: Guard | None) -> TransactAnswer:
        planned = plan_transaction(self._schema, operation)
        return self._in_write(lambda writer: transact(self._schema, writer, planned, self._clock()), guard)

    def _in_write(self, work: Callable[[sqlite3.Connection], R], guard: Guard | None = None) -> R:
        """Call `work` in a write transaction, after the guard, and only if the file still has this layout."""

        def guarded(writer: sqlite3.Connection) -> R:
            if read_revision(writer) != self._schema.revision:
                raise TableUnusable(
                    "Another process has changed the layout of the table's file.",
                    fix="open the table again, with the same layout in every process",
                )
            if guard is not None:
                guard()
            return work(writer)

        self._wrote = True
        return self._connections.write(guarded)


_READS: dict[type, Callable[..., Any]] = {GetItem: get_item, BatchGet: batch_get, Query: query, Scan: scan}


def _call(guard: Guard | None) -> None:
    if guard is not None:
        guard()
