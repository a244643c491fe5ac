"""A type whose values would come back as others is a fault of the schema; of every other type they come back equal and
of their type, from the table and over HTTP."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from collections import Counter
from collections.abc import Mapping, MutableSequence, Sequence
from decimal import Decimal
from typing import Annotated, Any, Literal, Union

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from pydantic import Field
from typing_extensions import TypeAliasType

from shardweave.errors import SchemaError
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.values import from_attribute_values, to_attribute_values
from tests.unit.api_world import Client, api_of, json_of


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


class Tone(enum.StrEnum):
    DARK = "dark"


class Rank(enum.IntEnum):
    FIRST = 1


class Rate(enum.Enum):
    TENTH = 0.1


class Day(enum.Enum):
    NEW_YEAR = dt.date(2024, 1, 1)


class Half(enum.Enum):
    HALF = 0.5


Moment = TypeAliasType("Moment", Union[dt.datetime, str])  # noqa: UP007


def model_of(kind: Any) -> type[Entity]:
    body = {"__module__": __name__, "__annotations__": {"mix_id": str, "value": kind}, "mix_id": unique_property()}
    return type(Entity)("Mix", (Entity,), body, token="mix", collection="mixes")


ALIKE: list[Any] = [
    dt.date | dt.datetime,
    dt.datetime | dt.date,
    uuid.UUID | str,
    str | uuid.UUID | None,
    dt.datetime | str,
    dt.time | str,
    dt.timedelta | str,
    Level | str,
    Tone | str,
    Rank | int,
    int | float,
    float | Decimal,
    int | Decimal,
    bool | Decimal,
    Decimal | str,
    bytes | str,
    tuple[int, ...] | list[int],
    set[str] | list[str],
    set[str] | frozenset[str],
    list[uuid.UUID] | list[str],
    list[dt.datetime | str],
    dict[str, int | float],
    dict[int, str] | dict[str, str],
    dict[int | str, str],
    tuple[str, dt.date | dt.datetime],
    Annotated[uuid.UUID | str, Field(title="either")],
    Moment,
    list[Moment] | None,
    Sequence[int],
    MutableSequence[int] | tuple[int, ...],
    Rate,
    Day | None,
    Literal[Level.LOW],
]


@pytest.mark.parametrize("kind", ALIKE, ids=str)
def test_types_that_are_stored_alike_are_a_fault_that_says_what_comes_back(kind: Any) -> None:
    with pytest.raises(SchemaError) as refused:
        Schema([model_of(kind)])
    (fault,) = refused.value.faults
    assert fault.where == "entity Mix.value"
    assert "comes back as" in fault.message or "can't be read" in fault.message
    assert "int | str" in fault.fix


APART: list[Any] = [
    int | str,
    str | int | None,
    int | bool,
    bool | float,
    bool | str,
    Level | Rank,
    Level | Tone,
    Level | Literal["other"],
    Literal["low"] | str,
    Literal[1, "one", None, True],
    dt.datetime | int,
    dt.date | float,
    dt.time | dt.date,
    uuid.UUID | dt.datetime,
    list[int] | list[str],
    list[str] | str | None,
    dict[str, int | str | bool | None],
    dict[int, str],
    dict[Level, str],
    dict[dt.date, list[int]],
    set[int | str],
    Mapping[str, int],
    tuple[int | str, uuid.UUID | None],
    Half,
    Any,
]


@pytest.mark.parametrize("kind", APART, ids=str)
def test_types_that_are_told_apart_are_none(kind: Any) -> None:
    Schema([model_of(kind)])


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)
INSTANTS = st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2100, 1, 1), timezones=st.just(dt.UTC))  # noqa: DTZ001
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    int: st.integers(-(2**60), 2**60),
    bool: st.booleans(),
    float: st.floats(-9, 9).map(lambda number: round(number, 3)) | st.integers(-9, 9).map(float),
    Decimal: st.decimals(-9, 9, places=2),
    str: TEXTS | st.uuids().map(str) | st.dates().map(str) | st.integers(-9, 9).map(str) | st.just("low"),
    bytes: st.binary(max_size=4),
    dt.datetime: INSTANTS | INSTANTS.map(lambda one: one.replace(hour=0, minute=0, second=0, microsecond=0)),
    dt.date: st.dates(dt.date(2000, 1, 1)),
    dt.time: st.times(),
    dt.timedelta: st.timedeltas(dt.timedelta(0), dt.timedelta(days=9)),
    uuid.UUID: st.uuids(),
    Level: st.sampled_from(Level),
    Tone: st.sampled_from(Tone),
    Rank: st.sampled_from(Rank),
    type(None): st.none(),
}
CONTAINERS: dict[Any, Any] = {
    list: lambda each: st.lists(each, max_size=2),
    set: lambda each: st.sets(each, max_size=1),
    dict: lambda each: st.dictionaries(TEXTS.filter(bool), each, max_size=2),
}


@st.composite
def types_and_values(draw: st.DrawFn) -> tuple[Any, Any]:
    """A union of two or three types, some of them of members, and values of it."""
    members, values = [], []
    for kind in draw(st.lists(st.sampled_from(list(VALUES)), min_size=2, max_size=3, unique=True)):
        container = draw(st.sampled_from([None, None, None, *CONTAINERS]))
        each = VALUES[kind]
        if container is None:
            members.append(kind)
            values.append(draw(each))
        else:
            members.append(dict[str, kind] if container is dict else container[kind])
            values.append(draw(CONTAINERS[container](each)))
    return Union[tuple(members)], values  # noqa: UP007 - made, not written


SEEN: Counter[str] = Counter()


@settings(max_examples=250)
@given(types_and_values())
def _of_a_type_that_is_taken_every_value_comes_back(drawn: tuple[Any, list[Any]]) -> None:
    kind, values = drawn
    model = model_of(kind)
    try:
        schema = Schema([model])
    except SchemaError:
        SEEN["refused"] += 1
        return
    SEEN["taken"] += 1
    entity = schema[model]
    for value in values:
        record = model(mix_id="m", value=value)
        assume(record.value == value and type(record.value) is type(value))
        item = from_attribute_values(to_attribute_values(entity.complete(entity.dump(record))))
        read = entity.load(item)
        assert (type(read.value), read.value) == (type(value), value), kind  # type: ignore[attr-defined]
        SEEN[type(value).__name__] += 1
        if value not in ("", set(), None):
            assert entity.dump(record).keys() >= {"value"}


def test_of_a_type_that_is_taken_every_value_comes_back() -> None:
    SEEN.clear()
    _of_a_type_that_is_taken_every_value_comes_back()
    floors = {"refused": 30, "taken": 60, "list": 10, "dict": 10, "set": 5} | dict.fromkeys(
        ("int", "float", "str", "bytes", "bool", "datetime", "UUID", "Level", "NoneType"), 3
    )
    assert {name for name, floor in floors.items() if SEEN[name] < floor} == set(), SEEN


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        (int | str, [5, "5", "2024-01-01T00:00:00Z"]),
        (Level | Rank | None, ["low", 1]),
        (dict[str, int | str | bool | None], [{"a": 1, "b": "1", "c": True, "d": None}]),
        (uuid.UUID | dt.datetime, [str(uuid.UUID(int=5)), "2024-01-01T05:00:00.000000Z"]),
        (list[int] | list[str], [[1], ["1"], []]),
    ],
)
def test_over_http_a_record_is_put_back_as_it_was_read(kind: Any, values: list[Any]) -> None:
    client = Client(api_of(Schema([model_of(kind)])))
    for value in values:
        assert client.put("/v1/mixes/m", {"value": value}).status in (200, 201)
        read = json_of(client.get("/v1/mixes/m"))
        assert client.put("/v1/mixes/m", read).status == 200
        assert json_of(client.get("/v1/mixes/m"))["value"] == read["value"]
        assert type(read["value"]) is type(value)
