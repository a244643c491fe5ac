"""Queries against a model: random schemas, data, generations, branches, filters, limits, directions, budgets, and
lanes that fail and recover. The pages put together equal a brute-force evaluation of the question, exactly.

`./run test integration -k query_model --query-cases N` runs N cases instead of 2,000.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

import pytest

from shardweave.codecs import Timestamp
from shardweave.entity import Entity, HashKey, RangeKey, desc, timestamp_property, ttl_property, unique_property
from shardweave.entity_type import EntityType
from shardweave.errors import LaneFailed, Throttled, UnsupportedQuery
from shardweave.key_format import ARTICLE, ORDERED
from shardweave.query.branches import Branch
from shardweave.query.cursor import CursorKeys
from shardweave.query.plan import Plan
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, Constraint, Equal, OneOf, Prefix, QuerySpec, Range
from shardweave.schema import Index, Schema
from shardweave.sharding import ShardBump
from shardweave.table import Guard, Table
from shardweave.table.conditions import (
    And,
    BeginsWith,
    Between,
    Compare,
    Condition,
    Contains,
    Exists,
    In,
    Missing,
    Not,
    Or,
    Size,
)
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import TableLayout
from shardweave.table.operations import Operation, Put, Query
from tests.integration.table_contract import OpenTable

KEYS = CursorKeys("k", {"k": b"k" * 32})
DAY = 86_400_000
NOW = 1_730_000_000_000
WORDS = ["", "a", "an", "ann", "anna", "b", "é", "a b", "!"]


def make_schema(chooser: random.Random) -> Schema:
    bumps = [
        ShardBump(0 if place == 0 else NOW - (4 - place) * DAY, chooser.randint(1, 2), place + 1)
        for place in range(chooser.randint(0, 3))
    ]

    class Thing(Entity, token="thing", shard_bumps=bumps):
        thing_id: str = unique_property()
        created: Timestamp = timestamp_property()
        first: str | None = None
        last: str | None = None
        rank: int | None = None
        score: int | None = None
        tags: set[str] | None = None
        expires: int | None = ttl_property()

        first_hash_key = HashKey("first")
        first_range_key = RangeKey("first", "last", "created")
        last_range_key = RangeKey("last", "first", "created")
        rank_range_key = RangeKey("rank", desc("score"))
        score_range_key = RangeKey("score", desc("rank"))
        time_range_key = RangeKey("created", "first")

    projected = ["last_range_key", "first_range_key", "tags", "score"]
    return Schema(
        [Thing],
        [
            Index("first", "hash_key", "first_range_key"),
            Index("last", "hash_key", "last_range_key"),
            Index("rank", "hash_key", "rank_range_key"),
            Index("score", "hash_key", "score_range_key"),
            Index("rawRank", "hash_key", "rank"),
            Index("rawScore", "hash_key", "score"),
            Index("created", "hash_key", "created"),
            Index("time", "hash_key", "time_range_key"),
            Index("mine", "first_hash_key", "created"),
            Index(
                "mineLast", "first_hash_key", "last_range_key", projection=[n for n in projected if "last_r" not in n]
            ),
        ],
        key_format=ORDERED if chooser.random() < 0.85 else ARTICLE,
    )


def make_items(chooser: random.Random, thing: EntityType[Any]) -> list[dict[str, Any]]:
    words = WORDS if thing.keys.format.ordered else [word for word in WORDS if "!" not in word]

    def maybe(values: list[Any]) -> Any:
        return chooser.choice(values) if chooser.random() < 0.85 else None

    items = []
    for number in range(chooser.choice([0, 3, 20, 60])):
        values = {
            "thingId": f"t{number:03d}",
            "created": NOW - chooser.randint(0, 5) * DAY // 2 - chooser.randint(0, 2),
            "first": maybe(words),
            "last": maybe(words),
            "rank": maybe([-1, 0, 1, 2]),
            "score": maybe([1, 2, 3]),
            "tags": maybe([{"x"}, {"x", "y"}]),
            "expires": maybe([NOW // 1000 + 60]) if chooser.random() < 0.8 else NOW // 1000 - 60,
        }
        given = {name: value for name, value in values.items() if value is not None}
        items.append(thing.complete(thing.dump(thing.validate(given))))
    return items


def make_branches(chooser: random.Random) -> list[BranchSpec]:
    """Branches that agree, with conditions that fit their indexes."""
    family = chooser.choice(
        [["first"], ["last"], ["first", "last"], ["first", "last", "first"], ["rank", "score"], ["rank"],
         ["rawRank", "rawScore"], ["rawRank"], ["created"], ["time"], ["mine"], ["mineLast"], [None]]
    )  # fmt: skip
    return [BranchSpec(make_conditions(chooser, index), index, make_filter(chooser, 0.15)) for index in family]


def make_conditions(chooser: random.Random, index: str | None) -> dict[str, Constraint | OneOf]:
    text = [Equal("ann"), Equal("a"), Prefix("a"), Prefix("an"), Prefix("")]
    numbers = [Equal(1), Range(0), Range(None, 1), Range(0, 1)]
    times = [Range(NOW - 2 * DAY), Range(None, NOW - DAY), Range(NOW - 2 * DAY, NOW - DAY)]
    leads: dict[str | None, list[tuple[str, list[Any]]]] = {
        "first": [("first", text), ("last", text)],
        "last": [("last", text), ("first", text)],
        "rank": [("rank", numbers), ("score", numbers)],
        "score": [("score", numbers), ("rank", numbers)],
        "rawRank": [("rank", numbers)],
        "rawScore": [("score", numbers)],
        "created": [("created", times)],
        "time": [("created", [*times[:2], Equal(NOW)]), ("first", text)],
        "mine": [("created", times)],
        "mineLast": [("last", text), ("first", [])],
        None: [("thingId", [Prefix("t00"), Equal("t001"), Prefix("t")])],
    }
    conditions: dict[str, Constraint | OneOf] = {}
    if index in ("mine", "mineLast"):
        conditions["first"] = chooser.choice([Equal("ann"), Equal("a"), OneOf(("ann", "a", "b")), OneOf(("a", "zz"))])
    for name, choices in leads[index]:
        if name in conditions or not choices or chooser.random() < 0.4:
            break
        conditions[name] = chooser.choice(choices)
        if not isinstance(conditions[name], Equal):
            break
    return conditions


def make_filter(chooser: random.Random, chance: float) -> Condition | None:
    leaves: list[Condition] = [
        Compare("score", "=", 2),
        Compare("score", "<>", 2),
        Compare("score", ">", 1),
        Between("score", 1, 2),
        In("score", (1, 3)),
        BeginsWith("thingId", "t00"),
        Contains("tags", "y"),
        Exists("tags"),
        Missing("score"),
        Size("tags", ">", 1),
        Compare("score", "=", 99),
    ]
    if chooser.random() > chance:
        return None
    leaf = chooser.choice(leaves)
    other = chooser.choice(leaves)
    return chooser.choice([leaf, Not(leaf), And((leaf, other)), Or((leaf, other))])


class FlakyTable:
    """A table of which some hash keys do not answer while they are in `broken`."""

    def __init__(self, inner: Table) -> None:
        self.inner = inner
        self.layout = inner.layout
        self.guards_inside_writes = inner.guards_inside_writes
        self.broken: set[str] = set()

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, Query) and operation.hash_value in self.broken:
            raise Throttled
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()


def brute_force(plan: Plan, items: list[dict[str, Any]], spec: QuerySpec) -> list[tuple[Any, str, int, str]]:
    """Every record that a branch holds, once, at its lowest place in ascending order; then in query order."""
    found: dict[str, tuple[Any, str, int, str]] = {}
    for item in items:
        if item.get("expires", NOW) <= NOW // 1000 and "expires" in item:
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
    if view.hash_name not in item or view.range_name not in item or not branch.filter.evaluate(item):
        return None
    for name, constraint in branch.conditions.items():
        if not meets(item.get(name), constraint):
            return None
    return branch.sort_value(item), item[view.hash_name], branch.rank


def meets(value: Any, constraint: Constraint) -> bool:
    if value is None:
        return False
    if isinstance(constraint, Equal):
        return bool(value == constraint.value)
    if isinstance(constraint, Prefix):
        return bool(value.startswith(constraint.text))
    return (constraint.low is None or value >= constraint.low) and (constraint.high is None or value <= constraint.high)


def walk(
    chooser: random.Random, runner: QueryRunner, table: FlakyTable, spec: QuerySpec, plan: Plan, *, flaky: bool
) -> list[Any]:
    """Every page to the end; with `flaky`, lanes fail and recover between pages, and each page is checked."""
    hashes = sorted({lane.hash_value for lane in plan.lanes})
    found: list[Any] = []
    cursor, steps = None, 0
    while True:
        steps += 1
        assert steps < 2000, "the walk makes no progress"
        table.broken = set()
        if flaky and hashes and steps < 12 and chooser.random() < 0.4:
            table.broken = set(chooser.sample(hashes, chooser.randint(1, max(1, len(hashes) // 3))))
        try:
            page = runner.run(replace(spec, cursor=cursor))
        except LaneFailed:
            assert table.broken
            continue
        if page.complete and page.cursor is not None:
            assert len(page.items) == spec.limit, "a page that was not cut is full"
        assert len(page.items) <= spec.limit
        assert page.late == 0 or flaky
        found.append(page)
        if page.cursor is None:
            return found
        cursor = page.cursor


def run_case(seed: int, open_table: Callable[[TableLayout], Table] = EmbeddedTable) -> bool:
    """Whether the case's question could be asked: a bare-bar format and an index that projects little refuse some."""
    chooser = random.Random(seed)
    schema = make_schema(chooser)
    thing = schema.entity("thing")
    items = make_items(chooser, thing)
    table = FlakyTable(open_table(schema.layout))
    for item in items:
        table.run(Put(item))
    runner = QueryRunner(schema, table, KEYS, clock=lambda: NOW, throttle=2, sleep=lambda seconds: None)
    branches = make_branches(chooser)
    window = chooser.random() < 0.2 and all(branch.index != "mineLast" for branch in branches)
    spec = QuerySpec(
        "thing",
        branches=tuple(branches),
        filter=make_filter(chooser, 0.3),
        reverse=chooser.random() < 0.5,
        limit=chooser.choice([1, 2, 3, 7, 25]),
        earliest=NOW - 2 * DAY if window else None,
        latest=NOW - DAY if window and chooser.random() < 0.5 else None,
        budget=chooser.choice([None, None, 1, 3, 10]),
        on_shard_error=chooser.choice(["fail", "partial"]),
    )
    try:
        plan = runner.plan(spec)
    except UnsupportedQuery:
        assert not schema.key_format.ordered or any(branch.index == "mineLast" for branch in branches)
        return False
    expected = brute_force(plan, items, spec)
    flaky = chooser.random() < 0.3
    pages = walk(chooser, runner, table, spec, plan, flaky=flaky)
    found = [each["thingId"] if isinstance(each, Mapping) else each.thing_id for page in pages for each in page.items]
    by_id = {place[3]: place[:3] for place in expected}
    assert sorted(found) == sorted(by_id), "each record once, none missing, none too many"
    places = [by_id[key] for key in found]
    if not flaky:
        assert places == [place[:3] for place in expected], "in query order over all pages"
    for page in pages:
        keys = [each["thingId"] if isinstance(each, Mapping) else each.thing_id for each in page.items]
        assert [by_id[key] for key in keys] == sorted((by_id[key] for key in keys), reverse=spec.reverse)
    table.broken = set()
    assert runner.count(spec).count == len(expected)
    assert runner.exists(spec) == bool(expected)
    runner.close()
    table.close()
    return True


@pytest.mark.parametrize("seed", range(9, 21))
def test_queries_equal_a_brute_force_evaluation_on_every_table(seed: int, open_table: OpenTable) -> None:
    run_case(seed, open_table)


def test_queries_equal_a_brute_force_evaluation(query_cases: range) -> None:
    asked = 0
    for seed in query_cases:
        try:
            asked += run_case(seed)
        except Exception as error:
            error.add_note(f"case {seed}")
            raise
    assert asked > 0.8 * len(query_cases)
