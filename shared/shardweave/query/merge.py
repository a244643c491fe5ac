"""The merge: which of the records read so far are final, in which order, and which lanes must be read further.

Pure. A lane that is not finished has read up to its last evaluated place. The *frontier* is the first, in query order,
of those places: no record that is still unread can stand before it, so everything read up to the frontier is final.
When that is not enough, exactly the lanes whose places stand before the last record needed are read further, all of
them in parallel.

All decisions after a round are based on one `Snapshot` of the moment at which the round closed: the records, which of
them are final, and the frontier.

Cost: one sort of what was read, by tuples that Python compares in C.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from operator import itemgetter

from ..errors import ShardweaveError
from ..table.operations import Interval
from ..table.values import Item, Value
from .lanes import Lane

Order = tuple[Value, str, int]
"""(sort value, hash key, branch rank): the ascending order of records; records with equal values keep their lane's own
order."""


@dataclass
class LaneState:
    """The state of one lane: its records for this page, and the place up to which it has read. `metered` is False when
    the table did not say what a read cost."""

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
    metered: bool = True
    milliseconds: float = 0.0


Record = tuple[Order, Item, LaneState]


@dataclass(frozen=True)
class Frontier:
    """The first, in query order, of the last evaluated places of the lanes: its branch's rank, and the table's last
    key."""

    rank: int
    last_key: Item


@dataclass(frozen=True)
class Snapshot:
    """The state of a stage's lanes that have not failed, at the close of a round: `records` in order, of which the
    first are `final`; the `unfinished` lanes, with the lane of the `frontier` first. The frontier is None if nothing is
    left to read."""

    records: tuple[Record, ...]
    final: tuple[Record, ...]
    unfinished: tuple[LaneState, ...]
    frontier: Frontier | None


def snapshot(stage: Sequence[LaneState], is_given: Callable[[Item], bool] | None, *, descending: bool) -> Snapshot:
    """The snapshot of a stage's lanes, with the records for which `is_given` is true, or with all. Every lane must have
    answered or failed."""
    states = [state for state in stage if state.failure is None]
    records = [(place, item, state) for state in states for place, item in state.records]
    if is_given is not None:
        records = [record for record in records if is_given(record[1])]
    # Sorting is stable in both directions, which keeps a lane's own order among equal places.
    records.sort(key=itemgetter(0), reverse=descending)
    unfinished = sorted((state for state in states if not state.finished), key=_place, reverse=descending)
    if not unfinished:
        return Snapshot(tuple(records), tuple(records), (), None)
    first = unfinished[0]
    assert first.last_key is not None, "a lane that has more to give names its place"
    edge = _place(first)
    final = 0
    for place, _, _ in records:
        if place < edge if descending else place > edge:
            break
        final += 1
    frontier = Frontier(first.lane.rank, first.last_key)
    return Snapshot(tuple(records), tuple(records[:final]), tuple(unfinished), frontier)


def needed(seen: Snapshot, count: int, *, descending: bool) -> tuple[LaneState, ...]:
    """The unfinished lanes that must be read further before `count` records are final, in query order: those whose
    place is before the `count`th record read so far (all of them, if fewer records were read)."""
    if len(seen.records) < count:
        return seen.unfinished
    last = seen.records[count - 1][0]
    if descending:
        return tuple(state for state in seen.unfinished if _place(state) > last)
    return tuple(state for state in seen.unfinished if _place(state) < last)


def _place(state: LaneState) -> Order:
    assert state.evaluated is not None, "every lane of a snapshot has answered"
    return state.evaluated
