"""The service under attack: every kind of declaration that keeps something from somebody.

Realm    found by its tenant and name; its owner may read, change and delete it, an administrator makes it
Diary    its key says whose it is, so that its owner may make it where it is asked for
Item     its ids are made up; owner, tenant, private note, lookups, a number, a parent realm, relations; external keys
Audit    written by the service alone
Badge    a read model of events; everybody of the tenant may read it
Ledger   nobody has a right to it but administrators

Eve attacks what is Bob's, Mallory what is Acme's. A world is made with Bob's records or without them; nothing that Eve
and Mallory are answered may differ.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence as Several
from types import ModuleType
from typing import Any, Literal

from pydantic import Field

from shardweave.access import Allow, claim_property, private_property
from shardweave.api.app import Api
from shardweave.api.graphql.options import GraphQL
from shardweave.api.operators import Operators
from shardweave.api.rate_limit import RateLimit, Rates
from shardweave.keys.sharding import ShardBump
from shardweave.query.runner import QueryRunner
from shardweave.reshard.phases import Waits
from shardweave.schema.declarations import Index, Lookup, Sequence, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.read_models import Action, Event, ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.schema.shard_maps import StaticMaps
from shardweave.service.build import Parts, operations_of, operators_operations, reshard_operator
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.values.codecs import Timestamp
from tests.attack.gate import Gate
from tests.unit.api_world import CURSOR_KEYS, EXTERNAL_KEYS, Clock

MARK = "sesame"
"""Stands in every text of Bob's that nobody else may see."""

ADMIN = Allow("*", groups="admin")
BUMPS = [ShardBump(0, char_bits=1, chars=1)]

_numbers = itertools.count()


def next_id() -> str:
    return f"id{next(_numbers):06}"


class Realm(
    Entity,
    token="realm",
    partition="tenant_id",
    sort="name",
    access=[ADMIN, Allow("get", "list", "query", "count", "batchGet", "update", "delete", owner="user_id")],
):
    """Somebody's own."""

    tenant_id: str = claim_property("tenant")
    name: str
    user_id: str
    motto: str | None = None
    visits: int = 0


class Diary(
    Entity,
    token="diary",
    collection="diaries",
    partition=("tenant_id", "user_id"),
    sort="day",
    access=[ADMIN, Allow("*", owner="user_id")],
):
    """Somebody's own, by its key."""

    tenant_id: str = claim_property("tenant")
    user_id: str
    day: str
    text: str = ""
    visits: int = 0


class Item(Entity, token="item", origin="i", shard_bumps=BUMPS, access=[ADMIN, Allow("*", owner="user_id")]):
    """Somebody's own, in a realm."""

    item_id: str = unique_property(default_factory=next_id)
    tenant_id: str = claim_property("tenant")
    created: Timestamp = timestamp_property()
    user_id: str
    realm_name: str | None = None
    num: int | None = None
    slug: str | None = None
    label: str | None = None
    title: str = ""
    see_id: str | None = None
    see_ids: list[str] = Field(default_factory=list)
    see_slug: str | None = None
    visits: int = 0
    note: str | None = private_property(default=None)

    tenant_hash_key = HashKey("tenant_id")
    mine_hash_key = HashKey("tenant_id", "user_id")
    title_range_key = RangeKey("title")

    numbering = Sequence("num", within=("tenant_id", "realm_name"))
    slugs = Unique("slug", within="tenant_id")
    labels = Lookup("label", within="tenant_id")
    realm = belongs_to(Realm, by=("tenant_id", "realm_name"), enforced=True)
    see = belongs_to("item", by="see_id")
    see_all = has_many("item", by="see_ids")
    see_by_slug = belongs_to("item", by=("tenant_id", "see_slug"), on="slug")


class Audit(Entity, token="audit", read_only=True, access=[ADMIN]):
    """What the service noted."""

    audit_id: str = unique_property(default_factory=next_id)
    tenant_id: str = claim_property("tenant")
    text: str

    tenant_hash_key = HashKey("tenant_id")


class Badge(Entity, token="badge", partition="tenant_id", sort="badge_id", access=[Allow("get", "list", "query")]):
    """What events said."""

    tenant_id: str = claim_property("tenant")
    badge_id: str
    colour: str = ""


class Ledger(Entity, token="ledger", singleton=True, access=[ADMIN]):
    """There is one."""

    total: int = 0


