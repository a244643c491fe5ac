"""Many writers at once, in threads and in processes' worth of stores on one file: nothing is lost, nothing twice."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shardweave.errors import AlreadyExists, Conflict, NotFound
from shardweave.store import Create, Delete, Operation, Store, Update
from shardweave.table.embedded import EmbeddedTable
from tests.unit.store_world import SCHEMA, SECOND_BUMP, START, Address, Clock, Note, Person

WRITERS = 6
LATER = SECOND_BUMP // 1000 + 999_999


@pytest.fixture
def stores(tmp_path: Path) -> Iterator[list[Store]]:
    """Stores with a table of their own each, all on one file, as processes have it; their clocks differ."""
    tables = [EmbeddedTable(SCHEMA.layout, tmp_path / "table") for _ in range(WRITERS)]
    yield [Store(SCHEMA, table, clock=Clock(SECOND_BUMP + 60_000 * at)) for at, table in enumerate(tables)]
    for table in tables:
        table.close()


def at_once(act: Callable[[int], object]) -> list[object]:
    """What `act` gives, or the conflict it raises, for each writer, all started together."""
    barrier = threading.Barrier(WRITERS)

    def run(writer: int) -> object:
        barrier.wait()
        try:
            return act(writer)
        except (Conflict, NotFound) as conflict:
            return conflict

    with ThreadPoolExecutor(WRITERS) as pool:
        return list(pool.map(run, range(WRITERS)))


def test_increments_without_a_revision_are_never_lost(stores: list[Store]) -> None:
    stores[0].create({"noteId": "a", "text": "", "number": 0}, Note)

    def increment(writer: int) -> None:
        for _ in range(20):
            stores[writer].update(Note, "a", lambda note: {"number": note.number + 1})

    assert at_once(increment) == [None] * WRITERS
    note = stores[0].get(Note, "a")
    assert note is not None
    assert note.number == 20 * WRITERS


def test_updates_of_different_properties_all_stay(stores: list[Store]) -> None:
    stores[0].create({"personId": "a", "name": "Ann"}, Person)
    changes = [
        {"name": "Bob"},
        {"group": "g"},
        {"phone": "1"},
        {"expires": LATER},
        {"name": "Bob"},
        {"group": "g"},
    ]
    at_once(lambda writer: stores[writer].update(Person, "a", changes[writer]))
    person = stores[0].get(Person, "a")
    assert person is not None
    assert (person.name, person.group, person.phone, person.expires) == ("Bob", "g", "1", LATER)


@pytest.mark.parametrize("kind", ["note", "person", "address"])
def test_of_many_creates_of_one_id_exactly_one_wins(stores: list[Store], kind: str) -> None:
    for number in range(10):

        def create(writer: int, key: str = f"id-{number}") -> object:
            store = stores[writer]
            if kind == "note":
                return store.create({"noteId": key, "text": str(writer)}, Note)
            if kind == "person":
                # Each writer means another generation.
                created = START + writer * (SECOND_BUMP - START) // WRITERS
                return store.create({"personId": key, "name": str(writer), "created": created}, Person)
            return store.create({"address": key, "ownerId": str(writer)}, Address)

        outcomes = at_once(create)
        assert sum(isinstance(outcome, AlreadyExists) for outcome in outcomes) == WRITERS - 1
        model = {"note": Note, "person": Person, "address": Address}[kind]
        (winner,) = [outcome for outcome in outcomes if not isinstance(outcome, AlreadyExists)]
        assert stores[0].get(model, f"id-{number}") == winner


def test_of_many_deletes_exactly_one_removes(stores: list[Store]) -> None:
    for number in range(10):
        stores[0].create({"personId": str(number), "name": "Ann"}, Person)
        outcomes = at_once(lambda writer, key=str(number): stores[writer].delete(Person, key))  # type: ignore[misc]
        assert sorted(map(str, outcomes)) == ["False"] * (WRITERS - 1) + ["True"]


def test_puts_of_one_id_leave_one_record(stores: list[Store]) -> None:
    for number in range(5):
        key = str(number)
        puts = at_once(lambda writer, key=key: stores[writer].put({"personId": key, "name": str(writer)}, Person))  # type: ignore[misc]
        assert all(isinstance(each, Person) for each in puts)
        assert len({each.created for each in puts if isinstance(each, Person)}) == 1
        assert stores[0].get(Person, key) in puts
        assert stores[0].delete(Person, key)
        assert stores[0].get(Person, key) is None, "there was no second one"


def test_transactions_that_cross_keep_the_sum(stores: list[Store]) -> None:
    for key in "ab":
        stores[0].create({"noteId": key, "text": "", "number": 100}, Note)

    def move(writer: int) -> None:
        source, target = ("a", "b") if writer % 2 else ("b", "a")
        for _ in range(10):
            operations: list[Operation] = [
                Update(Note, source, lambda note: {"number": note.number - 1}),
                Update(Note, target, lambda note: {"number": note.number + 1}),
            ]
            stores[writer].transact(operations)

    assert at_once(move) == [None] * WRITERS
    notes = stores[0].batch_get(Note, ["a", "b"])
    assert [note and note.number for note in notes] == [100, 100]


def test_an_id_that_is_moved_by_deleting_and_creating_is_never_in_two_places(stores: list[Store]) -> None:
    stores[0].create({"address": "a", "ownerId": "0"}, Address)

    def move(writer: int) -> None:
        for _ in range(10):
            try:
                stores[writer].delete(Address, "a")
                stores[writer].create({"address": "a", "ownerId": str(writer)}, Address)
            except AlreadyExists:
                continue

    at_once(move)
    assert stores[0].delete(Address, "a") in (True, False)
    created = stores[0].create({"address": "a", "ownerId": "last"}, Address)
    assert stores[0].get(Address, "a") == created


def test_a_check_and_a_write_are_one(stores: list[Store]) -> None:
    """A child is created only with its parent there, a parent is removed by one of many: no child without parent
    whose creation came after."""
    for number in range(5):
        parent = f"parent-{number}"
        stores[0].create({"noteId": parent, "text": ""}, Note)

        def act(writer: int, parent: str = parent) -> object:
            if writer == 0:
                return stores[0].transact([Delete(Note, parent)])
            child = {"noteId": f"{parent}-{writer}", "text": ""}
            return stores[writer].transact([Update(Note, parent, {"number": writer}), Create(child, Note)])

        outcomes = at_once(act)
        created = [not isinstance(outcome, Exception) for outcome in outcomes]
        children = stores[0].batch_get(Note, [f"{parent}-{writer}" for writer in range(1, WRITERS)])
        assert [child is not None for child in children] == created[1:]
        assert created[0]
        assert stores[0].get(Note, parent) is None
