"""Counting the records that match a query.

Lanes are counted by the table, all in parallel and each to its end, without a record leaving it. If that would not be
exact (branches that overlap, a filter that is evaluated here, a time window, a TTL that is a key) keys are read and
counted here.

Records that can't be read are counted too, since their entries are in the index.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import DeadlineTooShort, LaneFailed, RecordUnreadable, TooManyReads
from ..table.conditions import And, Compare, Condition, Not
from ..table.operations import PageAnswer, Query
from ..table.values import Item
from .branches import Branch
from .fanout import FanOut
from .key_attributes import attributes_for
from .merge import LaneState
from .plan import Plan
from .spec import ANY_TIME, LaneReport, QueryStats
from .walk import keeper


@dataclass(frozen=True)
class CountAnswer:
    """The exact number of records, and what counting cost."""

    count: int
    stats: QueryStats


class Counter:
    """Counts one plan."""

    def __init__(self, plan: Plan, fanout: FanOut, now_seconds: float) -> None:
        self._plan = plan
        self._fanout = fanout
        self._now = now_seconds
        self._keeps = keeper(plan, now_seconds)
        self._by_table = self._can_table_count()

    def count(self, deadline: float | None = None, units: float | None = None) -> CountAnswer:
        """Raises LaneFailed, DeadlineTooShort when the deadline passes first, TooManyReads when it takes more read
        units than that."""
        begun = self._fanout.monotonic()
        states = [LaneState(lane, lane.interval) for lane in self._plan.lanes if lane.interval is not None]
        open_states, rounds = list(states), 0
        while open_states:
            rounds += 1
            outcomes = self._fanout.read([self._query(state) for state in open_states], deadline)
            for state, outcome in zip(open_states, outcomes, strict=True):
                state.requests += 1
                state.milliseconds += outcome.milliseconds
                if outcome.answer is None:
                    assert outcome.error is not None
                    if isinstance(outcome.error, DeadlineTooShort):
                        raise outcome.error
                    raise LaneFailed(self._plan.name(state.lane), outcome.error, optional=False)
                self._take(state, outcome.answer)
            open_states = [state for state in open_states if not state.finished]
            if open_states and units is not None and sum(state.units for state in states) >= units:
                fix = "count fewer at once: fix more of the index's properties, or a narrower range of them"
                raise TooManyReads("there is more to count than one request may read", where="query", fix=fix)
        return CountAnswer(sum(state.kept for state in states), self._stats(states, rounds, begun))

    def _can_table_count(self) -> bool:
        plan = self._plan
        if any(overlap.possible for overlap in plan.overlaps) or any(part.window != ANY_TIME for part in plan.parts):
            return False
        return all(
            branch.filter.here is None and part.entity.ttl not in (branch.view.hash_name, branch.view.range_name)
            for part in plan.parts
            for branch in part.branches
        )

    def _query(self, state: LaneState) -> Query:
        plan, branch = self._plan, self._plan.branches[state.lane.rank]
        condition = branch.filter.by_table
        if self._by_table:
            condition = self._live(plan.parts[branch.part].entity.ttl, condition)
        return Query(
            hash_name=branch.view.hash_name,
            hash_value=state.lane.hash_value,
            range_name=branch.view.range_name,
            interval=state.interval,
            index=branch.view.index,
            filter=condition,
            projection=None if self._by_table else self._read_names(branch),
            start_key=state.last_key,
            consistent=plan.consistent,
            count_only=self._by_table,
        )

    def _live(self, ttl: str | None, condition: Condition | None) -> Condition | None:
        if ttl is None:
            return condition
        live = Not(Compare(ttl, "<=", int(self._now)))
        return live if condition is None else And((condition, live))

    def _read_names(self, branch: Branch) -> tuple[str, ...] | None:
        part, seen = self._plan.parts[branch.part], branch.view.projected
        if any(each.filter.current is not None and each.filter.here is not None for each in part.branches):
            return None  # an upgrade needs the whole record
        entity = part.entity
        timed = [entity.timestamp] if entity.timestamp and part.window != ANY_TIME else []
        names = attributes_for(entity, branch.view, timed)
        names += [entity.ttl] if entity.ttl else []
        for each in part.branches:
            names += [each.view.hash_name, each.view.range_name]
            names += attributes_for(entity, branch.view, sorted(each.filter.attributes()))
        return tuple(name for name in dict.fromkeys(names) if seen is None or name in seen)

    def _take(self, state: LaneState, answer: PageAnswer) -> None:
        state.scanned += answer.scanned
        state.units += answer.units
        state.last_key = answer.last_key
        state.finished = answer.last_key is None
        state.kept += answer.count if self._by_table else sum(self._is_counted(state, item) for item in answer.items)

    def _is_counted(self, state: LaneState, item: Item) -> bool:
        try:
            return self._keeps(state, item)
        except RecordUnreadable:
            return True

    def _stats(self, states: list[LaneState], rounds: int, begun: float) -> QueryStats:
        reports = tuple(
            LaneReport(title, s.requests, s.scanned, s.kept, s.units, s.milliseconds)
            for s, title in zip(states, self._plan.titles(s.lane for s in states), strict=True)
        )
        return QueryStats(
            lanes=len(states),
            requests=sum(state.requests for state in states),
            rounds=rounds,
            scanned=sum(state.scanned for state in states),
            returned=sum(state.kept for state in states),
            empty=sum(state.scanned == 0 for state in states),
            units=sum(state.units for state in states),
            milliseconds=(self._fanout.monotonic() - begun) * 1000,
            reports=reports,
        )
