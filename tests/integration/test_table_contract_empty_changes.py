"""What every table does with an update that changes little or nothing: the item, the answer, the stream."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Literal

import pytest

from shardweave.errors import ConditionFailed, TransactionCanceled, ValueRefused
from shardweave.table import Table
from shardweave.table.conditions import Compare, Condition, Exists, Missing
from shardweave.table.operations import ConditionCheck, DeleteItem, PutItem, TransactWrite, UpdateItem
from shardweave.table.values import Item, to_attribute_values
from tests.integration.table_contract import LAYOUT, OpenTable, changes, item, key, stored, summary

ReturnValues = Literal["NONE", "ALL_OLD", "ALL_NEW", "UPDATED_NEW"]


@dataclass(frozen=True)
class EmptyChange:
    """An update, the attributes beside the key that the item has before and after it (None is no item), and those
    that it answers as updated."""

    before: Mapping[str, Any] | None
    after: Mapping[str, Any] | None
    set: Mapping[str, Any] = field(default_factory=dict)
    remove: tuple[str, ...] = ()
    add: Mapping[str, Any] = field(default_factory=dict)
    updated: Mapping[str, Any] | None = None

    def update(self, condition: Condition | None = None, return_values: ReturnValues = "NONE") -> UpdateItem:
        return UpdateItem(key("1"), self.set, self.remove, self.add, condition, return_values)


CHANGES = {
    # Without an item. Only what removes and does nothing else makes none.
    "nothing, without an item": EmptyChange(None, {}),
    "removal, without an item": EmptyChange(None, None, remove=("a",)),
    "two removals, without an item": EmptyChange(None, None, remove=("a", "b")),
    "removal and value, without an item": EmptyChange(None, {"b": 1}, {"b": 1}, ("a",), updated={"b": 1}),
    "removal and addition, without an item": EmptyChange(None, {"n": 1}, remove=("a",), add={"n": 1}, updated={"n": 1}),
    "addition of zero, without an item": EmptyChange(None, {"n": 0}, add={"n": 0}, updated={"n": 0}),
    # With an item that stays as it is.
    "nothing": EmptyChange({"a": 1}, {"a": 1}),
    "removal of what is absent": EmptyChange({"a": 1}, {"a": 1}, remove=("b",)),
    "the same value": EmptyChange({"a": "x"}, {"a": "x"}, {"a": "x"}, updated={"a": "x"}),
    "the same number": EmptyChange({"a": 1}, {"a": 1}, {"a": Decimal("1.00")}, updated={"a": 1}),
    "the same set": EmptyChange({"a": {1, 2}}, {"a": {1, 2}}, {"a": {2, Decimal("1.0")}}, updated={"a": {1, 2}}),
    "addition of zero": EmptyChange({"n": 5}, {"n": 5}, add={"n": Decimal("-0.0")}, updated={"n": 5}),
    "addition of elements that are there": EmptyChange(
        {"tags": {"x", "y"}}, {"tags": {"x", "y"}}, add={"tags": {"x"}}, updated={"tags": {"x", "y"}}
    ),
    "addition of a number that is there": EmptyChange(
        {"tags": {1, 2}}, {"tags": {1, 2}}, add={"tags": {Decimal("2.0")}}, updated={"tags": {1, 2}}
    ),
    # With an item that changes, though by little.
    "removal of the last attribute": EmptyChange({"a": 1}, {}, remove=("a",)),
    "addition of zero to what is absent": EmptyChange({"a": 1}, {"a": 1, "n": 0}, add={"n": 0}, updated={"n": 0}),
    "true for one": EmptyChange({"a": 1}, {"a": True}, {"a": True}, updated={"a": True}),
    "text for a number": EmptyChange({"a": 1}, {"a": "1"}, {"a": "1"}, updated={"a": "1"}),
}

every_change = pytest.mark.parametrize("case", CHANGES)


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


def whole(attributes: Mapping[str, Any] | None) -> dict[str, Any] | None:
    return None if attributes is None else item("1", **attributes)


def prepare(table: Table, change: EmptyChange) -> None:
    if change.before is None:
        table.run(DeleteItem(key("1")))
    else:
        table.run(PutItem(item("1", **change.before)))


def typed(found: Item | None) -> Any:
    """The item in DynamoDB's types: Python alone takes True for 1."""
    return None if found is None else to_attribute_values(found)


