"""Two tenants on one table: whatever one of them tries, it learns nothing of the other's records, and changes none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.api.http import Response
from shardweave.errors import BatchIncomplete
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import ProcessPart, Script, SimulatedTable, Throttle
from shardweave.table.operations import BatchGet
from tests.unit.access_world import TENANTS, Person, Task, Team, person, two_tenants
from tests.unit.api_world import json_of, problem_of

SECRET = "sesame"


@pytest.fixture(scope="module")
def tenants() -> tuple[Person, Person]:
    return filled()


def filled() -> tuple[Person, Person]:
    acme, bolt = two_tenants()
    for each in (acme, bolt):
        each.made("teams", name="red")
    bolt.made("teams", name="blue", motto=SECRET)
    for number in range(3):
        bolt.made("tasks", teamName="red", title=SECRET, slug=f"{SECRET}-{number}", label="urgent", note=SECRET)
        acme.made("tasks", teamName="red", title="mine", slug=f"mine-{number}", label="urgent")
    return acme, bolt


@pytest.fixture
def acme(tenants: tuple[Person, Person]) -> Person:
    return tenants[0]


@pytest.fixture
def bolt(tenants: tuple[Person, Person]) -> Person:
    return tenants[1]


@pytest.fixture
def theirs(bolt: Person) -> str:
    """The id of one of the other tenant's tasks."""
    found: str = items(bolt.get("/v1/tasks?teamName=red&index=byTeam"))[0]["taskId"]
    return found


def items(answer: Response) -> list[dict[str, Any]]:
    assert answer.status == 200, answer.body
    found: list[dict[str, Any]] = json_of(answer)["items"]
    return found


def same(one: Response, other: Response) -> None:
    """Two answers that nobody can tell apart."""
    assert (one.status, one.body, one.headers) == (other.status, other.body, other.headers)


# -- what is made ---------------------------------------------------------------------------------------------------


def test_a_record_is_its_makers_and_stays_that(acme: Person) -> None:
    task = acme.made("tasks", teamName="red")
    assert task["tenantId"] == "acme"
    path = f"/v1/tasks/{task['taskId']}"
    assert json_of(acme.ask("PATCH", path, {"title": "new", "tenantId": "acme"}))["title"] == "new"
    problem_of(acme.ask("PATCH", path, {"tenantId": "bolt"}), 403, "forbidden")
    problem_of(acme.ask("PATCH", path, {"tenantId": None}), 400, "validation_failed")
    problem_of(acme.post("/v1/tasks", {"teamName": "red", "tenantId": "bolt"}), 403, "forbidden")
    problem_of(acme.ask("PUT", path, {"teamName": "red", "tenantId": "bolt"}), 403, "forbidden")


def test_without_the_claim_nothing_is_answered(acme: Person, theirs: str) -> None:
    for stranger in (person(acme.api), person(acme.api, tenant="")):
        for target in ("/v1/tasks", f"/v1/tasks/{theirs}", "/v1/tasks?lookup=label&label=urgent"):
            problem_of(stranger.get(target), 403, "forbidden")
        for verb in ("query", "count", "explain", "batch-get", "batch-write"):
            problem_of(stranger.post(f"/v1/tasks/{verb}", {}), 403, "forbidden")
        problem_of(stranger.post("/v1/tasks", {"teamName": "red"}), 403, "forbidden")
        problem_of(stranger.ask("DELETE", f"/v1/tasks/{theirs}"), 403, "forbidden")
    problem_of(Person(acme.api).get("/v1/tasks"), 401, "unauthenticated")
    assert Person(acme.api).get("/v1/tasks").headers["www-authenticate"] == "Bearer"


