"""Changes of a record that is made where there is none, and writes that give what was there."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import (
    ImmutableProperty,
    InputError,
    NotFound,
    RecordUnreadable,
    RevisionConflict,
    ShardweaveError,
    ValidationFailed,
)
from shardweave.schema.declarations import Sequence, Unique
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Delete, Put, Update
from shardweave.table.fault_injection import WRITES, Afterwards, LoseAnswer, Script
from shardweave.table.operations import GetItem
from shardweave.values.codecs import Timestamp
from tests.unit.store_world import SECOND_BUMP, Address, Note, Person, World, is_consistent


class Profile(Entity, token="profile"):
    """What somebody likes."""

    profile_id: str = unique_property()
    created: Timestamp = timestamp_property()
    visits: int = 0
    color: str | None = None
    size: int | None = 3
    mail: str | None = None

    mail_unique = Unique("mail")


class Ticket(Entity, token="ticket"):
    """Numbered as it is created."""

    ticket_id: str = unique_property()
    number: int = 0

    numbering = Sequence("number")


PROFILES = Schema([Profile, Ticket])


def test_a_record_is_made_of_the_key_the_changes_and_the_defaults() -> None:
    store = World(schema=PROFILES).store
    made = store.update(Profile, "b", {"visits": 1}, upsert=True)
    assert (made.profile_id, made.visits, made.color, made.size) == ("b", 1, None, 3)
    assert store.get(Profile, "b") == made
    changed = store.update(Profile, "b", {"visits": 2}, upsert={"color": "red"})
    assert (changed.visits, changed.color, changed.created) == (2, None, made.created)
    other = store.update(Profile, "c", {"visits": 2, "size": None}, upsert={"color": "red", "visits": 7})
    assert (other.visits, other.color, other.size) == (2, "red", None)
    gone = store.update(Profile, "d", {"color": None}, upsert={"color": "red"})
    assert gone.color is None


def test_a_function_changes_what_the_record_starts_with() -> None:
    store = World(schema=PROFILES).store
    for want in (8, 9):
        found = store.update(Profile, "b", lambda each: {"visits": each.visits + 1}, upsert={"visits": 7})
        assert found.visits == want


@pytest.mark.parametrize("now", [0, SECOND_BUMP])
def test_every_placement_takes_one(now: int) -> None:
    world = World()
    world.clock.now = now or world.clock.now
    world.store.update(Note, "n", {"text": "x"}, upsert=True)
    world.store.update(Person, "p", {"name": "Ann"}, upsert=True)
    world.store.update(Person, "p", {"name": "Bob"}, upsert=True)
    world.store.update(Address, "a", {}, upsert={"owner_id": "p"})
    world.store.update(Address, "a", {}, upsert={"owner_id": "q"})
    found = world.store.get(Address, "a")
    assert found is not None
    assert found.owner_id == "p"
    assert list(is_consistent(world, world.clock.now)) == []


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"changes": {"text": "x", "note_id": "other"}}, ImmutableProperty),
        ({"changes": {}, "upsert": {"noteId": "other", "text": "x"}}, ImmutableProperty),
        ({"changes": {"number": 1}}, ValidationFailed),
        ({"changes": {"text": "x", "more": 1}}, ValidationFailed),
        ({"changes": {"text": "x"}, "rev": "r"}, RevisionConflict),
        ({"changes": {"text": "x"}, "upsert": False}, NotFound),
    ],
)
def test_what_can_not_be_made_is_refused(change: dict[str, Any], error: type[ShardweaveError]) -> None:
    world = World()
    with pytest.raises(error):
        world.store.update(Note, "n", **{"upsert": True, **change})
    assert world.items() == []


def test_records_that_are_numbered_are_not_made_by_an_update() -> None:
    store = World(schema=PROFILES).store
    with pytest.raises(InputError, match="numbered") as refused:
        store.update(Ticket, "t", {}, upsert=True)
    assert refused.value.where == "upsert"
    store.create(Ticket(ticket_id="t"))


def test_a_record_that_comes_meanwhile_is_changed() -> None:
    made = Create(Profile(profile_id="b", color="red", visits=1))
    world: World
    world = World(Script(Afterwards(lambda: world.other.write(made)), matching=(GetItem,)), schema=PROFILES)
    world.other.decide_lookups()
    found = world.store.update(Profile, "b", lambda each: {"visits": each.visits + 1}, upsert=True)
    assert (found.visits, found.color) == (2, "red")


def test_one_that_goes_meanwhile_is_made() -> None:
    world: World
    gone = Delete(Note, "n")
    world = World(Script(None, Afterwards(lambda: world.other.write(gone)), matching=(GetItem,)))
    world.store.create({"noteId": "n", "text": "a", "number": 7}, Note)
    world.store.get(Note, "n")
    found = world.store.update(Note, "n", {"text": "b"}, upsert={"number": 1})
    assert (found.text, found.number) == ("b", 1)


def test_one_whose_answer_is_lost_is_made_once() -> None:
    world = World(Script(LoseAnswer(), matching=WRITES), schema=PROFILES)
    found = world.store.update(Profile, "b", lambda each: {"visits": each.visits + 1}, upsert=True)
    assert found.visits == 1
    assert world.other.get(Profile, "b") == found


def test_a_unique_value_is_taken() -> None:
    world = World(schema=PROFILES)
    world.store.update(Profile, "a", {"mail": "x"}, upsert=True)
    with pytest.raises(ShardweaveError, match="exists") as refused:
        world.store.update(Profile, "b", {"mail": "x"}, upsert=True)
    assert refused.value.where == "mail"
    assert world.store.get(Profile, "b") is None
    (made,) = world.store.transact([Update(Profile, "b", {"mail": "y"}, upsert=True)])
    assert isinstance(made, Profile)


# -- what was there ---------------------------------------------------------------------------------------------------


def test_a_delete_and_a_put_give_what_was_there() -> None:
    store = World().store
    assert store.write(Put({"noteId": "n", "text": "a"}, Note, returning=True)).before is None
    first = store.get(Note, "n")
    put = store.write(Put({"noteId": "n", "text": "b"}, Note, returning=True))
    assert put.before == first
    assert put.before is not None
    assert put.before.rev == first.rev if first else False
    deleted = store.write(Delete(Note, "n", put.record.rev if put.record else None, returning=True))
    assert deleted.before == put.record
    assert store.write(Delete(Note, "n", returning=True)).before is None


def test_what_can_not_be_read_stays_where_it_is_to_be_given() -> None:
    world = World()
    world.store.create({"noteId": "n", "text": "a"}, Note)
    world.written_behind(Note, text=["no text"])
    for operation in (Delete(Note, "n", returning=True), Put({"noteId": "n", "text": "b"}, Note, returning=True)):
        with pytest.raises(RecordUnreadable):
            world.store.write(operation)
    assert world.stored(Note)["text"] == ["no text"]
    assert world.store.delete(Note, "n")
