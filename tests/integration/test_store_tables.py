"""The store on every table: the same records, conflicts and answers whatever carries the operations out."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import AlreadyExists, ImmutableProperty, NotFound, RecordUnreadable, RevisionConflict
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.store import Check, Create, Delete, Operation, Put, RetryClock, Store, Update
from shardweave.table import Table
from shardweave.table.fault_injection import WRITES, LoseAnswer, Script, SimulatedTable
from shardweave.table.operations import PutItem, Scan
from tests.integration.conftest import OpenTable
from tests.unit.api_world import CURSOR_KEYS
from tests.unit.store_world import FIRST_BUMP, SCHEMA, SECOND_BUMP, START, Address, Clock, Note, Person


class Place:
    """A store on a new table of the backend."""

    def __init__(self, open_table: OpenTable) -> None:
        self.clock = Clock()
        self.table: Table = open_table(SCHEMA.layout)
        self.store = self.store_on(self.table)

    def store_on(self, table: Table) -> Store:
        return Store(SCHEMA, table, clock=self.clock, waiting=RetryClock(sleep=lambda _: None))


@pytest.fixture
def place(open_table: OpenTable) -> Place:
    return Place(open_table)


def test_a_record_is_created_read_changed_and_removed(place: Place) -> None:
    store = place.store
    note = store.create({"text": "hello", "weight": 0.1, "number": 7}, Note)
    assert store.get(Note, note.note_id) == note
    changed = store.update(Note, note.note_id, {"text": "bye", "number": None}, rev=note.rev)
    assert (changed.text, changed.weight, changed.number) == ("bye", 0.1, None)
    with pytest.raises(RevisionConflict):
        store.update(Note, note.note_id, {"text": "again"}, rev=note.rev)
    with pytest.raises(RevisionConflict):
        store.delete(Note, note.note_id, rev=note.rev)
    assert store.delete(Note, note.note_id, rev=changed.rev)
    assert not store.delete(Note, note.note_id, rev=changed.rev)
    assert not store.delete(Note, note.note_id)
    with pytest.raises(NotFound):
        store.update(Note, note.note_id, {"text": "again"})


def test_an_id_is_unique_over_generations_and_free_when_expired(place: Place) -> None:
    store = place.store
    store.create({"personId": "a", "name": "Ann"}, Person)
    store.create({"personId": "b", "name": "Bob", "expires": START // 1000 + 60}, Person)
    place.clock.now = SECOND_BUMP
    with pytest.raises(AlreadyExists):
        store.create({"personId": "a", "name": "Ann"}, Person)
    assert store.put({"personId": "a", "name": "Cleo", "created": SECOND_BUMP}, Person).created == START
    assert store.create({"personId": "b", "name": "Dan"}, Person).created == SECOND_BUMP
    found = store.batch_get(Person, ["b", "x", "a"])
    assert [each and each.name for each in found] == ["Dan", None, "Cleo"]


def test_a_lookup_keeps_an_id_unique_over_shards(place: Place) -> None:
    store = place.store
    address = store.create({"address": "a", "ownerId": "o", "expires": START // 1000 + 60}, Address)
    assert store.get(Address, "a") == address
    with pytest.raises(AlreadyExists):
        store.create({"address": "a", "ownerId": "p"}, Address)
    with pytest.raises(ImmutableProperty):
        store.put({"address": "a", "ownerId": "p"}, Address)
    place.clock.now = FIRST_BUMP
    assert store.get(Address, "a") is None
    assert store.create({"address": "a", "ownerId": "p"}, Address).owner_id == "p"
    assert store.update(Address, "a", {"expires": FIRST_BUMP // 1000 + 60}).expires is not None
    assert store.delete(Address, "a")
    assert store.get(Address, "a") is None


def test_a_transaction_is_all_or_nothing_and_names_its_conflict(place: Place) -> None:
    store = place.store
    place.clock.now = SECOND_BUMP
    store.create({"personId": "a", "name": "Ann"}, Person)
    operations: list[Operation] = [
        Create({"text": "new"}, Note),
        Update(Person, "a", {"name": "Bob"}),
        Check(Person, "b", exists=False),
        Create({"address": "a", "ownerId": "a"}, Address),
    ]
    note, person, _, address = store.transact(operations)
    assert isinstance(note, Note)
    assert store.get(Note, note.note_id) == note
    assert store.get(Person, "a") == person
    assert store.get(Address, "a") == address
    with pytest.raises(AlreadyExists) as raised:
        store.transact([Update(Person, "a", {"name": "Cleo"}), Create({"address": "a", "ownerId": "a"}, Address)])
    assert raised.value.where == "operations[1].address"
    assert store.get(Person, "a") == person


def test_a_batch_reports_each_item(place: Place) -> None:
    store = place.store
    store.create({"address": "taken", "ownerId": "o"}, Address)
    puts = [Put({"text": str(number)}, Note) for number in range(30)]
    result = store.batch_write([*puts, Put({"address": "taken", "ownerId": "p"}, Address)], [Delete(Note, "absent")])
    assert [outcome.status for outcome in result.puts] == ["written"] * 30 + ["failed"]
    assert [outcome.status for outcome in result.deletes] == ["written"]
    ids = [outcome.record.note_id for outcome in result.puts if isinstance(outcome.record, Note)]
    assert [note and note.text for note in store.batch_get(Note, ids)] == [str(number) for number in range(30)]


def test_a_lost_answer_is_recognised(place: Place) -> None:
    place.store.create({"personId": "a", "name": "Ann"}, Person)
    place.clock.now = SECOND_BUMP
    for number in range(5):
        store = place.store_on(SimulatedTable(place.table, Script(LoseAnswer(), matching=WRITES)))
        if number == 0:
            assert store.create({"noteId": "a", "text": "1"}, Note) == place.store.get(Note, "a")
        elif number == 1:
            assert store.create({"personId": "b", "name": "Bob"}, Person) == place.store.get(Person, "b")
        elif number == 2:
            assert store.update(Person, "a", {"name": "Cleo"}) == place.store.get(Person, "a")
        elif number == 3:
            assert store.create({"address": "a", "ownerId": "o"}, Address) == place.store.get(Address, "a")
        else:
            assert store.delete(Person, "a") is True
            assert place.store.get(Person, "a") is None


DAMAGE: dict[str, tuple[dict[str, Any], str]] = {
    "a property is null": ({"text": None}, "invalid"),
    "a property is of another type": ({"text": ["sesame"]}, "invalid"),
    "a number that is none of its type": ({"number": Decimal("1.5")}, "invalid"),
    "a revision that is null": ({"rev": None}, "wrong_revision"),
    "a revision that is a number": ({"rev": 7}, "wrong_revision"),
    "the id of another record": ({"noteId": "other"}, "wrong_key"),
}


@pytest.mark.parametrize("kind", DAMAGE)
def test_a_damaged_record_is_told_and_can_be_mended(place: Place, kind: str) -> None:
    change, code = DAMAGE[kind]
    store = place.store
    for name in ("a", "b", "c"):
        store.create({"noteId": name, "text": name}, Note)
    (item,) = [each for each in place.table.run(Scan(consistent=True)).items if each.get("noteId") == "b"]
    place.table.run(PutItem({**item, **change}))
    with pytest.raises(RecordUnreadable) as failure:
        store.get(Note, "b")
    assert (failure.value.record.code, failure.value.record.key) == (code, {"noteId": "b"})
    queries = QueryRunner(SCHEMA, place.table, CURSOR_KEYS, clock=place.clock)
    page = queries.run(QuerySpec("note", index="created", limit=10))
    queries.close()
    assert sorted(each.note_id for each in page.items) == ["a", "c"]
    assert [(each.code, each.key) for each in page.unreadable] == [(code, {"noteId": "b"})]
    if code == "wrong_key":
        place.table.run(PutItem(item))
    else:
        store.put({"noteId": "b", "text": "mended"}, Note)
    assert store.get(Note, "b") is not None
    place.table.run(PutItem({**item, **change}))
    if code != "wrong_key":
        assert store.delete(Note, "b")
        assert store.get(Note, "b") is None
