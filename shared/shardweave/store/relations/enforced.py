"""Enforced relations: a child is written only if its parent exists, a parent is deleted only if it has no children.

Format:
    hashKey    project.*!3f          token of the parent, and a shard that its id alone decides
    rangeKey   projectId#p1          the parent's id
    issue_project    4               how many records of `issue` belong to it by their relation `project`
    _deleting        ...             while the parent is deleted together with many children, see `deletion_work`
and on the child, beside its properties:
    _counted   ["project"]           the relations by which it is counted

Protocol. A write that creates a child, or gives it another parent, has in its single transaction the child's record, as
    always, with the relation in `_counted` ConditionCheck of the parent's record [live, and still there for whoever
    writes: see `operations.Related`] Update of the parent's counter: ADD 1 a write that deletes a counted child, or
    gives it another parent, has ADD -1. Deleting a parent is one transaction too: its record, and Delete of its counter
    [absent, or 0 for each relation] Transactions are serializable, and the counter is an item of both. So the first one
    decides: a child that was created before is counted and the deletion is refused; after the deletion the child's
    check fails. There is no state between the two, so a process that dies leaves nothing behind, and the protocol does
    not depend on earlier reads. `_counted` changes only together with the child's record, on condition of its `rev`, so
    a child is counted once, also by a repeated backfill. The counter would become wrong if children expired, so a
    child's entity can't have a TTL.

`parent_deletion` has the effects of a relation's `on_delete` on the children.

Costs: a read of the parents for a write of children, in one batch, and two actions for each parent; operations of one
transaction share them. All such writes of one parent contend for its record and its counter, so a parent allows some
tens of them a second; children that are written together (`transact`) count as one write.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import HasChildren, ParentMissing, RecordUnreadable, Unreadable, ValidationFailed, ValueRefused
from ...schema.entity_type import EntityType
from ...schema.relations import COUNTED, ChildLink, RelationType
from ...table.conditions import And, Compare, Condition, Missing, Or
from ...table.operations import DeleteItem, UpdateItem
from ...table.values import Item, Value
from ..lookups.lookup_records import internal_key, owner_text
from ..operations import Related, Visible
from ..writing.write_actions import ActionRole, WriteAction

DELETING = "_deleting"

Entities = Mapping[str, EntityType[Any]]


@dataclass(frozen=True)
class Parent:
    """A record that must exist: its entity and identity, and the property of the child that refers to it. `shared` are
    the values that it must have in common with the child: the properties bound to the same claims. They never change,
    so that one read is enough."""

    entity: EntityType[Any]
    identity: Item
    property_name: str
    shared: Item = field(default_factory=dict)

    @property
    def name(self) -> tuple[Any, ...]:
        return record_name(self.entity, self.identity)

    def is_in(self, item: Item) -> bool:
        """Whether a stored record with its identity is this parent."""
        return all(item.get(name) == value for name, value in self.shared.items())

    def seen(self, item: Item | None, related: Related | None) -> tuple[Condition, ...]:
        """The state that must not change, so that a stored record with its identity stays a parent that the caller may
        see. Raises ParentMissing if it is not."""
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
    """A change of one number of children. `joins`: a child gets this parent, and is not only counted now."""

    parent: Parent
    attribute: str
    change: int
    joins: bool = False


@dataclass(frozen=True)
class Kinship:
    """The effects of a write on enforced relations: parents that must exist, changes of their counters, and the
    relations by which the child is counted afterwards."""

    parents: tuple[Parent, ...] = ()
    tallies: tuple[Tally, ...] = ()
    counted: tuple[str, ...] = ()


ALONE = Kinship()
"""The effects of a write of a record without parents."""


def record_name(entity: EntityType[Any], identity: Item) -> tuple[Any, ...]:
    """The name of a record: entity and identity."""
    return entity.token, *(identity[name] for name in entity.identity)


def kinship(
    entity: EntityType[Any], before: Item | None, after: Item | None, entities: Entities, *, counting: bool = True
) -> Kinship:
    """The effects on parents of a write that replaces `before` by `after` (None if there is no record). Without
    `counting` no parent counts the record from now on, which is done later."""
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
            tallies += [Tally(new, attribute, 1, joins=True)] if counting else []
            counted += [relation.name] if counting else []
    return Kinship(tuple(parents), tuple(tallies), tuple(counted))


def uncounted(entity: EntityType[Any], stored: Item, names: Sequence[str], entities: Entities) -> Kinship:
    """The effects of counting a stored child by relations that don't count it yet."""
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


