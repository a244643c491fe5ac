"""Resuming: where each lane continues after a cursor, and the cursor after a page.

The order is total: (sort value, hash key, branch rank, DynamoDB's own order inside a key). So the position of a record
at (v, h, r) determines the rest of every lane. Ascending: a lane whose (hash key, rank) is below (h, r) has returned
everything up to and including v; a lane above it has returned everything below v; the record's own lane continues after
the record's key. Descending is the mirror image. In each case the rest of a lane is a smaller interval, or begins at a
start key.

A position works for both directions: the rest of a lane is the part after the record in the plan's direction, and a
turned plan reads towards the other end.

Lanes that failed lag behind: they keep their old position, and a cursor holds up to eight such (position, lanes) pairs.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from ..errors import InvalidCursor, TooManyLaggingLanes
from ..table.operations import Interval
from ..table.values import MAX_RANGE_KEY_BYTES, Item, Value
from .branches import Branch
from .cursor import CursorState, Lagging, Position
from .intervals import above, at_least, at_most, below, greatest_below, successor, text_bytes
from .lanes import Lane
from .plan import Plan

MAX_LAGGING = 8

_HIGHEST = ("\U0010ffff" * 513, 2**31)
_LOWEST = ("", -1)


@dataclass(frozen=True)
class Start:
    """Where a lane starts: an interval (None: nothing is left) and, for the lane of the position, a start key."""

    interval: Interval | None
    start_key: Item | None = None


def starts(plan: Plan, state: CursorState) -> list[Start]:
    """Where each lane of the plan starts, in the lanes' order. Raises InvalidCursor."""
    places = {number: each.position for each in state.lagging for number in each.lanes}
    found = []
    for lane in plan.lanes:
        if lane.number in places:
            found.append(_start(plan, lane, places[lane.number]))
        elif state.at_end:
            found.append(Start(None))
        else:
            found.append(_start(plan, lane, state.position))
    return found


def position_of(branch: Branch, key: Item) -> Position:
    """The position after a record, from its item or from a table's last key."""
    return Position(branch.rank, tuple(key[name] for name in branch.view.page_key))


def order_of(plan: Plan, position: Position) -> tuple[Any, str, int]:
    """The place of a position in ascending order. A position without a lane is before or after all records with its
    value."""
    if position.rank is None:
        query_descends = plan.descending != plan.backwards
        return (position.values[0], *(_HIGHEST if position.behind != query_descends else _LOWEST))
    key = _start_key(plan, position)
    branch = plan.branches[position.rank]
    return branch.sort_value(key), key[branch.view.hash_name], position.rank


def advanced(plan: Plan, state: CursorState, reached: Position | None, failed: Collection[int]) -> CursorState | None:
    """The cursor after a page that reached a position (None: the end); None if no lane has records left. A lane that
    failed keeps its own position, the others move to the later of their own and the one reached. Raises
    TooManyLaggingLanes."""
    own = {number: each.position for each in state.lagging for number in each.lanes}
    groups: dict[Any, tuple[Position | None, bool, set[int]]] = {}
    for lane in plan.lanes:
        if lane.interval is None:
            continue
        position = own.get(lane.number, state.position)
        at_end = state.at_end and lane.number not in own
        if lane.number not in failed:
            position, at_end = _later(plan, position, reached, at_end=at_end)
        key = (at_end, position)
        groups.setdefault(key, (position, at_end, set()))[2].add(lane.number)
    if all(at_end for _, at_end, _ in groups.values()):
        return None
    main = max(groups.values(), key=lambda group: _progress(plan, group[0], at_end=group[1]))
    lagging = tuple(
        Lagging(position, frozenset(lanes)) for position, at_end, lanes in groups.values() if lanes is not main[2]
    )
    if len(lagging) > MAX_LAGGING:
        raise TooManyLaggingLanes(
            f"failed lanes lag at over {MAX_LAGGING} places", where="cursor", fix="start again without a cursor"
        )
    return CursorState(state.started_ms, plan.map_ids, main[0], lagging, main[1], state.backwards)


def turned(plan: Plan, state: CursorState, begins: Position | None) -> CursorState:
    """The cursor that reads in the other direction from the beginning of a page (None: from the end towards which the
    page was read). It does not include positions of failed lanes."""
    return CursorState(state.started_ms, plan.map_ids, begins, backwards=not state.backwards)


def _later(plan: Plan, own: Position | None, reached: Position | None, *, at_end: bool) -> tuple[Position | None, bool]:
    if at_end or reached is None:
        return None, True
    if own is None:
        return reached, False
    first, second = order_of(plan, own), order_of(plan, reached)
    return (own if (first < second if plan.descending else first > second) else reached), False


def _progress(plan: Plan, position: Position | None, *, at_end: bool) -> tuple[int, Any]:
    """The sort key of positions by their place in the query's order."""
    if at_end:
        return 2, ()
    if position is None:
        return 0, ()
    order = order_of(plan, position)
    return 1, _Reversed(order) if plan.descending else order


@dataclass(frozen=True)
class _Reversed:
    order: tuple[Any, str, int]

    def __lt__(self, other: _Reversed) -> bool:
        return other.order < self.order

    def __gt__(self, other: _Reversed) -> bool:
        return other.order > self.order


def _start(plan: Plan, lane: Lane, position: Position | None) -> Start:
    if position is None or lane.interval is None:
        return Start(lane.interval)
    branch = plan.branches[lane.rank]
    if position.rank is None:
        left = _past if position.behind != plan.backwards else _from
        return Start(left(branch, lane.interval, position.values[0], descending=plan.descending))
    value, *place = order_of(plan, position)
    if lane.order == tuple(place):
        return Start(lane.interval, _start_key(plan, position))
    if lane.order > tuple(place) if plan.descending else lane.order < tuple(place):
        return Start(_past(branch, lane.interval, value, descending=plan.descending))
    return Start(_from(branch, lane.interval, value, descending=plan.descending))


def _from(branch: Branch, interval: Interval, value: Value, *, descending: bool) -> Interval | None:
    """The rest of a lane from a sort value on, including the value."""
    key = branch.key_value(value)
    if _is_too_long(key):
        return at_most(interval, greatest_below(key)) if descending else _above_all_below(interval, key)
    return at_most(interval, key) if descending else at_least(interval, key)


def _past(branch: Branch, interval: Interval, value: Value, *, descending: bool) -> Interval | None:
    """The rest of a lane after a sort value, without the value."""
    key = branch.key_value(value)
    if _is_too_long(key):
        return at_most(interval, greatest_below(key)) if descending else _above_all_below(interval, key)
    return below(interval, key) if descending else above(interval, key)


def _is_too_long(key: Value) -> bool:
    """Whether a value, lengthened by another branch's element names, is longer than a key can be."""
    return isinstance(key, str) and text_bytes(key) > MAX_RANGE_KEY_BYTES


def _above_all_below(interval: Interval, key: str) -> Interval | None:
    following = successor(greatest_below(key))
    return None if following is None else at_least(interval, following)


def _start_key(plan: Plan, position: Position) -> Item:
    if position.rank is None or position.rank >= len(plan.branches):
        raise InvalidCursor("the cursor names no lane of the query", where="cursor", fix="start again")
    names = plan.branches[position.rank].view.page_key
    if len(names) != len(position.values):
        raise InvalidCursor("the cursor's key is not the index's", where="cursor", fix="start again without a cursor")
    return dict(zip(names, position.values, strict=True))
