"""The one place where a record's write actions are made: which items a write touches, and on what conditions.

Pure. The conditions are those under which ids stay unique over all generations and no write is lost:

    create    Put the record [free, known]; Delete its id in every other generation [free]
    replace   Put the record [live, rev as seen, known]
    remove    Delete the record [live, rev as seen, known]

    batch     Put records whose identities were made up, without conditions

`free` is absent or expired, `live` is present and not expired; `known` is without a mark, or with a mark not above
the version of the writer's shard map. An identity that was made up in the same call can be nowhere else, so its
create is the first action alone. A put leaves no mark.

With a lookup: create puts it [absent]; where one is there already, whose record may be gone, it is put [unchanged
since it was seen] and the place that it names is deleted [free], so that the record decides and not the lookup.
Replace puts it when the TTL changes, remove deletes it. Neither needs a condition: as long as the record is live in
the revision that was seen, its lookup is its own.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..entity_type import MARK, MARK_RESERVE_BYTES, REVISION, EntityType
from ..errors import RecordTooLarge
from ..sharding import ShardMap
from ..table.conditions import And, Compare, Condition, Exists, Missing, Or
from ..table.operations import Action, ConditionCheck, Delete, Put, Update
from ..table.values import MAX_ITEM_BYTES, Item, Value, item_bytes
from .lookups import identity_lookup, identity_lookup_key, needs_rewriting, placed
from .places import Found, Place, home, places


class Part(enum.Enum):
    """What an action is for in its write."""

    RECORD = "the record itself"
    ELSEWHERE = "the same id in another generation"
    LOOKUP = "a lookup record"
    OWNER = "the record that a lookup names"


@dataclass(frozen=True)
class PlannedAction:
    """One action of a transaction, or, when it is the only one, a write of its own."""

    action: Action
    part: Part

    @property
    def key_or_item(self) -> Item:
        action = self.action
        return action.item if isinstance(action, Put) else action.key

    @property
    def weight(self) -> int:
        """How many actions it can become: while an entity moves, each on a record is carried out on its copy too."""
        return 2 if self.part is Part.RECORD else 1

    @property
    def bytes(self) -> int:
        """What it adds to the size of a transaction."""
        changed = self.action.set if isinstance(self.action, Update) else {}
        return self.weight * (item_bytes(self.key_or_item) + item_bytes(changed))


@dataclass(frozen=True)
class Moment:
    """What an attempt to write goes by: the time and the shard map."""

    now_ms: int
    shard_map: ShardMap

    @property
    def seconds(self) -> int:
        return self.now_ms // 1000


# -- conditions -------------------------------------------------------------------------------------------------------


def free(entity: EntityType[Any], moment: Moment) -> Condition:
    """No live record is there."""
    absent = Missing(entity.keys.design.hash_name)
    return absent if entity.ttl is None else Or((absent, Compare(entity.ttl, "<=", moment.seconds)))


def live(entity: EntityType[Any], moment: Moment) -> tuple[Condition, ...]:
    """A live record is there."""
    present = Exists(entity.keys.design.hash_name)
    if entity.ttl is None:
        return (present,)
    return present, Or((Missing(entity.ttl), Compare(entity.ttl, ">", moment.seconds)))


def has_revision(rev: str | None) -> Condition:
    """The record is in that revision; None for one that another program wrote without any."""
    return Missing(REVISION) if rev is None else Compare(REVISION, "=", rev)


def known(moment: Moment) -> Condition:
    """No newer shard map than the writer's has left its mark."""
    return Or((Missing(MARK), Compare(MARK, "<=", moment.shard_map.version)))


def is_known(item: Item, moment: Moment) -> bool:
    """What `known` says of an item."""
    return MARK not in item or bool(item[MARK] <= moment.shard_map.version)


# -- writes -----------------------------------------------------------------------------------------------------------


def create_actions(
    entity: EntityType[Any], item: Item, moment: Moment, *, generated: bool, lookup: Item | None = None
) -> tuple[PlannedAction, ...]:
    """Write a record where none is. `lookup` is the lookup record that an earlier attempt met."""
    whole = stored_item(entity, item, moment.shard_map)
    first = Put(whole, And((free(entity, moment), known(moment))), return_on_failure=True)
    planned = [PlannedAction(first, Part.RECORD)]
    taken = [home(entity, item, moment.shard_map)]

    def clear(others: Iterable[Place], part: Part) -> None:
        for place in others:
            if all(place.key != other.key for other in taken):
                taken.append(place)
                delete = Delete(place.key, free(entity, moment), return_on_failure=True)
                planned.append(PlannedAction(delete, part))

    if not generated:
        clear(places(entity, item, moment.shard_map, moment.now_ms), Part.ELSEWHERE)
    if entity.lookup_placed:
        unchanged = Missing(entity.keys.design.hash_name) if lookup is None else has_revision(lookup.get(REVISION))
        put = Put(identity_lookup(entity, item), unchanged, return_on_failure=True)
        planned.append(PlannedAction(put, Part.LOOKUP))
        if lookup is not None:
            clear([home(entity, placed(item, lookup), moment.shard_map)], Part.OWNER)
    return tuple(planned)


