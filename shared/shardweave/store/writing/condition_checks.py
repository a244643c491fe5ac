"""Condition checks: actions that require a state of a record and change nothing.

Pure. `part` says which operation has the requirement: the one that names the record, or another that depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...schema.entity_type import EntityType
from ...table.conditions import And, Condition
from ...table.operations import ConditionCheck
from ...table.values import Item
from ..attempts import AttemptContext
from ..locations import StoredItem, location_of, locations
from ..lookups.lookup_records import identity_lookup_key, placed
from .write_actions import ActionRole, WriteAction, absent, as_read, free, key_of, live


def presence_actions(
    entity: EntityType[Any],
    found: StoredItem,
    moment: AttemptContext,
    *,
    revision_matters: bool,
    part: ActionRole = ActionRole.RECORD,
    about: str = "",
    seen: Sequence[Condition] = (),
) -> tuple[WriteAction, ...]:
    """Require that the record found is still live, as it was `seen`, and has that revision if it matters."""
    conditions = [*live(entity, moment), *seen]
    if revision_matters:
        conditions.append(as_read(found.item))
    check = ConditionCheck(key_of(entity, found.item), And(tuple(conditions)), return_on_failure=True)
    return (WriteAction(check, part, about),)


def absence_actions(
    entity: EntityType[Any],
    identity: Item,
    moment: AttemptContext,
    lookup: Item | None,
    *,
    part: ActionRole | None = None,
    about: str = "",
) -> tuple[WriteAction, ...]:
    """Require that no live record has the identity. `lookup` is the identity's lookup record as it was read. All
    actions have the role `part` if it is given."""
    if not entity.lookup_placed:
        return tuple(
            WriteAction(
                ConditionCheck(place.key, free(entity, moment), return_on_failure=True),
                part or ActionRole.RECORD,
                about,
            )
            for place in locations(entity, identity, moment.shard_map, moment.now_ms)
        )
    key = identity_lookup_key(entity, identity)
    if lookup is None:
        return (WriteAction(ConditionCheck(key, absent(entity)), part or ActionRole.LOOKUP, about),)
    owner = location_of(entity, placed(identity, lookup), moment.shard_map)
    free_place = ConditionCheck(owner.key, free(entity, moment), return_on_failure=True)
    return (
        WriteAction(ConditionCheck(key, as_read(lookup)), part or ActionRole.LOOKUP, about),
        WriteAction(free_place, part or ActionRole.OWNER, about),
    )
