"""A table's layout, compiled for SQLite: the number of each index, and where its keys are among an item's key columns.

Guarantees: a pure, immutable value, compiled once. Each key attribute has one column for each role that it serves in
(hash or range), so indexes that share an attribute encode it once. The table's key orders the items of one hash key by
range key; a secondary index by range key, then by tie (see `ordering`), so its order is total.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property

from ...errors import ConfigurationError
from ..layout import IndexLayout, TableLayout
from ..values import Item, Value
from .ordering import KeyColumn, Role

NUMBER_BYTES = 2
_MAX_TTL = 2**62


@dataclass(frozen=True)
class KeyIndex:
    """The table's key (`layout` is None) or a secondary index. `number` precedes the places of its entries; `columns`
    are the positions of hash and range among the layout's."""

    number: bytes
    columns: tuple[int, int]
    hash: KeyColumn
    range: KeyColumn
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
    `revision` is the file's: another process that changes the layout raises it. So many items may `wait` for their
    entries in secondary indexes (see `waiting`); 0: none does."""

    layout: TableLayout
    identity: str
    revision: int
    columns: tuple[KeyColumn, ...]
    indexes: Mapping[str | None, KeyIndex] = field(repr=False)
    wait: int = 0

    @cached_property
    def table(self) -> KeyIndex:
        return self.indexes[None]

    @cached_property
    def secondary(self) -> tuple[KeyIndex, ...]:
        return tuple(index for name, index in self.indexes.items() if name is not None)

    def ttl(self, item: Item) -> int | None:
        """The expiry of an item in whole epoch seconds; None if it never expires."""
        attribute = self.layout.ttl_attribute
        value = item.get(attribute) if attribute is not None else None
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)) or not 0 < value < _MAX_TTL:
            return None
        return int(value)


def key_columns(layout: TableLayout) -> dict[tuple[str, Role], KeyColumn]:
    """Every key attribute in each role that it serves in, the table's first. Raises ConfigurationError for a layout
    that contradicts itself."""
    pairs = [(layout.hash_key, layout.range_key)]
    pairs += [(index.hash_key, index.range_key) for index in layout.indexes]
    found: dict[tuple[str, Role], KeyColumn] = {}
    for hash_key, range_key in pairs:
        found.setdefault((hash_key.name, "hash"), KeyColumn(hash_key.name, hash_key.type, "hash"))
        found.setdefault((range_key.name, "range"), KeyColumn(range_key.name, range_key.type, "range"))
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
    layout: TableLayout, numbers: Mapping[str, int], identity: str, revision: int, wait: int
) -> SqliteLayout:
    """The schema of a layout whose indexes have these numbers."""
    columns = key_columns(layout)
    positions = {key: position for position, key in enumerate(columns)}

    def key_index(number: int, index: IndexLayout | None) -> KeyIndex:
        name = None if index is None else index.name
        hash_key, range_key = layout.keys_of(name)
        return KeyIndex(
            number=number.to_bytes(NUMBER_BYTES, "big"),
            columns=(positions[hash_key.name, "hash"], positions[range_key.name, "range"]),
            hash=columns[hash_key.name, "hash"],
            range=columns[range_key.name, "range"],
            layout=index,
            projected=layout.projected(name),
        )

    indexes: dict[str | None, KeyIndex] = {None: key_index(0, None)}
    for index in layout.indexes:
        indexes[index.name] = key_index(numbers[index.name], index)
    return SqliteLayout(layout, identity, revision, tuple(columns.values()), indexes, wait)
