"""The runner: carries out a plan page by page.

Guarantees: a page is in the plan's order; every page but the last has exactly `limit` records; the pages put together
are the sorted answer, each record once; a cursor is given only when another record exists. Under writes: a record
whose relevant properties do not change during the walk is returned exactly once.

Cost: one read of each lane of the current stage, sized by `sizes`; further reads only of lanes that the merge needs,
in parallel. A page costs the same at any depth.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..entity import now_ms
from ..entity_type import EntityType
from ..schema import Schema
from ..shard_maps import ShardMaps, StaticMaps
from ..table import Table
from ..table.operations import PageAnswer, Query
from ..table.values import Item, item_bytes
from .cursor import DEFAULT_LIFE_MS, CursorCodec, CursorKeys, CursorState
from .fanout import DEFAULT_THROTTLE, FanOut
from .merge import LaneState, Order, needed, ready
from .plan import Plan, plan_query
from .resume import Start, position_of, starts
from .sizes import fetch_size, records_per_unit
from .spec import Page, QuerySpec

ASSUMED_RECORD_BYTES = 1024.0


class QueryRunner:
    """Runs queries of one schema against one table. Safe for many threads."""

    def __init__(
        self,
        schema: Schema,
        table: Table,
        cursor_keys: CursorKeys,
        *,
        maps: ShardMaps | None = None,
        clock: Callable[[], int] = now_ms,
        throttle: int = DEFAULT_THROTTLE,
        cursor_life_ms: int = DEFAULT_LIFE_MS,
    ) -> None:
        self._schema = schema
        self._maps = maps or StaticMaps()
        self._clock = clock
        self._cursors = CursorCodec(cursor_keys, cursor_life_ms)
        self._fanout = FanOut(table, throttle)
        self._sizes: dict[tuple[str, str | None], float] = {}

    def run(self, spec: QuerySpec) -> Page:
        """One page. Raises the errors of planning and of cursors, and TableError's kinds."""
        now = self._clock()
        plan, state = self._plan(spec, now)
        walk = _Walk(self, plan, starts(plan, state.position), now)
        records, more = walk.page(plan.limit)
        cursor = None
        if more:
            item, lane_state = records[-1]
            position = position_of(plan.branches[lane_state.lane.rank], item)
            cursor = self._cursors.encode(CursorState(state.started_ms, plan.map_id, position), plan.fingerprint)
        return Page(
            items=tuple(_shown(plan, item) for item, _ in records),
            cursor=cursor,
            index=plan.branches[0].view.index,
            requests=walk.requests,
            scanned=walk.scanned,
            units=walk.units,
        )

    def plan(self, spec: QuerySpec) -> Plan:
        """The plan of a query, without reading anything."""
        return self._plan(spec, self._clock())[0]

    def close(self) -> None:
        """Stop the threads."""
        self._fanout.close()

    def _plan(self, spec: QuerySpec, now: int) -> tuple[Plan, CursorState]:
        entity = self._schema.entity(spec.entity)
        current = self._maps.current(entity)
        plan = plan_query(self._schema, spec, current, now)
        if spec.cursor is None:
            return plan, CursorState(now, plan.map_id, None)
        state = self._cursors.decode(spec.cursor, plan.fingerprint, now)
        if state.map_id != plan.map_id:
            plan = plan_query(self._schema, spec, self._maps.readable(entity, state.map_id), now)
        return plan, state


class _Walk:
    """The reading of one page."""

    def __init__(self, runner: QueryRunner, plan: Plan, begins: list[Start], now_ms: int) -> None:
        self._runner = runner
        self._plan = plan
        self._now_seconds = now_ms / 1000
        self._stages: list[list[LaneState]] = [[] for _ in range(plan.stages)]
        self._intervals = {}
        for lane, start in zip(plan.lanes, begins, strict=True):
            if start.interval is not None:
                self._stages[lane.stage].append(LaneState(lane, last_key=start.start_key))
                self._intervals[lane.number] = start.interval
        self.requests = 0
        self.scanned = 0
        self.units = 0.0

    def page(self, limit: int) -> tuple[list[tuple[Item, LaneState]], bool]:
        """Up to `limit` records in order, and whether another exists."""
        given: list[tuple[Item, LaneState]] = []
        for states in self._stages:
            while True:
                wanted = limit - len(given)
                final = ready(states, descending=self._plan.descending) if _started(states) else None
                if final is not None:
                    if len(final.records) >= wanted and len(final.records) + final.beyond > wanted:
                        given += [(item, state) for _, item, state in final.records[:wanted]]
                        return given, True
                    if all(state.finished for state in states):
                        given += [(item, state) for _, item, state in final.records]
                        break
                self._read(states, wanted + 1)
        return given, False

    def _read(self, states: list[LaneState], count: int) -> None:
        """Read the lanes that must be read before `count` records are final."""
        lanes = [state for state in states if not state.started]
        lanes = lanes or needed(states, count, descending=self._plan.descending)
        answers = self._runner._fanout.read([self._query(state, len(states), count) for state in lanes])
        for state, answer in zip(lanes, answers, strict=True):
            self._take(state, answer)

    def _query(self, state: LaneState, lanes: int, count: int) -> Query:
        plan, branch = self._plan, self._plan.branches[state.lane.rank]
        mean = self._runner._sizes.get((plan.entity.token, branch.view.index), ASSUMED_RECORD_BYTES)
        size = fetch_size(lanes, count, records_per_unit(mean))
        return Query(
            hash_name=branch.view.hash_name,
            hash_value=state.lane.hash_value,
            range_name=branch.view.range_name,
            interval=self._intervals[state.lane.number],
            index=branch.view.index,
            descending=plan.descending,
            limit=size,
            start_key=state.last_key,
            consistent=plan.consistent,
        )

    def _take(self, state: LaneState, answer: PageAnswer) -> None:
        plan, branch = self._plan, self._plan.branches[state.lane.rank]
        self.requests += 1
        self.scanned += answer.scanned
        self.units += answer.units
        state.started = True
        state.finished = answer.last_key is None
        state.last_key = answer.last_key
        if answer.last_key is not None:
            state.evaluated = self._order(state, answer.last_key)
        for item in answer.items:
            if self._keeps(item):
                state.records.append((self._order(state, item), item))
        if answer.items:
            sizes, key = self._runner._sizes, (plan.entity.token, branch.view.index)
            sizes[key] = 0.9 * sizes.get(key, ASSUMED_RECORD_BYTES) + 0.1 * item_bytes(answer.items[0])

    def _order(self, state: LaneState, item: Item) -> Order:
        return self._plan.branches[state.lane.rank].sort_value(item), *state.lane.order

    def _keeps(self, item: Item) -> bool:
        """Whether a record is shown: not expired, and inside the asked time window."""
        entity: EntityType[Any] = self._plan.entity
        if entity.is_expired(item, self._now_seconds):
            return False
        window = self._plan.window
        if entity.timestamp is None or (window.low is None and window.high is None):
            return True
        created = item[entity.timestamp]
        return (window.low is None or created >= window.low) and (window.high is None or created <= window.high)


def _started(states: list[LaneState]) -> bool:
    return all(state.started for state in states)


def _shown(plan: Plan, item: Item) -> Any:
    if plan.branches[0].view.projected is None:
        return plan.entity.load(item)
    return plan.entity.visible(item)
