"""Resuming: where each lane goes on, given the position that a page ended at.

The order is total: (sort value, hash key, branch rank, DynamoDB's own order inside a key). So after a record at
(v, h, r) every lane knows what is left of it. Ascending: a lane whose (hash key, rank) lies below (h, r) has given
everything up to and including v; one above has given everything below v; the lane itself continues after the record's
own key. Descending is the mirror image. Every answer is the lane's interval made smaller, or a start key.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import InvalidCursor
from ..table.operations import Interval
from ..table.values import Item, Value
from .cursor import Position
from .intervals import above, at_least, at_most, below
from .plan import Branch, Lane, Plan


@dataclass(frozen=True)
class Start:
    """Where a lane starts: an interval (None: nothing is left) and, for the lane of the position, a start key."""

    interval: Interval | None
    start_key: Item | None = None


def starts(plan: Plan, position: Position | None) -> list[Start]:
    """Where each lane of the plan starts after `position` (None: the beginning), in the lanes' order."""
    if position is None:
        return [Start(lane.interval) for lane in plan.lanes]
    if position.rank is None:
        value = position.values[0]
        return [Start(_from(lane.interval, value, descending=plan.descending)) for lane in plan.lanes]
    key = _start_key(plan, position)
    branch = plan.branches[position.rank]
    value, place = key[branch.view.range_name], (key[branch.view.hash_name], position.rank)
    return [_start(plan, lane, value, place, key) for lane in plan.lanes]


def position_of(branch: Branch, key: Item) -> Position:
    """The position after a record, from its item or from a table's last key."""
    return Position(branch.rank, tuple(key[name] for name in branch.view.page_key))


def _start(plan: Plan, lane: Lane, value: Value, place: tuple[str, int], key: Item) -> Start:
    if lane.order == place:
        return Start(lane.interval, key)
    if lane.interval is None:
        return Start(None)
    done = lane.order > place if plan.descending else lane.order < place
    if not done:
        return Start(_from(lane.interval, value, descending=plan.descending))
    return Start(below(lane.interval, value) if plan.descending else above(lane.interval, value))


def _from(interval: Interval | None, value: Value, *, descending: bool) -> Interval | None:
    if interval is None:
        return None
    return at_most(interval, value) if descending else at_least(interval, value)


def _start_key(plan: Plan, position: Position) -> Item:
    if position.rank is None or position.rank >= len(plan.branches):
        raise InvalidCursor("the cursor names no lane of the query", where="cursor", fix="start again")
    names = plan.branches[position.rank].view.page_key
    if len(names) != len(position.values):
        raise InvalidCursor("the cursor's key is not the index's", where="cursor", fix="start again without a cursor")
    return dict(zip(names, position.values, strict=True))
