"""Models as properties: stored as maps, validated whole, patched in part, filled by defaults, filtered by path."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, Self
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, RootModel, computed_field, field_serializer, field_validator
from typing_extensions import TypedDict

from shardweave.access import claim_property, private_property
from shardweave.errors import SchemaError, ValidationFailed, ValueRefused
from shardweave.query.shorthand import where
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Put
from shardweave.table.operations import PutItem, Scan
from tests.integration.buyers_world import Buyers
from tests.integration.conftest import OpenTable
from tests.unit.api_world import json_of, problem_of


class Place(BaseModel):
    """Where it is."""

    lat: Decimal
    lon: float = 0.5


class Address(BaseModel):
    """Where somebody lives."""

    street: str
    city: str = Field("Oslo", max_length=20)
    since: dt.datetime | None = None
    place: Place | None = None
    tags: set[str] = set()
    id: UUID | None = None
    parts: list[Address] = []
    post_code: str | None = Field(None, alias="postCode")


class Buyer(Entity, token="buyer"):
    """Somebody who buys."""

    buyer_id: str = unique_property()
    address: Address | None = None
    others: list[Address] = Field(default_factory=list)
    by_name: dict[str, Address] = Field(default_factory=dict)


SCHEMA = Schema([Buyer])
WHOLE = Address(
    street="Kai 1",
    since=dt.datetime(2024, 1, 2, tzinfo=dt.UTC),
    place=Place(lat=Decimal("1.50")),
    tags={"x"},
    id=UUID(int=5),
    parts=[Address(street="inner")],
    postCode="0150",
)
RECORD = Buyer(buyer_id="b", address=WHOLE, others=[Address(street="Vei 2", city="Bodo")], by_name={"q": WHOLE})


@pytest.fixture
def tables(open_table: OpenTable) -> Buyers:
    return Buyers(SCHEMA, open_table)


def test_a_model_comes_back_as_it_was(tables: Buyers) -> None:
    made = tables.store.create(RECORD)
    assert made == RECORD
    assert tables.store.get(Buyer, "b") == RECORD
    changed = tables.store.update(Buyer, "b", {"address": {"street": "new"}, "others": [WHOLE]})
    assert (changed.address, changed.others) == (Address(street="new"), [WHOLE])
    (item,) = tables.table.run(Scan(consistent=True)).items
    assert item["address"]["city"] == "Oslo"
    assert item["others"][0]["postCode"] == "0150"
    assert tables.store.update(Buyer, "b", {"address": None}).address is None


def test_a_member_that_is_not_stored_has_its_default(tables: Buyers) -> None:
    tables.store.create(RECORD)
    (item,) = tables.table.run(Scan(consistent=True)).items
    tables.table.run(PutItem({**item, "address": {"street": "old", "gone": 1}}))
    found = tables.store.get(Buyer, "b")
    assert found is not None
    assert found.address == Address(street="old")
    assert tables.found(where("address.city") == "Oslo") == ["b"]
    assert tables.found(where("address.city") == "Moss") == []


def test_filters_reach_into_it(tables: Buyers) -> None:
    tables.store.create(RECORD)
    tables.store.create(Buyer(buyer_id="c"))
    assert tables.found(where("address.place.lat") >= Decimal("1.5")) == ["b"]
    assert tables.found(where("others.0.city") == "Bodo") == ["b"]
    assert tables.found(where("byName.q.postCode") == "0150") == ["b"]
    assert tables.found(where("address.street") == "none") == []


def test_bodies_have_it_and_patches_change_parts(tables: Buyers) -> None:
    client = tables.client
    sent = json_of(client.put("/v1/buyers/b", {"address": {"street": "Kai 1", "place": {"lat": "1.50"}}}))
    assert sent["address"]["place"] == {"lat": "1.5", "lon": 0.5}
    patched = json_of(client.patch("/v1/buyers/b", {"address": {"city": "Moss", "place": {"lon": 2.5}}}))
    assert patched["address"]["street"] == "Kai 1"
    assert (patched["address"]["city"], patched["address"]["place"]) == ("Moss", {"lat": "1.5", "lon": 2.5})
    assert json_of(client.put("/v1/buyers/b", patched)) == patched
    assert json_of(client.patch("/v1/buyers/b", {"address": {"city": None}}))["address"]["city"] == "Oslo"
    for wrong, place in (({"street": 5}, "street"), ({"street": None}, "street"), ({"city": "x" * 21}, "city")):
        problem = problem_of(client.patch("/v1/buyers/b", {"address": wrong}), 400, "validation_failed")
        assert [each["where"] for each in problem["errors"]] == [f"address.{place}"]
    with pytest.raises(ValidationFailed):
        tables.store.update(Buyer, "b", {"address": {"city": "no street"}})
    schemas = json_of(client.get("/openapi.json"))["components"]["schemas"]
    assert any(name.startswith("Address") and "postCode" in each["properties"] for name, each in schemas.items())


class HomeAddress(Address):
    """Says more than is declared."""

    door: str = "left"


def lacking() -> Address:
    """An address without its street."""
    return Address.model_construct(city="Oslo")


@pytest.mark.parametrize(
    ("given", "place", "words"),
    [
        ({"address": HomeAddress(street="a")}, "address", "instance of Address, got one of HomeAddress"),
        ({"others": [WHOLE, HomeAddress(street="a")]}, "others[1]", "which would come back as Address"),
        ({"by_name": {"q": HomeAddress(street="a")}}, "byName.q", "which would come back as Address"),
        ({"address": Address(street="a", parts=[HomeAddress(street="b")])}, "address.parts[0]", "come back as Address"),
        ({"address": lacking()}, "address.street", "lacks it"),
    ],
    ids=["member", "list", "mapping", "inner", "lacking"],
)
def test_an_instance_that_would_come_back_as_another_is_refused_and_changes_nothing(
    tables: Buyers, given: dict[str, Any], place: str, words: str
) -> None:
    tables.store.create(RECORD)
    with pytest.raises(ValueRefused, match=words) as refused:
        tables.store.put(Buyer(buyer_id="b", **given))
    assert (refused.value.where, bool(refused.value.fix)) == (place, True)
    with pytest.raises(ValueRefused):
        tables.store.update(Buyer, "b", given)
    with pytest.raises(ValueRefused):
        tables.store.transact([Create(Buyer(buyer_id="c")), Create(Buyer(buyer_id="d", **given))])
    outcomes = tables.store.batch_write([Put(Buyer(buyer_id="d", **given)), Put(Buyer(buyer_id="e"))]).puts
    assert [each.status for each in outcomes] == ["failed", "written"]
    assert tables.store.batch_get(Buyer, ["b", "c", "d"]) == [RECORD, None, None]


# -- what is refused --------------------------------------------------------------------------------------------------


def model(**body: Any) -> Any:
    return type(BaseModel)("Inner", (BaseModel,), {"__module__": __name__, "__annotations__": {"one": int}, **body})


class Typed(TypedDict):
    """Plain values by name."""

    one: int


class Raw(BaseModel):
    """Holds bytes."""

    raw: bytes


class Open(BaseModel):
    """Holds anything."""

    any: dict[str, Any]


class Listed(RootModel[list[int]]):
    """Is no model of fields."""


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "validator": (lambda: model(check=field_validator("one")(lambda cls, one: one)), "validators"),
    "serializer": (lambda: model(show=field_serializer("one")(lambda self, one: str(one))), "serializers"),
    "computed": (lambda: model(twice=computed_field(property(_twice))), "computed fields"),
    "extra": (lambda: model(model_config={"extra": "allow"}), "does not declare"),
    "strict": (lambda: model(model_config={"strict": True}), "strict of Inner"),
    "bytes": (lambda: Raw, "bytes in a model"),
    "any": (lambda: Open, "no declared type"),
    "root": (lambda: Listed, "no model of fields"),
    "entity": (lambda: Buyer, "no model of fields"),
    "union": (lambda: Place | Raw, "a union has several models"),
    "typed": (lambda: Place | Typed, "a union has several models"),
    "set": (lambda: set[Place], "a set can't hold a mapping"),
    "private": (lambda: model(one=private_property(default=1)), "could not keep a member that is not shown"),
    "excluded": (lambda: model(one=Field(1, exclude=True)), "could not keep a member that is not shown"),
    "expiry": (lambda: model(one=ttl_property()), "only a property of an entity has a role"),
    "claim": (lambda: model(one=claim_property("tenant")), "only a property of an entity has a role"),
}


def _twice(self: Self) -> int:
    return 2


@pytest.mark.parametrize("kind", REFUSED)
def test_a_model_that_would_not_come_back_is_refused(kind: str) -> None:
    made, words = REFUSED[kind]
    body = {"__module__": __name__, "__annotations__": {"thing_id": str, "held": made()}, "thing_id": unique_property()}
    thing = type(Entity)("Thing", (Entity,), body, token="thing")
    with pytest.raises(SchemaError, match=words) as refused:
        Schema([thing])
    assert all(each.fix for each in refused.value.faults)


def test_a_model_is_in_no_key() -> None:
    class Keyed(Entity, token="keyed"):
        keyed_id: str = unique_property()
        place: Place

        place_hash_key = HashKey("place")

    with pytest.raises(SchemaError, match="no order-preserving text"):
        Schema([Keyed])
