"""The runner: answers queries page by page.

Guarantees: a page is in the plan's order; every page has exactly `limit` records while that many remain, unless it was
cut, which it reports; all pages together are the sorted result, with each record once; a page has a cursor only if
another record exists, the page was cut, or a lane failed. Under writes: a record whose relevant properties do not
change during the walk is returned exactly once.

A page that was requested with a cursor has a cursor for each direction. The cursor back has the position of the first
record of the walk, without positions of failed lanes: it leads to the `limit` records next to that position at the time
of the read, which may be none. A page that is read backwards is read, cut and limited from its end, then turned.

Cost: see `walk`. A page costs the same at any depth.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import replace
from typing import Any, TypeVar

from ..errors import (
    DeadlineTooShort,
    InputError,
    LaneFailed,
    RecordUnreadable,
    ShardMapChanged,
    TooManyLaggingLanes,
    TooManyReads,
)
from ..schema.entity import now_ms
from ..schema.entity_type import EntityType
from ..schema.schema import Schema
from ..schema.shard_maps import Lease, ShardMaps
from ..table import Table
from ..table.retry import system_random
from ..table.values import Item
from ..table.waiting import sleep
from .count import CountAnswer, Counter
from .cursor import DEFAULT_LIFE_MS, CursorCodec, CursorKeys, CursorState
from .explain import Explanation, explain
from .fanout import DEFAULT_THROTTLE, FanOut, Wait, too_late, wait_for
from .hydrate import PART_OF_LANES, WholeRecords
from .merge import Record
from .page_budget import PageBudget
from .page_records import PageRecords
from .plan import Plan, plan_query
from .resume import Start, advanced, order_of, starts, turned
from .spec import LaneReport, Page, QuerySpec, QueryStats
from .walk import PageLimits, PageRead, PageReader, keeper

R = TypeVar("R")

MAX_MAP_CHANGES = 5
"""How often a query is repeated because the shard map changed before its result was complete."""

MAX_READ_UNITS, MOST_READ_UNITS = 20_000, 1_000_000
"""Read units that one query may spend: the default (80 MB, or 160 MB of eventually consistent reads), and the highest
possible choice."""

Leases = Sequence[Lease | None]
"""The validity of the shard map of each entity of a query."""

Observer = Callable[[Plan, QueryStats], None]
"""Called for every page and count, also failed ones, with its plan and its cost."""


class QueryRunner:
    """Runs queries of one schema against one table. Safe for many threads. `maps` are the shard maps in force (by
    default read from the table, see `maps_in_force`). `cursors` encrypts the position after a page and `now_ms` is the
    clock for the beginning of a walk, also for lists of lookups. `max_units` are the read units that one query of
    another caller, as over HTTP, may spend. Time limits are measured by `monotonic` (in seconds) and `wait`."""

    def __init__(
        self,
        schema: Schema,
        table: Table,
        cursor_keys: CursorKeys | Callable[[], CursorKeys],
        *,
        maps: ShardMaps | None = None,
        clock: Callable[[], int] = now_ms,
        throttle: int = DEFAULT_THROTTLE,
        cursor_life_ms: int = DEFAULT_LIFE_MS,
        max_units: float | None = None,
        observer: Observer | None = None,
        sleep: Callable[[float], object] = sleep,
        jitter: Callable[[], float] = system_random,
        monotonic: Callable[[], float] = time.monotonic,
        wait: Wait = wait_for,
    ) -> None:
        self._schema = schema
        self._maps = _maps_in_force(table, clock) if maps is None else maps
        self.now_ms = clock
        self.cursors = CursorCodec(cursor_keys, cursor_life_ms)
        self._fanout = FanOut(table, throttle, sleep=sleep, jitter=jitter, monotonic=monotonic, wait=wait)
        self.max_units = max_units
        self._observer = observer
        self.monotonic = monotonic

    def hiding(self, indexes: frozenset[str], entity: str | None = None) -> QueryRunner:
        """A runner for queries that must not use some indexes, of one entity (a token) or of all. It shares this
        runner's threads, and must not be closed."""
        if not indexes:
            return self
        found = copy(self)
        found._schema = self._schema.hiding(indexes, entity)
        return found

    # -- pages

    def run(self, spec: QuerySpec, *, room: PageBudget | None = None) -> Page:
        """One page, cut if its byte budget is used up. Raises InputError's kinds, LaneFailed, DeadlineTooShort,
        TooManyLaggingLanes."""
        return self._run(spec, room)[0]

    def pages(self, spec: QuerySpec) -> Iterator[Page]:
        """Every page from the spec's cursor on, in its direction; the next page is read while the caller works on the
        current one."""
        with ThreadPoolExecutor(1, thread_name_prefix="next-page") as ahead:
            coming = ahead.submit(self.run, spec)
            while True:
                page = coming.result()
                if page.onward is None:
                    yield page
                    return
                coming = ahead.submit(self.run, replace(spec, cursor=page.onward))
                yield page

    def records(self, spec: QuerySpec) -> Iterator[Any]:
        """Every record, page by page. Raises RecordUnreadable at a record that can't be read; `pages` continues
        instead."""
        for page in self.pages(spec):
            yield from _as_read(page).in_order()

    async def run_async(self, spec: QuerySpec) -> Page:
        """One page, without blocking the event loop."""
        import asyncio

        return await asyncio.to_thread(self.run, spec)

    async def pages_async(self, spec: QuerySpec) -> AsyncIterator[Page]:
        """As `pages`."""
        while True:
            page = await self.run_async(spec)
            yield page
            if page.onward is None:
                return
            spec = replace(spec, cursor=page.onward)

    async def records_async(self, spec: QuerySpec) -> AsyncIterator[Any]:
        """As `records`."""
        async for page in self.pages_async(spec):
            for item in _as_read(page).in_order():
                yield item

    # -- shorter questions

    def first(self, spec: QuerySpec) -> Any | None:
        """The first record, or None. The time limit is for the whole answer, not for a page: raises DeadlineTooShort if
        it passes before the answer is known, and RecordUnreadable if the first record can't be read."""
        deadline = self._deadline(spec, self.monotonic())
        spec = replace(spec, limit=1)
        while True:
            page = self.run(spec)
            for item in _as_read(page).in_order():
                return item
            if page.onward is None:
                return None
            spec = replace(spec, cursor=page.onward)
            if deadline is not None:
                left = deadline - self.monotonic()
                if left <= 0:
                    raise too_late()
                spec = replace(spec, time_limit_ms=max(1, round(left * 1000)))

    def exists(self, spec: QuerySpec) -> bool:
        """Whether any record matches the query, including records that can't be read."""
        try:
            return self.first(spec) is not None
        except RecordUnreadable:
            return True

    def count(self, spec: QuerySpec) -> CountAnswer:
        """The number of records that match the query, on all pages; limit and cursor are ignored."""
        return self._while_in_force(lambda: self._count(spec))

    def _count(self, spec: QuerySpec) -> tuple[CountAnswer, Leases]:
        begun, now = self.monotonic(), self.now_ms()
        plan, _, leases = self._plan(replace(spec, cursor=None), now)
        try:
            answer = Counter(plan, self._fanout, now / 1000).count(self._deadline(spec, begun), spec.units)
        except (LaneFailed, DeadlineTooShort, TooManyReads) as error:
            late = isinstance(error, DeadlineTooShort)
            self._observe(
                plan,
                QueryStats(
                    lanes=len(plan.lanes),
                    failed_lanes=int(isinstance(error, LaneFailed)),
                    cut_by="time" if late else "",
                ),
            )
            raise
        self._observe(plan, answer.stats)
        return answer, leases

    # -- plans

    def plan(self, spec: QuerySpec) -> Plan:
        """The plan of a query, without reading anything."""
        return self._plan(spec, self.now_ms())[0]

    def for_whole_records(self, spec: QuerySpec) -> QuerySpec:
        """The query with `hydrate` if an index that it uses does not project whole records."""
        views = [view for part in spec.parts for view in self._schema.entity(part.entity).views.values()]
        if all(view.projected is None for view in views) or self.plan(spec).whole:
            return spec
        return replace(spec, hydrate=True)

    def explain(self, spec: QuerySpec, *, run: bool = False) -> Explanation:
        """The explanation of the query; with `run` it is also executed, and the explanation has its cost."""
        given: Any = run
        if not isinstance(given, bool):
            message = f"must be true or false, got {type(given).__name__}"
            raise InputError(message, where="run", fix="give one of them")
        if run:
            page, plan, begins = self._run(spec)
            return explain(plan, begins, page.stats, places=spec.shows_places)
        plan, state, _ = self._plan(spec, self.now_ms())
        return explain(plan, starts(plan, state), None, places=spec.shows_places)

    def close(self) -> None:
        """Stop the threads."""
        self._fanout.close()

    # -- parts

    def _run(self, spec: QuerySpec, room: PageBudget | None = None) -> tuple[Page, Plan, list[Start]]:
        return self._while_in_force(lambda: self._run_once(spec, room))

    def _while_in_force(self, ask: Callable[[], tuple[R, Leases]]) -> R:
        """The result of `ask`, which is called again if a shard map that it used was replaced before its result was
        complete."""
        for _ in range(MAX_MAP_CHANGES):
            answer, leases = ask()
            if all(lease is None or lease.renew() for lease in leases):
                return answer
        raise ShardMapChanged("the shard map kept changing", where="query", fix="try again")

    def _run_once(self, spec: QuerySpec, room: PageBudget | None) -> tuple[tuple[Page, Plan, list[Start]], Leases]:
        begun = self.monotonic()
        now = self.now_ms()
        plan, state, leases = self._plan(spec, now)
        begins = starts(plan, state)
        size = None if room is None else room.bytes
        deadline, whole = self._deadline(spec, begun), None
        if plan.hydrate:
            visible = [part.visibility for part in spec.parts]
            whole = WholeRecords(plan, self._fanout, visible, now / 1000, deadline)
            deadline = self._deadline(spec, begun, PART_OF_LANES)
        bounds = PageLimits(deadline, spec.budget, size, spec.units, spec.on_shard_error == "partial")
        form, direct = (_as_it_is, _never) if room is None else (room.form, room.direct)
        records = PageRecords(plan, whole, form, direct, tells_unreadable=spec.reports_unreadable)
        walk = PageReader(plan, begins, self._fanout, keeper(plan, now / 1000), bounds, records, whole)
        try:
            walked = walk.page(plan.limit)
            first = None if spec.cursor is None else walk.first(walked)
            items, walked = _answered(walk, walked, [records.of(item) for _, item, _ in walked.records], room)
            failed = walk.failed
            following = advanced(plan, state, walked.reached, {lane.lane.number for lane in failed})
        except (LaneFailed, DeadlineTooShort, TooManyLaggingLanes) as error:
            nothing = PageRead((), None, "time" if isinstance(error, DeadlineTooShort) else "")
            self._observe(plan, _stats(plan, walk, nothing, (self.monotonic() - begun) * 1000))
            raise
        stats = _stats(plan, walk, walked, (self.monotonic() - begun) * 1000)
        self._observe(plan, stats)
        page = Page(
            items=tuple(items),
            cursor=self._token(plan, following),
            complete=not walked.cut_by and not failed,
            index=plan.branches[0].view.index,
            failed=tuple(plan.name(lane.lane) for lane in failed),
            late=_late(plan, state, walked.records),
            unreadable=walked.unreadable if spec.reports_unreadable else walked.refused,
            stats=stats,
            prev_token=None if spec.cursor is None else self._token(plan, turned(plan, state, first)),
        )
        return (page.turned() if plan.backwards else page, plan, begins), leases

    def _token(self, plan: Plan, state: CursorState | None) -> str | None:
        return None if state is None else self.cursors.encode(state, plan.fingerprint)

    def _observe(self, plan: Plan, stats: QueryStats) -> None:
        if self._observer is not None:
            self._observer(plan, stats)

    def _deadline(self, spec: QuerySpec, begun: float, part: float = 1.0) -> float | None:
        return None if spec.time_limit_ms is None else begun + part * spec.time_limit_ms / 1000

    def _plan(self, spec: QuerySpec, now: int) -> tuple[Plan, CursorState, Leases]:
        entities = [self._schema.entity(part.entity) for part in spec.parts]
        views = [self._maps.view(entity) for entity in entities]
        leases = [view.lease for view in views]
        plan = plan_query(self._schema, spec, [view.shard_map for view in views], now)
        if spec.cursor is None:
            return plan, CursorState(now, plan.map_ids, None), leases
        state = self.cursors.decode(spec.cursor, plan.fingerprint, now)
        if state.map_ids != plan.map_ids:
            named = zip(entities, state.map_ids, strict=True)
            plan = plan_query(self._schema, spec, [self._maps.readable(*each) for each in named], now)
        return plan.turned() if state.backwards else plan, state, leases


