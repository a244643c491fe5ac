"""How values are taken, kept and given up: the actions on lookup records in a write of their record.

    claim      Put the lookup record of a value [absent, or the record's own]
               when another owner's was met: Put it [unchanged since], and require of that owner [not live, or live in
               the revision in which it was seen to have another value]
    release    Delete the lookup record [absent, or the record's own]; nothing when another owner's was met

Pure. A claim is part of every write that makes a record, or changes its value or its TTL; a release of every write
that takes the value away. So a value is taken exactly while a live record has it: an owner that is gone, expired or
has another value does not keep others from it, whatever its lookup record says, and no two transactions can both take
it. Lookup records that many owners may share have the owner in their key, and need no conditions.

`Met` is what earlier attempts of a write came upon; the records that it leads to are read before the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..declared import LookupType
from ..entity_type import REVISION, EntityType
from ..errors import CancellationReason, KeyTooLong, ValueRefused, ValueTaken
from ..table.conditions import Compare, Or
from ..table.operations import Delete, Put
from ..table.values import Item
from .checks import absence_actions, presence_actions
from .lookups import OWNER, lookup_key, lookup_record, needs_rewriting, owner_in, owner_text
from .places import Sighting
from .planned import Moment, Part, PlannedAction, PrimaryKey, absent, as_read, primary_key

_OF_LOOKUPS = (Part.CLAIM, Part.RELEASE)


@dataclass(frozen=True)
class Met:
    """The lookup records of other owners that a write came upon, by primary key."""

    records: Mapping[PrimaryKey, Item] = field(default_factory=dict)

    def after(self, entity: EntityType[Any], refused: Sequence[tuple[PlannedAction, CancellationReason]]) -> Met:
        """What is known after a refusal."""
        records = dict(self.records)
        for planned, reason in refused:
            if planned.part in _OF_LOOKUPS:
                key = primary_key(entity, planned.key_or_item)
                records.pop(key, None)
                if reason.item is not None:
                    records[key] = reason.item
        return Met(records)

    def holders(self, entity: EntityType[Any]) -> Iterator[tuple[PrimaryKey, Item]]:
        """The identity of the owner in each."""
        for key, record in self.records.items():
            yield key, owner_in(entity, record)


NOTHING_MET = Met()


def value_actions(
    entity: EntityType[Any],
    before: Item | None,
    after: Item | None,
    moment: Moment,
    met: Met = NOTHING_MET,
    holders: Mapping[PrimaryKey, Sighting] | None = None,
) -> tuple[PlannedAction, ...]:
    """The actions on lookup records of a write that leaves `after` in place of `before`, None where there is no record.
    `holders` are the owners in `met` as they were read. Raises ValueTaken naming the property."""
    planned: list[PlannedAction] = []
    for lookup in entity.lookups.values():
        old = None if before is None else _old_key(entity, lookup, before)
        new = None if after is None else lookup_key(entity, lookup, after)
        same = old == new and before is not None and after is not None and not needs_rewriting(entity, before, after)
        if after is not None and new is not None and not same:
            planned += claim_actions(entity, lookup, new, after, moment, met, holders or {})
        if before is not None and old is not None and old != new:
            planned += _release_actions(entity, lookup, old, before, met)
    return tuple(planned)


def claim_actions(
    entity: EntityType[Any],
    lookup: LookupType,
    key: Item,
    item: Item,
    moment: Moment,
    met: Met,
    holders: Mapping[PrimaryKey, Sighting],
) -> tuple[PlannedAction, ...]:
    """Take a value for the record of `item`. Raises ValueTaken when `holders` show that it is taken."""
    record = lookup_record(entity, key, item, item[REVISION])
    about, owner = lookup.property_name, record[OWNER]
    if not lookup.unique:
        return (PlannedAction(Put(record), Part.CLAIM, about, owner),)
    known = met.records.get(primary_key(entity, key))
    if known is None or known.get(OWNER) == owner:
        condition = Or((absent(entity), Compare(OWNER, "=", owner)))
        return (PlannedAction(Put(record, condition, return_on_failure=True), Part.CLAIM, about, owner),)
    put = Put(record, as_read(known), return_on_failure=True)
    identity, holder = owner_in(entity, known), holders[primary_key(entity, key)]
    if holder.found is None:
        required = absence_actions(entity, identity, moment, holder.lookup, part=Part.HOLDER, about=about)
    elif _old_key(entity, lookup, holder.found.item) == key:
        raise taken(about)
    else:
        required = presence_actions(entity, holder.found, moment, revision_matters=True, part=Part.HOLDER, about=about)
    return (PlannedAction(put, Part.CLAIM, about, owner), *required)


def taken(name: str) -> ValueTaken:
    """A live record has the value."""
    return ValueTaken(
        f"a record with this {name} exists", where=name, fix="give it another, or change the record that has it"
    )


def _release_actions(
    entity: EntityType[Any], lookup: LookupType, key: Item, item: Item, met: Met
) -> tuple[PlannedAction, ...]:
    about, owner = lookup.property_name, owner_text(entity, item)
    if not lookup.unique:
        return (PlannedAction(Delete(key), Part.RELEASE, about, owner),)
    known = met.records.get(primary_key(entity, key))
    if known is not None and known.get(OWNER) != owner:
        return ()
    condition = Or((absent(entity), Compare(OWNER, "=", owner)))
    return (PlannedAction(Delete(key, condition, return_on_failure=True), Part.RELEASE, about, owner),)


def _old_key(entity: EntityType[Any], lookup: LookupType, item: Item) -> Item | None:
    """The key of a stored record's lookup. A value that could not be stored now has none."""
    try:
        return lookup_key(entity, lookup, item)
    except (ValueRefused, KeyTooLong, TypeError):
        return None
