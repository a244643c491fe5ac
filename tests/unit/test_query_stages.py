"""Stages: generations are read one after another only where the plan proves that nothing of a later one comes first.

Tasks have five indexes in which the time they were made stands first, last, behind another value, and turned round.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.intervals import contains
from shardweave.query.plan import Plan
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, Constraint, Equal, OneOf, QuerySpec, Range
from shardweave.query.stages import are_ordered
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem
from shardweave.values.codecs import Timestamp

KEYS = CursorKeys("k", {"k": b"k" * 32})
DAY = 86_400_000
NOW = 1_730_000_000_000
BUMPS = (ShardBump(0, 1, 1), ShardBump(NOW - 2 * DAY, 1, 2), ShardBump(NOW - DAY, 1, 3))
TIMES = [bump + step for bump in (NOW - 2 * DAY, NOW - DAY) for step in (-2, -1, 0, 1)]
STATES = ["open", "paused", "shut"]


def task_schema(bumps: tuple[ShardBump, ...]) -> Schema:
    class Task(Entity, token="task", shard_bumps=bumps):
        task_id: str = unique_property()
        created: Timestamp = timestamp_property()
        due: Timestamp
        state: str
        owner: str

        owner_hash_key = HashKey("owner")
        state_range_key = RangeKey("state", "created")
        owner_range_key = RangeKey("owner", "created")
        recent_range_key = RangeKey("state", desc("created"))
        due_range_key = RangeKey("due", "created")
        made_range_key = RangeKey("created", "due")
        due_back_range_key = RangeKey("due", desc("created"))
        made_back_range_key = RangeKey("created", desc("due"))

    ranges = ("state", "owner", "recent", "due", "made", "dueBack", "madeBack")
    snake = {"dueBack": "due_back", "madeBack": "made_back"}
    return Schema(
        [Task],
        [
            *(Index(name, "hash_key", f"{snake.get(name, name)}_range_key") for name in ranges),
            Index("created", "hash_key", "created"),
            Index("mine", "owner_hash_key", "created"),
        ],
    )


class Tasks:
    """Tasks in a table, and a runner."""

    def __init__(self, bumps: tuple[ShardBump, ...], rows: list[tuple[int, int, str, str]]) -> None:
        schema = task_schema(bumps)
        self.entity = schema.entity("task")
        self.table = EmbeddedTable(schema.layout)
        self.items: list[dict[str, Any]] = []
        for number, (created, due, state, owner) in enumerate(rows):
            values = {"taskId": f"t{number:02d}", "created": created, "due": due, "state": state, "owner": owner}
            self.items.append(self.entity.complete(self.entity.dump(self.entity.validate(values))))
            self.table.run(PutItem(self.items[-1]))
        self.runner = QueryRunner(schema, self.table, KEYS, clock=lambda: NOW, throttle=1)

    def walked(self, spec: QuerySpec) -> list[str]:
        found: list[str] = []
        for _ in range(40 * (len(self.items) + 2)):
            page = self.runner.run(spec)
            found += [each.task_id for each in page.items]
            if page.cursor is None:
                return found
            spec = replace(spec, cursor=page.cursor)
        raise AssertionError("the walk does not end")

    def places(self, spec: QuerySpec, plan: Plan) -> dict[str, tuple[Any, str, int]]:
        """Every task that a branch holds with its lowest place, in query order, without lanes or intervals."""
        places: dict[str, tuple[Any, str, int]] = {}
        for item in self.items:
            for branch in plan.branches:
                if all(_meets(item[name], each) for name, each in branch.conditions.items()):
                    place = (branch.sort_value(item), item[branch.view.hash_name], branch.rank)
                    places[item["taskId"]] = min(place, places.get(item["taskId"], place))
        return dict(sorted(places.items(), key=lambda each: each[1], reverse=spec.reverse))

    def check(self, spec: QuerySpec, plan: Plan) -> None:
        """The pages put together are the sorted answer; tasks of one place stand in the order of the table."""
        places, walked = self.places(spec, plan), self.walked(spec)
        assert sorted(walked) == sorted(places), "each once, none missing, none too many"
        assert [places[task] for task in walked] == list(places.values())

    def close(self) -> None:
        self.runner.close()
        self.table.close()


def _meets(value: Any, constraint: Constraint) -> bool:
    if isinstance(constraint, Equal):
        return bool(value == constraint.value)
    assert isinstance(constraint, Range)
    return (constraint.low is None or value >= constraint.low) and (constraint.high is None or value <= constraint.high)


@pytest.fixture
def tasks() -> Iterator[Tasks]:
    made = Tasks(BUMPS, [(when, TIMES[n % 3], STATES[n % 3], STATES[n % 2]) for n, when in enumerate(TIMES * 3)])
    yield made
    made.close()


def ask(*branches: tuple[str, dict[str, Constraint | OneOf]], reverse: bool = False) -> QuerySpec:
    return QuerySpec("task", branches=tuple(BranchSpec(conditions, index) for index, conditions in branches),
                     reverse=reverse)  # fmt: skip


OPEN = {"state": Equal("open")}
TOGETHER = {
    "a list of values before the time": ask(("state", {"state": OneOf(("open", "shut"))})),
    "branches that fix different values": ask(("state", OPEN), ("owner", {"owner": Equal("shut")})),
    "the same, turned round": ask(("recent", {"state": OneOf(("open", "shut"))})),
    "the time at different places, equal values": ask(("due", {"due": Equal(TIMES[0])}), ("made", {})),
    "times that run against each other": ask(("dueBack", {"due": Equal(TIMES[0])}), ("madeBack", {})),
    "one branch that is not in order of time": ask(("state", OPEN), ("owner", {})),
    "no order of time": ask(("state", {})),
}
ONE_AFTER_ANOTHER = {
    "in order of time": ask(("created", {})),
    "behind one value": ask(("state", OPEN)),
    "turned round behind one value": ask(("recent", OPEN)),
    "branches that fix the same value": ask(("state", OPEN), ("owner", {"owner": Equal("open")})),
    "owners in the hash key": ask(("mine", {"owner": OneOf(("open", "shut"))})),
    "the time first": ask(("made", {})),
    "a range of time": ask(("made", {"created": Range(TIMES[1], TIMES[6])})),
    "values in the order of the times that are asked for": ask(
        ("state", {"state": Equal("open"), "created": Range(None, TIMES[1])}),
        ("owner", {"owner": Equal("shut"), "created": Range(TIMES[6])}),
    ),
}


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", TOGETHER)
def test_generations_that_may_interleave_are_read_together(tasks: Tasks, case: str, reverse: bool) -> None:
    spec = replace(TOGETHER[case], reverse=reverse)
    plan = tasks.runner.plan(spec)
    assert plan.stages == 1
    for limit, budget in ((1, None), (3, 1), (50, None)):
        tasks.check(replace(spec, limit=limit, budget=budget), plan)


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("case", ONE_AFTER_ANOTHER)
def test_generations_in_order_are_read_one_after_another(tasks: Tasks, case: str, reverse: bool) -> None:
    spec = replace(ONE_AFTER_ANOTHER[case], reverse=reverse)
    plan = tasks.runner.plan(spec)
    assert plan.stages == 3
    for limit, budget in ((1, None), (3, 1), (50, None)):
        tasks.check(replace(spec, limit=limit, budget=budget), plan)


def test_the_stages_of_an_order_that_runs_against_time_begin_with_the_newest(tasks: Tasks) -> None:
    for reverse, first in ((False, BUMPS[2].timestamp), (True, 0)):
        plan = tasks.runner.plan(replace(ONE_AFTER_ANOTHER["turned round behind one value"], reverse=reverse))
        assert {lane.generation.begins for lane in plan.lanes if lane.stage == 0} == {first}


def test_a_plan_whose_stages_are_not_proved_can_not_be_made(tasks: Tasks) -> None:
    plan = tasks.runner.plan(TOGETHER["a list of values before the time"])
    generations = sorted({lane.generation.begins for lane in plan.lanes})
    staged = tuple(replace(lane, stage=generations.index(lane.generation.begins)) for lane in plan.lanes)
    with pytest.raises(AssertionError, match="stand before"):
        replace(plan, lanes=staged, stages=3)
    ordered = tasks.runner.plan(ONE_AFTER_ANOTHER["in order of time"])
    with pytest.raises(AssertionError, match="stand before"):
        replace(ordered, descending=True)


def test_a_generation_whose_last_moment_no_key_can_hold_is_left_open() -> None:
    """To a key of milliseconds, what lies a millisecond before the bump is in the wrong unit."""
    tasks = Tasks((ShardBump(0, 1, 1), ShardBump(10**11, 1, 2)), [(NOW, NOW, "open", "open")])
    assert tasks.walked(ask(("state", OPEN))) == ["t00"]
    tasks.close()


# -- the property -----------------------------------------------------------------------------------------------------

VALUES = {"state": STATES, "owner": STATES, "due": TIMES, "created": TIMES}
FAMILIES: list[dict[str, tuple[str, ...]]] = [
    {"state": ("state", "created"), "owner": ("owner", "created")},
    {"recent": ("state", "created")},
    {"due": ("due", "created"), "made": ("created", "due")},
    {"dueBack": ("due", "created"), "madeBack": ("created", "due")},
    {"created": ("created",), "mine": ("owner", "created")},
]


@st.composite
def questions(draw: st.DrawFn) -> QuerySpec:
    family = draw(st.sampled_from(FAMILIES))
    branches = []
    for index in draw(st.lists(st.sampled_from(sorted(family)), min_size=1, max_size=3)):
        conditions: dict[str, Constraint | OneOf] = {}
        needed = int(index == "mine")
        for name in family[index][: draw(st.integers(needed, 2))]:
            if name == "created":
                low, high = sorted(draw(st.tuples(*[st.sampled_from(TIMES)] * 2)))
                conditions[name] = draw(st.sampled_from([Range(low), Range(None, high), Range(low, high), Equal(low)]))
                break
            some = st.lists(st.sampled_from(VALUES[name]), min_size=1, max_size=3, unique=True)
            conditions[name] = OneOf(tuple(draw(some)))
        branches.append(BranchSpec(conditions, index))
    return QuerySpec(
        "task",
        branches=tuple(branches),
        reverse=draw(st.booleans()),
        limit=draw(st.integers(1, 6)),
        budget=draw(st.sampled_from([None, 1, 2, 5])),
    )


ROWS = st.lists(st.tuples(*map(st.sampled_from, (TIMES, TIMES, STATES, STATES))), max_size=24)


@given(spec=questions(), rows=ROWS, generations=st.integers(1, 3))
def test_pages_put_together_are_the_sorted_answer(
    spec: QuerySpec, rows: list[tuple[int, int, str, str]], generations: int
) -> None:
    tasks = Tasks(BUMPS[:generations], rows)
    try:
        plan = tasks.runner.plan(spec)
        assert plan.stages == 1 or are_ordered(plan.branches, plan.lanes, descending=plan.descending)
        for item in tasks.items:
            for lane in plan.lanes:
                branch = plan.branches[lane.rank]
                if item[branch.view.hash_name] == lane.hash_value:
                    held = lane.interval is not None and contains(lane.interval, item[branch.view.range_name])
                    met = all(_meets(item[name], each) for name, each in branch.conditions.items())
                    assert held == met, "a lane holds what its branch asks for, and nothing else"
        tasks.check(spec, plan)
    finally:
        tasks.close()
