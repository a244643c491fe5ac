"""The service `orders`: served by `shardweave serve`, tested by `shardweave test`."""

from __future__ import annotations

from shardweave import (
    ORDERED,
    Entity,
    HashKey,
    Index,
    KeyFormat,
    RangeKey,
    Schema,
    ShardBump,
    Timestamp,
    nanoid,
    timestamp_property,
    unique_property,
)


class Order(Entity, token="order", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """One of the orders. Four shards from the beginning."""

    order_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    owner_id: str
    state: str = "open"

    owner_hash_key = HashKey("owner_id")
    state_range_key = RangeKey("state", "created")


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    by_owner = Index("ownerState", hash_key="owner_hash_key", range_key="state_range_key")
    created = Index("created", hash_key="hash_key", range_key="created")
    return Schema([Order], [by_owner, created], key_format=key_format)