# -- each way across --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {"if_match": "*"}, {"if_match": '"r"'}, {"if_none_match": "*"}])
@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
def test_by_key_it_is_as_if_there_were_no_such_record(
    acme: Person, bolt: Person, theirs: str, method: str, headers: dict[str, str]
) -> None:
    before = bolt.get(f"/v1/tasks/{theirs}")
    document = None if method in ("GET", "DELETE") else {"teamName": "red", "title": "x"}
    answer = acme.ask(method, f"/v1/tasks/{theirs}", document, **headers)
    assert answer.status in (400, 404, 412)
    same(answer, acme.ask(method, "/v1/tasks/nosuch", document, **headers))
    same(bolt.get(f"/v1/tasks/{theirs}"), before)


@pytest.mark.parametrize("method", ["PATCH", "PUT", "DELETE"])
def test_by_the_very_revision_of_their_record(acme: Person, bolt: Person, theirs: str, method: str) -> None:
    tag = bolt.get(f"/v1/tasks/{theirs}").headers["etag"]
    document = None if method == "DELETE" else {"teamName": "red", "title": "x"}
    answer = acme.ask(method, f"/v1/tasks/{theirs}", document, if_match=tag)
    same(answer, acme.ask(method, "/v1/tasks/nosuch", document, if_match=tag))
    assert bolt.get(f"/v1/tasks/{theirs}").headers["etag"] == tag


@pytest.mark.parametrize("method", ["GET", "PATCH", "PUT", "DELETE"])
def test_by_a_key_that_names_the_other_tenant(acme: Person, method: str) -> None:
    document = None if method in ("GET", "DELETE") else {"motto": "x"}
    answer = acme.ask(method, "/v1/teams/bolt/blue", document)
    problem_of(answer, 404, "not_found")
    same(answer, acme.ask(method, "/v1/teams/bolt/nosuch", document))


def test_an_id_that_the_other_has_can_not_be_given_nor_found_out(acme: Person, theirs: str) -> None:
    for task_id in (theirs, "nosuch"):
        answer = acme.post("/v1/tasks", {"taskId": task_id, "teamName": "red"})
        assert problem_of(answer, 400, "value_refused")["where"] == "taskId"


def test_by_cursor(acme: Person, bolt: Person) -> None:
    target = "/v1/tasks?index=byTeam&teamName=red&limit=1"
    token = json_of(bolt.get(target))["nextToken"]
    problem_of(acme.get(f"{target}&nextToken={token}"), 400, "cursor_mismatch")
    colleague = person(bolt.api, "bob", tenant="bolt")
    problem_of(colleague.get(f"{target}&nextToken={token}"), 400, "cursor_mismatch")
    assert items(bolt.get(f"{target}&nextToken={token}"))


def test_by_query(acme: Person) -> None:
    for conditions in ({"tenantId": "bolt"}, {"tenantId": {"prefix": ""}}, {"tenantId": ["acme", "bolt"]}):
        for query in ({"conditions": conditions}, {"branches": [{"conditions": conditions}, {"conditions": {}}]}):
            for verb in ("query", "count", "explain"):
                problem_of(acme.post(f"/v1/tasks/{verb}", query), 403, "forbidden")
    problem_of(acme.get("/v1/tasks?tenantId=bolt"), 403, "forbidden")
    assert {each["tenantId"] for each in items(acme.post("/v1/tasks/query", {"index": "byTitle"}))} == {"acme"}
    found = items(acme.post("/v1/tasks/query", {"index": "byTitle", "filter": {"property": "tenantId", "eq": "bolt"}}))
    assert found == []


def test_by_count(acme: Person) -> None:
    mine = len(items(acme.get("/v1/tasks?index=byTitle")))
    assert json_of(acme.post("/v1/tasks/count", {"index": "byTitle"}))["count"] == mine
    asked = {"index": "byTitle", "conditions": {"title": SECRET}}
    assert json_of(acme.post("/v1/tasks/count", asked))["count"] == 0
    teams = json_of(acme.post("/v1/teams/count", {"stats": True}))
    assert teams["stats"]["scanned"] == teams["count"], "nothing of other tenants is read"


