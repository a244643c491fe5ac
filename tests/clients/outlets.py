"""A service whose records are identified and placed by members of their addresses."""

from __future__ import annotations

from pydantic import BaseModel

from shardweave import ORDERED, Entity, HashKey, Index, KeyFormat, RangeKey, Schema, ShardBump


class Region(BaseModel):
    """A part of a country."""

    code: str


class Address(BaseModel):
    """Where an outlet is."""

    country: str
    region: Region
    street: str = ""


class Outlet(
    Entity,
    token="outlet",
    partition=("address.country", "address.region.code"),
    sort="number",
    shard_bumps=[ShardBump(0, char_bits=1, chars=1)],
):
    """The outlet of a number in a region."""

    number: int
    address: Address
    open: bool = True

    region_hash_key = HashKey("address.country")
    number_range_key = RangeKey("address.region.code", "number")


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The schema of the service."""
    by_country = Index("byCountry", hash_key="region_hash_key", range_key="number_range_key")
    return Schema([Outlet], [by_country], key_format=key_format)
