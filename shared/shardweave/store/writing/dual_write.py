"""The copy of a record in another shard space, which every write keeps while its entity moves.

    DUAL_OLD    Put O with its mark [as a single write]; Put N              Delete O [as a single write]; Delete N
    DUAL_NEW    Put N [as a single write]; Put O with its mark              Delete N [as a single write]; Delete O

Conditions are on the space that decides, and the copy follows without any: both are of one transaction, so whoever wins
the one wins the other. A create also deletes the copy's id in the other generations of its space, as it does beside the
record itself: what is there can only be left over. A record whose key is the same in both spaces, since a bump that has
not begun is part of both, has no copy and needs no mark.

Pure. The one module, with `record_actions`, that says what is written while records move.
"""

from __future__ import annotations

from typing import Any

from ...keys.sharding import ShardMap
from ...schema.entity_type import MARK, EntityType
from ...table.operations import DeleteItem, PutItem
from ...table.values import Item, Value
from ..locations import location_of, locations
from .write_actions import ActionRole, AttemptContext, WriteAction, key_of


def rekeyed(entity: EntityType[Any], whole: Item, shard_map: ShardMap) -> dict[str, Value]:
    """A whole stored item as it is in another map's shards, without a mark. Everything that is not generated stays,
    the revision too."""
    kept = {name: value for name, value in whole.items() if name not in entity.keys.names and name != MARK}
    return {**kept, **entity.keys.build(whole, shard_map)}


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
    """The keys of a record's copy: one, or, unless `known_time` says that `values` hold the record's timestamp, one in
    each generation that it may be of."""
    if moment.mirror is None:
        return []
    if known_time:
        return [location_of(entity, values, moment.mirror).key]
    return [place.key for place in locations(entity, values, moment.mirror, moment.now_ms)]


def deletion(key: Item) -> WriteAction:
    """Remove a copy."""
    return WriteAction(DeleteItem(key), ActionRole.MIRROR)
