"""Routes of a service whose records are bound to a claim: keys and scopes of lookups may leave it out."""

from __future__ import annotations

from shardweave import Check, Create, Database, Delete, Update
from shardweave.routing import JsonModel, Writes, delete, get, post, writes
from tests.unit.access_world import TENANTS, Task, Team
from tests.unit.test_routing import serving


class Left(JsonModel):
    """What was found by keys that leave the claim out."""

    mottos: list[str | None]
    tasks: list[str]


@post("/v1/mottos")
def left_out(database: Database) -> Left:
    """Find and change in every way that takes a key or what a lookup is asked within, without naming the tenant."""
    database.update(Team, "red", {"motto": "1"})
    found = [database.get(Team, "red"), database.get(Team, {"name": "red"}), *database.batch_get(Team, ["red", "blue"])]
    database.transact([Update(Team, "red", {"motto": "2"})])
    found.append(database.get(Team, "red"))
    tasks = [database.get_by(Task, "slug", "s"), *database.find_by(Task, "label", "l").items]
    return Left(mottos=[each and each.motto for each in found], tasks=[each.task_id for each in tasks if each])


@delete("/v1/mottos/{name}")
def remove(name: str, database: Database) -> None:
    """Remove a team in every way, without naming the tenant."""
    database.transact([Delete(Team, name)])
    database.create(Team, {"name": name})
    database.batch_write(deletes=[Delete(Team, name)])
    database.create(Team, {"name": name})
    database.delete(Team, name)


@post("/v1/beside/{name}")
def beside(name: str) -> Writes[Team]:
    """A team beside another, whose tenant is not named."""
    return writes(Create({"name": name}, Team), Check(Team, "red"))


def test_what_a_claim_binds_may_be_left_out_wherever_a_key_is_given() -> None:
    client = serving(TENANTS, left_out, remove, beside)
    acme, bolt = client.as_caller("ann", tenant="acme"), client.as_caller("bob", tenant="bolt")
    for each, name in ((acme, "acme"), (bolt, "bolt")):
        each.post("/v1/teams", {"name": "red", "motto": name}).expect(201)
    task = {"teamName": "red", "slug": "s", "label": "l"}
    made = acme.post("/v1/tasks", task).expect(201).json["taskId"]
    assert acme.post("/v1/mottos").expect(200).json == {"mottos": ["1", "1", "1", None, "2"], "tasks": [made] * 2}
    assert bolt.post("/v1/mottos").expect(200).json["tasks"] == []
    assert acme.post("/v1/beside/blue").expect(201).json == {"tenantId": "acme", "name": "blue"}
    bolt.delete("/v1/mottos/red").expect(204)
    assert bolt.get("/v1/teams").json["items"] == []
    assert [each["name"] for each in acme.get("/v1/teams").json["items"]] == ["blue", "red"]
    bolt.post("/v1/beside/blue").expect(404)
    acme.close()


@get("/v1/foreign")
def foreign(database: Database) -> Team | None:
    """A team of a tenant that is named."""
    return database.get(Team, {"tenant_id": "acme", "name": "red"})


@get("/v1/mistaken")
def mistaken(database: Database) -> Team | None:
    """A key that names what a team does not have."""
    return database.get(Team, {"nmae": "red"})


def test_a_key_that_names_another_tenant_or_nothing_there_is_not_made_the_callers() -> None:
    client = serving(TENANTS, foreign, mistaken)
    acme, bolt = client.as_caller("ann", tenant="acme"), client.as_caller("bob", tenant="bolt")
    for each in (acme, bolt):
        each.post("/v1/teams", {"name": "red"}).expect(201)
    acme.get("/v1/foreign").expect(200)
    bolt.get("/v1/foreign").expect(404)
    problem = bolt.get("/v1/mistaken").expect(400).problem
    assert problem is not None
    assert "nmae" in problem.detail
    client.close()


class Motto(JsonModel):
    """A team's words."""

    motto: str


@post("/v1/new-mottos", status=200)
def renamed(given: Motto) -> Writes[Team]:
    """The red team's words."""
    return writes(Update(Team, "red", {"motto": given.motto}))


def test_who_may_do_nothing_is_refused_before_what_was_sent_is_read() -> None:
    client = serving(TENANTS, renamed)
    for sent in ({"motto": 5}, {"motto": "x"}):
        assert client.post("/v1/new-mottos", sent).expect(401).problem
        assert client.as_caller("ann").post("/v1/new-mottos", sent).expect(403).problem
    client.as_caller("ann", tenant="acme").post("/v1/new-mottos", {"motto": 5}).expect(400)
