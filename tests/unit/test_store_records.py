"""Single records: what create, get, put, update and delete keep to."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import (
    AlreadyExists,
    ImmutableProperty,
    NotFound,
    RecordTooLarge,
    RevisionConflict,
    UnknownName,
    ValidationFailed,
    ValueRefused,
)
from shardweave.schema.entity import Entity
from shardweave.table.operations import PutItem
from tests.unit.store_world import (
    DAY,
    FIRST_BUMP,
    SECOND_BUMP,
    START,
    Note,
    Person,
    Settings,
    Version,
    World,
    is_consistent,
)

HOUR = DAY // 24
MINUTE = HOUR // 60


def sound(world: World) -> bool:
    return list(is_consistent(world, world.clock())) == []


# -- create -----------------------------------------------------------------------------------------------------------


def test_create_sets_times_and_a_revision_and_gives_the_record_as_stored() -> None:
    world = World()
    note = world.store.create({"text": "hello"}, Note)
    assert (note.created, note.updated) == (START, START)
    assert note.rev is not None
    assert len(note.rev) == 16
    assert world.store.get(Note, note.note_id) == note
    assert world.stored(Note)["rev"] == note.rev


def test_create_keeps_the_times_that_are_given() -> None:
    world = World()
    note = world.store.create({"text": "old", "created": START - DAY, "updated": START - HOUR}, Note)
    assert (note.created, note.updated) == (START - DAY, START - HOUR)


def test_create_takes_a_record_as_well_as_properties_by_either_name() -> None:
    world = World()
    given = Note(note_id="a", text="hello")
    assert world.store.create(given).note_id == "a"
    assert given.rev is None
    assert world.store.create({"noteId": "b", "text": "hello"}, Note).note_id == "b"
    assert world.store.create({"note_id": "c", "text": "hello"}, Note).note_id == "c"


def test_prepare_derives_properties_before_they_are_validated() -> None:
    world = World()
    assert world.store.create({"name": "ANN"}, Person).name_canonical == "ann"
    assert world.store.create(Person(person_id="b", name="BOB", name_canonical="?")).name_canonical == "bob"


def test_a_made_up_id_costs_one_conditional_put_in_any_number_of_generations() -> None:
    world = World()
    world.clock.now = SECOND_BUMP + DAY
    world.store.create({"name": "Ann"}, Person)
    assert world.requests() == ["PutItem"]


def test_a_given_id_costs_a_transaction_only_where_several_generations_have_begun() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    assert world.requests() == ["PutItem"]
    world.clock.now = FIRST_BUMP - HOUR
    world.store.create({"personId": "b", "name": "Bob"}, Person)
    assert world.requests() == ["TransactWrite"], "a generation that begins within the hour counts as begun"
    world.store.create({"noteId": "a", "text": "one generation"}, Note)
    assert world.requests() == ["PutItem"]


def test_the_id_of_a_record_counts_as_given_since_a_record_can_be_written_twice() -> None:
    world = World()
    person = Person(name="Ann", name_canonical="ann")
    world.store.create(person)
    world.clock.now = FIRST_BUMP + DAY
    with pytest.raises(AlreadyExists):
        world.store.create(person)


@pytest.mark.parametrize("later", [0, FIRST_BUMP - START, SECOND_BUMP - START], ids=["same", "next", "last"])
def test_an_id_exists_once_whatever_its_generation(later: int) -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    world.clock.now += later
    with pytest.raises(AlreadyExists) as raised:
        world.store.create({"personId": "a", "name": "Ann"}, Person)
    assert raised.value.where == "personId"
    assert len(world.items()) == 1


def test_an_id_of_a_later_generation_is_seen_by_a_create_with_an_earlier_time() -> None:
    world = World()
    world.clock.now = SECOND_BUMP + DAY
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    with pytest.raises(AlreadyExists):
        world.store.create({"personId": "a", "name": "Ann", "created": START}, Person)


def test_a_create_takes_the_place_of_an_expired_record_in_any_generation() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann", "expires": START // 1000 + 60}, Person)
    world.clock.now = FIRST_BUMP + DAY
    person = world.store.create({"personId": "a", "name": "Bob"}, Person)
    assert world.store.get(Person, "a") == person
    assert len(world.items()) == 1, "what had expired is gone from its generation"


def test_a_record_expires_at_its_second() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann", "expires": START // 1000 + 60}, Person)
    world.clock.now = START + 59_999
    with pytest.raises(AlreadyExists):
        world.store.create({"personId": "a", "name": "Bob"}, Person)
    world.clock.now = START + 60_000
    assert world.store.get(Person, "a") is None
    assert world.store.create({"personId": "a", "name": "Bob"}, Person).name == "Bob"


def test_a_timestamp_may_be_five_minutes_ahead_and_no_more() -> None:
    world = World()
    ahead = START + 5 * MINUTE
    assert world.store.create({"text": "fast clock", "created": ahead}, Note).created == ahead
    with pytest.raises(ValueRefused, match="5 minutes ahead") as raised:
        world.store.create({"text": "wrong clock", "created": ahead + 1}, Note)
    assert raised.value.where == "created"


def test_a_record_that_begins_a_generation_early_is_found() -> None:
    world = World()
    world.clock.now = FIRST_BUMP - MINUTE
    world.store.create({"personId": "a", "name": "Ann", "created": FIRST_BUMP + MINUTE}, Person)
    assert world.store.get(Person, "a") is not None
    with pytest.raises(AlreadyExists):
        world.store.create({"personId": "a", "name": "Ann"}, Person)


def test_numbers_come_back_exact_and_of_their_type() -> None:
    world = World()
    note = world.store.create({"text": "", "weight": 0.1, "number": 7, "price": Decimal("1.50")}, Note)
    stored = world.stored(Note)
    assert stored["weight"] == Decimal("0.1")
    read = world.store.get(Note, note.note_id)
    assert read is not None
    assert (read.weight, read.number, read.price) == (0.1, 7, Decimal("1.50"))
    assert (type(read.weight), type(read.number)) == (float, int)


# -- get --------------------------------------------------------------------------------------------------------------


def test_get_is_one_request() -> None:
    world = World()
    world.store.get(Note, "a")
    world.store.get(Person, "a")
    assert world.requests() == ["GetItem", "GetItem"]
    world.clock.now = SECOND_BUMP
    world.store.get(Person, "a")
    assert world.requests() == ["BatchGet"]


def test_get_reads_consistently() -> None:
    world = World()
    world.clock.now = SECOND_BUMP
    world.store.get(Note, "a")
    world.store.get(Person, "a")
    assert all(operation.consistent for operation in world.table.calls)  # type: ignore[attr-defined]


def test_of_an_id_in_two_generations_the_newest_live_one_is_seen() -> None:
    """The store never makes two; another program may have."""
    world = World()
    world.clock.now = SECOND_BUMP
    entity = world.schema[Person]
    old = {"personId": "a", "name": "old", "nameCanonical": "old", "created": START}
    for values in (old, old | {"name": "new", "created": SECOND_BUMP, "expires": SECOND_BUMP // 1000 + 60}):
        world.inner.run(PutItem(entity.complete(values)))
    assert world.store.get(Person, "a").name == "new"  # type: ignore[union-attr]
    world.clock.now += DAY
    assert world.store.get(Person, "a").name == "old"  # type: ignore[union-attr]


def test_every_kind_of_identity_finds_its_record() -> None:
    world = World()
    version = world.store.create({"orderId": "o", "number": 2, "state": "open"}, Version)
    settings = world.store.create({"colour": "blue"}, Settings)
    assert world.store.get(Version, {"order_id": "o", "number": 2}) == version
    assert world.store.get(Version, {"orderId": "o", "number": 3}) is None
    assert world.store.get(Settings, {}) == settings
    with pytest.raises(AlreadyExists):
        world.store.create({"colour": "red"}, Settings)


def test_a_key_that_says_too_little_or_the_wrong_thing_is_refused() -> None:
    world = World()
    with pytest.raises(UnknownName, match="number is missing"):
        world.store.get(Version, {"orderId": "o"})
    with pytest.raises(UnknownName, match="does not identify"):
        world.store.get(Version, "o")
    with pytest.raises(ValidationFailed):
        world.store.get(Version, {"orderId": "o", "number": "two"})


# -- put --------------------------------------------------------------------------------------------------------------


def test_put_creates_or_replaces_the_whole_record() -> None:
    world = World()
    first = world.store.put({"personId": "a", "name": "Ann", "phone": "1"}, Person)
    second = world.store.put({"personId": "a", "name": "Bob"}, Person)
    assert (second.name, second.phone) == ("Bob", None)
    assert second.rev != first.rev
    assert world.store.get(Person, "a") == second
    assert "phone" not in world.stored(Person)


def test_put_keeps_the_stored_timestamp_and_sets_updated() -> None:
    world = World()
    world.store.create({"noteId": "a", "text": "1"}, Note)
    world.clock.now += DAY
    for given in ({}, {"created": START - DAY, "updated": START - DAY}):
        note = world.store.put({"noteId": "a", "text": "2", **given}, Note)
        assert (note.created, note.updated) == (START, START + DAY)


def test_put_of_an_id_with_another_created_time_leaves_one_record() -> None:
    world = World()
    created = world.store.create({"personId": "a", "name": "Ann"}, Person)
    world.clock.now = SECOND_BUMP + DAY
    put = world.store.put({"personId": "a", "name": "Bob", "created": SECOND_BUMP + HOUR}, Person)
    assert put.created == created.created
    assert len(world.items()) == 1
    assert sound(world)


def test_put_of_a_made_up_id_reads_nothing() -> None:
    world = World()
    world.store.put({"text": "hello"}, Note)
    assert world.requests() == ["PutItem"]


def test_put_over_an_expired_record_is_a_new_record() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann", "expires": START // 1000 + 1}, Person)
    world.clock.now = FIRST_BUMP
    assert world.store.put({"personId": "a", "name": "Bob"}, Person).created == FIRST_BUMP
    assert len(world.items()) == 1


# -- update -----------------------------------------------------------------------------------------------------------


def test_an_update_of_one_element_moves_the_record_in_its_indexes() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann", "group": "g"}, Person)
    world.store.update(Person, "a", {"name": "Bob"})
    stored = world.stored(Person)
    assert stored["nameRangeKey"] == f"nameCanonical#bob |created#{START}"
    assert stored["groupHashKey"] == "person! |group#g"
    assert sound(world)


def test_removing_an_element_removes_the_attributes_of_its_indexes() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann", "group": "g", "phone": "1"}, Person)
    person = world.store.update(Person, "a", {"group": None, "phone": None})
    assert (person.group, person.phone) == (None, None)
    assert not {"group", "groupHashKey", "phone"} & world.stored(Person).keys()
    assert sound(world)


def test_update_sets_updated_and_a_new_revision_and_nothing_else() -> None:
    world = World()
    before = world.store.create({"noteId": "a", "text": "1", "number": 3}, Note)
    world.clock.now += DAY
    after = world.store.update(Note, "a", {"text": "2"})
    assert after.rev != before.rev
    assert after.model_dump() == before.model_dump() | {"text": "2", "updated": START + DAY}


def test_update_takes_a_function_of_the_stored_record() -> None:
    world = World()
    world.store.create({"noteId": "a", "text": "", "number": 3}, Note)
    assert world.store.update(Note, "a", lambda note: {"number": note.number + 1}).number == 4


def test_update_of_nothing_is_not_found() -> None:
    world = World()
    with pytest.raises(NotFound):
        world.store.update(Note, "a", {"text": "2"})
    world.store.create({"personId": "a", "name": "Ann", "expires": START // 1000 + 1}, Person)
    world.clock.now += DAY
    with pytest.raises(NotFound):
        world.store.update(Person, "a", {"name": "Bob"})


@pytest.mark.parametrize(
    ("changes", "where"),
    [({"personId": "b"}, "personId"), ({"created": START + 1}, "created"), ({"created": None}, "created")],
)
def test_update_refuses_to_change_what_never_changes(changes: dict[str, Any], where: str) -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    with pytest.raises(ImmutableProperty) as raised:
        world.store.update(Person, "a", changes)
    assert raised.value.where == where
    assert world.store.update(Person, "a", {"personId": "a", "created": START}).name == "Ann"


def test_update_validates_the_whole_record() -> None:
    world = World()
    world.store.create({"noteId": "a", "text": "1"}, Note)
    with pytest.raises(ValidationFailed) as raised:
        world.store.update(Note, "a", {"text": None, "number": "many", "nothing": 1})
    assert {field.location for field in raised.value.fields} == {("text",), ("number",), ("nothing",)}


def test_attributes_that_the_schema_does_not_know_stay() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    world.written_behind(Person, nickname="Annie", ownerHashKey="person! |ownerId#stale")
    world.store.update(Person, "a", {"name": "Bob"})
    assert world.stored(Person)["nickname"] == "Annie"
    world.store.put({"personId": "a", "name": "Cleo"}, Person)
    assert world.stored(Person)["nickname"] == "Annie"
    assert "ownerHashKey" not in world.stored(Person), "a generated attribute of the schema is no unknown one"


def test_unknown_attributes_count_towards_the_size() -> None:
    world = World()
    world.store.create({"noteId": "a", "text": "1"}, Note)
    world.written_behind(Note, attachment="x" * 300_000)
    with pytest.raises(RecordTooLarge):
        world.store.update(Note, "a", {"text": "x" * 150_000})


def test_a_record_without_revision_can_be_changed_and_removed() -> None:
    world = World()
    world.store.create({"noteId": "a", "text": "1"}, Note)
    stray = {name: value for name, value in world.stored(Note).items() if name != "rev"}
    world.inner.run(PutItem(stray))
    assert world.store.update(Note, "a", {"text": "2"}).rev is not None
    world.inner.run(PutItem(stray))
    assert world.store.delete(Note, "a")


# -- delete -----------------------------------------------------------------------------------------------------------


def test_delete_says_whether_there_was_a_record() -> None:
    world = World()
    world.store.create({"noteId": "a", "text": "1"}, Note)
    assert world.store.delete(Note, "a")
    assert not world.store.delete(Note, "a")
    assert world.items() == []


def test_delete_finds_the_record_in_its_generation() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    world.clock.now = SECOND_BUMP + DAY
    assert world.store.delete(Person, "a")
    assert world.items() == []


def test_an_expired_record_is_nothing_to_delete() -> None:
    world = World()
    person = world.store.create({"personId": "a", "name": "Ann", "expires": START // 1000 + 1}, Person)
    world.clock.now += DAY
    assert not world.store.delete(Person, "a")
    assert not world.store.delete(Person, "a", rev=person.rev)


def test_delete_by_revision_reads_nothing_where_there_is_one_place() -> None:
    world = World()
    note = world.store.create({"noteId": "a", "text": "1"}, Note)
    world.requests()
    assert world.store.delete(Note, "a", rev=note.rev)
    assert world.requests() == ["DeleteItem"]
    assert not world.store.delete(Note, "a", rev=note.rev)


# -- revisions --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [Note, Person])
def test_an_expected_revision_must_be_the_stored_one(model: type[Entity]) -> None:
    world = World()
    key, text = ("noteId", "text") if model is Note else ("personId", "name")
    world.clock.now = FIRST_BUMP
    first = world.store.create({key: "a", text: "1"}, model)
    second = world.store.update(model, "a", {text: "2"}, rev=first.rev)
    with pytest.raises(RevisionConflict):
        world.store.update(model, "a", {text: "3"}, rev=first.rev)
    with pytest.raises(RevisionConflict):
        world.store.delete(model, "a", rev=first.rev)
    assert world.store.get(model, "a") == second
    assert world.store.delete(model, "a", rev=second.rev)
    with pytest.raises(NotFound):
        world.store.update(model, "a", {text: "3"}, rev=second.rev)
