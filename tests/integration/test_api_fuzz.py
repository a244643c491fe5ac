"""Whatever is asked, the API answers, and never with a fault of its own."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.unit.api_world import PARTS, Client, api_of, code_of, json_of, user_service

METHODS = st.sampled_from(["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", ""])
TEXT = st.text(max_size=12)
SEGMENTS = st.lists(st.sampled_from(["v1", "users", "emails", "parts", "shelves", "sign-up", "openapi.json"]) | TEXT)
MEDIA_TYPES = st.sampled_from(["application/json", "application/merge-patch+json", "text/plain", ""])
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["ann", "2024-01-31"])
JSON = st.recursive(SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3))

USERS = Client(user_service().api)
THINGS = Client(api_of(PARTS))
USER_NAMES = ["userId", "created", "updated", "beneficiaryId", "firstName", "lastName", "firstNameCanonical", "phone"]
PART_NAMES = list(PARTS.entity("part").properties)
LIST_NAMES = [
    *(parameter.name for each in USERS.api.operations for parameter in each.query_parameters),
    *(parameter.name for each in THINGS.api.operations for parameter in each.query_parameters),
    "nosuch",
]
VALUES = TEXT | st.sampled_from(
    ["", "true", "ann", "0", "-1", "1730000000000", "2024-01-31", "9999-12-31T23:59:59-14:00", "0001-01-01", "1e9", "½"]
)


def check(client: Client, method: str, path: str, query: str = "", media_type: str = "", body: bytes = b"") -> None:
    response = client.request(method, f"{quote(path)}?{query}", body, {"content-type": media_type})
    if response.status >= 400 and method != "HEAD":
        assert code_of(response) != "internal_error"
    assert response.status < 500
    if response.body and response.status < 400:
        json.loads(response.body)


@given(METHODS, SEGMENTS, st.lists(st.tuples(TEXT, TEXT), max_size=3), MEDIA_TYPES, st.binary(max_size=60))
def test_any_request(
    method: str, segments: list[str], query: list[tuple[str, str]], media_type: str, body: bytes
) -> None:
    for client in (USERS, THINGS):
        check(client, method, "/" + "/".join(segments), urlencode(query), media_type, body)


@given(
    st.sampled_from(["users", "emails", "parts", "shelves", "counters"]),
    st.dictionaries(st.sampled_from(LIST_NAMES), VALUES, max_size=4),
)
def test_any_list(collection: str, query: dict[str, str]) -> None:
    for client in (USERS, THINGS):
        check(client, "GET", f"/v1/{collection}", urlencode(query))


@given(
    st.sampled_from(["POST", "PUT", "PATCH"]),
    st.sampled_from(["/v1/users", "/v1/users/u", "/v1/parts", "/v1/parts/p", "/v1/sign-up", "/v1/shelves/r/1"]),
    st.dictionaries(st.sampled_from([*USER_NAMES, *PART_NAMES, "email", "room", "note", "other"]), JSON, max_size=5),
)
def test_any_object(method: str, path: str, document: dict[str, Any]) -> None:
    body = json.dumps(document).encode()
    for client in (USERS, THINGS):
        check(client, method, path, "", "application/json", body)


@given(st.text(min_size=1, max_size=40), st.text(max_size=40).filter(lambda text: text.strip()))
def test_any_key_and_any_name_that_is_accepted_is_found_again(key: str, name: str) -> None:
    client = Client(user_service().api)
    user = {"userId": key, "firstName": name, "lastName": "B", "beneficiaryId": key}
    made = client.post("/v1/users", user)
    if made.status != 201:
        assert code_of(made) == "validation_failed"
        return
    assert json_of(client.get(made.headers["location"])) == json_of(made)
    listed = client.get(f"/v1/users?{urlencode({'beneficiaryId': key, 'index': 'userBeneficiaryFirstName'})}")
    assert json_of(listed)["items"] == [json_of(made)]
    found = client.get(f"/v1/users?{urlencode({'firstNameCanonical': json_of(made)['firstNameCanonical']})}")
    assert json_of(found)["items"] == [json_of(made)]


@given(METHODS, st.text(max_size=30), st.text(max_size=30), st.dictionaries(TEXT, TEXT, max_size=3), st.none() | TEXT)
def test_any_event(method: str, path: str, query: str, headers: dict[str, str], body: str | None) -> None:
    event = {
        "rawPath": f"/{path}",
        "rawQueryString": quote(query, safe="=&%"),
        "headers": headers,
        "body": body,
        "isBase64Encoded": False,
        "requestContext": {"http": {"method": method}, "stage": "$default"},
    }
    answer = USERS.api.resolve(event)
    assert answer["statusCode"] < 500
    assert set(answer) == {"statusCode", "headers", "cookies", "body", "isBase64Encoded"}


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+23:59", "9999-12-31T23:59:59.999999-23:59", "-1", "9" * 30])
def test_times_at_the_ends_of_what_can_be_written(text: str) -> None:
    check(USERS, "GET", "/v1/users", urlencode({"created.from": text, "index": "created"}))
