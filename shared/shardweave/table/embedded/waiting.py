"""Items whose entries in secondary indexes wait, so that a create changes few pages of the file.

An item of eleven indexes changes a page of each when its entries are written, and SQLite logs whole pages. In a file,
the entries of a new item are therefore not written with it: they follow from the item, which is. Once `WAIT` items have
come together, all their entries are written in order, in the transaction of the last one, so that items share pages.

A table in memory logs nothing, and none of its entries wait.

Guarantees: the items whose rows come after `indexed.through` have no entry of a secondary index in the file, all others
have every one. Such rows are only added, or written with the same keys, until `write_all`: whoever removes one or
changes its keys calls `write_with` first. Entries of the table's key never wait. A read of an index that begins with
`follow`, in its snapshot, reads the waiting entries from a table in memory that belongs to its connection.

Cost: a read of an index asks for two numbers more, and takes over its entries of the items that came since the index
was last read on its connection; a process makes them once. The first read of a process makes up to `WAIT`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator

from .entries import index_bounds, insert_sorted, secondary_entries
from .item_blobs import decode
from .sqlite_layout import NUMBER_BYTES, KeyIndex, SqliteLayout

WAIT = 2048

_STATE = "SELECT through, (SELECT max(id) FROM items) FROM indexed"
_STAMP = "SELECT stamp FROM items WHERE id = ?"
_INSERT = "INSERT INTO temp.waiting VALUES (?, ?, ?, ?)"
_EMPTY = "DELETE FROM temp.waiting WHERE place >= ? AND place < ?"
_TABLE = """CREATE TEMP TABLE IF NOT EXISTS waiting (
  place BLOB, range BLOB, tie BLOB, item INTEGER, PRIMARY KEY (place, range, tie)
) WITHOUT ROWID"""


Row = tuple[bytes, bytes, bytes, int]
Made = dict[tuple[int, int], dict[bytes, Row]]


class Follower(sqlite3.Connection):
    """A connection that reads. `followed`, by the number of an index: the rows whose entries of it are in its own
    table, after the first up to the second, and the second's stamp: another row of that number, after a backup was put
    back, has another."""

    followed: dict[bytes, tuple[int, int, int]]
    made: Made
    """The entries of items that wait, by row and stamp, and by the number of their index: made once for all connections
    of a table."""


def state(connection: sqlite3.Connection) -> tuple[int, int]:
    """The last row whose entries are all written, and the last row that is there or was before that one."""
    through, last = connection.execute(_STATE).fetchone()
    return through, max(through, last or 0)


def follow(schema: SqliteLayout, reader: sqlite3.Connection, index: KeyIndex) -> bool:
    """Whether entries wait in the snapshot of `reader`; if so, its table `waiting` has those of the index until the
    next call."""
    if not schema.wait:
        return False
    assert isinstance(reader, Follower)
    through, last = state(reader)
    if through == last:
        return False
    before = reader.followed.pop(index.number, None)
    goes_on = before is not None and before[0] == through and _stamp(reader, before[1]) == before[2]
    if before is None or not goes_on or before[1] < last:
        reader.execute("PRAGMA query_only = OFF")
        try:
            if before is None or not goes_on:
                if len(reader.made) > 2 * schema.wait:
                    reader.made.clear()
                reader.execute(_TABLE)
                reader.execute(_EMPTY, index_bounds(index.number))
            first = before[1] if before is not None and goes_on else through
            found = (each.get(index.number) for each in _made_of(schema, reader, first, last))
            reader.executemany(_INSERT, [row for row in found if row is not None])
        finally:
            reader.execute("PRAGMA query_only = ON")
    reader.followed[index.number] = through, last, _stamp(reader, last)
    return True


def _stamp(connection: sqlite3.Connection, row: int) -> int:
    found = connection.execute(_STAMP, (row,)).fetchone()
    return -1 if found is None else int(found[0])


def write_with(schema: SqliteLayout, writer: sqlite3.Connection, row: int) -> None:
    """Write the entries that wait if those of `row` are among them."""
    if schema.wait and row > state(writer)[0]:
        write_all(schema, writer)


def write_all(schema: SqliteLayout, writer: sqlite3.Connection) -> None:
    """Write the entries that wait."""
    through, last = state(writer)
    if through < last:
        insert_sorted(writer, [row for each in _made_of(schema, writer, through, last) for row in each.values()])
        writer.execute("UPDATE indexed SET through = ?", (last,))
        _made(writer).clear()


def _made(connection: sqlite3.Connection) -> Made:
    return connection.made if isinstance(connection, Follower) else {}


def _made_of(schema: SqliteLayout, connection: sqlite3.Connection, after: int, last: int) -> Iterator[dict[bytes, Row]]:
    """The entries of each item that waits, by the number of their index."""
    made = _made(connection)
    new = connection.execute("SELECT id, stamp FROM items WHERE id > ? AND id <= ?", (after, last)).fetchall()
    for row, stamp in new:
        found = made.get((row, stamp))
        if found is None:
            (image,) = connection.execute("SELECT image FROM items WHERE id = ?", (row,)).fetchone()
            entries = secondary_entries(schema, decode(image))
            found = {entry[0][:NUMBER_BYTES]: (*entry, row) for entry in entries}
            made[row, stamp] = found
        yield found
