"""A service whose names are those that a client has for its own: a page, a client, an answer, a list, a filter."""

from __future__ import annotations

import datetime as dt
from typing import Literal

from pydantic import BaseModel

from shardweave import (
    ORDERED,
    Entity,
    HashKey,
    Index,
    KeyFormat,
    RangeKey,
    Schema,
    Sequence,
    claim_property,
    desc,
    nanoid,
    private_property,
    unique_property,
)


class Country(BaseModel):
    """A country."""

    code: str


class Fault(BaseModel):
    """What is wrong with a client's address."""

    text: str = ""


class Address(BaseModel):
    """Where a client is."""

    country: Country
    city: str = "Oslo"
    faults: list[Fault] = []


class Client(Entity, token="client"):
    """Somebody whose things are in the depot."""

    client_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    address: Address
    tags: tuple[int, ...] = ()
    list: str = "long"
    secret: str | None = private_property(default=None)

    country_hash_key = HashKey("tenant_id", "address.country.code")
    city_range_key = RangeKey("address.city", "client_id")


class ClientKey(Entity, token="clientKey"):
    """What opens a client's door."""

    client_key_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")


class Page(Entity, token="page"):
    """A page about a client."""

    page_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    client_id: str
    num: int | None = None
    title: str
    state: Literal["open", "done"] = "open"
    filter: int = 0
    made: dt.date = dt.date(2025, 1, 1)

    numbering = Sequence("num", within=("tenant_id", "client_id"))
    client_hash_key = HashKey("tenant_id", "client_id")
    tenant_hash_key = HashKey("tenant_id")
    filter_range_key = RangeKey(desc("filter"), "num")
    state_range_key = RangeKey("state", "title")
    made_range_key = RangeKey(desc("made"), "title")


class Answer(Entity, token="answer", partition=("tenant_id", "page_id"), sort=("record", "answer_no")):
    """An answer to a page."""

    page_id: str
    record: Literal["yes", "no"]
    answer_no: int
    tenant_id: str = claim_property("tenant")
    text: str = ""


def schema(key_format: KeyFormat = ORDERED) -> Schema:
    """The service's schema in a key format."""
    indexes = [
        Index("byCountry", "country_hash_key", "city_range_key"),
        Index("byFilter", "client_hash_key", "filter_range_key"),
        Index("filter", "tenant_hash_key", "filter_range_key"),
        Index("byState", "tenant_hash_key", "state_range_key"),
        Index("byMade", "tenant_hash_key", "made_range_key"),
    ]
    return Schema([Client, ClientKey, Page, Answer], indexes, key_format=key_format)
