"""Fixtures for tests of indexes with shards of their own: visits to places."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Page, QuerySpec
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.schema.shard_maps import StaticMaps
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem
from shardweave.values.codecs import Timestamp

NOW = 1_730_000_000_000
DAY = 86_400_000
KEYS = CursorKeys("k", {"k": b"k" * 32})
SIXTY_FOUR = (ShardBump(0, 2, 3),)
GROWN = (ShardBump(0, 1, 1), ShardBump(NOW - 5 * DAY, 2, 2), ShardBump(NOW - DAY, 2, 3))
"""2, 16 and 64 shards."""


def visits_schema(bumps: Sequence[ShardBump] = SIXTY_FOUR, one: int | None = 1, many: int | None = 16) -> Schema:
    """Indexes of a place's visits with the table's shards (`byPlace`), with `one` and `many` of its own; of all visits
    with four; of a guest's, who decides the shard, with two."""

    class Visit(Entity, token="visit", shard_bumps=bumps):
        visit_id: str = unique_property()
        created: Timestamp = timestamp_property()
        place: str
        note: str = ""

        place_hash_key = HashKey("place")
        one_hash_key = HashKey("place", shards=one)
        many_hash_key = HashKey("place", shards=many)
        all_hash_key = HashKey(shards=4)
        id_hash_key = HashKey("visit_id", shards=2)
        place_range_key = RangeKey("place", "created")
        note_range_key = RangeKey("note", "created")

    indexes = [
        Index("byPlace", "place_hash_key", "created"),
        Index("byPlaceOne", "one_hash_key", "created"),
        Index("byPlaceMany", "many_hash_key", "created"),
        Index("notesOne", "one_hash_key", "note_range_key"),
        Index("placesMany", "many_hash_key", "place_range_key"),
        Index("all", "all_hash_key", "created"),
        Index("byVisit", "id_hash_key", "created"),
    ]
    return Schema([Visit], indexes)


class Visits:
    """Visits in a table, and a runner."""

    def __init__(self, schema: Schema | None = None) -> None:
        self.schema = schema or visits_schema()
        self.entity = self.schema.entity("visit")
        self.table = EmbeddedTable(self.schema.layout)
        self.runner = QueryRunner(
            self.schema, self.table, KEYS, maps=StaticMaps(), clock=lambda: NOW, sleep=lambda seconds: None
        )

    def add(self, visit_id: str, **values: Any) -> dict[str, Any]:
        """A stored visit; to the sea, now, unless it is said otherwise."""
        item = self.entity.complete({"visitId": visit_id, "created": NOW, "place": "sea", "note": ""} | values)
        self.table.run(PutItem(item))
        return item

    def fill(self, count: int, **values: Any) -> list[str]:
        """So many of them, a millisecond apart."""
        ids = [f"v{number:04d}" for number in range(count)]
        for number, each in enumerate(ids):
            self.add(each, **{"created": NOW - count + number, **values})
        return ids

    def pages(self, spec: QuerySpec) -> Iterator[Page]:
        """Every page of a walk."""
        while True:
            page = self.runner.run(spec)
            yield page
            if page.cursor is None:
                return
            spec = replace(spec, cursor=page.cursor)

    def ids(self, spec: QuerySpec) -> list[str]:
        """The ids of all pages."""
        return [each.visit_id for page in self.pages(spec) for each in page.items]
