"""The catalog: the keys by which an application can find records, and the properties that determine the shard.

It has one entry for each way to find a record without a query: the identity, and every lookup. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ...schema.entity_type import EntityType
from ...schema.schema import Schema
from .lookup_records import LOOKUP_SPACE


@dataclass(frozen=True)
class CatalogEntry:
    """One way to find records of `entity`.

    `secondary_key` are the given properties, `shard_key` those that determine the record's shard. `lookup` is the
    lookup's name, None if no lookup record is read, and `stored` the beginning of its records' hash keys.
    """

    entity: str
    kind: Literal["identity", "unique", "lookup", "ordered"]
    secondary_key: tuple[str, ...]
    shard_key: tuple[str, ...]
    lookup: str | None = None
    stored: str | None = None
    lookup_shards: int | None = None


def catalog(schema: Schema) -> tuple[CatalogEntry, ...]:
    """Every entry, in the order of the declarations."""
    return tuple(entry for entity in schema.entities.values() for entry in _entries(entity))


def _entries(entity: EntityType[Any]) -> list[CatalogEntry]:
    shard_key = tuple(element.name for element in entity.keys.design.shard_by)
    entries = [_entry(entity, "identity", entity.identity, shard_key, _identity_name(entity))]
    for lookup in entity.lookups.values():
        elements = (*lookup.lists, lookup.element) if lookup.ordered else lookup.elements
        given = tuple(element.name for element in elements)
        kind: Any = "unique" if lookup.unique else "ordered" if lookup.ordered else "lookup"
        entries.append(_entry(entity, kind, given, shard_key, lookup.name))
    return entries


def _entry(
    entity: EntityType[Any],
    kind: Literal["identity", "unique", "lookup", "ordered"],
    given: tuple[str, ...],
    shard_key: tuple[str, ...],
    name: str | None,
) -> CatalogEntry:
    if name is None:
        return CatalogEntry(entity.token, kind, given, shard_key)
    stored = f"{entity.token}.{name}{entity.keys.design.key_format.shard_delimiter}"
    return CatalogEntry(entity.token, kind, given, shard_key, name, stored, LOOKUP_SPACE.shards)


def _identity_name(entity: EntityType[Any]) -> str | None:
    return ".".join(entity.identity) if entity.lookup_placed else None
