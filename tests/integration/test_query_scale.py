"""Queries over 100,000 records: what a page costs at any depth, and what a rare match costs."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Page, Prefix, QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.conditions import Compare
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchWrite
from shardweave.values.codecs import Timestamp

RECORDS = 100_000
NOW = 1_730_000_000_000


class Person(Entity, token="person", shard_bumps=[ShardBump(0, 4, 1)]):
    """16 shards."""

    person_id: str = unique_property()
    created: Timestamp = timestamp_property()
    name: str
    state: str

    name_range_key = RangeKey("name", "created")


SCHEMA = Schema([Person], [Index("name", "hash_key", "name_range_key")])


@pytest.fixture(scope="module")
def runner() -> Iterator[QueryRunner]:
    table = EmbeddedTable(SCHEMA.layout)
    entity = SCHEMA[Person]
    chooser = random.Random(5)
    items = [
        entity.complete(
            {
                "personId": f"p{number:06d}",
                "created": NOW + number,
                "name": "".join(chooser.choices("abcdefghij", k=6)),
                "state": "wanted" if number in (25_000, 75_000) else "active",
            }
        )
        for number in range(RECORDS)
    ]
    for start in range(0, RECORDS, 25):
        table.run(BatchWrite(puts=tuple(items[start : start + 25])))
    made = QueryRunner(SCHEMA, table, CursorKeys("k", {"k": b"k" * 32}), clock=lambda: NOW)
    yield made
    made.close()
    table.close()


def test_the_last_page_of_100_000_records_costs_what_the_first_does(runner: QueryRunner) -> None:
    def page(**values: object) -> Page:
        return runner.run(QuerySpec("person", index="name", **values))  # type: ignore[arg-type]

    page(limit=100)
    first, last = page(limit=100), page(limit=100, reverse=True)
    for name in ("ee", "jj"):
        deep = runner.run(QuerySpec("person", {"name": Prefix(name)}, "name", limit=100))
        assert abs(deep.stats.requests - first.stats.requests) <= 0.2 * first.stats.requests
        assert abs(deep.stats.scanned - first.stats.scanned) <= 0.2 * first.stats.scanned
    assert abs(last.stats.scanned - first.stats.scanned) <= 0.2 * first.stats.scanned


def test_a_walk_over_100_000_records_is_complete_and_every_page_costs_the_same(runner: QueryRunner) -> None:
    pages = list(runner.pages(QuerySpec("person", index="name", limit=500)))
    ids = [each.person_id for page in pages for each in page.items]
    assert len(ids) == len(set(ids)) == RECORDS
    assert [len(page.items) for page in pages] == [500] * 200
    names = [each.name for page in pages for each in page.items]
    assert names == sorted(names)
    requests = [page.stats.requests for page in pages[1:-1]]
    scanned = [page.stats.scanned for page in pages[1:-1]]
    assert max(requests) <= 2 * 16
    assert sum(scanned[-20:]) <= 1.2 * sum(scanned[:20])
    assert sum(requests[-20:]) <= 1.2 * sum(requests[:20])


def test_a_filter_that_matches_one_record_in_50_000(runner: QueryRunner) -> None:
    spec = QuerySpec("person", {}, "name", filter=Compare("state", "=", "wanted"), limit=10)
    page = runner.run(spec)
    assert sorted(each.person_id for each in page.items) == ["p025000", "p075000"]
    assert page.cursor is None
    assert page.stats.scanned == RECORDS
    assert page.stats.requests <= 16 * 14, "reads double in size where a filter drops everything"
    cut = runner.run(QuerySpec("person", {}, "name", filter=Compare("state", "=", "wanted"), limit=10, budget=40))
    assert not cut.complete
    assert cut.cursor is not None
