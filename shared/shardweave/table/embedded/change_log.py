"""The change log, which is the table's stream.

Format: a row of `change_log` is one change of one item, with the images before and after; its sequence number counts
from 1 without a gap, and is what orders the stream, as 21 digits. Guarantees: a change is logged in the transaction
that makes it; a position stays valid for `RETENTION_SECONDS`, and longer as long as nothing after it was trimmed. The
stream has one shard, which never closes.

Cost: a row a change; a read is a seek. Rows older than the retention are removed a few at a time with later writes, and
all that are left before a read, in transactions of a few. The newest row stays, since the next number follows it.
"""

from __future__ import annotations

import sqlite3
from itertools import takewhile

from ...errors import InvalidRequest, StreamPositionUnknown, StreamTrimmed
from ..operations import MAX_PAGE_BYTES, key_of
from ..stream_operations import StreamPage, StreamRead, StreamRecord, StreamShard
from .item_blobs import decode
from .sqlite_layout import SqliteLayout

RETENTION_SECONDS = 24 * 3600.0
SHARD = StreamShard("shard-0")
MAX_RECORDS = 1000

_TRIM_EVERY, _TRIM_ROWS = 256, 1024
_START, _END = "TRIM_HORIZON", "LATEST"


def append(
    writer: sqlite3.Connection, now: float, old: bytes | None, new: bytes | None, *, by_service: bool = False
) -> None:
    """Log one change, in the transaction that makes it."""
    sequence = writer.execute(
        "INSERT INTO changes (created, by_service, old, new) VALUES (?, ?, ?, ?)", (now, by_service, old, new)
    ).lastrowid
    if sequence and sequence % _TRIM_EVERY == 0:
        _trim(writer, now, _TRIM_ROWS)


def needs_trim(reader: sqlite3.Connection, now: float) -> bool:
    """Whether the log contains rows that are too old."""
    row = reader.execute(
        "SELECT created FROM changes WHERE sequence < (SELECT max(sequence) FROM changes) ORDER BY sequence LIMIT 1"
    ).fetchone()
    return row is not None and row[0] < now - RETENTION_SECONDS


def trim(writer: sqlite3.Connection, now: float) -> bool:
    """Remove the oldest of the rows that are too old, and say whether to go on. A long log takes many transactions, so
    that other writers need not wait for all of it."""
    return _trim(writer, now, _TRIM_ROWS) > 0 and needs_trim(writer, now)


def read(schema: SqliteLayout, reader: sqlite3.Connection, operation: StreamRead, now: float) -> StreamPage:
    if operation.shard != SHARD.id:
        raise InvalidRequest("The stream has no such shard.", where=operation.shard, fix="list the stream's shards")
    if not 1 <= operation.limit <= MAX_RECORDS:
        raise InvalidRequest("The limit is out of range.", where="limit", fix=f"give 1 to {MAX_RECORDS:,}")
    after = _position(reader, operation.after)
    rows = reader.execute(
        "SELECT sequence, created, by_service, old, new FROM changes WHERE sequence > ? AND created >= ?"
        " ORDER BY sequence LIMIT ?",
        (after, now - RETENTION_SECONDS, operation.limit),
    )
    records = []
    size = 0
    for row in rows:
        records.append(_record(schema, *row))
        size += sum(len(image) for image in row[-2:] if image is not None)
        if size >= MAX_PAGE_BYTES:
            break
    rows.close()
    return StreamPage(tuple(records), records[-1].sequence if records else _text(after))


def _position(reader: sqlite3.Connection, after: str) -> int:
    """The number after which to read."""
    first, last = reader.execute(
        "SELECT (SELECT min(sequence) FROM changes), (SELECT max(sequence) FROM changes)"
    ).fetchone()
    first, last = first or 1, last or 0
    if after == _START:
        return int(first) - 1
    if after == _END:
        return int(last)
    if not after.isdecimal():
        raise InvalidRequest(
            "The position is not one of this stream's.", where="after", fix="pass a record's `sequence`"
        )
    if int(after) > last:
        raise StreamPositionUnknown(
            "The stream has not come to this position.", where="after", fix="pass a record's `sequence`"
        )
    if int(after) < first - 1:
        raise StreamTrimmed("Records after this position are no longer kept.", fix="read from TRIM_HORIZON")
    return int(after)


def _trim(writer: sqlite3.Connection, now: float, most: int) -> int:
    """Remove the oldest rows up to the first that is young enough, leaving no gap. Returns how many were removed."""
    oldest = writer.execute("SELECT sequence, created FROM changes ORDER BY sequence LIMIT ?", (most,)).fetchall()
    old = [sequence for sequence, _ in takewhile(lambda row: row[1] < now - RETENTION_SECONDS, oldest)]
    if not old:
        return 0
    return writer.execute(
        "DELETE FROM changes WHERE sequence <= ? AND sequence < (SELECT max(sequence) FROM changes)", (old[-1],)
    ).rowcount


def _record(
    schema: SqliteLayout, sequence: int, created: float, by_service: int, old: bytes | None, new: bytes | None
) -> StreamRecord:
    before, after = old and decode(old), new and decode(new)
    image = after or before or {}
    return StreamRecord(
        event="MODIFY" if before and after else "INSERT" if after else "REMOVE",
        key=key_of(schema.layout.key_names, image),
        old=before or None,
        new=after or None,
        sequence=_text(sequence),
        event_id=f"{schema.identity}{sequence:016x}",
        created=created,
        by_service=bool(by_service),
    )


def _text(sequence: int) -> str:
    return f"{sequence:021d}"
