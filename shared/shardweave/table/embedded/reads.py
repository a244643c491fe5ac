"""Reads of items by primary key: a single item, a batch, or several items in one snapshot.

Cost: a seek an item. A batch stops at 16 MB and returns the keys that it did not read; a transaction refuses more than
4 MB.
"""

from __future__ import annotations

import sqlite3

from ...errors import InvalidRequest
from ..operations import (
    MAX_BATCH_GET,
    MAX_TRANSACTION_ACTIONS,
    MAX_TRANSACTION_BYTES,
    BatchGet,
    BatchGetAnswer,
    GetItem,
    ItemAnswer,
    TransactGet,
    TransactGetAnswer,
)
from ..values import Item, Value
from .capacity import read_units
from .item_blobs import decode
from .request_checks import Place, check_count, check_distinct, check_key, check_projection
from .sqlite_layout import SqliteLayout
from .writes import FIND

MAX_BATCH_BYTES = 16 * 1024 * 1024


def get_item(schema: SqliteLayout, reader: sqlite3.Connection, operation: GetItem) -> ItemAnswer:
    place = check_key(schema, operation.key)
    projection = check_projection(schema.table, operation.projection)
    found, size = _read(reader, place, projection)
    return ItemAnswer(found, read_units(size, operation.consistent))


def batch_get(schema: SqliteLayout, reader: sqlite3.Connection, operation: BatchGet) -> BatchGetAnswer:
    check_count(len(operation.keys), MAX_BATCH_GET, "keys")
    places = [check_key(schema, key) for key in operation.keys]
    check_distinct(places, len(places))
    projection = check_projection(schema.table, operation.projection)
    items: list[Item] = []
    units, total = 0.0, 0
    for position, place in enumerate(places):
        found, size = _read(reader, place, projection)
        total += size
        if total > MAX_BATCH_BYTES:
            return BatchGetAnswer(tuple(items), tuple(left.key for left in places[position:]), units)
        units += read_units(size, operation.consistent)
        if found is not None:
            items.append(found)
    return BatchGetAnswer(tuple(items), (), units)


def transact_get(schema: SqliteLayout, reader: sqlite3.Connection, operation: TransactGet) -> TransactGetAnswer:
    check_count(len(operation.keys), MAX_TRANSACTION_ACTIONS, "keys")
    places = [check_key(schema, key) for key in operation.keys]
    check_distinct(places, len(places))
    found = [_read(reader, place, None) for place in places]
    if sum(size for _, size in found) > MAX_TRANSACTION_BYTES:
        raise InvalidRequest("The items of the transaction are larger than 4 MB together.", fix="read fewer at once")
    return TransactGetAnswer(
        tuple(item for item, _ in found), sum(2 * read_units(size, consistent=True) for _, size in found)
    )


def _read(
    reader: sqlite3.Connection, place: Place, projection: frozenset[str] | None
) -> tuple[dict[str, Value] | None, int]:
    """The item, or None, and its size."""
    row = reader.execute(FIND, place.entry).fetchone()
    if row is None:
        return None, 0
    _, size, image = row
    item = decode(image)
    if projection is not None:
        item = {name: value for name, value in item.items() if name in projection}
    return item, size