def test_by_explain(acme: Person) -> None:
    answer = json_of(acme.post("/v1/tasks/explain", {"index": "byTitle"}))
    assert all("tenantId#acme" in lane["hashKey"] for lane in answer["lanes"])
    assert "bolt" not in json.dumps(answer)


def test_the_table_itself_is_not_asked_for_all_records(acme: Person) -> None:
    problem_of(acme.get("/v1/tasks?consistent=true"), 400, "unsupported_query")


def test_by_batch(acme: Person, bolt: Person, theirs: str) -> None:
    got = json_of(acme.post("/v1/tasks/batch-get", {"keys": [theirs, "nosuch"]}))
    assert got == {"items": [None, None], "unprocessed": []}
    put = {"teamName": "red", "title": "x"}
    written = json_of(
        acme.post(
            "/v1/tasks/batch-write",
            {"puts": [{**put, "taskId": theirs}, {**put, "taskId": "nosuch"}], "deletes": []},
        )
    )
    assert written["puts"][0] == written["puts"][1]
    assert written["puts"][0]["problem"]["status"] == 404
    removed = json_of(acme.post("/v1/tasks/batch-write", {"deletes": [theirs, "nosuch"]}))
    assert removed["deletes"] == [{"status": "written"}] * 2
    assert bolt.get(f"/v1/tasks/{theirs}").status == 200
    mixed = json_of(acme.post("/v1/tasks/batch-write", {"puts": [{**put, "tenantId": "bolt"}, put]}))
    assert [each["status"] for each in mixed["puts"]] == ["failed", "written"]
    refused = mixed["puts"][0]["problem"]
    assert (refused["status"], refused["type"], refused["where"]) == (403, "urn:shardweave:error:forbidden", "tenantId")


def test_by_a_batch_that_ended_half_way() -> None:
    table = EmbeddedTable(TENANTS.layout)
    Store(TENANTS, table).create({"tenantId": "bolt", "name": "red"}, Team)
    tasks = [Store(TENANTS, table).create({"tenantId": name, "teamName": "red"}, Task) for name in ("bolt", "bolt")]
    slow = SimulatedTable(table, Script(ProcessPart(1), *[Throttle()] * 100, matching=[BatchGet]))
    with pytest.raises(BatchIncomplete) as incomplete:
        Store(TENANTS, slow).batch_get(
            Task, [each.task_id for each in tasks], seconds=0.1, visibility=lambda item: item["tenantId"] == "acme"
        )
    assert (incomplete.value.found, len(incomplete.value.unprocessed)) == ((None, None), 1)


def test_by_expansion(acme: Person, theirs: str) -> None:
    mine = acme.made("tasks", teamName="red", parentId=theirs, relatedIds=[theirs, "nosuch"])
    found = json_of(acme.get(f"/v1/tasks/{mine['taskId']}?expand=parent,related,team"))["expanded"]
    assert (found["parent"], found["related"], found["team"]["tenantId"]) == (None, [], "acme")


def test_by_lookup(acme: Person) -> None:
    found = items(acme.get("/v1/tasks?lookup=label&label=urgent"))
    assert {each["tenantId"] for each in found} == {"acme"}
    assert items(acme.get(f"/v1/tasks?lookup=slug&slug={SECRET}-0")) == []
    problem_of(acme.get("/v1/tasks?lookup=label&label=urgent&tenantId=bolt"), 403, "forbidden")


def test_by_conflict() -> None:
    acme, _ = filled()
    assert acme.made("tasks", teamName="red", slug=f"{SECRET}-0")["tenantId"] == "acme"
    assert acme.made("teams", name="blue").get("motto") is None
    conflict = problem_of(acme.post("/v1/tasks", {"teamName": "red", "slug": "mine-0"}), 409, "value_taken")
    assert SECRET not in json.dumps(conflict)


