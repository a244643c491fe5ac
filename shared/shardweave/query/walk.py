"""The walk: reads what one page needs, stage by stage, round by round.

A round closes once: each of its lanes has answered, failed, or is late. What the page becomes is decided on one
snapshot of that moment (see `merge`), in this order:

    every lane of the page failed               the error
    the page is full, and one more was read     full, up to its last record
    nothing of the stage is left to read        all of it is given; the next stage
    a lane is late, or time, reads, bytes or    cut: what is final is given, up to the frontier; up to the last record
    read units are spent                        where what is final has more bytes than the page may
    otherwise                                   the lanes that are needed are read further

Where whole records are read, those of a page are before that is decided, and one that is gone is no record of the
snapshot, so that the page is filled up. What the deadline left unread is as if the page ended before it.

Guarantees: every lane of a stage is read once whatever the budget, and a page ends between stages only when a lane has
got on, so that a page that is cut always makes progress; a cut page is in order; a lane that fails, in whatever round,
contributes nothing to the page and keeps its position from before it; one that is late for the first time fails (or the
query does), one that is late later does not.

Cost: one read of each lane of the current stage, sized by `sizes`; then reads only of the lanes that the merge needs,
all in parallel. Where a filter drops much, a lane's reads double in size.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import DeadlineTooShort, LaneFailed, ShardweaveError
from ..table.operations import PageAnswer, Query
from ..table.values import Item
from .cursor import Position
from .fanout import FanOut, too_late
from .from_keys import value_in
from .hydrate import WholeRecords
from .merge import LaneState, Order, Record, Snapshot, needed, snapshot
from .plan import Plan
from .resume import Start, position_of
from .room import stored
from .sizes import MAX_FETCH, fetch_size
from .spec import ANY_TIME, CutBy

MAX_FILTERED_FETCH = 4 * MAX_FETCH


@dataclass(frozen=True)
class Bounds:
    """What may cut a page: a time of the fan-out's clock until which lanes are read, a number of reads, the bytes of
    its records as they are stored, read units; and whether to go on without lanes that fail."""

    deadline: float | None = None
    budget: int | None = None
    bytes: int | None = None
    units: float | None = None
    partial: bool = False


@dataclass(frozen=True)
class Walked:
    """What a walk gave. `reached` is the position after it, None for the end of all lanes that did not fail."""

    records: tuple[Record, ...]
    reached: Position | None
    cut_by: CutBy = ""


class Walk:
    """One page's reading. `whole` are its whole records, where those are read."""

    def __init__(
        self,
        plan: Plan,
        begins: Sequence[Start],
        fanout: FanOut,
        keeps: Callable[[LaneState, Item], bool],
        bounds: Bounds,
        whole: WholeRecords | None = None,
    ) -> None:
        self._plan = plan
        self._fanout = fanout
        self._keeps = keeps
        self._bounds = bounds
        self._whole = whole
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
            spent = self._spent()
            if spent and self._has_advanced(number):
                return self._cut_between(given, number, spent)
            done = self._stage(number, given, limit)
            if done is not None:
                return done
        return Walked(tuple(given), None)

    def _stage(self, number: int, given: list[Record], limit: int) -> Walked | None:
        """Read a stage until the page is full or cut; None when the stage is exhausted, its records in `given`."""
        stage, wanted = self._stages[number], limit - len(given)
        late = self._round(stage, wanted + 1, len(stage))
        while True:
            seen = self._snapshot(stage, wanted)
            if seen is None:
                return self._cut_at_the_unread(given, number, wanted)
            final = seen.final[:wanted]
            fitting = self._fitting(given, final)
            if fitting < len(final):
                given += final[:fitting]
                return Walked(tuple(given), self._position(given[-1]), "bytes")
            given_too = (*given, *final)
            if len(seen.final) >= wanted and len(seen.records) > wanted:
                return Walked(given_too, self._position(given_too[-1]))
            if seen.frontier is None:
                given += final
                return None
            lanes = () if late else self._affordable(needed(seen, wanted + 1, descending=self._descending))
            if not lanes:
                branch = self._plan.branches[seen.frontier.rank]
                cut_by: CutBy = "time" if late else self._spent() or "budget"
                return Walked(given_too, position_of(branch, seen.frontier.last_key), cut_by)
            late = self._round(lanes, wanted + 1 - len(final), len(seen.unfinished))

    def _snapshot(self, stage: Sequence[LaneState], wanted: int) -> Snapshot | None:
        """What the stage has read by now, without records that are gone where whole ones are read; None when the
        deadline left some of the `wanted` unread."""
        if self._whole is None:
            return snapshot(stage, _any, descending=self._descending)
        while True:
            seen = snapshot(stage, self._whole.is_given, descending=self._descending)
            items = [item for _, item, _ in seen.final[:wanted]]
            if not self._whole.read(items):
                return None
            if all(map(self._whole.is_given, items)):
                return seen

    # -- cuts

    def shortened(self, walked: Walked, count: int, cut_by: CutBy) -> Walked:
        """The same, cut after so many of its records, which are one at least."""
        return Walked(walked.records[:count], self._position(walked.records[count - 1]), cut_by)

    def _fitting(self, given: Sequence[Record], records: Sequence[Record]) -> int:
        """How many of the records fit behind those given."""
        if self._bounds.bytes is None:
            return len(records)
        items = (item for _, item, _ in (*given, *records))
        return stored(self._plan.entity, items, self._bounds.bytes) - len(given)

    def _spent(self) -> CutBy:
        """What is spent, empty where nothing is."""
        bounds = self._bounds
        if bounds.budget is not None and self.requests >= bounds.budget:
            return "budget"
        if bounds.units is not None and sum(state.units for state in self.states) >= bounds.units:
            return "units"
        if bounds.deadline is not None and self._fanout.monotonic() >= bounds.deadline:
            return "time"
        return ""

    def _affordable(self, lanes: Sequence[LaneState]) -> Sequence[LaneState]:
        if self._spent():
            return ()
        if self._bounds.budget is None:
            return lanes
        return lanes[: self._bounds.budget - self.requests]

    def _has_advanced(self, number: int) -> bool:
        """Whether a lane of an earlier stage has got on: only then is a page that ends before this stage not one that
        is given for ever."""
        earlier = (state for stage in self._stages[:number] for state in stage)
        return any(state.started and state.failure is None for state in earlier)

    def _cut_between(self, given: Sequence[Record], number: int, cut_by: CutBy) -> Walked:
        """Nothing of the stage is given: every lane goes on from where the stage begins."""
        values = []
        for lane in self._plan.lanes:
            if lane.stage >= number and lane.interval is not None:
                bound = lane.interval.high if self._descending else lane.interval.low
                values.append(self._plan.branches[lane.rank].comparable(bound))
        edge = max(values) if self._descending else min(values)
        return Walked(tuple(given), Position(None, (edge,)), cut_by)

    def _cut_at_the_unread(self, given: list[Record], number: int, wanted: int) -> Walked:
        """Cut before the first record whose whole one the deadline left unread."""
        assert self._whole is not None
        last, following = None, list(given)
        for record in snapshot(self._stages[number], _any, descending=self._descending).final:
            if not self._whole.is_read(record[1]):
                break
            last = record
            if self._whole.is_given(record[1]):
                following.append(record)
        fitting = min(wanted, self._fitting(given, following[len(given) :]))
        cut_by: CutBy = "time"
        if len(given) + fitting < len(following):
            cut_by = "bytes" if fitting < wanted else "time"
            following = following[: len(given) + fitting]
            last = following[-1]
        if last is not None:
            return Walked(tuple(following), self._position(last), cut_by)
        if self._has_advanced(number):
            return self._cut_between(given, number, "time")
        raise too_late()

    def _position(self, record: Record) -> Position:
        _, item, state = record
        return position_of(self._plan.branches[state.lane.rank], item)

    # -- reading

    def _round(self, lanes: Sequence[LaneState], count: int, sharing: int) -> bool:
        """Read each lane once more; True when the deadline left some refill unanswered."""
        self.rounds += 1
        queries = [self._query(state, sharing, count) for state in lanes]
        outcomes = self._fanout.read(queries, self._bounds.deadline)
        late = False
        for state, outcome in zip(lanes, outcomes, strict=True):
            state.milliseconds += outcome.milliseconds
            state.requests += 1
            if outcome.answer is not None:
                self._take(state, outcome.answer)
            elif state.started and outcome.late:
                late = True
            else:
                state.failure = outcome.error
        failed = self.failed
        if failed and (not self._bounds.partial or len(failed) == len(self.states)):
            raise self._failure(failed[0])
        return late

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
            projection=plan.projection(branch),
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


def _any(item: Item) -> bool:
    return True


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
            created: Any = value_in(entity, item, timestamp)
            if window.low is not None and created < window.low:
                return False
            if window.high is not None and created > window.high:
                return False
        branch = plan.branches[state.lane.rank]
        if not branch.filter.holds_here(item):
            return False
        return overlap.is_given(branch, state.lane.hash_value, item)

    return keeps
