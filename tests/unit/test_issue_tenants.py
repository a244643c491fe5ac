"""Two tenants of the issue tracker: each way to the other's records is closed, and looks as if there were none."""

from __future__ import annotations

from typing import Any
from uuid import uuid4

import pytest

from services._samples.issues import ACME, BIG_MEDIA, BRIDGE, NEWS
from shardweave.api.http import Response
from tests.unit.access_world import Person, person
from tests.unit.api_world import json_of, problem_of
from tests.unit.issue_world import grid, issue_of, issue_service, load_samples, somebody

THEIRS, MINE = str(NEWS.tenant_id), str(BRIDGE.tenant_id)


@pytest.fixture(scope="module")
def people() -> tuple[Person, Person]:
    service = issue_service()
    load_samples(service)
    return somebody(service, ACME), somebody(service, BIG_MEDIA)


@pytest.fixture
def me(people: tuple[Person, Person]) -> Person:
    return people[0]


@pytest.fixture
def they(people: tuple[Person, Person]) -> Person:
    return people[1]


@pytest.fixture
def their_issue(they: Person) -> str:
    found: str = issue_of(they, NEWS, 1)["issueId"]
    return found


def same(one: Response, other: Response) -> None:
    """Two answers that nobody can tell apart."""
    assert (one.status, one.body, one.headers) == (other.status, other.body, other.headers)


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
@pytest.mark.parametrize("tenant", [THEIRS, MINE])
def test_by_key(me: Person, they: Person, their_issue: str, method: str, tenant: str) -> None:
    document = None if method in ("GET", "DELETE") else {"title": "Mine now"}
    before = grid(they, NEWS, "num")["items"]
    answer = me.ask(method, f"/v1/issues/{tenant}/{their_issue}", document)
    assert answer.status in (400, 404)
    same(answer, me.ask(method, f"/v1/issues/{tenant}/{uuid4()}", document))
    assert grid(they, NEWS, "num")["items"] == before


def test_by_making_an_issue_in_their_project(me: Person) -> None:
    answer = me.post("/v1/issues", {"projectId": str(NEWS.project_id), "title": "Mine"})
    problem_of(answer, 409, "parent_missing")
    same(answer, me.post("/v1/issues", {"projectId": str(uuid4()), "title": "Mine"}))
    problem_of(
        me.post("/v1/issues", {"tenantId": THEIRS, "projectId": str(NEWS.project_id), "title": "Mine"}),
        403,
        "forbidden",
    )


def test_by_moving_an_issue_to_their_project(me: Person) -> None:
    path = f"/v1/issues/{MINE}/{issue_of(me, BRIDGE, 1)['issueId']}"
    problem_of(me.ask("PATCH", path, {"projectId": str(NEWS.project_id), "num": 9}), 409, "parent_missing")
    problem_of(me.ask("PATCH", path, {"tenantId": THEIRS}), 403, "forbidden")


def test_by_cursor(me: Person, they: Person) -> None:
    token = grid(they, NEWS, "num", limit=1)["nextToken"]
    for project in (NEWS, BRIDGE):
        answer = me.get(f"/v1/issue-grid?projectId={project.project_id}&sort=num&limit=1&nextToken={token}")
        assert answer.status in (400, 404)
    target = f"/v1/issues?index=gridNum&projectId={NEWS.project_id}&limit=1"
    token = json_of(they.get(target))["nextToken"]
    problem_of(me.get(f"{target}&nextToken={token}"), 400, "cursor_mismatch")


def test_by_query_and_count(me: Person) -> None:
    conditions = {"projectId": str(NEWS.project_id)}
    found = me.post("/v1/issues/query", {"index": "gridNum", "conditions": conditions})
    assert (found.status, json_of(found)["items"]) == (200, [])
    assert json_of(me.post("/v1/issues/count", {"index": "gridNum", "conditions": conditions}))["count"] == 0
    asked = {"index": "gridNum", "conditions": {**conditions, "tenantId": THEIRS}}
    problem_of(me.post("/v1/issues/query", asked), 403, "forbidden")
    problem_of(me.get(f"/v1/issues?tenantId={THEIRS}"), 403, "forbidden")