def test_by_parent(acme: Person) -> None:
    for team in ("green", "nosuch"):
        document = problem_of(acme.post("/v1/tasks", {"teamName": team}), 409, "parent_missing")
        assert team not in json.dumps(document)


def test_by_number(acme: Person, bolt: Person) -> None:
    """The numbers of one tenant do not show how many the other has taken."""
    for each in (acme, bolt):
        each.made("teams", name="numbered")
    assert [bolt.made("tasks", teamName="numbered")["num"] for _ in range(3)] == [1, 2, 3]
    assert acme.made("tasks", teamName="numbered")["num"] == 1


def test_by_idempotency_key(acme: Person, bolt: Person) -> None:
    document = {"teamName": "red", "title": "once"}
    first = bolt.post("/v1/tasks", document, idempotency_key="k")
    second = acme.post("/v1/tasks", document, idempotency_key="k")
    assert (second.status, json_of(second)["tenantId"]) == (201, "acme")
    assert json_of(first)["taskId"] != json_of(second)["taskId"]
    same(acme.post("/v1/tasks", document, idempotency_key="k"), second)


def test_a_repeated_delete_is_answered_as_the_first_time(acme: Person) -> None:
    path = f"/v1/tasks/{acme.made('tasks', teamName='red')['taskId']}"
    assert [acme.ask("DELETE", path, idempotency_key="d").status for _ in range(2)] == [204, 204]
    assert acme.ask("DELETE", path).status == 404


# -- private properties -----------------------------------------------------------------------------------------------


def test_a_private_property_is_written_and_not_shown(bolt: Person, theirs: str) -> None:
    assert "note" not in json_of(bolt.get(f"/v1/tasks/{theirs}"))
    assert "note" not in json_of(bolt.ask("PATCH", f"/v1/tasks/{theirs}", {"note": "another"}))
    assert all("note" not in each for each in items(bolt.get("/v1/tasks?index=titles&teamName=red")))
    problem_of(bolt.ask("PATCH", f"/v1/tasks/{theirs}", {"note": 5}), 400, "validation_failed")


@pytest.mark.parametrize(
    "query",
    [
        {"conditions": {"note": SECRET}},
        {"conditions": {"note": {"prefix": ""}}},
        {"index": "byTitle", "filter": {"property": "note", "eq": SECRET}},
        {"index": "byTitle", "filter": {"not": {"property": "note", "exists": True}}},
        {"branches": [{"index": "byTitle", "filter": {"property": "note", "size": {"gt": 1}}}]},
        {"index": "byTitle", "properties": ["note"]},
    ],
)
def test_a_private_property_is_not_asked_about(bolt: Person, query: dict[str, Any]) -> None:
    for verb in ("query", "count", "explain"):
        problem_of(bolt.post(f"/v1/tasks/{verb}", query), 400, "unknown_name")


def test_a_list_does_not_give_a_private_property(bolt: Person) -> None:
    problem_of(bolt.get("/v1/tasks?index=byTitle&properties=title,note"), 400, "unknown_name")
    assert all(set(each) <= {"title"} for each in items(bolt.get("/v1/tasks?index=byTitle&properties=title")))


# -- anything ---------------------------------------------------------------------------------------------------------

