"""All pages of a query, by this library and by entity-manager: what comes back, in which order, at which price."""

from __future__ import annotations

import itertools
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.key import peer
from benchmarks.key_building import GOLDEN
from benchmarks.page.people import BITS, INDEX, config, people
from benchmarks.tables import Table
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchWrite

TITLE = "paging: rows, duplicates, inversions, requests and tokens against entity-manager"
COUNTS = (120, 10_000)
LIMIT, PAGE_SIZE = 25, 10
MORE_THAN_DUE = 4
"""The other side is stopped after so many times the pages that are due."""


@dataclass(frozen=True)
class Walk:
    """What all pages gave: the names on each, the length of each one's token, and the requests."""

    pages: list[list[str]]
    tokens: list[int]
    requests: int
    stopped: bool = False

    def row(self, count: int) -> list[Any]:
        names = [name for page in self.pages for name in page]
        found = len(set(names))
        inversions = sum(one > other for one, other in itertools.pairwise(names))
        largest = max(len(page) for page in self.pages)
        pages = sum(bool(page) for page in self.pages)
        end, longest = "stopped" if self.stopped else "yes", max(self.tokens)
        return [len(names), len(names) - found, count - found, inversions, largest, pages, end, self.requests, longest]


def run() -> list[Table]:
    golden = json.loads(GOLDEN.read_text(encoding="utf-8"))["config"]
    folder = peer.installed()
    rows: list[list[Any]] = []
    for count in COUNTS:
        for shards in BITS:
            settings = config(golden, shards)
            schema = Schema.from_entity_manager(settings)
            records = people(schema, count)
            rows.append([count, shards, "ours", *ours(schema, records).row(count)])
            if folder is not None:
                walk = theirs(folder, settings, records)
                rows.append([count, shards, f"entity-manager {peer.VERSION}", *walk.row(count)])
    columns = ["records", "shards", "side", "rows", "duplicates", "missing", "inversions", "largest page", "pages"]
    return [
        Table(
            f"All pages of users by first name, limit {LIMIT}",
            [*columns, "ended", "requests", "longest token"],
            rows,
            f"The same records under the same keys, each first name once. Inversions: neighbours in the wrong order, "
            f"over all rows as they came. entity-manager asks each shard for {PAGE_SIZE} records at a time (its "
            f"default) and sorts each page by first name; it is stopped after {MORE_THAN_DUE} times the pages that are "
            f"due. Tokens in characters.",
        )
    ]


def ours(schema: Schema, records: list[dict[str, Any]]) -> Walk:
    table = EmbeddedTable(schema.layout)
    for batch in _batched(records):
        table.run(BatchWrite(puts=tuple(batch)))
    runner = QueryRunner(schema, table, CursorKeys("bench", {"bench": b"b" * 32}))
    pages = list(runner.pages(QuerySpec("user", {}, INDEX, limit=LIMIT)))
    runner.close()
    table.close()
    names = [[record.firstNameCanonical for record in page.items] for page in pages]
    return Walk(names, [len(page.cursor or "") for page in pages], sum(page.stats.requests for page in pages))


def _batched(records: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    return [records[begin : begin + 25] for begin in range(0, len(records), 25)]


def theirs(
    folder: Path, settings: dict[str, Any], records: list[dict[str, Any]], most_pages: int | None = None
) -> Walk:
    """What the other side's pages give, of which it reads so many, or all that are due and more."""
    due = -(-len(records) // LIMIT)
    asked = {
        "config": settings,
        "people": records,
        "limit": LIMIT,
        "pageSize": PAGE_SIZE,
        "mostPages": most_pages or MORE_THAN_DUE * due,
    }
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(asked, file)
        file.flush()
        command = [peer.node(), "paging.mjs", file.name]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    answer = json.loads(done.stdout)
    if answer["failure"]:
        raise RuntimeError(f"entity-manager failed: {answer['failure']}")
    pages = [page["names"] for page in answer["pages"]]
    return Walk(pages, [page["token"] for page in answer["pages"]], answer["requests"], stopped=bool(pages[-1]))
