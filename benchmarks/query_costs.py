"""What a page reads, how many rounds it takes, and how long, as shards grow."""

from __future__ import annotations

import json
import random
import statistics
import time
from typing import Any

from benchmarks import paging
from benchmarks.key import peer
from benchmarks.key_building import GOLDEN
from benchmarks.page.people import MORE_BITS, config
from benchmarks.page.people import people as people_in
from benchmarks.tables import Table
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.sizes import RECORDS_PER_UNIT
from shardweave.query.spec import BranchSpec, Equal, Prefix, QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table import Guard
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchWrite, Operation, Query
from shardweave.values.codecs import Timestamp

TITLE = "queries: records read, rounds and time as shards grow"
KEYS = CursorKeys("bench", {"bench": b"b" * 32})
NOW = 1_730_000_000_000
RECORDS = 20_000
PAGES = 40
LATENCY = 0.010
GROUPS, MEMBERS, GROUP_PAGES = 40, 10_000, 8
OWN = {"table's": "byGroup", "1": "byGroup1", "4": "byGroup4", "16": "byGroup16"}
"""Indexes of a group's members, by the shards that they have."""


class SlowTable:
    """A table that takes `latency` seconds for every query, as one over a network does."""

    def __init__(self, table: EmbeddedTable, latency: float) -> None:
        self._table = table
        self._latency = latency
        self.layout = table.layout
        self.guards_inside_writes = table.guards_inside_writes

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, Query):
            time.sleep(self._latency)
        return self._table.run(operation, guard=guard)

    def close(self) -> None:
        self._table.close()


def people(bits: int, chars: int) -> Schema:
    """People in `2 ** (bits * chars)` shards."""

    class Person(Entity, token="person", shard_bumps=[ShardBump(0, bits, chars)]):
        person_id: str = unique_property()
        created: Timestamp = timestamp_property()
        first: str
        last: str
        note: str = "n" * 500

        first_range_key = RangeKey("first", "last", "created")
        last_range_key = RangeKey("last", "first", "created")

    return Schema(
        [Person], [Index("first", "hash_key", "first_range_key"), Index("last", "hash_key", "last_range_key")]
    )


def filled(schema: Schema, records: int) -> EmbeddedTable:
    """A table with that many people."""
    table = EmbeddedTable(schema.layout)
    entity = schema.entity("person")
    chooser = random.Random(3)
    names = ["".join(chooser.choices("abcdefgh", k=5)) for _ in range(2000)]
    items = [
        entity.complete(
            {
                "personId": f"p{number:06d}",
                "created": NOW + number,
                "first": chooser.choice(names),
                "last": chooser.choice(names),
                "note": "n" * 500,
            }
        )
        for number in range(records)
    ]
    for start in range(0, len(items), 25):
        table.run(BatchWrite(puts=tuple(items[start : start + 25])))
    return table


def run() -> list[Table]:
    return [records_read(), fan_out(), index_shards()]


def records_read() -> Table:
    rows = []
    for bits, chars in ((2, 1), (4, 1), (3, 2), (7, 1)):
        shards = 2 ** (bits * chars)
        schema = people(bits, chars) if bits <= 5 else people_of_128()
        table = filled(schema, RECORDS)
        runner = QueryRunner(schema, table, KEYS, clock=lambda: NOW)
        for limit in (10, 25, 100):
            spec = QuerySpec("person", {}, "first", limit=limit)
            stats = [page.stats for page, _ in zip(runner.pages(spec), range(PAGES), strict=False)]
            read = statistics.mean(each.scanned for each in stats)
            bound = 2 * limit + shards * RECORDS_PER_UNIT
            one_round = sum(each.rounds == 1 for each in stats) / len(stats)
            rows.append([shards, limit, read, read / limit, bound, read / bound, f"{one_round:.0%}"])
        runner.close()
        table.close()
    return Table(
        "Records read for a page",
        ["shards", "limit", "read", "read per record", "aim", "read / aim", "pages in one round"],
        rows,
        f"Means over {PAGES} pages of {RECORDS:,} people. The aim is 2 x limit + shards x {RECORDS_PER_UNIT}, the "
        "records of 1 KB that one read unit pays for.",
    )


def people_of_128() -> Schema:
    """128 shards take a character of 5 bits too many or too few; 7 characters of one bit make exactly 128."""
    return people(1, 7)


