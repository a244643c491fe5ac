"""What every table does with transactions and with batches of writes."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

from shardweave.errors import (
    IdempotentParameterMismatch,
    InvalidRequest,
    RecordTooLarge,
    TableError,
    TransactionCanceled,
)
from shardweave.table import Table
from shardweave.table.conditions import Compare, Exists, Missing
from shardweave.table.operations import (
    Action,
    BatchWrite,
    ConditionCheck,
    DeleteItem,
    PutItem,
    TransactGet,
    TransactWrite,
    UpdateItem,
)
from tests.integration.table_contract import LAYOUT, OpenTable, every_item, fill, item, key, query, stored


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


def codes(canceled: TransactionCanceled) -> list[str]:
    return [reason.code for reason in canceled.reasons]


# -- transactions -----------------------------------------------------------------------------------------------------


def test_a_transaction_carries_out_every_action(table: Table) -> None:
    fill(table, [item("update", n=1), item("delete"), item("check", ok=True)])
    table.run(
        TransactWrite(
            (
                PutItem(item("put", text="t"), condition=Missing("hashKey")),
                UpdateItem(key("update"), set={"a": 1}, add={"n": 1}, condition=Compare("n", "=", 1)),
                DeleteItem(key("delete"), condition=Exists("hashKey")),
                ConditionCheck(key("check"), Compare("ok", "=", True)),
            )
        )
    )
    assert every_item(table, query()) == [item("check", ok=True), item("put", text="t"), item("update", a=1, n=2)]


def test_a_transaction_with_a_false_condition_changes_nothing(table: Table) -> None:
    fill(table, [item("a", n=1), item("b", n=1)])
    with pytest.raises(TransactionCanceled) as canceled:
        table.run(
            TransactWrite(
                (
                    PutItem(item("new")),
                    UpdateItem(key("a"), add={"n": 1}, condition=Compare("n", "=", 2)),
                    DeleteItem(key("b")),
                )
            )
        )
    assert codes(canceled.value) == ["None", "ConditionalCheckFailed", "None"]
    assert every_item(table, query()) == [item("a", n=1), item("b", n=1)]


def test_every_false_condition_is_reported_in_order_with_its_item_when_asked(table: Table) -> None:
    fill(table, [item("a", n=1), item("b", n=2), item("c", n=3), item("d", n=4)])
    never = Compare("n", "=", 0)
    with pytest.raises(TransactionCanceled) as canceled:
        table.run(
            TransactWrite(
                (
                    UpdateItem(key("d"), set={"x": 1}, condition=never, return_on_failure=True),
                    PutItem(item("c"), condition=never, return_on_failure=True),
                    ConditionCheck(key("absent"), Exists("hashKey"), return_on_failure=True),
                    DeleteItem(key("b"), condition=never),
                    ConditionCheck(key("a"), never, return_on_failure=True),
                )
            )
        )
    assert codes(canceled.value) == ["ConditionalCheckFailed"] * 5
    items = [reason.item for reason in canceled.value.reasons]
    assert items == [item("d", n=4), item("c", n=3), None, None, item("a", n=1)]


def test_conditions_see_the_table_as_it_was_before_the_transaction(table: Table) -> None:
    table.run(TransactWrite((PutItem(item("a")), ConditionCheck(key("b"), Missing("hashKey")))))
    with pytest.raises(TransactionCanceled):
        table.run(TransactWrite((PutItem(item("b")), ConditionCheck(key("c"), Exists("hashKey")), PutItem(item("d")))))
    assert every_item(table, query()) == [item("a")]


@pytest.mark.parametrize(
    ("case", "second"),
    [
        ("put", PutItem(item("a", n=2))),
        ("update", UpdateItem(key("a"), set={"n": 2})),
        ("delete", DeleteItem(key("a"))),
        ("check", ConditionCheck(key("a"), Missing("hashKey"))),
    ],
)
def test_a_transaction_holds_one_action_an_item(table: Table, case: str, second: Action) -> None:
    with pytest.raises(InvalidRequest):
        table.run(TransactWrite((PutItem(item("a", n=1)), PutItem(item("b")), second)))
    assert every_item(table, query()) == []


def test_a_transaction_holds_100_actions(table: Table) -> None:
    table.run(TransactWrite(tuple(PutItem(item(f"{place:03}")) for place in range(100))))
    assert len(every_item(table, query())) == 100


def test_a_transaction_of_101_actions_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequest):
        table.run(TransactWrite(tuple(PutItem(item(f"{place:03}")) for place in range(101))))
    assert every_item(table, query()) == []


def test_a_transaction_without_actions_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequest):
        table.run(TransactWrite(()))


def test_a_transaction_over_4_mb_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequest):
        table.run(TransactWrite(tuple(PutItem(item(str(place), padding="x" * 400_000)) for place in range(11))))
    assert every_item(table, query()) == []


def test_a_transaction_of_almost_4_mb_is_carried_out(table: Table) -> None:
    table.run(TransactWrite(tuple(PutItem(item(str(place), padding="x" * 400_000)) for place in range(10))))
    assert len(every_item(table, query(projection=("rangeKey",)))) == 10


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        ("index key of a wrong type", PutItem(item("x", text=1))),
        ("null index key", PutItem(item("x", text=None))),
        ("empty index key", UpdateItem(key("x"), set={"text": ""})),
        ("over 400 KB", PutItem(item("x", padding="x" * 410_000))),
        ("key changed", UpdateItem(key("x"), set={"rangeKey": "y"})),
        ("added to a string", UpdateItem(key("text"), add={"a": 1})),
    ],
)
def test_a_transaction_with_an_action_that_is_refused_changes_nothing(table: Table, case: str, wrong: Action) -> None:
    # DynamoDB refuses what it can see in the request at once, and cancels for what depends on the stored item.
    table.run(PutItem(item("text", a="string")))
    with pytest.raises((InvalidRequest, RecordTooLarge, TransactionCanceled)):
        table.run(TransactWrite((PutItem(item("a")), wrong)))
    assert every_item(table, query()) == [item("text", a="string")]


# -- tokens -----------------------------------------------------------------------------------------------------------


@pytest.fixture
def token() -> str:
    """One that no other test has used: where tables are of one account, so are tokens."""
    return uuid.uuid4().hex


def test_a_transaction_with_a_token_is_carried_out_once(table: Table, token: str) -> None:
    transaction = TransactWrite((UpdateItem(key("a"), add={"n": 1}), PutItem(item("b"))), token=token)
    table.run(transaction)
    table.run(DeleteItem(key("b")))
    table.run(transaction)
    assert every_item(table, query()) == [item("a", n=1)]


def test_a_token_is_for_one_content(table: Table, token: str) -> None:
    table.run(TransactWrite((PutItem(item("a", n=1)),), token=token))
    with pytest.raises(IdempotentParameterMismatch):
        table.run(TransactWrite((PutItem(item("a", n=2)),), token=token))
    assert stored(table, "a") == item("a", n=1)


def test_a_token_of_a_canceled_transaction_is_free(table: Table, token: str) -> None:
    transaction = TransactWrite((PutItem(item("a")), ConditionCheck(key("b"), Exists("hashKey"))), token=token)
    with pytest.raises(TransactionCanceled):
        table.run(transaction)
    table.run(PutItem(item("b")))
    table.run(transaction)
    assert stored(table, "a") == item("a")


def test_transactions_without_tokens_are_each_carried_out(table: Table) -> None:
    transaction = TransactWrite((UpdateItem(key("a"), add={"n": 1}),))
    table.run(transaction)
    table.run(transaction)
    assert stored(table, "a") == item("a", n=2)


@pytest.mark.parametrize(("case", "token"), [("empty", ""), ("long", "x" * 37)])
def test_a_token_has_1_to_36_characters(table: Table, case: str, token: str) -> None:
    with pytest.raises(InvalidRequest):
        table.run(TransactWrite((PutItem(item("a")),), token=token))
    assert stored(table, "a") is None


# -- transactions of reads --------------------------------------------------------------------------------------------


def test_a_transaction_of_reads_answers_in_the_order_of_its_keys(table: Table) -> None:
    fill(table, [item("a", n=1), item("b", n=2), item("c", n=3)])
    answer = table.run(TransactGet((key("c"), key("none"), key("a"))))
    assert answer.items == (item("c", n=3), None, item("a", n=1))


def test_a_transaction_reads_100_items(table: Table) -> None:
    fill(table, [item(str(place)) for place in range(100)])
    keys = tuple(key(str(place)) for place in range(100))
    assert table.run(TransactGet(keys)).items == keys


@pytest.mark.parametrize(
    ("case", "keys"),
    [
        ("none", ()),
        ("101", tuple(key(str(place)) for place in range(101))),
        ("one key twice", (key("a"), key("a"))),
        ("incomplete key", ({"hashKey": "h"},)),
    ],
)
def test_a_transaction_of_reads_that_makes_no_sense_is_refused(table: Table, case: str, keys: Any) -> None:
    with pytest.raises(TableError):
        table.run(TransactGet(keys))


# -- batches ----------------------------------------------------------------------------------------------------------


def test_a_batch_puts_and_deletes(table: Table) -> None:
    fill(table, [item("a"), item("b", n=1)])
    answer = table.run(BatchWrite(puts=(item("b", n=2), item("c")), deletes=(key("a"), key("none"))))
    assert (answer.unprocessed_puts, answer.unprocessed_deletes) == ((), ())
    assert every_item(table, query()) == [item("b", n=2), item("c")]


@pytest.mark.parametrize(
    ("case", "batch"),
    [
        ("nothing", BatchWrite()),
        ("26 puts", BatchWrite(puts=tuple(item(str(place)) for place in range(26)))),
        (
            "26 writes",
            BatchWrite(
                puts=tuple(item(f"p{place}") for place in range(13)),
                deletes=tuple(key(f"d{place}") for place in range(13)),
            ),
        ),
        ("one item twice", BatchWrite(puts=(item("x", n=1), item("x", n=2)))),
        ("put and deleted", BatchWrite(puts=(item("x", n=1),), deletes=(key("x"),))),
        ("null index key", BatchWrite(puts=(item("x"), item("y", text=None)))),
        ("incomplete key", BatchWrite(puts=(item("x"), {"hashKey": "h"}))),
        ("attributes beside the key", BatchWrite(deletes=(item("a", n=1),))),
    ],
)
def test_a_batch_of_writes_that_makes_no_sense_is_refused_whole(table: Table, case: str, batch: BatchWrite) -> None:
    table.run(PutItem(item("a", n=1)))
    with pytest.raises(InvalidRequest):
        table.run(batch)
    assert every_item(table, query()) == [item("a", n=1)]


def test_a_batch_with_an_item_over_400_kb_is_refused_whole(table: Table) -> None:
    with pytest.raises(RecordTooLarge):
        table.run(BatchWrite(puts=(item("a"), item("x", padding="x" * 410_000))))
    assert every_item(table, query()) == []
