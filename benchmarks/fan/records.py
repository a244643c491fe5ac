"""People in 256 shards, spread evenly, in the order of their range keys."""

from __future__ import annotations

from shardweave.codecs import Timestamp
from shardweave.entity import Entity, RangeKey, timestamp_property, unique_property
from shardweave.schema import Index, Schema
from shardweave.sharding import ShardBump
from shardweave.table.values import Value

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
