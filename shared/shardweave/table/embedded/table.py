"""`EmbeddedTable`: a table in a SQLite file, or in memory. The package says what it guarantees and costs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from ...errors import ConfigurationError, InvalidRequest
from .. import Guard
from ..layout import TableLayout
from ..operations import (
    BatchGet,
    BatchWrite,
    Delete,
    Describe,
    GetItem,
    Operation,
    Put,
    Query,
    Scan,
    StreamRead,
    StreamShards,
    TableDescription,
    TransactGet,
    TransactWrite,
    Update,
)
from . import changes, expiry
from .connections import Connections
from .files import open_schema, read_revision
from .pages import query, scan
from .reads import batch_get, get_item, transact_get
from .transactions import plan_transaction, transact
from .writes import plan, plan_batch, write_batch, write_one

R = TypeVar("R")


class EmbeddedTable:
    """A table at `path` (None: in memory, private to this object). `clock` gives epoch seconds; the stream's
    retention and the tokens of transactions follow it."""

    def __init__(
        self,
        layout: TableLayout,
        path: str | Path | None = None,
        *,
        name: str = "local",
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._name = name
        self._clock = clock
        self._connections = Connections(None if path is None else Path(path))
        try:
            with self._connections.writing() as writer:
                self._schema = open_schema(writer, layout)
        except BaseException:
            self._connections.close()
            raise
        self._carry_out: dict[type, Callable[[Any, Guard | None], Any]] = {
            GetItem: self._read,
            BatchGet: self._read,
            TransactGet: self._read_snapshot,
            Query: self._read,
            Scan: self._read,
            StreamShards: lambda operation, guard: self._stream_shards(guard),
            StreamRead: self._stream_read,
            Describe: lambda operation, guard: self._describe(guard),
            Put: self._write,
            Update: self._write,
            Delete: self._write,
            BatchWrite: self._write_batch,
            TransactWrite: self._transact,
        }

    @property
    def layout(self) -> TableLayout:
        return self._schema.layout

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """Carry out one operation. A write calls `guard` inside its own transaction, when no other writer, of any
        process, can commit before it; a read calls it right before it reads. The guard may read this table."""
        carry_out = self._carry_out.get(type(operation))
        if carry_out is None:
            raise InvalidRequest(f"The table has no operation {type(operation).__name__}.", fix="use the closed set")
        answer: R = carry_out(operation, guard)
        return answer

    def expire(self, now: float) -> int:
        """Remove the items that have expired at `now`, as the service would in its own time, and give how many."""
        removed = 0
        while True:
            with self._writing(None) as writer:
                count = expiry.expire(self._schema, writer, now, self._clock())
            removed += count
            if count < expiry.EXPIRE_ROWS:
                return removed

    def close(self) -> None:
        self._connections.close()

    # -- reads

    def _read(self, operation: GetItem | BatchGet | Query | Scan, guard: Guard | None) -> Any:
        _call(guard)
        with self._connections.reading() as reader:
            return _READS[type(operation)](self._schema, reader, operation)

    def _read_snapshot(self, operation: TransactGet, guard: Guard | None) -> Any:
        _call(guard)
        with self._connections.snapshot() as reader:
            return transact_get(self._schema, reader, operation)

    def _stream_shards(self, guard: Guard | None) -> Any:
        _call(guard)
        return (changes.SHARD,)

    def _stream_read(self, operation: StreamRead, guard: Guard | None) -> Any:
        _call(guard)
        now = self._clock()
        with self._connections.reading() as reader:
            trimming = changes.needs_trim(reader, now)
        if trimming:
            with self._writing(None) as writer:
                changes.trim(writer, now)
        with self._connections.snapshot() as reader:
            return changes.read(self._schema, reader, operation, now)

    def _describe(self, guard: Guard | None) -> TableDescription:
        _call(guard)
        with self._connections.reading() as reader:
            items, size = reader.execute("SELECT count(*), coalesce(sum(size), 0) FROM items").fetchone()
        indexes = self.layout.indexes
        return TableDescription(self._name, "ACTIVE", indexes, {index.name: "ACTIVE" for index in indexes}, items, size)

    # -- writes

    @contextmanager
    def _writing(self, guard: Guard | None) -> Iterator[sqlite3.Connection]:
        with self._connections.writing() as writer:
            if read_revision(writer) != self._schema.revision:
                raise ConfigurationError(
                    "Another process has changed the layout of the table's file.",
                    fix="open the table again, with the same layout in every process",
                )
            _call(guard)
            yield writer

    def _write(self, operation: Put | Update | Delete, guard: Guard | None) -> Any:
        planned = plan(self._schema, operation)
        with self._writing(guard) as writer:
            return write_one(self._schema, writer, operation, planned, self._clock())

    def _write_batch(self, operation: BatchWrite, guard: Guard | None) -> Any:
        planned = plan_batch(self._schema, operation)
        with self._writing(guard) as writer:
            return write_batch(self._schema, writer, planned, self._clock())

    def _transact(self, operation: TransactWrite, guard: Guard | None) -> Any:
        planned = plan_transaction(self._schema, operation)
        with self._writing(guard) as writer:
            return transact(self._schema, writer, planned, self._clock())


_READS: dict[type, Callable[..., Any]] = {GetItem: get_item, BatchGet: batch_get, Query: query, Scan: scan}


def _call(guard: Guard | None) -> None:
    if guard is not None:
        guard()
