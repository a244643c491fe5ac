"""Writes over HTTP beside whole records and patches: upserts, additions, what was removed, batches of patches."""

from __future__ import annotations

from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from shardweave.schema.entity import Entity
from shardweave.schema.property_options import private_property, timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import DecimalCodec, Timestamp
from tests.unit.api_world import Client, api_of, json_of, problem_of


class Meter(Entity, token="meter"):
    """Counts."""

    meter_id: str = unique_property()
    created: Timestamp = timestamp_property()
    count: int = 0
    total: Annotated[Decimal, DecimalCodec(2)] = Decimal(0)
    left: Annotated[int, Field(ge=0)] = 10
    tags: set[str] = Field(default_factory=set)
    place: dict[str, int] = Field(default_factory=dict)
    name: str
    secret: str | None = private_property(default=None)


class Label(Entity, token="label"):
    """Has nothing to add to."""

    label_id: str = unique_property()
    text: str = ""


class Board(Entity, token="board", read_only=True):
    """Is written by others."""

    board_id: str = unique_property()
    count: int = 0


SCHEMA = Schema([Meter, Label, Board])


@pytest.fixture
def client() -> Client:
    return Client(api_of(SCHEMA))


def meter(client: Client, key: str = "m", **values: Any) -> dict[str, Any]:
    answer = client.post("/v1/meters", {"meterId": key, "name": "x", **values})
    assert answer.status == 201
    found: dict[str, Any] = json_of(answer)
    return found


# -- upserts ----------------------------------------------------------------------------------------------------------


def test_a_patch_makes_the_record_where_it_is_told_to(client: Client) -> None:
    problem_of(client.patch("/v1/meters/m", {"name": "x"}), 404, "not_found")
    made = client.patch("/v1/meters/m?upsert=true", {"name": "x", "place": {"a": 1, "b": None}, "count": None})
    assert (made.status, made.headers["location"]) == (201, "/v1/meters/m")
    assert made.headers["etag"]
    assert (json_of(made)["place"], json_of(made)["count"]) == ({"a": 1}, 0)
    changed = client.patch("/v1/meters/m?upsert=true", {"place": {"b": 2}})
    assert (changed.status, json_of(changed)["place"]) == (200, {"a": 1, "b": 2})
    problem_of(client.patch("/v1/meters/n?upsert=true", {"count": 1}), 400, "validation_failed")
    problem_of(client.patch("/v1/meters/n?upsert=maybe", {"name": "x"}), 400, "invalid_input")


def test_a_patch_of_a_revision_makes_nothing(client: Client) -> None:
    problem_of(client.patch("/v1/meters/m?upsert=true", {"name": "x"}, if_match='"r"'), 412, "precondition_failed")
    problem_of(client.patch("/v1/meters/m?upsert=true", {"name": "x"}, if_match="*"), 404, "not_found")


# -- additions --------------------------------------------------------------------------------------------------------


def test_numbers_and_sets_are_added_to(client: Client) -> None:
    meter(client, tags=["a"])
    asked = {"key": "m", "amounts": {"count": 2, "total": "0.50", "tags": ["b"], "left": -1}}
    answer = client.post("/v1/meters/add", asked)
    assert answer.status == 200
    found = json_of(answer)
    assert (found["count"], found["total"], sorted(found["tags"]), found["left"]) == (2, "0.5", ["a", "b"], 9)
    assert answer.headers["etag"] == client.get("/v1/meters/m").headers["etag"]


def test_an_addition_is_repeated_with_its_key_and_carried_out_once(client: Client) -> None:
    meter(client)
    asked = {"key": "m", "amounts": {"count": 1}}
    answers = [json_of(client.post("/v1/meters/add", asked, idempotency_key="k"))["count"] for _ in range(3)]
    assert answers == [1, 1, 1]
    assert json_of(client.get("/v1/meters/m"))["count"] == 1


def test_an_addition_makes_the_record_where_it_is_told_to(client: Client) -> None:
    problem_of(client.post("/v1/meters/add", {"key": "m", "amounts": {"count": 1}}), 404, "not_found")
    problem_of(
        client.post("/v1/meters/add", {"key": "m", "amounts": {"count": 1}, "upsert": True}), 400, "validation_failed"
    )
    assert client.get("/v1/meters/m").status == 404