@every_change
def test_an_update_that_changes_little_leaves_what_it_says_and_answers_it(table: Table, case: str) -> None:
    change = CHANGES[case]
    answers: dict[ReturnValues, Any] = {
        "NONE": None,
        "ALL_OLD": whole(change.before),
        "ALL_NEW": whole(change.after),
        "UPDATED_NEW": change.updated,
    }
    for return_values, expected in answers.items():
        prepare(table, change)
        assert table.run(change.update(return_values=return_values)).attributes == expected
        assert typed(stored(table, "1")) == typed(whole(change.after))


@every_change
def test_an_update_in_a_transaction_changes_as_much_as_one_alone(table: Table, case: str) -> None:
    change = CHANGES[case]
    prepare(table, change)
    table.run(TransactWrite((change.update(), ConditionCheck(key("2"), Missing("hashKey")))))
    assert stored(table, "1") == whole(change.after)


@every_change
@pytest.mark.parametrize("transaction", [False, True], ids=["alone", "in a transaction"])
def test_the_stream_has_an_update_that_changes_something(table: Table, case: str, transaction: bool) -> None:
    change = CHANGES[case]
    prepare(table, change)
    made = len(changes(table))
    table.run(TransactWrite((change.update(),)) if transaction else change.update())
    before, after = whole(change.before), whole(change.after)
    record = ("INSERT" if before is None else "MODIFY", "1", before, after)
    assert summary(changes(table)[made:]) == ([] if typed(before) == typed(after) else [record])


@every_change
def test_a_condition_decides_over_an_update_that_changes_little(table: Table, case: str) -> None:
    change = CHANGES[case]
    right, wrong = (Missing("hashKey"), Exists("hashKey"))
    if change.before is not None:
        right, wrong = wrong, right
    prepare(table, change)
    with pytest.raises(ConditionFailed):
        table.run(change.update(wrong))
    with pytest.raises(TransactionCanceled):
        table.run(TransactWrite((change.update(wrong),)))
    assert stored(table, "1") == whole(change.before)
    table.run(change.update(right))
    assert stored(table, "1") == whole(change.after)


def test_a_transaction_that_only_removes_from_nothing_makes_nothing(table: Table) -> None:
    table.run(TransactWrite((UpdateItem(key("1"), remove=("a",)), PutItem(item("2")), DeleteItem(key("3")))))
    assert [stored(table, name) for name in "123"] == [None, item("2"), None]
    assert summary(changes(table)) == [("INSERT", "2", None, item("2"))]


def test_a_put_of_the_same_item_answers_it_and_is_not_in_the_stream(table: Table) -> None:
    table.run(PutItem(item("1", a=Decimal("1.5"))))
    again = PutItem(item("1", a=Decimal("1.50")), Compare("a", "=", Decimal("1.500")), "ALL_OLD")
    assert table.run(again).attributes == item("1", a=Decimal("1.5"))
    assert len(changes(table)) == 1


def test_a_delete_of_nothing_answers_nothing_and_is_not_in_the_stream(table: Table) -> None:
    assert table.run(DeleteItem(key("1"), Missing("hashKey"), "ALL_OLD")).attributes is None
    table.run(TransactWrite((DeleteItem(key("1")),)))
    with pytest.raises(ConditionFailed):
        table.run(DeleteItem(key("1"), Exists("hashKey")))
    assert changes(table) == []


def test_an_empty_set_is_not_added(table: Table) -> None:
    table.run(PutItem(item("1", tags={"x"})))
    for update in (UpdateItem(key("1"), add={"tags": set()}), UpdateItem(key("2"), add={"tags": set()})):
        with pytest.raises(ValueRefused):
            table.run(update)
        with pytest.raises(ValueRefused):
            table.run(TransactWrite((update,)))
    assert [stored(table, "1"), stored(table, "2")] == [item("1", tags={"x"}), None]
