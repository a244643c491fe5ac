"""Several operations on records of any entities in one request: all or none."""

from __future__ import annotations

from typing import Any

import pytest

from tests.unit.access_world import RULES, TENANTS, person
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.test_api_writes import SCHEMA

PATH = "/v1/_transact"


def asked(*operations: dict[str, Any]) -> dict[str, Any]:
    return {"operations": list(operations)}


@pytest.fixture
def client() -> Client:
    client = Client(api_of(SCHEMA))
    for key in ("a", "b", "c"):
        client.post("/v1/meters", {"meterId": key, "name": key, "place": {"x": 1}, "secret": "s"})
    return client


def test_operations_of_every_kind_are_carried_out_together(client: Client) -> None:
    tag = client.get("/v1/meters/c").headers["etag"].strip('"')
    operations = asked(
        {"create": "labels", "item": {"labelId": "l", "text": "new"}},
        {"put": "meters", "item": {"meterId": "a", "name": "put"}},
        {"update": "meters", "key": "b", "patch": {"place": {"y": 2}}},
        {"update": "meters", "key": "d", "patch": {"name": "made"}, "upsert": True},
        {"add": "meters", "key": "e", "amounts": {"count": 2}, "upsert": False},
        {"delete": "meters", "key": "c", "rev": tag},
        {"check": "labels", "key": "none", "exists": False},
    )
    problem = problem_of(client.post(PATH, operations), 404, "not_found")
    assert problem["where"] == "operations[4].key"
    assert client.get("/v1/labels/l").status == 404
    client.post("/v1/meters", {"meterId": "e", "name": "e"})
    answer = client.post(PATH, operations)
    assert answer.status == 200
    items = json_of(answer)["items"]
    assert [None if each is None else each.get("name", each.get("text")) for each in items] == [
        *("new", "put", "b", "made", "e"),
        *(None, None),
    ]
    assert (items[2]["place"], items[4]["count"]) == ({"x": 1, "y": 2}, 2)
    assert "secret" not in items[1]
    assert client.get("/v1/meters/c").status == 404
    assert json_of(client.get("/v1/labels/l"))["text"] == "new"


def test_it_is_repeated_with_its_key_and_carried_out_once(client: Client) -> None:
    operations = asked(
        {"add": "meters", "key": "a", "amounts": {"count": 1}}, {"create": "labels", "item": {"labelId": "l"}}
    )
    first, second = (client.post(PATH, operations, idempotency_key="k") for _ in range(2))
    assert (first.status, first.body) == (second.status, second.body) == (200, first.body)
    assert json_of(client.get("/v1/meters/a"))["count"] == 1


def test_a_hundred_records_are_written(client: Client) -> None:
    many = [{"create": "labels", "item": {"labelId": str(number)}} for number in range(101)]
    problem_of(client.post(PATH, asked(*many)), 400, "limit_exceeded")
    problem_of(client.post(PATH, asked()), 400, "limit_exceeded")
    assert client.get("/v1/labels/0").status == 404
    assert client.post(PATH, asked(*many[:100])).status == 200


@pytest.mark.parametrize(
    ("operation", "where"),
    [
        ({}, "operations[0]"),
        ("create", "operations[0]"),
        ({"create": "labels", "delete": "labels", "item": {}}, "operations[0]"),
        ({"create": "labels"}, "operations[0].item"),
        ({"create": "nothing", "item": {}}, "operations[0].create"),
        ({"create": ["labels"], "item": {}}, "operations[0].create"),
        ({"create": "labels", "item": {}, "rev": "r"}, "operations[0].rev"),
        ({"create": "labels", "item": {"labelId": 5}}, "operations[0].item.labelId"),
        ({"update": "labels", "key": "l", "patch": {"text": 5}}, "operations[0].patch.text"),
        ({"update": "labels", "key": "l", "patch": {}, "upsert": "yes"}, "operations[0].upsert"),
        ({"add": "meters", "key": "a", "amounts": {"name": 5}}, "operations[0].amounts.name"),
        ({"add": "labels", "key": "a", "amounts": {"text": 5}}, "operations[0].amounts.text"),
        ({"delete": "labels", "key": "l", "rev": 5}, "operations[0].rev"),
        ({"delete": "boards", "key": "l"}, "operations[0].delete"),
        ({"delete": "labels", "key": 5}, "operations[0].key"),
    ],
)
def test_what_is_no_operation_is_refused_with_its_place(client: Client, operation: Any, where: str) -> None:
    added = {"add": "meters", "key": "a", "amounts": {"count": 1}}
    problem = problem_of(client.post(PATH, asked(operation, added)), 400, "validation_failed")
    assert where in [each["where"] for each in problem["errors"]]
    assert json_of(client.get("/v1/meters/a"))["count"] == 0


