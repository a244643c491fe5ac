"""Fingerprints of declarations: the same in every process, and another for whatever places records otherwise."""

from __future__ import annotations

import enum
import subprocess
import sys
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Optional, Union

import pytest
from pydantic import Field

from services.order_tracking import schema as order_schema
from services.user_service import schema as user_schema
from shardweave.keys.entity_keys import EntityKeys
from shardweave.keys.key_design import Element
from shardweave.keys.key_format import KEY_FORMATS
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.declaration_guard import placement_of, schema_of
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.entity_type import EntityType
from shardweave.schema.fingerprint import element_text
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.values import Value
from shardweave.values.codecs import (
    Codec,
    DecimalCodec,
    DescendingCodec,
    EnumCodec,
    IntegerCodec,
    PaddedIntegerCodec,
    StringCodec,
    TimestampCodec,
)

ROOT = Path(__file__).parents[2]
USER = user_schema(KEY_FORMATS["ordered"]).entities["user"]
PROGRAM = """
from services.{service} import schema
from shardweave.keys.key_format import KEY_FORMATS
from shardweave.reshard.declaration_guard import placement_of, schema_of
for entity in schema(KEY_FORMATS["ordered"]).entities.values():
    print(entity.token, placement_of(entity), schema_of(entity))
"""


@pytest.mark.parametrize(("service", "schema"), [("user_service", user_schema), ("order_tracking", order_schema)])
def test_another_process_has_the_same(service: str, schema: Any) -> None:
    entities = schema(KEY_FORMATS["ordered"]).entities.values()
    here = [f"{entity.token} {placement_of(entity)} {schema_of(entity)}" for entity in entities]
    environment = {"PYTHONPATH": str(ROOT / "shared"), "PYTHONHASHSEED": "7"}
    command = [sys.executable, "-P", "-c", PROGRAM.format(service=service)]
    there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout
    assert there.splitlines() == here


def with_design(**changes: Any) -> EntityType[Any]:
    return replace(USER, keys=EntityKeys(replace(USER.keys.design, **changes)))


def test_what_places_records_otherwise_has_another() -> None:
    design = USER.keys.design
    others = [
        replace(USER, token="person"),
        replace(USER, shard_map=ShardMap.of_bumps((ShardBump(0, 2, 2),))),
        with_design(key_format=KEY_FORMATS["article"]),
        with_design(key_format=replace(KEY_FORMATS["ordered"], hash=lambda text: len(text))),
        with_design(key_format=replace(KEY_FORMATS["ordered"], hash=lambda text: 7)),
        replace(USER, ttl="ends"),
        with_design(shard_by=(Element("beneficiaryId", StringCodec()),)),
        with_design(sort=(Element(design.sort[0].name, IntegerCodec()),)),
        with_design(sort=(Element(design.sort[0].name, DecimalCodec(2)),)),
        with_design(sort=(Element(design.sort[0].name, DecimalCodec(3)),)),
    ]
    prints = [placement_of(entity) for entity in [USER, *others]]
    assert len(set(prints)) == len(prints)


def test_what_only_indexes_are_made_of_is_the_schemas() -> None:
    changed = with_design(generated=USER.keys.design.generated[1:])
    assert placement_of(changed) == placement_of(USER)
    assert schema_of(changed) != schema_of(USER)


class Parcel(Entity, token="parcel"):
    """A declaration."""

    parcel_id: str = unique_property()
    note: Annotated[str, Field(max_length=40)] | None = None
    price: Annotated[Decimal, DecimalCodec(2)] | None = None

    note_range_key = RangeKey("note")
    price_range_key = RangeKey("price")


class ParcelInOtherWords(Entity, token="parcel"):
    """In another order, with another limit, and its types spelled otherwise, as releases of Python do it too when they
    show a type."""

    parcel_id: str = unique_property()
    price: Union[Annotated[Decimal, DecimalCodec(2)], None] = None  # noqa: UP007
    note: Optional[Annotated[str, Field(max_length=50)]] = None  # noqa: UP045

    price_range_key = RangeKey("price")
    note_range_key = RangeKey("note")


class ParcelOfNumbers(Entity, token="parcel"):
    """With a number that was a text."""

    parcel_id: str = unique_property()
    note: int | None = None
    price: Annotated[Decimal, DecimalCodec(2)] | None = None

    note_range_key = RangeKey("note")
    price_range_key = RangeKey("price")


def test_what_makes_no_other_records_has_the_same() -> None:
    parcel, reworded, numbers = (
        schema_of(Schema([each]).entities["parcel"]) for each in (Parcel, ParcelInOtherWords, ParcelOfNumbers)
    )
    assert reworded == parcel
    assert numbers != parcel


def test_a_stage_that_hides_an_index_has_the_same() -> None:
    index = next(name for name in USER.views if name is not None)
    hiding = replace(USER, views={name: view for name, view in USER.views.items() if name != index})
    assert schema_of(hiding) == schema_of(USER)


def test_every_release_of_python_has_the_same() -> None:
    """A re-shard may be started with one on an operator's machine, and carried out with another in a stage."""
    assert placement_of(USER) == "0db5e2c37159c4cd7bb1824a"
    assert schema_of(USER) == "9d44696adf41b3a7100c3d5a"


class Level(Codec):
    """A codec that is not of the library."""

    name = "level"

    def __init__(self, low: bool) -> None:
        self._low = low

    def encode(self, value: Value) -> str:
        return str(value).lower() if self._low else str(value)

    def read(self, text: str) -> Value:
        return text


def enum_of(*values: object) -> EnumCodec:
    return EnumCodec(enum.Enum("Size", {f"size{number}": value for number, value in enumerate(values)}))  # type: ignore[arg-type]


def test_every_setting_of_a_type_that_its_text_depends_on_tells_elements_apart() -> None:
    codecs = [
        TimestampCodec("ms"),
        TimestampCodec("s"),
        DecimalCodec(1),
        DecimalCodec(2),
        PaddedIntegerCodec(3),
        PaddedIntegerCodec(4),
        StringCodec(),
        IntegerCodec(),
        DescendingCodec(IntegerCodec()),
        Level(low=True),
        Level(low=False),
        enum_of(1, 2),
        enum_of("1", "2"),
        enum_of("1|2"),
        enum_of("a", "b"),
        enum_of("a|b"),
        enum_of("a", "b descending"),
        DescendingCodec(enum_of("a", "b")),
        enum_of(True),
        enum_of("True"),
    ]
    texts = [element_text(Element("one", codec, isinstance(codec, DescendingCodec))) for codec in codecs]
    assert len(set(texts)) == len(texts)
