"""Queries against a model: random schemas, data, generations, branches, filters, limits, directions, and what cuts a
page: deadlines, budgets, bytes, and lanes that fail and recover. In half of them some records are damaged. The pages
put together equal a brute-force evaluation of the question, exactly: each record is given once, or, where it can't be
read, told once in its place. After each walk some steps go back and forth with other limits, and each of their pages is
what stands next to its place. One question in six is asked once more, of two to four entities at once, with the same or
with other generations.

`./run test integration -k query_model --questions N --first-question M` asks N questions from the Mth on instead of the
first 2,000. Each aims at one of the shapes in `question_shapes`; the run fails when one was met too rarely, and
`--question-shapes` prints how often each was met. A failure names its question, and that is the whole of it.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from shardweave.errors import DeadlineTooShort, LaneFailed, Throttled, UnsupportedQuery
from shardweave.query.branches import Branch
from shardweave.query.cursor import CursorKeys
from shardweave.query.fanout import wait_for
from shardweave.query.page_budget import PageBudget
from shardweave.query.plan import Plan
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Constraint, Equal, Page, Prefix, QuerySpec, joined
from shardweave.table import Guard, Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import TableLayout
from shardweave.table.operations import Operation, PutItem, Query
from tests.integration.query_questions import DAY, NOW, make_branches, make_filter, make_items, make_schema
from tests.integration.question_shapes import (
    SEVERAL,
    SHAPES,
    Shape,
    before_shape,
    met,
    own_shapes,
    shape_of,
    unreadable_shape,
)
from tests.integration.table_contract import OpenTable

KEYS = CursorKeys("k", {"k": b"k" * 32})
READ_MS = 10
"""What each read takes."""


class FlakyTable:
    """A table of which some hash keys do not answer while they are in `broken`, that gives at most `most` records at
    once, and each of whose reads takes `READ_MS` of a clock of its own. Reads of a round come from threads, or
    where it answers `in_turn` one after another, so that the clock is told after each."""

    def __init__(self, inner: Table, most: int | None = None, *, in_turn: bool = False) -> None:
        self.most = most
        self.answers_in_process = in_turn
        self.inner = inner
        self.layout = inner.layout
        self.guards_inside_writes = inner.guards_inside_writes
        self.broken: set[str] = set()
        self.seconds = 0.0

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, Query):
            self.seconds += READ_MS / 1000
            if operation.hash_value in self.broken:
                raise Throttled
            if self.most is not None and operation.limit is not None:
                operation = replace(operation, limit=min(operation.limit, self.most))
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()


def wait_for_all(futures: Collection[Future[Any]], seconds: float | None) -> Collection[Future[Any]]:
    """Every future: what is late is said by the table's clock alone."""
    return wait_for(futures, None)


def brute_force(plan: Plan, items: list[dict[str, Any]], spec: QuerySpec) -> list[tuple[Any, str, int, str]]:
    """Every record that a branch holds, once, at its lowest place in ascending order; then in query order."""
    found: dict[str, tuple[Any, str, int, str]] = {}
    for item in items:
        if isinstance(item.get("expires"), int) and item["expires"] <= NOW // 1000:
            continue
        created = item["created"]
        if (spec.earliest is not None and created < spec.earliest) or (
            spec.latest is not None and created > spec.latest
        ):
            continue
        places = [place for branch in plan.branches if (place := place_in(branch, plan, item)) is not None]
        if places:
            found[item["thingId"]] = (*min(places), item["thingId"])
    return sorted(found.values(), key=lambda place: place[:3], reverse=spec.reverse)


def place_in(branch: Branch, plan: Plan, item: Mapping[str, Any]) -> tuple[Any, str, int] | None:
    view = branch.view
    if item["hashKey"].partition("!")[0] != plan.parts[branch.part].entity.token:
        return None
    if view.hash_name not in item or view.range_name not in item or not branch.filter.evaluate(item):
        return None
    for name, constraint in branch.conditions.items():
        if not meets(at(item, name), constraint):
            return None
    return branch.sort_value(item), item[view.hash_name], branch.rank


def at(item: Mapping[str, Any], path: str) -> Any:
    """What an item has at a path into its maps."""
    found: Any = item
    for step in path.split("."):
        found = found.get(step) if isinstance(found, Mapping) else None
    return found


