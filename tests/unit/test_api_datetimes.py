"""A datetime that is stored as an epoch number is ISO 8601 text over HTTP, in bodies, conditions, filters and paths."""

from __future__ import annotations

import datetime as dt
import urllib.parse

import pytest

from shardweave.database.database import Database
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp
from tests.unit.api_world import NOW, Client, Clock, api_of, json_of, problem_of

MINUTE = 60_000


class Ticket(Entity, token="ticket"):
    """Lets somebody in, until it ends."""

    ticket_id: str = unique_property()
    created: dt.datetime = timestamp_property()
    updated: dt.datetime = updated_property()
    ends: dt.datetime | None = ttl_property()
    gate: str = "north"


class Reading(Entity, token="reading", partition="meter", sort="created"):
    """What a meter showed, which its time identifies."""

    meter: str
    created: dt.datetime = timestamp_property()
    value: int


class Gate(Entity, token="gate"):
    """What lets somebody in, made at a time that is a number."""

    gate_id: str = unique_property()
    made: Timestamp = timestamp_property()

    all_hash_key = HashKey(shards=1)
    time_range_key = RangeKey("made")


class Visit(Entity, token="visit"):
    """Somebody who came in, at a time that is a datetime."""

    visit_id: str = unique_property()
    came: dt.datetime = timestamp_property()

    all_hash_key = HashKey(shards=1)
    time_range_key = RangeKey("came")


SCHEMA = Schema([Ticket, Reading], [Index("created", "hash_key", "created")])


def text(milliseconds: int) -> str:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC).isoformat().replace("+00:00", "Z")


def test_bodies_have_them_as_text() -> None:
    clock = Clock()
    client = Client(api_of(SCHEMA, clock))
    made = json_of(client.post("/v1/tickets", {"ticketId": "a", "ends": text(NOW + MINUTE)}))
    assert made == {
        "ticketId": "a",
        "created": text(NOW),
        "updated": text(NOW),
        "ends": text(NOW + MINUTE),
        "gate": "north",
    }
    assert json_of(client.get("/v1/tickets/a")) == made
    assert json_of(client.patch("/v1/tickets/a", {"ends": None})).get("ends") is None
    assert json_of(client.patch("/v1/tickets/a", {"ends": text(NOW + MINUTE)}))["ends"] == text(NOW + MINUTE)
    clock.now = NOW + MINUTE
    assert client.get("/v1/tickets/a").status == 404


def test_a_number_and_a_naive_time_are_refused() -> None:
    client = Client(api_of(SCHEMA))
    problem_of(client.post("/v1/tickets", {"ticketId": "a", "ends": NOW // 1000}), 400, "validation_failed")
    naive = {"ticketId": "a", "ends": "2030-01-01T00:00:00"}
    assert "time zone" in problem_of(client.post("/v1/tickets", naive), 400, "value_refused")["detail"]
    assert client.get("/v1/tickets/a").status == 404


@pytest.mark.parametrize(
    ("name", "since", "refused"),
    [
        ("created", "3 March 1973", ["1969-12-31T23:59:59.999Z", "1970-01-01T00:00:01Z", "1973-03-03T09:46:39.999Z"]),
        ("ends", "1970", ["1969-12-31T23:59:59Z"]),
    ],
)
def test_a_time_without_an_epoch_number_is_refused_as_a_time(name: str, since: str, refused: list[str]) -> None:
    client = Client(api_of(SCHEMA))
    for time in (*refused, "0001-01-01T00:00:00Z", "2286-11-20T17:46:40Z", "9999-12-31T23:59:59Z"):
        problem = problem_of(client.post("/v1/tickets", {"ticketId": "a", name: time}), 400, "value_refused")
        detail = f"a datetime of this property lies from {since} to 2286"
        assert (problem["detail"], problem["where"], problem["fix"]) == (detail, name, "give one of these years")
    assert client.get("/v1/tickets/a").status == 404
    assert client.post("/v1/tickets", {"ticketId": "a", "created": "1973-03-03T09:46:40Z"}).status == 201


def test_one_order_has_records_with_datetimes_and_with_numbers() -> None:
    by_time = Index("byTime", "all_hash_key", "time_range_key")
    with Database(Schema([Gate, Visit], [by_time]), clock=lambda: NOW) as db:
        db.create(Visit(visit_id="v", came=dt.datetime.fromtimestamp(NOW / 1000, dt.UTC) - dt.timedelta(seconds=2)))
        db.create(Gate(gate_id="g", made=NOW - 3000))
        assert [type(each) for each in db.query((Gate, Visit), index="byTime").items] == [Gate, Visit]


def test_conditions_and_filters_take_text_and_numbers() -> None:
    clock = Clock()
    client = Client(api_of(SCHEMA, clock))
    for number in range(3):
        clock.now = NOW + number
        assert client.post("/v1/tickets", {"ticketId": str(number), "ends": text(NOW + MINUTE)}).status == 201

    def listed(query: str) -> list[str]:
        return [each["ticketId"] for each in json_of(client.get(f"/v1/tickets?{query}"))["items"]]

    def asked(document: object) -> list[str]:
        answer = client.post("/v1/tickets/query", document)
        assert answer.status == 200, answer.body
        return [each["ticketId"] for each in json_of(answer)["items"]]

    second = urllib.parse.quote(text(NOW + 1))
    assert listed(f"index=created&created={second}") == ["1"]
    assert listed(f"index=created&created={NOW + 1}") == ["1"]
    assert listed(f"index=created&created.from={second}") == ["1", "2"]
    assert listed(f"index=created&created.to={NOW + 1}&reverse=true") == ["1", "0"]
    for value in (text(NOW + 1), NOW + 1):
        assert asked({"index": "created", "conditions": {"created": {"from": value}}}) == ["1", "2"]
        assert asked({"index": "created", "filter": {"property": "created", "gt": value}}) == ["2"]
        assert asked({"index": "created", "filter": {"property": "created", "in": [value]}}) == ["1"]
    assert asked({"index": "created", "filter": {"property": "ends", "gt": text(NOW)}}) == ["0", "1", "2"]
    assert asked({"index": "created", "filter": {"property": "ends", "exists": False}}) == []


def test_a_time_that_identifies_stands_in_a_path() -> None:
    client = Client(api_of(SCHEMA))
    made = client.post("/v1/readings", {"meter": "m", "value": 7})
    assert made.status == 201
    assert json_of(client.get(made.headers["location"])) == json_of(made)
    for written in (str(NOW), urllib.parse.quote(text(NOW))):
        assert json_of(client.get(f"/v1/readings/m/{written}"))["value"] == 7


def test_the_document_says_that_they_are_texts() -> None:
    document = json_of(Client(api_of(SCHEMA)).get("/openapi.json"))
    ends = document["components"]["schemas"]["Ticket"]["properties"]["ends"]
    assert (ends["type"], ends["format"]) == ("string", "date-time")
    assert "Epoch" not in ends.get("description", "")
