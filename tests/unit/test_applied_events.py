"""Events that are applied in one transaction with other writes: all of it is carried out, or nothing."""

from __future__ import annotations

import pytest

from shardweave.errors import (
    AlreadyExists,
    IdempotencyMismatch,
    InputError,
    LimitExceeded,
    NotFound,
    UnknownName,
)
from shardweave.schema.schema import Schema
from shardweave.store import Apply, Check, Create, IdempotencyKey, Put, Update
from shardweave.table.fault_injection import Crash, Crashed, LoseAnswer, Script, SimulatedTable
from tests.unit.read_model_world import PARCELS, Parcel, Scan, Seen, Sent, Tally
from tests.unit.store_world import START, Note, World

SCHEMA = Schema([Parcel, Scan, Tally, Note], read_models=[PARCELS])
SENT = Sent(event_id="a", position=1, parcel_id="p", owner="ann", label="L1")
SEEN = Seen(event_id="b", position=2, parcel_id="p", place="Bath")


def office() -> World:
    world = World(schema=SCHEMA)
    for store in (world.other, world.store):
        store.batch_write()
    world.requests()
    return world


def sent(world: World) -> int:
    tally = world.other.get(Tally, {})
    return 0 if tally is None else tally.sent


def test_an_event_and_other_writes_are_one_transaction() -> None:
    world = office()
    written = world.store.transact([Create(Note(note_id="n", text="sent")), Apply("parcels", SENT)])
    assert [type(each) for each in written] == [Note, type(None)]
    assert world.requests().count("TransactWrite") == 1
    assert sent(world) == 1
    assert world.store.get(Parcel, "p") is not None
    assert world.store.apply("parcels", SENT).repeated


def test_nothing_is_applied_when_another_operation_is_refused() -> None:
    world = office()
    with pytest.raises(NotFound) as refused:
        world.store.transact([Apply("parcels", SENT), Update(Note, "n", {"text": "new"})])
    assert refused.value.where == "operations[1].key"
    assert sent(world) == 0
    assert not world.store.apply("parcels", SENT).repeated


def test_with_an_event_that_was_applied_only_the_others_are_carried_out() -> None:
    world = office()
    world.store.apply("parcels", SENT)
    world.store.transact([Apply("parcels", SENT), Create(Note(note_id="n", text="sent"))])
    assert sent(world) == 1
    assert world.store.get(Note, "n") is not None
    assert world.store.transact([Apply("parcels", SENT)]) == (None,)


def test_an_event_alone_and_an_event_that_changes_one_record() -> None:
    world = office()
    assert world.store.transact([Apply("parcels", SENT)]) == (None,)
    assert world.store.write(Apply("parcels", SEEN)).record is None
    assert world.store.write(Apply("parcels", SEEN)).record is None
    tally = world.store.get(Tally, {})
    assert tally is not None
    assert (tally.sent, tally.seen) == (1, 1)


def test_a_death_at_any_request_leaves_all_or_nothing_and_a_repetition_completes_it() -> None:
    for carried_out in (False, True):
        step, died = 0, True
        while died:
            world = office()
            world.table = SimulatedTable(world.inner, Script(*[None] * step, Crash(carried_out)))
            store = world.new_store(world.table)
            died = False
            operations = [Put(Note(note_id="n", created=START, text="sent")), Apply("parcels", SENT)]
            try:
                store.transact(operations)
            except Crashed:
                died = True
                assert sent(world) == (world.other.get(Note, "n") is not None)
                world.other.transact(operations)
            assert sent(world) == 1
            step += 1
        assert step > 3


def test_a_lost_answer_counts_once() -> None:
    world = office()
    world.table = SimulatedTable(world.inner, Script(None, None, LoseAnswer(), LoseAnswer(), LoseAnswer()))
    world.new_store(world.table).transact([Apply("parcels", SENT), Put(Note(note_id="n", created=START, text="sent"))])
    assert sent(world) == 1


def test_a_request_with_an_idempotency_key_may_apply_events() -> None:
    world = office()
    once = IdempotencyKey("k", "scope", b"request")
    operations = [Apply("parcels", SENT), Put(Note(note_id="n", created=START, text="sent"))]
    first = world.store.execute(operations, once, lambda written: str(len(written)).encode())
    again = world.store.execute(operations, once, lambda written: b"another")
    assert (first, again) == (b"2", b"2")
    other = world.store.execute(operations, None, lambda written: str(len(written)).encode())
    assert (other, sent(world)) == (b"2", 1)


def test_what_is_wrong_with_an_event_names_its_operation_and_writes_nothing() -> None:
    world = office()
    world.store.apply("parcels", SENT)
    world.store.create(Parcel(parcel_id="q", owner="bob", label="L2"))
    before = world.items()
    note = Create(Note(note_id="n", text="sent"))
    other = SENT.model_copy(update={"owner": "bob"})
    taken = Sent(event_id="t", position=1, parcel_id="r", owner="ann", label="L2")
    for kind, wrong in {
        UnknownName: [Apply("letters", SENT)],
        IdempotencyMismatch: [Apply("parcels", other)],
        InputError: [Apply("parcels", SEEN), Apply("parcels", SEEN)],
        AlreadyExists: [Apply("parcels", taken)],
    }.items():
        with pytest.raises(kind) as refused:
            world.store.transact([note, *wrong])
        assert (refused.value.where or "").startswith(f"operations[{len(wrong)}]")
        assert world.items() == before
    with pytest.raises(InputError, match="are about the same parcel") as refused:
        world.store.transact([Apply("parcels", SEEN), Apply("parcels", SEEN.model_copy(update={"event_id": "c"}))])
    assert refused.value.where == "operations[1]"
    with pytest.raises(LimitExceeded):
        world.store.transact(
            [*[Check(Note, f"n{number}", exists=False) for number in range(98)], Apply("parcels", SEEN)]
        )
    assert world.items() == before