def restricting(entity: EntityType[Any]) -> Iterator[ChildLink]:
    """The relations whose children prevent a deletion of their parent."""
    return (link for link in entity.children if link.on_delete == "restrict")


def takes_along(entity: EntityType[Any]) -> bool:
    """Whether children are deleted or detached with their parent, so that its deletion may take many transactions."""
    return any(link.on_delete != "restrict" for link in entity.children)


def counter_key(entity: EntityType[Any], identity: Item) -> dict[str, Value]:
    """The key of a parent's counter. Raises KeyTooLong."""
    return internal_key(entity, "*", owner_text(entity, identity))


def counting(parent: Parent, changes: Mapping[str, int], *, joined: bool = False) -> WriteAction | None:
    """The action that changes a counter, None if nothing changes. `joined`: the parent gets children, which is refused
    while it is being deleted."""
    added = {name: change for name, change in changes.items() if change}
    if not added:
        return None
    grows = joined and takes_along(parent.entity)
    update = UpdateItem(
        counter_key(parent.entity, parent.identity),
        add=added,
        condition=Missing(DELETING) if grows else None,
        return_on_failure=grows,
    )
    return WriteAction(update, ActionRole.COUNTER, parent.property_name)


def closing(entity: EntityType[Any], identity: Item, changes: Mapping[str, int], *, ends: bool = False) -> WriteAction:
    """The action that deletes the counter of a deleted parent. `changes` are those of the same transaction: children
    that it deletes don't prevent the deletion. `ends`: it ends a deletion that was begun before, see
    `deletion_work`."""
    conditions: list[Condition] = [Missing(DELETING)] if takes_along(entity) and not ends else []
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
    """The error of a refused deletion, from the counter: the parent has children, or the counter is damaged (which is
    not reported to callers who see only `some` records)."""
    numbers = ((counter or {}).get(link.attribute, 0) for link in entity.children)
    if not some and not all(type(number) is int for number in numbers):
        return damaged_counter(entity, identity)
    return has_children(entity, counter, related)


def damaged_counter(entity: EntityType[Any], identity: Item) -> RecordUnreadable:
    """The error that a parent's counter is damaged."""
    named = {name: entity.identifying[name].python(value) for name, value in identity.items()}
    stored = tuple(counter_key(entity, identity).values())
    more: dict[str, Any] = {"collection": entity.collection or entity.token, "stored_key": stored}
    return RecordUnreadable(Unreadable(entity.token, named, "counter_damaged", **more))


def being_deleted(property_name: str) -> ParentMissing:
    """The error of a child whose parent is being deleted, with all that belongs to it."""
    return ParentMissing(
        "the record that it belongs to is being deleted", where=property_name, fix="give one that stays"
    )


def _counted(entity: EntityType[Any], stored: Item) -> list[str]:
    """The relations by which a stored child is counted. Raises RecordUnreadable."""
    names = stored.get(COUNTED, ())
    if not isinstance(names, (list, tuple)) or not all(isinstance(name, str) for name in names):
        raise entity.unreadable(stored, "counting_damaged")
    return list(names)


def has_children(entity: EntityType[Any], counter: Item | None, related: Related | None = None) -> HasChildren:
    """The error that a parent has children, from its counter. Children that the caller may not see are not named."""
    numbers = counter or {}
    found = [link for link in entity.children if numbers.get(link.attribute)] or list(entity.children)
    claims = entity.claims.values()
    shown = [link.token for link in found if related is None or related(link.token).has_all(claims)]
    what = f"records of {', '.join(dict.fromkeys(shown))}" if shown else "records that belong to it"
    return HasChildren(
        f"the {entity.token} has {what}", where=", ".join(entity.identity), fix="delete or move them first"
    )


def _old_parent(child: EntityType[Any], relation: RelationType, item: Item, entities: Entities) -> Parent | None:
    """The parent of a stored record. None for a value that no parent can have now."""
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
