"""Fingerprints of declarations: the same in every process, and another for whatever places records otherwise."""

from __future__ import annotations

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
from shardweave.codecs import (
    DecimalCodec,
    DescendingCodec,
    IntegerCodec,
    PaddedIntegerCodec,
    StringCodec,
    TimestampCodec,
    TimestampSeconds,
)
from shardweave.element_text import element_text
from shardweave.entity import Entity, ttl_property, unique_property
from shardweave.entity_type import EntityType
from shardweave.key_format import KEY_FORMATS
from shardweave.keys import Element, EntityKeys
from shardweave.reshard.placement import placement_of, schema_of
from shardweave.schema import Schema
from shardweave.sharding import ShardBump, ShardMap

ROOT = Path(__file__).parents[2]
USER = user_schema(KEY_FORMATS["ordered"]).entities["user"]
PROGRAM = """
from services.{service} import schema
from shardweave.key_format import KEY_FORMATS
from shardweave.reshard.placement import placement_of, schema_of
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


class ParcelInOtherWords(Entity, token="parcel"):
    """With another limit, and its types spelled otherwise, as releases of Python do it too when they show a type."""

    parcel_id: str = unique_property()
    note: Optional[Annotated[str, Field(max_length=50)]] = None  # noqa: UP045
    price: Union[Annotated[Decimal, DecimalCodec(2)], None] = None  # noqa: UP007


class ParcelThatExpires(Entity, token="parcel"):
    """With an end."""

    parcel_id: str = unique_property()
    note: Annotated[str, Field(max_length=40)] | None = None
    price: Annotated[Decimal, DecimalCodec(2)] | None = None
    ends: TimestampSeconds | None = ttl_property()


class ParcelOfNumbers(Entity, token="parcel"):
    """With a number that was a text."""

    parcel_id: str = unique_property()
    note: int | None = None
    price: Annotated[Decimal, DecimalCodec(2)] | None = None


def test_what_makes_no_other_records_has_the_same() -> None:
    parcel, reworded, numbers = (
        schema_of(Schema([each]).entities["parcel"]) for each in (Parcel, ParcelInOtherWords, ParcelOfNumbers)
    )
    assert reworded == parcel
    assert numbers != parcel


def test_what_expires_is_the_schemas() -> None:
    expiring = Schema([ParcelThatExpires]).entities["parcel"]
    lasting = replace(expiring, ttl=None)
    assert placement_of(lasting) == placement_of(expiring)
    assert schema_of(lasting) != schema_of(expiring)


def test_a_stage_that_hides_an_index_has_the_same() -> None:
    index = next(name for name in USER.views if name is not None)
    hiding = replace(USER, views={name: view for name, view in USER.views.items() if name != index})
    assert schema_of(hiding) == schema_of(USER)


def test_every_release_of_python_has_the_same() -> None:
    """A re-shard may be started with one on an operator's machine, and carried out with another in a stage."""
    assert placement_of(USER) == "25d066e3ba3b4849a055ad81"
    assert schema_of(USER) == "a9a05518f5b585e8cd0c401d"


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
    ]
    texts = [element_text(Element("one", codec, isinstance(codec, DescendingCodec))) for codec in codecs]
    assert len(set(texts)) == len(texts)
