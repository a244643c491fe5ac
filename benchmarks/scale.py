"""What a page costs as shards grow from 1 to 256, and as records grow from 1,000 to a million."""

from __future__ import annotations

import random
import statistics
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.plots import Line, Plot
from benchmarks.tables import Table
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, Prefix, QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchWrite
from shardweave.values.codecs import Timestamp

TITLE = "scale: a page as shards and records grow"
KEYS = CursorKeys("bench", {"bench": b"b" * 32})
NOW = 1_730_000_000_000
SPACES = {1: (1, 0), 4: (2, 1), 16: (4, 1), 64: (3, 2), 256: (4, 2)}
LIMIT, TIMES = 25, 60
RECORDS_OF_SHARDS, SHARDS_OF_RECORDS = 20_000, 16
SIZES = (1_000, 10_000, 100_000)
FULL_SIZES = (*SIZES, 1_000_000)
STRIDE = 500


def people(shards: int) -> Schema:
    """People in so many shards, by first and by last name."""
    bits, chars = SPACES[shards]

    class Person(Entity, token="person", shard_bumps=[ShardBump(0, bits, chars)]):
        person_id: str = unique_property()
        created: Timestamp = timestamp_property()
        first: str
        last: str
        note: str = "n" * 200

        first_range_key = RangeKey("first", "last", "created")
        last_range_key = RangeKey("last", "first", "created")

    return Schema(
        [Person], [Index("first", "hash_key", "first_range_key"), Index("last", "hash_key", "last_range_key")]
    )


def fill(table: EmbeddedTable, schema: Schema, records: int) -> None:
    """Write so many people."""
    entity, chooser = schema.entity("person"), random.Random(3)
    batch = []
    for number in range(records):
        first, last = ("".join(chooser.choices("abcdefgh", k=6)) for _ in range(2))
        person = {"personId": f"p{number:07d}", "created": NOW + number, "first": first, "last": last}
        batch.append(entity.complete({**person, "note": "n" * 200}))
        if len(batch) == 25 or number == records - 1:
            table.run(BatchWrite(puts=tuple(batch)))
            batch = []


def run() -> list[Table]:
    return [by_shards(), by_records(SIZES)]


def run_full() -> list[Table]:
    return [by_shards(), by_records(FULL_SIZES)]


def measured(runner: QueryRunner, spec: QuerySpec) -> tuple[float, float, float, int]:
    """Milliseconds of a page, best and median, its best CPU milliseconds, and its requests."""
    times, cpu, page = [], [], runner.run(spec)
    for _ in range(TIMES):
        begun, began = time.perf_counter(), time.process_time()
        page = runner.run(spec)
        times.append((time.perf_counter() - begun) * 1000)
        cpu.append((time.process_time() - began) * 1000)
    return min(times), statistics.median(times), min(cpu), page.stats.requests


def by_shards() -> Table:
    rows: list[list[Any]] = []
    for shards in SPACES:
        schema = people(shards)
        table = EmbeddedTable(schema.layout)
        fill(table, schema, RECORDS_OF_SHARDS)
        runner = QueryRunner(schema, table, KEYS, clock=lambda: NOW)
        best, median, cpu, requests = measured(runner, QuerySpec("person", {}, "first", limit=LIMIT))
        rows.append([shards, requests, best, median, cpu, best / requests])
        runner.close()
        table.close()
    slope = (rows[-1][2] - rows[0][2]) / (rows[-1][0] - rows[0][0])
    return Table(
        f"A page of {LIMIT} of {RECORDS_OF_SHARDS:,} records, by shards",
        ["shards", "requests", "best ms", "median ms", "CPU ms", "best ms / request"],
        rows,
        f"The embedded table, in the same process: from 1 to 256 shards each shard adds {slope:.3f} ms. "
        f"{TIMES} times the first page.",
        plot=_plot("scale-shards", "A page by shards", "shards", rows, {"best": 2, "CPU": 4}),
    )


def by_records(sizes: tuple[int, ...]) -> Table:
    rows: list[list[Any]] = []
    schema = people(SHARDS_OF_RECORDS)
    for size in sizes:
        with tempfile.TemporaryDirectory() as folder:
            table = EmbeddedTable(schema.layout, Path(folder) / "table.db")
            fill(table, schema, size)
            runner = QueryRunner(schema, table, KEYS, clock=lambda: NOW)
            spec = QuerySpec("person", {}, "first", limit=LIMIT)
            branches = (BranchSpec({"first": Prefix("c")}, "first"), BranchSpec({"last": Prefix("c")}, "last"))
            first, deep = measured(runner, spec), measured(runner, halfway(runner, spec, size))
            both = measured(runner, QuerySpec("person", branches=branches, limit=LIMIT))
            rows.append([size, first[0], first[1], deep[0], deep[1], both[0], both[1]])
            runner.close()
            table.close()
    columns = ["records", "first page, best ms", "median", "page halfway, best ms", "median", "two indexes, best ms"]
    return Table(
        f"A page of {LIMIT} in {SHARDS_OF_RECORDS} shards, by records",
        [*columns, "median ms"],
        rows,
        f"The embedded table, in a file. The first page and one halfway through all records by first name; and people "
        f"whose first or last name begins with c, over both indexes at once. {TIMES} times each.",
        plot=_plot(
            "scale-records", "A page by records", "records", rows, {"first page": 1, "halfway": 3, "two indexes": 5}
        ),
    )


def halfway(runner: QueryRunner, spec: QuerySpec, size: int) -> QuerySpec:
    """The query of the page after half of the records. A cursor goes with any limit."""
    walk = replace(spec, limit=min(STRIDE, size // 4))
    for _ in range(size // 2 // walk.limit):
        walk = replace(walk, cursor=runner.run(walk).cursor)
    return replace(walk, limit=spec.limit)


def _plot(name: str, title: str, across: str, rows: list[list[Any]], lines: dict[str, int]) -> Plot:
    series = [Line(line, [(row[0], row[column]) for row in rows]) for line, column in lines.items()]
    return Plot(name, f"{title} (milliseconds, both axes logarithmic)", across, "ms", series)
