"""Pages of queries and scans.

Guarantees: a page holds exactly `limit` items, or ends after the item that reaches 1 MB, or at the end; both are
measured before the filter. A start key is a position, not an item: it need not exist, and the item at it may be gone.
Descending is the exact reverse of ascending. A filter sees only the projected attributes.

Cost: one seek in the index, then one step an item, at any depth; never an offset. Items are decoded one by one, and
not at all when they are only counted.
"""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass

from ...errors import InvalidRequest
from ..operations import MAX_PAGE_BYTES, PageAnswer, Query, Scan
from ..values import Item, Value, item_bytes
from .capacity import read_units
from .expressions import check_condition, check_filter
from .item_blobs import decode, normal_value
from .ordering import segment_bounds
from .request_checks import check_key, check_projection, refuse_other_attributes
from .sqlite_layout import KeyIndex, SqliteLayout

MAX_SEGMENTS = 1_000_000


@dataclass(frozen=True)
class Seek:
    """The range to read: SQL conditions over the index's columns with their operands, and the direction."""

    index: KeyIndex
    conditions: tuple[str, ...]
    operands: tuple[bytes, ...]
    columns: tuple[str, ...]
    descending: bool = False

    def sql(self) -> str:
        """Reads the sizes and images of the items there, in order. The last conditions change nothing: they tell
        SQLite that the index, which leaves out items without its keys, has every item asked for."""
        index = self.index
        present = (f"{index.hash.name} IS NOT NULL", f"{index.range.name} IS NOT NULL") if index.layout else ()
        direction = " DESC" if self.descending else ""
        return (
            f"SELECT size, image FROM items INDEXED BY {index.sql_name}"
            f" WHERE {' AND '.join((*self.conditions, *present))}"
            f" ORDER BY {', '.join(column + direction for column in self.columns)}"
        )


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
    names = None if operation.count_only else check_projection(index, operation.projection)
    items: list[Item] = []
    count = scanned = total = 0
    last: bytes | None = None
    decoding = condition is not None or not operation.count_only or index.projected is not None
    rows = reader.execute(seek.sql(), seek.operands)
    for size, image in rows:
        scanned += 1
        if decoding:
            item = index.project(decode(image))
        total += size if index.projected is None else item_bytes(item)
        if condition is None or condition.evaluate(item):
            count += 1
            if not operation.count_only:
                items.append(item if names is None else {n: v for n, v in item.items() if n in names})
        if scanned == limit or total >= MAX_PAGE_BYTES:
            last = image
            break
    rows.close()
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
    range_name = index.range.attribute if operation.interval.is_whole else operation.range_name
    if (operation.hash_name, range_name) != (index.hash.attribute, index.range.attribute):
        raise InvalidRequest(
            "The query's key condition names other attributes than the keys of what it reads.",
            where=operation.index or "",
            fix=f"use {index.hash.attribute} and {index.range.attribute}",
        )
    hash_key = index.hash.encode(operation.hash_value)
    interval, column = operation.interval, index.range.name
    low = None if interval.low is None else index.range.encode(interval.low)
    high = None if interval.high is None else index.range.encode(interval.high)
    if low is not None and high is not None and low > high:
        raise InvalidRequest("The interval's lower bound is above its upper.", fix="swap the bounds")
    conditions, operands = [f"{index.hash.name} = ?"], [hash_key]
    after, before = (">", "<") if not operation.descending else ("<", ">")
    first, final = (low, high) if not operation.descending else (high, low)
    if operation.start_key is not None:
        start = _position(schema, index, operation.start_key)
        if start[0] != hash_key or (low is not None and start[1] < low) or (high is not None and start[1] > high):
            raise InvalidRequest("The start key is outside the key condition.", where="start_key", fix=_START_FIX)
        conditions.append(f"({', '.join(index.order)}) {after} ({', '.join('?' for _ in index.order)})")
        operands += start[1:]
    elif first is not None:
        conditions.append(f"{column} {after}= ?")
        operands.append(first)
    if final is not None:
        conditions.append(f"{column} {before}= ?")
        operands.append(final)
    return Seek(index, tuple(conditions), tuple(operands), index.order, operation.descending)


def _seek_of_scan(schema: SqliteLayout, index: KeyIndex, operation: Scan) -> Seek:
    if not 1 <= operation.total_segments <= MAX_SEGMENTS or not 0 <= operation.segment < operation.total_segments:
        raise InvalidRequest(
            "The segment is out of range.", where="segment", fix=f"number 1 to {MAX_SEGMENTS:,} segments from 0"
        )
    first, end = segment_bounds(operation.segment, operation.total_segments)
    columns = (index.hash.name, *index.order)
    conditions: list[str] = []
    operands: list[bytes] = []
    if operation.start_key is not None:
        start = _position(schema, index, operation.start_key)
        if start[0] < first or (end is not None and start[0] >= end):
            raise InvalidRequest("The start key is in another segment.", where="start_key", fix=_START_FIX)
        conditions.append(f"({', '.join(columns)}) > ({', '.join('?' for _ in columns)})")
        operands += start
    else:
        conditions.append(f"{index.hash.name} >= ?")
        operands.append(first)
    if end is not None:
        conditions.append(f"{index.hash.name} < ?")
        operands.append(end)
    return Seek(index, tuple(conditions), tuple(operands), columns)


_START_FIX = "pass the last key of the page before, unchanged, with the same request"


def _position(schema: SqliteLayout, index: KeyIndex, start_key: Item) -> tuple[bytes, ...]:
    """A start key in the index's columns: hash key, range key and, in a secondary index, tie."""
    names = schema.layout.start_key_names(index.name)
    refuse_other_attributes(start_key, names, "start key")
    key = {name: normal_value(value) for name, value in start_key.items()}
    place = check_key(schema, {name: key[name] for name in schema.layout.key_names})
    if index.layout is None:
        return place.hash, place.range
    return index.hash.encode(key[index.hash.attribute]), index.range.encode(key[index.range.attribute]), place.tie


def _start_key(schema: SqliteLayout, index: KeyIndex, item: Item) -> dict[str, Value]:
    return {name: item[name] for name in schema.layout.start_key_names(index.name)}
