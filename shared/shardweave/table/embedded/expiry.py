"""Removal of expired items, as DynamoDB does it.

An item expires when its TTL attribute is a number of epoch seconds in the past, no more than five years ago (an older
number is assumed not to be a time). The removals are logged as those of the service.

Cost: a seek in the TTL index, then what a delete costs; `EXPIRE_ROWS` at most in one transaction.
"""

from __future__ import annotations

import math
import sqlite3

from .item_blobs import decode
from .request_checks import check_key
from .sqlite_layout import SqliteLayout
from .writes import Decision, Stored, store

EXPIRE_ROWS = 200

_OLDEST_SECONDS = 5 * 365.25 * 24 * 3600


def expire(schema: SqliteLayout, writer: sqlite3.Connection, now: float, logged_at: float) -> int:
    """Remove up to `EXPIRE_ROWS` items that have expired at `now`, and return how many."""
    rows = writer.execute(
        "SELECT id, size, image FROM items WHERE ttl < ? AND ttl >= ? LIMIT ?",
        (math.ceil(now), math.floor(now - _OLDEST_SECONDS), EXPIRE_ROWS),
    ).fetchall()
    for row, size, image in rows:
        item = decode(image)
        place = check_key(schema, {name: item[name] for name in schema.layout.key_names})
        store(schema, writer, Decision(place, Stored(row, size, image, item), None), logged_at, by_service=True)
    return len(rows)
