"""What only the embedded table can show of writes: tokens by its clock, reasons that depend on items, units."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import IdempotentParameterMismatch, InvalidRequest, TransactionCanceled
from shardweave.table.conditions import And, Compare, Contains, Exists, In, Or
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.transactions import TOKEN_SECONDS
from shardweave.table.operations import (
    Action,
    BatchGet,
    BatchWrite,
    ConditionCheck,
    DeleteItem,
    GetItem,
    Operation,
    PutItem,
    Query,
    Scan,
    TransactGet,
    TransactWrite,
    UpdateItem,
)
from tests.unit.embedded_table import LAYOUT, Clock, changes, item, key


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def table(clock: Clock) -> Iterator[EmbeddedTable]:
    table = EmbeddedTable(LAYOUT, clock=clock)
    yield table
    table.close()


# -- tokens -----------------------------------------------------------------------------------------------------------


def count_one(token: str, by: int = 1) -> TransactWrite:
    return TransactWrite((UpdateItem(key("counter"), add={"total": by}),), token=token)


def total(table: EmbeddedTable) -> Any:
    return (table.run(GetItem(key("counter"), consistent=True)).item or {}).get("total")


def test_a_token_holds_for_ten_minutes(table: EmbeddedTable, clock: Clock) -> None:
    table.run(count_one("t"))
    clock.now += TOKEN_SECONDS - 1
    table.run(count_one("t"))
    assert total(table) == 1
    clock.now += 1
    table.run(count_one("t"))
    assert total(table) == 2


def test_another_content_is_refused_for_ten_minutes(table: EmbeddedTable, clock: Clock) -> None:
    table.run(count_one("t"))
    with pytest.raises(IdempotentParameterMismatch):
        table.run(count_one("t", by=2))
    clock.now += TOKEN_SECONDS
    table.run(count_one("t", by=2))
    assert total(table) == 3


def test_a_repetition_is_answered_whatever_the_items_are_now(table: EmbeddedTable) -> None:
    create = TransactWrite((PutItem(item("a"), condition=~Exists("hashKey")),), token="t")
    table.run(create)
    table.run(DeleteItem(key("a")))
    table.run(create)
    assert table.run(GetItem(key("a"))).item is None


@pytest.mark.parametrize(
    "same",
    [
        PutItem({"v": Decimal("1.0"), "rangeKey": "a", "hashKey": "h", "s": {"y", "x"}}),
        PutItem({"hashKey": "h", "rangeKey": "a", "s": {"x", "y"}, "v": 1}),
    ],
)
def test_the_same_content_may_be_written_in_another_way(table: EmbeddedTable, same: PutItem) -> None:
    table.run(TransactWrite((PutItem(item("a", v=1, s={"x", "y"})),), token="t"))
    table.run(TransactWrite((same,), token="t"))
    assert len(changes(table)) == 1


# -- what the items do not allow --------------------------------------------------------------------------------------


def test_every_action_gets_its_reason_in_order(table: EmbeddedTable) -> None:
    table.run(PutItem(item("text", v="x")))
    table.run(PutItem(item("large", data="x" * 300_000)))
    table.run(PutItem(item("other", v=1)))
    actions: tuple[Action, ...] = (
        PutItem(item("fine")),
        UpdateItem(key("text"), add={"v": 1}),
        UpdateItem(key("large"), set={"more": "x" * 200_000}),
        ConditionCheck(key("other"), Compare("v", "=", "y"), return_on_failure=True),
        DeleteItem(key("none"), condition=Exists("v"), return_on_failure=True),
    )
    with pytest.raises(TransactionCanceled) as canceled:
        table.run(TransactWrite(actions))
    assert [(reason.code, reason.item) for reason in canceled.value.reasons] == [
        ("None", None),
        ("ValidationError", None),
        ("ValidationError", None),
        ("ConditionalCheckFailed", item("other", v=1)),
        ("ConditionalCheckFailed", None),
    ]
    assert table.run(GetItem(key("fine"))).item is None


def test_a_sum_over_38_digits_is_refused(table: EmbeddedTable) -> None:
    table.run(PutItem(item("a", v=10**36)))
    table.run(UpdateItem(key("a"), add={"v": Decimal("0.1")}))
    with pytest.raises(InvalidRequest):
        table.run(UpdateItem(key("a"), add={"v": Decimal("0.01")}))
    assert table.run(GetItem(key("a"))).item == item("a", v=Decimal(f"{10**36}.1"))


@pytest.mark.parametrize(("stored", "added"), [({1}, {"x"}), ({"x"}, {1}), (1, {1}), ({1}, 1), (True, 1), ("x", {"x"})])
def test_adding_what_does_not_fit_is_refused(table: EmbeddedTable, stored: Any, added: Any) -> None:
    table.run(PutItem(item("a", v=stored)))
    with pytest.raises(InvalidRequest):
        table.run(UpdateItem(key("a"), add={"v": added}))
    assert table.run(GetItem(key("a"))).item == item("a", v=stored)


def test_large_expressions_are_refused(table: EmbeddedTable) -> None:
    for condition in (
        Or(tuple(Compare("v", "=", number) for number in range(301))),
        And(tuple(Compare(f"{'long' * 10}{number}", "=", 1) for number in range(290))),
        And(tuple(In(f"v{number}", tuple(range(100))) for number in range(4))),
        Or(tuple(Contains("v", "x" * 300_000 + str(number)) for number in range(8))),
    ):
        with pytest.raises(InvalidRequest):
            table.run(PutItem(item("a"), condition=condition))
    with pytest.raises(InvalidRequest):
        table.run(UpdateItem(key("a"), set={f"v{number}": number for number in range(500)}))
    table.run(PutItem(item("a"), condition=Or(tuple(Compare("v", "<>", number) for number in range(100)))))
    table.run(UpdateItem(key("a"), set={f"v{number}": number for number in range(200)}))


# -- units ------------------------------------------------------------------------------------------------------------


def kilobytes(count: float, **attributes: Any) -> dict[str, Any]:
    """An item that is a little smaller than `count` KB."""
    return item("a", data="x" * int(count * 1024 - 200), **attributes)


READS: list[tuple[str, Operation[Any], float]] = [
    ("get", GetItem(key("a")), 1.0),
    ("consistent get", GetItem(key("a"), consistent=True), 2.0),
    ("projected get", GetItem(key("a"), projection=("rangeKey",)), 1.0),
    ("get of nothing", GetItem(key("none")), 0.5),
    ("batch", BatchGet((key("a"), key("none")), consistent=True), 3.0),
    ("transaction", TransactGet((key("a"), key("none"))), 6.0),
    ("query", Query("hashKey", "h", "rangeKey"), 1.0),
    ("count", Query("hashKey", "h", "rangeKey", count_only=True), 1.0),
    ("query that finds nothing", Query("hashKey", "none", "rangeKey"), 0.5),
    ("query of an index with everything", Query("hashKey", "h", "text", index="byText"), 1.0),
    ("query of an index with little", Query("group", "g", "number", index="byNumber"), 0.5),
    ("consistent scan", Scan(consistent=True), 2.0),
]


@pytest.mark.parametrize(("case", "operation", "units"), READS, ids=[case for case, _, _ in READS])
def test_what_reads_cost(table: EmbeddedTable, case: str, operation: Operation[Any], units: float) -> None:
    table.run(PutItem(kilobytes(5, text="t", group="g", number=1)))
    assert table.run(operation).units == units


WRITES: list[tuple[str, Operation[Any], float]] = [
    ("put of the same", PutItem(kilobytes(3, text="t")), 3),
    ("put of a smaller one counts the larger", PutItem(item("a", text="t")), 3 + 3),
    ("put into another place of the index", PutItem(kilobytes(3, text="u")), 3 + 3 + 3),
    ("put out of the index", PutItem(kilobytes(3)), 3 + 3),
    ("put of a new item without indexes", PutItem(item("new")), 1),
    (
        "put of a new item into both indexes",
        PutItem(item("new", text="t", group="g", number=1, data="x" * 1500)),
        2 + 2 + 1,
    ),
    ("update of an attribute", UpdateItem(key("a"), set={"v": 1}), 3 + 3),
    ("update into an index that projects little", UpdateItem(key("a"), set={"group": "g", "number": 1}), 3 + 3 + 1),
    ("delete", DeleteItem(key("a")), 3 + 3),
    ("delete of nothing", DeleteItem(key("none")), 1),
    ("batch", BatchWrite((item("new"),), (key("a"),)), 1 + 3 + 3),
    ("transaction", TransactWrite((PutItem(item("new", text="t")), DeleteItem(key("none")))), 2 + 1 + 2),
    ("check", TransactWrite((ConditionCheck(key("new"), ~Exists("v")),)), 2),
]


@pytest.mark.parametrize(("case", "operation", "units"), WRITES, ids=[case for case, _, _ in WRITES])
def test_what_writes_cost(table: EmbeddedTable, case: str, operation: Operation[Any], units: float) -> None:
    table.run(PutItem(kilobytes(3, text="t")))
    assert table.run(operation).units == units
    assert table.run(Query("group", "g", "number", index="byNumber")).count <= 1


def test_an_index_that_does_not_project_what_changes_costs_nothing(table: EmbeddedTable) -> None:
    table.run(PutItem(item("a", group="g", number=1, color="red", other=1)))
    assert table.run(UpdateItem(key("a"), set={"other": 2})).units == 1
    assert table.run(UpdateItem(key("a"), set={"color": "blue"})).units == 2


def test_a_repeated_transaction_costs_reads(table: EmbeddedTable) -> None:
    create = TransactWrite((PutItem(kilobytes(5)),), token="t")
    assert table.run(create).units == 10
    assert table.run(create).units == 4
