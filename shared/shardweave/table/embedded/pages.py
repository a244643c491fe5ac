"""Pages of queries and scans.

Guarantees: a page holds exactly `limit` items, or ends after the item that reaches 1 MB, or at the end; both are
measured before the filter. A start key is a position, not an item: it need not exist, and the item at it may be gone.
Descending is the exact reverse of ascending. A filter sees only the projected attributes.

Cost: one seek in the index, then one step an item, at any depth; never an offset. Items are decoded one by one, and
not at all when they are only counted. While entries of the index wait (see `waiting`), they are read beside it and
merged, which costs a second seek.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ...errors import InvalidRequest, TableNotFound
from ..operations import MAX_PAGE_BYTES, PageAnswer, Query, Scan
from ..values import Item, Value, item_bytes
from . import waiting
from .capacity import read_units
from .entries import Entry, index_bounds
from .expressions import check_condition, check_filter
from .files import holds_index
from .item_blobs import decode, normal_value
from .ordering import place_bytes, segment_bounds
from .request_checks import check_key, check_projection, refuse_other_attributes
from .sqlite_layout import KeyIndex, SqliteLayout

MAX_SEGMENTS = 1_000_000


@dataclass(frozen=True)
class Seek:
    """The range to read: SQL conditions over the entries with their operands, the columns that order them, and the
    direction."""

    index: KeyIndex
    conditions: tuple[str, ...]
    operands: tuple[bytes, ...]
    columns: tuple[str, ...]
    descending: bool = False

    def sql(self) -> str:
        """Reads the sizes and images of the items there, in order."""
        return f"SELECT size, image{self._of('entries')}{self._order()}"

    def merged_sql(self) -> str:
        """The same from both the file's entries and those that wait; takes the operands twice. SQLite reads both in
        order and merges them step by step."""
        parts = (f"SELECT size, image, {', '.join(self.columns)}{self._of(one)}" for one in ("entries", "temp.waiting"))
        return f"{' UNION ALL '.join(parts)}{self._order()}"

    def _of(self, entries: str) -> str:
        return f" FROM {entries} AS e CROSS JOIN items ON items.id = e.item WHERE {' AND '.join(self.conditions)}"

    def _order(self) -> str:
        direction = " DESC" if self.descending else ""
        return f" ORDER BY {', '.join(column + direction for column in self.columns)}"


def query(schema: SqliteLayout, reader: sqlite3.Connection, operation: Query) -> PageAnswer:
    index = _index(schema, operation.index, operation.limit, operation.consistent)
    if operation.filter is not None:
        check_filter(operation.filter, (index.hash.attribute, index.range.attribute))
    return _page(schema, reader, operation, _seek_of_query(schema, index, operation))


def scan(schema: SqliteLayout, reader: sqlite3.Connection, operation: Scan) -> PageAnswer:
    index = _index(schema, operation.index, operation.limit, operation.consistent)
    if operation.filter is not None:
        check_condition(operation.filter)
    return _page(schema, reader, operation, _seek_of_scan(schema, index, operation))


def _page(schema: SqliteLayout, reader: sqlite3.Connection, operation: Query | Scan, seek: Seek) -> PageAnswer:
    index, limit, condition = seek.index, operation.limit, operation.filter
    asked = None if operation.count_only else operation.projection
    names = None if asked is None else check_projection(index, asked)
    whole = index.projected is None
    items: list[Item] = []
    count = scanned = total = 0
    last: bytes | None = None
    decoding = condition is not None or not operation.count_only or not whole
    waits = schema.wait > 0 and index.layout is not None and waiting.follow(schema, reader, index)
    if waits:
        rows = reader.execute(seek.merged_sql(), seek.operands * 2)
    else:
        rows = reader.execute(seek.sql(), seek.operands)
    for size, image, *_ in rows:
        scanned += 1
        if decoding:
            item = decode(image) if whole else index.project(decode(image))
        total += size if whole else item_bytes(item)
        if condition is None or condition.evaluate(item):
            count += 1
            if not operation.count_only:
                items.append(item if names is None else {n: v for n, v in item.items() if n in names})
        if scanned == limit or total >= MAX_PAGE_BYTES:
            last = image
            break
    rows.close()
    if (waits or not scanned) and not holds_index(reader, schema, index.name):
        raise TableNotFound(
            "Another process has removed the index from the table's file.",
            fix="open the table again, with the same layout in every process",
        )
    return PageAnswer(
        tuple(items),
        count,
        scanned,
        None if last is None else _start_key(schema, index, decode(last)),
        read_units(total, operation.consistent),
    )


def _index(schema: SqliteLayout, name: str | None, limit: int | None, consistent: bool) -> KeyIndex:
    index = schema.indexes.get(name)
    if index is None:
        raise InvalidRequest("The table has no such index.", where=str(name), fix="name one of the layout's indexes")
    if consistent and name is not None:
        raise InvalidRequest("An index can't be read consistently.", where=str(name), fix="read the table instead")
    if limit is not None and limit < 1:
        raise InvalidRequest("The limit is below 1.", where="limit", fix="give 1 or more, or none")
    return index


def _seek_of_query(schema: SqliteLayout, index: KeyIndex, operation: Query) -> Seek:
    names_range = operation.range_name == index.range.attribute or operation.interval.is_whole
    if operation.hash_name != index.hash.attribute or not names_range:
        raise InvalidRequest(
            "The query's key condition names other attributes than the keys of what it reads.",
            where=operation.index or "",
            fix=f"use {index.hash.attribute} and {index.range.attribute}",
        )
    hash_key = index.hash.encode(operation.hash_value)
    interval = operation.interval
    low = None if interval.low is None else index.range.encode(interval.low)
    high = None if interval.high is None else index.range.encode(interval.high)
    if low is not None and high is not None and low > high:
        raise InvalidRequest("The interval's lower bound is above its upper.", fix="swap the bounds")
    order = ("range",) if index.layout is None else ("range", "tie")
    conditions, operands = ["place = ?"], [index.number + place_bytes(hash_key)]
    after, before = (">", "<") if not operation.descending else ("<", ">")
    first, final = (low, high) if not operation.descending else (high, low)
    if operation.start_key is not None:
        start = _position(schema, index, operation.start_key)
        if start[0] != operands[0] or (low is not None and start[1] < low) or (high is not None and start[1] > high):
            raise InvalidRequest("The start key is outside the key condition.", where="start_key", fix=_START_FIX)
        conditions.append(f"({', '.join(order)}) {after} ({', '.join('?' for _ in order)})")
        operands += start[1 : 1 + len(order)]
    elif first is not None:
        conditions.append(f"range {after}= ?")
        operands.append(first)
    if final is not None:
        conditions.append(f"range {before}= ?")
        operands.append(final)
    return Seek(index, tuple(conditions), tuple(operands), order, operation.descending)


def _seek_of_scan(schema: SqliteLayout, index: KeyIndex, operation: Scan) -> Seek:
    if not 1 <= operation.total_segments <= MAX_SEGMENTS or not 0 <= operation.segment < operation.total_segments:
        raise InvalidRequest(
            "The segment is out of range.", where="segment", fix=f"number 1 to {MAX_SEGMENTS:,} segments from 0"
        )
    lowest, highest = segment_bounds(operation.segment, operation.total_segments)
    first, end = index.number + lowest, index_bounds(index.number)[1] if highest is None else index.number + highest
    if operation.start_key is not None:
        start = _position(schema, index, operation.start_key)
        if not first <= start[0] < end:
            raise InvalidRequest("The start key is in another segment.", where="start_key", fix=_START_FIX)
        return Seek(index, ("(place, range, tie) > (?, ?, ?)", "place < ?"), (*start, end), _ENTRY)
    return Seek(index, ("place >= ?", "place < ?"), (first, end), _ENTRY)


_ENTRY = "place", "range", "tie"
_START_FIX = "pass the last key of the page before, unchanged, with the same request"


def _position(schema: SqliteLayout, index: KeyIndex, start_key: Item) -> Entry:
    """The entry that a start key names."""
    names = schema.layout.start_key_names(index.name)
    refuse_other_attributes(start_key, names, "start key")
    key = {name: normal_value(value) for name, value in start_key.items()}
    place = check_key(schema, {name: key[name] for name in schema.layout.key_names})
    if index.layout is None:
        return place.entry
    hash_key = index.hash.encode(key[index.hash.attribute])
    return index.number + place_bytes(hash_key), index.range.encode(key[index.range.attribute]), place.tie


def _start_key(schema: SqliteLayout, index: KeyIndex, item: Item) -> dict[str, Value]:
    return {name: item[name] for name in schema.layout.start_key_names(index.name)}
