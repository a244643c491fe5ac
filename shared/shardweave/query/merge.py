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

from ..table.values import Item, Value
from .plan import Lane

Order = tuple[Value, str, int]
"""(sort value, hash key, branch rank): ascending order of records; within equal ones a lane's own order holds."""


@dataclass
class LaneState:
    """What one lane has read: its records not yet given, and the place up to which it has read."""

    lane: Lane
    records: list[tuple[Order, Item]] = field(default_factory=list)
    evaluated: Order | None = None
    last_key: Item | None = None
    started: bool = False
    finished: bool = False
    interval_start: Item | None = None


@dataclass(frozen=True)
class Ready:
    """What can be given: `records` are final and in order. `beyond` is how many more are read but not final."""

    records: tuple[tuple[Order, Item, LaneState], ...]
    beyond: int


def frontier(states: Sequence[LaneState], *, descending: bool) -> Order | None:
    """The first place, in query order, that some unfinished lane has read up to; None when all are finished."""
    places = [state.evaluated for state in states if not state.finished and state.evaluated is not None]
    if not places:
        return None
    return max(places) if descending else min(places)


def ready(states: Sequence[LaneState], *, descending: bool) -> Ready:
    """The records that are final. Lanes that have not started give nothing and make nothing final: start all first."""
    ordered = _ordered(states, descending=descending)
    edge = frontier(states, descending=descending)
    if edge is None:
        return Ready(tuple(ordered), 0)
    final = 0
    for place, _, _ in ordered:
        if place < edge if descending else place > edge:
            break
        final += 1
    return Ready(tuple(ordered[:final]), len(ordered) - final)


def needed(states: Sequence[LaneState], count: int, *, descending: bool) -> list[LaneState]:
    """The unfinished lanes that must be read further before `count` records are final: those whose place stands
    before the `count`th record read so far (or all, when fewer were read)."""
    unfinished = [state for state in states if not state.finished]
    ordered = _ordered(states, descending=descending)
    if len(ordered) < count:
        return unfinished
    last = ordered[count - 1][0]
    if descending:
        return [state for state in unfinished if state.evaluated is None or state.evaluated > last]
    return [state for state in unfinished if state.evaluated is None or state.evaluated < last]


def _ordered(states: Sequence[LaneState], *, descending: bool) -> list[tuple[Order, Item, LaneState]]:
    everything = [(place, item, state) for state in states for place, item in state.records]
    # Sorting is stable in both directions, which keeps a lane's own order among equal places.
    everything.sort(key=lambda record: record[0], reverse=descending)
    return everything
