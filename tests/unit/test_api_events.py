"""Events over HTTP."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from itertools import permutations
from typing import Annotated, Any, Literal

import pytest
from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, field_validator

from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.read_models import Delete, Event, ReadModel, Set, Update
from shardweave.schema.schema import Schema
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.read_model_world import SCHEMA

PATH = "/v1/_events/parcels"
SENT = {"type": "Sent", "eventId": "a", "position": 1, "parcelId": "p", "owner": "ann"}
SEEN = {"type": "Seen", "eventId": "b", "position": 2, "parcelId": "p", "place": "Bath"}


@pytest.fixture
def client() -> Client:
    return Client(api_of(SCHEMA))


def test_events_make_records_in_any_order_and_are_applied_once(client: Client) -> None:
    first = client.post(PATH, SEEN)
    assert (first.status, json_of(first)) == (200, {"eventId": "b", "repeated": False})
    assert client.get("/v1/parcels/p").status == 404
    client.post(PATH, SENT)
    record = json_of(client.get("/v1/parcels/p"))
    assert (record["owner"], record["place"]) == ("ann", "Bath")
    assert json_of(client.post(PATH, SENT)) == {"eventId": "a", "repeated": True}
    assert json_of(client.get("/v1/tallys/tally")) == {"sent": 1, "seen": 1}


def test_nothing_that_events_note_is_seen(client: Client) -> None:
    client.post(PATH, SENT)
    assert set(json_of(client.get("/v1/parcels/p"))) == {"parcelId", "updated", "owner", "note"}


@pytest.mark.parametrize(
    ("event", "faults"),
    [
        ({}, {"type"}),
        ({**SENT, "type": "Stolen"}, {"type"}),
        ({**SENT, "type": ["Sent"]}, {"type"}),
        ({"type": "Sent"}, {"eventId", "position", "parcelId", "owner"}),
        ({**SENT, "position": "1", "owner": 2, "size": 3}, {"position", "owner", "size"}),
        ({**SENT, "eventId": "", "position": -1}, {"eventId", "position"}),
        ({**SENT, "eventId": "x" * 256, "position": 2**63}, {"eventId", "position"}),
    ],
)
def test_a_bad_event_is_refused_with_every_field(client: Client, event: dict[str, Any], faults: set[str]) -> None:
    document = problem_of(client.post(PATH, event), 400, "validation_failed")
    assert {fault["where"] for fault in document["errors"]} == faults


def test_an_id_that_another_event_had_is_a_conflict(client: Client) -> None:
    client.post(PATH, SENT)
    problem = problem_of(client.post(PATH, {**SENT, "owner": "bob"}), 409, "idempotency_mismatch")
    assert (problem["where"], "key" in problem["detail"] + problem["fix"]) == ("eventId", False)


@pytest.mark.parametrize("key", ["a", "b", "", "not, a key"])
def test_an_idempotency_key_says_nothing_of_an_event(client: Client, key: str) -> None:
    for event, repeated in ((SENT, False), (SEEN, False), (SENT, True)):
        assert json_of(client.post(PATH, event, idempotency_key=key))["repeated"] is repeated
    document = json.loads(client.get("/openapi.json").body)
    assert document["paths"][PATH]["post"].get("parameters", []) == []


def test_there_is_a_path_for_each_projection_and_no_other(client: Client) -> None:
    problem_of(client.post("/v1/_events/others", SENT), 404, "route_not_found")
    problem_of(client.get(PATH), 405, "method_not_allowed")


def test_the_description_has_every_kind_of_event(client: Client) -> None:
    document = json.loads(client.get("/openapi.json").body)
    body = document["paths"][PATH]["post"]["requestBody"]["content"]["application/json"]["schema"]
    schema = document["components"]["schemas"][body["$ref"].rpartition("/")[2]] if "$ref" in body else body
    kinds = {each["$ref"].rpartition("/")[2] for each in schema["oneOf"]}
    assert kinds == {"Sent", "Seen", "Lost"}
    assert schema["discriminator"]["propertyName"] == "type"
    assert document["components"]["schemas"]["Sent"]["properties"]["eventId"]["maxLength"] == 255


# -- values, as those of records ----------------------------------------------------------------------------------


class Side(BaseModel):
    """One side of a box."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    length: Decimal
    seals: int = 0
    inside: list[Side] = Field(default_factory=list)


class Measured(Event):
    """A box was measured."""

    type: Literal["Measured"] = "Measured"
    box_id: str
    weight: Decimal | None = None
    parts: Annotated[int, Field(ge=1)] = 1
    seen_at: AwareDatetime | None = None
    day: dt.date | None = None
    level: Literal[0, 1] | None = None
    sides: list[Side] = Field(default_factory=list)
    named: dict[str, Side] = Field(default_factory=dict)

    @field_validator("sides")
    @classmethod
    def _two_at_most(cls, sides: list[Side]) -> list[Side]:
        if len(sides) > 2:
            raise ValueError("a box has two sides here")
        return sides


class Box(Entity, token="box"):
    """What was measured of it."""

    box_id: str = unique_property()
    weight: Decimal | None = None
    parts: int
    seen_at: dt.datetime | None = None
    lengths: list[Decimal] = Field(default_factory=list)
    kinds: str


def measured(event: Event) -> tuple[Set, ...]:
    assert type(event) is Measured, "it is what was declared, not what read it"
    sides = (*event.sides, *event.named.values())
    kinds = ",".join(sorted({type(each).__name__ for each in sides if type(each) is Side}))
    lengths = [each.length for each in sides]
    box = Box(box_id=event.box_id, weight=event.weight, parts=event.parts, lengths=lengths, kinds=kinds)
    return (Set(box.model_copy(update={"seen_at": event.seen_at})),)


