"""Ordered lookups over HTTP, and in routes of one's own: conditions, filters, pages, and what is refused."""

from __future__ import annotations

import datetime as dt

import pytest

from shardweave import (
    Allow,
    Database,
    Entity,
    OrderedLookup,
    Schema,
    claim_property,
    private_property,
    testing,
    unique_property,
    where,
)
from shardweave.access.authorization import Authorization
from shardweave.api.caller_database import CallerDatabase
from shardweave.errors import UnknownName
from shardweave.schema.caller import Caller
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.test_ordered_lookups import SCHEMA


@pytest.fixture
def client() -> Client:
    client = Client(api_of(SCHEMA))
    for number in range(4):
        day = f"2026-01-0{4 - number}"
        body = {"taskId": f"t{number}", "project": "p", "num": number, "due": day, "numbers": {"size": f"{number}.5"}}
        assert client.post("/v1/tasks", body).status == 201
    return client


ASKED = {
    "lookup=due&project=p": ["t3", "t2", "t1", "t0"],
    "lookup=due&project=p&reverse=true": ["t0", "t1", "t2", "t3"],
    "lookup=due&project=p&due.from=2026-01-02&due.to=2026-01-03": ["t2", "t1"],
    "lookup=due&project=p&due.prefix=2026-01-04": ["t0"],
    "lookup=due&project=p&due=2026-01-04": ["t0"],
    "lookup=numbers&project=p&numbers.name=size": ["t0", "t1", "t2", "t3"],
    "lookup=numbers&project=p&numbers.name=size&numbers.from=1.5&numbers.to=2.5": ["t1", "t2"],
    "lookup=numbers&project=p&numbers.name=size&numbers=2.5": ["t2"],
    "lookup=numbers&project=p&numbers.name=none": [],
    "lookup=due&project=p&filter.num.from=1": ["t3", "t2", "t1"],
    "lookup=due&project=p&due.from=2026-01-02&filter.num.from=1&filter.num.to=2&reverse=true": ["t1", "t2"],
    "lookup=due&project=p&filter.numbers.size.to=1.5": ["t1", "t0"],
    "lookup=numbers&project=p&numbers.name=size&filter.due.prefix=2026-01-03": ["t1"],
    "lookup=due&project=p&filter.title=none": [],
}


@pytest.mark.parametrize("query", ASKED)
def test_a_list_is_asked_for_over_http(client: Client, query: str) -> None:
    found: list[str] = []
    token = ""
    while True:
        page = json_of(client.get(f"/v1/tasks?{query}&limit=2{token}"))
        found += [each["taskId"] for each in page["items"]]
        if page["nextToken"] is None:
            break
        token = f"&nextToken={page['nextToken']}"
    assert found == ASKED[query]


REFUSED = {
    "lookup=due": ("invalid_input", "project"),
    "lookup=due&project=p&due=2026-01-04&due.from=2026-01-01": ("unsupported_query", "due"),
    "lookup=due&project=p&title=x": ("unsupported_query", "title"),
    "lookup=due&project=p&filter.num=x": ("validation_failed", "filter.num"),
    "lookup=due&project=p&filter.none=x": ("unknown_name", "filter.none"),
    "lookup=due&project=p&filter.numbers.size.none=1": ("unknown_name", "filter.numbers.size.none"),
    "lookup=due&project=p&due=x": ("validation_failed", "due"),
    "lookup=numbers&project=p": ("invalid_input", "numbers.name"),
    "lookup=numbers&project=p&numbers.name=size&numbers.from=x": ("validation_failed", "numbers.from"),
    "lookup=numbers&project=p&numbers.name=size&due.from=2026-01-01": ("unsupported_query", "due.from"),
    "due.from=2026-01-02": ("unsupported_query", "due.from"),
    "numbers.name=size": ("unsupported_query", "numbers.name"),
}


@pytest.mark.parametrize("query", REFUSED)
def test_a_wrong_question_over_http_is_refused(client: Client, query: str) -> None:
    code, place = REFUSED[query]
    assert problem_of(client.get(f"/v1/tasks?{query}"), 400, code)["where"] == place


def test_a_page_of_a_filtered_list_is_full_and_its_token_is_good_for_the_same_filter_alone(client: Client) -> None:
    asked = "/v1/tasks?lookup=due&project=p&filter.num.from=1&limit=2"
    page = json_of(client.get(asked))
    assert [each["taskId"] for each in page["items"]] == ["t3", "t2"]
    token = page["nextToken"]
    following = json_of(client.get(f"{asked}&nextToken={token}"))
    assert [each["taskId"] for each in following["items"]] == ["t1"]
    back = json_of(client.get(f"{asked}&prevToken={following['prevToken']}"))
    assert back["items"] == page["items"]
    for other in (asked.replace("from=1", "from=2"), asked.replace("&filter.num.from=1", "")):
        problem_of(client.get(f"{other}&nextToken={token}"), 400, "cursor_mismatch")


class Ticket(Entity, token="ticket", partition="tenant", access=[Allow("list", groups=("staff",))]):
    """A ticket of a tenant, with a price that is not shown."""

    tenant: str = claim_property("tenant")
    ticket_id: str = unique_property()
    due: dt.date
    price: int | None = private_property(default=None)

    due_list = OrderedLookup("due", within="tenant")


def test_in_a_route_of_its_own_a_list_is_the_callers_and_a_filter_tests_nothing_private() -> None:
    schema = Schema([Ticket])
    with Database(schema) as db:
        for number, tenant in enumerate(("a", "b", "a")):
            due = dt.date(2026, 1, 3 - number)
            db.create(Ticket(tenant=tenant, ticket_id=f"t{number}", due=due, price=number))
        caller = Caller("ann", tenant="a", claims={"tenant": "a"}, groups=frozenset({"staff"}))
        own = CallerDatabase(db.store, db.queries, Authorization(schema.entities), caller)
        assert [each.ticket_id for each in own.find_by(Ticket, "due").items] == ["t2", "t0"]
        with pytest.raises(UnknownName, match="no property 'price'"):
            own.find_by(Ticket, "due", filter=where("price") > 1)
        assert own.find_by(Ticket, "due", within={"tenant": "b"}).items == ()


def test_over_http_a_filtered_list_is_the_callers_and_a_filter_tests_nothing_private() -> None:
    client = testing.Client(Schema([Ticket]))
    ann = client.as_caller("ann", tenant="a", groups=["staff"])
    for number, tenant in enumerate(("a", "b", "a")):
        due = dt.date(2026, 1, 3 - number)
        client.database.create(Ticket(tenant=tenant, ticket_id=f"t{number}", due=due, price=number))
    found = ann.get("/v1/tickets?lookup=due&filter.ticketId.prefix=t").expect(200).json["items"]
    assert [each["ticketId"] for each in found] == ["t2", "t0"]
    refused = ann.get("/v1/tickets?lookup=due&filter.price.from=1").expect(400).problem
    assert refused is not None
    assert (refused.code, refused.where) == ("unknown_name", "filter.price.from")
