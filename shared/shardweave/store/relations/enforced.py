"""Enforced relations: a child is written only with its parent there, a parent is deleted only without children.

Format:
    hashKey    project.*!3f          token of the parent, and a shard that its id alone decides
    rangeKey   projectId#p1          the parent's id
    issue_project    4               how many records of `issue` belong to it by their relation `project`
and on the child, beside its properties:
    _counted   ["project"]           the relations by which it is counted

Protocol. A write that makes a child, or leads it to another parent, holds in its one transaction
    the child's record, as always, with the relation in `_counted`
    ConditionCheck of the parent's record [live, and still there for whoever writes: see `operations.Related`]
    Update of the parent's counter: ADD 1
one that removes a counted child, or leads it away, ADD -1. Deleting a parent is one transaction too: its record, and
    Delete of its counter [absent, or 0 for each relation]
Transactions are serializable, and the counter is an item of both. So whichever comes first decides: a child that was
created before is counted and the deletion is refused; after the deletion the child's check fails. No state lies between
the two, so nothing is left behind by a process that dies, and nothing that was read is relied on. `_counted` changes
with the child's record alone, on condition of its `rev`, so a child is counted once, also by a backfill that is
repeated. The number would go wrong where children vanish by themselves: an entity with a TTL can't be one.

What a relation's `on_delete` does to the children before that is in `parent_deletion`.

Costs: a read of the parents for a write of children, in one batch, and two actions for each parent; operations of one
transaction share them. Every such write of one parent meets the others on its record and its counter, so one parent
takes tens of them a second; children that are made together (`transact`) count as one.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import HasChildren, ParentMissing, RecordUnreadable, Unreadable, ValidationFailed, ValueRefused
from ...schema.entity_type import EntityType
from ...schema.relations import RelationType
from ...table.conditions import And, Compare, Condition, Missing, Or
from ...table.operations import DeleteItem, UpdateItem
from ...table.values import Item, Value
from ..lookups.lookup_records import internal_key, owner_text
from ..operations import Related, Visible
from ..writing.write_actions import ActionRole, WriteAction

COUNTED = "_counted"

Entities = Mapping[str, EntityType[Any]]


@dataclass(frozen=True)
class Parent:
    """A record that must be there: its entity and identity, and the property of the child that leads to it. `shared`
    is what it must have in common with the child: its properties that are bound to the same claims. They never change,
    so that reading them once is enough."""

    entity: EntityType[Any]
    identity: Item
    property_name: str
    shared: Item = field(default_factory=dict)

    @property
    def name(self) -> tuple[Any, ...]:
        return record_name(self.entity, self.identity)

    def is_in(self, item: Item) -> bool:
        """Whether a stored record with its identity is the one that is meant."""
        return all(item.get(name) == value for name, value in self.shared.items())

    def seen(self, item: Item | None, related: Related | None) -> tuple[Condition, ...]:
        """What must stay as it was seen, so that a stored record with its identity is a parent for whoever asks. Raises
        ParentMissing where it is none."""
        visible = Visible() if related is None else related(self.entity.token)
        if item is None or not self.is_in(item) or not visible.includes(item):
            raise self.missing()
        return tuple(Compare(name, "=", item[name]) if name in item else Missing(name) for name in visible.names)

    def missing(self) -> ParentMissing:
        return ParentMissing(
            f"there is no such {self.entity.token}", where=self.property_name, fix="give one that exists, or make it"
        )


@dataclass(frozen=True)
class Tally:
    """A change of one number of children."""

    parent: Parent
    attribute: str
    change: int


@dataclass(frozen=True)
class Kinship:
    """What a write means to enforced relations: parents that must be there, changes of their counters, and what the
    child is counted by afterwards."""

    parents: tuple[Parent, ...] = ()
    tallies: tuple[Tally, ...] = ()
    counted: tuple[str, ...] = ()


def record_name(entity: EntityType[Any], identity: Item) -> tuple[Any, ...]:
    """What tells a record from all others."""
    return entity.token, *(identity[name] for name in entity.identity)


def kinship(entity: EntityType[Any], before: Item | None, after: Item | None, entities: Entities) -> Kinship:
    """What a write that leaves `after` in place of `before` (None where there is no record) means to parents."""
    parents: list[Parent] = []
    tallies: list[Tally] = []
    counted: list[str] = []
    was_counted = () if before is None else _counted(entity, before)
    for relation in enforced(entity):
        old = None if before is None else _old_parent(entity, relation, before, entities)
        new = None if after is None else _parent(entity, relation, after, entities)
        attribute = f"{entity.token}_{relation.name}"
        if old is not None and new is not None and old.name == new.name:
            counted += [relation.name] if relation.name in was_counted else []
            continue
        if old is not None and relation.name in was_counted:
            tallies.append(Tally(old, attribute, -1))
        if new is not None:
            parents.append(new)
            tallies.append(Tally(new, attribute, 1))
            counted.append(relation.name)
    return Kinship(tuple(parents), tuple(tallies), tuple(counted))


def uncounted(entity: EntityType[Any], stored: Item, names: Sequence[str], entities: Entities) -> Kinship:
    """What it means to count a stored child by relations that it is not counted by yet."""
    counted = _counted(entity, stored)
    tallies = []
    for relation in enforced(entity):
        parent = _parent(entity, relation, stored, entities)
        if relation.name in names and relation.name not in counted and parent is not None:
            tallies.append(Tally(parent, f"{entity.token}_{relation.name}", 1))
            counted.append(relation.name)
    return Kinship((), tuple(tallies), tuple(counted))


def enforced(entity: EntityType[Any]) -> Iterator[RelationType]:
    """The entity's enforced relations."""
    return (relation for relation in entity.relations.values() if relation.enforced)


