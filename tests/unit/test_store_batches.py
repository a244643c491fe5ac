"""Many records at once: one outcome for each, in the order of the input."""

from __future__ import annotations

import pytest

from shardweave.errors import (
    BatchIncomplete,
    ImmutableProperty,
    InputError,
    OutcomeUnknown,
    RevisionConflict,
    ValidationFailed,
)
from shardweave.store import Delete, Put
from shardweave.table.fault_injection import LoseAnswer, LoseRequest, Meanwhile, ProcessPart, Script, Throttle
from shardweave.table.operations import BatchGet, BatchWrite, PutItem
from tests.unit.store_world import DAY, FIRST_BUMP, SECOND_BUMP, START, Address, Note, Person, World, is_consistent


def new_notes(count: int) -> list[Put]:
    return [Put({"text": str(number)}, Note) for number in range(count)]


# -- batch_get --------------------------------------------------------------------------------------------------------


def test_records_come_in_the_order_of_the_keys_with_none_for_what_is_not_there() -> None:
    world = World()
    for key in ("a", "b"):
        world.store.create({"noteId": key, "text": key}, Note)
    records = world.store.batch_get(Note, ["b", "x", "a", {"note_id": "b"}])
    assert [None if each is None else each.note_id for each in records] == ["b", None, "a", "b"]
    assert world.store.batch_get(Note, []) == []


def test_a_key_is_read_once_and_a_hundred_to_a_request() -> None:
    world = World()
    world.store.batch_get(Note, [str(number % 101) for number in range(300)])
    sizes = [len(operation.keys) for operation in world.table.calls if isinstance(operation, BatchGet)]
    assert sorted(sizes) == [1, 100], "at once, in any order"


