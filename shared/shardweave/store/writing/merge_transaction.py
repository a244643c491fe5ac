"""Merging several operations into one transaction, in which each item may occur only once.

Pure. If operations have actions on the same items beside their records, or one operation has two actions on the same
    item, these actions are merged: a value that one operation gives up and another takes is one claim a value that
    several give up, since it is not known yet whose it is, is given up once, whosever of them it is what is required of
    a record that another action writes is left out: the writing requires as much; what another action only checks is
    one check what is required of a record more than once is one check of all of it parents and counters are named once,
    with the sum of their changes What contradicts itself is refused before anything is sent: two records with one
    unique value, a child of a parent that is deleted in the same transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import InputError, ShardweaveError
from ...table.conditions import And, Compare, Condition, Or
from ...table.operations import ConditionCheck, DeleteItem, PutItem
from ..attempts import PrimaryKey
from ..lookups.lookup_records import OWNER
from ..lookups.unique_values import taken
from ..relations.enforced import Parent, closing, counting
from .write_actions import ActionRole, WriteAction, primary_key
from .write_steps import WritePlan, WriteStep

Placed = Callable[[ShardweaveError, int], ShardweaveError]
"""A function that adds the operation to an error."""

_REQUIRED = (ActionRole.HOLDER, ActionRole.PARENT)


def combined(steps: Sequence[WriteStep], plans: Sequence[WritePlan], placed: Placed) -> tuple[WritePlan, ...]:
    """The plans, with each item occurring once. Raises AlreadyExists, InputError."""
    actions = [list(plan.actions) for plan in plans]
    _share_claims(steps, actions, placed)
    _share_requirements(steps, actions)
    _count(steps, plans, actions, placed)
    return tuple(replace(plan, actions=tuple(own)) for plan, own in zip(plans, actions, strict=True))


def _key(steps: Sequence[WriteStep], planned: WriteAction) -> PrimaryKey:
    """The primary key of an action's item. Every entity of a table knows the names of its key attributes."""
    return primary_key(steps[0].entity, planned.key_or_item)


def _share_claims(steps: Sequence[WriteStep], actions: list[list[WriteAction]], placed: Placed) -> None:
    released: dict[PrimaryKey, list[WriteAction]] = {}
    claimed: set[PrimaryKey] = set()
    for position, own in enumerate(actions):
        for each in own:
            key = _key(steps, each)
            if each.part is ActionRole.RELEASE:
                released.setdefault(key, []).append(each)
            elif each.part is ActionRole.CLAIM:
                if key in claimed:
                    raise placed(taken(each.about), position)
                claimed.add(key)
    for own in actions:
        kept = []
        for each in own:
            releases = (
                released.get(_key(steps, each), []) if each.part in (ActionRole.CLAIM, ActionRole.RELEASE) else []
            )
            if each.part is not ActionRole.RELEASE:
                kept.append(_for_owners(each, releases))
            elif _key(steps, each) not in claimed and each is releases[0]:
                kept.append(_for_owners(each, releases[1:]))
        own[:] = kept


def _for_owners(each: WriteAction, releases: Sequence[WriteAction]) -> WriteAction:
    """A claim or release of a value that other records release in the same transaction: the value may also be
    theirs."""
    action = each.action
    if not releases or not isinstance(action, (PutItem, DeleteItem)) or not isinstance(action.condition, Or):
        return each
    owners = (*action.condition.conditions, *(Compare(OWNER, "=", release.owner) for release in releases))
    return replace(each, action=replace(action, condition=Or(owners)))


def _share_requirements(steps: Sequence[WriteStep], actions: list[list[WriteAction]]) -> None:
    written = {_key(steps, each) for own in actions for each in own if each.part not in _REQUIRED}
    required: dict[PrimaryKey, list[Condition]] = {}
    for each in (each for own in actions for each in own if each.part in _REQUIRED):
        conditions = required.setdefault(_key(steps, each), [])
        if each.action.condition is not None and each.action.condition not in conditions:
            conditions.append(each.action.condition)
    for own in actions:
        kept = []
        for each in own:
            key = _key(steps, each)
            if each.part in _REQUIRED:
                if key in written or key not in required:
                    continue
                each = _requiring(each, required.pop(key))
            elif key in required and isinstance(each.action, ConditionCheck) and each.action.condition is not None:
                each = _requiring(each, [each.action.condition, *required[key]])
            kept.append(each)
        own[:] = kept


def _requiring(each: WriteAction, conditions: Sequence[Condition]) -> WriteAction:
    """One condition check with all the conditions."""
    if len(conditions) == 1 or not isinstance(each.action, ConditionCheck):
        return each
    return replace(each, action=replace(each.action, condition=And(tuple(conditions))))


@dataclass
class _Counter:
    """The changes of one parent's counter in a transaction, and the first operation with such a change."""

    parent: Parent
    first: int
    changes: dict[str, int] = field(default_factory=dict)
    joined: bool = False


def _count(
    steps: Sequence[WriteStep], plans: Sequence[WritePlan], actions: list[list[WriteAction]], placed: Placed
) -> None:
    counters: dict[tuple[Any, ...], _Counter] = {}
    for position, plan in enumerate(plans):
        for tally in plan.tallies:
            counter = counters.setdefault(tally.parent.name, _Counter(tally.parent, position))
            counter.changes[tally.attribute] = counter.changes.get(tally.attribute, 0) + tally.change
            counter.joined = counter.joined or tally.joins
    for position, (step, plan) in enumerate(zip(steps, plans, strict=True)):
        if plan.closes:
            closed = counters.pop(step.name, None)
            changes = {} if closed is None else closed.changes
            if closed is not None and any(change > 0 for change in changes.values()):
                message = f"its {step.entity.token} is deleted in the same transaction"
                wrong = InputError(message, where=closed.parent.property_name, fix="do one or the other")
                raise placed(wrong, closed.first)
            actions[position].append(closing(step.entity, step.identity, changes, ends=plan.ends_work))
    for counter in counters.values():
        action = counting(counter.parent, counter.changes, joined=counter.joined)
        if action is not None:
            actions[counter.first].append(action)
