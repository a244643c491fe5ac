"""Users in indexes of every kind: with the table's hash key, with one of their own, and with one and two shards of
their own. What `test_reshard` deploys."""

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


class User(Entity, token="user", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A person, and whom they credit."""

    user_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    beneficiary_id: str
    first_name: str
    last_name: str

    beneficiary_hash_key = HashKey("beneficiary_id")
    beneficiary1_hash_key = HashKey("beneficiary_id", shards=1)
    all_hash_key = HashKey(shards=2)
    last_name_range_key = RangeKey("last_name", "created")


INDEXES = (
    Index("created", "hash_key", "created"),
    Index("userBeneficiaryLastName", "beneficiary_hash_key", "last_name_range_key"),
    Index("ofBeneficiary", "beneficiary1_hash_key", "created"),
    Index("everybody", "all_hash_key", "last_name_range_key"),
)


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema."""
    return Schema([User], INDEXES, key_format=key_format)
