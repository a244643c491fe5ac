"""The merge: which of the records read so far can be given, in order, and which lanes must be read further.

Pure. A lane that has more to give has read up to its last evaluated place. The *frontier* is the first, in query
order, of those places: no record that is still unread can stand before it, so everything read up to the frontier is
final. When that is not enough, exactly the lanes whose places stand before the last record needed are read further,
all of them in parallel.

Cost: one sort of what was read, by tuples that Python compares in C.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from ..errors import ShardweaveError
from ..table.operations import Interval
from ..table.values import Item, Value
from .plan import Lane

Order = tuple[Value, str, int]
"""(sort value, hash key, branch rank): ascending order of records; within equal ones a lane's own order holds."""


@dataclass
class LaneState:
    """What one lane has read: its records not yet given, and the place up to which it has read."""

    lane: Lane
    interval: Interval
    last_key: Item | None = None
    records: list[tuple[Order, Item]] = field(default_factory=list)
    evaluated: Order | None = None
    started: bool = False
    finished: bool = False
    failure: ShardweaveError | None = None
    asked: int = 0
    requests: int = 0
    scanned: int = 0
    kept: int = 0
    units: float = 0.0
    milliseconds: float = 0.0


@dataclass(frozen=True)
class Ready:
    """What can be given: `records` are final and in order. `beyond` is how many more are read but not final."""

    records: tuple[tuple[Order, Item, LaneState], ...]
    beyond: int


def frontier(states: Sequence[LaneState], *, descending: bool) -> LaneState | None:
    """The unfinished lane whose place is the first in query order; None when all are finished."""
    unfinished = [state for state in states if not state.finished and state.evaluated is not None]
    if not unfinished:
        return None
    choose = max if descending else min
    return choose(unfinished, key=_place)


def ready(states: Sequence[LaneState], *, descending: bool) -> Ready:
    """The records that are final. Every lane must have started."""
    ordered = _ordered(states, descending=descending)
    first = frontier(states, descending=descending)
    if first is None:
        return Ready(tuple(ordered), 0)
    edge = _place(first)
    final = 0
    for place, _, _ in ordered:
        if place < edge if descending else place > edge:
            break
        final += 1
    return Ready(tuple(ordered[:final]), len(ordered) - final)


def needed(states: Sequence[LaneState], count: int, *, descending: bool) -> list[LaneState]:
    """The unfinished lanes that must be read further before `count` records are final, the first in query order
    first: those whose place stands before the `count`th record read so far (or all, when fewer were read)."""
    unfinished = sorted((state for state in states if not state.finished), key=_place, reverse=descending)
    ordered = _ordered(states, descending=descending)
    if len(ordered) < count:
        return unfinished
    last = ordered[count - 1][0]
    if descending:
        return [state for state in unfinished if _place(state) > last]
    return [state for state in unfinished if _place(state) < last]


def _place(state: LaneState) -> Order:
    assert state.evaluated is not None
    return state.evaluated


def _ordered(states: Sequence[LaneState], *, descending: bool) -> list[tuple[Order, Item, LaneState]]:
    everything = [(place, item, state) for state in states for place, item in state.records]
    # Sorting is stable in both directions, which keeps a lane's own order among equal places.
    everything.sort(key=itemgetter(0), reverse=descending)
    return everything
