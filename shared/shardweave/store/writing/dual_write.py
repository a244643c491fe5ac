"""Dual writes: every write during a re-shard also writes the record's copy in the other shard space.

    DUAL_OLD    Put O with its mark [as a single write]; Put N              Delete O [as a single write]; Delete N
    DUAL_NEW    Put N [as a single write]; Put O with its mark              Delete N [as a single write]; Delete O

Conditions are on the space that readers use, and the copy is written without conditions: both are in one transaction,
so they succeed or fail together. A create also deletes the copy's id in the other generations of its space, as it does
for the record itself: an item there can only be a leftover. A record whose key is the same in both spaces, since a bump
that has not begun is part of both, has no copy and needs no mark.

Pure. This module and `record_actions` alone decide what is written during a re-shard.
"""

from __future__ import annotations

from typing import Any

from ...keys.sharding import ShardMap
from ...schema.entity_type import MARK, EntityType
from ...table.operations import DeleteItem, PutItem
from ...table.values import Item, Value
from ..attempts import AttemptContext
from ..locations import location_of, locations
from .write_actions import ActionRole, WriteAction, key_of


def rekeyed(entity: EntityType[Any], whole: Item, shard_map: ShardMap) -> dict[str, Value]:
    """A whole stored item with the keys of another shard map, without a mark. All attributes that are not generated
    stay, including the revision and the form; the keys are those of the current form."""
    kept = {name: value for name, value in whole.items() if name not in entity.keys.names and name != MARK}
    return {**kept, **entity.keys.build(entity.upgrades.current_or_stored(whole), shard_map)}


def put_actions(
    entity: EntityType[Any], put: PutItem, part: ActionRole, moment: AttemptContext
) -> tuple[WriteAction, ...]:
    """A put of a record, and of its copy if it has one."""
    if moment.mirror is None:
        return (WriteAction(put, part),)
    copy = rekeyed(entity, put.item, moment.mirror)
    if key_of(entity, copy) == key_of(entity, put.item):
        return (WriteAction(put, part),)
    mark = {MARK: moment.shard_map.version}
    if moment.marked is moment.mirror:
        return WriteAction(put, part), WriteAction(PutItem({**copy, **mark}), ActionRole.MIRROR)
    marked = PutItem({**put.item, **mark}, put.condition, put.return_values, put.return_on_failure)
    return WriteAction(marked, part), WriteAction(PutItem(copy), ActionRole.MIRROR)


def copy_deletions(entity: EntityType[Any], values: Item, moment: AttemptContext, *, known_time: bool) -> list[Item]:
    """The deletions of a record's copy: one if the record's timestamp is known (`known_time`: it is in `values`), else
    one in each generation in which the copy may be."""
    if moment.mirror is None:
        return []
    if known_time:
        return [location_of(entity, values, moment.mirror).key]
    return [place.key for place in locations(entity, values, moment.mirror, moment.now_ms)]


def deletion(key: Item) -> WriteAction:
    """Remove a copy."""
    return WriteAction(DeleteItem(key), ActionRole.MIRROR)
