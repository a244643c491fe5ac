"""Declarations of the wrong kind are faults with a place and a fix, not tracebacks."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from shardweave.access import Allow
from shardweave.errors import SchemaError, UnknownName
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Index, Lookup, Sequence, Unique, belongs_to, has_many
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.entity_options import KEYWORDS
from shardweave.schema.property_options import unique_property
from shardweave.schema.read_models import Event, ReadModel
from shardweave.schema.schema import Schema


class Sub(BaseModel):
    """Something that is no entity."""

    size: int


def entity(**keywords: Any) -> Any:
    """A thing, declared with these keywords."""

    class Thing(Entity, **keywords):
        """Something."""

        thing_id: str = unique_property()

    return Thing


class Canonical(Entity):
    """Has a text where a function is due."""

    canonical_id: str = unique_property()
    mail: str
    by_mail = Unique("mail", canonical="lower")  # type: ignore[arg-type]


THING = entity()


def index(**given: Any) -> Any:
    """A schema of a thing and an index, parts of which are given."""
    return Schema([THING], [Index(**{"name": "things", "hash_key": "hash_key", "range_key": "thing_id"} | given)])


def declaring(**declared: Any) -> Any:
    """A schema of an entity with this in its body."""
    return Schema([type(Entity)("Thing", (Entity,), THING.__dict__ | declared)])


def projecting(**given: Any) -> Any:
    """A schema of a thing and a projection, parts of which are given."""
    usual = {"name": "things", "events": (Event,), "writes": (THING,), "project": lambda event: ()}
    return Schema([THING], read_models=[ReadModel(**(usual | given))])


SCHEMAS: dict[str, tuple[Callable[[], Any], str]] = {
    "no entities": (lambda: Schema([str, 5, None]), "entities[0]"),  # type: ignore[list-item]
    "None for entities": (lambda: Schema(None), "entities"),  # type: ignore[arg-type]
    "an entity for entities": (lambda: Schema(THING), "entities"),
    "the base": (lambda: Schema([Entity]), "entities[0]"),
    "no index": (lambda: Schema([THING], ["x"]), "indexes[0]"),  # type: ignore[list-item]
    "None for indexes": (lambda: Schema([THING], None), "indexes"),  # type: ignore[arg-type]
    "no read model": (lambda: Schema([THING], read_models=[1]), "read_models[0]"),  # type: ignore[list-item]
    "no key format": (lambda: Schema([THING], key_format="nope"), "key format"),  # type: ignore[arg-type]
    "no name of a key": (lambda: Schema([THING], hash_key=5), "table key"),  # type: ignore[arg-type]
    "no token": (lambda: Schema([entity(token=5)]), "entity Thing: token"),
    "no collection": (lambda: Schema([entity(collection=5)]), "entity Thing: collection"),
    "no separator": (lambda: Schema([entity(separator=None)]), "entity Thing: separator"),
    "no origin": (lambda: Schema([entity(origin=["a"])]), "entity Thing"),
    "no flag": (lambda: Schema([entity(singleton="yes")]), "entity Thing: singleton"),
    "bumps as a text": (lambda: Schema([entity(shard_bumps="5")]), "entity Thing: shard_bumps[0]"),
    "bumps as a number": (lambda: Schema([entity(shard_bumps=5)]), "entity Thing: shard_bumps[0]"),
    "a list of texts": (lambda: Schema([entity(shard_bumps=["a"])]), "entity Thing: shard_bumps[0]"),
    "a bump of texts": (
        lambda: Schema([entity(shard_bumps=[ShardBump("x", char_bits="2", chars=None)])]),  # type: ignore[arg-type]
        "entity Thing: shard_bumps[0]",
    ),
    "a keyword": (lambda: Schema([entity(tokne="q")]), "entity Thing"),
    "None as partition": (lambda: Schema([entity(partition=None)]), "entity Thing, partition"),
    "a number as partition": (lambda: Schema([entity(partition=5)]), "entity Thing, partition"),
    "a list in partition": (lambda: Schema([entity(partition=[["a"]])]), "entity Thing, partition"),
    "desc() as sort": (lambda: Schema([entity(sort=desc("thing_id"))]), "entity Thing, sort"),
    "a number as access": (lambda: Schema([entity(access=5)]), "entity Thing: access[0]"),
    "a text in access": (lambda: Schema([entity(access=["x"])]), "entity Thing: access[0]"),
    "a number as groups": (lambda: Schema([entity(access=[Allow("*", groups=5)])]), "entity Thing, access[0]"),  # type: ignore[arg-type]
    "a list as owner": (lambda: Schema([entity(access=[Allow("*", owner=["a"])])]), "entity Thing, access[0]"),  # type: ignore[arg-type]
    "a canonical text": (lambda: Schema([Canonical]), "entity Canonical.by_mail: canonical"),
    "an index's name": (lambda: index(name=5), "indexes[0]: name"),
    "an index's hash key": (lambda: index(hash_key=["a"]), "index things"),
    "an index's range key": (lambda: index(range_key=None), "index things"),
    "an entity for an index's": (lambda: index(entities=THING), "index things: entities"),
    "a number among an index's entities": (lambda: index(entities=(int,)), "index things: entities[0]"),
    "an index's projection": (lambda: index(projection=5), "index things"),
    "a list in an index's projection": (lambda: index(projection=[["a"]]), "index things"),
    "an index's exposure": (lambda: index(exposed="no"), "index things: exposed"),
    "an index's groups": (lambda: index(groups=5), "index things"),
    "an index's owner": (lambda: index(owner=5), "index things"),
    "a hash key's element": (lambda: declaring(a=HashKey(5)), "entity Thing.a"),  # type: ignore[arg-type]
    "a hash key's name": (lambda: declaring(a=HashKey("thing_id", stored=5)), "entity Thing.a"),  # type: ignore[arg-type]
    "a range key's element": (lambda: declaring(a=RangeKey(["x"])), "entity Thing.a"),  # type: ignore[arg-type]
    "desc() of desc()": (lambda: declaring(a=RangeKey(desc(desc("x")))), "entity Thing.a"),  # type: ignore[arg-type]
    "a lookup's property": (lambda: declaring(a=Unique(5)), "entity Thing.a"),  # type: ignore[arg-type]
    "what a lookup is within": (lambda: declaring(a=Lookup("thing_id", within=5)), "entity Thing.a"),  # type: ignore[arg-type]
    "a lookup's name": (lambda: declaring(a=Lookup("thing_id", name=5)), "entity Thing.a"),  # type: ignore[arg-type]
    "a sequence's property": (lambda: declaring(a=Sequence(["x"])), "entity Thing.a"),  # type: ignore[arg-type]
    "a relation's target": (lambda: declaring(a=belongs_to(5, by="thing_id")), "entity Thing.a"),  # type: ignore[arg-type]
    "a relation's properties": (lambda: declaring(a=belongs_to("thing", by=None)), "entity Thing.a"),  # type: ignore[arg-type]
    "a relation's list": (lambda: declaring(a=has_many(Entity, by=["x"])), "entity Thing.a"),  # type: ignore[arg-type]
    "a read model's name": (lambda: projecting(name=5), "read_models[0]: name"),
    "a read model's events": (lambda: projecting(events=5), "read_models[0]: events"),
    "a read model's entities": (lambda: projecting(writes=("a",)), "read_models[0]: writes[0]"),
    "a read model's function": (lambda: projecting(project="x"), "read_models[0]: project"),
    "a read model's days": (lambda: projecting(remember_days="x"), "read_models[0]: remember_days"),
}


@pytest.mark.parametrize("case", SCHEMAS)
def test_what_is_of_the_wrong_kind_is_named_with_its_fix(case: str) -> None:
    build, place = SCHEMAS[case]
    with pytest.raises(SchemaError) as refused:
        build()
    found = {fault.where: fault for fault in refused.value.faults}
    assert place in found
    assert found[place].fix


ALIENS = [None, 5, 1.5, True, "", "nope", ["a"], {"a": 1}, ("thing_id", 5), b"x", int, Entity, desc("a"), object()]
alien = st.sampled_from(ALIENS)
declared = st.one_of(
    st.lists(alien, max_size=2).map(lambda given: HashKey(*given)),
    st.lists(alien, max_size=2).map(lambda given: RangeKey(*given)),
    st.builds(Unique, alien, within=alien, canonical=alien, name=alien),
    st.builds(Sequence, alien, within=alien),
    st.builds(belongs_to, alien, by=alien, on=alien, index=alien, enforced=st.booleans()),
    st.builds(has_many, alien, by=alien),
)
indexes = st.builds(
    Index,
    name=alien,
    hash_key=st.just("hash_key") | alien,
    range_key=st.just("thing_id") | alien,
    entities=alien,
    projection=alien,
    exposed=alien,
    groups=alien,
    owner=alien,
)


@settings(max_examples=60)
@given(
    keywords=st.dictionaries(st.sampled_from(KEYWORDS), alien, max_size=4),
    body=st.dictionaries(st.sampled_from(["a", "b"]), declared),
    given_indexes=alien | st.lists(indexes | alien, max_size=2),
    read_models=alien | st.lists(alien, max_size=2),
)
def test_whatever_is_declared_a_schema_is_built_or_says_what_is_wrong_with_it(
    keywords: dict[str, Any], body: dict[str, Any], given_indexes: Any, read_models: Any
) -> None:
    usual = {"__module__": __name__, "__annotations__": {"thing_id": str}, "thing_id": unique_property()}
    model = type(Entity)("Thing", (Entity,), {**usual, **body}, **keywords)
    with suppress(SchemaError):
        Schema([model], given_indexes, read_models=read_models)


def test_what_is_of_the_wrong_kind_is_told_with_all_else_that_is_wrong() -> None:
    class Wrong(Entity, token=5, shard_bumps=["x"], partition="nope", tokne="q"):  # type: ignore[call-arg, arg-type, list-item]
        """Much is wrong with it."""

        wrong_id: list[str] = unique_property()
        one: complex
        key = HashKey("nowhere")

    with pytest.raises(SchemaError) as refused:
        Schema([Wrong, None], [Index("i!", "hh", "rr"), 5], key_format="x")  # type: ignore[list-item, arg-type]
    places = {fault.where for fault in refused.value.faults}
    assert places >= {
        "entities[1]",
        "indexes[1]",
        "key format",
        "entity Wrong",
        "entity Wrong: token",
        "entity Wrong: shard_bumps[0]",
        "entity Wrong, partition",
        "entity Wrong.wrong_id",
        "entity Wrong.one",
        "entity Wrong.key",
        "index i!",
    }
    index_faults = [fault.message for fault in refused.value.faults if fault.where == "index i!"]
    assert len(index_faults) == 3


def test_an_entity_that_is_asked_for_by_what_is_none_is_named() -> None:
    schema = Schema([entity()])
    with pytest.raises(UnknownName, match=r"there is no entity 'user'\. Fix: use one of thing"):
        schema["user"]
    with pytest.raises(UnknownName, match="an object of type int is not in the schema"):
        schema[5]  # type: ignore[call-overload]
