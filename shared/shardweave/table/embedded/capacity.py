"""The cost of an operation in DynamoDB's units.

A read costs one unit for each started 4 KB, half of that when it need not be consistent, twice in a transaction. A
write costs one unit for each started 1 KB of the larger of the old and the new item, twice in a transaction; besides,
each index costs one unit for each started 1 KB of its entry that is added, removed or changed (both entries if the item
moves within the index).
"""

from __future__ import annotations

from ..values import Value, item_bytes
from .sqlite_layout import KeyIndex, SqliteLayout

_READ_UNIT, _WRITE_UNIT = 4096, 1024


def read_units(size: int, consistent: bool) -> float:
    """The units of reading `size` bytes in one request, or one item of a batch."""
    units = max(1, -(-size // _READ_UNIT))
    return float(units) if consistent else units / 2


def write_units(size: int) -> float:
    """The units of writing an item of `size` bytes to the table or to an index."""
    return float(max(1, -(-size // _WRITE_UNIT)))


def index_units(
    schema: SqliteLayout,
    old: dict[str, Value] | None,
    old_size: int,
    new: dict[str, Value] | None,
    new_size: int,
) -> float:
    """The units that a change of an item costs in all indexes together. The two differ."""
    return sum(_units_of(index, old, old_size, new, new_size) for index in schema.secondary)


def _units_of(
    index: KeyIndex, old: dict[str, Value] | None, old_size: int, new: dict[str, Value] | None, new_size: int
) -> float:
    keys = hash_name, range_name = index.hash.attribute, index.range.attribute
    before = old if old is not None and hash_name in old and range_name in old else None
    after = new if new is not None and hash_name in new and range_name in new else None
    if before is None and after is None:
        return 0.0
    if index.projected is not None:
        before, after = before and index.project(before), after and index.project(after)
        if before == after:
            return 0.0
        old_size, new_size = item_bytes(before or {}), item_bytes(after or {})
    if before is None:
        return write_units(new_size)
    if after is None:
        return write_units(old_size)
    if any(before[name] != after[name] for name in keys):
        return write_units(old_size) + write_units(new_size)
    return write_units(max(old_size, new_size))
