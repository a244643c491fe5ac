"""Checks of what read models remember of the records that feed them (see `store.events.counts`).

The table's stream tells of changes a little later, so what is found here is a fault only if it stays so (see
`late_findings`). A record that has expired is counted until the table removes it, so nothing is said of it.

Pure, as far as the functions of read models are.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..errors import InputError, RecordUnreadable
from ..schema.entity_type import EntityType
from ..schema.read_models import ReadModel
from ..schema.schema import Schema
from ..store.events.counts import memory_key
from ..store.events.record_feed import amounts_of, fed_by, remembered_parts, uncounted_parts
from ..store.locations import location_of, locations
from ..store.lookups.lookup_records import identity_lookup_key, owner_identity, placed
from ..store.writing.write_actions import key_of
from ..table.values import Item
from .findings import Finding
from .looking import Look, Spaces

COUNT_MISSING, COUNT_STALE, COUNT_DANGLING = "count_missing", "count_stale", "count_dangling"
LATE = frozenset({COUNT_MISSING, COUNT_STALE, COUNT_DANGLING})
"""The kinds that are faults only if they stay, since the stream tells of changes later."""


def uncounted_record(
    schema: Schema, entity: EntityType[Any], item: Item, key: tuple[str, str], look: Look
) -> Iterator[Finding]:
    """Whether each read model that a record feeds remembers what the record adds. Raises NotRead."""
    for read_model in fed_by(schema, entity):
        about = f"{entity.token}.{read_model.name}"
        memory_at = memory_key(entity, read_model.name, entity.identify(entity.identity_in(item)))
        memory, other = look.item(memory_at), _key(look, memory_at)
        try:
            before = remembered_parts(schema, entity, memory)
        except RecordUnreadable:
            continue  # It is found by itself.
        try:
            amounts = amounts_of(schema, read_model, entity.load(item))
        except (InputError, RecordUnreadable):
            yield Finding("uncountable_record", key, about)
            continue
        if uncounted_parts(schema, before, amounts):
            yield Finding(COUNT_STALE if before else COUNT_MISSING, key, about, other)


def remembered_record(
    schema: Schema, entity: EntityType[Any], read_model: ReadModel, item: Item, key: tuple[str, str], look: Look
) -> Iterator[Finding]:
    """Whether the record is stored of which something is remembered to be counted. Raises NotRead, RecordUnreadable,
    and what a damaged key raises."""
    if not remembered_parts(schema, entity, item):
        return
    identity = owner_identity(entity, str(item[look.range_name])) if entity.identity else {}
    if key_of(entity, memory_key(entity, read_model.name, identity)) != key_of(entity, item):
        yield Finding("bookkeeping_damaged", key, f"{entity.token}.{read_model.name}")
    elif not _is_stored(entity, identity, look.spaces(entity), look):
        yield Finding(COUNT_DANGLING, key, f"{entity.token}.{read_model.name}")


def _is_stored(entity: EntityType[Any], identity: Item, spaces: Spaces, look: Look) -> bool:
    """Whether a record is stored, also an expired one. Where a lookup leads to it that may have been removed before the
    record, that can't be said, and it counts as stored."""
    if entity.lookup_placed:
        lookup = look.item(identity_lookup_key(entity, identity))
        if lookup is None:
            return entity.ttl is not None
        return look.item(location_of(entity, placed(identity, lookup), spaces.current).key) is not None
    places = locations(entity, identity, spaces.current, look.now_ms)
    return any(each is not None for each in look.items(*(each.key for each in places)))


def _key(look: Look, item: Item) -> tuple[str, str]:
    return str(item[look.hash_name]), str(item[look.range_name])
