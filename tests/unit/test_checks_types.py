"""Types that no value can be stored of, and defaults that are none of their type, are faults of the schema."""

from __future__ import annotations

import datetime as dt
import enum
import re
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Any, Literal, NewType

import pydantic
import pytest
from pydantic import BaseModel, Field

from shardweave.errors import SchemaError, ValueRefused
from shardweave.schema.checks.types import type_faults
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import DecimalCodec
from shardweave.values.stored_form import stored_form


class Sub(BaseModel):
    """A model."""

    size: int


@dataclass
class Pair:
    """A dataclass that does something of its own."""

    one: int

    def __post_init__(self) -> None:
        self.one += 1


class Empty(enum.Enum):
    """Has no members."""


class Nothing(enum.Enum):
    """One of its members is no value."""

    SOME = 1
    NONE = None


class Size(enum.Enum):
    """Texts."""

    SMALL = "small"


def faults_of(annotation: Any, default: Any = ...) -> list[str]:
    """What is wrong with a property of this type."""
    body: dict[str, Any] = {
        "__module__": __name__,
        "__annotations__": {"thing_id": str, "held": annotation},
        "thing_id": unique_property(),
    }
    if default is not ...:
        body["held"] = default
    model = type(Entity)("Thing", (Entity,), body)
    return [fault.message for fault in type_faults(model)]


@pytest.mark.parametrize(
    ("annotation", "message"),
    [
        (Sub | dict[str, int], "a union has several models, and what is stored does not say which of them a value has"),
        (set[Sub], "a set can't hold a mapping"),
        (Pair, "Pair has __post_init__, which would run on what is stored"),
        (complex, "a complex has no stored form"),
        (complex | None, "a complex has no stored form"),
        (dict[str, list[re.Pattern[str]]], "a Pattern has no stored form"),
        (NewType("Whole", complex), "a complex has no stored form"),
        (pydantic.SecretStr, "a SecretStr has no stored form"),
        (pydantic.NaiveDatetime, "a datetime without a zone has no stored form"),
        (Empty | None, "Empty has no members"),
        (Nothing, "the value of Nothing.NONE is None, which is stored as no value"),
        (set[tuple[int, ...]], "a set can't hold a list"),
        (frozenset[bool], "a set can't hold a bool"),
        (set[int | None], "a set can't hold a null"),
        (Annotated[set[frozenset[str]], Field(max_length=3)], "a set can't hold a set"),
        (dict[tuple[int, int], str], "a list can't be a key of a mapping"),
        (Mapping[bytes, str], "a bytes can't be a key of a mapping"),
    ],
)
def test_a_type_whose_values_have_no_stored_form_is_a_fault(annotation: Any, message: str) -> None:
    assert faults_of(annotation) == [message]


@pytest.mark.parametrize(
    "annotation",
    [
        Any,
        object,
        dict[str, Any],
        list[dict[str, list[Decimal]]],
        set[str | int],
        frozenset[float],
        set[Size],
        set[Literal["a", "b"]],
        set[dt.date],
        set[Any],
        dict[int, str],
        dict[Size, str],
        tuple[int, str],
        dt.datetime,
        pydantic.AwareDatetime,
        dt.timedelta | None,
        Annotated[Decimal, DecimalCodec(2)],
        pydantic.ByteSize,
    ],
)
def test_a_type_of_which_some_values_are_stored_is_none(annotation: Any) -> None:
    assert faults_of(annotation) == []


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (int, "x"),
        (int, "5"),
        (int, True),
        (int, 1.5),
        (str, 5),
        (Annotated[str, Field(min_length=1)], ""),
        (Literal["a", "b"], "c"),
        (Size, "small "),
        (Decimal, Decimal("NaN")),
        (dt.datetime, dt.datetime(2024, 1, 31)),  # noqa: DTZ001 - its fault
        (list[int], ["x"]),
        (int, Field("x", ge=1)),
        (int, Field(0, ge=1)),
    ],
)
def test_a_default_that_no_value_may_be_is_a_fault(annotation: Any, default: Any) -> None:
    assert faults_of(annotation, default) == ["its default is not a value of its type that can be stored"]


@pytest.mark.parametrize(
    ("annotation", "default"),
    [
        (int, 5),
        (float, 5),
        (float | None, None),
        (str, None),
        (Size, Size.SMALL),
        (Size | None, Size.SMALL),
        (Decimal, Decimal(0)),
        (Annotated[Decimal, DecimalCodec(2)], Decimal("1.50")),
        (Literal["a", "b"], "a"),
        (list[int], []),
        (set[str], set()),
        (bool, False),
        (dt.date, dt.date(2024, 1, 31)),
        (str, Field(default_factory=nanoid)),
    ],
)
def test_a_default_that_fits_is_none(annotation: Any, default: Any) -> None:
    assert faults_of(annotation, default) == []


@pytest.mark.parametrize("kind", [bytes, float, Decimal, list[str], Any])
def test_a_record_is_not_identified_by_what_has_no_order_in_a_key(kind: Any) -> None:
    body = {"__module__": __name__, "__annotations__": {"thing_id": kind}, "thing_id": unique_property()}
    with pytest.raises(SchemaError, match=r"entity Thing\.thing_id: a value of its type can't be in a key"):
        Schema([type(Entity)("Thing", (Entity,), body)])


def test_a_set_of_what_no_set_holds_is_refused_where_its_type_allows_it() -> None:
    with pytest.raises(ValueRefused, match="a set can hold texts, numbers or bytes only"):
        stored_form({(1, 2), (3,)})
