"""Collections of several entities over HTTP: one list of records with their entities, and each entity's own access
rules, tenants and hidden properties."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shardweave import (
    Allow,
    Collection,
    Database,
    Entity,
    HashKey,
    Index,
    RangeKey,
    Schema,
    ShardBump,
    Timestamp,
    claim_property,
    nanoid,
    private_property,
    timestamp_property,
    unique_property,
)
from shardweave.access.authorization import Authorization
from shardweave.api.caller_database import CallerDatabase
from shardweave.api.http import Response
from shardweave.errors import Forbidden
from shardweave.schema.caller import Caller
from shardweave.table.operations import UpdateItem
from tests.unit.access_world import Person
from tests.unit.api_world import NOW, api_of


class Bill(Entity, token="bill", shard_bumps=[ShardBump(0, 1, 1)]):
    """A bill."""

    bill_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    customer: str
    made: Timestamp = timestamp_property()
    paid: bool = False
    margin: int = private_property(default=0)

    customer_hash_key = HashKey("tenant_id", "customer")
    time_range_key = RangeKey("made", "bill_id")


class Visit(Entity, token="visit"):
    """A visit."""

    visit_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    customer: str
    made: Timestamp = timestamp_property()
    paid: bool = False
    shop: str = "Oslo"

    customer_hash_key = HashKey("tenant_id", "customer")
    time_range_key = RangeKey("made", "visit_id")


HISTORY = Collection("customer-history", (Bill, Visit), index="byTime")
SCHEMA = Schema(
    [Bill, Visit],
    [Index("byTime", "customer_hash_key", "time_range_key", projection=["paid"])],
    collections=[HISTORY],
)
PATH = "/v1/customer-history"


def opened(schema: Schema) -> Database:
    return Database(schema, clock=lambda: NOW)


@pytest.fixture
def db() -> Iterator[Database]:
    with opened(SCHEMA) as found:
        for number in range(8):
            kind, name = ((Bill, "bill_id"), (Visit, "visit_id"))[number % 2]
            for tenant in ("red", "blue"):
                record = {name: f"{tenant}{number}", "tenant_id": tenant, "customer": "ann", "made": NOW - 100 + number}
                found.create(kind, record | {"paid": number > 3})
        yield found


def person(db: Database, **claims: Any) -> Person:
    return Person(api_of(db.schema, table=db.store.table), {"sub": "me", **claims})


def told(answer: Response) -> Any:
    return json.loads(answer.body)


def ids(body: Mapping[str, Any]) -> list[str]:
    return [f"{each['entity']} {each['record'][each['entity'] + 'Id']}" for each in body["items"]]


def test_a_page_has_records_of_all_entities_in_one_order_and_of_one_tenant(db: Database) -> None:
    red = person(db, tenant="red")
    first = told(red.get(f"{PATH}?customer=ann&limit=3"))
    assert first["items"][:2] == [
        {
            "entity": "bill",
            "record": {"billId": "red0", "tenantId": "red", "customer": "ann", "made": NOW - 100, "paid": False},
        },
        {
            "entity": "visit",
            "record": {"visitId": "red1", "tenantId": "red", "customer": "ann", "made": NOW - 99, "paid": False}
            | {"shop": "Oslo"},
        },
    ]
    second = told(red.get(f"{PATH}?customer=ann&limit=3&nextToken={first['nextToken']}"))
    third = told(red.get(f"{PATH}?customer=ann&limit=3&nextToken={second['nextToken']}"))
    assert [*ids(first), *ids(second), *ids(third)] == [f"{('bill', 'visit')[n % 2]} red{n}" for n in range(8)]
    assert (first["prevToken"], third["nextToken"]) == (None, None)
    before = told(red.get(f"{PATH}?customer=ann&limit=3&prevToken={third['prevToken']}"))
    assert before["items"] == second["items"]
    turned = told(red.get(f"{PATH}?customer=ann&limit=8&reverse=true"))
    assert ids(turned) == [*ids(first), *ids(second), *ids(third)][::-1]
    blue = person(db, tenant="blue")
    assert blue.get(f"{PATH}?customer=ann&limit=3&nextToken={first['nextToken']}").status == 400
    assert all(" blue" in each for each in ids(told(blue.get(f"{PATH}?customer=ann"))))
    assert red.get(f"{PATH}?customer=ann&tenantId=blue").status == 403
    assert Person(red.api).get(f"{PATH}?customer=ann").status == 401


def test_conditions_and_filters_are_those_that_all_entities_have(db: Database) -> None:
    red = person(db, tenant="red")
    assert ids(told(red.get(f"{PATH}?customer=ann&made.from={NOW - 94}"))) == ["bill red6", "visit red7"]
    paid = told(red.get(f"{PATH}?customer=ann&filter.paid=true&limit=3"))
    assert ids(paid) == ["bill red4", "visit red5", "bill red6"]
    for unknown in (
        "billId=red0",
        "filter.shop=Oslo",
        "filter.margin=1",
        "index=byTime",
        "properties=made",
        "expand=x",
    ):
        answer = red.get(f"{PATH}?customer=ann&{unknown}")
        assert answer.status == 400, unknown
    refused = red.get(f"{PATH}?made={NOW}")
    assert refused.status == 400
    assert "it needs customer to be fixed" in told(refused)["detail"]


def test_a_record_that_can_not_be_read_is_told_to_nobody_who_sees_some_alone(db: Database) -> None:
    red, entity = person(db, tenant="red"), db.schema[Visit]
    record = db.get(Visit, "red1")
    assert record is not None
    item = entity.complete(entity.dump(record))
    key = {name: item[name] for name in (entity.keys.design.hash_name, entity.keys.design.range_name)}
    db.store.table.run(UpdateItem(key, {"paid": "perhaps"}))
    body = told(red.get(f"{PATH}?customer=ann"))
    assert len(body["items"]) == 7
    assert "unreadable" not in body


def test_the_document_describes_it() -> None:
    document = json.loads(api_of(SCHEMA).openapi)
    operation = document["paths"][PATH]["get"]
    assert operation["operationId"] == "listCustomerHistory"
    assert [each["name"] for each in operation["parameters"]] == [
        "reverse", "limit", "nextToken", "prevToken", "timeLimitMs", "onShardError", "tenantId", "tenantId.eq",
        "customer", "customer.eq", "made", "made.eq", "made.from", "made.to",
        *(f"filter.{name}" for name in ("tenantId", "tenantId.prefix", "tenantId.from", "tenantId.to")),
        *(f"filter.{name}" for name in ("customer", "customer.prefix", "customer.from", "customer.to")),
        *(f"filter.{name}" for name in ("made", "made.from", "made.to", "paid", "paid.from", "paid.to")),
    ]  # fmt: skip
    schemas = document["components"]["schemas"]
    item = schemas["CustomerHistoryList"]["properties"]["items"]["items"]
    assert item["discriminator"]["propertyName"] == "entity"
    assert [each["$ref"].rpartition("/")[2] for each in item["oneOf"]] == [
        "CustomerHistoryBill",
        "CustomerHistoryVisit",
    ]
    assert schemas["CustomerHistoryBill"]["required"] == ["entity", "record"]


def test_it_has_no_route_while_its_index_is_being_filled() -> None:
    hidden = SCHEMA.hiding(["byTime"])
    assert PATH in json.loads(api_of(SCHEMA).openapi)["paths"]
    assert PATH not in json.loads(api_of(hidden).openapi)["paths"]
    assert hidden.collections == ()
    assert SCHEMA.hiding(["byTime"], "bill").collections == (HISTORY,)
    assert SCHEMA.hiding(("byTime",)) is hidden, "so that its entities' shard maps are kept once"


# -- rules ------------------------------------------------------------------------------------------------------------


class Plan(Entity, token="plan", access=[Allow("*", groups="planner"), Allow("*", owner="user_id")]):
    """What somebody plans."""

    plan_id: str = unique_property()
    user_id: str
    city: str
    city_hash_key = HashKey("city")
    user_range_key = RangeKey("plan_id")


class Trip(Entity, token="trip", access=[Allow("*", groups=("planner", "guest"))]):
    """What somebody did."""

    trip_id: str = unique_property()
    city: str
    city_hash_key = HashKey("city")
    user_range_key = RangeKey("trip_id")


RULES = Schema(
    [Plan, Trip],
    [Index("byCity", "city_hash_key", "user_range_key")],
    collections=[Collection("journeys", (Trip, Plan), index="byCity")],
)


@pytest.fixture
def journeys() -> Iterator[Database]:
    with opened(RULES) as found:
        for number in range(6):
            found.create(Trip, {"trip_id": f"t{number}", "city": "Oslo"})
            owner = "me" if number % 3 == 0 else "you"
            found.create(Plan, {"plan_id": f"p{number}", "user_id": owner, "city": "Oslo"})
        yield found


def seen(db: Database, **claims: Any) -> Any:
    answer = person(db, **claims).get("/v1/journeys?city=Oslo&limit=20")
    return ids(told(answer)) if answer.status == 200 else answer.status


def test_rules_narrow_each_entity_and_one_refusal_refuses_the_request(journeys: Database) -> None:
    planner = seen(journeys, groups=["planner"])
    assert planner == [*(f"plan p{n}" for n in range(6)), *(f"trip t{n}" for n in range(6))]
    assert seen(journeys, groups=["guest"]) == ["plan p0", "plan p3", *(f"trip t{n}" for n in range(6))]
    assert seen(journeys) == 403, "a plan of one's own may be listed, trips may not"
    pages, token = [], ""
    guest = person(journeys, groups=["guest"])
    while token is not None:
        body = told(guest.get("/v1/journeys?city=Oslo&limit=3" + (f"&nextToken={token}" if token else "")))
        pages.append(ids(body))
        token = body["nextToken"]
    assert [len(page) for page in pages] == [3, 3, 2]


def test_a_callers_database_narrows_each_entity_too(journeys: Database) -> None:
    def of(*groups: str) -> Database:
        caller = Caller("me", subject="me", groups=frozenset(groups))
        return CallerDatabase(journeys.store, journeys.queries, Authorization(RULES.entities), caller)

    both: Any = {"city": "Oslo", "index": "byCity"}
    assert len(of("planner").query((Trip, Plan), **both).items) == 12
    found = of("guest").query((Trip, Plan), **both).items
    assert [each.plan_id for each in found if isinstance(each, Plan)] == ["p0", "p3"]
    assert len(found) == 8
    with pytest.raises(Forbidden, match="query of trip"):
        of().query((Plan, Trip), **both)
    assert of("guest").count((Plan, Trip), **both) == 8
