"""Members of models as elements of keys: `HashKey("address.country")`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NotRequired

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from typing_extensions import TypedDict

from shardweave import GraphQL
from shardweave.cli.client import described, written
from shardweave.database.database import Database
from shardweave.errors import SchemaError, UnknownName, UnsupportedQuery, ValidationFailed, ValueRefused
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.query.shorthand import between, prefix
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.service.files import named_service
from shardweave.values.codecs import Timestamp
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.graphql_world import Graph
from tests.unit.store_world import World

FOUR = [ShardBump(0, char_bits=2, chars=1)]


class Country(BaseModel):
    """A model in a model."""

    code: str
    zone: int | None = None


class Address(BaseModel):
    """Where somebody lives."""

    zip_code: str | None = None
    number: int = 0
    country: Country | None = None
    lines: list[str] = []
    more: dict[str, str] = {}


class Buyer(Entity, token="buyer", shard_bumps=FOUR):
    """Found by country, and by zip code."""

    buyer_id: str = unique_property()
    created: Timestamp = timestamp_property()
    name: str = ""
    address: Address | None = None

    country_hash_key = HashKey("address.country.code")
    zip_range_key = RangeKey("address.zip_code", desc("address.number"), "created")


INDEXES = [
    Index("country", hash_key="country_hash_key", range_key="created"),
    Index("zip", hash_key="hash_key", range_key="zip_range_key"),
]
SCHEMA = Schema([Buyer], INDEXES)
NOWHERE: dict[str, Any] = {"zip_code": None, "number": 0, "country": None}


def buyer(name: str, code: str | None, zip_code: str | None = None, number: int = 0) -> Buyer:
    country = None if code is None else Country(code=code)
    return Buyer(buyer_id=name, address=Address(zip_code=zip_code, number=number, country=country))


def filled() -> Database:
    database = Database(SCHEMA)
    for each in (buyer("a", "DE", "10"), buyer("b", "NO", "20"), buyer("c", "DE", "10", 7), buyer("d", None, "15")):
        database.create(each)
    database.create(Buyer(buyer_id="e"))
    return database


def found(database: Database, *args: Any, **options: Any) -> list[str]:
    return [each.buyer_id for each in database.query(Buyer, *args, **options).items]


def test_queries_find_and_order_by_them() -> None:
    database = filled()
    assert sorted(found(database, {"address.country.code": "DE"})) == ["a", "c"]
    assert found(database, {"address.zip_code": prefix("1")}) == ["c", "a", "d"]
    assert found(database, {"address.zip_code": "10", "address.number": between(1, None)}) == ["c"]
    assert found(database, {"address.zip_code": between("12", "20")}) == ["d", "b"]
    assert found(database, {"address.zip_code": ["10", "20"]}, reverse=True) == ["b", "a", "c"]


def test_pages_go_on_where_they_ended() -> None:
    database, token, seen = filled(), None, list[str]()
    while True:
        page = database.query(Buyer, {"address.zip_code": prefix("")}, limit=1, next_token=token)
        seen += [each.buyer_id for each in page.items]
        token = page.next_token
        if token is None:
            break
    assert seen == ["c", "a", "d", "b"]


def test_they_follow_changes_and_go_with_their_value() -> None:
    database = filled()
    database.update(Buyer, "b", {"address": {**NOWHERE, "country": {"code": "DE"}}})
    assert sorted(found(database, {"address.country.code": "DE"})) == ["a", "b", "c"]
    assert found(database, {"address.zip_code": "20"}) == []
    database.update(Buyer, "a", {"address": None})
    database.put(buyer("c", "FR"))
    assert sorted(found(database, {"address.country.code": "DE"})) == ["b"]
    database.delete(Buyer, "b")
    assert sorted(found(database, {"address.country.code": "DE"})) == []


@dataclass
class Spot:
    """A dataclass."""

    row: int
    label: str | None = None


class Plain(TypedDict):
    """A mapping of known members."""

    row: int
    label: NotRequired[str]


@pytest.mark.parametrize("kind", [Spot, Plain])
def test_dataclasses_and_typed_dicts_are_models_too(kind: Any) -> None:
    class Box(Entity, token="box"):
        """Stands somewhere."""

        box_id: str = unique_property()
        spot: kind

        label_hash_key = HashKey("spot.label")
        row_range_key = RangeKey("spot.row")

    database = Database(Schema([Box], [Index("label", hash_key="label_hash_key", range_key="row_range_key")]))
    for name, row in (("a", 2), ("b", 1)):
        database.create(Box(box_id=name, spot=kind(row=row, label="x")))
    database.create(Box(box_id="c", spot=kind(row=0)))
    page = database.query(Box, {"spot.label": "x", "spot.row": between(0, None)})
    assert [each.box_id for each in page.items] == ["b", "a"]  # type: ignore[attr-defined]


# -- the keys are those of a property ---------------------------------------------------------------------------------


class Flat(Entity, token="thing", shard_bumps=FOUR):
    """With a property of its own."""

    thing_id: str = unique_property()
    word: str | None = None
    rank: int | None = None

    word_hash_key = HashKey("word")
    word_range_key = RangeKey("word", desc("rank"))


class Inner(BaseModel):
    """With the same in a model."""

    word: str | None = None
    rank: int | None = None


class Nested(Entity, token="thing", shard_bumps=FOUR):
    """With a model."""

    thing_id: str = unique_property()
    at: Inner | None = None

    word_hash_key = HashKey("at.word")
    word_range_key = RangeKey("at.word", desc("at.rank"))


KEYS = [Index("word", hash_key="word_hash_key", range_key="word_range_key")]
FLAT, NESTED = Schema([Flat], KEYS)[Flat], Schema([Nested], KEYS)[Nested]
INNER = st.none() | st.fixed_dictionaries(
    {}, optional={"word": st.none() | st.text("ab !|#é", max_size=4), "rank": st.none() | st.integers(-9, 9)}
)


@given(name=st.text("xy", min_size=1, max_size=3), inner=INNER)
def test_keys_are_those_of_a_property_with_its_value(name: str, inner: dict[str, Any] | None) -> None:
    flat = FLAT.complete(FLAT.dump(FLAT.validate({"thing_id": name, **(inner or {})})))
    nested = NESTED.complete(NESTED.dump(NESTED.validate({"thing_id": name, "at": inner})))
    keys = {each: str(nested[each]).replace("at.", "") for each in NESTED.keys.names if each in nested}
    assert keys == {each: flat[each] for each in FLAT.keys.names if each in flat}
    step_by_step = NESTED.keys.build_step_by_step(nested, NESTED.keys.shard(nested, NESTED.shard_map))
    assert step_by_step == {each: nested[each] for each in NESTED.keys.names if each in nested}


# -- what can't be one ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("element", "message"),
    [
        ("address.lines.0", "'address.lines' is no model"),
        ("address.more.color", "'address.more' is no model"),
        ("address.street", "'address' has no member 'street', but zip_code, number, country, lines, more"),
        ("address.country", "'address.country' has no order-preserving text"),
        ("address.lines", "'address.lines' has no order-preserving text"),
        ("name.first", "'name' is no model"),
        ("home.street", "there is no property 'home'"),
        ("address.", "'address' has no member ''"),
    ],
)
def test_what_can_not_be_an_element_is_refused(element: str, message: str) -> None:
    class Odd(Entity, token="odd"):
        """Has an element that can't be one."""

        odd_id: str = unique_property()
        name: str
        address: Address

        odd_hash_key = HashKey(element)

    with pytest.raises(SchemaError) as refused:
        Schema([Odd])
    assert message in str(refused.value)
    assert "Odd.odd_hash_key" in str(refused.value)


