"""Entities with lookups, sequences and relations, and what is wrong with a table that holds them.

Customer   unique phone and e-mail address, found by city; three generations, a TTL
Mailbox    sharded by its owner; its address is unique as an id and, in lower case, as a value
Project    parent of issues and of areas
Issue      numbered inside its project, which must exist; may have a unique code inside its tenant
Area       a second kind of child, numbered over all
Order      leads to a customer by id, phone and city, and to products
Product    what orders list
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pydantic import Field

from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, Sequence, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, nanoid
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.relations import COUNTED
from shardweave.schema.schema import Schema
from shardweave.store.lookups.lookup_records import OWNER, lookup_keys, owner_text
from shardweave.store.relations.enforced import counter_key, enforced
from shardweave.table.operations import GetItem
from shardweave.values.codecs import Timestamp, TimestampSeconds
from tests.unit.store_world import BUMPS, World


class Customer(Entity, token="customer", shard_bumps=BUMPS):
    """Somebody who orders."""

    customer_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    expires: TimestampSeconds | None = ttl_property()
    tenant: str = "t"
    phone: str | None = None
    email: str | None = None
    city: str | None = None
    name: str = ""

    phone_lookup = Unique("phone")
    email_lookup = Unique("email", within="tenant", canonical=str.casefold)
    city_lookup = Lookup("city")

    city_hash_key = HashKey("city")


class Mailbox(Entity, token="mailbox", shard_by="owner_id", shard_bumps=BUMPS):
    """An address in its owner's shard."""

    address: str = unique_property()
    owner_id: str
    created: Timestamp = timestamp_property()
    expires: TimestampSeconds | None = ttl_property()

    folded = Unique("address", canonical=str.casefold, name="folded")
    owned = Lookup("owner_id")


class Project(Entity, token="project", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """Something that issues are about."""

    project_id: str = unique_property(default_factory=nanoid)
    name: str = ""


class Issue(Entity, token="issue", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """Something to do in a project."""

    issue_id: str = unique_property(default_factory=nanoid)
    project_id: str
    num: int = 0
    title: str = ""
    code: str | None = None

    numbering = Sequence("num", within="project_id")
    num_lookup = Unique("num", within="project_id")
    code_lookup = Unique("code")
    project = belongs_to(Project, by="project_id", enforced=True)


class Area(Entity, token="area"):
    """A part of a project."""

    area_id: str = unique_property(default_factory=nanoid)
    project_id: str | None = None
    rank: int

    ranking = Sequence("rank")
    project = belongs_to("project", by="project_id", enforced=True)


class Product(Entity, token="product"):
    """Something to order."""

    product_id: str = unique_property()
    name: str = ""


class Order(Entity, token="order"):
    """What a customer wants."""

    order_id: str = unique_property(default_factory=nanoid)
    customer_id: str | None = None
    tenant: str = "t"
    phone: str | None = None
    email: str | None = None
    city: str | None = None
    product_ids: list[str] = Field(default_factory=list)

    customer = belongs_to(Customer, by="customer_id")
    caller = belongs_to(Customer, by="phone", on="phone")
    writer = belongs_to(Customer, by=("tenant", "email"), on="email")
    neighbour = belongs_to(Customer, by="city", on="city", index="city")
    products = has_many(Product, by="product_ids")


SCHEMA = Schema(
    entities=[Customer, Mailbox, Project, Issue, Area, Product, Order],
    indexes=[Index("city", "city_hash_key", "created")],
)


def shop(*args: Any, **settings: Any) -> World:
    """A world of these entities. Its markers are set and no request is counted yet."""
    world = World(*args, schema=SCHEMA, **settings)
    for store in (world.other, world.store):
        store.batch_write()
    for model, name in ((Customer, "phone"), (Customer, "email"), (Customer, "city"), (Mailbox, "folded")):
        world.store.find_by(model, name, "nobody", within={"tenant": "t"} if name == "email" else {})
    world.requests()
    return world


def internal(world: World) -> list[dict[str, Any]]:
    """Everything that is no record."""
    return [item for item in world.items() if world.schema.entity_of_key(item["hashKey"]) is None]


def unsound(world: World) -> Iterator[str]:
    """What is wrong: a live record whose lookup is missing, another's or of another TTL; a number of children that is
    not the number; a lookup that leads nowhere although nothing has expired."""
    items = {(item["hashKey"], item["rangeKey"]): item for item in world.items()}
    now = world.clock() // 1000
    needed = set()
    children: dict[tuple[Any, ...], int] = {}
    for entity in world.schema.entities.values():
        for item in world.items_of(entity.model):
            if entity.is_expired(item, now):
                continue
            for lookup in entity.lookups.values():
                for key in lookup_keys(entity, lookup, item):
                    place = (key["hashKey"], key["rangeKey"])
                    needed.add(place)
                    record = items.get(place)
                    if record is None or record[OWNER] != owner_text(entity, item):
                        yield f"{entity.token}.{lookup.name}: " + ("none" if record is None else "another's")
                    elif entity.ttl is not None and record.get(entity.ttl) != item.get(entity.ttl):
                        yield f"{entity.token}.{lookup.name}: another TTL"
            for relation in enforced(entity):
                value = item.get(relation.by[0])
                if (relation.name in item.get(COUNTED, ())) != (value is not None):
                    yield f"{entity.token}.{relation.name}: counted wrongly"
                if value is not None:
                    counter = (relation.target, value, f"{entity.token}_{relation.name}")
                    children[counter] = children.get(counter, 0) + 1
    yield from _miscounted(world, children)
    for place, item in items.items():
        if OWNER in item and place not in needed and item.get("expires", now + 1) > now:
            yield f"{place[0].partition('!')[0]}: leads nowhere"


def _miscounted(world: World, children: dict[tuple[Any, ...], int]) -> Iterator[str]:
    for (token, value, attribute), count in children.items():
        parent = world.schema.entity(token)
        key = counter_key(parent, {parent.identity[0]: value})
        counter = world.inner.run(GetItem(key, consistent=True)).item or {}
        if counter.get(attribute, 0) != count:
            yield f"{attribute}: {counter.get(attribute, 0)} instead of {count}"
    total = sum(
        number
        for item in world.items()
        if ".*!" in item["hashKey"]
        for name, number in item.items()
        if isinstance(number, int) and "_" in name
    )
    if total != sum(children.values()):
        yield f"{total} children counted, there are {sum(children.values())}"


def sound(world: World) -> bool:
    return list(unsound(world)) == []
