"""A value that can't be stored is refused with its place inside the property, as one that does not fit its type is."""

from __future__ import annotations

import dataclasses
import datetime as dt
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from shardweave.errors import ValueRefused
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.values.refused_parts import refused_place
from tests.unit.api_world import Client, api_of, problem_of
from tests.unit.store_world import World

NAIVE = "2024-01-01T00:00:00"


class Phone(BaseModel):
    """How to reach somebody."""

    number: str = ""
    seen_at: dt.datetime | None = Field(None, alias="seenAt")


@dataclasses.dataclass
class Dose:
    """How much of something."""

    amount: Decimal
    at: dt.datetime | None = None


class Patient(Entity, token="patient"):
    """Somebody with values in values."""

    patient_id: str = unique_property()
    born: dt.datetime | None = None
    phone: Phone | None = None
    phones: list[Phone] = Field(default_factory=list)
    contacts: dict[str, Phone] = Field(default_factory=dict)
    doses: dict[str, list[Dose]] = Field(default_factory=dict)
    counts: dict[str, int] = Field(default_factory=dict)


SCHEMA = Schema([Patient])

REFUSED = [
    ({"born": NAIVE}, "born"),
    ({"phone": {"seenAt": NAIVE}}, "phone.seenAt"),
    ({"phones": [{}, {"seenAt": NAIVE}]}, "phones[1].seenAt"),
    ({"contacts": {"a": {}, "b": {"seenAt": NAIVE}}}, "contacts.b.seenAt"),
    ({"contacts": {"a": {}, "": {}}}, "contacts"),
    ({"doses": {"noon": [{"amount": "1"}, {"amount": "1", "at": NAIVE}]}}, "doses.noon[1].at"),
    ({"doses": {"noon": [{"amount": "1e400"}]}}, "doses.noon[0].amount"),
    ({"doses": {"noon": [{"amount": "1." + "1" * 40}]}}, "doses.noon[0].amount"),
    ({"counts": {"a": 1, "b": 10**39 + 1}}, "counts.b"),
]


@pytest.mark.parametrize(("values", "where"), REFUSED)
def test_the_error_of_a_write_has_the_place(values: dict[str, Any], where: str) -> None:
    client = Client(api_of(SCHEMA))
    for made in (client.post("/v1/patients", {"patientId": "p"} | values), client.put("/v1/patients/p", values)):
        assert problem_of(made, 400, "value_refused")["where"] == where
    assert client.get("/v1/patients/p").status == 404
    client.post("/v1/patients", {"patientId": "p"})
    before = client.get("/v1/patients/p").body
    assert problem_of(client.patch("/v1/patients/p", values), 400, "value_refused")["where"] == where
    operation = {"update": "patients", "key": "p", "patch": values}
    problem = problem_of(client.post("/v1/_transact", {"operations": [operation]}), 400, "value_refused")
    assert problem["where"] == f"operations[0].{where}"
    assert client.get("/v1/patients/p").body == before


def test_a_record_of_python_has_it_too() -> None:
    world = World(schema=SCHEMA)
    naive = Dose(Decimal(1), dt.datetime.fromisoformat(NAIVE))
    with pytest.raises(ValueRefused) as refused:
        world.store.create(Patient(patient_id="p", doses={"noon": [Dose(Decimal(1)), naive]}))
    assert refused.value.where == "doses.noon[1].at"


VALUES = st.recursive(
    st.integers(),
    lambda inner: st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, min_size=1),
    max_leaves=8,
)


def leaves(value: Any, place: str) -> list[str]:
    """The places of all numbers in a value, in order."""
    if isinstance(value, dict):
        return [one for name, part in value.items() for one in leaves(part, f"{place}.{name}")]
    if isinstance(value, list):
        return [one for at, part in enumerate(value) for one in leaves(part, f"{place}[{at}]")]
    return [place]


@given(VALUES, st.data())
def test_the_first_part_that_is_refused_is_found_wherever_it_is(value: Any, data: st.DataObject) -> None:
    places = leaves(value, "p")
    bad = data.draw(st.integers(0, len(places) - 1))
    numbers = iter(range(len(places)))

    def marked(part: Any) -> Any:
        if isinstance(part, dict):
            return {name: marked(one) for name, one in part.items()}
        if isinstance(part, list):
            return [marked(one) for one in part]
        return None if next(numbers) == bad else part

    def accept(part: Any) -> None:
        if part is None:
            raise ValueRefused("none")
        for one in part.values() if isinstance(part, dict) else part if isinstance(part, list) else ():
            accept(one)

    assert refused_place("p", marked(value), accept) == places[bad]
