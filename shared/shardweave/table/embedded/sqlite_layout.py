"""A table's layout in SQLite: the column of each key attribute, and the SQL index for each read.

Guarantees: a pure, immutable value, compiled once. Each key attribute has one column for each role that it serves in
(hash or range), so indexes that share an attribute share the column. The table's key orders the items of one hash
key by range key; a secondary index by range key, then by tie (see `ordering`), so its order is total.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal

from ...errors import ConfigurationError
from ..layout import IndexLayout, KeyAttribute, TableLayout
from ..values import Item, Value
from .ordering import KeyColumn, Role

_MAX_TTL = 2**62


@dataclass(frozen=True)
class KeyIndex:
    """The table's key (`layout` is None) or a secondary index. `order`: the columns that order one hash key."""

    sql_name: str
    hash: KeyColumn
    range: KeyColumn
    order: tuple[str, ...]
    layout: IndexLayout | None = None
    projected: frozenset[str] | None = None

    def project(self, item: dict[str, Value]) -> dict[str, Value]:
        """The part of an item that a read of the index returns."""
        projected = self.projected
        if projected is None:
            return item
        return {name: value for name, value in item.items() if name in projected}

    @property
    def name(self) -> str | None:
        """The index's name in the layout; None for the table's key."""
        return None if self.layout is None else self.layout.name

    def holds(self, item: Item) -> bool:
        """Whether the item is in the index: it has both keys."""
        return self.hash.attribute in item and self.range.attribute in item


@dataclass(frozen=True)
class SqliteLayout:
    """The layout, compiled. `columns` starts with the table's hash and range key; `indexes[None]` is the table's key.
    `revision` is the file's: another process that changes the layout raises it."""

    layout: TableLayout
    identity: str
    revision: int
    columns: tuple[KeyColumn, ...]
    indexes: Mapping[str | None, KeyIndex] = field(repr=False)

    @property
    def table(self) -> KeyIndex:
        return self.indexes[None]

    def secondary(self) -> Iterator[KeyIndex]:
        return (index for name, index in self.indexes.items() if name is not None)

    def ttl(self, item: Item) -> int | None:
        """The expiry of an item in whole epoch seconds; None if it never expires."""
        attribute = self.layout.ttl_attribute
        value = item.get(attribute) if attribute is not None else None
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or not 0 < value < _MAX_TTL:
            return None
        return int(value)


def key_attributes(layout: TableLayout) -> dict[tuple[str, Role], KeyAttribute]:
    """Every key attribute in each role that it serves in, the table's first. Raises ConfigurationError for a layout
    that contradicts itself."""
    pairs = [(layout.hash_key, layout.range_key)]
    pairs += [(index.hash_key, index.range_key) for index in layout.indexes]
    found: dict[tuple[str, Role], KeyAttribute] = {}
    for hash_key, range_key in pairs:
        found.setdefault((hash_key.name, "hash"), hash_key)
        found.setdefault((range_key.name, "range"), range_key)
    types: dict[str, str] = {}
    for key in (key for pair in pairs for key in pair):
        if types.setdefault(key.name, key.type) != key.type:
            raise ConfigurationError(
                f"The layout declares the key attribute with two types, {types[key.name]} and {key.type}.",
                where=key.name,
                fix="give it one type in every key",
            )
    if len({index.name for index in layout.indexes}) != len(layout.indexes):
        raise ConfigurationError("The layout has two indexes of one name.", fix="name each index differently")
    return found


def compile_schema(
    layout: TableLayout,
    columns: Mapping[tuple[str, Role], KeyColumn],
    sql_names: Mapping[str, str],
    identity: str,
    revision: int,
) -> SqliteLayout:
    """The schema of a layout whose columns and SQL indexes have these names."""

    def key_index(sql_name: str, index: IndexLayout | None) -> KeyIndex:
        name = None if index is None else index.name
        hash_key, range_key = layout.keys_of(name)
        range_column = columns[range_key.name, "range"]
        return KeyIndex(
            sql_name=sql_name,
            hash=columns[hash_key.name, "hash"],
            range=range_column,
            order=(range_column.name,) if index is None else (range_column.name, "tie"),
            layout=index,
            projected=layout.projected(name),
        )

    indexes: dict[str | None, KeyIndex] = {None: key_index("items_key", None)}
    for index in layout.indexes:
        indexes[index.name] = key_index(sql_names[index.name], index)
    return SqliteLayout(layout, identity, revision, tuple(columns.values()), indexes)
