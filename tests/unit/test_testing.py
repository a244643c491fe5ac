"""What `shardweave.testing` gives the tests of a program: a clock, a fresh database, a client of HTTP routes."""

from __future__ import annotations

import datetime as dt
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from services import order_tracking, user_service
from shardweave import Database, Schema, errors
from shardweave.routing import get
from shardweave.testing import Client, Clock, Problem, ValueProblem
from tests.unit.access_world import RULES, TENANTS
from tests.unit.database_world import SCHEMA, Account, accounts

pytest_plugins = ["pytester"]

GUIDE = Path(__file__).parents[2] / "docs" / "testing.md"


# -- the clock


def test_a_clock_stands_still_until_it_is_moved() -> None:
    clock = Clock()
    assert (clock(), clock(), clock.now) == (1_735_689_600_000,) * 2 + (dt.datetime(2025, 1, 1, tzinfo=dt.UTC),)
    clock.advance(days=1, hours=2, minutes=3, seconds=4, milliseconds=5)
    assert clock.now == dt.datetime(2025, 1, 2, 2, 3, 4, 5000, tzinfo=dt.UTC)
    clock.set(dt.datetime(2024, 2, 29, tzinfo=dt.UTC))
    assert clock.now_ms == 1_709_164_800_000
    with pytest.raises(errors.InputError, match="moment: a datetime has no time zone"):
        clock.set(dt.datetime(2024, 2, 29))  # noqa: DTZ001


def test_pauses_move_the_clock_and_take_no_time() -> None:
    clock = Clock(0)
    clock.waiting.sleep(1.5)
    assert (clock.now_ms, clock.waiting.monotonic()) == (1_500, 1.5)
    clock.set(0)
    assert clock.waiting.monotonic() == 1.5, "what measures a time goes on, whatever day it is"


# -- without pytest


def test_the_classes_need_no_pytest_and_the_fixtures_say_that_it_is_missing() -> None:
    script = """
import sys
sys.modules["pytest"] = None
from shardweave import errors
from shardweave.testing import Client, Clock, client, clock, database
with Client("user_service") as asked:
    print(asked.get("/v1/users/nobody").status, Clock(5)())
for fixture in (clock, lambda: database(None, None), lambda: client("user_service", None)):
    try:
        fixture()
    except errors.ConfigurationError as error:
        print(error.message, "|", error.fix)
"""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stderr
    first, *said = run.stdout.splitlines()
    assert first == "404 5"
    fix = "`pip install pytest`, or use Client, Clock and Database themselves"
    names = ("clock", "database", "client")
    assert said == [f"{name} is a fixture of pytest, which is not installed | {fix}" for name in names]


# -- the client


def test_records_are_made_read_changed_and_removed_by_their_routes() -> None:
    with Client(SCHEMA) as client:
        made = client.post("/v1/accounts", {"teamId": "red", "email": "ann@example.org"}).expect(201)
        read = client.get(made.location).expect(200)
        assert read.json == made.json
        assert read.etag == made.etag
        client.patch(made.location, {"city": "Oslo"}, if_match=made.etag).expect(200)
        refused = client.patch(made.location, {"city": "Lima"}, if_match=made.etag).expect(412)
        assert refused.problem is not None
        assert refused.problem.code == errors.PreconditionFailed.code
        account = client.database.get(Account, made.json["accountId"])
        assert account is not None
        assert account.city == "Oslo"
        assert client.delete(made.location).expect(204).json is None
        assert client.get(made.location).status == 404


def test_a_closed_client_is_refused_and_so_are_those_of_its_callers() -> None:
    with Client(SCHEMA) as client:
        ann = client.as_caller("ann")
        refused = client.get("/v1/accounts/nobody")
        with pytest.raises(AssertionError, match="answered with 404 and no location"):
            refused.location  # noqa: B018 - it is asked for
    client.close()
    for ask in (lambda: client.get("/v1/accounts"), lambda: ann.get("/v1/accounts"), lambda: client.as_caller("bob")):
        with pytest.raises(errors.InputError, match="client: it is closed"):
            ask()


def test_parameters_are_written_as_a_query_has_them() -> None:
    with Client(SCHEMA) as client:
        client.database.batch_write(accounts(6))
        page = client.get("/v1/accounts", index="created", limit=2, reverse=True).expect(200).json
        assert [each["balance"] for each in page["items"]] == [5, 4]
        page = client.get("/v1/accounts?index=created", limit=4, nextToken=None).expect(200).json
        rest = client.get("/v1/accounts", index="created", limit=4, nextToken=page["nextToken"]).json
        assert [each["balance"] for each in rest["items"]] == [4, 5]
        found = client.get("/v1/accounts", teamId="red", **{"city.prefix": "Os"}).json["items"]
        assert [each["accountId"] for each in found] == ["red001", "red003", "red005"]


def test_a_problem_is_a_value() -> None:
    with Client(SCHEMA) as client:
        answer = client.get("/v1/accounts/nobody")
        assert answer.problem == Problem("not_found", 404, "there is no such account", "key", "check the key")
        answer = client.post("/v1/accounts", {"teamId": 5})
        assert answer.problem is not None
        assert answer.problem.values[1] == ValueProblem("email", "Field required", "missing")
        assert client.get("/v1/accounts", index="created").problem is None
        with pytest.raises(AssertionError, match=r"answered with 404: Problem.*code='not_found'"):
            client.get("/v1/accounts/nobody").expect(200)


