"""The walk: reads the records of one page, stage by stage and round by round.

A round closes once: each of its lanes has answered, failed, or is late. One snapshot of that moment (see `merge`)
decides how the page continues, by the first of these cases that holds:

    every lane of the page failed               the error
    the page is full, and one more was read     full, up to its last record
    nothing of the stage is left to read        all of it is given; the next stage
    a lane is late, or time, reads, bytes or    cut: what is final is given, up to the frontier; up to the last record
    read units are spent                        where what is final has more bytes than the page may
    otherwise                                   the lanes that are needed are read further

If whole records are read, this happens before the decision, and records that no longer exist are not in the snapshot,
so that the page is filled up. If the deadline leaves whole records unread, the page ends before the first of them.

Unreadable records are not in the snapshot either (see `page_records`): they are reported in their place, and a page
ends after the last one that it may report.

Guarantees: every lane of a stage is read once, regardless of the budget, and a page ends between stages only if a lane
has advanced, so that a cut page always makes progress; a cut page is in order; a lane that fails, in any round,
contributes nothing to the page and keeps its position from before the page; a lane that is late in its first read fails
(or the query does), a lane that is late in a later read does not.

Cost: one read of each lane of the current stage, sized by `sizes`; then reads only of the lanes that the merge needs,
all in parallel. If a filter drops many records, a lane's reads double in size.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import DeadlineTooShort, LaneFailed, RecordUnreadable, ShardweaveError, Unreadable
from ..table.operations import PageAnswer, Query
from ..table.values import Item
from .branches import DAMAGE, Branch
from .cursor import Position
from .fanout import FanOut, too_late
from .hydrate import WholeRecords
from .key_attributes import value_in
from .merge import LaneState, Order, Record, Snapshot, needed, snapshot
from .page_budget import fitting, stored
from .page_records import PageRecords
from .plan import Plan
from .resume import Start, position_of
from .sizes import MAX_FETCH, fetch_sizes
from .spec import ANY_TIME, MAX_UNREADABLE, CutBy

MAX_FILTERED_FETCH = 4 * MAX_FETCH
BYTES_PER_UNIT = 2 * 4096
"""What a read unit pays for at most: of a read that is eventually consistent."""


@dataclass(frozen=True)
class PageLimits:
    """The limits at which a page is cut: a time of the fan-out's clock until which lanes are read, a number of reads,
    the stored bytes of its records, and read units; and whether to continue without lanes that fail."""

    deadline: float | None = None
    budget: int | None = None
    bytes: int | None = None
    units: float | None = None
    partial: bool = False


@dataclass(frozen=True)
class PageRead:
    """The result of a walk. `reached` is the position after it, None for the end of all lanes that did not fail;
    `unreadable` are the unreadable records before it, each with its position among the records; `refused` are those of
    them that could be read but not answered."""

    records: tuple[Record, ...]
    reached: Position | None
    cut_by: CutBy = ""
    unreadable: tuple[Unreadable, ...] = ()
    refused: tuple[Unreadable, ...] = ()


class PageReader:
    """Reads one page. `records` converts items to answers; `whole` reads the whole records, if they are needed."""

    def __init__(
        self,
        plan: Plan,
        begins: Sequence[Start],
        fanout: FanOut,
        keeps: Callable[[LaneState, Item], bool],
        bounds: PageLimits,
        records: PageRecords,
        whole: WholeRecords | None = None,
    ) -> None:
        self._plan = plan
        self._fanout = fanout
        self._keeps = keeps
        self._bounds = bounds
        self._records = records
        self._whole = whole
        self._unreadable: list[Unreadable] = []
        self._descending = plan.descending
        self._sort_values = [branch.sort_value_getter() for branch in plan.branches]
        self._projections = [plan.parts[branch.part].projection(branch) for branch in plan.branches]
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

    def page(self, limit: int) -> PageRead:
        """Up to `limit` records in order. Raises LaneFailed, DeadlineTooShort."""
        given: list[Record] = []
        for number, stage in enumerate(self._stages):
            if not stage:
                continue
            spent = self._spent()
            if spent and self._has_advanced(number):
                return self._cut_between(given, number, spent)
            given_before = len(given)
            done = self._stage(number, given, limit)
            if done is not None:
                return done
            self._unreadable += self._passed(number, given_before)
        return PageRead(tuple(given), None, unreadable=tuple(self._unreadable))

    def _stage(self, number: int, given: list[Record], limit: int) -> PageRead | None:
        """Read a stage until the page is full or cut; None if the stage is exhausted, with its records in `given`."""
        stage, wanted = self._stages[number], limit - len(given)
        late = self._round(stage, wanted + 1, stage)
        while True:
            read = self._snapshot(stage, given, wanted)
            if read is None:
                return self._cut_at_the_unread(given, number, wanted)
            seen, fitting = read
            final = seen.final[:wanted]
            crowded = self._cut_at_the_unreadable(given, number, None, fitting)
            if crowded is not None:
                return crowded
            if fitting < len(final):
                return self._ended_at(given, final[:fitting], number, "bytes")
            if len(seen.final) >= wanted and len(seen.records) > wanted:
                return self._ended_at(given, final, number)
            if seen.frontier is None:
                given += final
                return None
            lanes = () if late else self._affordable(needed(seen, wanted + 1, descending=self._descending))
            if not lanes:
                branch = self._plan.branches[seen.frontier.rank]
                cut_by: CutBy = "time" if late else self._spent() or "budget"
                reached = position_of(branch, seen.frontier.last_key)
                passed = (*self._unreadable, *self._passed(number, len(given)))
                return PageRead((*given, *final), reached, cut_by, passed)
            late = self._round(lanes, wanted + 1 - len(final), seen.unfinished)

    def _snapshot(
        self, stage: Sequence[LaneState], given: Sequence[Record], wanted: int
    ) -> tuple[Snapshot, int] | None:
        """The snapshot of a stage, without records that no longer exist (if whole records are read) and without
        unreadable ones, and how many of the first `wanted` records fit; these are converted. None if the deadline left
        some unread."""
        while True:
            all_given = self._whole is None and not self._records.refused
            seen = snapshot(stage, None if all_given else self._is_given, descending=self._descending)
            final = seen.final[:wanted]
            if self._whole is not None:
                if not self._whole.read(final):
                    return None
                if not all(self._whole.is_given(item) for _, item, _ in final):
                    continue
            fitting, refused = self._fitting(given, final), len(self._records.refused)
            self._records.make(final[:fitting])
            if len(self._records.refused) == refused:
                return seen, fitting

    def _made(self, given: Sequence[Record], read: Sequence[Record], wanted: int) -> tuple[list[Record], int]:
        """The records, of some, that belong to the page, and how many of the first of them fit; these are converted."""
        while True:
            following = [record for record in read if self._is_given(record[1])]
            fitting, refused = min(wanted, self._fitting(given, following)), len(self._records.refused)
            self._records.make(following[:fitting])
            if len(self._records.refused) == refused:
                return following, fitting

    def _is_given(self, item: Item) -> bool:
        return self._records.is_given(item) and (self._whole is None or self._whole.is_given(item))

    # -- what can't be read

    def _passed(self, number: int, before: int, last: Record | None = None) -> list[Unreadable]:
        """The unreadable records of a stage, up to its record `last`; `before` is the number of records before the
        stage."""
        found: list[Unreadable] = []
        if not self._records.refused:
            return found
        for record in self._final(number):
            unreadable = self._records.unreadable(record[1])
            if unreadable is not None:
                found.append(replace(unreadable, position=before))
            elif self._is_given(record[1]):
                before += 1
            if record is last or (last is not None and record[1] is last[1]):
                break
        return found

    def _cut_at_the_unreadable(
        self, given: Sequence[Record], number: int, read: Sequence[Record] | None, fitting: int
    ) -> PageRead | None:
        """The page cut after the last unreadable record that it may report, of those `read` in the stage, or of the
        final ones; None if the page ends before that, after `fitting` records."""
        if not self._records.tells or len(self._records.refused) < MAX_UNREADABLE:
            return None
        told, following = len(self._unreadable), list[Record]()
        for record in self._final(number) if read is None else read:
            if self._records.unreadable(record[1]) is not None:
                told += 1
                if told == MAX_UNREADABLE:
                    return self._ended_at(given, following, number, "unreadable", record)
            elif self._is_given(record[1]):
                if len(following) == fitting:
                    return None
                following.append(record)
        return None

    def _ended_at(
        self,
        given: Sequence[Record],
        following: Sequence[Record],
        number: int,
        cut_by: CutBy = "",
        last: Record | None = None,
    ) -> PageRead:
        """The page that ends with the last of the given records, or with `last`."""
        if last is None and not following and self._unreadable and self._unreadable[-1].position == len(given):
            return self._cut_between(given, number, cut_by)
        every = (*given, *following)
        end = every[-1] if last is None else last
        passed = self._passed(number, len(given), end) if following or last is not None else ()
        return PageRead(every, self._position(end), cut_by, (*self._unreadable, *passed))

    def _final(self, number: int) -> Sequence[Record]:
        """The final records of a stage in order, including those that no longer exist and those that can't be read."""
        return snapshot(self._stages[number], None, descending=self._descending).final

    # -- where a page begins and ends

    def first(self, walked: PageRead) -> Position | None:
        """The position of the first record of the walk, which may be unreadable; if there is none, the position at
        which the page was cut, or None if it reached the end."""
        if walked.unreadable and walked.unreadable[0].position == 0:
            read = (record for number in range(len(self._stages)) for record in self._final(number))
            return self._position(next(each for each in read if self._records.unreadable(each[1]) is not None))
        return self._position(walked.records[0]) if walked.records else walked.reached

    def shortened(self, walked: PageRead, count: int, cut_by: CutBy) -> PageRead:
        """This page, cut after a number of its records, at least one."""
        passed = tuple(each for each in walked.unreadable if each.position is not None and each.position < count)
        return PageRead(walked.records[:count], self._position(walked.records[count - 1]), cut_by, passed)

    def without_first(self, walked: PageRead, unreadable: Unreadable) -> PageRead:
        """This page, cut after its first record, which is left out since it can't be answered."""
        cut = self.shortened(walked, 1, "related")
        told = replace(unreadable, position=0)
        return replace(cut, records=(), unreadable=(*cut.unreadable, told), refused=(told,))

    def _fitting(self, given: Sequence[Record], records: Sequence[Record]) -> int:
        """How many of the records fit after those already on the page."""
        if self._bounds.bytes is None or self._most_bytes() <= self._bounds.bytes:
            return len(records)
        plan = self._plan
        size_of = [stored(part.entity) for part in plan.parts]
        sizes = (size_of[plan.branches[state.lane.rank].part](item) for _, item, state in (*given, *records))
        return fitting(sizes, self._bounds.bytes) - len(given)

    def _most_bytes(self) -> float:
        """An upper bound of the bytes of all that was read, from the read units; infinite if the table did not say."""
        metered = all(state.metered for state in self.states)
        return BYTES_PER_UNIT * sum(state.units for state in self.states) if metered else math.inf

    def _spent(self) -> CutBy:
        """The limit that has been reached, empty if none."""
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
        """Whether a lane of an earlier stage has advanced. Only then a page may end before this stage; otherwise the
        same page would be returned forever."""
        earlier = (state for stage in self._stages[:number] for state in stage)
        return any(state.started and state.failure is None for state in earlier)

    def _cut_between(self, given: Sequence[Record], number: int, cut_by: CutBy) -> PageRead:
        """The page cut before the stage: every lane continues at the beginning of the stage."""
        values = []
        for lane in self._plan.lanes:
            if lane.stage >= number and lane.interval is not None:
                bound = lane.interval.high if self._descending else lane.interval.low
                values.append(self._plan.branches[lane.rank].comparable(bound))
        edge = max(values) if self._descending else min(values)
        gap = Position(None, (edge,), behind=self._plan.backwards)
        return PageRead(tuple(given), gap, cut_by, tuple(self._unreadable))

    def _cut_at_the_unread(self, given: list[Record], number: int, wanted: int) -> PageRead:
        """The page cut before the first record whose whole record the deadline left unread."""
        whole, read = self._whole, list[Record]()
        assert whole is not None
        for record in self._final(number):
            if not whole.is_read(record[1]) and self._records.is_given(record[1]):
                break
            read.append(record)
        following, fitting = self._made(given, read, wanted)
        crowded = self._cut_at_the_unreadable(given, number, read, fitting)
        if crowded is not None:
            return crowded
        if fitting < len(following):
            cut_by: CutBy = "bytes" if fitting < wanted else "time"
            return self._ended_at(given, following[:fitting], number, cut_by)
        if read:
            return self._ended_at(given, following, number, "time", read[-1])
        if self._has_advanced(number):
            return self._cut_between(given, number, "time")
        raise too_late()

    def _position(self, record: Record) -> Position:
        _, item, state = record
        return position_of(self._plan.branches[state.lane.rank], item)

    # -- reading

    def _round(self, lanes: Sequence[LaneState], count: int, unfinished: Sequence[LaneState]) -> bool:
        """Read each of the lanes again; True if the deadline left some later read unanswered."""
        self.rounds += 1
        sizes = fetch_sizes([state.lane for state in lanes], [state.lane for state in unfinished], count)
        queries = [self._query(state, size) for state, size in zip(lanes, sizes, strict=True)]
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

    def _query(self, state: LaneState, size: int) -> Query:
        plan, branch = self._plan, self._plan.branches[state.lane.rank]
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
            projection=self._projections[branch.rank],
            descending=plan.descending,
            limit=size,
            start_key=state.last_key,
            consistent=plan.consistent,
        )

    def _take(self, state: LaneState, answer: PageAnswer) -> None:
        state.scanned += answer.scanned
        state.units += answer.units
        state.metered = state.metered and (answer.units > 0 or not answer.items)
        state.started = True
        state.finished = answer.last_key is None
        if answer.last_key is not None:
            state.last_key = answer.last_key
            state.evaluated = self._order(state, answer.last_key)
        kept = [item for item in answer.items if self._is_kept(state, item)]
        state.kept += len(kept)
        lane = state.lane
        sort_value = self._sort_values[lane.rank]
        state.records += [((sort_value(item), lane.hash_value, lane.rank), item) for item in kept]

    def _is_kept(self, state: LaneState, item: Item) -> bool:
        try:
            return self._keeps(state, item)
        except RecordUnreadable as error:
            self._records.refuse(item, error.record)
            return True

    def _order(self, state: LaneState, item: Item) -> Order:
        lane = state.lane
        return self._sort_values[lane.rank](item), lane.hash_value, lane.rank


