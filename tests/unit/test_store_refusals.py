"""What can't be stored is refused before the table is called, with the property and the fix."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import BaseModel, Field

from shardweave import Create, Database
from shardweave.errors import (
    AlreadyExists,
    KeyTooLong,
    RecordTooLarge,
    ShardweaveError,
    UnknownName,
    ValidationFailed,
    ValueRefused,
)
from shardweave.query.shorthand import where as property_where
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from tests.unit.store_world import (
    DAY,
    START,
    Note,
    Person,
    World,
)

TOO_MUCH: list[tuple[str, dict[str, Any], type[ShardweaveError], str]] = [
    ("401 KB", {"text": "x" * 401 * 1024}, RecordTooLarge, "text"),
    ("range key of 1,025 bytes", {"noteId": "x" * (1025 - len("noteId#")), "text": ""}, KeyTooLong, "noteId"),
    ("null key", {"noteId": None, "text": ""}, ValidationFailed, "note"),
    ("unknown property", {"text": "", "txet": ""}, ValidationFailed, "note"),
    ("wrong type", {"text": "", "number": "many"}, ValidationFailed, "note"),
    ("missing property", {}, ValidationFailed, "note"),
    ("seconds", {"text": "", "created": START // 1000}, ValueRefused, "created"),
    ("infinity", {"text": "", "weight": float("inf")}, ValueRefused, "weight"),
]


@pytest.mark.parametrize(
    ("values", "error", "where"), [each[1:] for each in TOO_MUCH], ids=[each[0] for each in TOO_MUCH]
)
@pytest.mark.parametrize("write", ["create", "put"])
def test_what_can_not_be_stored_is_refused_without_a_call(
    write: str, values: dict[str, Any], error: type[ShardweaveError], where: str
) -> None:
    world = World()
    with pytest.raises(error) as raised:
        getattr(world.store, write)(values, Note)
    assert raised.value.where == where
    assert world.requests() == []


def test_a_ttl_in_milliseconds_would_never_come() -> None:
    world = World()
    with pytest.raises(ValueRefused) as raised:
        world.store.create({"personId": "a", "name": "Ann", "expires": START + DAY}, Person)
    assert raised.value.where == "expires"
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    with pytest.raises(ValueRefused):
        world.store.update(Person, "a", {"expires": START + DAY})


def test_the_longest_range_key_is_stored() -> None:
    world = World()
    longest = "x" * (1024 - len("noteId#"))
    world.store.create({"noteId": longest, "text": ""}, Note)
    assert world.store.get(Note, longest) is not None
    with pytest.raises(KeyTooLong):
        world.store.get(Note, longest + "x")


def test_an_empty_text_is_no_range_key_of_an_index() -> None:
    with pytest.raises(ValueRefused) as raised:
        World().store.create({"name": "Ann", "phone": ""}, Person)
    assert raised.value.where == "phone"


def test_a_model_that_is_not_in_the_schema_is_named() -> None:
    class Stranger(Entity):
        stranger_id: str = unique_property()

    with pytest.raises(UnknownName, match="Stranger"):
        World().store.get(Stranger, "a")
    with pytest.raises(TypeError, match="model"):
        World().store.create({"text": ""})  # type: ignore[call-overload]


def test_nothing_of_a_record_is_in_an_error() -> None:
    world = World()
    world.store.create({"noteId": "secret-id", "text": "secret-text"}, Note)
    with pytest.raises(AlreadyExists) as exists:
        world.store.create({"noteId": "secret-id", "text": "secret-text"}, Note)
    with pytest.raises(ValidationFailed) as invalid:
        world.store.update(Note, "secret-id", {"number": "secret-number"})
    assert "secret" not in f"{exists.value} {invalid.value}"


def test_a_schema_of_one_entity_needs_no_more_than_its_id() -> None:
    class Plain(Entity):
        plain_id: str = unique_property()

    world = World(schema=Schema([Plain]))
    world.store.create({"plainId": "a"}, Plain)
    assert world.store.get(Plain, "a") is not None


class Part(BaseModel):
    """A part with parts."""

    name: str = "x"
    inner: Part | None = None


class Deep(Entity, token="deep"):
    """Holds values of any depth."""

    deep_id: str = unique_property()
    part: Part | None = None
    maps: dict[str, Any] = Field(default_factory=dict)
    lists: list[Any] = Field(default_factory=list)


def nested(depth: int) -> dict[str, dict[str, Any]]:
    """Values of so many levels, by their properties."""
    part, mapping, members = Part(), dict[str, Any](), list[Any]()
    for _ in range(depth):
        part, mapping, members = Part(inner=part), {"x": mapping}, [members]
    return {"part": {"part": part}, "maps": {"maps": mapping}, "lists": {"lists": members}}


@pytest.mark.parametrize("depth", [33, 500, 2_000])
@pytest.mark.parametrize("name", ["part", "maps", "lists"])
def test_what_nests_too_deep_is_refused_however_deep_it_is(name: str, depth: int) -> None:
    values = nested(depth)[name]
    db = Database(Schema([Deep]))
    kept = db.create(Deep(deep_id="kept"))
    for write in (
        lambda: db.create(Deep(deep_id="new", **values)),
        lambda: db.put(Deep(deep_id="kept", **values)),
        lambda: db.update(Deep, "kept", values),
        lambda: db.transact([Create(Deep(deep_id="other")), Create(Deep(deep_id="new", **values))]),
        lambda: db.query(Deep, filter=property_where(name) == values[name]),
    ):
        with pytest.raises(ValueRefused, match="nest more than 32 deep"):
            write()
    assert db.batch_get(Deep, ["kept", "new", "other"]) == [kept, None, None]
    for each in ("part", "maps", "lists"):
        assert db.put(Deep(deep_id="kept", **nested(30)[each]))