VALUES = st.sampled_from(["bolt", "acme", SECRET, "red", "blue", "urgent", "", "mine", f"{SECRET}-1"])
NAMES = st.sampled_from(["tenantId", "tenant_id", "teamName", "title", "note", "slug", "label", "num", "taskId"])
CONDITIONS = st.dictionaries(
    NAMES,
    VALUES
    | st.lists(VALUES, max_size=2)
    | st.fixed_dictionaries({}, optional={"prefix": VALUES, "from": VALUES, "to": VALUES, "eq": VALUES}),
    max_size=3,
)
TESTS = st.builds(
    lambda name, test, value: {"property": name, test: value}, NAMES, st.sampled_from(["eq", "ne", "ge"]), VALUES
)
FILTERS = st.recursive(
    TESTS,
    lambda inner: (
        st.builds(lambda each: {"not": each}, inner)
        | st.lists(inner, min_size=1, max_size=2).map(lambda many: {"or": many})
    ),
    max_leaves=3,
)
INDEXES = st.sampled_from([None, "byTitle", "byTeam", "titles", "nosuch"])
BRANCHES = st.fixed_dictionaries({}, optional={"conditions": CONDITIONS, "index": INDEXES, "filter": FILTERS})
QUERIES = st.fixed_dictionaries(
    {},
    optional={
        "conditions": CONDITIONS,
        "index": INDEXES,
        "filter": FILTERS,
        "branches": st.lists(BRANCHES, max_size=2),
        "reverse": st.booleans(),
        "hydrate": st.booleans(),
        "expand": st.lists(st.sampled_from(["team", "parent", "related"]), max_size=2),
        "properties": st.lists(NAMES, min_size=1, max_size=3),
    },
)
DOCUMENTS = st.fixed_dictionaries(
    {}, optional={"teamName": VALUES, "title": st.just("x"), "slug": VALUES, "parentId": VALUES, "tenantId": VALUES}
)


@st.composite
def requests(draw: st.DrawFn) -> tuple[str, str, Any]:
    """A request, in which `{id}` stands for the id of one of the other tenant's records."""
    kind = draw(st.sampled_from(["query", "list", "lookup", "key", "team", "batch", "write"]))
    if kind == "query":
        return "POST", f"/v1/tasks/{draw(st.sampled_from(['query', 'count', 'explain']))}", draw(QUERIES)
    if kind == "list":
        given = draw(st.dictionaries(NAMES, VALUES, max_size=3))
        return "GET", "/v1/tasks?" + "&".join(f"{name}={value}" for name, value in given.items()), None
    if kind == "lookup":
        name = draw(st.sampled_from(["slug", "label"]))
        return "GET", f"/v1/tasks?lookup={name}&{name}={draw(VALUES)}&expand=parent,related", None
    method = draw(st.sampled_from(["GET", "PATCH", "PUT", "DELETE"]))
    document = None if method in ("GET", "DELETE") else draw(DOCUMENTS)
    if kind == "key":
        return method, "/v1/tasks/{id}", document
    if kind == "team":
        return method, f"/v1/teams/bolt/{draw(VALUES) or 'x'}", {} if document is not None else None
    if kind == "batch":
        puts = draw(st.lists(DOCUMENTS, max_size=2))
        return "POST", "/v1/tasks/batch-write", {"puts": [*puts, {"taskId": "{id}", "teamName": "red"}]}
    return "POST", "/v1/tasks", draw(DOCUMENTS)


def test_whatever_a_tenant_asks_the_answer_holds_nothing_of_the_other() -> None:
    acme, bolt = filled()
    before = {each["taskId"]: each for each in items(bolt.get("/v1/tasks?index=byTitle"))}
    theirs = min(before)

    @given(requests())
    def holds(request: tuple[str, str, Any]) -> None:
        method, target, document = request
        document = None if document is None else json.loads(json.dumps(document).replace("{id}", theirs))
        answer = acme.ask(method, target.replace("{id}", theirs), document)
        assert answer.status < 500
        found = answer.body.decode()
        given_texts = target + json.dumps(document)
        assert not any(key in found for key in before if key not in given_texts)
        assert "tenantId#bolt" not in found
        assert '"tenantId":"bolt"' not in found
        if SECRET not in given_texts:
            # A slug of this text that this tenant gave itself may be in its own records.
            assert f'"title":"{SECRET}"' not in found
            assert f'"motto":"{SECRET}"' not in found

    holds()
    assert {each["taskId"]: each for each in items(bolt.get("/v1/tasks?index=byTitle"))} == before
