"""What a page costs in the embedded table: the same at any depth, whatever the ties, in both directions."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.files import open_schema
from shardweave.table.embedded.pages import query, scan
from shardweave.table.embedded.sqlite_layout import SqliteLayout
from shardweave.table.embedded.writes import plan_batch, write_batch
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import BatchWrite, Interval, PageAnswer, PutItem, Query, Scan
from tests.unit.embedded_table import LAYOUT, item

RECORDS = 4000
LIMIT = 10


class Counted:
    """A filled table whose SQLite steps are counted."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.schema: SqliteLayout = open_schema(self.connection, LAYOUT)
        for start in range(0, RECORDS, 25):
            puts = tuple(self.record(number) for number in range(start, start + 25))
            write_batch(self.schema, self.connection, plan_batch(self.schema, BatchWrite(puts)), now=0.0)
        self.steps = 0

    def record(self, number: int) -> dict[str, Any]:
        """All share one text, so that the whole index `byText` is one tie."""
        return item(f"r{number:06}", text="tie", group="g", number=number, color="red")

    def page(self, operation: Query | Scan) -> PageAnswer:
        def step() -> int:
            self.steps += 1
            return 0

        self.steps = 0
        self.connection.set_progress_handler(step, 1)
        answer = (
            query(self.schema, self.connection, operation)
            if isinstance(operation, Query)
            else scan(self.schema, self.connection, operation)
        )
        self.connection.set_progress_handler(None, 0)
        return answer


@pytest.fixture(scope="module")
def table() -> Counted:
    return Counted()


def walk(table: Counted, operation: Query | Scan) -> Iterator[tuple[PageAnswer, int]]:
    """Every page with the SQLite steps that it took."""
    while True:
        page = table.page(operation)
        yield page, table.steps
        if page.last_key is None:
            return
        operation = replace(operation, start_key=page.last_key)


OPERATIONS: dict[str, Query | Scan] = {
    "table": Query("hashKey", "h", "rangeKey", limit=LIMIT),
    "interval": Query("hashKey", "h", "rangeKey", Interval("r", "s"), limit=LIMIT),
    "index of numbers": Query("group", "g", "number", Interval(0, RECORDS), index="byNumber", limit=LIMIT),
    "index that is one tie": Query("hashKey", "h", "text", index="byText", limit=LIMIT),
    "point that is one tie": Query("hashKey", "h", "text", Interval("tie", "tie"), index="byText", limit=LIMIT),
    "scan": Scan(limit=LIMIT),
    "scan of an index": Scan(index="byText", limit=LIMIT),
}


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("case", OPERATIONS)
def test_a_page_costs_the_same_at_any_depth(table: Counted, case: str, descending: bool) -> None:
    operation = OPERATIONS[case]
    if isinstance(operation, Query):
        operation = replace(operation, descending=descending)
    pages = list(walk(table, operation))
    keys = [found["rangeKey"] for page, _ in pages for found in page.items]
    assert len(keys) == len(set(keys)) == RECORDS
    second = pages[1][1]
    assert max(steps for _, steps in pages) <= second


def test_an_index_may_turn_the_tables_key_around() -> None:
    turned = IndexLayout("turned", KeyAttribute("rangeKey"), KeyAttribute("hashKey"))
    table = EmbeddedTable(TableLayout(indexes=(turned,)))
    for hash_key in "cab":
        for range_key in "xy":
            table.run(PutItem(item(range_key, hash_key)))
    forward = Query("rangeKey", "x", "hashKey", Interval("a", "b"), index="turned", limit=1)
    first = table.run(forward)
    second = table.run(replace(forward, start_key=first.last_key))
    assert [*first.items, *second.items] == [item("x", "a"), item("x", "b")]
    assert table.run(replace(forward, start_key=second.last_key)).items == ()


@pytest.mark.parametrize("case", ["index that is one tie", "index of numbers", "table"])
def test_descending_is_the_exact_reverse(table: Counted, case: str) -> None:
    operation = OPERATIONS[case]
    assert isinstance(operation, Query)
    forward, backward = (
        [found["rangeKey"] for page, _ in walk(table, replace(operation, descending=way)) for found in page.items]
        for way in (False, True)
    )
    assert backward == forward[::-1]


def test_a_tie_is_not_in_the_order_of_the_keys(table: Counted) -> None:
    keys = [found["rangeKey"] for page, _ in walk(table, OPERATIONS["index that is one tie"]) for found in page.items]
    assert keys not in (sorted(keys), sorted(keys, reverse=True))
