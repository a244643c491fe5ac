"""Collections of several entities in GraphQL: each item is of its entity's type, and the same random requests at both
doors are answered alike and as a look at every record says, with tokens that either door takes."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any
from urllib.parse import urlencode

import pytest

from shardweave import Collection, Entity, GraphQL, HashKey, Index, Schema, unique_property
from shardweave.api.app import Api
from shardweave.errors import ConfigurationError
from tests.integration.test_graphql_rights import of_graphql
from tests.unit.access_world import Person, person
from tests.unit.api_world import NOW, api_of, json_of
from tests.unit.test_api_collections import SCHEMA

CALLERS: dict[str, Callable[[Api], Person]] = {
    "acme": lambda api: person(api, tenant="acme"),
    "bolt": lambda api: person(api, "bob", tenant="bolt"),
    "nobody": Person,
}
ITEMS = "items { __typename ... on Bill { billId paid } ...V }"
FRAGMENT = " fragment V on Visit { visitId shop customer }"
Record = dict[str, Any]


def made(api: Api, chance: Random) -> dict[str, list[Record]]:
    records: dict[str, list[Record]] = {"acme": [], "bolt": []}
    times = iter(chance.sample(range(100), 60))
    for tenant, held in records.items():
        for _ in range(20):
            entity, collection = chance.choice((("bill", "bills"), ("visit", "visits")))
            values = {
                "customer": chance.choice(("ann", "bob")),
                "made": NOW + next(times),
                "paid": chance.random() < 0.5,
            }
            found = CALLERS[tenant](api).made(collection, **values)
            held.append({"entity": entity, **found})
        held.sort(key=lambda each: each["made"])
    return records


def shown(each: Record) -> Record:
    """What the documents ask for of a record."""
    if each["entity"] == "bill":
        return {"__typename": "Bill", "billId": each["billId"], "paid": each["paid"]}
    named = {name: each[name] for name in ("visitId", "shop", "customer")}
    return {"__typename": "Visit", **named}


@pytest.mark.parametrize("seed", range(3))
def test_random_requests_are_answered_alike_at_both_doors(seed: int) -> None:
    chance = Random(seed)
    api = api_of(SCHEMA, graphql=GraphQL(max_cost=10**6))
    records, met = made(api, chance), Counter[str]()
    for _ in range(60):
        caller = chance.choice(("acme", "bolt", "acme", "nobody"))
        who, limit, reverse = CALLERS[caller](api), chance.randint(1, 6), chance.random() < 0.5
        customer, low = chance.choice(("ann", "bob", "cid")), NOW + chance.randrange(60)
        bounded, filtered = chance.random() < 0.5, chance.random() < 0.5
        query: dict[str, Any] = {"customer": customer, "limit": limit, "reverse": json.dumps(reverse)}
        given = [f'customer: "{customer}"', f"limit: {limit}", f"reverse: {json.dumps(reverse)}"]
        if bounded:
            query["made.from"] = low
            given.append(f"made: {{from: {low}}}")
        if filtered:
            query["filter.paid"] = "true"
            given.append("filter: {paid: {eq: true}}")
        if caller == "nobody":
            text = f"{{ customerHistory({', '.join(given)}) {{ complete }} }}"
            assert of_graphql(who, text)[0] == "unauthenticated"
            assert who.get(f"/v1/customer-history?{urlencode(query)}").status == 401
            met["refused"] += 1
            continue
        wanted = [
            each
            for each in records[caller]
            if each["customer"] == customer and (not bounded or each["made"] >= low) and (not filtered or each["paid"])
        ]
        wanted = wanted[::-1] if reverse else wanted
        found: list[Record] = []
        token = ""
        while True:
            more = f', nextToken: "{token}"' if token else ""
            body = f"{{ {ITEMS} nextToken prevToken complete }}"
            answer = json_of(
                who.post("/graphql", {"query": f"{{ customerHistory({', '.join(given)}{more}) {body} }}{FRAGMENT}"})
            )
            assert "errors" not in answer, answer
            page = answer["data"]["customerHistory"]
            asked = {**query, **({"nextToken": token} if token else {})}
            over_http = json_of(who.get(f"/v1/customer-history?{urlencode(asked)}"))
            assert page["items"] == [shown({"entity": each["entity"], **each["record"]}) for each in over_http["items"]]
            found += page["items"]
            met["pages with a page before"] += page["prevToken"] is not None
            assert (page["nextToken"] is None) == (over_http["nextToken"] is None)
            if page["nextToken"] is None:
                break
            token = chance.choice((page, over_http))["nextToken"]
        assert found == [shown(each) for each in wanted]
        met["both entities"] += len({each["__typename"] for each in found}) == 2
        met["backwards"] += reverse and len(found) > 1
    floors = {"refused": 5, "pages with a page before": 20, "both entities": 10, "backwards": 5}
    assert {each: met[each] for each, floor in floors.items() if met[each] < floor} == {}


REFUSED = {
    '{ customerHistory(customer: "ann", limit: 49) { complete } }': "limit_exceeded",
    "{ customerHistory(limit: 5) { complete } }": "validation_failed",
    '{ customerHistory(customer: "ann", limit: 5, filter: {shop: {eq: "x"}}) { complete } }': "validation_failed",
    '{ customerHistory(customer: "ann", limit: 5) { items { billId } } }': "validation_failed",
    '{ customerHistory(customer: "ann", limit: 5) { items { ... on Bill { margin } } } }': "validation_failed",
    '{ customerHistory(customer: "ann", limit: 5, tenantId: "bolt") { complete } }': "forbidden",
    '{ customerHistory(customer: "ann", limit: 5, nextToken: "x") { complete } }': "invalid_cursor",
}


@pytest.mark.parametrize("text", REFUSED)
def test_what_can_not_be_asked_is_refused(text: str) -> None:
    who = CALLERS["acme"](api_of(SCHEMA, graphql=GraphQL(max_cost=50)))
    assert of_graphql(who, text)[0] == REFUSED[text]


def test_a_name_that_a_collection_and_another_list_have_is_refused() -> None:
    class Order(Entity, token="order"):
        """An order."""

        order_id: str = unique_property()
        customer: str

        customer_hash_key = HashKey("customer")

    class Refund(Entity, token="refund"):
        """A refund."""

        refund_id: str = unique_property()
        customer: str

        customer_hash_key = HashKey("customer")

    index = Index("byCustomer", "customer_hash_key", "range_key")
    schema = Schema(
        [Order, Refund], [index], collections=[Collection("orders-by-customer", (Order, Refund), index="byCustomer")]
    )
    with pytest.raises(ConfigurationError, match="the collection orders-by-customer would be called"):
        api_of(schema, graphql=GraphQL())
    api_of(schema)