def test_an_index_has_no_member_itself_as_its_range_key() -> None:
    with pytest.raises(SchemaError, match="there is no range key"):
        Schema([Buyer], [Index("raw", hash_key="hash_key", range_key="address.number")])


def test_conditions_take_values_of_their_type_and_known_names() -> None:
    database = filled()
    with pytest.raises(ValidationFailed) as wrong:
        database.query(Buyer, {"address.zip_code": "1", "address.number": "seven"})
    assert "address.number" in str(wrong.value)
    with pytest.raises(UnknownName):
        database.query(Buyer, {"address.street": "Kai"})
    with pytest.raises(UnsupportedQuery):
        database.query(Buyer, {"address.number": 7})


@pytest.mark.parametrize("name", ["address.street", "address.contry", "address.country.name", "address"])
def test_a_condition_on_a_member_that_no_key_has_names_those_that_keys_have(name: str) -> None:
    with Database(SCHEMA) as db, pytest.raises((UnknownName, UnsupportedQuery)) as refused:
        db.query(Buyer, {name: "x"})
    assert refused.value.fix
    if name != "address":
        members = "address.country.code, address.zip_code, address.number"
        assert refused.value.message == f"no key of the entity 'buyer' has the member {name!r}"
        assert refused.value.fix == f"use one of {members}, or test a member with a filter"
        problem = problem_of(
            Client(api_of(SCHEMA)).post("/v1/buyers/query", {"conditions": {name: "x"}}), 400, "unknown_name"
        )
        assert problem["where"] == f"conditions.{name}"


def test_what_a_key_can_not_hold_is_refused_with_its_place() -> None:
    database = filled()
    with pytest.raises(ValueRefused) as refused:
        database.create(buyer("x", "DE", number=10**21))
    assert refused.value.where == "address.number"
    assert database.get(Buyer, "x") is None


# -- over HTTP --------------------------------------------------------------------------------------------------------