BOXES = Schema(entities=[Box], read_models=[ReadModel("boxes", events=(Measured,), writes=(Box,), project=measured)])
MEASURED = {"type": "Measured", "eventId": "a", "position": 1, "boxId": "b"}


def test_an_event_is_read_as_records_are() -> None:
    client = Client(api_of(BOXES))
    event = {
        **MEASURED,
        "position": 1.0,
        "parts": 2.0,
        "weight": 1.5,
        "seenAt": "2024-01-01T00:00:00Z",
        "sides": [{"length": "1.10", "seals": 3.0}],
        "named": {"top": {"length": 2, "inside": [{"length": "1"}]}},
    }
    assert client.post("/v1/_events/boxes", event).status == 200
    assert json_of(client.get("/v1/boxs/b")) == {
        "boxId": "b",
        "weight": "1.5",
        "parts": 2,
        "seenAt": "2024-01-01T00:00:00Z",
        "lengths": ["1.1", "2"],
        "kinds": "Side",
    }
    assert json_of(client.post("/v1/_events/boxes", {**event, "position": 1, "parts": 2}))["repeated"] is True


@pytest.mark.parametrize(
    ("given", "faults"),
    [
        ({"position": True, "parts": "1"}, {"position", "parts"}),
        ({"position": 1.5, "parts": 0.0}, {"position", "parts"}),
        ({"weight": " 1 "}, {"weight"}),
        ({"weight": "\u0661"}, {"weight"}),
        ({"weight": "1_0"}, {"weight"}),
        ({"weight": 0.1234567890123456789}, {"weight"}),
        ({"weight": True}, {"weight"}),
        ({"seenAt": "1700000000", "day": "20240101", "level": True}, {"seenAt", "day", "level"}),
        ({"seenAt": "2024-01-01T00:00:00"}, {"seenAt"}),
        ({"seenAt": "2024-01-01T00:00:00.1234567Z"}, {"seenAt"}),
        ({"sides": [{"length": " 1", "seals": "3"}]}, {"sides[0].length", "sides[0].seals"}),
        ({"sides": [{"length": 1, "colour": 1}]}, {"sides[0].colour"}),
        ({"sides": [{"length": "1"}] * 3, "named": {"a": {"length": "\u0661"}}}, {"sides", "named.a.length"}),
    ],
)
def test_what_a_record_would_not_take_an_event_does_not(given: dict[str, Any], faults: set[str]) -> None:
    answer = Client(api_of(BOXES)).post("/v1/_events/boxes", {**MEASURED, **given})
    document = problem_of(answer, 400, "validation_failed")
    assert {fault["where"] for fault in document["errors"]} == faults


# -- sums -----------------------------------------------------------------------------------------------------------


class Account(Entity, token="account", singleton=True):
    """A sum."""

    total: int = 0


class Counted(Event):
    """Something was added; `start` is what a Set gives, `closed` a Delete."""

    type: Literal["Counted"] = "Counted"
    add: int = 0
    start: int | None = None
    closed: bool = False


class Placed(Event):
    """An event whose position has no bounds of its own."""

    type: Literal["Placed"] = "Placed"
    position: int


def counted(event: Event) -> tuple[Set | Delete | Update, ...]:
    if isinstance(event, Placed):
        return (Update(Account, {}, add={"total": 1}),)
    assert isinstance(event, Counted)
    if event.closed:
        return (Delete(Account, {}),)
    return (
        (Update(Account, {}, add={"total": event.add}),) if event.start is None else (Set(Account(total=event.start)),)
    )


SUMS = Schema(
    entities=[Account],
    read_models=[ReadModel("sums", events=(Counted, Placed), writes=(Account,), project=counted)],
)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_neither_set_nor_delete_takes_back_what_was_added(order: tuple[int, ...]) -> None:
    client = Client(api_of(SUMS))
    said: list[dict[str, Any]] = [{"add": 2}, {"start": 100}, {"closed": True}, {"add": 3}]
    for place in order:
        event = {"type": "Counted", "eventId": f"e{place}", "position": place, **said[place]}
        assert client.post("/v1/_events/sums", event).status == 200
    assert json_of(client.get("/v1/accounts/account")) == {"total": 5}, "the Delete took the 100 alone"
    client.post("/v1/_events/sums", {"type": "Counted", "eventId": "e4", "position": 4, "start": 10})
    assert json_of(client.get("/v1/accounts/account")) == {"total": 15}


@pytest.mark.parametrize("sign", [1, -1])
def test_a_position_that_no_table_keeps_is_refused_whatever_its_event_declares(sign: int) -> None:
    client = Client(api_of(SUMS))
    event = {"type": "Placed", "eventId": "a", "position": sign * 10**38}
    problem = problem_of(client.post("/v1/_events/sums", event), 400, "validation_failed")
    assert [each["where"] for each in problem["errors"]] == ["position"]
    assert client.post("/v1/_events/sums", {**event, "position": sign * (10**38 - 1)}).status == 200


def test_a_second_singleton_is_told_to_update_the_first() -> None:
    client = Client(api_of(SUMS))
    assert client.post("/v1/accounts", {"total": 1}).status == 201
    assert problem_of(client.post("/v1/accounts", {"total": 2}), 409, "already_exists")["fix"] == "update it"
