"""Dataclasses and TypedDicts as properties, as models are: stored as maps, validated whole, patched in part, filled by
defaults, filtered by path."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NotRequired
from uuid import UUID

import pydantic.dataclasses
import pytest
from pydantic import Field, field_validator
from typing_extensions import TypedDict

from shardweave.errors import SchemaError, ValidationFailed, ValueRefused
from shardweave.query.shorthand import where
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.operations import PutItem, Scan
from tests.integration.buyers_world import Buyers
from tests.integration.conftest import OpenTable
from tests.unit.api_world import json_of, problem_of


@dataclasses.dataclass(frozen=True)
class Place:
    """Where it is."""

    lat: Decimal
    lon: float = 0.5


@dataclasses.dataclass
class Address:
    """Where somebody lives."""

    street: str
    city: str = "Oslo"
    since: dt.datetime | None = None
    place: Place | None = None
    tags: set[str] = dataclasses.field(default_factory=set)
    id: UUID | None = None
    parts: list[Address] = dataclasses.field(default_factory=list, kw_only=True)


@pydantic.dataclasses.dataclass
class Parcel:
    """What is sent."""

    weight: int = pydantic.Field(gt=0)
    label: str = "none"


class Visit(TypedDict):
    """When somebody came."""

    at: dt.datetime
    place: NotRequired[Place]
    note: NotRequired[str | None]


class Buyer(Entity, token="buyer"):
    """Somebody who buys."""

    buyer_id: str = unique_property()
    address: Address | None = None
    others: list[Address] = Field(default_factory=list)
    by_name: dict[str, Place] = Field(default_factory=dict)
    parcel: Parcel | None = None
    visit: Visit | None = None
    visits: list[Visit] = Field(default_factory=list)


SCHEMA = Schema([Buyer])
NOON = dt.datetime(2024, 1, 2, 12, tzinfo=dt.UTC)
WHOLE = Address(
    street="Kai 1",
    since=NOON,
    place=Place(lat=Decimal("1.50")),
    tags={"x"},
    id=UUID(int=5),
    parts=[Address(street="inner")],
)
RECORD = Buyer(
    buyer_id="b",
    address=WHOLE,
    others=[Address(street="Vei 2", city="Bodo")],
    by_name={"q": Place(lat=Decimal(2))},
    parcel=Parcel(weight=3),
    visit={"at": NOON, "place": Place(lat=Decimal(1))},
    visits=[{"at": NOON}, {"at": NOON, "note": None}],
)


@pytest.fixture
def tables(open_table: OpenTable) -> Buyers:
    return Buyers(SCHEMA, open_table)


def test_each_comes_back_as_it_was(tables: Buyers) -> None:
    assert tables.store.create(RECORD) == RECORD
    found = tables.store.get(Buyer, "b")
    assert found == RECORD
    assert type(found.address) is Address  # type: ignore[union-attr]
    assert found.visits == [{"at": NOON}, {"at": NOON, "note": None}]  # type: ignore[union-attr]
    changed = tables.store.update(Buyer, "b", {"address": {"street": "new"}, "others": [WHOLE]})
    assert (changed.address, changed.others) == (Address(street="new"), [WHOLE])
    (item,) = tables.table.run(Scan(consistent=True)).items
    assert item["address"]["city"] == "Oslo"
    assert item["visit"] == {"at": "2024-01-02T12:00:00.000000Z", "place": {"lat": 1, "lon": Decimal("0.5")}}


def test_a_member_that_is_not_stored_has_its_default_and_a_strange_one_is_passed_over(tables: Buyers) -> None:
    tables.store.create(RECORD)
    (item,) = tables.table.run(Scan(consistent=True)).items
    tables.table.run(PutItem({**item, "address": {"street": "old", "gone": 1}}))
    found = tables.store.get(Buyer, "b")
    assert found is not None
    assert found.address == Address(street="old")
    assert tables.found(where("address.city") == "Oslo") == ["b"]
    assert tables.found(where("visit.note").missing()) == ["b"]


def test_filters_reach_into_each(tables: Buyers) -> None:
    tables.store.create(RECORD)
    tables.store.create(Buyer(buyer_id="c"))
    assert tables.found(where("address.place.lat") >= Decimal("1.5")) == ["b"]
    assert tables.found(where("others.0.city") == "Bodo") == ["b"]
    assert tables.found(where("byName.q.lat") == 2) == ["b"]
    assert tables.found(where("parcel.weight") > 2) == ["b"]
    assert tables.found(where("visits.0.at") == NOON) == ["b"]
    assert tables.found(where("address.street") == "none") == []


def test_bodies_have_each_and_patches_change_parts(tables: Buyers) -> None:
    client = tables.client
    body = {
        "address": {"street": "Kai 1", "place": {"lat": "1.50"}, "parts": [{"street": "p"}]},
        "parcel": {"weight": 2},
        "visit": {"at": "2024-01-02T12:00:00Z", "place": {"lat": 1}},
    }
    sent = json_of(client.put("/v1/buyers/b", body))
    assert sent["address"]["place"] == {"lat": "1.5", "lon": 0.5}
    assert sent["visit"] == {"at": "2024-01-02T12:00:00Z", "place": {"lat": "1", "lon": 0.5}}
    patched = json_of(client.patch("/v1/buyers/b", {"address": {"city": "Moss", "place": {"lon": 2.5}}}))
    assert patched["address"]["street"] == "Kai 1"
    assert (patched["address"]["city"], patched["address"]["place"]) == ("Moss", {"lat": "1.5", "lon": 2.5})
    assert json_of(client.put("/v1/buyers/b", patched)) == patched
    assert json_of(client.patch("/v1/buyers/b", {"address": {"city": None}}))["address"]["city"] == "Oslo"
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"address": {"street": 5}}, "address.street"),
        ({"address": {"street": None}}, "address.street"),
        ({"address": {"nothing": 1}}, "address.nothing"),
        ({"parcel": {"weight": 0}}, "parcel.weight"),
        ({"parcel": {"weight": "2"}}, "parcel.weight"),
        ({"visit": {"at": "noon"}}, "visit.at"),
        ({"visit": {"at": None}}, "visit.at"),
    ]
    for document, place in wrong:
        problem = problem_of(client.patch("/v1/buyers/b", document), 400, "validation_failed")
        assert [each["where"] for each in problem["errors"]] == [place]
    with pytest.raises(ValidationFailed):
        tables.store.update(Buyer, "b", {"address": {"city": "no street"}})
    schemas = json_of(client.get("/openapi.json"))["components"]["schemas"]
    for name, member in (("Place", "lat"), ("Parcel", "weight"), ("Visit", "at")):
        assert any(each.startswith(name) and member in schemas[each]["properties"] for each in schemas)


@dataclasses.dataclass
class HomeAddress(Address):
    """Says more than is declared."""

    door: str = "left"


@pytest.mark.parametrize(
    ("given", "place"),
    [
        ({"address": HomeAddress("a")}, "address"),
        ({"others": [HomeAddress("a")]}, "others[0]"),
        ({"address": Address("a", parts=[HomeAddress("b")])}, "address.parts[0]"),
    ],
    ids=["member", "list", "inner"],
)
def test_an_instance_that_would_come_back_as_another_is_refused_and_changes_nothing(
    tables: Buyers, given: dict[str, Any], place: str
) -> None:
    tables.store.create(RECORD)
    with pytest.raises(ValueRefused, match="instance of Address, got one of HomeAddress") as refused:
        tables.store.update(Buyer, "b", given)
    assert refused.value.where == place
    assert tables.store.get(Buyer, "b") == RECORD


# -- what is refused --------------------------------------------------------------------------------------------------


@dataclasses.dataclass
class After:
    """Does something of its own."""

    one: int

    def __post_init__(self) -> None:
        self.one += 1


@dataclasses.dataclass
class Hidden:
    """Has what its constructor does not take."""

    one: int = dataclasses.field(init=False, default=1)


@dataclasses.dataclass
class Started:
    """Takes what it does not keep."""

    one: int
    start: dataclasses.InitVar[int] = 0


@dataclasses.dataclass
class Untyped:
    """Holds anything."""

    any: dict[str, Any]


@pydantic.dataclasses.dataclass
class Checked:
    """Has a validator."""

    one: int

    @field_validator("one")
    @classmethod
    def check_one(cls, one: int) -> int:
        return one


class OpenVisit(TypedDict):
    """Holds anything at a time."""

    at: dt.datetime
    any: Any


REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "after": (lambda: After, "__post_init__"),
    "hidden": (lambda: Hidden, "not given to the constructor"),
    "started": (lambda: Started, "InitVar"),
    "untyped": (lambda: Untyped, "no declared type"),
    "checked": (lambda: Checked, "validators"),
    "open": (lambda: OpenVisit, "no declared type"),
    "union": (lambda: Place | Parcel, "a union has several models"),
    "set": (lambda: set[Place], "a set can't hold a mapping"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_what_would_not_come_back_is_refused(kind: str) -> None:
    made, words = REFUSED[kind]
    body = {"__module__": __name__, "__annotations__": {"thing_id": str, "held": made()}, "thing_id": unique_property()}
    thing = type(Entity)("Thing", (Entity,), body, token="thing")
    with pytest.raises(SchemaError, match=words) as refused:
        Schema([thing])
    assert all(each.fix for each in refused.value.faults)