def test_records_are_found_in_every_generation_and_never_when_expired() -> None:
    world = World()
    old = world.store.create({"personId": "old", "name": "Ann"}, Person)
    world.store.create({"personId": "gone", "name": "Ann", "expires": START // 1000 + 1}, Person)
    world.clock.now = SECOND_BUMP
    new = world.store.create({"personId": "new", "name": "Ann"}, Person)
    assert world.store.batch_get(Person, ["gone", "new", "old"]) == [None, new, old]


def test_what_the_table_leaves_unprocessed_is_asked_for_again() -> None:
    world = World(Script(ProcessPart(1), Throttle(), LoseAnswer(), ProcessPart(1), matching=[BatchGet]))
    for key in "abcd":
        world.store.create({"noteId": key, "text": key}, Note)
    assert [note and note.note_id for note in world.store.batch_get(Note, list("abcd"))] == list("abcd")
    assert len(world.pauses.slept) == 4


def test_positions_that_could_not_be_read_before_the_deadline_are_named() -> None:
    world = World(Script(ProcessPart(2), *[Throttle()] * 100, matching=[BatchGet]))
    with pytest.raises(BatchIncomplete) as raised:
        world.store.batch_get(Note, ["a", "b", "c", "a", "d", "c"], seconds=1.0)
    assert raised.value.unprocessed == (2, 4, 5)
    assert sum(world.pauses.slept) <= 1.0


# -- batch_write ------------------------------------------------------------------------------------------------------


def test_made_up_ids_go_twenty_five_to_a_request() -> None:
    world = World()
    result = world.store.batch_write(new_notes(60))
    assert result.complete
    assert world.requests() == ["BatchWrite"] * 3
    assert [outcome.record and outcome.record.text for outcome in result.puts] == [str(n) for n in range(60)]  # type: ignore[attr-defined]
    assert {note["rev"] for note in world.items()} == {outcome.record and outcome.record.rev for outcome in result.puts}


def test_given_ids_are_put_as_put_does() -> None:
    world = World()
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    world.clock.now = FIRST_BUMP + DAY
    result = world.store.batch_write(
        [Person(person_id="a", name="Bob", name_canonical="?", created=FIRST_BUMP), Put({"name": "Cleo"}, Person)]
    )
    first, second = (outcome.record for outcome in result.puts)
    assert isinstance(first, Person)
    assert isinstance(second, Person)
    assert (first.created, first.name_canonical) == (START, "bob")
    assert len(world.items()) == 2
    assert list(is_consistent(world, world.clock())) == []


def test_deletes_take_part_and_removing_nothing_is_no_fault() -> None:
    world = World()
    note = world.store.create({"noteId": "a", "text": ""}, Note)
    world.store.create({"noteId": "b", "text": ""}, Note)
    result = world.store.batch_write(
        new_notes(1), [Delete(Note, "a", rev=note.rev), Delete(Note, "b"), Delete(Note, "c")]
    )
    assert [outcome.status for outcome in result.deletes] == ["written"] * 3
    assert len(world.items()) == 1


def test_each_item_fails_on_its_own() -> None:
    world = World()
    world.store.create({"address": "taken", "ownerId": "o"}, Address)
    world.store.create({"noteId": "a", "text": ""}, Note)
    result = world.store.batch_write(
        [
            Put({"txet": "?"}, Note),
            Put({"address": "taken", "ownerId": "p"}, Address),
            Put({"text": "good"}, Note),
            Put({"address": "free", "ownerId": "p"}, Address),
        ],
        [Delete(Note, "a", rev="?")],
    )
    assert [outcome.status for outcome in result.puts] == ["failed", "failed", "written", "written"]
    assert isinstance(result.puts[0].error, ValidationFailed)
    assert isinstance(result.puts[1].error, ImmutableProperty)
    assert isinstance(result.deletes[0].error, RevisionConflict)
    assert not result.complete


def test_two_items_about_one_record_are_refused_by_position() -> None:
    world = World()
    with pytest.raises(InputError, match=r"puts\[0\] and puts\[2\]"):
        world.store.batch_write([Put({"noteId": key, "text": ""}, Note) for key in ("a", "b", "a")])
    with pytest.raises(InputError, match=r"puts\[1\] and deletes\[0\]"):
        world.store.batch_write([Put({"noteId": key, "text": ""}, Note) for key in ("a", "b")], [Delete(Note, "b")])
    assert world.requests() == []


def test_unprocessed_items_are_sent_again_and_only_those() -> None:
    world = World(Script(ProcessPart(10), Throttle(), ProcessPart(5), matching=[BatchWrite]))
    assert world.store.batch_write(new_notes(20)).complete
    sizes = [len(operation.puts) for operation in world.table.calls if isinstance(operation, BatchWrite)]
    assert sizes == [20, 10, 10, 5]
    assert len(world.items()) == 20


def test_what_is_left_at_the_deadline_is_reported_as_unprocessed() -> None:
    world = World(Script(ProcessPart(3), *[Throttle()] * 100, matching=[BatchWrite]))
    result = world.store.batch_write([*new_notes(5), Put({"noteId": "a", "text": ""}, Note)], seconds=0.5)
    assert [outcome.status for outcome in result.puts[:5]] == ["written"] * 3 + ["unprocessed"] * 2
    assert len(world.items()) == 3 + (result.puts[5].status == "written")


def test_a_lost_answer_to_a_batch_is_followed_by_conditional_writes() -> None:
    for fault in (LoseAnswer(), LoseRequest()):
        world = World(Script(fault, matching=[BatchWrite]))
        result = world.store.batch_write(new_notes(3))
        assert result.complete
        assert world.requests() == ["BatchWrite", "PutItem", "PutItem", "PutItem"]
        assert {note["rev"] for note in world.items()} == {o.record and o.record.rev for o in result.puts}


def test_an_update_made_after_a_lost_answer_is_not_undone() -> None:
    world: World

    def change_the_first() -> None:
        first = min(world.items(), key=lambda item: item["text"])
        world.other.update(Note, first["noteId"], {"text": "changed"})

    world = World(Script(LoseAnswer(), Meanwhile(change_the_first)))
    result = world.store.batch_write(new_notes(2))
    assert [outcome.status for outcome in result.puts] == ["failed", "written"]
    assert isinstance(result.puts[0].error, OutcomeUnknown)
    assert sorted(item["text"] for item in world.items()) == ["1", "changed"]


def test_records_with_a_lookup_are_written_one_transaction_each() -> None:
    world = World()
    world.store.batch_write([Put({"address": name, "ownerId": "o"}, Address) for name in "abc"])
    requests = world.requests()
    assert requests.count("TransactWrite") == 3
    assert requests.count("BatchGet") == 1, "the lookups; none of them is there to name a record"
    assert list(is_consistent(world, world.clock())) == []


def test_given_ids_are_never_written_without_a_condition() -> None:
    world = World()
    world.store.batch_write([Put({"noteId": key, "text": ""}, Note) for key in ("a", "b")])
    puts = [operation for operation in world.table.calls if isinstance(operation, PutItem)]
    assert len(puts) == 2
    assert all(put.condition is not None for put in puts)
