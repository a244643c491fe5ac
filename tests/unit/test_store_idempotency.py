"""Idempotency keys: carried out once, answered as the first time."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shardweave.errors import (
    AlreadyExists,
    HasChildren,
    IdempotencyMismatch,
    InputError,
    LimitExceeded,
    NotFound,
    RevisionConflict,
    StillInProgress,
)
from shardweave.schema.entity import Entity
from shardweave.schema.schema import Schema
from shardweave.store import Create, Delete, IdempotencyKey, KeptAnswer, Operation, Put, Update
from shardweave.table.fault_injection import Afterwards, Crash, Crashed, LoseAnswer, LoseRequest, Meanwhile, Script
from tests.unit.shop_world import Customer, Issue, Project, internal, shop, sound
from tests.unit.store_world import DAY, SECOND_BUMP, Note, World

ONCE = IdempotencyKey("key", "tenant/ann", b"POST /v1/customers {}")


def said(records: Sequence[Entity | None]) -> bytes:
    """An answer that tells everything about the records."""
    return repr([record and (record, record.rev) for record in records]).encode()


def ask(world: World, *operations: Operation, once: IdempotencyKey = ONCE) -> KeptAnswer:
    return world.store.idempotent(once, operations, said)


CASES: dict[str, Callable[[], list[Operation]]] = {
    "create, made-up id": lambda: [Create({"phone": "9"}, Customer)],
    "create, id given": lambda: [Create({"customerId": "new"}, Customer)],
    "create, numbered": lambda: [Create({"projectId": "p"}, Issue)],
    "put": lambda: [Put({"customerId": "ann", "name": "x"}, Customer)],
    "update": lambda: [Update(Customer, "ann", {"name": "x"})],
    "delete": lambda: [Delete(Customer, "ann")],
    "several": lambda: [Update(Customer, "ann", {"name": "x"}), Create({"phone": "9"}, Customer)],
    "none": list,
}
EVERY_CASE = pytest.mark.parametrize("operations", CASES.values(), ids=CASES.keys())


def filled(*faults: Any) -> World:
    script = Script()
    world = shop(script)
    world.other.create({"customerId": "ann", "phone": "1"}, Customer)
    world.other.create({"projectId": "p"}, Project)
    world.clock.now = SECOND_BUMP
    script._left = list(faults)
    world.requests()
    return world


@EVERY_CASE
def test_a_request_that_is_repeated_changes_nothing_and_is_answered_as_the_first_time(
    operations: Callable[[], list[Operation]],
) -> None:
    world = filled()
    first = ask(world, *operations())
    before = world.items()
    again = ask(world, *operations())
    assert (first.repeated, again.repeated) == (False, True)
    assert again.answer == first.answer
    assert world.items() == before
    assert sound(world)


def test_the_answer_is_that_of_the_first_time_also_when_the_record_has_changed_since() -> None:
    world = filled()
    first = ask(world, Update(Customer, "ann", {"name": "x"}))
    world.store.update(Customer, "ann", {"name": "y"})
    assert ask(world, Update(Customer, "ann", {"name": "x"})).answer == first.answer


def test_another_request_with_the_key_is_a_conflict() -> None:
    world = filled()
    ask(world, Create({"phone": "9"}, Customer))
    for once in (IdempotencyKey("key", "tenant/ann", b"another"), IdempotencyKey("key", "tenant/ann", b"")):
        with pytest.raises(IdempotencyMismatch):
            ask(world, Create({"phone": "10"}, Customer), once=once)
    assert len(world.items_of(Customer)) == 2


def test_keys_of_different_scopes_know_nothing_of_each_other() -> None:
    world = filled()
    scopes = [("key", "tenant/ann"), ("key", "tenant/bob"), ("ann", "key/tenant"), ("tenant/annkey", ""), ("k", "ey")]
    for number, (key, scope) in enumerate(scopes):
        answer = ask(world, Create({"phone": str(10 + number)}, Customer), once=IdempotencyKey(key, scope, b"same"))
        assert not answer.repeated


def test_nothing_of_scope_key_and_content_can_be_read_in_the_table() -> None:
    world = filled()
    ask(world, Create({"phone": "9"}, Customer), once=IdempotencyKey("sesame", "tenant", b"secret content"))
    (record,) = [item for item in internal(world) if item["hashKey"].startswith("_idempotency!")]
    assert not any(word in repr(record) for word in ("sesame", "tenant", "secret"))


def test_a_key_is_free_again_after_its_time() -> None:
    world = filled()
    ask(world, Create({"phone": "9"}, Customer), once=IdempotencyKey("key", "s", b"", seconds=60))
    world.clock.now += 59_000
    assert ask(world, once=IdempotencyKey("key", "s", b"")).repeated
    world.clock.now += 1_000
    assert not ask(world, Create({"phone": "10"}, Customer), once=IdempotencyKey("key", "s", b"other")).repeated


def test_the_table_removes_what_was_kept_also_where_no_entity_has_a_ttl() -> None:
    schema = Schema(entities=[Note])
    assert schema.layout.ttl_attribute == "_expires"
    world = World(schema=schema)
    ask(world, Create({"text": "x"}, Note))
    world.inner.expire((world.clock.now + 2 * DAY) / 1000)
    assert internal(world) == []


def test_a_refusal_changed_nothing_and_is_not_kept() -> None:
    world = filled()
    for operations, error in (
        ([Create({"phone": "1"}, Customer)], AlreadyExists),
        ([Delete(Customer, "nobody")], NotFound),
        ([Update(Customer, "ann", {"name": "x"}, rev="?")], RevisionConflict),
    ):
        with pytest.raises(error) as raised:
            ask(world, *operations)
        assert not raised.value.where.startswith("operations")
    with pytest.raises(AlreadyExists) as raised:
        ask(world, Create({"phone": "9"}, Customer), Create({"phone": "1"}, Customer))
    assert raised.value.where == "operations[1].phone"
    world.store.create({"projectId": "p"}, Issue)
    with pytest.raises(HasChildren):
        ask(world, Delete(Project, "p"))
    world.store.update(Customer, "ann", {"phone": None})
    assert not ask(world, Create({"phone": "1"}, Customer)).repeated


def test_the_answer_is_kept_in_the_same_transaction() -> None:
    world = filled()
    ask(world, Create({"phone": "9"}, Customer))
    assert world.requests() == ["GetItem", "TransactWrite"]
    ask(world, Create({"phone": "9"}, Customer))
    assert world.requests() == ["GetItem"]


@EVERY_CASE
@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
def test_after_a_death_at_any_request_it_is_carried_out_once(
    operations: Callable[[], list[Operation]], carried_out: bool
) -> None:
    smooth = filled()
    ask(smooth, *operations())
    for step in range(len(smooth.table.calls)):
        world = filled(*[None] * step, Crash(carried_out))
        with pytest.raises(Crashed):
            ask(world, *operations())
        ask(world, *operations())
        assert len(world.items_of(Customer)) == len(smooth.items_of(Customer))
        assert len(world.items_of(Issue)) == len(smooth.items_of(Issue))
        assert sound(world)


@EVERY_CASE
def test_of_two_at_once_one_is_carried_out_and_both_have_its_answer(
    operations: Callable[[], list[Operation]],
) -> None:
    smooth = filled()
    ask(smooth, *operations())
    for step in range(len(smooth.table.calls)):
        answers: list[bytes] = []
        world: World

        def first(answers: list[bytes] = answers) -> None:
            answers.append(world.other.idempotent(ONCE, operations(), said).answer)  # noqa: B023

        world = filled(*[None] * step, Meanwhile(first))
        assert ask(world, *operations()).answer == answers[0]
        assert len(world.items_of(Customer)) == len(smooth.items_of(Customer))
        assert sound(world)


def test_ten_at_once_are_one() -> None:
    world = filled()
    barrier = threading.Barrier(10)

    def request(_: int) -> bytes:
        barrier.wait()
        return ask(world, Create({"phone": "9"}, Customer)).answer

    with ThreadPoolExecutor(10) as pool:
        assert len(set(pool.map(request, range(10)))) == 1
    assert len(world.items_of(Customer)) == 2


@pytest.mark.parametrize("fault", [LoseRequest(), LoseAnswer()], ids=repr)
def test_an_answer_that_was_lost_is_found(fault: Any) -> None:
    world = filled(None, fault)
    assert not ask(world, Create({"phone": "9"}, Customer)).repeated
    assert len(world.items_of(Customer)) == 2


def test_a_long_answer_is_kept_in_parts() -> None:
    world = filled()
    long = secrets.token_bytes(1_000_000)
    operations = [Create({"phone": "9"}, Customer)]
    assert world.store.idempotent(ONCE, operations, lambda _: long).answer == long
    assert world.store.idempotent(ONCE, operations, said) == KeptAnswer(long, repeated=True)
    with pytest.raises(LimitExceeded):
        world.store.idempotent(IdempotencyKey("k", "", b""), operations, lambda _: secrets.token_bytes(3_200_000))
    assert world.store.idempotent(IdempotencyKey("e", "", b""), [], lambda _: b"").answer == b""
    assert world.store.idempotent(IdempotencyKey("e", "", b""), [], said).answer == b""


@pytest.mark.parametrize("key", ["", "x" * 256])
def test_a_key_has_a_length(key: str) -> None:
    with pytest.raises(InputError):
        ask(filled(), once=IdempotencyKey(key, "", b""))


def test_what_is_kept_counts_as_an_action() -> None:
    world = filled()
    assert ask(world, *[Create({"name": str(n)}, Customer) for n in range(99)]).answer
    with pytest.raises(LimitExceeded, match="101 actions"):
        ask(world, *[Create({"name": str(n)}, Customer) for n in range(100)], once=IdempotencyKey("k", "", b""))


# -- work that is more than one transaction ---------------------------------------------------------------------------


def batch(world: World) -> bytes:
    result = world.store.batch_write([Put({"customerId": str(number)}, Customer) for number in range(3)])
    return str(len(result.puts)).encode()


def test_work_is_done_once() -> None:
    world = filled()
    assert world.store.idempotent_work(ONCE, lambda: batch(world)) == KeptAnswer(b"3", repeated=False)
    assert world.store.idempotent_work(ONCE, lambda: b"never") == KeptAnswer(b"3", repeated=True)
    with pytest.raises(IdempotencyMismatch):
        world.store.idempotent_work(IdempotencyKey("key", "tenant/ann", b"other"), lambda: b"never")


def test_work_that_is_under_way_is_not_done_by_another() -> None:
    world = filled()

    def work() -> bytes:
        for attempt in (lambda: world.other.idempotent_work(ONCE, lambda: b"never"), lambda: ask(world)):
            with pytest.raises(StillInProgress):
                attempt()
        return b"done"

    assert world.store.idempotent_work(ONCE, work).answer == b"done"


def test_work_that_was_refused_can_be_tried_at_once() -> None:
    world = filled()

    def work() -> bytes:
        raise NotFound("no")

    with pytest.raises(NotFound):
        world.store.idempotent_work(ONCE, work)
    assert world.store.idempotent_work(ONCE, lambda: b"done") == KeptAnswer(b"done", repeated=False)


def test_work_whose_process_died_is_taken_over_after_a_minute() -> None:
    world = filled()

    def work() -> bytes:
        raise Crashed

    with pytest.raises(Crashed):
        world.store.idempotent_work(ONCE, work)
    with pytest.raises(StillInProgress):
        world.store.idempotent_work(ONCE, lambda: b"never")
    world.clock.now += 60_000
    assert world.store.idempotent_work(ONCE, lambda: b"done") == KeptAnswer(b"done", repeated=False)
    assert world.store.idempotent_work(ONCE, lambda: b"never") == KeptAnswer(b"done", repeated=True)


def test_of_two_that_take_work_over_one_does_it() -> None:
    world: World
    act = Meanwhile(lambda: world.other.idempotent_work(ONCE, lambda: b"other's"))
    world = filled(None, act)
    with pytest.raises(StillInProgress):
        world.store.idempotent_work(ONCE, lambda: b"never")
    assert world.store.idempotent_work(ONCE, lambda: b"never").answer == b"other's"


def test_a_lost_answer_to_the_taking_of_a_key_is_recognised() -> None:
    world = filled(None, LoseAnswer(), LoseAnswer())
    assert world.store.idempotent_work(ONCE, lambda: b"done") == KeptAnswer(b"done", repeated=False)
    world = filled(None, Afterwards(lambda: None, LoseAnswer()))
    assert world.store.idempotent_work(ONCE, lambda: b"done").answer == b"done"
