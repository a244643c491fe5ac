"""Paths into maps, lists and nested models as filters of lists: `filter.meta.color=red`."""

from __future__ import annotations

from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from shardweave import (
    Collection,
    Database,
    Entity,
    HashKey,
    Index,
    Schema,
    private_property,
    unique_property,
    where,
)
from shardweave.errors import UnsupportedQuery
from shardweave.query.filter_paths import path_of, steps_of
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.cli_world import shardweave


class Maker(BaseModel):
    """Who made something."""

    name: str
    since: int = 1900


class Lamp(Entity, token="lamp"):
    lamp_id: str = unique_property()
    number: int = 0
    meta: dict[str, Any] = Field(default={})
    prices: dict[str, Decimal] = Field(default={})
    lines: list[dict[str, Any]] = Field(default=[])
    maker: Maker | None = None
    tags: set[str] = Field(default=set())
    title: str = ""
    secret: dict[str, Any] = private_property(default={})


SCHEMA = Schema([Lamp], [Index("byNumber", "hash_key", "number")])
LAMPS: tuple[dict[str, Any], ...] = (
    {"lampId": "a", "meta": {"color": "red", "size": 5, "lit": True, "os.name": "x"}, "prices": {"new": "9.50"}},
    {"lampId": "b", "meta": {"color": "green", "size": "5", "from": "Rome", "a": {"to": "Oslo", "b.c": 1}}},
    {"lampId": "c", "lines": [{"sku": "s"}, {"sku": "t", "n": 2}], "maker": {"name": "Wu"}, "prices": {"new": "12"}},
    {"lampId": "d", "meta": {"color": "grey", "\\": 1, "a\\": {"b": 2}}, "maker": {"name": "Wu", "since": 1990}},
)


@pytest.fixture(scope="module")
def client() -> Client:
    made = Client(api_of(SCHEMA))
    for lamp in LAMPS:
        answer = made.post("/v1/lamps", lamp)
        assert answer.status == 201, answer.body
    return made


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ({"filter.meta.color": "red"}, "a"),
        ({"filter.meta.color.eq": "red"}, "a"),
        ({"filter.meta.color.prefix": "gr"}, "bd"),
        ({"filter.meta.color.from": "grey"}, "ad"),
        ({"filter.meta.color.from": "green", "filter.meta.color.to": "grey"}, "bd"),
        ({"filter.meta.size": "5"}, "a"),
        ({"filter.meta.size": '"5"'}, "b"),
        ({"filter.meta.size.from": "4.5"}, "a"),
        ({"filter.meta.lit": "true"}, "a"),
        ({"filter.meta.lit": '"true"'}, ""),
        ({r"filter.meta.os\.name": "x"}, "a"),
        ({"filter.meta.os.name": "x"}, ""),
        ({"filter.meta.from": "Rome"}, "b"),
        ({"filter.meta.a.to.eq": "Oslo"}, "b"),
        ({r"filter.meta.a.b\.c": "1"}, "b"),
        ({r"filter.meta.\\": "1"}, "d"),
        ({r"filter.meta.a\\.b": "2"}, "d"),
        ({"filter.prices.new": "9.5"}, "a"),
        ({"filter.prices.new.from": "10"}, "c"),
        ({"filter.lines.0.sku": "s"}, "c"),
        ({"filter.lines.1.n.to": "2"}, "c"),
        ({"filter.maker.name": "Wu"}, "cd"),
        ({"filter.maker.since": "1900"}, "c"),
        ({"filter.maker.name": "Wu", "filter.maker.since.from": "1950"}, "d"),
        ({"filter.meta.color": "red", "filter.title": ""}, "a"),
    ],
)
def test_a_list_takes_paths(client: Client, query: dict[str, str], expected: str) -> None:
    page = json_of(client.get(f"/v1/lamps?index=byNumber&{urlencode(query)}"))
    assert "".join(sorted(each["lampId"] for each in page["items"])) == expected


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("filter.prices.new", "much", "validation_failed"),
        ("filter.maker.since", "long ago", "validation_failed"),
        ("filter.maker.size", "1", "unknown_name"),
        ("filter.lines.first.sku", "1", "unknown_name"),
        ("filter.meta.", "1", "unknown_name"),
        ("filter.meta..x", "1", "unknown_name"),
        (r"filter.meta.a\b", "1", "unsupported_query"),
        ("filter.meta.a\\", "1", "unsupported_query"),
        ("filter.maker.since.prefix", "1", "unsupported_query"),
        ("filter.tags.0", "1", "unknown_name"),
        ("filter.title.x", "1", "unknown_name"),
        ("filter.secret.x", "1", "unknown_name"),
        ("filter.metal.x", "1", "unknown_name"),
    ],
)
def test_what_is_no_test_is_refused_at_its_parameter(client: Client, name: str, value: str, code: str) -> None:
    problem = problem_of(client.get(f"/v1/lamps?index=byNumber&{urlencode({name: value})}"), 400, code)
    assert problem["where"] == name


