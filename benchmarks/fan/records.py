"""People in 256 shards, spread evenly, in the order of their range keys."""

from __future__ import annotations

import time
from typing import Any

from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table import Guard
from shardweave.table.operations import GetItem, ItemAnswer, Operation, PageAnswer, Query
from shardweave.table.values import Value
from shardweave.values.codecs import Timestamp

TABLE, INDEX = "people", "first"
HASH_NAME, RANGE_NAME = "hashKey", "firstRangeKey"
SHARDS, PER_SHARD = 256, 20
LIMIT, THROTTLE, LATENCY = 100, 32, 0.010
CREATED = 1_726_880_933_000


class Person(Entity, token="person", shard_bumps=[ShardBump(0, 4, 2)]):
    """Somebody with a name."""

    person_id: str = unique_property()
    created: Timestamp = timestamp_property()
    first: str
    note: str

    first_range_key = RangeKey("first", "created")


SCHEMA = Schema([Person], [Index(INDEX, "hash_key", "first_range_key")])


def shards() -> dict[str, list[dict[str, Value]]]:
    """The records of each hash key, in order."""
    found: dict[str, list[dict[str, Value]]] = {f"person!{shard:02x}": [] for shard in range(SHARDS)}
    hash_keys = list(found)
    for number in range(SHARDS * PER_SHARD):
        first, identity = f"f{number:06d}", f"p{number:06d}"
        found[hash_keys[number * 97 % SHARDS]].append(
            {
                "hashKey": hash_keys[number * 97 % SHARDS],
                "rangeKey": f"personId#{identity}",
                "firstRangeKey": f"first#{first} |created#{CREATED + number}",
                "personId": identity,
                "created": CREATED + number,
                "first": first,
                "note": "n" * 500,
            }
        )
    return found


class PreparedTable:
    """Answers every query with the first records of its hash key, after some seconds, and knows of no single item."""

    layout = SCHEMA.layout
    guards_inside_writes = False

    def __init__(self, latency: float) -> None:
        self._latency = latency
        self._shards = shards()

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, GetItem):
            return ItemAnswer(None)
        if not isinstance(operation, Query):
            raise TypeError("queries, and reads of one item, are all that this table answers")
        if self._latency:
            time.sleep(self._latency)
        items = self._shards[operation.hash_value][: operation.limit]
        last = {name: items[-1][name] for name in (HASH_NAME, "rangeKey", RANGE_NAME)}
        return PageAnswer(items=tuple(items), count=len(items), scanned=len(items), last_key=last, units=0.5)

    def close(self) -> None:
        """Nothing is open."""
