"""A project with 100,000 issues: how long it takes to load, and what its grid costs at the beginning, in the middle and
at the end, sorted by every column and custom field.

Numbers are taken in blocks, and a transaction holds 12 issues. A page in the middle or at the end is reached as a
reader would reach it, page by page; what is shown is the page itself.
"""

from __future__ import annotations

import datetime as dt
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import Progress

from benchmarks.tables import Table
from services._samples.issues import ACME, TUNNEL, generated_issues
from services.issue_tracker import schema
from services.issue_tracker.grid import issues_by
from services.issue_tracker.records import COLUMNS, Issue
from shardweave import Database, Schema
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import MAX_LIMIT, Page, QuerySpec
from shardweave.routing import Listed
from shardweave.store import Create, Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Operation

TITLE = "issue tracker: every column of a grid of 100,000 issues, first, middle and last page"
ISSUES = 100_000
LIMIT = 100
BLOCK = 1_000
AT_ONCE = 12
TIMES = 5
DAY = dt.date(2025, 1, 1)
R = TypeVar("R")
KEYS = CursorKeys("bench", {"bench": b"b" * 32})
SORTED = (*COLUMNS, "state,-num")


def run() -> list[Table]:
    made = schema()
    with tempfile.TemporaryDirectory() as folder:
        table = EmbeddedTable(made.layout, Path(folder) / "table.db")
        queries = QueryRunner(made, table, KEYS)
        seconds = load(Store(made, table), ISSUES)
        rows = [row for sort in SORTED for row in _rows(queries, sort)]
        rows += [row for field in TUNNEL.custom_fields for row in _rows_of_list(made, table, field)]
        queries.close()
        table.close()
    note = (
        f"{ISSUES:,} issues in one project over 4 shards, {len(made.indexes)} indexes, the embedded table; loaded in "
        f"{seconds:,.0f} s ({ISSUES / seconds:,.0f} a second). Pages of {LIMIT}; the median of {TIMES} times. A custom "
        "field's grid has the issues with a value."
    )
    columns = ["sorted by", "way", "issues", "requests first", "middle", "last", "ms first", "middle", "last"]
    return [Table("Pages of a grid", columns, rows, note, {"seconds": seconds})]


def load(store: Store, count: int) -> float:
    """Load so many issues into the big project, and give the seconds."""
    store.transact([Create(ACME)])
    store.transact([Create(TUNNEL)])
    within = {"tenant_id": TUNNEL.tenant_id, "project_id": TUNNEL.project_id}
    issues = generated_issues(TUNNEL, count, DAY)
    began = time.perf_counter()
    with Progress(console=Console(file=sys.stderr)) as progress:
        task = progress.add_task("Loading issues", total=count)
        while block := list(islice(issues, BLOCK)):
            numbers = store.take(Issue, "num", within=within, count=len(block))
            numbered = [issue.model_copy(update={"num": num}) for issue, num in zip(block, numbers, strict=True)]
            for start in range(0, len(numbered), AT_ONCE):
                store.transact([Create(issue) for issue in numbered[start : start + AT_ONCE]])
            progress.advance(task, len(block))
    return time.perf_counter() - began


@dataclass(frozen=True)
class Walk:
    """How many issues a grid has, and the queries of its first, middle and last page."""

    issues: int
    pages: tuple[QuerySpec, QuerySpec, QuerySpec]


def walk(queries: QueryRunner, spec: QuerySpec) -> Walk:
    """Go through a whole grid by large pages, and find the pages of `spec.limit` in it."""
    count = queries.count(spec).count
    last = (count - 1) // spec.limit * spec.limit
    middle = replace(spec, cursor=_cursor_after(queries, spec, last // 2))
    end = replace(spec, cursor=_cursor_after(queries, middle, last - last // 2))
    return Walk(count, (spec, middle, end))


def _cursor_after(queries: QueryRunner, spec: QuerySpec, issues: int) -> str | None:
    """The cursor of the page that begins so many issues after the one of `spec`."""
    cursor = spec.cursor
    for size in _sizes(issues):
        cursor = queries.run(replace(spec, cursor=cursor, limit=size)).cursor
    return cursor


def _sizes(position: int) -> Iterator[int]:
    while position:
        yield min(position, MAX_LIMIT)
        position -= min(position, MAX_LIMIT)


def _rows(queries: QueryRunner, sort: str) -> Iterator[Sequence[object]]:
    for way, text in (("ascending", sort), ("descending", _turned(sort))):
        asked = issues_by(TUNNEL, text)
        spec = QuerySpec("issue", asked.conditions, asked.index, reverse=asked.reverse, limit=LIMIT)
        found = walk(queries, spec)
        measured = [[queries.run(page) for _ in range(TIMES)] for page in found.pages]
        yield (
            sort,
            way,
            found.issues,
            *(runs[-1].stats.requests for runs in measured),
            *(_milliseconds(runs) for runs in measured),
        )


class Counted:
    """A table that counts its requests."""

    def __init__(self, table: EmbeddedTable) -> None:
        self._table, self.requests = table, 0

    def run(self, operation: Operation[R]) -> R:
        self.requests += 1
        return self._table.run(operation)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._table, name)


@dataclass(frozen=True)
class FieldGrid:
    """A grid by a custom field, whose list an ordered lookup holds."""

    db: Database
    asked: Listed[Issue]

    def page(self, token: str | None, limit: int) -> Page[Issue]:
        how: dict[str, Any] = {"within": self.asked.within, "reverse": self.asked.reverse, "next_token": token}
        return self.db.find_by(Issue, self.asked.lookup or "", limit=limit, **how)

    def after(self, count: int, token: str | None = None) -> str | None:
        """The token of the page that begins so many issues later."""
        for size in _sizes(count):
            token = self.page(token, size).next_token
        return token

    def count(self) -> int:
        page = self.page(None, MAX_LIMIT)
        count = len(page.items)
        while page.next_token is not None:
            page = self.page(page.next_token, MAX_LIMIT)
            count += len(page.items)
        return count


def _rows_of_list(made: Schema, table: EmbeddedTable, field: str) -> Iterator[Sequence[object]]:
    counted: Any = Counted(table)
    with closing(QueryRunner(made, counted, KEYS)) as queries:
        db = Database.over(Store(made, counted), queries)
        for way, text in (("ascending", field), ("descending", _turned(field))):
            grid = FieldGrid(db, issues_by(TUNNEL, text))
            count = grid.count()
            last = (count - 1) // LIMIT * LIMIT
            middle = grid.after(last // 2)
            requests, milliseconds = [], []
            for token in (None, middle, grid.after(last - last // 2, middle)):
                times = []
                for _ in range(TIMES):
                    counted.requests, began = 0, time.perf_counter()
                    grid.page(token, LIMIT)
                    times.append(1000 * (time.perf_counter() - began))
                requests.append(counted.requests)
                milliseconds.append(statistics.median(times))
            yield (field, way, count, *requests, *milliseconds)


def _milliseconds(runs: Sequence[Page]) -> float:
    return statistics.median(page.stats.milliseconds for page in runs)


def _turned(sort: str) -> str:
    return ",".join(each.removeprefix("-") if each.startswith("-") else f"-{each}" for each in sort.split(","))
