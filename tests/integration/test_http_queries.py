"""Queries over HTTP: pages of several indexes, counts, plans, the search by name, and the metrics of each."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.integration.local_server import LocalServer

EITHER = {
    "branches": [
        {"index": "firstName", "conditions": {"firstNameCanonical": {"prefix": "na"}}},
        {"index": "lastName", "conditions": {"lastNameCanonical": {"prefix": "na"}}},
    ]
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """60 users: 20 have a first name with `Ná`, 30 a last name with `na`, 10 of them both."""
    started = LocalServer.start(tmp_path_factory.mktemp("asked") / "data", "--empty", "--metrics")
    for number in range(60):
        first = f"Ná{number:02d}" if number < 20 else f"X{number:02d}"
        last = f"na-{number % 7}" if 10 <= number < 40 else "Y"
        user = {"userId": f"u{number:02d}", "firstName": first, "lastName": last, "beneficiaryId": f"b{number % 3}"}
        assert started.post("/v1/users", user).status == 201
    yield started
    assert started.stop() == 0


def ids(page: dict[str, Any]) -> list[str]:
    return [user["userId"] for user in page["items"]]


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("limit", [1, 7, 40, 500])
def test_the_pages_of_two_indexes_hold_each_user_once_in_one_order(
    server: LocalServer, limit: int, reverse: bool
) -> None:
    found: list[dict[str, Any]] = []
    document: dict[str, Any] = {**EITHER, "limit": limit, "reverse": reverse}
    while True:
        page = server.post("/v1/users/query", document).json
        assert (page["complete"], page["failed"], page["late"]) == (True, [], 0)
        found += page["items"]
        if page["nextToken"] is None:
            break
        assert len(page["items"]) == limit
        document["nextToken"] = page["nextToken"]
    assert {user["userId"] for user in found} == {f"u{number:02d}" for number in range(40)}
    assert len(found) == 40
    lowest = [
        min(name for name in (user["firstNameCanonical"], user["lastNameCanonical"]) if name.startswith("na"))
        for user in found
    ]
    assert lowest == sorted(lowest, reverse=reverse)


def test_the_search_by_name_is_the_same_question(server: LocalServer) -> None:
    searched = server.get("/v1/user-search?name=N%C3%A1&limit=500").json
    assert ids(searched) == ids(server.post("/v1/users/query", {**EITHER, "limit": 500}).json)
    assert ids(server.get("/v1/user-search?name=na&limit=500&reverse=true").json) == ids(searched)[::-1]
    first = server.get("/v1/user-search?name=NA&limit=15").json
    rest = server.get(f"/v1/user-search?name=na&limit=500&nextToken={first['nextToken']}").json
    assert ids(first) + ids(rest) == ids(searched)


def test_a_count_and_a_plan_belong_to_a_page(server: LocalServer) -> None:
    asked = {**EITHER, "filter": {"property": "beneficiaryId", "eq": "b1"}}
    page = server.post("/v1/users/query", {**asked, "limit": 500, "stats": True}).json
    assert server.post("/v1/users/count", asked).json == {"count": len(page["items"])}
    plan = server.post("/v1/users/explain", asked).json
    assert (len(plan["lanes"]), plan["indexes"], plan["stats"]) == (8, ["firstName", "lastName"], None)
    ran = server.post("/v1/users/explain", {**asked, "limit": 500, "run": True}).json
    assert ran["stats"]["returned"] == page["stats"]["returned"] == len(page["items"])


@pytest.mark.parametrize(
    ("document", "code"),
    [
        ({"branches": [{"index": "phone"}] * 51}, "limit_exceeded"),
        ({"index": "phone", "filter": {"property": "phone", "like": "1"}}, "invalid_input"),
        ({"index": "phone", "nextToken": "x"}, "invalid_cursor"),
        ({"limits": 5}, "validation_failed"),
    ],
)
def test_what_can_not_be_asked_is_refused(server: LocalServer, document: dict[str, Any], code: str) -> None:
    for what in ("query", "explain"):
        answer = server.post(f"/v1/users/{what}", document)
        assert (answer.status, answer.json["type"]) == (400, f"urn:shardweave:error:{code}")


def test_each_query_writes_its_metrics_when_the_server_is_told_to(server: LocalServer, tmp_path: Path) -> None:
    server.post("/v1/users/count", EITHER)
    lines = [json.loads(line) for line in server.log.read_text().splitlines() if line.startswith("{")]
    assert (lines[-1]["entity"], lines[-1]["stage"], lines[-1]["Lanes"]) == ("user", "local", [8])
    untold = LocalServer.start(tmp_path / "data", "--empty")
    untold.get("/v1/users?index=phone")
    assert untold.stop() == 0
    assert "{" not in untold.log.read_text()
