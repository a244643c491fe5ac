"""The table that misbehaves on purpose does so exactly as told."""

from __future__ import annotations

import pytest

from shardweave.errors import ConditionFailed, TableUnavailable, Throttled, TransactionCanceled, TransactionConflict
from shardweave.errors.outcomes import maybe_written
from shardweave.table.conditions import Missing
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import (
    WRITES,
    Afterwards,
    Crash,
    Crashed,
    DeliverLate,
    Fail,
    Fault,
    LoseAnswer,
    LoseRequest,
    Meanwhile,
    MeetTransaction,
    ProcessPart,
    Script,
    Seeded,
    SendAgain,
    SimulatedTable,
    Throttle,
)
from shardweave.table.layout import TableLayout
from shardweave.table.operations import BatchGet, BatchWrite, DeleteItem, GetItem, Operation, PutItem, TransactWrite


def key(name: str) -> dict[str, str]:
    return {"hashKey": "h", "rangeKey": name}


def put(name: str, text: str = "") -> PutItem:
    return PutItem({**key(name), "text": text})


def table_with(*faults: Fault | None, matching: tuple[type, ...] = (Operation,)) -> SimulatedTable:
    return SimulatedTable(EmbeddedTable(TableLayout()), Script(*faults, matching=matching))


def there(table: SimulatedTable, name: str) -> bool:
    return table.run(GetItem(key(name), consistent=True)).item is not None


def test_without_a_fault_it_is_the_table_it_wraps() -> None:
    table = table_with()
    table.run(put("a"))
    assert there(table, "a")
    assert [type(operation) for operation in table.calls] == [PutItem, GetItem]
    assert table.layout == TableLayout()


@pytest.mark.parametrize(
    ("fault", "error", "carried_out"),
    [
        (LoseRequest(), TableUnavailable, False),
        (LoseAnswer(), TableUnavailable, True),
        (Throttle(), Throttled, False),
        (MeetTransaction(), TransactionConflict, False),
        (Crash(), Crashed, False),
        (Crash(carried_out=True), Crashed, True),
        (DeliverLate(), TableUnavailable, False),
    ],
)
def test_a_fault_decides_what_happens_and_what_is_told(
    fault: Fault, error: type[BaseException], carried_out: bool
) -> None:
    table = table_with(fault)
    with pytest.raises(error):
        table.run(put("a"))
    assert there(table, "a") is carried_out


def test_a_lost_answer_hides_a_refusal_too() -> None:
    table = table_with(LoseAnswer())
    with pytest.raises(TableUnavailable):
        table.run(PutItem(key("a"), Missing("hashKey") & ~Missing("hashKey")))
    assert not there(table, "a")


@pytest.mark.parametrize("carried_out", [True, False])
def test_a_client_that_sends_again_says_that_the_first_may_be_written(carried_out: bool) -> None:
    creation = PutItem(key("a"), Missing("hashKey"))
    faults = SendAgain(Throttle(), carried_out), SendAgain(Fail(KeyboardInterrupt))
    table = table_with(*faults, matching=WRITES)
    with pytest.raises(Throttled) as throttled:
        table.run(creation)
    assert maybe_written(throttled.value)
    assert there(table, "a") is carried_out
    with pytest.raises(KeyboardInterrupt) as interrupted:
        table.run(creation)
    assert maybe_written(interrupted.value)


def test_a_client_does_not_send_again_what_has_no_condition() -> None:
    table = table_with(SendAgain(Throttle()))
    with pytest.raises(TableUnavailable) as raised:
        table.run(put("a"))
    assert maybe_written(raised.value)


def test_a_read_that_is_lost_says_nothing_of_a_write() -> None:
    table = table_with(LoseAnswer(), SendAgain(Throttle()))
    for error in (TableUnavailable, Throttled):
        with pytest.raises(error) as raised:
            table.run(GetItem(key("a")))
        assert not maybe_written(raised.value)


def test_a_late_request_arrives_when_told_and_nobody_hears_of_it() -> None:
    table = table_with(DeliverLate(), DeliverLate())
    for operation in (put("a"), PutItem(key("b"), ~Missing("hashKey"))):
        with pytest.raises(TableUnavailable):
            table.run(operation)
    table.deliver_late()
    assert there(table, "a")
    assert not there(table, "b")
    table.run(DeleteItem(key("a")))
    table.deliver_late()
    assert not there(table, "a"), "a request arrives once"


def test_a_transaction_that_meets_another_is_canceled_for_one_action() -> None:
    table = table_with(MeetTransaction())
    with pytest.raises(TransactionCanceled) as raised:
        table.run(TransactWrite((put("a"), put("b"))))
    assert [reason.code for reason in raised.value.reasons] == ["TransactionConflict", "None"]


def test_a_part_of_a_batch_is_processed_and_the_rest_is_named() -> None:
    table = table_with(ProcessPart(2), ProcessPart(1), ProcessPart(0))
    answer = table.run(BatchWrite((put("a").item,), (key("x"), key("y"))))
    assert (answer.unprocessed_puts, answer.unprocessed_deletes) == ((), (key("y"),))
    read = table.run(BatchGet((key("a"), key("b"))))
    assert [item["rangeKey"] for item in read.items] == ["a"]
    assert read.unprocessed == (key("b"),)
    with pytest.raises(Throttled):
        table.run(BatchGet((key("a"),)))


def test_somebody_else_acts_before_or_after() -> None:
    inner = EmbeddedTable(TableLayout())
    before = Meanwhile(lambda: inner.run(put("a")))
    after = Afterwards(lambda: inner.run(DeleteItem(key("b"))), LoseAnswer())
    table = SimulatedTable(inner, Script(before, after))
    with pytest.raises(ConditionFailed):
        table.run(PutItem(key("a"), Missing("hashKey")))
    with pytest.raises(TableUnavailable):
        table.run(put("b"))
    assert not there(table, "b")


def test_a_script_counts_only_the_calls_that_it_is_about() -> None:
    table = table_with(None, Throttle(), matching=WRITES)
    assert not there(table, "a")
    table.run(put("a"))
    assert there(table, "a")
    with pytest.raises(Throttled):
        table.run(put("b"))
    table.run(put("b"))


def test_a_seed_repeats_its_faults_at_their_rates() -> None:
    def drawn(seed: int) -> list[Fault | None]:
        seeded = Seeded(seed, {LoseAnswer(): 0.2, Throttle(): 0.1}, matching=WRITES)
        return [seeded.next_for(put("a")) for _ in range(2000)]

    assert drawn(1) == drawn(1)
    assert drawn(1) != drawn(2)
    assert drawn(1).count(LoseAnswer()) == pytest.approx(400, abs=80)
    assert drawn(1).count(Throttle()) == pytest.approx(200, abs=60)
    assert Seeded(1, {Throttle(): 1.0}, matching=WRITES).next_for(GetItem(key("a"))) is None
