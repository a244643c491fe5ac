"""Relations over HTTP: `expand` shows related records, each read once for a page."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import Field

from shardweave.access import private_property
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.values.codecs import Timestamp
from tests.unit.api_world import NOW, PARTS, Client, CountedTable, api_of, json_of, problem_of

BUMPS = [ShardBump(0, char_bits=2, chars=1), ShardBump(NOW - 1000, char_bits=2, chars=2)]


class Buyer(Entity, token="buyer", origin="b", shard_bumps=BUMPS):
    """In one of two generations."""

    buyer_id: str = unique_property()
    created: Timestamp = timestamp_property()
    phone: str | None = None
    city: str | None = None

    by_phone = Unique("phone")

    city_hash_key = HashKey("city")


class Product(Entity, token="product"):
    """What sales list."""

    product_id: str = unique_property()


class Sale(Entity, token="sale"):
    """Leads to a buyer in three ways, and to products."""

    sale_id: str = unique_property()
    created: Timestamp = timestamp_property()
    buyer_id: str | None = None
    phone: str | None = None
    city: str | None = None
    product_ids: list[str] = Field(default_factory=list)
    shop: str = "main"

    buyer = belongs_to(Buyer, by="buyer_id")
    caller = belongs_to(Buyer, by="phone", on="phone")
    neighbour = belongs_to(Buyer, by="city", on="city", index="city")
    products = has_many(Product, by="product_ids")

    shop_hash_key = HashKey("shop")


SCHEMA = Schema(
    [Buyer, Product, Sale],
    indexes=[
        Index("city", "city_hash_key", "created"),
        Index("shop", "shop_hash_key", "created", projection="KEYS_ONLY"),
    ],
)


@pytest.fixture
def table() -> CountedTable:
    return CountedTable(EmbeddedTable(SCHEMA.layout, clock=lambda: NOW / 1000))


@pytest.fixture
def client(table: CountedTable) -> Client:
    client = Client(api_of(SCHEMA, table=table))
    client.post("/v1/buyers", {"buyerId": "ann", "phone": "1", "city": "Rome"})
    client.post("/v1/products", {"productId": "pen"})
    client.post("/v1/products", {"productId": "cup"})
    sale = {"saleId": "s1", "buyerId": "ann", "phone": "1", "city": "Rome", "productIds": ["pen", "gone", "cup"]}
    client.post("/v1/sales", {**sale, "created": NOW - 1})
    client.post("/v1/sales", {"saleId": "s2", "buyerId": "nobody"})
    return client


def test_one_record_with_all_that_it_leads_to(client: Client) -> None:
    ann = json_of(client.get("/v1/buyers?buyerId=ann"))["items"][0]
    plain = json_of(client.get("/v1/sales/s1"))
    answer = client.get("/v1/sales/s1?expand=buyer,caller,neighbour,products")
    assert json_of(answer) == {
        **plain,
        "expanded": {
            "buyer": ann,
            "caller": ann,
            "neighbour": ann,
            "products": [{"productId": "pen"}, {"productId": "cup"}],
        },
    }
    assert ann["key"]
    assert "etag" not in answer.headers
    assert client.get("/v1/sales/s1?expand=buyer", if_none_match="*").status == 200


def test_what_is_not_there_is_null_and_lists_have_what_is(client: Client) -> None:
    expanded = json_of(client.get("/v1/sales/s2?expand=buyer,caller,neighbour,products"))["expanded"]
    assert expanded == {"buyer": None, "caller": None, "neighbour": None, "products": []}


def test_lists_and_queries_expand_too_and_show_whole_records_of_an_index_that_has_less(client: Client) -> None:
    whole = [json_of(client.get(f"/v1/sales/{name}?expand=products")) for name in ("s1", "s2")]
    assert json_of(client.get("/v1/sales?shop=main&expand=products"))["items"] == whole
    query: dict[str, Any] = {"conditions": {"shop": "main"}, "expand": ["products"]}
    assert json_of(client.post("/v1/sales/query", query))["items"] == whole
    assert json_of(client.post("/v1/sales/count", query))["count"] == 2
    assert client.post("/v1/sales/explain", query).status == 200
    first = json_of(client.get("/v1/sales?shop=main&limit=1&expand=products"))
    second = json_of(client.get(f"/v1/sales?shop=main&expand=products&nextToken={first['nextToken']}"))
    assert [*first["items"], *second["items"]] == whole


def test_a_relation_that_is_not_known_is_refused_with_those_there_are(client: Client) -> None:
    for target in ("/v1/sales/s1?expand=nosuch", "/v1/sales?shop=main&expand=buyer,nosuch", "/v1/sales/s1?expand="):
        problem = problem_of(client.get(target), 400, "unknown_name")
        assert problem["where"] == "expand"
        assert "buyer, caller, neighbour, products" in problem["fix"]
    problem_of(client.post("/v1/sales/query", {"expand": ["nosuch"]}), 400, "unknown_name")
    problem_of(client.post("/v1/sales/count", {"expand": ["nosuch"]}), 400, "unknown_name")
    for wrong in ("buyer", {}, [1], 7):
        problem_of(client.post("/v1/sales/query", {"expand": wrong}), 400, "validation_failed")


def test_parts_of_records_are_not_expanded(client: Client) -> None:
    query = {"conditions": {"shop": "main"}, "expand": ["buyer"], "properties": ["saleId"]}
    assert problem_of(client.post("/v1/sales/query", query), 400, "unsupported_query")["where"] == "expand"


def test_an_entity_without_relations_has_no_such_parameter() -> None:
    client = Client(api_of(PARTS))
    problem_of(client.get("/v1/parts/a?expand=x"), 400, "unknown_name")
    assert client.post("/v1/parts/query", {"conditions": {"sku": "a"}, "expand": []}).status == 400


@pytest.mark.parametrize(
    ("relation", "reads"),
    [
        ("buyer", ["BatchGet", "BatchGet"]),  # 100 keys in each of two generations, 100 a request
        ("products", ["BatchGet"]),
        ("caller", ["BatchGet", "BatchGet", "BatchGet"]),  # the lookup records, then as by id
    ],
)
def test_a_page_of_100_costs_a_few_batch_reads(
    client: Client, table: CountedTable, relation: str, reads: list[str]
) -> None:
    for number in range(100):
        client.post("/v1/buyers", {"buyerId": f"b{number}", "phone": f"p{number}"})
        client.post("/v1/products", {"productId": f"q{number}"})
        sale = {"saleId": f"t{number}", "buyerId": f"b{number}", "phone": f"p{number}", "productIds": [f"q{number}"]}
        client.post("/v1/sales", {**sale, "shop": "busy"})
    client.get("/v1/sales?shop=busy&expand=caller")
    table.asked_since()
    client.post("/v1/sales/query", {"conditions": {"shop": "busy"}, "hydrate": True})
    plain = table.asked_since()
    page = json_of(client.get(f"/v1/sales?shop=busy&expand={relation}"))
    asked = table.asked_since()
    assert sorted(asked) == sorted([*plain, *reads])
    assert len(page["items"]) == 100
    assert all(item["expanded"][relation] for item in page["items"])


def test_a_record_that_many_lead_to_is_read_once(client: Client, table: CountedTable) -> None:
    for number in range(100):
        client.post("/v1/sales", {"saleId": f"t{number}", "productIds": ["pen"], "shop": "busy"})
    table.asked_since()
    assert len(json_of(client.get("/v1/sales?shop=busy&expand=products"))["items"]) == 100
    assert table.asked_since() == ["Query", "BatchGet", "GetItem"]


class Colleague(Entity, token="colleague"):
    """Whose boss, friends and badge nobody else is to know."""

    colleague_id: str = unique_property()
    boss_id: str | None = private_property(default=None)
    friend_ids: list[str] = private_property(default_factory=list)
    badge: str | None = private_property(default=None)
    buddy_id: str | None = None
    seen_badge: str | None = None

    badges = Unique("badge")
    boss = belongs_to("colleague", by="boss_id")
    friends = has_many("colleague", by="friend_ids")
    wearer = belongs_to("colleague", by="seen_badge", on="badge")
    buddy = belongs_to("colleague", by="buddy_id")


def test_a_relation_that_would_show_what_is_private_is_not_there() -> None:
    schema = Schema(entities=[Colleague])
    table = EmbeddedTable(schema.layout)
    client = Client(api_of(schema, table=table))
    client.post("/v1/colleagues", {"colleagueId": "ann", "badge": "7"})
    bob = {"colleagueId": "bob", "bossId": "ann", "friendIds": ["ann"], "buddyId": "ann", "seenBadge": "7"}
    assert client.post("/v1/colleagues", bob).status == 201
    for name in ("boss", "friends", "wearer"):
        for answer in (
            client.get(f"/v1/colleagues/bob?expand={name}"),
            client.get(f"/v1/colleagues?colleagueId=bob&expand=buddy,{name}"),
            client.post("/v1/colleagues/query", {"conditions": {"colleagueId": "bob"}, "expand": [name]}),
            client.post("/v1/colleagues/batch-get", {"keys": ["bob"], "expand": [name]}),
        ):
            problem = problem_of(answer, 400, "unknown_name")
            assert (problem["where"], problem["fix"]) == ("expand", "use one of buddy")
    assert json_of(client.get("/v1/colleagues/bob?expand=buddy"))["expanded"] == {"buddy": {"colleagueId": "ann"}}
    described = client.get("/openapi.json").body.decode()
    assert "boss" not in described.replace("bossId", "").replace("Whose boss", "")
    store = Store(schema, table)
    (related,) = store.expand([store.get(Colleague, "bob")], "boss", "wearer")
    assert [each.colleague_id for each in related.values()] == ["ann", "ann"], "in Python they are as ever"
