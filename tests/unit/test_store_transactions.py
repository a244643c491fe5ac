"""Several operations at once: all or none, counted before they are sent, and every conflict named by its operation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from services import user_service
from services.user_service import Email, User
from shardweave.errors import (
    AlreadyExists,
    ImmutableProperty,
    InputError,
    LimitExceeded,
    NotFound,
    RevisionConflict,
    ShardweaveError,
    ValidationFailed,
)
from shardweave.schema.entity import nanoid
from shardweave.store import Check, Create, Delete, Operation, Put, Update
from shardweave.table.fault_injection import WRITES, Meanwhile, Script
from shardweave.table.operations import TransactWrite
from tests.unit.store_world import SECOND_BUMP, START, Address, Note, Person, World, is_consistent


def sign_up(user_id: str, email: str) -> list[Operation]:
    user = {"userId": user_id, "beneficiaryId": "b", "firstName": "Jason", "lastName": "Williscroft"}
    return [Create(user, User), Create({"email": email, "userId": user_id}, Email)]


def test_signing_up_writes_the_user_and_the_email_together() -> None:
    world = World(schema=user_service.schema())
    user_id = nanoid()
    user, email = world.store.transact(sign_up(user_id, "Jason@Example.org"))
    assert world.store.get(User, user_id) == user
    assert world.store.get(Email, "jason@example.org") == email
    assert world.requests()[0] == "TransactWrite"


def test_signing_up_with_an_email_that_is_taken_writes_nothing_and_says_which() -> None:
    world = World(schema=user_service.schema())
    world.store.transact(sign_up(nanoid(), "jason@example.org"))
    before = world.items()
    with pytest.raises(AlreadyExists) as raised:
        world.store.transact(sign_up(nanoid(), "jason@example.org"))
    assert raised.value.where == "operations[1].email"
    assert world.items() == before


def test_every_operation_takes_part() -> None:
    world = World()
    world.clock.now = SECOND_BUMP
    for key in ("kept", "changed", "removed", "put"):
        world.store.create({"personId": key, "name": "Ann"}, Person)
    operations: list[Operation] = [
        Create({"text": "new"}, Note),
        Put({"personId": "put", "name": "Bob"}, Person),
        Update(Person, "changed", {"name": "Cleo"}),
        Delete(Person, "removed"),
        Check(Person, "kept"),
        Check(Person, "absent", exists=False),
        Create({"address": "a", "ownerId": "o"}, Address),
    ]
    note, put, changed, removed, kept, absent, address = world.store.transact(operations)
    assert (removed, kept, absent) == (None, None, None)
    assert isinstance(note, Note)
    assert world.store.get(Note, note.note_id) == note
    assert world.store.get(Person, "put") == put
    assert world.store.get(Person, "changed") == changed
    assert world.store.get(Person, "removed") is None
    assert world.store.get(Address, "a") == address
    assert list(is_consistent(world, world.clock())) == []


def test_no_operations_are_no_request() -> None:
    world = World()
    assert world.store.transact([]) == ()
    assert world.requests() == []


REFUSED: list[tuple[str, Operation, type[ShardweaveError], str]] = [
    ("create of what exists", Create({"personId": "a", "name": "x"}, Person), AlreadyExists, "personId"),
    ("update of nothing", Update(Person, "z", {"name": "x"}), NotFound, "key"),
    ("update of another revision", Update(Person, "a", {"name": "x"}, rev="?"), RevisionConflict, "rev"),
    ("update of the id", Update(Person, "a", {"personId": "x"}), ImmutableProperty, "personId"),
    ("update to nonsense", Update(Person, "a", {"name": 3}), ValidationFailed, "person"),
    ("delete of nothing", Delete(Person, "z"), NotFound, "key"),
    ("delete of another revision", Delete(Person, "a", rev="?"), RevisionConflict, "rev"),
    ("check of nothing", Check(Person, "z"), NotFound, "key"),
    ("check of another revision", Check(Person, "a", rev="?"), RevisionConflict, "rev"),
    ("check that nothing is there", Check(Person, "a", exists=False), AlreadyExists, "personId"),
    ("create of nonsense", Create({"name": 3}, Person), ValidationFailed, "person"),
]


@pytest.mark.parametrize(("operation", "error", "where"), [r[1:] for r in REFUSED], ids=[r[0] for r in REFUSED])
@pytest.mark.parametrize("now", [START, SECOND_BUMP], ids=["one generation", "three generations"])
def test_one_refused_operation_is_named_and_nothing_is_written(
    operation: Operation, error: type[ShardweaveError], where: str, now: int
) -> None:
    world = World()
    world.clock.now = now
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    before = world.items()
    with pytest.raises(error) as raised:
        world.store.transact([Create({"text": "never"}, Note), operation])
    assert raised.value.where == f"operations[1].{where}"
    assert world.items() == before


MEANWHILE: list[tuple[str, Operation, Callable[[World], object], type[ShardweaveError]]] = [
    ("checked and removed", Check(Person, "a"), lambda world: world.other.delete(Person, "a"), NotFound),
    (
        "checked absent and created",
        Check(Person, "b", exists=False),
        lambda world: world.other.create({"personId": "b", "name": "x"}, Person),
        AlreadyExists,
    ),
    ("updated and removed", Update(Person, "a", {"name": "x"}), lambda w: w.other.delete(Person, "a"), NotFound),
]


@pytest.mark.parametrize(("operation", "act", "error"), [m[1:] for m in MEANWHILE], ids=[m[0] for m in MEANWHILE])
def test_what_was_read_must_still_hold_when_it_is_written(
    operation: Operation, act: Callable[[World], object], error: type[ShardweaveError]
) -> None:
    world: World
    world = World(Script(None, Meanwhile(lambda: act(world)), matching=WRITES))
    world.clock.now = SECOND_BUMP
    world.store.create({"personId": "a", "name": "Ann"}, Person)
    with pytest.raises(error) as raised:
        world.store.transact([Create({"text": "never"}, Note), operation])
    assert raised.value.where.startswith("operations[1]")
    assert world.items_of(Note) == []


def test_an_update_that_another_writer_overtakes_is_made_again_on_what_is_there() -> None:
    world: World
    world = World(Script(None, Meanwhile(lambda: world.other.update(Note, "a", {"number": 5})), matching=WRITES))
    world.store.create({"noteId": "a", "text": "1", "number": 1}, Note)
    (note, _) = world.store.transact(
        [Update(Note, "a", lambda stored: {"number": stored.number + 1}), Create({"text": "2"}, Note)]
    )
    assert isinstance(note, Note)
    assert note.number == 6


def test_two_operations_on_one_record_are_refused() -> None:
    world = World()
    with pytest.raises(InputError, match=r"operations\[0\] and operations\[2\]") as raised:
        world.store.transact([Check(Person, "a"), Create({"personId": "b", "name": "x"}, Person), Delete(Person, "a")])
    assert raised.value.where == "operations[2]"
    assert world.requests() == []


def test_a_revision_of_a_record_that_must_not_exist_is_refused() -> None:
    world = World()
    note = world.store.create({"text": "a"}, Note)
    for key in (note.note_id, "absent"):
        with pytest.raises(InputError) as raised:
            world.store.transact([Create({"text": "b"}, Note), Check(Note, key, rev=note.rev, exists=False)])
        assert raised.value.where == "operations[1].rev"


def test_a_hundred_records_are_one_transaction() -> None:
    world = World()
    most = [Create({"text": str(number)}, Note) for number in range(100)]
    assert len(world.store.transact(most)) == 100
    world.requests()
    with pytest.raises(LimitExceeded, match="101 actions") as refused:
        world.store.transact([Create({"text": str(number)}, Note) for number in range(101)])
    assert refused.value.fix == "write at most 100 of its 101 operations at once"
    assert world.requests() == []


def test_lookups_and_the_same_id_in_other_generations_count_too() -> None:
    world = World()
    world.clock.now = SECOND_BUMP
    # The record, its lookup, and its id in two other generations.
    world.store.transact([Create({"address": str(number), "ownerId": "o"}, Address) for number in range(25)])
    with pytest.raises(LimitExceeded, match="104 actions") as refused:
        world.store.transact([Create({"address": f"x{number}", "ownerId": "o"}, Address) for number in range(26)])
    assert refused.value.fix == "write at most 25 of its 26 operations at once"


def test_more_than_four_megabytes_are_refused() -> None:
    world = World()

    def creates(count: int) -> list[Any]:
        return [Create({"text": "x" * 390_000}, Note) for _ in range(count)]

    world.store.transact(creates(10))
    world.requests()
    with pytest.raises(LimitExceeded, match="bytes") as refused:
        world.store.transact(creates(11))
    assert refused.value.fix == "write at most 10 of its 11 operations at once"
    assert world.requests() == []


def test_a_transaction_has_a_token_of_its_own() -> None:
    world = World()
    for _ in range(2):
        world.store.transact([Create({"text": "1"}, Note), Create({"text": "2"}, Note)])
    tokens = {operation.token for operation in world.table.calls if isinstance(operation, TransactWrite)}
    assert len(tokens) == 2
    assert all(token is not None and len(token) == 32 for token in tokens)
