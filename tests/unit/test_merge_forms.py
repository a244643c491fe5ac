"""Merge patches of models in the OpenAPI document: it allows what the API takes, parts of models and null for what may
be missing."""

from __future__ import annotations

import json
from typing import Any

import jsonschema_rs
import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from shardweave import Entity, Schema, unique_property
from shardweave.testing import Client


class Place(BaseModel):
    """Where it is."""

    lat: float
    label: str | None = None


class Size(TypedDict):
    """Plain values by name."""

    wide: int
    high: int


class Address(BaseModel):
    """Where somebody lives, and those who live there as well."""

    street: str
    city: str = "Oslo"
    place: Place | None = None
    places: dict[str, Place] = Field(default_factory=dict)
    inner: list[Address] = Field(default_factory=list)


class Buyer(Entity, token="buyer"):
    """Somebody who buys."""

    buyer_id: str = unique_property()
    address: Address | None = None
    home: Place = Place(lat=1)
    by_name: dict[str, Address] = Field(default_factory=dict)
    others: list[Address] = Field(default_factory=list)
    size: Size = Field(default_factory=lambda: Size(wide=1, high=1))


STORED = {
    "buyerId": "b",
    "address": {"street": "Kai 1", "city": "Moss", "place": {"lat": 1}, "places": {"p": {"lat": 2, "label": "l"}}},
    "byName": {"q": {"street": "Vei 2", "city": "Bodo"}},
    "others": [{"street": "Vei 3"}],
}
TAKEN: list[dict[str, Any]] = [
    {},
    {"address": {}},
    {"address": {"city": "Bodo"}},
    {"address": {"city": None, "place": None, "inner": None}},
    {"address": {"place": {"label": "here"}}},
    {"address": {"places": {"p": {"label": None}}}},
    {"address": {"places": {"p": None, "q": {"lat": 1}}}},
    {"address": {"inner": [{"street": "x", "place": {"lat": 1}}]}},
    {"address": None},
    {"home": {"label": "there"}},
    {"home": None},
    {"byName": {"q": {"city": "Moss"}, "r": {"street": "new"}}},
    {"byName": {"q": None}},
    {"byName": None},
    {"others": [{"street": "y"}]},
    {"size": {"high": 2}},
]
REFUSED: list[dict[str, Any]] = [
    {"address": {"street": None}},
    {"address": {"street": 5}},
    {"address": {"place": {"lat": None}}},
    {"address": {"places": {"p": {"lat": None}}}},
    {"address": {"inner": [{"city": "x"}]}},
    {"home": {"lat": "x"}},
    {"byName": {"q": {"street": None}}},
    {"others": [{"city": "x"}]},
    {"others": [None]},
    {"size": {"high": None}},
    {"size": {"high": "x"}},
]


def patch_validator(client: Client) -> jsonschema_rs.Draft202012Validator:
    document = client.get("/openapi.json").json
    body = document["paths"]["/v1/buyers/{key}"]["patch"]["requestBody"]["content"]
    (schema, *_) = [each["schema"] for each in body.values()]
    return jsonschema_rs.Draft202012Validator({**schema, "components": document["components"]})


@pytest.mark.parametrize("patch", [*TAKEN, *REFUSED], ids=json.dumps)
def test_the_document_allows_what_the_api_takes(patch: dict[str, Any]) -> None:
    client = Client(Schema([Buyer]))
    client.post("/v1/buyers", STORED).expect(201)
    answer = client.patch("/v1/buyers/b", patch).expect(200 if patch in TAKEN else 400)
    assert patch_validator(client).is_valid(patch) == (answer.status == 200)


def test_only_patches_have_these_forms() -> None:
    document = Client(Schema([Buyer])).get("/openapi.json").json
    schemas = document["components"]["schemas"]
    assert {name for name in schemas if name.endswith("-Merge")} == {"Address-Merge", "Place-Merge", "Size-Merge"}
    assert "required" not in schemas["Address-Merge"]
    assert schemas["Address"]["required"] == ["street"]
    used = {name for name, schema in schemas.items() if "-Merge" in json.dumps(schema)}
    assert used - {"Address-Merge", "Place-Merge", "Size-Merge"} == {"BuyerPatch"}
    assert "x-patch" not in json.dumps(document)
