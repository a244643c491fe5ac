"""Read models of records that can't be kept right are refused when the schema is built, all faults at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import pytest
from pydantic import Field

from shardweave.errors import SchemaError
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.read_models import Action, Event, ReadModel
from shardweave.schema.schema import Schema


class Happened(Event):
    """Something happened."""

    type: Literal["Happened"] = "Happened"


class Source(Entity):
    """What feeds a read model."""

    source_id: str = unique_property()


class Sums(Entity):
    """What it can write."""

    sums_id: str = unique_property()
    count: int = 0


class Written(Entity):
    """Another read model writes it."""

    written_id: str = unique_property()
    count: int = 0


class Stranger(Entity):
    """Not in the schema."""

    stranger_id: str = unique_property()
    count: int = 0


class Numberless(Entity):
    """Its numbers have no default, another one, or are floats."""

    numberless_id: str = unique_property()
    one: int = 1
    none: int | None = None
    share: float = 0.0


class Needy(Entity):
    """It needs more than its key."""

    needy_id: str = unique_property()
    name: str
    count: int = 0


class Bounded(Entity):
    """Its number has bounds."""

    bounded_id: str = unique_property()
    count: int = Field(0, ge=0)


class Expiring(Entity):
    """It expires."""

    expiring_id: str = unique_property()
    count: int = 0
    expires: int | None = ttl_property()


def nothing(record: Any) -> Sequence[Action]:
    del record
    return ()


ENTITIES = [Source, Sums, Written, Numberless, Needy, Bounded, Expiring]


def faults(*read_models: Any) -> list[str]:
    with pytest.raises(SchemaError) as caught:
        Schema(ENTITIES, read_models=read_models)
    assert all(fault.fix for fault in caught.value.faults)
    return [fault.message for fault in caught.value.faults]


def model(name: str = "sums", *, writes: Any = (Sums,), records: Any = (Source,), **more: Any) -> ReadModel:
    return ReadModel(name, writes=writes, records=records, **{"project": nothing, **more})


def test_a_read_model_of_records_that_can_be_kept_right_is_taken() -> None:
    assert Schema(ENTITIES, read_models=[model()]).read_model("sums").records == (Source,)


@pytest.mark.parametrize(
    ("written", "message"),
    [
        (Numberless, "Numberless has no number to add to"),
        (Needy, "Needy.name has no default, and a record is made by what is added to it"),
        (Bounded, "Bounded.count has bounds, which a sum would meet when it is too late to refuse it"),
        (Expiring, "Expiring.expires lets the sums expire"),
        (Stranger, "Stranger is not in the schema"),
    ],
)
def test_an_entity_that_sums_can_t_be_written_to(written: type[Entity], message: str) -> None:
    assert faults(model(writes=(Sums, written))) == [message]


def test_what_is_wrong_with_what_feeds_it() -> None:
    events = ReadModel("events", events=(Happened,), writes=(Written,), project=nothing)
    assert faults(events, model(records=(Source, Source, Stranger, Written, Sums), events=(Happened,))) == [
        "it takes both events and records",
        "Stranger is not in the schema",
        "Written, which feeds it, is itself written by events",
        "Sums, which feeds it, is itself written by sums",
        "records names an entity twice",
    ]


def test_what_is_no_declaration_at_all() -> None:
    assert faults(ReadModel("sums", records=(Source,), writes=(Sums,))) == ["it is missing"]
    assert len(faults(model(records=("Source",)))) == 1
    assert len(faults(model(records=5))) == 1
    assert faults(model(records=())) == ["it is fed by no events and no records, or writes nothing"]
