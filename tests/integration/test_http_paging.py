"""Pages over HTTP: a walk through shards in order, and tokens that are not the server's or not this query's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any
from urllib.parse import urlencode

import pytest

from tests.integration.local_server import LocalServer


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """120 users of 3 beneficiaries, with an e-mail each."""
    started = LocalServer.start(tmp_path_factory.mktemp("paged") / "data", "--empty")
    for number in range(120):
        answer = started.post(
            "/v1/sign-up",
            {
                "firstName": f"First{number % 11:02d}",
                "lastName": f"Last{number % 13:02d}",
                "beneficiaryId": f"b{number % 3}",
                "phone": f"1773{number % 17:07d}",
                "email": f"user{number}@example.org",
            },
        )
        assert answer.status == 201
    yield started
    assert started.stop() == 0


def walk(server: LocalServer, collection: str, **query: str) -> list[list[dict[str, Any]]]:
    pages: list[list[dict[str, Any]]] = []
    while True:
        page = server.get(f"/v1/{collection}?{urlencode(query)}").json
        pages.append(page["items"])
        if page["nextToken"] is None:
            return pages
        query["nextToken"] = page["nextToken"]


ORDERS = {
    "created": ("created",),
    "updated": ("updated",),
    "firstName": ("firstNameCanonical", "lastNameCanonical", "created"),
    "lastName": ("lastNameCanonical", "firstNameCanonical", "created"),
    "phone": ("phone",),
}


@pytest.mark.parametrize("reverse", ["false", "true"])
@pytest.mark.parametrize("index", list(ORDERS))
def test_120_users_on_4_shards_with_limit_10_are_12_pages_in_order(
    server: LocalServer, index: str, reverse: str
) -> None:
    pages = walk(server, "users", index=index, limit="10", reverse=reverse)
    assert [len(page) for page in pages] == [10] * 12
    users = [user for page in pages for user in page]
    assert len({user["userId"] for user in users}) == 120
    order = [tuple(user[name] for name in ORDERS[index]) for user in users]
    assert order == sorted(order, reverse=reverse == "true")


@pytest.mark.parametrize("limit", [1, 7, 39, 40, 41])
def test_the_users_of_one_beneficiary(server: LocalServer, limit: int) -> None:
    pages = walk(server, "users", index="userBeneficiaryPhone", beneficiaryId="b1", limit=str(limit))
    assert [len(page) for page in pages[:-1]] == [limit] * (len(pages) - 1)
    users = [user for page in pages for user in page]
    assert len({user["userId"] for user in users}) == 40
    assert {user["beneficiaryId"] for user in users} == {"b1"}
    assert [user["phone"] for user in users] == sorted(user["phone"] for user in users)


def test_records_that_are_written_and_removed_during_a_walk_move_no_other(server: LocalServer) -> None:
    query = {"index": "userBeneficiaryFirstName", "limit": "10", "beneficiaryId": "b2"}
    first = server.get(f"/v1/users?{urlencode(query)}").json
    gone = first["items"][-1]
    assert server.request("DELETE", f"/v1/users/{gone['userId']}").status == 204
    early = {"firstName": "Aa", "lastName": "A", "beneficiaryId": "b2"}
    assert server.post("/v1/users", {**early, "userId": "early"}).status == 201
    rest = walk(server, "users", **query, nextToken=first["nextToken"])
    walked = [user["userId"] for user in first["items"]] + [user["userId"] for page in rest for user in page]
    assert len(walked) == len(set(walked)) == 40
    assert "early" not in walked
    # The other tests find what they expect.
    server.request("DELETE", "/v1/users/early")
    body = {name: value for name, value in gone.items() if name != "updated"}
    assert server.post("/v1/users", body).status == 201


def test_a_token_that_was_altered_or_belongs_to_another_query(server: LocalServer) -> None:
    page = server.get("/v1/users?index=created&limit=5").json
    token = page["nextToken"]
    altered = f"{token[:40]}{'B' if token[40] == 'A' else 'A'}{token[41:]}"
    refusals = {
        f"/v1/users?index=created&nextToken={token[:-1]}": "invalid_cursor",
        f"/v1/users?index=created&nextToken={token}A": "invalid_cursor",
        f"/v1/users?index=created&nextToken={token}%3D": "invalid_cursor",
        f"/v1/users?index=created&nextToken={altered}": "invalid_cursor",
        f"/v1/users?index=updated&nextToken={token}": "cursor_mismatch",
        f"/v1/users?index=created&reverse=true&nextToken={token}": "cursor_mismatch",
        f"/v1/users?index=created&created.from=2020-01-01&nextToken={token}": "cursor_mismatch",
        f"/v1/emails?index=created&nextToken={token}": "cursor_mismatch",
    }
    for target, code in refusals.items():
        answer = server.get(target)
        assert (answer.status, answer.json["type"]) == (400, f"urn:shardweave:error:{code}"), target
    assert server.get(f"/v1/users?index=created&limit=5&nextToken={token}").status == 200


def test_a_token_is_short_and_shows_nothing(server: LocalServer) -> None:
    token = server.get("/v1/users?index=phone&limit=5").json["nextToken"]
    assert len(token) < 400
    assert "1773" not in token
