"""Checks of requests that DynamoDB would refuse before it reads an item: keys, items, key attributes of indexes,
projections, counts.

Guarantees: each check raises InvalidRequest (RecordTooLarge for an item, ValueRefused for a value) with the place and
the fix, or returns the checked value in the table's internal form. No check reads the table.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from ...errors import InvalidRequest, RecordTooLarge
from ..values import MAX_ITEM_BYTES, Item, Value
from .entries import NO_TIE, Entry
from .item_blobs import normal_form, normal_value
from .ordering import place_bytes, tie_bytes
from .sqlite_layout import KeyIndex, SqliteLayout


@dataclass(frozen=True)
class Place:
    """The place of an item: its key, the encoded keys, and its entry in the table's key."""

    key: dict[str, Value]
    hash: bytes
    range: bytes
    entry: Entry

    @property
    def tie(self) -> bytes:
        return tie_bytes(self.hash, self.range)


def check_key(schema: SqliteLayout, key: Item) -> Place:
    """The place of a primary key, which must hold the key's attributes and nothing else."""
    hash_column, range_column = schema.table.hash, schema.table.range
    refuse_other_attributes(key, (hash_column.attribute, range_column.attribute), "key")
    return _place(schema, {name: value if type(value) is str else normal_value(value) for name, value in key.items()})


def check_item(schema: SqliteLayout, item: Item) -> tuple[Place, dict[str, Value], int]:
    """The place, the normal form and the size of a whole item."""
    for column in (schema.table.hash, schema.table.range):
        if column.attribute not in item:
            raise InvalidRequest("The item lacks its key.", where=column.attribute, fix="give every item both keys")
    normal, size = normal_form(item)
    check_size(size)
    return _place(schema, normal), normal, size


def check_size(size: int) -> None:
    if size > MAX_ITEM_BYTES:
        raise RecordTooLarge(f"The item is {size:,} bytes large.", fix=f"keep it within {MAX_ITEM_BYTES:,} bytes")


def check_projection(index: KeyIndex, projection: tuple[str, ...] | None) -> frozenset[str] | None:
    """The requested attributes of a read, or None for all that the index has."""
    if projection is None:
        return None
    names = frozenset(projection)
    if not names or "" in names:
        raise InvalidRequest("The projection names no attribute.", fix="name attributes, or ask for all")
    if index.projected is not None and not names <= index.projected:
        raise InvalidRequest(
            f"The index does not project {', '.join(sorted(names - index.projected))}.",
            where=index.name or "",
            fix="read the item from the table, or project the attribute",
        )
    return names


def check_count(count: int, most: int, what: str) -> None:
    if not 1 <= count <= most:
        raise InvalidRequest(f"The request holds {count} {what}.", fix=f"send 1 to {most}")


def check_distinct(places: Iterable[Place], count: int) -> None:
    if len({(place.hash, place.range) for place in places}) < count:
        raise InvalidRequest("The request names one item twice.", fix="name each item once")


def refuse_other_attributes(key: Item, names: Collection[str], what: str) -> None:
    if len(key) != len(names) or not all(name in key for name in names):
        raise InvalidRequest(
            f"The {what} holds the attributes {', '.join(sorted(key)) or '(none)'}.",
            fix=f"give exactly {', '.join(names)}",
        )


def _place(schema: SqliteLayout, item: Item) -> Place:
    hash_column, range_column = schema.table.hash, schema.table.range
    hash_value, range_value = item[hash_column.attribute], item[range_column.attribute]
    hash_key, range_key = hash_column.encode(hash_value), range_column.encode(range_value)
    key = {hash_column.attribute: hash_value, range_column.attribute: range_value}
    return Place(key, hash_key, range_key, (schema.table.number + place_bytes(hash_key), range_key, NO_TIE))
