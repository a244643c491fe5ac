"""Routes of a service's own: signatures that say what a request gives, rights that hold without a word about them."""

from __future__ import annotations

import enum
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import Field

from shardweave import Check, Create, Database, Delete, Put, Schema, Update, errors
from shardweave.routing import (
    Caller,
    Clock,
    EveryRecord,
    JsonModel,
    Listed,
    Writes,
    delete,
    get,
    listed,
    post,
    put,
    writes,
)
from shardweave.testing import Client
from tests.unit.access_world import RULES, TENANTS, Report, Task, Team
from tests.unit.database_world import SCHEMA, Account, accounts

Route = Callable[..., Any]


def serving(schema: Schema, *routes: Route) -> Client:
    """A client of a service with these routes."""
    module = ModuleType("services.desk")
    module.schema = lambda key_format: schema  # type: ignore[attr-defined]
    for number, each in enumerate(routes):
        setattr(module, f"route_{number}", each)
    return Client(module)


# -- what a function takes


class Size(enum.Enum):
    SMALL = "small"
    LARGE = "large"


class Echo(JsonModel):
    """What was given."""

    number: int
    size: Size | None
    flag: bool
    id: UUID
    text: str


@get("/v1/echo/{text}")
def echo(
    text: str,
    id: UUID,
    number: Annotated[int, Field(ge=1, description="How many.")] = 7,
    size: Size | None = None,
    flag: bool = False,
) -> Echo:
    """What was given."""
    return Echo(number=number, size=size, flag=flag, id=id, text=text)


ID = "0f8fad5b-d9cb-469f-a165-70867728950e"


def test_parameters_are_of_the_path_and_of_the_query_and_have_their_types() -> None:
    with serving(SCHEMA, echo) as client:
        answer = client.get("/v1/echo/a/b", id=ID, number=3, size="large", flag=True).expect(200)
        assert answer.json == {"number": 3, "size": "large", "flag": True, "id": ID, "text": "a/b"}
        answer = client.get("/v1/echo/x", id=ID).expect(200)
        assert answer.json == {"number": 7, "size": None, "flag": False, "id": ID, "text": "x"}


@pytest.mark.parametrize(
    ("given", "where"),
    [
        ({"id": "x"}, "id"),
        ({}, "id"),
        ({"id": ID, "number": 0}, "number"),
        ({"id": ID, "number": "x"}, "number"),
        ({"id": ID, "size": "tall"}, "size"),
        ({"id": ID, "flag": "yes"}, "flag"),
        ({"id": ID, "more": 1}, "more"),
    ],
)
def test_a_parameter_that_does_not_fit_is_named(given: dict[str, Any], where: str) -> None:
    with serving(SCHEMA, echo) as client:
        problem = client.get("/v1/echo/x", **given).expect(400).problem
        assert problem is not None
        assert problem.where == where


class Given(JsonModel):
    """A body."""

    team_id: str
    limit: Annotated[int, Field(ge=0)] = 0


@put("/v1/limits/{account_id}")
def set_limit(account_id: str, given: Given, database: Database, clock: Clock) -> Account:
    """Set the limit of an account."""
    return database.update(Account, account_id, {"team_id": given.team_id, "limit": given.limit + clock() % 2})


def test_a_body_is_read_strictly_and_every_fault_is_listed() -> None:
    with serving(SCHEMA, set_limit) as client:
        client.database.batch_write(accounts(1))
        changed = client.put("/v1/limits/red000", {"teamId": "blue", "limit": 5}).expect(200)
        assert (changed.json["teamId"], changed.json["limit"]) == ("blue", 5)
        assert changed.etag is not None
        problem = client.put("/v1/limits/red000", {"limit": "5", "team_id": "x"}).expect(400).problem
        assert problem is not None
        assert {each.where for each in problem.values} == {"limit", "teamId", "team_id"}
        assert client.put("/v1/limits/nobody", {"teamId": "x"}).status == 404


# -- what it gives


@get("/v1/found/{account_id}")
def found(account_id: str, database: Database) -> Account | None:
    """An account."""
    return database.get(Account, account_id)


@delete("/v1/found/{account_id}")
def lost(account_id: str, database: Database) -> None:
    """Remove an account."""
    database.delete(Account, account_id)


