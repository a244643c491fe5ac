"""The user service once more, laid out by what its questions cost: indexes have as many shards as their writes need.

`user_service` is laid out as the article has it: every index has the shards of the table, so that a page of one
beneficiary's users looks into each of them. Here the records, the properties, the orders and the names of the indexes
are the same, and the hash keys of indexes have shards of their own:

    a beneficiary's users      one: some hundred users and few writes a second, which one partition takes
    all users, all e-mails     four: every write goes there, and a partition takes 1,000 write units a second

These numbers stay when users move to 16 or 4,096 shards. Key formats of others have no such hash keys.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import replace

from services import user_service
from shardweave import ORDERED, Entity, HashKey, KeyFormat, Schema, ShardBump


class User(user_service.User, token="user", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """A person who signs in, and who credits a beneficiary."""

    user_beneficiary_hash_key = HashKey("beneficiary_id", shards=1)
    all_hash_key = HashKey(shards=4)


class Email(user_service.Email, token="email"):
    """An address that a user signs in with."""

    all_hash_key = HashKey(shards=4)


INDEXES = tuple(
    replace(each, hash_key="all_hash_key") if each.hash_key == "hash_key" else each for each in user_service.INDEXES
)


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema. Raises SchemaError for a key format of another library."""
    return Schema(entities=[User, Email], indexes=INDEXES, key_format=key_format)


def sample_data(day: dt.date) -> Iterator[Entity]:
    """The users and e-mails of `user_service`."""
    for each in user_service.sample_data(day):
        model = User if isinstance(each, user_service.User) else Email
        yield model(**dict(each))
