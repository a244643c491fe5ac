"""The actions of a record's write: which items it writes, and on which conditions. No other module makes them.

Pure. With these conditions (see `write_actions`) ids stay unique over all generations and no write is lost:

    create    Put the record [free, known]; Delete its id in every other generation [free]
    replace   Put the record [live, rev as seen, known]
    remove    Delete the record [live, rev as seen, known]

    batch     Put records whose identities were made up, without conditions

An identity that was generated in the same call can't exist elsewhere, so its create is only the first action. A put
leaves no mark. During a re-shard, every write of a record also writes its copy: see `dual_write`.

With a lookup for the identity: create puts it [absent]; if one exists already, whose record may be gone, it is put
[unchanged since it was read], and the location that it names is deleted [free], so that the record decides and not the
lookup. Replace puts it when the TTL changes, remove deletes it. Neither needs a condition: as long as the record is
live in the revision that was read, its lookup belongs to it.

Lookups for values are those of `unique_values`: taken, kept and given up in the same transaction. `extra` are
attributes beside the properties: those of another program, and the relations noted on a child (`enforced`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ...errors import RecordTooLarge
from ...keys.sharding import ShardMap
from ...schema.entity_type import MARK_RESERVE_BYTES, EntityType
from ...table.conditions import And, Condition
from ...table.operations import DeleteItem, PutItem
from ...table.values import MAX_ITEM_BYTES, Item, Value, item_bytes
from ..attempts import AttemptContext, PrimaryKey
from ..locations import Location, ReadResult, StoredItem, location_of, locations
from ..lookups.lookup_records import identity_lookup, identity_lookup_key, needs_rewriting, placed
from ..lookups.unique_values import NOTHING_MET, Conflicts, value_actions
from .dual_write import copy_deletions, deletion, put_actions
from .write_actions import ActionRole, WriteAction, absent, as_read, free, key_of, known, live


def create_actions(
    entity: EntityType[Any],
    item: Item,
    moment: AttemptContext,
    *,
    generated: bool,
    lookup: Item | None = None,
    met: Conflicts = NOTHING_MET,
    holders: Mapping[PrimaryKey, ReadResult] | None = None,
    extra: Item | None = None,
) -> tuple[WriteAction, ...]:
    """Create a record. `lookup` is the identity's lookup record that an earlier attempt met."""
    whole = stored_item(entity, item, moment.shard_map, extra)
    first = PutItem(whole, And((free(entity, moment), known(moment))), return_on_failure=True)
    planned = [WriteAction(first, ActionRole.RECORD)]
    if moment.mirror is not None:
        planned = list(put_actions(entity, first, ActionRole.RECORD, moment))
    named: list[Item] = [key_of(entity, each.key_or_item) for each in planned]

    def clear(others: Iterable[Location], part: ActionRole) -> None:
        for place in others:
            if place.key not in named:
                named.append(place.key)
                delete = DeleteItem(place.key, free(entity, moment), return_on_failure=True)
                planned.append(WriteAction(delete, part))

    def clear_copies(values: Item, *, known_time: bool) -> None:
        for key in copy_deletions(entity, values, moment, known_time=known_time):
            if key not in named:
                named.append(key)
                planned.append(deletion(key))

    if not generated:
        clear(locations(entity, item, moment.shard_map, moment.now_ms), ActionRole.ELSEWHERE)
        if moment.mirror is not None:
            clear_copies(item, known_time=False)
    if entity.lookup_placed:
        unchanged = absent(entity) if lookup is None else as_read(lookup)
        put = PutItem(identity_lookup(entity, item), unchanged, return_on_failure=True)
        planned.append(WriteAction(put, ActionRole.LOOKUP))
        if lookup is not None:
            owner = placed(item, lookup)
            clear([location_of(entity, owner, moment.shard_map)], ActionRole.OWNER)
            clear_copies(owner, known_time=True)
    if entity.lookups:
        planned += value_actions(entity, None, item, moment, met, holders)
    return tuple(planned)


def unconditional_item(planned: Sequence[WriteAction], *, generated: bool) -> Item | None:
    """The item of a create that needs no condition: its identity is generated, and it is a single put."""
    if not generated or len(planned) != 1:
        return None
    return planned[0].key_or_item


def replace_actions(
    entity: EntityType[Any],
    found: StoredItem,
    item: Item,
    moment: AttemptContext,
    extra: Item,
    *,
    met: Conflicts = NOTHING_MET,
    holders: Mapping[PrimaryKey, ReadResult] | None = None,
) -> tuple[WriteAction, ...]:
    """Replace the record that was found, in its location."""
    whole = stored_item(entity, item, ShardMap((found.generation,)), extra)
    condition = _as_seen(entity, as_read(found.item), moment)
    planned = list(put_actions(entity, PutItem(whole, condition, return_on_failure=True), ActionRole.RECORD, moment))
    if entity.lookup_placed and needs_rewriting(entity, found.item, item):
        planned.append(WriteAction(PutItem(identity_lookup(entity, item)), ActionRole.LOOKUP))
    planned += value_actions(entity, found.item, item, moment, met, holders)
    return tuple(planned)


def remove_actions(
    entity: EntityType[Any],
    key: Item,
    identity: Item,
    seen: Condition,
    moment: AttemptContext,
    stored: Item | None = None,
    met: Conflicts = NOTHING_MET,
) -> tuple[WriteAction, ...]:
    """Delete a record as it was `seen`. `stored` are its properties, which are needed only for an entity with
    lookups."""
    planned = [WriteAction(DeleteItem(key, _as_seen(entity, seen, moment), return_on_failure=True), ActionRole.RECORD)]
    copies = copy_deletions(entity, stored or identity, moment, known_time=stored is not None)
    planned += [deletion(copy) for copy in copies if copy != key]
    if entity.lookup_placed:
        planned.append(WriteAction(DeleteItem(identity_lookup_key(entity, identity)), ActionRole.LOOKUP))
    planned += value_actions(entity, stored, None, moment, met)
    return tuple(planned)


def stored_item(
    entity: EntityType[Any], item: Item, shard_map: ShardMap, extra: Item | None = None
) -> dict[str, Value]:
    """The whole item to be stored. Raises ValueRefused, KeyTooLong or RecordTooLarge naming the property."""
    whole = entity.complete(item, shard_map)
    if extra:
        whole = {**extra, **whole}
        size, limit = item_bytes(whole), MAX_ITEM_BYTES - MARK_RESERVE_BYTES - entity.keys.reserve_bytes
        if size > limit:
            raise RecordTooLarge(
                f"the record has {size} bytes with the attributes that are not properties, {limit} are possible",
                where=entity.token,
                fix="shorten it",
            )
    return whole


def _as_seen(entity: EntityType[Any], seen: Condition, moment: AttemptContext) -> Condition:
    return And((*live(entity, moment), seen, known(moment)))
