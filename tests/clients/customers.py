"""A service with a collection of two entities, whose clients are tested."""

from __future__ import annotations

from shardweave import (
    ORDERED,
    Collection,
    Entity,
    HashKey,
    Index,
    KeyFormat,
    RangeKey,
    Schema,
    Timestamp,
    timestamp_property,
    unique_property,
)


class Bill(Entity, token="bill"):
    """A bill."""

    bill_id: str = unique_property()
    customer: str
    made: Timestamp = timestamp_property()
    paid: bool = False
    amount: int = 0

    customer_hash_key = HashKey("customer")
    time_range_key = RangeKey("made", "bill_id")


class Visit(Entity, token="visit"):
    """A visit."""

    visit_id: str = unique_property()
    customer: str
    made: Timestamp = timestamp_property()
    paid: bool = False
    shop: str = "Oslo"

    customer_hash_key = HashKey("customer")
    time_range_key = RangeKey("made", "visit_id")


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    return Schema(
        [Bill, Visit],
        [Index("byTime", "customer_hash_key", "time_range_key")],
        collections=[Collection("customer-history", (Bill, Visit), index="byTime")],
        key_format=key_format,
    )
