"""What a token says of a record's key need not stand in its path, and may, and must be right then; no error asks for
it."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import pytest
from pydantic import Field

from shardweave import (
    Entity,
    GraphQL,
    HashKey,
    Index,
    Lookup,
    RangeKey,
    Schema,
    Unique,
    claim_property,
    has_many,
    nanoid,
    testing,
    unique_property,
)
from shardweave.errors import ConfigurationError, UnknownName


class Team(Entity, token="team", partition="tenant_id", sort="name"):
    """A part of a tenant."""

    tenant_id: str = claim_property("tenant")
    name: str
    motto: str = ""

    tasks = has_many("task", via="teams")


class Entry(Entity, token="entry", collection="entries", partition=("region", "tenant_id"), sort="number"):
    """Found by three properties, the second of which the token says."""

    region: str
    tenant_id: str = claim_property("tenant")
    number: int
    text: str = ""


class Task(Entity, token="task"):
    """Something to do; its id alone names it."""

    task_id: str = unique_property(default_factory=nanoid)
    tenant_id: str = claim_property("tenant")
    team_names: list[str] = Field(default_factory=list)
    slug: str | None = None
    state: str = "open"
    other: int | None = None

    teams = has_many(Team, by=("tenant_id", "team_names"))
    team_lookup = Lookup("team_names", within="tenant_id", name="team")
    slugs = Unique("slug", within="tenant_id")
    tenant_hash_key = HashKey("tenant_id")
    state_range_key = RangeKey("state")


SCHEMA = Schema([Team, Entry, Task], [Index("byState", "tenant_hash_key", "state_range_key")])


@pytest.fixture
def client() -> testing.Client:
    return testing.Client(SCHEMA)


@pytest.fixture
def ann(client: testing.Client) -> testing.Client:
    return client.as_caller("ann", tenant="acme")


def test_each_operation_on_a_record_may_leave_out_what_the_token_says(
    client: testing.Client, ann: testing.Client
) -> None:
    ann.put("/v1/teams/red", {"motto": "one"}).expect(201)
    assert ann.get("/v1/teams/red").json == ann.get("/v1/teams/acme/red").json
    assert ann.patch("/v1/teams/red", {"motto": "two"}).json["motto"] == "two"
    bob = client.as_caller("bob", tenant="bolt")
    assert bob.get("/v1/teams/red").status == 404
    bob.put("/v1/teams/red", {"motto": "his"}).expect(201)
    assert ann.get("/v1/teams/red").json["motto"] == "two"
    ann.delete("/v1/teams/red").expect(204)
    assert (ann.get("/v1/teams/acme/red").status, bob.get("/v1/teams/red").json["motto"]) == (404, "his")


def test_a_whole_path_must_be_right(client: testing.Client, ann: testing.Client) -> None:
    client.as_caller("bob", tenant="bolt").put("/v1/teams/red", {}).expect(201)
    for method, body in (("get", None), ("patch", {"motto": "x"}), ("delete", None), ("put", {"motto": "x"})):
        arguments = [] if body is None else [body]
        assert getattr(ann, method)("/v1/teams/bolt/red", *arguments).status == 404


def test_a_slash_in_the_last_part_is_written_in_the_other_form(ann: testing.Client) -> None:
    ann.put("/v1/teams/acme/a%2Fb", {"motto": "slash"}).expect(201)
    assert ann.get("/v1/teams/%3Da%252Fb").json["motto"] == "slash"
    assert ann.get("/v1/teams/a%2Fb").status == 404, "it is taken for the team b of the tenant a"


def test_a_property_in_the_middle_may_be_left_out(ann: testing.Client) -> None:
    made = ann.put("/v1/entries/north/7", {"text": "x"}).expect(201)
    assert made.json == {"region": "north", "tenantId": "acme", "number": 7, "text": "x"}
    assert ann.get(made.location).json == ann.get("/v1/entries/north/7").json
    assert ann.get("/v1/entries/north").status == 404
    assert ann.get("/v1/entries/north/x").status == 400


def test_a_partition_as_one_value_may_leave_out_what_the_token_says(
    client: testing.Client, ann: testing.Client
) -> None:
    made = ann.put("/v1/entries/north/7", {"text": "x"}).expect(201)
    client.as_caller("bob", tenant="bolt").put("/v1/entries/north/8", {}).expect(201)
    for partition in ("north", "north/acme"):
        assert ann.get("/v1/entries", partition=partition).json["items"] == [made.json]
    assert ann.get("/v1/entries", partition="south").json["items"] == []
    assert ann.get("/v1/entries", partition="north/bolt").status == 403
    refused = ann.get("/v1/entries", partition="").expect(400)
    assert refused.problem.fix == "write region: a record has all of them"


def test_without_a_token_or_its_claim_a_short_path_tells_nothing(client: testing.Client, ann: testing.Client) -> None:
    ann.put("/v1/teams/red", {}).expect(201)
    nobody, outsider = client, client.as_caller("eve")
    for name in ("red", "nothing"):
        assert [each.get(f"/v1/teams/{name}").status for each in (nobody, outsider)] == [401, 403]
        assert [each.put(f"/v1/teams/{name}", {}).status for each in (nobody, outsider)] == [401, 403]


def test_the_list_back_and_lookups_ask_for_no_claim(ann: testing.Client) -> None:
    ann.put("/v1/teams/red", {}).expect(201)
    task = ann.post("/v1/tasks", {"teamNames": ["red"], "slug": "s"}).expect(201).json
    for path in ("/v1/teams.tasks/red", "/v1/teams.tasks/acme/red", "/v1/tasks?lookup=team&teamNames=red"):
        assert ann.get(path).json["items"] == [task]
    assert ann.get("/v1/tasks?lookup=slug&slug=s").json["items"] == [task]
    assert ann.get("/v1/tasks?lookup=slug&slug=s&tenantId=acme").json["items"] == [task]
    assert ann.get("/v1/tasks?lookup=slug&slug=s&tenantId=bolt").status == 403


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("get", "/v1/tasks?index=byState&other=1", None),
        ("get", "/v1/tasks?other=1", None),
        ("get", "/v1/tasks?lookup=slug", None),
        ("get", "/v1/tasks?lookup=slug&slug=s&state=open", None),
        ("post", "/v1/tasks/query", {"conditions": {"other": 1}}),
        ("post", "/v1/tasks/query", {"index": "byState", "conditions": {"taskId": "x"}}),
        ("post", "/v1/teams/batch-get", {"keys": [{"nothing": "x"}]}),
        ("post", "/v1/entries/batch-get", {"keys": [{"region": "x"}]}),
        ("post", "/v1/entries/batch-write", {"deletes": ["x"]}),
        ("post", "/v1/entries", {}),
    ],
)
def test_no_error_asks_for_what_the_token_says(ann: testing.Client, method: str, path: str, body: Any) -> None:
    answer = getattr(ann, method)(path, *([] if body is None else [body]))
    assert answer.status == 400
    assert "tenant" not in str(answer.json).lower()


def test_errors_of_a_callers_database_ask_for_no_claim(client: testing.Client) -> None:
    from shardweave.access.grant import Grant
    from shardweave.schema.caller import Caller

    grant = Grant(SCHEMA[Entry], Caller(), {"tenantId": "acme"})
    assert grant.key({"region": "n", "number": 1}) == {"tenantId": "acme", "region": "n", "number": 1}
    for given in ("x", {"region": "n"}):
        with pytest.raises(UnknownName) as caught:
            grant.key(given)
        assert "tenant" not in str(caught.value)


def test_a_list_of_a_partition_in_graphql_may_leave_out_what_the_token_says() -> None:
    service = ModuleType("entries")
    vars(service).update(schema=lambda key_format: SCHEMA, graphql=GraphQL())
    ann = testing.Client(service).as_caller("ann", tenant="acme")
    ann.put("/v1/entries/north/7", {"text": "x"}).expect(201)
    for partition in ("north", "north/acme"):
        asked = {"query": f'{{ entriesById(id: "{partition}") {{ items {{ number }} }} }}'}
        assert ann.post("/graphql", asked).json["data"]["entriesById"] == {"items": [{"number": 7}]}


def test_the_document_and_clients_have_the_short_paths(client: testing.Client, ann: testing.Client) -> None:
    document = ann.get("/openapi.json").json
    described = document["paths"]["/v1/entries/{region}/{number}"]["get"]
    assert [each["name"] for each in described["parameters"] if each["in"] == "path"] == ["region", "number"]
    assert "/v1/teams/{name}" in document["paths"]
    assert "/v1/teams.tasks/{name}" in document["paths"]
    assert not any("{tenantId}" in path for path in document["paths"])
    needed = document["paths"]["/v1/tasks"]["get"]["description"]
    assert "`tenantId`" not in needed


def test_a_route_of_the_service_may_not_have_the_path_of_records() -> None:
    from shardweave.api.operation import Answer, Operation, check_distinct

    def operation(path: str, **more: Any) -> Operation:
        return Operation("GET", path, path, "", lambda call: None, Answer(200, ""), **more)  # type: ignore[arg-type, return-value]

    short = operation("/v1/teams/{tenantId}/{name}", short_path="/v1/teams/{name}", claims={"tenantId": "tenant"})
    with pytest.raises(ConfigurationError):
        check_distinct([short, operation("/v1/teams/{other}")])