@pytest.mark.parametrize(
    "asked",
    [
        {"amounts": {"count": 1}},
        {"key": "m"},
        {"key": "m", "amounts": {"count": 0.5}},
        {"key": "m", "amounts": {"count": "1"}},
        {"key": "m", "amounts": {"count": None}},
        {"key": "m", "amounts": {"total": "0.001"}},
        {"key": "m", "amounts": {"left": -11}},
        {"key": "m", "amounts": {"tags": "ab"}},
        {"key": "m", "amounts": {"tags": [1]}},
        {"key": "m", "amounts": {"name": "x"}},
        {"key": "m", "amounts": {"meterId": 1}},
        {"key": "m", "amounts": {"created": 1}},
        {"key": "m", "amounts": {"count": 1}, "more": 1},
        {"key": 5, "amounts": {"count": 1}},
    ],
)
def test_what_can_not_be_added_is_refused(client: Client, asked: dict[str, Any]) -> None:
    made = meter(client)
    assert client.post("/v1/meters/add", asked).status == 400
    assert json_of(client.get("/v1/meters/m")) == made


def test_there_is_a_route_where_there_is_something_to_add_to(client: Client) -> None:
    paths = json_of(client.get("/openapi.json"))["paths"]
    assert [path for path in paths if path.endswith("/add")] == ["/v1/meters/add"]


# -- what was there ---------------------------------------------------------------------------------------------------


def test_a_delete_answers_the_record_where_it_is_asked_for(client: Client) -> None:
    made = meter(client, secret="s")
    problem_of(client.delete("/v1/meters/m?returning=new"), 400, "invalid_input")
    answer = client.delete("/v1/meters/m?returning=old")
    assert (answer.status, json_of(answer)) == (200, made)
    problem_of(client.delete("/v1/meters/m?returning=old"), 404, "not_found")
    meter(client)
    assert client.delete("/v1/meters/m").status == 204


def test_a_put_answers_what_it_replaced_where_it_is_asked_for(client: Client) -> None:
    body = {"name": "x", "count": 7}
    first = client.put("/v1/meters/m?returning=old", body)
    assert (first.status, json_of(first)["count"]) == (201, 7), "there was none: the new one"
    problem_of(client.put("/v1/meters/m?returning=new", body), 400, "invalid_input")
    problem_of(client.put("/v1/meters/m?returning=old", {"name": "x", "count": "x"}), 400, "validation_failed")
    before = client.get("/v1/meters/m")
    answer = client.put("/v1/meters/m?returning=old", {"name": "x", "count": 8})
    assert (answer.status, json_of(answer), answer.headers["etag"]) == (200, json_of(before), before.headers["etag"])
    assert json_of(client.get("/v1/meters/m"))["count"] == 8
    again = client.put("/v1/meters/m?returning=old", {"name": "x", "count": 9}, idempotency_key="once")
    assert json_of(
        client.put("/v1/meters/m?returning=old", {"name": "x", "count": 9}, idempotency_key="once")
    ) == json_of(again)
    stale = client.put("/v1/meters/m?returning=old", {"name": "x", "count": 10}, if_match=before.headers["etag"])
    problem_of(stale, 412, "precondition_failed")


# -- batches of patches -----------------------------------------------------------------------------------------------


def test_patches_are_carried_out_each_on_its_own(client: Client) -> None:
    meter(client, "a", place={"x": 1})
    meter(client, "b")
    patches = [
        {"key": "a", "patch": {"place": {"y": 2}}},
        {"key": "b", "patch": {"left": 3, "name": "new"}},
        {"key": "c", "patch": {"name": "none"}},
        {"key": "d", "patch": {}},
    ]
    answer = client.post("/v1/meters/batch-write", {"patches": patches, "deletes": ["d2"]})
    assert answer.status == 200
    done = json_of(answer)
    assert [each["status"] for each in done["patches"]] == ["written", "written", "failed", "failed"]
    assert done["patches"][0]["item"]["place"] == {"x": 1, "y": 2}
    assert done["patches"][2]["problem"]["status"] == 404
    assert json_of(client.get("/v1/meters/b"))["name"] == "new"


@pytest.mark.parametrize(
    ("patches", "where"),
    [
        ([{"key": "a"}], "patches[0].patch"),
        ([{"patch": {}}], "patches[0].key"),
        ([{"key": "a", "patch": {"count": "x"}}], "patches[0].patch.count"),
        ([{"key": "a", "patch": {}, "rev": "r"}], "patches[0].rev"),
        ([{"key": "a", "patch": []}], "patches[0].patch"),
        (["a"], "patches[0]"),
    ],
)
def test_a_batch_with_a_patch_that_is_none_is_refused(client: Client, patches: list[Any], where: str) -> None:
    problem = problem_of(client.post("/v1/meters/batch-write", {"patches": patches}), 400, "validation_failed")
    assert [each["where"] for each in problem["errors"]] == [where]


def test_two_items_about_one_record_are_refused(client: Client) -> None:
    asked = {"patches": [{"key": "a", "patch": {}}], "deletes": ["a"]}
    problem_of(client.post("/v1/meters/batch-write", asked), 400, "invalid_input")
