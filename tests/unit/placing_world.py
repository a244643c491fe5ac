"""Records that members of models identify or place.

Shop     found by the country of its address, its number there, and its city; found by phone and title too
Thing    placed by the country in its site, which is not in its identity
Box      found by what stands on it, the largest first
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NotRequired

from pydantic import BaseModel
from typing_extensions import TypedDict

from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, Unique
from shardweave.schema.entity import Entity, HashKey, desc
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp

FOUR = [ShardBump(0, char_bits=2, chars=1)]


class Address(BaseModel):
    """Where a shop is."""

    country: str
    city_name: str = "oslo"
    street: str | None = None
    lines: list[str] = []


@dataclass
class Site:
    """What is there: a dataclass with a model in it."""

    zone: int
    home: Address


class Label(TypedDict):
    """What stands on a box."""

    kind: str
    colour: NotRequired[str]


class Shop(Entity, token="shop", partition="address.country", sort=("number", "address.city_name"), shard_bumps=FOUR):
    """Found by its country, its number there, and its city."""

    number: int
    address: Address
    title: str = ""
    visits: int = 0
    phone: str | None = None

    phones = Unique("phone")
    titles = Lookup("title")
    title_hash_key = HashKey("title")


class Thing(Entity, token="thing", shard_by="site.home.country", shard_bumps=FOUR):
    """Placed by the country of its site."""

    thing_id: str = unique_property()
    created: Timestamp = timestamp_property()
    site: Site
    title: str = ""


class Box(Entity, token="box", partition="label.kind", sort=(desc("size.zone"),), shard_bumps=FOUR):
    """Found by what stands on it, the largest first."""

    label: Label
    size: Site
    number: int = 0


SCHEMA = Schema([Shop, Thing, Box], [Index("title", hash_key="title_hash_key", range_key="range_key")])
KEY = {"address.country": "no", "number": 1, "address.city_name": "moss"}


def shop(number: int = 1, country: str = "no", **more: Any) -> Shop:
    return Shop(number=number, address=Address(country=country, city_name="moss", street="Kai"), **more)