def counter_key(entity: EntityType[Any], identity: Item) -> dict[str, Value]:
    """The key of a parent's counter. Raises KeyTooLong."""
    return internal_key(entity, "*", owner_text(entity, identity))


def counting(parent: Parent, changes: Mapping[str, int]) -> WriteAction | None:
    """The action that changes a counter, None when nothing changes."""
    added = {name: change for name, change in changes.items() if change}
    if not added:
        return None
    update = UpdateItem(counter_key(parent.entity, parent.identity), add=added)
    return WriteAction(update, ActionRole.COUNTER, parent.property_name)


def closing(entity: EntityType[Any], identity: Item, changes: Mapping[str, int]) -> WriteAction:
    """The action that removes the counter of a parent that is deleted. `changes` are those of the same transaction:
    children that it removes do not stand in the way."""
    conditions: list[Condition] = []
    for link in entity.children:
        left = -changes.get(link.attribute, 0)
        same = Compare(link.attribute, "=", left)
        conditions.append(Or((Missing(link.attribute), same)) if left == 0 else same)
    condition = conditions[0] if len(conditions) == 1 else And(tuple(conditions))
    delete = DeleteItem(counter_key(entity, identity), condition, return_on_failure=True)
    return WriteAction(delete, ActionRole.COUNTER)


def closed_by(
    entity: EntityType[Any], identity: Item, counter: Item | None, related: Related | None, *, some: bool
) -> HasChildren | RecordUnreadable:
    """The refusal of a deletion, by what the counter showed: it has children, or, unless whoever asks sees `some`
    records alone, the counter is damaged."""
    numbers = ((counter or {}).get(link.attribute, 0) for link in entity.children)
    if not some and not all(type(number) is int for number in numbers):
        return damaged_counter(entity, identity)
    return has_children(entity, counter, related)


def damaged_counter(entity: EntityType[Any], identity: Item) -> RecordUnreadable:
    """What is said of a parent's counter."""
    named = {name: entity.properties[name].python(value) for name, value in identity.items()}
    stored = tuple(counter_key(entity, identity).values())
    more: dict[str, Any] = {"collection": entity.collection or entity.token, "stored_key": stored}
    return RecordUnreadable(Unreadable(entity.token, named, "counter_damaged", **more))


def _counted(entity: EntityType[Any], stored: Item) -> list[str]:
    """The relations whose parents count a stored child. Raises RecordUnreadable."""
    names = stored.get(COUNTED, ())
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise entity.unreadable(stored, "counting_damaged")
    return list(names)


def has_children(entity: EntityType[Any], counter: Item | None, related: Related | None = None) -> HasChildren:
    """The refusal of a deletion, by what the counter showed. Children that whoever asks may not see are not named."""
    numbers = counter or {}
    found = [link for link in entity.children if numbers.get(link.attribute)] or list(entity.children)
    claims = entity.claims.values()
    shown = [link.token for link in found if related is None or related(link.token).has_all(claims)]
    what = f"records of {', '.join(dict.fromkeys(shown))}" if shown else "records that belong to it"
    return HasChildren(
        f"the {entity.token} has {what}", where=", ".join(entity.identity), fix="delete or move them first"
    )


def _old_parent(child: EntityType[Any], relation: RelationType, item: Item, entities: Entities) -> Parent | None:
    """The parent of a stored record. A value that no parent can have now has none."""
    try:
        return _parent(child, relation, item, entities)
    except (ValidationFailed, ValueRefused):
        return None


def _parent(child: EntityType[Any], relation: RelationType, item: Item, entities: Entities) -> Parent | None:
    values = [item.get(name) for name in relation.by]
    if any(value is None for value in values):
        return None
    entity = entities[relation.target]
    identity = entity.identify(dict(zip(entity.identity, values, strict=True)))
    values_of = {claim: item.get(name) for name, claim in child.claims.items()}
    shared = {name: values_of[claim] for name, claim in entity.claims.items() if claim in values_of}
    return Parent(entity, identity, ", ".join(relation.by), shared)