def meets(value: Any, constraint: Constraint) -> bool:
    if value is None:
        return False
    if isinstance(constraint, Equal):
        return bool(value == constraint.value)
    if isinstance(constraint, Prefix):
        return bool(value.startswith(constraint.text))
    return (constraint.low is None or value >= constraint.low) and (constraint.high is None or value <= constraint.high)


@dataclass
class Walk:
    """One question walked to its end, cut as its shape says. `late` says that lanes failed and went on later, so that
    order holds within pages alone."""

    chooser: random.Random
    runner: QueryRunner
    table: FlakyTable
    plan: Plan
    cut: str
    met: Counter[Shape | str] = field(default_factory=Counter)
    pages: list[Page] = field(default_factory=list)
    late: bool = False

    def run(self, spec: QuerySpec) -> None:
        room = (
            PageBudget(self.chooser.choice([1, 300, 900]), lambda records: [0] * len(records))
            if self.cut == "bytes"
            else None
        )
        cursor, steps = None, 0
        while True:
            steps += 1
            assert steps < 2000, "the walk makes no progress"
            self._break_some(steps)
            try:
                page = self.runner.run(replace(spec, cursor=cursor), room=room)
            except LaneFailed:
                assert self.table.broken
                self._meet("lane fails")
                continue
            except DeadlineTooShort:
                assert spec.time_limit_ms is not None
                spec = replace(spec, time_limit_ms=2 * spec.time_limit_ms)
                continue
            self._check(page, spec)
            self.pages.append(page)
            if page.cursor is None:
                if all(each.complete for each in self.pages):
                    self._meet("nothing")
                return
            cursor = page.cursor

    def _break_some(self, steps: int) -> None:
        self.table.broken = set()
        hashes = sorted({lane.hash_value for lane in self.plan.lanes if lane.interval is not None})
        if self.cut in ("lane fails", "lane left out") and hashes and steps < 12 and self.chooser.random() < 0.6:
            self.table.broken = set(self.chooser.sample(hashes, self.chooser.randint(1, max(1, len(hashes) // 3))))

    def _check(self, page: Page, spec: QuerySpec) -> None:
        assert len(page.items) <= spec.limit
        if page.complete and page.cursor is not None:
            assert len(page.items) == spec.limit, "a page that was not cut is full"
        assert page.late == 0 or self.late
        if page.unreadable:
            self.met[unreadable_shape(self.cut, reverse=spec.reverse)] += 1
        if page.failed:
            self.late = True
            self._meet("lane left out" if self.table.broken else "deadline")
        elif not page.complete:
            self._meet(self.cut)

    def _meet(self, cut: str) -> None:
        self.met[shape_of(self.plan, cut)] += 1
        self.met.update(own_shapes(self.plan, cut))


DAMAGE: tuple[dict[str, Any], ...] = ({"rev": 7}, {"expires": "soon"}, {"tags": 5}, {"rev": 7, "tags": "x"})
"""What another program left in records. Their keys, and so their places in every index, stay."""


def damaged(harm: random.Random, items: list[dict[str, Any]]) -> set[str]:
    """Damage some of the items in half of the cases, and give the ids of those."""
    if harm.random() < 0.5:
        return set()
    chance = harm.choice([0.05, 0.3, 0.3, 0.9])
    found = [item for item in items if harm.random() < chance]
    for item in found:
        item.update(harm.choice(DAMAGE))
    return {item["thingId"] for item in found}


def ask(
    seed: int, open_table: Callable[[TableLayout], Table] = EmbeddedTable, *, several: bool = False
) -> Counter[Shape | str] | None:
    """The shapes that a question met, of `several` entities or of one; None where it can't be asked: a bare-bar format
    and an index that projects little refuse some."""
    chooser, shape = random.Random(seed), SHAPES[seed % len(SHAPES)]
    kinder = random.Random(f"kinds {seed}")
    spreader = random.Random(f"shards {seed}")
    schema = make_schema(chooser, shape.generations, spreader, kinder if several else None)
    thing, *others = schema.entities.values()
    items = make_items(chooser, thing)
    for mark, other in zip("bcd", others, strict=False):
        items += make_items(kinder, other, mark)
    harmed = damaged(random.Random(f"harm {seed}"), items)
    most = chooser.choice([1, 2, 3] if shape.cut in ("deadline", "budget") else [None, None, None, 2])
    in_turn = random.Random(f"turn {seed}").random() < 0.5
    table = FlakyTable(open_table(schema.layout), most, in_turn=in_turn)
    for item in items:
        table.run(PutItem(item))
    runner = QueryRunner(
        schema, table, KEYS, clock=lambda: NOW, throttle=1 if shape.cut == "deadline" else 2,
        sleep=lambda seconds: None, monotonic=lambda: table.seconds, wait=wait_for_all,
    )  # fmt: skip
    branches = make_branches(chooser, shape)
    window = chooser.random() < 0.1 and all(branch.index != "mineLast" for branch in branches)
    cut = shape.cut
    spec = QuerySpec(
        "thing",
        branches=tuple(branches),
        filter=make_filter(chooser, 0.3),
        reverse=shape.reverse,
        limit=chooser.choice(
            [1, 2, 3, 7, 25] if cut in ("nothing", "lane fails", "lane left out") else [2, 3, 7, 25, 61]
        ),
        earliest=NOW - 2 * DAY if window else None,
        latest=NOW - DAY if window and chooser.random() < 0.5 else None,
        budget=chooser.choice([1, 2, 4]) if cut == "budget" else None,
        time_limit_ms=chooser.choice([15, 25, 45, 65]) if cut == "deadline" else None,
        hydrate=chooser.random() < 0.1,
        on_shard_error="partial"
        if cut == "lane left out" or (chooser.random() < 0.1 and cut != "lane fails")
        else "fail",
    )
    spec = joined([spec, *(replace(spec, entity=other.token) for other in others)])
    try:
        plan = runner.plan(spec)
    except UnsupportedQuery:
        assert not schema.key_format.ordered or any(branch.index == "mineLast" for branch in branches)
        return None
    if in_turn and spec.time_limit_ms is not None:
        # A round takes as many turns as it has lanes, and one that was not read to its end makes no page.
        spec = replace(spec, time_limit_ms=spec.time_limit_ms + READ_MS * len(plan.lanes))
    walk = Walk(chooser, runner, table, plan, cut)
    walk.run(spec)
    expected = brute_force(plan, items, spec)
    check(walk, expected, spec, harmed)
    go_back_and_forth(walk, spec, {place[3]: place[:3] for place in expected}, random.Random(f"back {seed}"))
    runner.close()
    table.close()
    return walk.met


def in_order(page: Page) -> Iterator[str]:
    """The ids of a page, those of records that can't be read in their places."""
    for position, item in enumerate((*page.items, None)):
        yield from (each.key["thingId"] for each in page.unreadable if each.position == position)
        if item is not None:
            yield item["thingId"] if isinstance(item, Mapping) else item.thing_id


def check(walk: Walk, expected: list[tuple[Any, str, int, str]], spec: QuerySpec, harmed: set[str]) -> None:
    """The pages put together are the sorted answer, and what is counted is as many. What is told of records that can't
    be read is told of harmed ones: of all, where records are read whole."""
    by_id = {place[3]: place[:3] for place in expected}
    pages = [list(in_order(page)) for page in walk.pages]
    told = {each.key["thingId"] for page in walk.pages for each in page.unreadable}
    assert told <= harmed
    assert not walk.plan.whole or told == harmed & set(by_id)
    found = [key for keys in pages for key in keys]
    assert sorted(found) == sorted(by_id), "each record once, none missing, none too many"
    if not walk.late:
        assert [by_id[key] for key in found] == [place[:3] for place in expected], "in query order over all pages"
    for keys in pages:
        assert [by_id[key] for key in keys] == sorted((by_id[key] for key in keys), reverse=spec.reverse)
    walk.table.broken = set()
    whole = replace(spec, time_limit_ms=None, budget=None)
    assert walk.runner.count(whole).count == len(expected)
    assert walk.runner.exists(whole) == bool(expected)


def go_back_and_forth(
    walk: Walk, spec: QuerySpec, places: Mapping[str, tuple[Any, str, int]], chooser: random.Random
) -> None:
    """Some steps from the first page on, in both directions. `gap` is how many records stand before a token's place."""
    walk.table.broken = set()
    whole = list(walk.runner.pages(replace(spec, limit=500, time_limit_ms=None, budget=None)))
    every, token, gap, back = [name for page in whole for name in in_order(page)], None, 0, False
    unreadable = {each.key["thingId"] for page in whole for each in page.unreadable}
    for _ in range(STEPS):
        asked = replace(spec, cursor=token, limit=chooser.choice([1, 2, 3, 7]))
        page = step(walk, asked, chooser, back=back)
        if page is None:
            continue
        left = every[:gap][::-1] if back else every[gap:]
        failed = {(lane.hash_value, lane.rank) for lane in walk.plan.lanes if walk.plan.name(lane) in page.failed}
        possible = [name for name in left if places[name][1:] not in failed]
        read = list(in_order(page))[:: -1 if back else 1]
        assert (page.backwards, read) == (back, possible[: len(read)]), "what stands next to the place"
        if not page.stats.cut:
            assert len(page.items) == min(asked.limit, len(possible) - len(unreadable.intersection(possible)))
            assert page.onward is not None or (read == left and not failed)
        onward, other = (page.prev_token, page.cursor) if back else (page.cursor, page.prev_token)
        if failed and not (read and other):
            continue
        if other is not None and (failed or onward is None or chooser.random() < 0.6):
            if read:
                gap = every.index(read[0]) + back
            token, back = other, not back
        elif onward is not None:
            gap += -len(read) if back else len(read)
            token = onward
        else:
            return


STEPS = 8
"""Steps back and forth after each walk."""


def step(walk: Walk, spec: QuerySpec, chooser: random.Random, *, back: bool) -> Page | None:
    """A page of a walk, cut as its shape says; None where it fails."""
    room = (
        PageBudget(chooser.choice([1, 300, 900]), lambda records: [0] * len(records)) if walk.cut == "bytes" else None
    )
    hashes = sorted({lane.hash_value for lane in walk.plan.lanes if lane.interval is not None})
    breaks = walk.cut in ("lane fails", "lane left out") and hashes and chooser.random() < 0.5
    walk.table.broken = {chooser.choice(hashes)} if breaks else set()
    if walk.cut == "deadline":
        spec = replace(spec, time_limit_ms=10 * len(walk.plan.lanes) + chooser.choice([5, 15, 25, 45]))
    try:
        page = walk.runner.run(spec, room=room)
    except (LaneFailed, DeadlineTooShort) as error:
        assert walk.table.broken or spec.time_limit_ms is not None
        walk.met[before_shape("lane fails", reverse=spec.reverse)] += back and isinstance(error, LaneFailed)
        return None
    met = {"nothing": page.complete, "lane left out": bool(page.failed)}.get(walk.cut, page.stats.cut)
    walk.met[before_shape(walk.cut, reverse=spec.reverse)] += back and met and walk.cut != "lane fails"
    if len(walk.plan.parts) > 1:
        walk.met[f"{len(walk.plan.parts)} entities, page before"] += back
    return page


@pytest.mark.parametrize("seed", range(9, 21))
def test_queries_equal_a_brute_force_evaluation_on_every_table(seed: int, open_table: OpenTable) -> None:
    ask(7 * seed, open_table, several=seed % 3 == 0)


def test_queries_equal_a_brute_force_evaluation(
    questions: range, record_property: Callable[[str, object], None]
) -> None:
    shapes: Counter[Shape | str] = Counter()
    asked = 0
    for seed in questions:
        try:
            found = ask(seed)
        except Exception as error:
            error.add_note(f"question {seed}")
            raise
        shapes += found or Counter()
        asked += found is not None
        if random.Random(f"several {seed}").random() < 1 / 6:
            try:
                found = ask(seed, several=True)
            except Exception as error:
                error.add_note(f"question {seed} of several entities")
                raise
            shapes += Counter({name: count for name, count in (found or {}).items() if name in SEVERAL})
    assert asked > 0.8 * len(questions)
    record_property("questions", len(questions))
    record_property("shapes", met(shapes))
