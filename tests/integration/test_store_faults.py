"""What the store does when the table does not answer, throttles, conflicts, or another writer is faster.

Each write is tried with each fault at each of its requests. However it goes, the write happens once or not at all,
and what is reported is what happened.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import (
    AlreadyExists,
    NotFound,
    OutcomeUnknown,
    RevisionConflict,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
)
from shardweave.schema.entity import Entity
from shardweave.store import Check, Create, Delete, Put, Update
from shardweave.table.fault_injection import (
    WRITES,
    Afterwards,
    Call,
    Crash,
    Crashed,
    DeliverLate,
    Fault,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
    MeetTransaction,
    Script,
    Seeded,
    Throttle,
)
from shardweave.table.operations import BatchGet, GetItem, PutItem
from shardweave.table.stream_operations import StreamRead, StreamShards
from tests.unit.store_world import FIRST_BUMP, SECOND_BUMP, Address, Note, Person, World, is_consistent

Write = Callable[[World], object]


def update_person(world: World, **changes: Any) -> Person:
    return world.store.update(Person, "a", changes or {"name": "Bob"})


WRITE_CASES: dict[str, Write] = {
    "create, made-up id": lambda world: world.store.create({"text": "1"}, Note),
    "create, one generation": lambda world: world.store.create({"noteId": "new", "text": "1"}, Note),
    "create, three generations": lambda world: world.store.create({"personId": "new", "name": "x"}, Person),
    "create, with a lookup": lambda world: world.store.create({"address": "new", "ownerId": "o"}, Address),
    "create, over a lookup": lambda world: world.store.create({"address": "expired", "ownerId": "p"}, Address),
    "put, new": lambda world: world.store.put({"personId": "new", "name": "x"}, Person),
    "put, over": lambda world: world.store.put({"personId": "a", "name": "x"}, Person),
    "update": update_person,
    "update, by revision": lambda world: world.store.update(
        Person, "a", {"name": "x"}, rev=revision_of(world, Person, "a")
    ),
    "update, with a lookup": lambda world: world.store.update(Address, "a", {"expires": SECOND_BUMP // 1000 + 99}),
    "delete": lambda world: world.store.delete(Person, "a"),
    "delete, by revision": lambda world: world.store.delete(Note, "a", rev=revision_of(world, Note, "a")),
    "delete, with a lookup": lambda world: world.store.delete(Address, "a"),
    "transact": lambda world: world.store.transact(
        [
            Create({"text": "1"}, Note),
            Put({"personId": "new", "name": "x"}, Person),
            Update(Person, "a", {"name": "x"}),
            Delete(Address, "a"),
            Check(Note, "a"),
        ]
    ),
    "transact, deletes": lambda world: world.store.transact([Delete(Person, "a"), Delete(Note, "a")]),
    "batch, made-up ids": lambda world: world.store.batch_write([Put({"text": text}, Note) for text in "123"]),
    "batch, given ids": lambda world: world.store.batch_write(
        [Put({"personId": key, "name": "x"}, Person) for key in ("a", "new")], [Delete(Note, "a")]
    ),
}

EVERY_WRITE = pytest.mark.parametrize("write", WRITE_CASES.values(), ids=WRITE_CASES.keys())
RAISING = {name: write for name, write in WRITE_CASES.items() if not name.startswith("batch")}
EVERY_RAISING_WRITE = pytest.mark.parametrize("write", RAISING.values(), ids=RAISING.keys())


def filled(faults: Script | Seeded | None = None) -> World:
    """A world with a record of each kind in an early generation, now in the last one."""
    world = World(faults)
    world.other.create({"noteId": "a", "text": "0"}, Note)
    world.other.create({"address": "expired", "ownerId": "o", "expires": FIRST_BUMP // 1000}, Address)
    world.clock.now = FIRST_BUMP
    world.other.create({"personId": "a", "name": "Ann", "group": "g"}, Person)
    world.other.create({"address": "a", "ownerId": "o"}, Address)
    world.clock.now = SECOND_BUMP
    return world


def revision_of(world: World, model: type[Entity], key: str) -> str | None:
    record = world.other.get(model, key)
    assert record is not None
    return record.rev


def content(world: World) -> list[dict[str, Any]]:
    """What is in the table, without what is random."""
    made_up = ("rev", "noteId", "rangeKey", "hashKey")
    return sorted(
        ({name: value for name, value in item.items() if name not in made_up} for item in world.items()), key=repr
    )


def changes(world: World) -> int:
    """How many changes the table has seen."""
    (shard,) = world.inner.run(StreamShards())
    return len(world.inner.run(StreamRead(shard.id, limit=1000)).records)


FAULTS: dict[str, list[Fault]] = {
    "the request is lost": [LoseRequest()],
    "the answer is lost": [LoseAnswer()],
    "the answer is lost twice": [LoseAnswer(), LoseAnswer()],
    "the answer is lost, then the request": [LoseAnswer(), LoseRequest()],
    "throttled": [Throttle()],
    "throttled after a lost answer": [LoseAnswer(), Throttle()],
    "a transaction is in progress": [MeetTransaction()],
    "a transaction is in progress after a lost answer": [LoseAnswer(), MeetTransaction()],
}


@EVERY_WRITE
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_at_any_write_changes_nothing_of_the_outcome(write: Write, faults: list[Fault]) -> None:
    smooth = filled()
    write(smooth)
    steps = sum(isinstance(operation, WRITES) for operation in smooth.table.calls)
    for step in range(steps):
        world = filled(Script(*[None] * step, *faults, matching=WRITES))
        outcome = write(world)
        assert content(world) == content(smooth)
        assert changes(world) == changes(smooth), "nothing happens twice"
        assert list(is_consistent(world, world.clock())) == []
        if isinstance(outcome, Entity):
            assert any(item.get("rev") == outcome.rev for item in world.items())


@EVERY_WRITE
def test_a_read_that_fails_is_made_again(write: Write) -> None:
    smooth = filled()
    write(smooth)
    for faults in ([LoseRequest()], [LoseAnswer()], [Throttle(), Throttle()]):
        world = filled(Script(*faults, matching=[GetItem, BatchGet]))
        write(world)
        assert content(world) == content(smooth)


@EVERY_RAISING_WRITE
@pytest.mark.parametrize("fault", [LoseRequest(), LoseAnswer()], ids=["requests", "answers"])
def test_a_write_that_never_gets_an_answer_has_an_unknown_outcome(write: Write, fault: Fault) -> None:
    world = filled(Script(*[fault] * 1000, matching=WRITES))
    with pytest.raises(OutcomeUnknown):
        write(world)
    assert len(world.pauses.slept) == 9
    assert len({id(operation) for operation in world.table.calls if isinstance(operation, WRITES)}) == 1, (
        "the very same request is sent every time"
    )


@EVERY_RAISING_WRITE
def test_a_write_that_is_only_throttled_has_not_happened(write: Write) -> None:
    world = filled(Script(*[Throttle()] * 1000, matching=WRITES))
    before = world.items()
    with pytest.raises(Throttled):
        write(world)
    assert world.items() == before


def test_conflicts_with_transactions_end_as_what_they_are() -> None:
    world = filled(Script(*[MeetTransaction()] * 1000, matching=WRITES))
    with pytest.raises(TransactionConflict):
        update_person(world)
    world = filled(Script(*[MeetTransaction()] * 1000, matching=WRITES))
    with pytest.raises(TransactionCanceled):
        world.store.create({"personId": "b", "name": "x"}, Person)


def test_a_failure_after_a_lost_answer_leaves_the_outcome_unknown() -> None:
    class Refuse:
        def execute(self, call: Call) -> Any:
            raise PermissionProblem

    class PermissionProblem(ShardweaveError):
        def __init__(self) -> None:
            super().__init__("no")

    with pytest.raises(PermissionProblem):
        update_person(filled(Script(Refuse(), matching=WRITES)))
    with pytest.raises(OutcomeUnknown):
        update_person(filled(Script(LoseRequest(), Refuse(), matching=WRITES)))


def test_a_transaction_still_in_progress_is_asked_for_again() -> None:
    class InProgress:
        def execute(self, call: Call) -> Any:
            raise TransactionInProgress("it is still running")

    world = filled(Script(LoseAnswer(), InProgress(), matching=WRITES))
    assert world.store.create({"personId": "b", "name": "x"}, Person).rev is not None


# -- others in between ------------------------------------------------------------------------------------------------


def test_an_update_without_revision_is_made_on_what_is_there() -> None:
    world: World
    world = filled(Script(Meanwhile(lambda: world.other.update(Person, "a", {"phone": "1"})), matching=WRITES))
    person = update_person(world)
    assert (person.name, person.phone) == ("Bob", "1")


def test_an_update_that_is_always_overtaken_gives_up() -> None:
    world: World
    act = Meanwhile(lambda: world.other.update(Person, "a", {"phone": "1"}))
    world = filled(Script(*[act] * 1000, matching=WRITES))
    with pytest.raises(RevisionConflict, match="kept being changed"):
        update_person(world)
    assert len(world.pauses.slept) == 39


def test_an_update_with_a_revision_is_not_made_again() -> None:
    world: World
    world = filled(Script(Meanwhile(lambda: world.other.update(Person, "a", {"phone": "1"})), matching=WRITES))
    with pytest.raises(RevisionConflict):
        world.store.update(Person, "a", {"name": "Bob"}, rev=revision_of(world, Person, "a"))
    assert world.other.get(Person, "a").name == "Ann"  # type: ignore[union-attr]


def test_a_delete_does_not_remove_what_was_created_since() -> None:
    world: World

    def create_again() -> None:
        world.other.delete(Note, "a")
        world.other.create({"noteId": "a", "text": "again"}, Note)

    world = filled(Script(Meanwhile(create_again), matching=WRITES))
    rev = revision_of(world, Note, "a")
    with pytest.raises(RevisionConflict):
        world.store.delete(Note, "a", rev=rev)
    assert world.stored(Note)["text"] == "again"


def test_of_two_deletes_one_removes_the_record() -> None:
    world: World
    world = filled(Script(Meanwhile(lambda: world.other.delete(Person, "a")), matching=WRITES))
    assert world.store.delete(Person, "a") is False


def test_a_put_that_is_overtaken_by_a_create_replaces_it() -> None:
    world: World
    act = Meanwhile(lambda: world.other.create({"personId": "b", "name": "first", "created": FIRST_BUMP}, Person))
    world = filled(Script(act, matching=WRITES))
    person = world.store.put({"personId": "b", "name": "second"}, Person)
    assert (person.name, person.created) == ("second", FIRST_BUMP)
    assert list(is_consistent(world, world.clock())) == []


def test_a_put_that_is_overtaken_by_a_delete_creates() -> None:
    world: World
    world = filled(Script(Meanwhile(lambda: world.other.delete(Address, "a")), matching=WRITES))
    address = world.store.put({"address": "a", "ownerId": "o"}, Address)
    assert address.created == SECOND_BUMP
    assert list(is_consistent(world, world.clock())) == []


def test_of_two_creates_over_a_lookup_left_behind_one_wins() -> None:
    world: World
    act = Meanwhile(lambda: world.other.create({"address": "expired", "ownerId": "q"}, Address))
    world = filled(Script(None, act, matching=WRITES))
    with pytest.raises(AlreadyExists):
        world.store.create({"address": "expired", "ownerId": "p"}, Address)
    assert list(is_consistent(world, world.clock())) == []


# -- an answer is lost, and then another writer is there --------------------------------------------------------------

AFTER_A_LOST_ANSWER: list[tuple[str, Write, Write]] = [
    (
        "create, then changed",
        lambda world: world.store.create({"noteId": "b", "text": "1"}, Note),
        lambda world: world.other.update(Note, "b", {"text": "2"}),
    ),
    (
        "update, then changed",
        lambda world: world.store.update(Note, "a", {"text": "1"}),
        lambda world: world.other.update(Note, "a", {"text": "2"}),
    ),
    (
        "update, then removed",
        lambda world: world.store.update(Note, "a", {"text": "1"}),
        lambda world: world.other.delete(Note, "a"),
    ),
    (
        "delete, then created",
        lambda world: world.store.delete(Note, "a"),
        lambda world: world.other.create({"noteId": "a", "text": "2"}, Note),
    ),
]


@pytest.mark.parametrize(
    ("write", "other"), [a[1:] for a in AFTER_A_LOST_ANSWER], ids=[a[0] for a in AFTER_A_LOST_ANSWER]
)
def test_a_single_write_does_not_guess(write: Write, other: Write) -> None:
    world: World
    world = filled(Script(Afterwards(lambda: other(world), LoseAnswer()), matching=WRITES))
    with pytest.raises(OutcomeUnknown):
        write(world)
    assert sum(isinstance(operation, WRITES) for operation in world.table.calls) == 2


def test_a_transaction_knows_by_its_token() -> None:
    world: World
    act = Afterwards(lambda: world.other.update(Person, "b", {"name": "later"}), LoseAnswer())
    world = filled(Script(act, matching=WRITES))
    assert world.store.create({"personId": "b", "name": "x"}, Person).name == "x"
    assert world.other.get(Person, "b").name == "later"  # type: ignore[union-attr]


def test_a_lost_answer_is_recognised_by_the_revision_where_there_is_no_token() -> None:
    class ForgetToken:
        def execute(self, call: Call) -> Any:
            call.run(replace(call.operation, token="f" * 32))  # type: ignore[type-var]
            raise TableUnavailable("the answer was lost")

    for write in (WRITE_CASES["create, three generations"], WRITE_CASES["transact"]):
        smooth = filled()
        write(smooth)
        world = filled(Script(ForgetToken(), matching=WRITES))
        write(world)
        assert content(world) == content(smooth)


@EVERY_WRITE
def test_a_request_that_arrives_late_changes_nothing(write: Write) -> None:
    world = filled(Script(DeliverLate(), matching=WRITES))
    write(world)
    before = world.items()
    world.table.deliver_late()
    assert world.items() == before


# -- the process dies -------------------------------------------------------------------------------------------------


@EVERY_WRITE
@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
def test_a_death_at_any_request_leaves_a_sound_table(write: Write, carried_out: bool) -> None:
    smooth = filled()
    write(smooth)
    for step in range(len(smooth.table.calls)):
        world = filled(Script(*[None] * step, Crash(carried_out)))
        with pytest.raises(Crashed):
            write(world)
        assert list(is_consistent(world, world.clock())) == []


# -- all together -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(20))
def test_under_random_faults_every_report_is_true(seed: int) -> None:
    rates: dict[Fault, float] = {LoseRequest(): 0.1, LoseAnswer(): 0.1, Throttle(): 0.1, MeetTransaction(): 0.05}
    world = filled(Seeded(seed, rates, matching=WRITES))
    for number in range(30):
        key = str(number % 5)
        current = world.other.get(Person, key)
        if number % 7 == 6:
            assert world.store.delete(Person, key) is (current is not None)
            assert world.other.get(Person, key) is None
        elif number % 3 == 0:
            put = world.store.put({"personId": key, "name": str(number)}, Person)
            assert world.other.get(Person, key) == put
        elif current is None:
            with pytest.raises(NotFound):
                world.store.update(Person, key, {"name": "x"})
            assert world.store.create({"personId": key, "name": "x"}, Person) == world.other.get(Person, key)
        else:
            with pytest.raises(AlreadyExists):
                world.store.create({"personId": key, "name": "x"}, Person)
            updated = world.store.update(Person, key, {"phone": str(number)}, rev=current.rev)
            assert world.other.get(Person, key) == updated
        assert list(is_consistent(world, world.clock())) == []


def test_nothing_but_made_up_ids_is_ever_written_without_a_condition() -> None:
    for name, write in WRITE_CASES.items():
        world = filled()
        write(world)
        assert all(put.condition is not None for put in world.table.calls if isinstance(put, PutItem)), name
