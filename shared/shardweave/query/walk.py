"""The walk: reads what one page needs, stage by stage, round by round.

Guarantees: every lane of a stage is read once whatever the budget, so that a page that is cut always makes progress;
a cut page is in order and ends at the frontier; a lane that fails contributes nothing to the page.

Cost: one read of each lane of the current stage, sized by `sizes`; then reads only of the lanes that the merge needs,
all in parallel. Where a filter drops much, a lane's reads double in size.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ..errors import DeadlineTooShort, LaneFailed, ShardweaveError
from ..table.operations import PageAnswer, Query
from ..table.values import Item
from .cursor import Position
from .fanout import FanOut
from .merge import LaneState, Order, needed, ready
from .merge import frontier as first_unfinished
from .plan import Plan
from .resume import Start, position_of
from .room import stored
from .sizes import MAX_FETCH, fetch_size
from .spec import ANY_TIME

MAX_FILTERED_FETCH = 4 * MAX_FETCH

Record = tuple[Order, Item, LaneState]


@dataclass(frozen=True)
class Bounds:
    """What may cut a page: a time of the monotonic clock, a number of reads, the stored bytes of its records; and
    whether to go on without lanes that fail."""

    deadline: float | None = None
    budget: int | None = None
    bytes: int | None = None
    partial: bool = False


@dataclass(frozen=True)
class Walked:
    """What a walk gave. `reached` is the position after it, None for the end of all lanes that did not fail; `more`
    says that another record exists or may exist."""

    records: tuple[Record, ...]
    reached: Position | None
    cut: bool = False


class Walk:
    """One page's reading."""

    def __init__(
        self,
        plan: Plan,
        begins: Sequence[Start],
        fanout: FanOut,
        keeps: Callable[[LaneState, Item], bool],
        bounds: Bounds,
    ) -> None:
        self._plan = plan
        self._fanout = fanout
        self._keeps = keeps
        self._bounds = bounds
        self._descending = plan.descending
        self.states: list[LaneState] = []
        self._stages: list[list[LaneState]] = [[] for _ in range(plan.stages)]
        for lane, start in zip(plan.lanes, begins, strict=True):
            if start.interval is not None:
                state = LaneState(lane, start.interval, last_key=start.start_key)
                self.states.append(state)
                self._stages[lane.stage].append(state)
        self.rounds = 0

    @property
    def requests(self) -> int:
        return sum(state.requests for state in self.states)

    @property
    def failed(self) -> list[LaneState]:
        return [state for state in self.states if state.failure is not None]

    def page(self, limit: int) -> Walked:
        """Up to `limit` records in order. Raises LaneFailed, DeadlineTooShort."""
        given: list[Record] = []
        for number, stage in enumerate(self._stages):
            if not stage:
                continue
            if self.rounds and self._is_spent():
                return self._cut_between(given, number)
            done = self._stage(stage, given, limit)
            if done is not None:
                return done
        if self.states and len(self.failed) == len(self.states):
            raise self._failure(self.failed[0])
        return Walked(tuple(given), None)

    def _stage(self, stage: list[LaneState], given: list[Record], limit: int) -> Walked | None:
        """Read a stage until the page is full or cut; None when the stage is exhausted, its records in `given`."""
        self._round(stage, limit - len(given) + 1, len(stage))
        while True:
            states = [state for state in stage if state.failure is None]
            wanted = limit - len(given)
            final = ready(states, descending=self._descending)
            fitting = self._fitting(given, final.records[:wanted])
            if fitting < min(wanted, len(final.records)):
                given += final.records[:fitting]
                return Walked(tuple(given), self._position(given[-1]), cut=True)
            if len(final.records) >= wanted and len(final.records) + final.beyond > wanted:
                given += final.records[:wanted]
                return Walked(tuple(given), self._position(given[-1]))
            if all(state.finished for state in states):
                given += final.records
                return None
            lanes = self._affordable(needed(states, wanted + 1, descending=self._descending))
            if not lanes:
                return self._cut_at_frontier(given, states, final.records)
            remaining = wanted + 1 - len(final.records)
            if not self._round(lanes, remaining, sum(not state.finished for state in states)):
                return self._cut_at_frontier(given, states, final.records)

    # -- cuts

    def shortened(self, walked: Walked, last: Record) -> Walked:
        """The same, cut after one of its records."""
        place = next(place for place, record in enumerate(walked.records) if record is last)
        return Walked(walked.records[: place + 1], self._position(last), cut=True)

    def _fitting(self, given: list[Record], records: Sequence[Record]) -> int:
        """How many of the records fit behind those given."""
        if self._bounds.bytes is None:
            return len(records)
        return stored((item for _, item, _ in (*given, *records)), self._bounds.bytes) - len(given)

    def _is_spent(self) -> bool:
        bounds = self._bounds
        if bounds.budget is not None and self.requests >= bounds.budget:
            return True
        return bounds.deadline is not None and time.monotonic() >= bounds.deadline

    def _affordable(self, lanes: list[LaneState]) -> list[LaneState]:
        if self._is_spent():
            return []
        if self._bounds.budget is None:
            return lanes
        return lanes[: self._bounds.budget - self.requests]

    def _cut_at_frontier(self, given: list[Record], states: list[LaneState], final: tuple[Record, ...]) -> Walked:
        first = first_unfinished(states, descending=self._descending)
        assert first is not None
        assert first.last_key is not None
        branch = self._plan.branches[first.lane.rank]
        return Walked((*given, *final), position_of(branch, first.last_key), cut=True)

    def _cut_between(self, given: list[Record], stage: int) -> Walked:
        """Nothing of the stage was read: every lane goes on from where the stage begins."""
        values = []
        for lane in self._plan.lanes:
            if lane.stage >= stage and lane.interval is not None:
                bound = lane.interval.high if self._descending else lane.interval.low
                values.append(self._plan.branches[lane.rank].comparable(bound))
        edge = max(values) if self._descending else min(values)
        return Walked(tuple(given), Position(None, (edge,)), cut=True)

    def _position(self, record: Record) -> Position:
        _, item, state = record
        return position_of(self._plan.branches[state.lane.rank], item)

    # -- reading

    def _round(self, lanes: list[LaneState], count: int, sharing: int) -> bool:
        """Read each lane once more; False when the deadline left some refill unanswered."""
        self.rounds += 1
        queries = [self._query(state, sharing, count) for state in lanes]
        outcomes = self._fanout.read(queries, self._bounds.deadline)
        in_time = True
        for state, outcome in zip(lanes, outcomes, strict=True):
            state.milliseconds += outcome.milliseconds
            state.requests += 1
            if outcome.answer is not None:
                self._take(state, outcome.answer)
            elif state.started and isinstance(outcome.error, DeadlineTooShort):
                in_time = False
            else:
                state.failure = outcome.error
        if self.failed and not self._bounds.partial:
            raise self._failure(self.failed[0])
        return in_time

    def _failure(self, state: LaneState) -> ShardweaveError:
        error = state.failure
        assert error is not None
        if isinstance(error, DeadlineTooShort):
            return error
        return LaneFailed(self._plan.name(state.lane), error, optional=not self._bounds.partial)

    def _query(self, state: LaneState, sharing: int, count: int) -> Query:
        plan, branch = self._plan, self._plan.branches[state.lane.rank]
        size = fetch_size(sharing, count)
        if state.started and state.kept < state.scanned:
            size = min(MAX_FILTERED_FETCH, max(size, 2 * state.asked))
        state.asked = size
        return Query(
            hash_name=branch.view.hash_name,
            hash_value=state.lane.hash_value,
            range_name=branch.view.range_name,
            interval=state.interval,
            index=branch.view.index,
            filter=branch.filter.by_table,
            projection=plan.attributes,
            descending=plan.descending,
            limit=size,
            start_key=state.last_key,
            consistent=plan.consistent,
        )

    def _take(self, state: LaneState, answer: PageAnswer) -> None:
        state.scanned += answer.scanned
        state.units += answer.units
        state.started = True
        state.finished = answer.last_key is None
        if answer.last_key is not None:
            state.last_key = answer.last_key
            state.evaluated = self._order(state, answer.last_key)
        sort_value, place = self._plan.branches[state.lane.rank].sort_value, state.lane.order
        kept = [((sort_value(item), *place), item) for item in answer.items if self._keeps(state, item)]
        state.kept += len(kept)
        state.records += kept

    def _order(self, state: LaneState, item: Item) -> Order:
        return self._plan.branches[state.lane.rank].sort_value(item), *state.lane.order


def keeper(plan: Plan, now_seconds: float) -> Callable[[LaneState, Item], bool]:
    """Whether a record that a lane read is given there: not expired, inside the asked time window, passing the part
    of the filter that DynamoDB does not take, and not given by another branch."""
    entity, overlap, window = plan.entity, plan.overlap, plan.window
    timestamp = entity.timestamp if window != ANY_TIME else None
    simple = entity.ttl is None and timestamp is None and not overlap.possible
    simple = simple and all(branch.filter.here is None for branch in plan.branches)
    if simple:
        return lambda state, item: True

    def keeps(state: LaneState, item: Item) -> bool:
        if entity.is_expired(item, now_seconds):
            return False
        if timestamp is not None:
            created = item[timestamp]
            if window.low is not None and created < window.low:
                return False
            if window.high is not None and created > window.high:
                return False
        branch = plan.branches[state.lane.rank]
        if not branch.filter.holds_here(item):
            return False
        return overlap.is_given(branch, state.lane.hash_value, item)

    return keeps
