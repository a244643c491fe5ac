"""Fixtures for tests of queries: people with several indexes, and a table that tests can look into."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, Page, Prefix, QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.schema.shard_maps import StaticMaps
from shardweave.table import Guard
from shardweave.table.conditions import Condition
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Operation, PageAnswer, PutItem, Query
from shardweave.values.codecs import Timestamp

NOW = 1_730_000_000_000
DAY = 86_400_000
KEYS = CursorKeys("k", {"k": b"k" * 32})


def people_schema(*bumps: ShardBump) -> Schema:
    class Person(Entity, token="person", shard_bumps=bumps):
        person_id: str = unique_property()
        created: Timestamp = timestamp_property()
        first: str
        last: str
        nick: str | None = None
        state: str = "active"
        photo: str | None = None
        expires: int | None = ttl_property()

        first_range_key = RangeKey("first", "last", "created")
        last_range_key = RangeKey("last", "first", "created")
        nick_range_key = RangeKey("nick", "first", "created")
        pair_range_key = RangeKey("first", "last")

    return Schema(
        [Person],
        [
            Index("first", "hash_key", "first_range_key"),
            Index("last", "hash_key", "last_range_key"),
            Index("nick", "hash_key", "nick_range_key"),
            Index("pair", "hash_key", "pair_range_key"),
            Index("created", "hash_key", "created"),
            Index("state", "hash_key", "state", projection="KEYS_ONLY"),
        ],
    )


class TestTable:
    """An embedded table with a hook that sees every query before it runs and may raise, wait, or change the answer."""

    __test__ = False

    def __init__(self, schema: Schema) -> None:
        self.inner = EmbeddedTable(schema.layout)
        self.layout = schema.layout
        self.guards_inside_writes = self.inner.guards_inside_writes
        self.before: Callable[[Query], None] = lambda query: None
        self.after: Callable[[Query, PageAnswer], PageAnswer] = lambda query, answer: answer
        self.operations: list[Operation[Any]] = []

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if not isinstance(operation, Query):
            self.operations.append(operation)
            return self.inner.run(operation, guard=guard)
        self.operations.append(operation)
        self.before(operation)
        return self.after(operation, self.inner.run(operation, guard=guard))

    def close(self) -> None:
        self.inner.close()

    def queries(self) -> list[Query]:
        return [operation for operation in self.operations if isinstance(operation, Query)]


class People:
    """People in a table, and a runner."""

    def __init__(self, *bumps: ShardBump) -> None:
        self.schema = people_schema(*bumps)
        self.table = TestTable(self.schema)
        self.entity = self.schema.entity("person")
        self.now = NOW
        self.runner = QueryRunner(
            self.schema,
            self.table,
            KEYS,
            maps=StaticMaps(),
            clock=lambda: self.now,
            throttle=8,
            sleep=lambda seconds: None,
        )

    def add(self, person_id: str, **values: Any) -> dict[str, Any]:
        given = {"personId": person_id, "created": NOW, "first": "x", "last": "x"} | values
        item = self.entity.complete(self.entity.dump(self.entity.validate(given)))
        self.table.inner.run(PutItem(item))
        return item

    def fill(self, count: int, **values: Callable[[int], Any]) -> list[str]:
        for number in range(count):
            self.add(f"p{number:05d}", **{name: value(number) for name, value in values.items()})
        return [f"p{number:05d}" for number in range(count)]

    def pages(self, spec: QuerySpec) -> Iterator[Page]:
        while True:
            page = self.runner.run(spec)
            yield page
            if page.cursor is None:
                return
            spec = replace(spec, cursor=page.cursor)

    def ids(self, spec: QuerySpec) -> list[str]:
        return [each.person_id for page in self.pages(spec) for each in page.items]

    def close(self) -> None:
        self.runner.close()
        self.table.close()


def starts_with(text: str, filter: Condition | None = None) -> tuple[BranchSpec, ...]:
    """First or last name starts with a text: two branches."""
    return (
        BranchSpec({"first": Prefix(text)}, "first", filter),
        BranchSpec({"last": Prefix(text)}, "last", filter),
    )