def test_callers_see_what_is_theirs() -> None:
    with Client(TENANTS) as client:
        acme, bolt = client.as_caller("ann", tenant="acme"), client.as_caller("bob", tenant="bolt")
        with pytest.raises(errors.InputError, match="tenant: the claims have another tenant"):
            client.as_caller("ann", tenant="acme", claims={"tenant": "bolt"})
        acme.post("/v1/teams", {"name": "red"}).expect(201)
        assert [each["name"] for each in acme.get("/v1/teams", tenantId="acme").json["items"]] == ["red"]
        assert bolt.get("/v1/teams").expect(200).json["items"] == []
        assert client.get("/v1/teams").expect(401).problem is not None
        assert client.as_caller("eve").get("/v1/teams").status == 403


def test_callers_have_groups_and_claims() -> None:
    with Client(RULES) as client:
        admin = client.as_caller("ann", groups=["admin"])
        made = admin.post("/v1/reports", {"userId": "bob", "subject": "x"}).expect(201)
        assert made.location is not None
        by_claims = client.as_caller("ann", claims={"cognito:groups": ["admin"]})
        assert by_claims.get(made.location).status == 200
        assert client.as_caller("eve", groups=["none of these"]).get(made.location).status in (403, 404)
        with pytest.raises(errors.InputError, match="tenant: records are bound to none"):
            client.as_caller("ann", tenant="acme")
        with pytest.raises(errors.InputError, match="groups: must be a list of names, got str"):
            client.as_caller("ann", groups="admin")
        with pytest.raises(errors.InputError, match="claims: must map claims to values, got list"):
            client.as_caller("ann", claims=["admin"])  # type: ignore[arg-type]


def test_the_clock_is_the_services_own() -> None:
    clock = Clock()
    with Client(user_service, clock) as client:
        given = {"email": "a@b.org", "firstName": "Ana", "lastName": "Gómez", "beneficiaryId": "b"}
        made = client.post("/v1/sign-up", given).expect(201)
        assert made.json["user"]["created"] == clock.now_ms
        clock.advance(days=3)
        assert client.patch(made.location or "", {"phone": "1"}).json["updated"] == clock.now_ms


@pytest.mark.parametrize("service", [order_tracking, "order_tracking"])
def test_a_service_is_a_module_or_the_name_of_one(service: ModuleType | str) -> None:
    with Client(service) as client:
        assert "/v1/order-lines" in client.openapi["paths"]
        event = {"type": "OrderStatusChanged", "eventId": "e", "position": 1, "orderId": "o", "status": "paid"}
        event["changedAt"] = client.clock.now.isoformat()
        assert client.post("/v1/_events/orders", event).expect(200).json == {"eventId": "e", "repeated": False}


def test_what_is_no_service_is_refused() -> None:
    with pytest.raises(errors.InputError, match="service: must be a service, got int"):
        Client(5)  # type: ignore[arg-type]


@get("/v1/broken")
def broken() -> None:
    """Nothing that works."""
    raise KeyError("lamp")


def test_behind_an_internal_error_a_test_shows_what_was_raised() -> None:
    module = ModuleType("broken")
    module.schema, module.route = lambda key_format: SCHEMA, broken  # type: ignore[attr-defined]
    with Client(module) as client:
        answer = client.as_caller("ann").get("/v1/broken")
        assert isinstance(answer.failure, KeyError)
        with pytest.raises(AssertionError, match="answered with 500") as failed:
            answer.expect(204)
        assert failed.value.__cause__ is answer.failure
        assert client.get("/v1/nowhere").failure is None


# -- the fixtures


def test_the_guides_examples_run_as_they_stand(pytester: pytest.Pytester) -> None:
    notes, conftest, tests, callers = re.findall(r"```python\n(.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    with Client(TENANTS) as client:
        made: dict[str, Client] = {}
        exec(callers, {"client": client}, made)
        made["ann"].post("/v1/teams", {"name": "red"}).expect(201)
        assert made["bob"].get("/v1/teams", tenantId="acme").json["items"][0]["name"] == "red"
    pytester.makepyfile(notes=notes, test_notes=tests)
    pytester.makeconftest(conftest)
    pytester.syspathinsert()
    pytester.runpytest("-q", "-p", "no:cacheprovider").assert_outcomes(passed=3)


def test_schemas_with_external_keys_are_served(schema_with_origin: Schema) -> None:
    with Client(schema_with_origin) as client:
        assert client.openapi["paths"]


@pytest.fixture
def schema_with_origin() -> Schema:
    from shardweave import Entity, unique_property

    class Desk(Entity, token="desk", origin="A"):
        """A desk."""

        desk_id: str = unique_property()

    return Schema([Desk])


def test_a_database_of_a_client_lives_with_it() -> None:
    client = Client(SCHEMA)
    assert isinstance(client.database, Database)
    client.close()
