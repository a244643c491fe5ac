"""Changes of a record that is made where there is none, and writes that give what was there."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import (
    ImmutableProperty,
    NotFound,
    RecordUnreadable,
    RevisionConflict,
    ShardweaveError,
    ValidationFailed,
    ValueRefused,
)
from shardweave.schema.declarations import Sequence, Unique
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Delete, Put, Update
from shardweave.table.fault_injection import WRITES, Afterwards, LoseAnswer, Script
from shardweave.table.operations import GetItem
from shardweave.values.codecs import Timestamp
from tests.unit.api_world import Client, api_of, json_of, problem_of
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
    text: str = ""
    votes: int = 0

    numbering = Sequence("number")


class Numbered(Entity, token="numbered", partition="room", sort="num"):
    """Its number is a part of its key."""

    room: str
    num: int = 0
    text: str = ""

    numbering = Sequence("num", within="room")


class Session(Entity, token="session"):
    """Expires."""

    session_id: str = unique_property()
    expires: int | None = ttl_property()


PROFILES = Schema([Profile, Ticket, Numbered, Session])


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


def test_a_record_that_is_made_takes_the_next_number() -> None:
    store = World(schema=PROFILES).store
    assert store.update(Ticket, "a", {"text": "x"}, upsert=True).number == 1
    assert store.update(Ticket, "a", {"text": "y"}, upsert=True).number == 1
    assert store.update(Ticket, "b", {"text": "x"}, upsert={"text": "z"}).number == 2
    assert store.update(Ticket, "c", lambda each: {"text": each.text + "!"}, upsert={"text": "z"}).number == 3
    assert store.add(Ticket, "d", {"votes": 2}, upsert=True).number == 4
    made, changed = store.transact([Update(Ticket, "e", {}, upsert=True), Update(Ticket, "a", {}, upsert=True)])
    assert (made.number, changed.number) == (5, 1)  # type: ignore[union-attr]
    updates = [Update(Ticket, name, {"text": "b"}, upsert=True) for name in ("f", "a", "g")]
    written = store.batch_write(updates=updates).updates
    assert [each.record.number for each in written if each.record is not None] == [6, 1, 7]  # type: ignore[attr-defined]
    assert store.create(Ticket(ticket_id="h")).number == 8
    assert store.update(Ticket, "i", {"number": 20}, upsert=True).number == 20


def test_a_refused_upsert_takes_no_number() -> None:
    store = World(schema=PROFILES).store
    with pytest.raises(ValidationFailed):
        store.update(Ticket, "a", {"votes": "many"}, upsert=True)
    with pytest.raises(NotFound):
        store.update(Ticket, "a", {"text": "x"})
    (failed,) = store.batch_write(updates=[Update(Ticket, "a", {"votes": "many"}, upsert=True)]).updates
    assert failed.status == "failed"
    assert store.create(Ticket(ticket_id="b")).number == 1


def test_one_without_a_number_is_never_made() -> None:
    world: World
    gone = Delete(Ticket, "a")
    world = World(Script(Afterwards(lambda: world.other.write(gone)), matching=(GetItem,)), schema=PROFILES)
    world.other.create(Ticket(ticket_id="a"))
    with pytest.raises(RevisionConflict, match="deleted meanwhile"):
        world.store.update(Ticket, "a", {"text": "x"}, upsert=True)
    assert world.store.get(Ticket, "a") is None
    assert world.store.update(Ticket, "a", {"text": "x"}, upsert=True).number == 2


def test_one_that_comes_while_a_number_is_taken_keeps_its_own() -> None:
    world: World
    made = Create(Ticket(ticket_id="a", text="other"))
    world = World(Script(Afterwards(lambda: world.other.write(made)), matching=(GetItem,)), schema=PROFILES)
    world.other.decide_lookups()
    found = world.store.update(Ticket, "a", {"text": "x"}, upsert=True)
    assert (found.number, found.text) == (1, "x")


def test_a_key_with_the_number_0_names_no_record() -> None:
    store = World(schema=PROFILES).store
    with pytest.raises(ValueRefused, match="no record has the number 0") as refused:
        store.update(Numbered, {"room": "r", "num": 0}, {"text": "x"}, upsert=True)
    assert refused.value.where == "num"
    client = Client(api_of(PROFILES))
    assert json_of(client.post("/v1/numbereds", {"room": "r", "text": "a"}))["num"] == 1
    problem_of(client.put("/v1/numbereds/r/0", {"text": "x"}), 400, "value_refused")
    problem_of(client.patch("/v1/numbereds/r/0?upsert=true", {"text": "x"}), 400, "value_refused")
    assert len(json_of(client.get("/v1/numbereds?room=r"))["items"]) == 1


def test_over_http_a_patch_makes_a_numbered_record() -> None:
    client = Client(api_of(PROFILES))
    for status in (201, 200):
        answer = client.patch("/v1/tickets/a?upsert=true", {"text": "x"})
        assert (answer.status, json_of(answer)["number"]) == (status, 1)
    asked = {"operations": [{"update": "tickets", "key": "b", "patch": {"text": "y"}, "upsert": True}]}
    assert client.post("/v1/_transact", asked).status == 200
    assert json_of(client.get("/v1/tickets/b"))["number"] == 2


def test_nothing_is_added_to_an_expiry_that_a_record_has_not() -> None:
    store = World(schema=PROFILES).store
    store.create(Session(session_id="s"))
    with pytest.raises(ValueRefused, match="no expiry") as refused:
        store.add(Session, "s", {"expires": 3600})
    assert refused.value.where == "expires"
    with pytest.raises(ValueRefused):
        store.add(Session, "t", {"expires": 3600}, upsert=True)
    store.update(Session, "s", {"expires": 4_000_000_000})
    assert store.add(Session, "s", {"expires": 3600}).expires == 4_000_003_600


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