def test_a_record_is_answered_with_its_tag_as_everywhere() -> None:
    with serving(SCHEMA, found, lost) as client:
        client.database.batch_write(accounts(1))
        own, generated = client.get("/v1/found/red000").expect(200), client.get("/v1/accounts/red000")
        assert (own.json, own.etag) == (generated.json, generated.etag)
        assert client.get("/v1/found/red000", headers={"If-None-Match": own.etag or ""}).expect(304).body == b""
        assert client.delete("/v1/found/red000").expect(204).body == b""
        problem = client.get("/v1/found/red000").expect(404).problem
        assert problem is not None
        assert problem.code == "not_found"


class Both(JsonModel):
    """Two accounts and more."""

    first: Account
    others: list[Account]
    nobody: Account | None
    number: int


@get("/v1/both")
def both(database: Database) -> Both:
    """Some accounts."""
    one, *rest = database.query(Account, index="created").items
    return Both(first=one, others=rest, nobody=None, number=len(rest))


def test_records_in_a_model_are_shown_as_records_are() -> None:
    with serving(SCHEMA, both) as client:
        client.database.batch_write(accounts(3))
        items = client.get("/v1/accounts", index="created").json["items"]
        assert client.get("/v1/both").expect(200).json == {
            "first": items[0],
            "others": items[1:],
            "nobody": None,
            "number": 2,
        }
        shown = client.openapi["components"]["schemas"]["Both"]["properties"]
        assert shown["first"] == {"$ref": "#/components/schemas/Account"}


@get("/v1/of-team")
def of_team(team_id: str) -> Listed[Account]:
    """A team's accounts by city."""
    return listed(Account, team_id=team_id, index="created" if team_id == "all" else "teamLimit", reverse=True)


def test_a_list_has_pages_as_every_list_has() -> None:
    with serving(SCHEMA, of_team) as client:
        client.database.batch_write(accounts(5))
        first = client.get("/v1/of-team", teamId="red", limit=3).expect(200).json
        rest = client.get("/v1/of-team", teamId="red", limit=3, nextToken=first["nextToken"]).expect(200).json
        assert [each["limit"] for each in [*first["items"], *rest["items"]]] == [4, 3, 2, 1, 0]
        turned = client.get("/v1/of-team", teamId="red", reverse=True).json["items"]
        assert [each["limit"] for each in turned] == [0, 1, 2, 3, 4]


# -- writes


@post("/v1/pairs", errors=(errors.AlreadyExists,))
def make_pair(given: Given) -> Writes[Both]:
    """Two accounts at once."""
    one = {"account_id": "one", "team_id": given.team_id, "email": "one@x.org"}
    two = {"account_id": "two", "team_id": given.team_id, "email": "two@x.org"}
    taken = errors.AlreadyExists("The pair is there.", where="pair", fix="take another")
    return writes(
        Create(one, Account),
        Create(two, Account),
        answer=lambda one, two: Both(first=one, others=[two], nobody=None, number=2),
        refusals={errors.AlreadyExists: taken},
    )


@post("/v1/singles")
def make_single(given: Given) -> Writes[Account]:
    """One account."""
    return writes(Create({"team_id": given.team_id, "email": "single@x.org"}, Account))


def test_writes_are_one_transaction_that_a_key_makes_one_request() -> None:
    with serving(SCHEMA, make_pair, make_single) as client:
        made = client.post("/v1/pairs", {"teamId": "red"}, headers={"Idempotency-Key": "k"}).expect(201)
        again = client.post("/v1/pairs", {"teamId": "red"}, headers={"Idempotency-Key": "k"}).expect(201)
        assert (made.json, made.location) == (again.json, "/v1/accounts/one")
        refused = client.post("/v1/pairs", {"teamId": "red"}).expect(409).problem
        assert refused is not None
        assert (refused.detail, refused.where) == ("The pair is there.", "pair")
        single = client.post("/v1/singles", {"teamId": "red"}).expect(201)
        assert single.location is not None
        assert client.get(single.location).json == single.json
        assert single.etag is not None


CALLS: list[str] = []


@post("/v1/counted")
def counted(given: Given) -> None:
    """Something that is counted."""
    CALLS.append(given.team_id)


def test_other_work_is_done_once_for_a_key_too() -> None:
    CALLS.clear()
    with serving(SCHEMA, counted) as client:
        for _ in range(2):
            client.post("/v1/counted", {"teamId": "red"}, headers={"Idempotency-Key": "k"}).expect(204)
        client.post("/v1/counted", {"teamId": "red"}).expect(204)
    assert CALLS == ["red", "red"]


# -- rights


