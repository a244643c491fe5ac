"""Keys in paths: whatever identifies a record, the place that is answered leads back to it."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

import pytest
import requests
from hypothesis import example, given
from hypothesis import strategies as st

from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.wire.key_paths import key_of_part, key_part
from tests.unit.api_world import PARTS, Client, api_of, json_of, problem_of, user_service


class Thing(Entity, token="thing"):
    """Something whose name may be anything."""

    name: str = unique_property()
    note: str = ""


class Slot(Entity, token="slot", partition="room", sort=("row", "free")):
    """Something that three properties of several types identify."""

    room: str
    row: int
    free: bool


THINGS = Schema(entities=[Thing, Slot], indexes=[])
AWKWARD = (
    "..",
    ".",
    "a/../b",
    "/",
    "a//b",
    "a/",
    "?",
    "a?b#c",
    "%2F",
    "100%",
    "=",
    "=a",
    "=%2E%2E",
    "query",
    "é b",
    "\\",
)


def followed(place: str) -> str:
    """A place as a client requests it that resolves paths before, as browsers and most libraries do."""
    return requests.Request("GET", f"http://127.0.0.1{place}").prepare().path_url


@given(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12))
@example("..")
@example("=%2E%2E")
@example("==")
def test_a_part_of_a_path_is_that_of_one_key(key: str) -> None:
    for last in (True, False):
        assert key_of_part(key_part(key, last=last)) == key
    assert "/" not in key_part(key, last=False)


@pytest.mark.parametrize("key", AWKWARD)
def test_the_place_of_a_new_record_leads_to_it(key: str) -> None:
    client = Client(api_of(THINGS))
    made = client.post("/v1/things", {"name": key})
    assert (made.status, json_of(made)["name"]) == (201, key)
    place = followed(made.headers["location"])
    assert json_of(client.get(place)) == json_of(made)
    assert json_of(client.patch(place, {"note": "n"}))["name"] == key
    assert client.put(place, {"note": "m"}).status == 200
    assert client.delete(place).status == 204


@pytest.mark.parametrize("key", AWKWARD)
@pytest.mark.parametrize("free", [True, False])
def test_each_part_of_a_place_is_read_as_the_property_that_it_is(key: str, free: bool) -> None:
    client = Client(api_of(THINGS))
    made = client.post("/v1/slots", {"room": key, "row": -2, "free": free})
    assert json_of(client.get(followed(made.headers["location"]))) == {"room": key, "row": -2, "free": free}


@pytest.mark.parametrize("row", ["1_0", " 1", "٣", "1.0", "x", "+1"])
def test_a_number_in_a_path_is_plain(row: str) -> None:
    client = Client(api_of(THINGS))
    problem_of(client.get(f"/v1/slots/a/{quote(row)}/true"), 400, "validation_failed")


def test_a_slash_in_the_last_part_may_be_written_either_way() -> None:
    client = Client(api_of(PARTS))
    made = json_of(client.post("/v1/parts", {"sku": "a/b"}))
    assert json_of(client.get("/v1/parts/a/b")) == json_of(client.get("/v1/parts/a%2Fb")) == made


@pytest.mark.parametrize("document", [{"name": ""}, {"name": "", "note": "n"}])
def test_nothing_is_identified_by_an_empty_text(document: dict[str, Any]) -> None:
    client = Client(api_of(THINGS))
    assert problem_of(client.post("/v1/things", document), 400, "value_refused")["where"] == "name"
    slot = {"room": "", "row": 1, "free": True}
    assert problem_of(client.post("/v1/slots", slot), 400, "value_refused")["where"] == "room"
    assert json.loads(client.get("/v1/things?name=").body)["items"] == []


def test_an_address_is_found_however_it_is_written() -> None:
    client = Client(user_service().api)
    made = client.post("/v1/emails", {"email": "Zoë@Example.org", "userId": "u"})
    assert json_of(client.get(made.headers["location"])) == json_of(client.get("/v1/emails/ZO%C3%8B@example.ORG"))
