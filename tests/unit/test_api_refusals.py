"""What a refusal says: the property and the fix in the words of those who ask, and no part of a value."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest

from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from tests.unit.api_world import PARTS, Client, api_of, json_of, problem_of, user_service


class Kept(Entity, token="kept"):
    """Has what is read from text."""

    kept_id: UUID = unique_property()
    raw: bytes | None = None
    more: list[bytes] | None = None


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(user_service().api)


@pytest.fixture(scope="module")
def kept() -> Client:
    return Client(api_of(Schema(entities=[Kept])))


SECRET = "~secret~"
ID = "12345678-1234-5678-1234-567812345678"


@pytest.mark.parametrize(
    ("method", "target", "document"),
    [
        ("POST", "/v1/kepts", {"keptId": ID, "raw": SECRET}),
        ("POST", "/v1/kepts", {"keptId": ID, "raw": "aGl="}),
        ("POST", "/v1/kepts", {"keptId": ID, "more": [SECRET]}),
        ("POST", "/v1/kepts", {"keptId": SECRET}),
        ("POST", "/v1/kepts/batch-get", {"keys": [SECRET]}),
        ("POST", "/v1/kepts/query", {"filter": {"property": "raw", "eq": SECRET}}),
        ("PATCH", f"/v1/kepts/{SECRET}", {}),
    ],
)
def test_a_refusal_shows_no_part_of_the_value(kept: Client, method: str, target: str, document: Any) -> None:
    text = kept.send(method, target, document).body.decode()
    assert "validation_failed" in text or "value_refused" in text
    assert not any(piece in text for piece in ("secret", "found `", "symbol", "0x"))


@pytest.mark.parametrize(
    ("query", "detail", "fix"),
    [
        ("created.from=2024-W05-3", "must be a date in ISO 8601", "write 2024-01-31"),
        ("created.from=20240131", "it is in seconds", "a date is written 2024-01-31"),
        ("created.from=2024-01-31T09:30", "the time has no zone", "end it with Z"),
    ],
)
def test_a_time_in_another_form_is_told_the_form(client: Client, query: str, detail: str, fix: str) -> None:
    problem = problem_of(client.get(f"/v1/users?index=created&{query}"), 400, "value_refused")
    assert detail in problem["detail"]
    assert fix in problem["fix"]


def test_a_key_that_is_too_long_is_blamed_on_what_was_given(client: Client) -> None:
    user = {"firstName": "\ufdfa" * 200, "lastName": "B", "beneficiaryId": "b"}
    problem = problem_of(client.post("/v1/users", user), 400, "key_too_long")
    assert problem["where"] == "firstNameCanonical"
    assert "the key firstNameRangeKey would have" in problem["detail"]


def test_a_text_that_is_too_long_is_not_told_of_items(client: Client) -> None:
    person = {"email": f"{'x' * 260}@a", "firstName": "A", "lastName": "B", "beneficiaryId": "b"}
    (fault,) = json_of(client.post("/v1/sign-up", person))["errors"]
    assert fault["detail"] == "Its length should be at most 254"


@pytest.mark.parametrize(
    ("body", "detail"),
    [
        (b'{"firstName": "a\nb"}', "it is not JSON: Invalid control character at line 1, column 17"),
        (b'{"firstName": "a', "it is not JSON: Unterminated string starting at line 1, column 15"),
    ],
)
def test_where_a_body_stops_being_json_is_said_once(client: Client, body: bytes, detail: str) -> None:
    answer = client.request("POST", "/v1/users", body, {"content-type": "application/json"})
    assert problem_of(answer, 400, "malformed_request")["detail"] == detail


def test_a_path_that_is_not_there_is_told_those_that_it_is_like(client: Client) -> None:
    fix = problem_of(client.get("/v1/user/query"), 404, "route_not_found")["fix"]
    assert fix == "use /v1/users/query or /v1/emails/query or /v1/users/count; /openapi.json has all paths"


def test_a_path_with_a_part_of_a_key_is_told_the_whole_one() -> None:
    parts = Client(api_of(PARTS))
    for path in ("/v1/shelves/a", "/v1/shelves/"):
        fix = problem_of(parts.get(path), 404, "route_not_found")["fix"]
        assert fix.startswith("use /v1/shelves/{room}/{number} or /v1/shelves or ")
    fix = problem_of(parts.get("/v1/counter"), 404, "route_not_found")["fix"]
    assert fix.startswith("use /v1/counters/counter or ")


@pytest.mark.parametrize("query", ["%", "%zz", "phone=%", "phone=a%4"])
def test_a_percent_sign_alone_is_no_text(client: Client, query: str) -> None:
    problem = problem_of(client.get(f"/v1/users?{query}"), 400, "malformed_request")
    assert problem["fix"] == "write %25 for %"


def test_a_put_keeps_the_time_of_creation_and_a_patch_refuses_another(client: Client) -> None:
    user = {"firstName": "A", "lastName": "B", "beneficiaryId": "b"}
    made = json_of(client.put("/v1/users/p", user))["created"]
    assert json_of(client.put("/v1/users/p", {**user, "created": made - 1}))["created"] == made
    problem_of(client.patch("/v1/users/p", {"created": made - 1}), 400, "immutable_property")
