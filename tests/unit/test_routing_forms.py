"""Routes of a service's own that show records in another form, or whose work goes on from request to request."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Annotated, Any
from uuid import UUID

import pytest
from pydantic import Field

from shardweave import Create, Database, Update, errors
from shardweave.api.operation import Call
from shardweave.api.route_arguments import arguments_of
from shardweave.routing import (
    Claim,
    JsonModel,
    JsonType,
    Listed,
    RecordView,
    TimeLeft,
    Writes,
    get,
    listed,
    post,
    writes,
)
from shardweave.testing import Client
from tests.unit.database_world import SCHEMA, Account, accounts
from tests.unit.test_routing import serving


class Row(RecordView[Account]):
    """An account with what is free of its limit."""

    hidden = frozenset({"limit"})
    free: int


class Short(JsonModel):
    """An account in one word."""

    name: str


class Total(JsonModel):
    """What belongs to the whole list."""

    team_size: int = Field(description="How many the team has.")
    best: Account | None


@get("/v1/rows")
def rows(team_id: str, database: Database) -> Listed[Row, Total]:
    """Rows of a team."""
    found = listed(Account, team_id=team_id, index="teamLimit").shown_as(
        lambda each: Row(record=each, free=100 - each.limit)
    )
    best = database.first(Account, team_id=team_id, index="teamLimit", reverse=True)
    return found.with_members(Total(team_size=database.count(Account, team_id=team_id), best=best))


@get("/v1/names")
def names() -> Listed[Short]:
    """The names of all."""
    return listed(Account, index="created").shown_as(lambda each: Short(name=each.account_id))


@get("/v1/row/{account_id}")
def row(account_id: str, database: Database) -> Row | None:
    """One row."""
    found = database.get(Account, account_id)
    return None if found is None else Row(record=found, free=0)


@get("/v1/short/{account_id}")
def short(account_id: str, database: Database) -> Short | None:
    """One name."""
    return Short(name=account_id) if database.get(Account, account_id) else None


class Raise(JsonModel):
    """A new limit."""

    account_id: str
    limit: int


@post("/v1/raises", status=200)
def raise_limit(given: Raise) -> Writes[Row]:
    """A new limit."""
    return writes(
        Update(Account, given.account_id, {"limit": given.limit}), answer=lambda each: Row(record=each, free=1)
    )


@post("/v1/twins")
def twins() -> Writes[tuple[Account]]:
    """One account, by its token."""
    return writes(Create({"account_id": "twin", "team_id": "red", "email": "twin@x.org"}, Account))


@pytest.fixture
def client() -> Iterator[Client]:
    with serving(SCHEMA, rows, names, row, short, raise_limit, twins, go_on, mine, left) as made:
        made.database.batch_write(accounts(5))
        yield made


def test_rows_have_the_form_of_the_route_and_the_page_members_of_its_own(client: Client) -> None:
    records = client.get("/v1/accounts", index="teamLimit", teamId="red").json["items"]
    page = client.get("/v1/rows", teamId="red", limit=3).expect(200).json
    expected = [{**each, "free": 100 - each["limit"]} for each in records]
    for each in expected:
        del each["limit"]
    assert page["items"] == expected[:3]
    assert (page["teamSize"], page["best"], page["complete"]) == (5, records[-1], True)
    rest = client.get("/v1/rows", teamId="red", limit=3, nextToken=page["nextToken"]).expect(200).json
    assert (rest["items"], rest["nextToken"]) == (expected[3:], None)
    assert client.get("/v1/names").json["items"][0] == {"name": "red000"}


def test_the_document_describes_rows_and_members(client: Client) -> None:
    schemas = client.openapi["components"]["schemas"]
    assert schemas["Row"]["properties"].keys() == schemas["Account"]["properties"].keys() - {"limit", "expanded"} | {
        "free"
    }
    assert schemas["RowList"]["properties"]["items"]["items"] == {"$ref": "#/components/schemas/Row"}
    assert schemas["RowList"]["properties"]["teamSize"]["description"] == "How many the team has."
    assert "teamSize" in schemas["RowList"]["required"]
    assert "404" in client.openapi["paths"]["/v1/short/{accountId}"]["get"]["responses"]
    assert schemas["TwinsRecords"]["properties"] == {"account": {"$ref": "#/components/schemas/Account"}}


def test_a_view_of_one_record_has_the_tag_of_its_revision_where_it_was_written_alone(client: Client) -> None:
    changed = client.post("/v1/raises", {"accountId": "red000", "limit": 9}).expect(200)
    stored = client.get("/v1/accounts/red000")
    assert changed.etag == stored.etag
    assert "limit" not in changed.json
    shown = client.get("/v1/row/red000").expect(200)
    assert (shown.etag, shown.json["free"]) == (None, 0), "what it shows beside the record may change without it"
    assert client.get("/v1/row/nobody").expect(404).json["where"] == "key"
    assert client.get("/v1/short/nobody").expect(404).json["where"] == "path"


def test_records_by_their_tokens(client: Client) -> None:
    made = client.post("/v1/twins").expect(201)
    assert made.json == {"account": client.get(made.location or "").json}


# -- work that goes on

CALLS: list[str] = []


@post("/v1/steps", idempotency_key=False)
def go_on() -> None:
    """One step more."""
    CALLS.append("step")


def test_a_request_without_keys_is_carried_out_each_time(client: Client) -> None:
    CALLS.clear()
    for _ in range(2):
        client.post("/v1/steps", headers={"Idempotency-Key": "k"}).expect(204)
    assert len(CALLS) == 2
    described = client.openapi["paths"]["/v1/steps"]["post"]
    assert "Idempotency-Key" not in [each["name"] for each in described.get("parameters", ())]


class Said(JsonModel):
    """What was given."""

    value: str


@get("/v1/mine")
def mine(tenant: Annotated[UUID, Claim("tenant")]) -> Said:
    """The caller's tenant."""
    return Said(value=str(tenant))


TENANT = "0f8fad5b-d9cb-469f-a165-70867728950e"


def test_a_claim_is_given_in_its_type_and_who_has_none_is_refused(client: Client) -> None:
    assert client.as_caller("ann", claims={"tenant": TENANT}).get("/v1/mine").expect(200).json == {"value": TENANT}
    client.as_caller("ann", claims={"tenant": "acme"}).get("/v1/mine").expect(403)
    client.as_caller("ann").get("/v1/mine").expect(403)
    client.get("/v1/mine").expect(401)
    client.get("/v1/mine", tenant=TENANT).expect(400)


@get("/v1/left")
def left(time_left: TimeLeft) -> Said:
    """Whether time is left."""
    return Said(value=str(time_left()))


def test_the_time_that_is_left_passes_and_is_endless_where_nobody_bounds_it(client: Client) -> None:
    assert client.get("/v1/left").expect(200).json == {"value": "inf"}
    seconds = [10.0]
    parts: Any = SimpleNamespace(queries=SimpleNamespace(monotonic=lambda: seconds[0]))
    time_left = arguments_of(left, parts).of(Call(time_left_ms=5_000))["time_left"]
    seconds[0] += 2
    assert time_left() == pytest.approx(3_000)


def test_a_value_is_read_as_strictly_as_a_property_and_its_place_is_named() -> None:
    kind: Any = JsonType(Annotated[int, Field(ge=1)])
    assert kind.read(3, "values", "depth") == 3
    for wrong in (0, "3", None, 1.5):
        with pytest.raises(errors.ValidationFailed) as raised:
            kind.read(wrong, "values", "depth")
        assert raised.value.where == "values.depth"