def keeper(plan: Plan, now_seconds: float) -> Callable[[LaneState, Item], bool]:
    """A test whether a record that a lane has read belongs to the result: it has not expired, is inside the query's
    time window, passes the library's part of the filter, and is not returned by another branch. For an unreadable item
    it raises RecordUnreadable, in the branch that would return the record."""
    tests = [_keeper_of(plan, number, now_seconds) for number in range(len(plan.parts))]
    if len(tests) == 1:
        return tests[0]
    return lambda state, item: tests[plan.branches[state.lane.rank].part](state, item)


def _keeper_of(plan: Plan, part: int, now_seconds: float) -> Callable[[LaneState, Item], bool]:
    """The test for records of one of the plan's entities."""
    asked, overlap = plan.parts[part], plan.overlaps[part]
    entity, window = asked.entity, asked.window
    timestamp = entity.timestamp if window != ANY_TIME else None
    simple = entity.ttl is None and timestamp is None and not overlap.possible
    simple = simple and all(branch.filter.here is None for branch in asked.branches)
    if simple:
        return lambda state, item: True

    def is_asked_for(branch: Branch, item: Item) -> bool:
        if timestamp is not None:
            created: Any = value_in(entity, item, timestamp)
            if window.low is not None and created < window.low:
                return False
            if window.high is not None and created > window.high:
                return False
        return branch.filter.holds_here(item)

    def keeps(state: LaneState, item: Item) -> bool:
        if entity.is_expired(item, now_seconds):
            return False
        branch: Branch = plan.branches[state.lane.rank]
        unread: RecordUnreadable | None = None
        try:
            if not is_asked_for(branch, item):
                return False
        except RecordUnreadable as error:
            unread = error
        except DAMAGE:
            unread = entity.unreadable(item, entity.keys.fault_in(item) or "invalid")
        if not overlap.is_given(branch, state.lane.hash_value, item):
            return False
        if unread is not None:
            raise unread
        return True

    return keeps