def fan_out() -> Table:
    latency, rows = 0.010, []
    schema = people_of_128()
    table = filled(schema, RECORDS)
    slow = SlowTable(table, latency)
    for throttle in (8, 32, 64):
        runner = QueryRunner(schema, slow, KEYS, clock=lambda: NOW, throttle=throttle)
        branches = (BranchSpec({"first": Prefix("a")}, "first"), BranchSpec({"last": Prefix("a")}, "last"))
        spec = QuerySpec("person", branches=branches, limit=100)
        runner.run(spec)
        stats = [page.stats for page, _ in zip(runner.pages(spec), range(20), strict=False)]
        bound = -(-256 // throttle) * latency * 1000
        measured = statistics.median(each.milliseconds for each in stats)
        rows.append(
            [
                throttle,
                statistics.mean(each.requests for each in stats),
                f"{sum(each.rounds == 1 for each in stats) / len(stats):.0%}",
                bound,
                measured,
                measured / bound,
            ]
        )
        runner.close()
    table.close()
    return Table(
        "256 lanes (128 shards, two indexes), 10 ms for each read",
        ["throttle", "requests", "pages in one round", "bound ms", "median ms", "measured / bound"],
        rows,
        "Pages of 100. The bound is ceil(256 / throttle) x 10 ms.",
    )


def members(bits: int, chars: int) -> Schema:
    """Members of groups in `2 ** (bits * chars)` shards, with an index over those and some with fewer."""

    class Member(Entity, token="member", shard_bumps=[ShardBump(0, bits, chars)]):
        member_id: str = unique_property()
        created: Timestamp = timestamp_property()
        group: str
        note: str = "n" * 700

        group_hash_key = HashKey("group")
        group1_hash_key = HashKey("group", shards=1)
        group4_hash_key = HashKey("group", shards=4)
        group16_hash_key = HashKey("group", shards=16)

    keys = ["group_hash_key", "group1_hash_key", "group4_hash_key", "group16_hash_key"]
    return Schema([Member], [Index(name, key, "created") for name, key in zip(OWN.values(), keys, strict=True)])


def index_shards() -> Table:
    """A page of one group's members, as shards grow, by indexes that grow with them and by those that do not."""
    folder, golden = peer.installed(), json.loads(GOLDEN.read_text(encoding="utf-8"))["config"]
    rows: list[list[Any]] = []
    for shards, (bits, chars) in {4: (2, 1), 64: (3, 2), **MORE_BITS}.items():
        schema = members(bits, chars)
        table = grouped(schema)
        for title, index in OWN.items():
            rows.append([shards, title, *page_costs(schema, table, index)])
        table.close()
        if folder is not None:
            settings = config(golden, shards)
            theirs = paging.theirs(folder, settings, people_of(settings), most_pages=1)
            rows.append([shards, f"entity-manager {peer.VERSION}", theirs.requests, "", "", ""])
    return Table(
        "A page of 25 of one group, by the shards of its index",
        ["shards", "index has", "requests", "read units", "ms", f"ms, {LATENCY * 1000:.0f} ms for each read"],
        rows,
        f"Means of {GROUP_PAGES} pages (medians of ms) of a group that has 1 in {GROUPS} of {MEMBERS:,} members of "
        "0.9 KB, in the embedded table; 32 reads at once. entity-manager asks every shard of the entity for 10 records "
        "of the index at a time, and reads on until it has 25: its requests for the first page of as many users.",
    )


def people_of(settings: dict[str, Any]) -> list[dict[str, Any]]:
    """As many users as a group has members, in the other side's keys."""
    return people_in(Schema.from_entity_manager(settings), MEMBERS // GROUPS)


def grouped(schema: Schema) -> EmbeddedTable:
    """A table with all members."""
    table, entity = EmbeddedTable(schema.layout), schema.entity("member")
    items = [
        entity.complete(
            {"memberId": f"m{number:06d}", "created": NOW + number, "group": f"g{number % GROUPS}", "note": "n" * 700}
        )
        for number in range(MEMBERS)
    ]
    for start in range(0, len(items), 25):
        table.run(BatchWrite(puts=tuple(items[start : start + 25])))
    return table


def page_costs(schema: Schema, table: EmbeddedTable, index: str) -> list[Any]:
    """Requests, read units and milliseconds of pages, and milliseconds where each read takes longer."""
    spec = QuerySpec("member", {"group": Equal("g7")}, index, limit=25)
    found = []
    for each in (table, SlowTable(table, LATENCY)):
        runner = QueryRunner(schema, each, KEYS, clock=lambda: NOW)
        stats = [page.stats for page, _ in zip(runner.pages(spec), range(GROUP_PAGES), strict=False)]
        runner.close()
        found.append(stats)
    at_once, slow = found
    return [
        statistics.mean(each.requests for each in at_once),
        statistics.mean(each.units for each in at_once),
        statistics.median(each.milliseconds for each in at_once),
        statistics.median(each.milliseconds for each in slow),
    ]
