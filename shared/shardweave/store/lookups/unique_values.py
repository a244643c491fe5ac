"""Unique values: the actions on lookup records with which a write takes, keeps and releases values.

    claim      Put the lookup record of a value [absent, or the record's own]
               when another owner's was met: Put it [unchanged since], and require of that owner [not live, or live in
               the revision in which it was seen to have another value]
    release    Delete the lookup record [absent, or the record's own]; nothing when another owner's was met

Pure. A claim is part of every write that creates a record, or changes its value or its TTL; a release is part of every
write that removes the value. So a value is taken exactly as long as a live record has it: an owner that is deleted,
expired or has another value does not block the value, whatever its lookup record contains, and two transactions can't
both take it. Lookup records for values that many owners may share contain the owner in their key, and need no
conditions.

`Conflicts` are the lookup records that earlier attempts of a write met; their owners are read before the next attempt.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import CancellationReason, KeyTooLong, ValueRefused, ValueTaken
from ...schema.entity_type import REVISION, EntityType
from ...schema.relations import LookupType
from ...table.conditions import Compare, Or
from ...table.operations import DeleteItem, PutItem
from ...table.values import Item
from ..attempts import AttemptContext, PrimaryKey
from ..locations import ReadResult
from ..writing.condition_checks import absence_actions, presence_actions
from ..writing.write_actions import ActionRole, WriteAction, absent, as_read, primary_key
from .lookup_records import OWNER, lookup_keys, lookup_record, needs_rewriting, owner_in, owner_text

_OF_LOOKUPS = (ActionRole.CLAIM, ActionRole.RELEASE)


@dataclass(frozen=True)
class Conflicts:
    """The lookup records of other owners that a write met, by primary key."""

    records: Mapping[PrimaryKey, Item] = field(default_factory=dict)

    def after(self, entity: EntityType[Any], refused: Sequence[tuple[WriteAction, CancellationReason]]) -> Conflicts:
        """The conflicts including those of a refusal."""
        records = dict(self.records)
        for planned, reason in refused:
            if planned.part in _OF_LOOKUPS:
                key = primary_key(entity, planned.key_or_item)
                records.pop(key, None)
                if reason.item is not None:
                    records[key] = reason.item
        return Conflicts(records)

    def holders(self, entity: EntityType[Any]) -> Iterator[tuple[PrimaryKey, Item]]:
        """The identity of the owner in each that is of the entity, and not of its earlier declaration."""
        for key, record in self.records.items():
            if str(key[0]).startswith(f"{entity.token}."):
                yield key, owner_in(entity, record)


NOTHING_MET = Conflicts()


def value_actions(
    entity: EntityType[Any],
    before: Item | None,
    after: Item | None,
    moment: AttemptContext,
    met: Conflicts = NOTHING_MET,
    holders: Mapping[PrimaryKey, ReadResult] | None = None,
) -> tuple[WriteAction, ...]:
    """The actions on lookup records of a write that replaces `before` by `after`, None if there is no record. `holders`
    are the owners in `met` as they were read. Raises ValueTaken naming the property."""
    planned: list[WriteAction] = []
    for lookup in entity.lookups.values():
        old = () if before is None else _old_keys(entity, lookup, before)
        new: Sequence[Item] = () if after is None else lookup_keys(entity, lookup, after)
        rewritten = before is None or after is None or needs_rewriting(entity, before, after)
        for key in new:
            if after is not None and (rewritten or key not in old):
                planned += claim_actions(entity, lookup, key, after, moment, met, holders or {})
        for key in old:
            if before is not None and key not in new:
                planned += _release_actions(entity, lookup, key, before, met)
    return tuple(planned)


def claim_actions(
    entity: EntityType[Any],
    lookup: LookupType,
    key: Item,
    item: Item,
    moment: AttemptContext,
    met: Conflicts,
    holders: Mapping[PrimaryKey, ReadResult],
) -> tuple[WriteAction, ...]:
    """Take a value for the record of `item`. Raises ValueTaken if `holders` show that it is taken."""
    record = lookup_record(entity, key, item, item[REVISION])
    about, owner = lookup.property_name, record[OWNER]
    if not lookup.unique:
        return (WriteAction(PutItem(record), ActionRole.CLAIM, about, owner),)
    known = met.records.get(primary_key(entity, key))
    if known is None or known.get(OWNER) == owner:
        condition = Or((absent(entity), Compare(OWNER, "=", owner)))
        return (WriteAction(PutItem(record, condition, return_on_failure=True), ActionRole.CLAIM, about, owner),)
    put = PutItem(record, as_read(known), return_on_failure=True)
    identity, holder = owner_in(entity, known), holders[primary_key(entity, key)]
    if holder.found is None:
        required = absence_actions(entity, identity, moment, holder.lookup, part=ActionRole.HOLDER, about=about)
    elif key in _old_keys(entity, lookup, holder.found.item):
        raise taken(about)
    else:
        required = presence_actions(
            entity, holder.found, moment, revision_matters=True, part=ActionRole.HOLDER, about=about
        )
    return (WriteAction(put, ActionRole.CLAIM, about, owner), *required)


def taken(name: str) -> ValueTaken:
    """The error that a live record has the value."""
    return ValueTaken(
        f"a record with this {name} exists", where=name, fix="give it another, or change the record that has it"
    )


def _release_actions(
    entity: EntityType[Any], lookup: LookupType, key: Item, item: Item, met: Conflicts
) -> tuple[WriteAction, ...]:
    about, owner = lookup.property_name, owner_text(entity, item)
    if not lookup.unique:
        return (WriteAction(DeleteItem(key), ActionRole.RELEASE, about, owner),)
    known = met.records.get(primary_key(entity, key))
    if known is not None and known.get(OWNER) != owner:
        return ()
    condition = Or((absent(entity), Compare(OWNER, "=", owner)))
    return (WriteAction(DeleteItem(key, condition, return_on_failure=True), ActionRole.RELEASE, about, owner),)


def _old_keys(entity: EntityType[Any], lookup: LookupType, item: Item) -> Sequence[Item]:
    """The keys of a stored record's lookup records; none if its value could not be stored now."""
    try:
        return lookup_keys(entity, lookup, item)
    except (ValueRefused, KeyTooLong, TypeError):
        return ()
