"""The tables of the guide to types, row by row: what is stored comes back equal, and what is refused says so."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
import ipaddress
import re
import typing
import uuid
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Collection
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pydantic
import pytest
import typing_extensions
from pydantic.errors import PydanticSchemaGenerationError

import shardweave
from shardweave.errors import SchemaError
from shardweave.query.value_order import has_length, kinds_of, order_of
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import _BY_TYPE, DecimalCodec, SemanticVersion, Timestamp, TimestampSeconds
from tests.unit.api_world import Client, api_of, json_of, problem_of
from tests.unit.store_world import World

GUIDE = Path(__file__).parents[2] / "docs" / "types.md"
_BREAK = re.compile(r"(?<!\\)\|")


class Colour(enum.Enum):
    """Texts."""

    RED = "red"
    BLUE = "blue"


class Number(enum.Enum):
    """Numbers."""

    ONE = 1


class Point(typing.NamedTuple):
    """Plain values by place."""

    x: int
    y: int


class Size(typing_extensions.TypedDict):
    """Plain values by name."""

    wide: int


class Dated(typing.NamedTuple):
    """Holds more than plain values."""

    day: dt.date


class Model(pydantic.BaseModel):
    """A model."""

    size: int


class Checked(pydantic.BaseModel):
    """A model with a validator."""

    size: int

    @pydantic.field_validator("size")
    @classmethod
    def doubled(cls, size: int) -> int:
        return 2 * size


@dataclasses.dataclass
class Pair:
    """A dataclass that does something of its own."""

    one: int

    def __post_init__(self) -> None:
        self.one += 1


NAMES: dict[str, Any] = {
    **vars(typing),
    **{name: getattr(pydantic, name) for name in pydantic.__all__ if name[0].isupper()},
    **{
        each.__name__: each
        for each in (Colour, Number, Point, Size, Dated, Model, Checked, Pair, DecimalCodec, Decimal)
    },
    **{each.__name__: each for each in (Counter, OrderedDict, defaultdict, deque, Fraction, Path)},
    **{each.__name__: each for each in (dt.datetime, dt.date, dt.time, dt.timedelta, uuid.UUID)},
    **{each.__name__: each for each in (ipaddress.IPv4Address, ipaddress.IPv6Network)},
    "SemanticVersion": SemanticVersion,
    "Timestamp": Timestamp,
    "TimestampSeconds": TimestampSeconds,
    "UTC": dt.UTC,
}


def rows(heading: str) -> list[list[str]]:
    """The rows of the table under a heading of the guide."""
    section = GUIDE.read_text().partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][2:]
    return [[cell.strip().replace("\\|", "|") for cell in _BREAK.split(line)[1:-1]] for line in lines]


def value_of(cell: str) -> Any:
    """What the code in a cell says."""
    return eval(cell.split("`")[1], dict(NAMES))


def entity_of(annotation: Any) -> type[Entity]:
    body = {
        "__module__": __name__,
        "__annotations__": {"thing_id": str, "held": annotation},
        "thing_id": unique_property(),
    }
    return type(Entity)("Thing", (Entity,), body, token="thing")


@pytest.mark.parametrize("row", rows("What is stored"), ids=lambda row: row[0])
def test_a_type_that_is_stored(row: list[str]) -> None:
    declared, value, stored, shown, in_key, in_filter = row
    model, given = entity_of(value_of(declared)), value_of(value)
    schema = Schema([model])
    world, client = World(schema=schema), Client(api_of(schema))

    world.store.create(model(thing_id="a", held=given))
    assert world.stored(model).get("held") == (None if stored == "nothing" else value_of(stored))
    read = world.store.get(model, "a")
    assert read is not None
    assert (read.held, type(read.held)) == (given, type(given))  # type: ignore[attr-defined]

    document = {"thingId": "a", "held": value_of(shown)}
    for method, target in (("POST", "/v1/things"), ("PUT", "/v1/things/a"), ("PATCH", "/v1/things/a")):
        assert json_of(client.send(method, target, document)) == document
    assert json_of(client.get("/v1/things/a")) == document
    page = json_of(client.get("/v1/things?properties=held"))
    part = {"held": document["held"]} if stored != "nothing" else {}
    assert (page["items"], page.get("unreadable")) == ([part], None)

    each = schema[model].properties["held"]
    alone = "alone" if each.codec is not None and each.codec.key_type is not None else "no"
    assert in_key == ("yes" if each.codec is not None and each.codec.sortable else alone)
    order, listed = order_of(each) is not None, "list" in kinds_of(each)
    assert in_filter == ("order" if order else "members" if listed and has_length(each) else "equality")


@pytest.mark.parametrize("row", rows("What is refused"), ids=lambda row: row[0])
def test_a_type_that_is_refused(row: list[str]) -> None:
    declared, message, fix = row
    model = entity_of(value_of(declared))
    with pytest.raises(SchemaError) as raised:
        Schema([model])
    assert [(each.where, each.message, each.fix) for each in raised.value.faults] == [
        ("entity Thing.held", message, fix)
    ]


@pytest.mark.parametrize("kind", [bytearray, memoryview, range, Collection[int], MappingProxyType])
def test_a_type_that_pydantic_refuses(kind: Any) -> None:
    with pytest.raises(PydanticSchemaGenerationError, match=getattr(kind, "__name__", "Collection")):
        entity_of(kind)


def test_both_tables_are_read() -> None:
    assert len(rows("What is stored")) > 40
    assert len(rows("What is refused")) > 25


def test_every_type_that_can_be_in_a_key_has_a_row() -> None:
    declared = {value_of(row[0]) for row in rows("What is stored")}
    kinds = [kind for kinds, _ in _BY_TYPE for kind in (kinds if isinstance(kinds, tuple) else (kinds,))]
    assert len(kinds) > 10
    assert [kind for kind in kinds if kind not in declared and kind.__module__ != "pydantic.types"] == []
    public = [getattr(shardweave, name) for name in shardweave.__all__]
    own = [each for each in public if typing.get_origin(each) is typing.Annotated]
    assert len(own) > 2
    assert [each for each in own if each not in declared] == []


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Model | str, {"size": 1}),
        (Model | str, "text"),
        (dict[str, Model], {"a": {"size": 1}}),
        (dict[str, list[Model] | None], {"a": [{"size": 1}], "b": None}),
        (tuple[Model, int], [{"size": 1}, 2]),
        (list[tuple[str, Model]], [["a", {"size": 1}]]),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_models_come_back_alone_as_in_a_whole_record(declared: Any, value: Any) -> None:
    client = Client(api_of(Schema([entity_of(declared)])))
    document = {"thingId": "a", "held": value}
    assert json_of(client.post("/v1/things", document)) == document
    page = json_of(client.get("/v1/things?properties=thingId,held"))
    assert (page["items"], page.get("unreadable")) == ([document], None)


@dataclasses.dataclass
class Place:
    """A place, which may have others in it."""

    lat: Decimal
    seen: dt.date | None = None
    near: list[Place] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(slots=True)
class Slotted:
    """A dataclass without a dict of its own."""

    size: int


class Visit(typing_extensions.TypedDict):
    """A visit of a place."""

    at: dt.datetime
    place: typing_extensions.NotRequired[Place]


HERE = {"lat": "1.5", "seen": "2024-01-02", "near": []}


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        (Place, HERE),
        (dict[str, Place], {"a": HERE}),
        (list[Place], [{**HERE, "near": [HERE]}]),
        (Place | None, HERE),
        (Slotted, {"size": 1}),
        (Visit, {"at": "2024-01-02T00:00:00Z", "place": HERE}),
        (list[Visit], [{"at": "2024-01-02T00:00:00Z"}]),
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error")
def test_dataclasses_come_back_alone_as_in_a_whole_record(declared: Any, value: Any) -> None:
    test_models_come_back_alone_as_in_a_whole_record(declared, value)


@pytest.mark.parametrize("declared", [Model, Model | None, list[Model], dict[str, Model], Model | str], ids=str)
def test_a_member_that_a_model_does_not_declare_is_refused(declared: Any) -> None:
    def given(member: dict[str, int]) -> dict[str, Any]:
        held = [member] if declared == list[Model] else {"a": member} if declared == dict[str, Model] else member
        return {"thingId": "a", "held": held}

    client = Client(api_of(Schema([entity_of(declared)])))
    assert client.put("/v1/things/a", given({"size": 1})).status == 201
    for method, target in (("POST", "/v1/things"), ("PUT", "/v1/things/a"), ("PATCH", "/v1/things/a")):
        problem = problem_of(client.send(method, target, given({"size": 1, "sise": 2})), 400, "validation_failed")
        assert [each for each in problem["errors"] if each["where"].endswith(".sise")]
