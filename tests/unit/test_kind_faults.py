"""Declarations of the wrong kind are faults with a place and a fix, not tracebacks."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel

from shardweave.declarations import Unique
from shardweave.entity import Entity, unique_property
from shardweave.errors import SchemaError, UnknownName
from shardweave.schema import Schema
from shardweave.sharding import ShardBump


class Sub(BaseModel):
    """Something that is no entity."""

    size: int


def entity(**keywords: Any) -> Any:
    class Thing(Entity, **keywords):
        """Something."""

        thing_id: str = unique_property()

    return Thing


class Nested(Entity):
    """Has a model as a property, and one in a list."""

    nested_id: str = unique_property()
    one: Sub
    many: list[Sub] | None = None


class Canonical(Entity):
    """Has a text where a function is due."""

    canonical_id: str = unique_property()
    mail: str
    by_mail = Unique("mail", canonical="lower")  # type: ignore[arg-type]


class Listed(Entity):
    """Is identified by a list."""

    listed_id: list[str] = unique_property()


SCHEMAS = {
    "no entities": (lambda: Schema([str, 5, None]), "entities[0]"),  # type: ignore[list-item]
    "no index": (lambda: Schema([entity()], ["x"]), "indexes[0]"),  # type: ignore[list-item]
    "no key format": (lambda: Schema([entity()], key_format="nope"), "key format"),  # type: ignore[arg-type]
    "no token": (lambda: Schema([entity(token=5)]), "entity Thing: token"),
    "bumps as a text": (lambda: Schema([entity(shard_bumps="5")]), "entity Thing: shard_bumps[0]"),
    "bumps as a number": (lambda: Schema([entity(shard_bumps=5)]), "entity Thing: shard_bumps[0]"),
    "a list of texts": (lambda: Schema([entity(shard_bumps=["a"])]), "entity Thing: shard_bumps[0]"),
    "a bump of texts": (
        lambda: Schema([entity(shard_bumps=[ShardBump("x", char_bits="2", chars=None)])]),  # type: ignore[arg-type]
        "entity Thing: shard_bumps[0]",
    ),
    "a keyword": (lambda: entity(tokne="q"), "entity Thing"),
    "a model": (lambda: Schema([Nested]), "entity Nested.one"),
    "a list of models": (lambda: Schema([Nested]), "entity Nested.many"),
    "a canonical text": (lambda: Schema([Canonical]), "entity Canonical.by_mail: canonical"),
    "a list as identity": (lambda: Schema([Listed]), "entity Listed.listed_id"),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_what_is_of_the_wrong_kind_is_named_with_its_fix(case: str) -> None:
    build, place = SCHEMAS[case]
    with pytest.raises(SchemaError) as refused:
        build()
    found = {fault.where: fault for fault in refused.value.faults}
    assert place in found
    assert found[place].fix


def test_an_entity_that_is_asked_for_by_what_is_none_is_named() -> None:
    schema = Schema([entity()])
    with pytest.raises(UnknownName, match="'user' is not in the schema"):
        schema["user"]  # type: ignore[index]