def test_a_tenant_reaches_records_of_its_own_alone() -> None:
    api = api_of(TENANTS)
    acme, bolt = person(api, tenant="acme"), person(api, tenant="bolt")
    team = {"create": "teams", "item": {"name": "x", "motto": "of acme"}}
    assert acme.post(PATH, asked(team)).status == 200
    assert json_of(acme.post(PATH, asked(team)))["status"] == 409
    assert bolt.post(PATH, asked({"check": "teams", "key": {"name": "x"}, "exists": False})).status == 200
    assert bolt.post(PATH, asked({"delete": "teams", "key": {"name": "x"}})).status == 404
    assert (
        bolt.post(PATH, asked({"update": "teams", "key": {"name": "x"}, "patch": {"motto": "of bolt"}})).status == 404
    )
    made = bolt.post(PATH, asked({"put": "teams", "item": {"name": "x", "motto": "of bolt"}}))
    assert json_of(made)["items"][0]["tenantId"] == "bolt"
    assert json_of(acme.get("/v1/teams/acme/x"))["motto"] == "of acme"


def test_each_operation_needs_its_right() -> None:
    api = api_of(RULES)
    reader, admin = person(api, "eve", "reader"), person(api, "ada", "admin")
    report = {"create": "reports", "item": {"subject": "x", "userId": "eve"}}
    made = json_of(reader.post(PATH, asked(report)))["items"][0]
    assert made["userId"] == "eve"
    delete = {"delete": "reports", "key": made["reportId"]}
    assert person(api, "bob").post(PATH, asked(delete)).status == 404
    assert admin.post(PATH, asked({"create": "memos", "item": {"memoId": "m"}}, delete)).status == 403
    assert reader.get(f"/v1/reports/{made['reportId']}").status == 200
    assert admin.post(PATH, asked(delete)).status == 200


CHECK = {"check": "labels", "key": "none", "exists": False}


@pytest.mark.parametrize("before", [(), (CHECK,)], ids=["alone", "second"])
@pytest.mark.parametrize(
    ("operation", "status", "where"),
    [
        ({"add": "meters", "key": "none", "amounts": {"count": 1}}, 404, "key"),
        ({"update": "meters", "key": "a", "patch": {"name": "n"}, "rev": "AAAAAAAAAAAAAAAA"}, 409, "rev"),
        ({"delete": "meters", "key": "a", "rev": "AAAAAAAAAAAAAAAA"}, 409, "rev"),
        ({"create": "meters", "item": {"meterId": "a", "name": "n"}}, 409, "meterId"),
        ({"update": "meters", "key": "none", "patch": {"count": 1}, "upsert": True}, 400, "patch.name"),
    ],
    ids=["missing", "another revision", "a delete", "there already", "an upsert"],
)
def test_what_the_table_refuses_names_the_operation(
    client: Client, before: tuple[dict[str, Any], ...], operation: dict[str, Any], status: int, where: str
) -> None:
    answer = client.post(PATH, asked(*before, operation))
    problem = json_of(answer)
    assert answer.status == status
    places = [each["where"] for each in problem["errors"]] if problem["where"] == "body" else [problem["where"]]
    assert places == [f"operations[{len(before)}].{where}"]


@pytest.mark.parametrize("key", ["", "a b", "a,b", "k" * 256])
def test_a_key_that_is_none_is_no_operation_s_fault(client: Client, key: str) -> None:
    one = {"create": "labels", "item": {"labelId": "l"}}
    for operations in (asked(one), asked(one, {"check": "labels", "key": "none", "exists": False})):
        problem = problem_of(client.post(PATH, operations, idempotency_key=key), 400, "malformed_request")
        assert problem["where"] == "idempotency-key"


def test_a_revision_of_a_record_that_must_not_exist_is_refused(client: Client) -> None:
    operations = asked({"check": "labels", "key": "none", "exists": False, "rev": "A" * 16})
    assert problem_of(client.post(PATH, operations), 400, "invalid_input")["where"] == "operations[0].rev"


def test_a_key_that_was_used_before_is_no_operation_s_fault(client: Client) -> None:
    assert client.post(PATH, asked(CHECK), idempotency_key="k").status == 200
    other = {"create": "labels", "item": {"labelId": "l"}}
    problem = problem_of(client.post(PATH, asked(other), idempotency_key="k"), 409, "idempotency_mismatch")
    assert problem["where"] == "idempotency key"
