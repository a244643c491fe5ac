"""Actions that only require something of a record, and change nothing.

Pure. `part` says for whom it is required: the operation that names the record, or another that depends on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..entity_type import EntityType
from ..table.conditions import And, Condition
from ..table.operations import ConditionCheck
from ..table.values import Item
from .lookups import identity_lookup_key, placed
from .places import Found, home, places
from .planned import Moment, Part, PlannedAction, absent, as_read, free, key_of, live


def presence_actions(
    entity: EntityType[Any],
    found: Found,
    moment: Moment,
    *,
    revision_matters: bool,
    part: Part = Part.RECORD,
    about: str = "",
    seen: Sequence[Condition] = (),
) -> tuple[PlannedAction, ...]:
    """Require that the record found is still live, as it was `seen`, and in that revision if it matters."""
    conditions = [*live(entity, moment), *seen]
    if revision_matters:
        conditions.append(as_read(found.item))
    check = ConditionCheck(key_of(entity, found.item), And(tuple(conditions)), return_on_failure=True)
    return (PlannedAction(check, part, about),)


def absence_actions(
    entity: EntityType[Any],
    identity: Item,
    moment: Moment,
    lookup: Item | None,
    *,
    part: Part | None = None,
    about: str = "",
) -> tuple[PlannedAction, ...]:
    """Require that no live record has the identity. `lookup` is the identity's lookup record as it was read. All
    actions are of `part` when it is given."""
    if not entity.lookup_placed:
        return tuple(
            PlannedAction(
                ConditionCheck(place.key, free(entity, moment), return_on_failure=True), part or Part.RECORD, about
            )
            for place in places(entity, identity, moment.shard_map, moment.now_ms)
        )
    key = identity_lookup_key(entity, identity)
    if lookup is None:
        return (PlannedAction(ConditionCheck(key, absent(entity)), part or Part.LOOKUP, about),)
    owner = home(entity, placed(identity, lookup), moment.shard_map)
    free_place = ConditionCheck(owner.key, free(entity, moment), return_on_failure=True)
    return (
        PlannedAction(ConditionCheck(key, as_read(lookup)), part or Part.LOOKUP, about),
        PlannedAction(free_place, part or Part.OWNER, about),
    )