def unconditional_item(planned: Sequence[PlannedAction], *, generated: bool) -> Item | None:
    """The item of a create that may go without its condition: its identity is made up, and it is one put alone."""
    if not generated or len(planned) != 1:
        return None
    return planned[0].key_or_item


def replace_actions(
    entity: EntityType[Any], found: Found, item: Item, moment: Moment, unknown: Item
) -> tuple[PlannedAction, ...]:
    """Write a record over the one that was found, where it was found. `unknown` is what stays besides."""
    whole = stored_item(entity, item, ShardMap((found.generation,)), unknown)
    condition = _as_seen(entity, found.item.get(REVISION), moment)
    planned = [PlannedAction(Put(whole, condition, return_on_failure=True), Part.RECORD)]
    if entity.lookup_placed and needs_rewriting(entity, found.item, item):
        planned.append(PlannedAction(Put(identity_lookup(entity, item)), Part.LOOKUP))
    return tuple(planned)


def remove_actions(
    entity: EntityType[Any], key: Item, identity: Item, rev: str | None, moment: Moment
) -> tuple[PlannedAction, ...]:
    """Remove a record in a revision."""
    planned = [PlannedAction(Delete(key, _as_seen(entity, rev, moment), return_on_failure=True), Part.RECORD)]
    if entity.lookup_placed:
        planned.append(PlannedAction(Delete(identity_lookup_key(entity, identity)), Part.LOOKUP))
    return tuple(planned)


def presence_actions(
    entity: EntityType[Any], found: Found, moment: Moment, *, revision_matters: bool
) -> tuple[PlannedAction, ...]:
    """Require that the record found is still live, and in that revision if it matters."""
    conditions = list(live(entity, moment))
    if revision_matters:
        conditions.append(has_revision(found.item.get(REVISION)))
    check = ConditionCheck(key_of(entity, found.item), And(tuple(conditions)), return_on_failure=True)
    return (PlannedAction(check, Part.RECORD),)


def absence_actions(
    entity: EntityType[Any], identity: Item, moment: Moment, lookup: Item | None
) -> tuple[PlannedAction, ...]:
    """Require that no live record has the identity. `lookup` is the lookup record as it was read."""
    if not entity.lookup_placed:
        return tuple(
            PlannedAction(ConditionCheck(place.key, free(entity, moment), return_on_failure=True), Part.RECORD)
            for place in places(entity, identity, moment.shard_map, moment.now_ms)
        )
    key = identity_lookup_key(entity, identity)
    if lookup is None:
        return (PlannedAction(ConditionCheck(key, Missing(entity.keys.design.hash_name)), Part.LOOKUP),)
    owner = home(entity, placed(identity, lookup), moment.shard_map)
    return (
        PlannedAction(ConditionCheck(key, has_revision(lookup.get(REVISION))), Part.LOOKUP),
        PlannedAction(ConditionCheck(owner.key, free(entity, moment), return_on_failure=True), Part.OWNER),
    )


def stored_item(
    entity: EntityType[Any], item: Item, shard_map: ShardMap, unknown: Item | None = None
) -> dict[str, Value]:
    """The whole item to be stored. Raises ValueRefused, KeyTooLong or RecordTooLarge naming the property."""
    whole = entity.complete(item, shard_map)
    if unknown:
        whole = {**unknown, **whole}
        size, limit = item_bytes(whole), MAX_ITEM_BYTES - MARK_RESERVE_BYTES - entity.keys.reserve_bytes
        if size > limit:
            raise RecordTooLarge(
                f"the record has {size} bytes with the attributes that the schema does not know, {limit} are possible",
                where=entity.token,
                fix="shorten it",
            )
    return whole


def key_of(entity: EntityType[Any], item: Item) -> dict[str, Value]:
    """The primary key of a stored item."""
    design = entity.keys.design
    return {design.hash_name: item[design.hash_name], design.range_name: item[design.range_name]}


def _as_seen(entity: EntityType[Any], rev: str | None, moment: Moment) -> Condition:
    return And((*live(entity, moment), has_revision(rev), known(moment)))