def client() -> Client:
    world = Client(api_of(SCHEMA, graphql=GraphQL()))
    for name, address in {
        "a": {"zip_code": "10", "country": {"code": "DE"}},
        "b": {"zip_code": "20", "country": {"code": "NO"}},
        "c": {"zip_code": "10", "number": 7, "country": {"code": "DE"}},
    }.items():
        assert world.post("/v1/buyers", {"buyerId": name, "address": address}).status == 201
    return world


def ids(answer: Any) -> list[str]:
    return [each["buyerId"] for each in json_of(answer)["items"]]


def every(answer: Any) -> list[str]:
    """Those that one clock made are in any order."""
    return sorted(ids(answer))


def test_parameters_are_paths() -> None:
    world = client()
    assert every(world.get("/v1/buyers?address.country.code=DE")) == ["a", "c"]
    assert ids(world.get("/v1/buyers?address.zip_code.prefix=1")) == ["c", "a"]
    assert ids(world.get("/v1/buyers?address.zip_code.eq=10&address.number.from=1")) == ["c"]
    asked = {"conditions": {"address.zip_code": {"in": ["10", "20"]}}, "reverse": True}
    assert ids(world.post("/v1/buyers/query", asked)) == ["b", "a", "c"]
    page = json_of(world.get("/v1/buyers?address.zip_code.prefix=1&limit=1"))
    second = world.get(f"/v1/buyers?address.zip_code.prefix=1&limit=1&nextToken={page['nextToken']}")
    assert ids(second) == ["a"]
    problem_of(world.get("/v1/buyers?address.number.eq=x&address.zip_code=1"), 400, "validation_failed")


def test_a_patch_of_a_member_moves_the_record_in_the_index() -> None:
    world = client()
    changed = world.patch("/v1/buyers/b", {"address": {"country": {"code": "DE"}}})
    assert json_of(changed)["address"]["zip_code"] == "20"
    assert every(world.get("/v1/buyers?address.country.code=DE")) == ["a", "b", "c"]
    world.patch("/v1/buyers/b", {"address": {"country": None}})
    assert every(world.get("/v1/buyers?address.country.code=DE")) == ["a", "c"]


def test_the_document_the_plan_graphql_and_the_clients_name_them() -> None:
    world = client()
    document = json.loads(world.api.openapi)
    parameters = {each["name"] for each in document["paths"]["/v1/buyers"]["get"]["parameters"]}
    assert parameters >= {"address.country.code", "address.country.code.eq", "address.zip_code.prefix"}
    plan = json.dumps(json_of(world.post("/v1/buyers/explain", {"conditions": {"address.country.code": "DE"}})))
    assert "address.country.code" in plan
    asked = Graph(world)
    text = '{ buyersByCountry(address_country_code: "DE", limit: 1) { items { buyerId address } } }'
    (item,) = asked.data(text)["buyersByCountry"]["items"]
    assert item["address"]["country"]["code"] == "DE"
    narrowed = '{ buyersByZip(address_zip_code: {prefix: "1"}) { items { buyerId } } }'
    assert [each["buyerId"] for each in asked.data(narrowed)["buyersByZip"]["items"]] == ["c", "a"]


SERVICE = """
from pydantic import BaseModel
from shardweave import Entity, HashKey, Index, RangeKey, Schema, unique_property

class Address(BaseModel):
    country: str
    zip_code: str = ""

class Buyer(Entity, token="buyer"):
    buyer_id: str = unique_property()
    address: Address | None = None
    country_hash_key = HashKey("address.country")
    zip_range_key = RangeKey("address.zip_code")

def schema(key_format):
    indexes = [Index("country", hash_key="country_hash_key", range_key="zip_range_key")]
    return Schema([Buyer], indexes, key_format=key_format)
"""


def test_clients_have_arguments_for_them(tmp_path: Path) -> None:
    service = tmp_path / "buyers.py"
    service.write_text(SERVICE, encoding="utf-8")
    for_python = written(described(named_service(str(service)), "ordered"), "python")
    compile(for_python, "client.py", "exec")
    assert "address_country: str" in for_python
    assert (
        '{"address_country": "address.country", "address_zip_code": "address.zip_code"}.get(name, name)' in for_python
    )
    for_typescript = written(described(named_service(str(service)), "ordered"), "typescript")
    assert 'readonly "address.country": string;' in for_typescript


# -- repairs ----------------------------------------------------------------------------------------------------------


def test_the_doctor_finds_and_mends_a_key_that_does_not_follow() -> None:
    world = World(schema=SCHEMA)
    world.store.create(buyer("a", "DE", "10"))
    world.written_behind(Buyer, address={"zip_code": "10", "number": 0, "country": {"code": "NO"}})
    report = Doctor(world.new_store(world.inner).parts, world.clock).run()
    assert report.code
    Doctor(world.new_store(world.inner).parts, world.clock, repair=True).run()
    assert world.stored(Buyer)["countryHashKey"].endswith("address.country.code#NO")
    assert Doctor(world.new_store(world.inner).parts, world.clock).run().code == 0
