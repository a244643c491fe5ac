"""Fixtures for tests of the database: accounts, with lookups, a relation, and an index that holds less than all."""

from __future__ import annotations

from shardweave import (
    Entity,
    HashKey,
    Index,
    Lookup,
    RangeKey,
    Schema,
    ShardBump,
    Timestamp,
    Unique,
    belongs_to,
    nanoid,
    timestamp_property,
    unique_property,
)

DAY = 86_400_000
NOW = 1_735_689_600_000


class Clock:
    """A clock that a test sets."""

    def __init__(self, now: int = NOW) -> None:
        self.now = now

    def __call__(self) -> int:
        return self.now


class Team(Entity, token="team"):
    """Who accounts belong to."""

    team_id: str = unique_property()
    name: str


class Account(Entity, token="account", shard_bumps=[ShardBump(0, char_bits=1, chars=1)]):
    """Somebody with a balance. `limit` is called as a parameter of queries is."""

    account_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    team_id: str
    email: str
    city: str | None = None
    limit: int = 0
    balance: int = 0

    team_hash_key = HashKey("team_id")
    city_range_key = RangeKey("city", "created")
    limit_range_key = RangeKey("limit")

    email_unique = Unique("email")
    city_lookup = Lookup("city")
    team = belongs_to(Team, by="team_id")


SCHEMA = Schema(
    [Team, Account],
    [
        Index("created", "hash_key", "created"),
        Index("teamCity", "team_hash_key", "city_range_key", projection="KEYS_ONLY"),
        Index("teamLimit", "team_hash_key", "limit_range_key"),
    ],
)


def accounts(number: int, team: str = "red") -> list[Account]:
    """Accounts of a team, made one second after the other."""
    return [
        Account(
            account_id=f"{team}{each:03}",
            created=NOW - DAY + each * 1_000,
            team_id=team,
            email=f"{team}{each}@example.org",
            city="Oslo" if each % 2 else "Lima",
            limit=each % 5,
            balance=each,
        )
        for each in range(number)
    ]
