"""Rewriting an entity's records with the generated properties of its schema, after properties were added.

A record stays where it is: what places it does not change. Which shard that is, and so which of a key's own shards, the
shard maps in force say: those of a re-shard too. One that no map has a place for stays as it is. Each is written on
condition that it is still in the revision that was read, so that a writer beside it loses nothing; one that has changed
since has the properties by then. Repeating it changes nothing. Where keys are made of a property that has a default and
is not stored, the default is stored with them, as the record's next write would do: readers see it already. A record
of an earlier version keeps its form, and gets the keys of its current one.

Costs: a scan of the table, and a write for each record that lacks a property.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import ConditionFailed, KeyTooLong, RecordUnreadable, ValidationFailed, ValueRefused
from ..keys.sharding import ShardMap
from ..reshard.control import control_key, decode_control
from ..reshard.phases import map_in_force
from ..schema.entity_type import EntityType
from ..store.writing.write_actions import as_read
from ..table import Table
from ..table.operations import GetItem, PutItem, Scan
from ..table.values import Item


def rekey(table: Table, entity: EntityType[Any]) -> int:
    """Rewrite the records that need it, and give how many those were. One whose new keys would be refused stays as it
    is, outside the indexes of those keys."""
    maps = _maps(table, entity)
    written = 0
    start_key: Item | None = None
    while True:
        page = table.run(Scan(consistent=True, start_key=start_key))
        for item in page.items:
            written += is_of(entity, item) and _rewritten(table, entity, item, maps)
        start_key = page.last_key
        if start_key is None:
            return written


def is_of(entity: EntityType[Any], item: Item) -> bool:
    """Whether an item is a record of the entity."""
    return str(item[entity.keys.design.hash_name]).startswith(entity.keys.prefix)


def _maps(table: Table, entity: EntityType[Any]) -> list[ShardMap]:
    """The shard maps that records are placed by: the one in force, and both of a re-shard."""
    record = table.run(GetItem(control_key(entity), consistent=True)).item
    control = None if record is None else decode_control(entity, record)
    moving = () if control is None else (control.old, control.new)
    return [map_in_force(entity.shard_map, control), *(each for each in moving if each is not None)]


def _rewritten(table: Table, entity: EntityType[Any], item: Item, maps: Sequence[ShardMap]) -> bool:
    try:
        # The shard is the stored one: a re-shard may have put the record into another than the declaration does.
        suffix = entity.keys.suffix_of_key(str(item[entity.keys.design.hash_name]))
        shard = next((found for each in maps if (found := each.shard_of(suffix)) is not None), None)
        if shard is None:
            return False
        added = _defaults(entity, item) if entity.upgrades.is_current(item) else {}
        built = entity.keys.build_in({**added, **entity.current(item)}, shard)
        completed = {**added, **item, **built}
        if completed == item:
            return False
        table.run(PutItem(completed, as_read(item)))
    except (ConditionFailed, ValueRefused, KeyTooLong, RecordUnreadable):
        return False
    return True


def _defaults(entity: EntityType[Any], item: Item) -> Item:
    """What the properties that generated ones are made of have by default where the item has none."""
    elements = {element.root for generated in entity.keys.design.generated for element in generated.elements}
    missing = [name for name in elements if name not in item and name in entity.properties]
    if not missing:
        return {}
    try:
        read = entity.dump(entity.record_of(item))
    except ValidationFailed:
        return {}
    return {name: read[name] for name in missing if read.get(name) is not None}