def test_by_grid(me: Person) -> None:
    answer = me.get(f"/v1/issue-grid?projectId={NEWS.project_id}")
    problem_of(answer, 404, "not_found")
    same(answer, me.get(f"/v1/issue-grid?projectId={uuid4()}"))


def test_by_batch(me: Person, they: Person, their_issue: str) -> None:
    keys = [{"tenantId": THEIRS, "issueId": their_issue}, {"tenantId": MINE, "issueId": their_issue}]
    before = grid(they, NEWS, "num")["items"]
    answer = me.post("/v1/issues/batch-get", {"keys": keys})
    assert json_of(answer)["items"] == [None, None]
    answer = me.post("/v1/issues/batch-write", {"deletes": keys})
    assert answer.status == 200
    assert grid(they, NEWS, "num")["items"] == before


def test_by_expand(me: Person) -> None:
    page = json_of(me.get(f"/v1/issues?index=gridNum&projectId={BRIDGE.project_id}&expand=project"))
    assert {issue["expanded"]["project"]["name"] for issue in page["items"]} == {BRIDGE.name}
    found = me.get(f"/v1/issues?index=gridNum&projectId={NEWS.project_id}&expand=project")
    assert json_of(found)["items"] == []


def test_by_explain(me: Person) -> None:
    asked = {"index": "gridNum", "conditions": {"projectId": str(NEWS.project_id)}}
    answer = me.post("/v1/issues/explain", asked)
    assert answer.status == 200, answer.body
    assert THEIRS.encode() not in answer.body
    problem_of(me.post("/v1/issues/explain", {"conditions": {"tenantId": THEIRS}}), 403, "forbidden")


def test_by_conflict_text(me: Person, they: Person) -> None:
    """Numbers are one tenant's: a number that they have is no conflict here, and a conflict here names no record."""
    late = they.made("issues", projectId=str(NEWS.project_id), title="Secret", num=77)
    assert me.made("issues", projectId=str(BRIDGE.project_id), title="Open", num=77)["num"] == 77
    answer = me.post("/v1/issues", {"projectId": str(BRIDGE.project_id), "title": "Again", "num": 77})
    problem_of(answer, 409, "value_taken")
    assert late["issueId"].encode() not in answer.body
    taken = me.made("issues", projectId=str(BRIDGE.project_id), title="Same id", issueId=late["issueId"])
    assert taken["tenantId"] == MINE


def test_by_idempotency_key(me: Person, they: Person) -> None:
    made = they.post("/v1/projects", {"name": "Secret"}, idempotency_key="k")
    answer = me.post("/v1/projects", {"name": "Secret"}, idempotency_key="k")
    assert answer.status == 201
    assert json_of(answer)["projectId"] != json_of(made)["projectId"]
    assert json_of(answer)["tenantId"] == MINE


def test_by_custom_fields_and_merging(me: Person, their_issue: str) -> None:
    field = {"projectId": str(NEWS.project_id), "name": "mine", "kind": "text"}
    problem_of(me.post("/v1/custom-fields", field), 404, "not_found")
    problem_of(me.post("/v1/custom-values", {"issueId": their_issue, "values": {}}), 404, "not_found")
    for source, target in ((NEWS, BRIDGE), (BRIDGE, NEWS)):
        ids = {"sourceId": str(source.project_id), "targetId": str(target.project_id)}
        problem_of(me.post("/v1/project-merges", ids), 404, "not_found")


def test_without_the_claim_nothing_is_answered(me: Person) -> None:
    asked: list[tuple[str, str, Any]] = [
        ("GET", f"/v1/issue-grid?projectId={BRIDGE.project_id}", None),
        ("POST", "/v1/custom-fields", {"projectId": str(BRIDGE.project_id), "name": "a", "kind": "text"}),
        ("POST", "/v1/custom-values", {"issueId": str(uuid4()), "values": {}}),
        ("POST", "/v1/project-merges", {"sourceId": str(BRIDGE.project_id), "targetId": str(NEWS.project_id)}),
        ("GET", "/v1/issues", None),
    ]
    for method, target, document in asked:
        problem_of(person(me.api).ask(method, target, document), 403, "forbidden")
        problem_of(Person(me.api).ask(method, target, document), 401, "unauthenticated")
        problem_of(person(me.api, tenant="no-uuid").ask(method, target, document), 403, "forbidden")
