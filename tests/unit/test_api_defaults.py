"""A default that is said is as one that is not said: of every parameter and every member of a body, on every route.

The defaults are those of the OpenAPI document, since that is what browsers' forms and generated clients send.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

import pytest

from services._samples.issues import BRIDGE
from services.order_tracking import schema as order_tracking
from tests.unit.api_world import Client, api_of, json_of, user_service
from tests.unit.issue_world import load_told
from tests.unit.order_world import EVENTS, order_client, placed
from tests.unit.shop_world import SCHEMA


@dataclass(frozen=True)
class Defaults:
    """What an operation has defaults of, in its parameters or its body."""

    method: str
    path: str
    parameters: Mapping[str, Any]
    members: Mapping[str, Any]


def documented(document: Mapping[str, Any]) -> Iterator[Defaults]:
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            parameters = {
                each["name"]: each["schema"]["default"]
                for each in operation.get("parameters", ())
                if "default" in each["schema"]
            }
            members = _members(document, operation)
            if parameters or members:
                yield Defaults(method.upper(), path, parameters, members)


def _members(document: Mapping[str, Any], operation: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for content in operation.get("requestBody", {}).get("content", {}).values():
        schema = content["schema"]
        while "$ref" in schema:
            schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
        members = schema.get("properties", {})
        found |= {name: each["default"] for name, each in members.items() if "default" in each}
    return found


def written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def shop() -> Client:
    client = Client(api_of(SCHEMA))
    for number in range(3):
        customer = {"customerId": f"c{number}", "phone": f"+4{number}", "city": "Rome"}
        assert client.post("/v1/customers", customer).status == 201
    return client


def users() -> Client:
    client = Client(user_service().api)
    for name in ("Jan", "Jana", "Jo"):
        user = {"userId": name, "beneficiaryId": "b", "firstName": name, "lastName": "Wu"}
        assert client.post("/v1/users", user).status == 201
    return client


def orders() -> Client:
    client = order_client()
    for name in ("o1", "o2"):
        assert client.post(EVENTS, placed(name)).status == 200
    return client


Asked = Mapping[str, Sequence[str]]
"""Query parameters without which a path can't be asked, or that make another question of it."""

SHOP = {"/v1/customers": ("", "city=Rome", "lookup=phone&phone=%2B41", "lookup=city&city=Rome")}
USERS = {"/v1/user-search": ("name=ja",)}
ORDERS = {
    **dict.fromkeys(("/v1/order-tracking", "/v1/order-lines", "/v1/orders"), ("orderId=o1",)),
    "/v1/schema-changes": ("environment=e&plugin=p",),
}
GRID = f"projectId={BRIDGE.project_id}"
ISSUES = dict.fromkeys(("/v1/issue-grid", "/v1/issue-grid/explain"), (GRID, f"{GRID}&sort=due"))

ASKING = re.compile(r"/(query|count|explain)$|^/v1/_reshard/")
"""What takes a body that is no record. For those see `test_api_openapi_values`."""

SIXTEEN = {"charBits": 2, "chars": 2}
BEGUN_ONCE = [f"/v1/_reshard/{token}" for token in order_tracking().entities]


@pytest.mark.parametrize(
    ("made", "asked", "least"),
    [(shop, SHOP, 180), (users, USERS, 60), (orders, ORDERS, 150), (load_told, ISSUES, 90)],
    ids=["shop", "users", "orders", "issues"],
)
def test_a_default_that_is_said_is_as_one_that_is_not_said(
    made: Callable[[], Client], asked: Asked, least: int
) -> None:
    client = made()
    compared = 0
    for each in documented(json_of(client.get("/openapi.json"))):
        if each.path not in BEGUN_ONCE and (each.method == "GET" or ASKING.search(each.path)):
            said = said_in_a_query if each.method == "GET" else said_in_a_body
            compared += said(client, each, asked)
    assert compared >= least


def said_in_a_query(client: Client, each: Defaults, asked: Asked) -> int:
    """How many defaults were said, one by one and then together."""
    compared = 0
    for query in asked.get(each.path, ("",)):
        free = {name: value for name, value in each.parameters.items() if f"{name}=" not in query}
        plain = told(client.get(f"{each.path}?{query}"))
        for said in [{name: free[name]} for name in free] + [free]:
            more = urlencode({name: written(value) for name, value in said.items()})
            assert told(client.get(f"{each.path}?{query}&{more}".replace("?&", "?"))) == plain, (each, query, said)
            compared += 1
    return compared


def said_in_a_body(client: Client, each: Defaults, asked: Asked) -> int:
    query = asked.get(each.path.rpartition("/")[0], ("",))[0]
    plain = SIXTEEN if "/_reshard/" in each.path else {"conditions": dict(parse_qsl(query))}
    answer = told(client.post(each.path, plain))
    every = [{name: each.members[name]} for name in each.members] + [each.members]
    for said in every:
        assert told(client.post(each.path, plain | said)) == answer, (each, said)
    return len(every)


@pytest.mark.parametrize("condition", [{"eq": "Rome"}, {"in": ["Rome"]}])
def test_an_open_side_that_is_said_is_as_one_that_is_not_said(condition: dict[str, Any]) -> None:
    client = shop()
    asked = told(client.post("/v1/customers/query", {"conditions": {"city": condition}}))
    assert len(asked["items"]) == 3
    for sides in ({"from": None}, {"to": None}, {"from": None, "to": None}):
        assert told(client.post("/v1/customers/query", {"conditions": {"city": condition | sides}})) == asked


def test_what_can_be_begun_only_once_is_begun_alike() -> None:
    clients, path = [orders(), orders()], BEGUN_ONCE[0]
    found = documented(json_of(clients[0].get("/openapi.json")))
    (each,) = [each for each in found if (each.method, each.path) == ("POST", path)]
    answers = [client.post(path, SIXTEEN | said) for client, said in zip(clients, ({}, each.members), strict=True)]
    assert [answer.status for answer in answers] == [202, 202]
    assert json_of(answers[0]) == json_of(answers[1])


def told(answer: Any) -> Any:
    """An answer that went well, without what differs between two of one question: a token is never twice the same."""
    document = json_of(answer)
    assert answer.status == 200, document
    return {**document, "nextToken": document.get("nextToken") is not None}