INDEX = next(index.name for index in TENANTS.indexes if index.range_key == "title_range_key")
SEEN: dict[str, Any] = {}


def asked(database: Database) -> Iterator[tuple[str, Any]]:
    """What a caller sees of a task and a team of one tenant, in every method that reads."""
    yield "get", database.get(Task, "t")
    yield "batch_get", [each for each in database.batch_get(Task, ["t"]) if each]
    yield "get_by", database.get_by(Task, "slug", "s", within={"tenant_id": "acme"})
    yield "find_by", database.find_by(Task, "label", "l", within={"tenant_id": "acme"}).items


def by_tenant(database: Database) -> Iterator[tuple[str, Any]]:
    """The same, of queries, which are of the caller's tenant whether they say so or not."""
    yield "query", database.query(Task, index=INDEX).items
    yield "records", list(database.records(Task, index=INDEX))
    yield "first", database.first(Task, index=INDEX)
    yield "exists", database.exists(Task, index=INDEX)
    yield "count", database.count(Task, index=INDEX)


@get("/v1/seen")
def seen(database: Database) -> None:
    """Look at everything."""
    SEEN.update(dict(asked(database)) | dict(by_tenant(database)))


def tenants() -> tuple[Client, Client]:
    client = serving(TENANTS, seen, change, check, everybody)
    acme, bolt = client.as_caller("ann", tenant="acme"), client.as_caller("bob", tenant="bolt")
    acme.post("/v1/teams", {"name": "red"}).expect(201)
    task = {"taskId": "t", "tenantId": "acme", "teamName": "red", "slug": "s", "label": "l", "title": "x"}
    client.database.create(Task, task)
    return acme, bolt


@post("/v1/changes/{what}")
def change(what: str, database: Database) -> None:
    """Change a task in one of many ways."""
    ways: dict[str, Callable[[], object]] = {
        "update": lambda: database.update(Task, "t", {"title": "y"}),
        "function": lambda: database.update(Task, "t", lambda task: {"title": task.title + "y"}),
        "delete": lambda: database.delete(Task, "t") or _refuse(),
        "transact": lambda: database.transact([Update(Task, "t", {"title": "y"})]),
        "delete in a transaction": lambda: database.transact([Delete(Task, "t")]),
        "batch": lambda: database.batch_write(deletes=[Delete(Task, "t")]).deletes[0].record or _refuse(),
        "team": lambda: database.create(Team, {"name": "blue"}),
        "another's team": lambda: database.create(Team(tenant_id="acme", name="green")),
        "put": lambda: database.transact([Put({"tenant_id": "acme", "name": "red", "motto": "m"}, Team)]),
        "scan": lambda: database.scan(Task),
        "store": lambda: database.store,
        "queries": lambda: database.queries,
    }
    ways[what]()


def _refuse() -> None:
    raise errors.NotFound("nothing there", where="key")


@post("/v1/checks/{name}")
def check(name: str) -> Writes[Team]:
    """A team beside another."""
    return writes(Create({"name": name}, Team), Check(Team, {"tenant_id": "acme", "name": "red"}))


@get("/v1/everybody")
def everybody(database: EveryRecord) -> Task | None:
    """The one task, whoever asks."""
    return database.get(Task, "t")


def test_every_method_that_reads_gives_the_callers_own_alone() -> None:
    acme, bolt = tenants()
    acme.get("/v1/seen").expect(204)
    assert len(SEEN) == 9
    assert all(SEEN.values()), SEEN
    bolt.get("/v1/seen").expect(204)
    assert not any(SEEN.values()), SEEN
    acme.close()


@pytest.mark.parametrize(
    ("what", "status"),
    [
        ("update", 404),
        ("function", 404),
        ("delete", 404),
        ("transact", 404),
        ("delete in a transaction", 404),
        ("batch", 404),
        ("team", 204),
        ("another's team", 403),
        ("put", 403),
        ("scan", 400),
        ("store", 400),
        ("queries", 400),
    ],
)
def test_what_is_anothers_is_neither_changed_nor_made(what: str, status: int) -> None:
    acme, bolt = tenants()
    before = acme.get("/v1/tasks/t").json
    bolt.post(f"/v1/changes/{what}").expect(status)
    assert acme.get("/v1/tasks/t").json == before
    assert bolt.get("/v1/teams", tenantId="bolt").json["items"] == (
        [{"tenantId": "bolt", "name": "blue"}] if what == "team" else []
    )
    acme.close()


