"""What the OpenAPI document says of values: limits and defaults in JSON Schema's words, and what is never null."""

from __future__ import annotations

import datetime as dt
import re
from decimal import Decimal
from typing import Annotated, Any

import pytest
from pydantic import Field

from shardweave.access import private_property
from shardweave.schema.declarations import Index, Sequence
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import DecimalCodec
from tests.unit.api_world import Client, api_of, json_of


class Ware(Entity, token="ware"):
    """Something that is sold."""

    ware_id: str = unique_property(default_factory=nanoid)
    num: int = 0
    shop: str = Field("main", min_length=1, max_length=9, pattern="^[a-z]*$")
    price: Annotated[Decimal, DecimalCodec(places=2)] = Field(Decimal("1.10"), ge=0, le=99, decimal_places=2)
    pieces: int = Field(1, ge=1, le=5)
    weight: float = Field(2.0, gt=0, lt=2.5)
    dozen: Annotated[int, Field(multiple_of=12)] | None = None
    sizes: list[Annotated[int, Field(ge=3)]] = Field(default_factory=list, max_length=4)
    since: dt.date = Field(dt.date(2024, 1, 1), ge=dt.date(2020, 1, 1))
    rating: int | None = 5
    margin: int = private_property(default=7)
    ge: int = 4

    shop_hash_key = HashKey("shop")
    price_range_key = RangeKey("price", "ware_id")

    numbers = Sequence("num", within=())


SCHEMA = Schema([Ware], [Index("byPrice", "shop_hash_key", "price_range_key", projection="KEYS_ONLY")])


@pytest.fixture(scope="module")
def client() -> Client:
    return Client(api_of(SCHEMA))


@pytest.fixture(scope="module")
def schemas(client: Client) -> dict[str, Any]:
    found: dict[str, Any] = json_of(client.get("/openapi.json"))["components"]["schemas"]
    return found


def test_limits_are_said_in_the_words_of_json_schema(schemas: dict[str, Any]) -> None:
    said = {name: each for name, each in schemas["Ware"]["properties"].items() if name != "wareId"}
    assert said["pieces"] == {"type": "integer", "minimum": 1, "maximum": 5}
    assert said["weight"] == {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 2.5}
    assert said["dozen"] == {"type": "integer", "multipleOf": 12}
    assert said["sizes"] == {"type": "array", "items": {"type": "integer", "minimum": 3}, "maxItems": 4}
    assert said["shop"] == {"type": "string", "minLength": 1, "maxLength": 9, "pattern": "^[a-z]*$"}
    assert said["ge"] == {"type": "integer"}, "a property may be called so"


def test_what_json_schema_has_no_word_for_is_described(schemas: dict[str, Any]) -> None:
    read, written = schemas["Ware"]["properties"]["price"], schemas["WareWrite"]["properties"]["price"]
    assert read == {"type": "string", "description": "At least 0. At most 99. At most 2 decimals."}
    assert written["anyOf"] == [{"type": "number", "minimum": 0, "maximum": 99}, {"type": "string"}]
    assert written["description"] == read["description"]
    assert schemas["Ware"]["properties"]["since"]["description"] == "At least 2020-01-01."


def test_a_default_is_there_as_it_would_be_answered(client: Client, schemas: dict[str, Any]) -> None:
    written = schemas["WareWrite"]["properties"]
    defaults = {name: each["default"] for name, each in written.items() if "default" in each}
    made = json_of(client.post("/v1/wares", {"wareId": "plain"}))
    assert defaults.items() <= made.items()
    assert made.keys() - defaults.keys() == {"wareId", "num"}, "what is made anew for each"
    said = json_of(client.post("/v1/wares", {"wareId": "said", **defaults}))
    assert said | {"wareId": "plain", "num": made["num"]} == made, "a default that is said is as one that is not"
    assert not [name for name, each in schemas["Ware"]["properties"].items() if "default" in each]
    assert not [name for name, each in schemas["WarePatch"]["properties"].items() if "default" in each]


def test_a_whole_number_is_written_as_one(client: Client) -> None:
    assert re.findall(rb'"(?:minimum|maximum|exclusiveMinimum|default)":-?[0-9]+\.0\b', client.api.openapi) == []


def test_what_is_left_out_of_an_answer_is_not_said_to_be_null(schemas: dict[str, Any]) -> None:
    nullable = {
        (name, member)
        for name in ("Ware", "WarePart", "WareList", "WarePage", "WareOutcome", "Problem", "Counted")
        for member, each in schemas[name]["properties"].items()
        if {"type": "null"} in each.get("anyOf", ())
    }
    assert nullable == {
        ("Ware", "rating"),
        ("WarePart", "rating"),
        ("WareList", "nextToken"),
        ("WareList", "prevToken"),
        ("WarePage", "nextToken"),
        ("WarePage", "prevToken"),
    }, "null where leaving it out would say the default, and where nothing follows"


def test_a_decimal_of_a_key_is_written_as_that_of_a_record(client: Client) -> None:
    assert client.post("/v1/wares", {"wareId": "w", "shop": "s", "price": "2.50", "rating": None}).status == 201
    record = json_of(client.get("/v1/wares/w"))
    (part,) = json_of(client.get("/v1/wares?index=byPrice&shop=s"))["items"]
    assert (record["price"], record["rating"]) == ("2.5", None)
    assert part.items() <= record.items()