def _as_read(page: Page) -> Page:
    return page.turned() if page.backwards else page


def _as_it_is(record: Any) -> Any:
    return record


def _never(entity: EntityType[Any], items: Sequence[Item]) -> list[None]:
    """No item is answered without a record of it."""
    return [None] * len(items)


def _answered(
    walk: PageReader, walked: PageRead, items: list[Any], room: PageBudget | None
) -> tuple[list[Any], PageRead]:
    """The items that fit into a page, and the walk up to there. If the first item alone does not fit, the page ends
    after it without it."""
    if room is None:
        return items, walked
    try:
        fitting, short_of = room.answered(items)
    except RecordUnreadable as error:
        return [], walk.without_first(walked, error.record)
    if not short_of or fitting == len(items):
        return items, walked
    return items[:fitting], walk.shortened(walked, fitting, short_of)


def _late(plan: Plan, state: CursorState, records: tuple[Record, ...]) -> int:
    """How many of the first records read are before the position at which the page's main lanes began."""
    if not state.lagging:
        return 0
    if state.at_end or state.position is None:
        return len(records) if state.at_end else 0
    begin = order_of(plan, state.position)
    return sum(order > begin if plan.descending else order < begin for order, _, _ in records)


def _stats(plan: Plan, walk: PageReader, walked: PageRead, milliseconds: float) -> QueryStats:
    returned: dict[int, int] = {}
    for _, _, state in walked.records:
        returned[state.lane.number] = returned.get(state.lane.number, 0) + 1
    read = [state for state in walk.states if state.requests]
    reports = tuple(
        LaneReport(
            lane=title,
            requests=state.requests,
            scanned=state.scanned,
            returned=returned.get(state.lane.number, 0),
            units=state.units,
            milliseconds=state.milliseconds,
            failure=None if state.failure is None else state.failure.code,
        )
        for state, title in zip(read, plan.titles(state.lane for state in read), strict=True)
    )
    return QueryStats(
        lanes=len(reports),
        requests=walk.requests,
        rounds=walk.rounds,
        scanned=sum(report.scanned for report in reports),
        returned=len(walked.records),
        empty=sum(report.scanned == 0 and report.failure is None for report in reports),
        units=sum(report.units for report in reports),
        milliseconds=milliseconds,
        failed_lanes=len(walk.failed),
        cut_by=walked.cut_by,
        unreadable=walked.unreadable,
        reports=reports,
    )


def _maps_in_force(table: Table, clock: Callable[[], int]) -> ShardMaps:
    from ..reshard.leased_maps import maps_in_force  # the module is built on this package

    return maps_in_force(table, clock)