def test_the_caller_changes_what_is_its_own() -> None:
    for what in ("update", "function", "delete", "transact", "delete in a transaction", "put"):
        acme, _ = tenants()
        acme.post(f"/v1/changes/{what}").expect(204)
        acme.close()


def test_a_check_is_of_the_callers_own_records() -> None:
    acme, bolt = tenants()
    assert acme.post("/v1/checks/blue").expect(201).json == {"tenantId": "acme", "name": "blue"}
    bolt.post("/v1/checks/blue").expect(404)
    acme.close()


def test_who_takes_every_record_sees_to_rights_itself() -> None:
    acme, bolt = tenants()
    assert bolt.get("/v1/everybody").expect(200).json == acme.get("/v1/tasks/t").json
    acme.close()


@get("/v1/reports-seen")
def reports_seen(database: Database, report_id: str) -> Report | None:
    """A report."""
    return database.get(Report, report_id)


def test_rules_hold_and_nobody_in_particular_is_asked_who_it_is() -> None:
    with serving(RULES, reports_seen) as client:
        made = client.as_caller("ann", groups=["admin"]).post("/v1/reports", {"userId": "bob", "subject": "x"})
        asked = {"reportId": made.expect(201).json["reportId"]}
        client.get("/v1/reports-seen", **asked).expect(401)
        client.as_caller("ann", groups=["admin"]).get("/v1/reports-seen", **asked).expect(200)


@get("/v1/whoami")
def whoami(caller: Caller) -> Who:
    """Who asks."""
    return Who(subject=caller.subject, groups=sorted(caller.groups))


class Who(JsonModel):
    """A caller."""

    subject: str
    groups: list[str]


def test_a_route_may_ask_who_asks() -> None:
    with serving(SCHEMA, whoami) as client:
        answer = client.as_caller("ann", groups=["b", "a"]).get("/v1/whoami").expect(200)
        assert answer.json == {"subject": "ann", "groups": ["a", "b"]}


# -- how it is described, and what is wrong with it


def test_the_document_says_what_the_function_says() -> None:
    with serving(SCHEMA, echo, make_pair) as client:
        described = client.openapi["paths"]["/v1/echo/{text}"]["get"]
        assert (described["operationId"], described["summary"]) == ("echo", "What was given")
        parameters = {each["name"]: each for each in described["parameters"]}
        assert (parameters["number"]["description"], parameters["number"]["schema"]["minimum"]) == ("How many.", 1)
        assert (parameters["id"]["required"], parameters["number"]["required"]) == (True, False)
        written = client.openapi["paths"]["/v1/pairs"]["post"]
        assert {"201", "409"} <= written["responses"].keys()
        assert "`already_exists`" in written["responses"]["409"]["description"]


def test_a_route_is_a_function_still() -> None:
    assert whoami(Caller(subject="ann")) == Who(subject="ann", groups=[])


def wrong(function: Callable[..., Any], path: str = "/v1/x") -> Callable[[], object]:
    return lambda: serving(SCHEMA, get(path)(function))


def no_type(x) -> None: ...  # type: ignore[no-untyped-def]
def no_return(): ...  # type: ignore[no-untyped-def]
def a_body(x: Given) -> None: ...
def a_number() -> int: ...  # type: ignore[empty-body]
def many(*x: int) -> None: ...
def of_nothing(x: Nothing) -> None: ...  # type: ignore[name-defined]  # noqa: F821
async def later() -> None: ...
def plain() -> None: ...


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (wrong(no_type), "no_type: the parameter 'x' must have a type"),
        (wrong(no_return), "no_return: must say what it gives"),
        (wrong(a_body), "a_body: 'x' would be a body"),
        (wrong(a_number), "a_number: it can't give <class 'int'>"),
        (wrong(many), "many: the parameter 'x' must have a type"),
        (wrong(of_nothing), "of_nothing: its types can't be read: name 'Nothing' is not defined"),
        (wrong(later), "later: must be a plain function"),
        (wrong(plain, "/x"), "plain: its path must begin with /v1/"),
        (wrong(plain, "/v1/x/{y}"), "plain: the path has 'y' and the function does not"),
        (wrong(echo.function, "/v1/{text}/x"), "echo: the path's parameters must stand at its end"),
    ],
)
def test_what_is_wrong_with_a_route_is_said_with_its_place(made: Callable[[], object], said: str) -> None:
    with pytest.raises(errors.ConfigurationError, match=re.escape(said)):
        made()
