"""The entries of an item in the table's indexes: their form, and writing them.

Format: an entry is a row of `entries`: its place (the index's number and the hash key), the range key, the tie, and the
item's row. The table's own key is index 0, without a tie. All indexes share one tree, so the entries of an item are
written by one statement, and an index that is removed is one range of rows.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from ..values import Item
from .ordering import place_bytes, possible_keys, tie_bytes
from .sqlite_layout import KeyIndex, SqliteLayout

NO_TIE = b""

Entry = tuple[bytes, bytes, bytes]
"""Place, range key and tie."""

_INSERT = "INSERT INTO entries VALUES (?, ?, ?, ?)"
_DELETE = "DELETE FROM entries WHERE place = ? AND range = ? AND tie = ?"


def secondary_entries(schema: SqliteLayout, item: Item, indexes: Sequence[KeyIndex] | None = None) -> list[Entry]:
    """The item's entries in the secondary indexes. A value that can't be a key, which an item that is older than its
    index may have, keeps the item out of the index."""
    return entries_of(schema, possible_keys(schema.columns, item), indexes)


def entries_of(
    schema: SqliteLayout, keys: Sequence[bytes | None], indexes: Sequence[KeyIndex] | None = None
) -> list[Entry]:
    """The entries in the secondary indexes of an item with these keys, one of each of the layout's columns."""
    hash_key, range_key = keys[0], keys[1]
    assert hash_key is not None
    assert range_key is not None
    tie = tie_bytes(hash_key, range_key)
    found: list[Entry] = []
    for index in schema.secondary if indexes is None else indexes:
        hash_at, range_at = index.columns
        hash_key, range_key = keys[hash_at], keys[range_at]
        if hash_key is not None and range_key is not None:
            found.append((index.number + place_bytes(hash_key), range_key, tie))
    return found


def insert(writer: sqlite3.Connection, row: int | None, entries: Iterable[Entry]) -> None:
    writer.executemany(_INSERT, [(*entry, row) for entry in entries])


def insert_sorted(writer: sqlite3.Connection, rows: list[tuple[bytes, bytes, bytes, int]]) -> None:
    """Write entries of many items in the tree's order, so that each of its pages is changed once."""
    rows.sort()
    writer.executemany(_INSERT, rows)


def delete(writer: sqlite3.Connection, entries: Iterable[Entry]) -> None:
    writer.executemany(_DELETE, list(entries))


def delete_index(writer: sqlite3.Connection, number: int) -> None:
    """Remove every entry of an index."""
    writer.execute("DELETE FROM entries WHERE place >= ? AND place < ?", index_bounds(number.to_bytes(2, "big")))


def index_bounds(number: bytes) -> tuple[bytes, bytes]:
    """The places of an index: from the first, up to but without the second."""
    return number, (int.from_bytes(number, "big") + 1).to_bytes(len(number), "big")