def test_a_refusal_and_the_document_name_the_paths_there_are(client: Client) -> None:
    problem = problem_of(client.get("/v1/lamps?index=byNumber&filter.color=red"), 400, "unknown_name")
    assert "filter.meta.PATH, filter.prices.PATH, filter.lines.PATH, filter.maker.PATH" in problem["fix"]
    assert "secret" not in problem["fix"]
    described = json_of(client.get("/openapi.json"))["paths"]["/v1/lamps"]["get"]["description"]
    assert "- `filter.meta.PATH=`: Keeps records by what stands there in meta." in described


def test_pages_go_on_with_the_same_paths(client: Client) -> None:
    path = "/v1/lamps?index=byNumber&limit=1&filter.maker.name=Wu"
    first = json_of(client.get(path))
    assert len(json_of(client.get(f"{path}&nextToken={first['nextToken']}"))["items"]) == 1
    other = f"/v1/lamps?index=byNumber&limit=1&filter.maker.name=Li&nextToken={first['nextToken']}"
    problem_of(client.get(other), 400, "cursor_mismatch")


class Pot(Entity, token="pot"):
    pot_id: str = unique_property()
    number: int
    meta: dict[str, Any] = Field(default={})
    size: dict[str, int] = Field(default={})
    all_hash_key = HashKey(shards=1)


class Pan(Entity, token="pan"):
    pan_id: str = unique_property()
    number: int
    meta: dict[str, Any] = Field(default={})
    size: list[int] = Field(default=[])
    all_hash_key = HashKey(shards=1)


def test_a_collection_takes_the_paths_that_its_entities_have_in_common() -> None:
    indexes = [Index("byNumber", "all_hash_key", "number")]
    client = Client(
        api_of(Schema([Pot, Pan], indexes, collections=[Collection("kitchen", (Pot, Pan), index="byNumber")]))
    )
    for number, color in enumerate(("red", "blue", "red")):
        for kind in ("pot", "pan"):
            body = {f"{kind}Id": str(number), "number": number, "meta": {"color": color}}
            assert client.post(f"/v1/{kind}s", body).status == 201
    page = json_of(client.get("/v1/kitchen?filter.meta.color=red"))
    assert sorted((each["entity"], each["record"]["number"]) for each in page["items"]) == [
        (kind, number) for kind in ("pan", "pot") for number in (0, 2)
    ]
    problem_of(client.get("/v1/kitchen?filter.size.0=1"), 400, "unknown_name")


KEYS = st.text(st.sampled_from("ab.\\#é "), min_size=1, max_size=4)


@given(st.lists(KEYS, min_size=1, max_size=4))
def test_every_key_can_be_named(steps: list[str]) -> None:
    assert steps_of(path_of(["meta", *steps]), "") == ["meta", *steps]


@given(st.text(st.sampled_from("a.\\"), max_size=8))
def test_a_path_is_read_in_one_way_or_refused(path: str) -> None:
    try:
        steps = steps_of(path, "p")
    except UnsupportedQuery:
        return
    assert path_of(steps) == path


def test_python_and_json_name_keys_with_points_too(client: Client) -> None:
    with Database(SCHEMA) as db:
        db.create(Lamp(lamp_id="a", meta={"os.name": "x", "\\": 1}))
        for test in (where(r"meta.os\.name") == "x", where("meta.\\\\") == 1):
            assert db.count(Lamp, index="byNumber", filter=test) == 1
        assert db.count(Lamp, index="byNumber", filter=where("meta.os.name") == "x") == 0
    document = {"index": "byNumber", "filter": {"property": r"meta.os\.name", "eq": "x"}}
    assert [each["lampId"] for each in json_of(client.post("/v1/lamps/query", document))["items"]] == ["a"]


def test_the_command_line_takes_paths() -> None:
    asked = ("explain", "--entity", "project", "--service", "issue_tracker", "--json", "index=projectsByName")
    tenant = "tenantId=a38fd4bd-4844-541a-abeb-4ffacec96dda"
    assert shardweave(*asked, tenant, "filter.customFields.depth=number1").code == 0
    refused = shardweave(*asked, tenant, "filter.customField.depth=1")
    assert refused.code == 2
    assert "filter.customFields.PATH" in refused.errors
