"""Projections that can't keep their promises are refused when the schema is built, all faults at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import pytest

from shardweave.errors import SchemaError
from shardweave.schema.declarations import Sequence as Numbered
from shardweave.schema.declarations import belongs_to
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.read_models import Action, Event, ReadModel
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp


class Happened(Event):
    """Something happened."""

    type: Literal["Happened"] = "Happened"


class Same(Event):
    """Another kind of the same name."""

    type: Literal["Happened"] = "Happened"


class Unnamed(Event):
    """A kind that does not say its name."""


class Fit(Entity):
    """What a read model can write."""

    fit_id: str = unique_property()


class Stranger(Entity):
    """Not in the schema."""

    stranger_id: str = unique_property()


class Dated(Entity):
    """The store dates it."""

    dated_id: str = unique_property()
    created: Timestamp = timestamp_property()


class Numbers(Entity):
    """The store numbers it."""

    numbers_id: str = unique_property()
    num: int = 0

    numbering = Numbered("num")


class Owned(Entity, shard_by="owner"):
    """Its identity does not say where it is."""

    owned_id: str = unique_property()
    owner: str


class Child(Entity):
    """Needs its parent."""

    child_id: str = unique_property()
    parent_id: str

    parent = belongs_to("parent", by="parent_id", enforced=True)


class Parent(Entity):
    """Has children."""

    parent_id: str = unique_property()


def nothing(event: Event) -> Sequence[Action]:
    del event
    return ()


def faults(*read_models: ReadModel) -> list[str]:
    entities = [Fit, Dated, Numbers, Owned, Child, Parent]
    with pytest.raises(SchemaError) as caught:
        Schema(entities=entities, read_models=read_models)
    return [fault.message for fault in caught.value.faults]


def test_a_projection_that_keeps_its_promises_is_taken() -> None:
    read_model = ReadModel("fits", (Happened,), (Fit,), nothing)
    assert Schema(entities=[Fit], read_models=[read_model]).read_model("fits") is read_model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (Stranger, "Stranger is not in the schema"),
        (Dated, "Dated.created dates records by the arrival of an event"),
        (Numbers, "Numbers is numbered in the order of arrival"),
        (Owned, "Owned is sharded by what its identity does not say"),
        (Child, "Child takes part in an enforced relation, which events of different records can't keep to"),
        (Parent, "Parent takes part in an enforced relation, which events of different records can't keep to"),
    ],
)
def test_an_entity_that_depends_on_arrival_can_t_be_written(model: type[Entity], message: str) -> None:
    assert faults(ReadModel("some", (Happened,), (Fit, model), nothing)) == [message]


def test_relations_that_lead_nowhere_are_told_with_what_is_wrong_with_a_projection() -> None:
    class Lost(Entity):
        """Nothing that its relation names is there."""

        lost_id: str = unique_property()
        parent = belongs_to("nobody", by="nothing", enforced=True)

    with pytest.raises(SchemaError) as caught:
        Schema(entities=[Fit, Lost], read_models=[ReadModel("a b", (Happened,), (Fit,), nothing)])
    assert {fault.where for fault in caught.value.faults} == {"entity Lost.parent", "read model a b"}


def test_what_is_wrong_with_a_projection_itself() -> None:
    found = faults(
        ReadModel("a b", (Happened, Same, Unnamed), (Fit,), nothing, remember_days=0),
        ReadModel("fits", (), (Fit,), nothing),
        ReadModel("fits", (Happened,), (), nothing),
    )
    assert found == [
        "'a b' is not a valid name",
        "it remembers events for less than a day",
        "Unnamed does not say what its type is called",
        "2 kinds of events are of type 'Happened'",
        "2 read models have this name",
        "it is fed by no events and no records, or writes nothing",
        "Fit is written by a b too, whose positions say nothing here",
    ]