class Coloured(Event):
    """A badge has a colour."""

    type: Literal["Coloured"] = "Coloured"
    tenant_id: str
    badge_id: str
    colour: str


def project(event: Coloured) -> Several[Action]:
    return (Update(Badge, {"tenant_id": event.tenant_id, "badge_id": event.badge_id}, {"colour": event.colour}),)


SCHEMA = Schema(
    entities=[Realm, Diary, Item, Audit, Badge, Ledger],
    indexes=[
        Index("byTitle", "tenant_hash_key", "title_range_key", entities=(Item,)),
        Index("titles", "tenant_hash_key", "title", entities=(Item,), projection=("user_id",)),
        Index("mine", "mine_hash_key", "range_key"),
        Index("audits", "tenant_hash_key", "range_key", entities=(Audit,)),
    ],
    read_models=[ReadModel("badges", events=(Coloured,), writes=(Badge,), project=project)],
)

OPERATORS = Operators.of_text("group:operators")

BOBS: dict[str, Any] = {
    "itemId": "bobs-item",
    "tenantId": "acme",
    "name": "bobs-realm",
    "realmName": "bobs-realm",
    "userId": "bob",
    "motto": f"{MARK} motto",
    "slug": "bobs-slug",
    "label": f"{MARK} label",
    "title": f"{MARK} title",
    "note": f"{MARK} note",
    "seeId": "bobs-item",
    "seeIds": ["bobs-item", "eves-item"],
    "seeSlug": "bobs-slug",
    "badgeId": "b",
    "auditId": "bobs-audit",
    "colour": "red",
    "text": f"{MARK} text",
    "num": 1,
    "day": "monday",
    "visits": 481516,
}
"""What Bob's records have, by property. Their attackers guess all of it."""


def fortress(*, with_bobs: bool, rates: Rates | None = None, graphql: GraphQL | None = None) -> Gate:
    """A new one: Eve's records, and Bob's where they are wanted; with GraphQL beside the other routes, or without."""
    global _numbers  # noqa: PLW0603 - two worlds make up the same ids
    _numbers = itertools.count()
    clock = Clock()
    table = EmbeddedTable(SCHEMA.layout, clock=lambda: clock() / 1000)
    queries = QueryRunner(SCHEMA, table, CURSOR_KEYS, maps=StaticMaps(), clock=clock)
    store = Store(SCHEMA, table, maps=StaticMaps(), clock=clock, first=queries.first)
    parts = Parts(SCHEMA, table, store, queries, EXTERNAL_KEYS)
    module = ModuleType("no_operations_of_its_own")
    module.graphql = graphql  # type: ignore[attr-defined]
    operations = operations_of(module, parts, OPERATORS)
    operations += operators_operations(parts, OPERATORS, reshard_operator(table, Waits(), clock))
    for tenant, owner in (("acme", "eve"), ("bolt", "mallory")):
        store.create(Realm(tenant_id=tenant, name=f"{owner}s-realm", user_id=owner))
        mine = {"tenant_id": tenant, "user_id": owner, "realm_name": f"{owner}s-realm", "title": f"{owner}s"}
        leads = {"see_id": "bobs-item", "see_ids": ["bobs-item"], "see_slug": BOBS["slug"]}
        store.create(Item(item_id=f"{owner}s-item", slug=f"{owner}s", label=owner, **mine, **leads))
    if with_bobs:
        store.create(Realm(tenant_id="acme", name="bobs-realm", user_id="bob", motto=BOBS["motto"]))
        store.create(Diary(tenant_id="acme", user_id="bob", day=BOBS["day"], text=BOBS["text"], visits=BOBS["visits"]))
        named = ("itemId", "tenantId", "userId", "realmName", "slug", "label", "title", "note")
        store.create({name: BOBS[name] for name in named}, Item)
        store.create({**{name: BOBS[name] for name in named}, "itemId": "bobs-other", "slug": "other"}, Item)
        store.create(Audit(audit_id="bobs-audit", tenant_id="acme", text=BOBS["text"]))
        store.create(Ledger(total=481516))
    limit = None if rates is None else RateLimit(SCHEMA, table, rates, clock)
    api = Api(operations, title="Fortress", claims=parts.access.claims, limit=limit)
    return Gate(api, parts, clock, made_of=("fortress", rates is None, graphql is None))
