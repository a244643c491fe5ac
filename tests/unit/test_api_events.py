"""Events over HTTP."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.projection_world import SCHEMA

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
    problem_of(client.post(PATH, {**SENT, "owner": "bob"}), 409, "idempotency_mismatch")


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
