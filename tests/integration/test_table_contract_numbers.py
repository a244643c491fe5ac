"""What every table does with numbers: equal ones are one, however they are written, in every place of an item."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import ConditionFailed, TransactionCanceled
from shardweave.table import Table
from shardweave.table.conditions import Compare, Missing
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import (
    BatchGet,
    GetItem,
    Interval,
    PutItem,
    Query,
    Scan,
    TransactGet,
    TransactWrite,
    UpdateItem,
)
from shardweave.table.values import Item
from tests.integration.table_contract import LAYOUT, OpenTable, changes, every_item, item, key, query, stored

NUMBERS = {
    "zeros behind the point": (Decimal("1.10"), Decimal("1.1")),
    "zeros before the point": (Decimal("100"), 100),
    "only zeros behind the point": (Decimal("100.00"), 100),
    "leading zeros": (Decimal("00012.5"), Decimal("12.5")),
    "negative zero": (Decimal("-0.00"), 0),
    "zero with an exponent": (Decimal("0E+90"), 0),
    "exponent": (Decimal("1.5E+3"), 1500),
    "negative exponent": (Decimal("-15E-3"), Decimal("-0.015")),
    "38 digits": (
        Decimal("1234567890123456789.0123456789012345678"),
        Decimal("1234567890123456789.0123456789012345678"),
    ),
    "38 digits and zeros": (Decimal("1" * 38 + "E+88"), int("1" * 38 + "0" * 88)),
    "39 digits with a zero at the end": (10**38, 10**38),
    "largest": (Decimal("9." + "9" * 37 + "E+125"), int("9" * 38 + "0" * 88)),
    "largest below zero": (Decimal("-9." + "9" * 37 + "E+125"), -int("9" * 38 + "0" * 88)),
    "one with 125 zeros": (Decimal("1E+125"), 10**125),
    "smallest": (Decimal("1E-130"), Decimal("0." + "0" * 129 + "1")),
    "smallest below zero": (Decimal("-1E-130"), Decimal("-0." + "0" * 129 + "1")),
}

every_number = pytest.mark.parametrize("case", NUMBERS)


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


def holding(value: Any, **attributes: Any) -> dict[str, Any]:
    return item("1", n=value, list=[value], map={"in": value}, set={value}, **attributes)


def is_exact(found: Item | None, value: int | Decimal, **attributes: Any) -> None:
    """The item holds the number in all places, as an int when it is whole."""
    assert found == holding(value, **attributes)
    for each in (found["n"], *found["list"], found["map"]["in"], *found["set"]):
        assert type(each) is type(value)


@every_number
def test_a_number_is_read_as_it_was_stored(table: Table, case: str) -> None:
    given, value = NUMBERS[case]
    table.run(PutItem(holding(given)))
    is_exact(stored(table, "1"), value)
    is_exact(table.run(BatchGet((key("1"),))).items[0], value)
    is_exact(table.run(TransactGet((key("1"),))).items[0], value)
    is_exact(table.run(query()).items[0], value)
    is_exact(every_item(table, Scan())[0], value)


@every_number
def test_a_number_is_answered_as_it_was_stored(table: Table, case: str) -> None:
    given, value = NUMBERS[case]
    table.run(PutItem(holding(given)))
    is_exact(table.run(UpdateItem(key("1"), {"a": given}, return_values="ALL_OLD")).attributes, value)
    is_exact(table.run(UpdateItem(key("1"), {"a": given}, return_values="ALL_NEW")).attributes, value, a=value)
    answer = table.run(UpdateItem(key("1"), {"b": given}, return_values="UPDATED_NEW"))
    assert answer.attributes == {"b": value}
    is_exact(table.run(PutItem(holding(given), return_values="ALL_OLD")).attributes, value, a=value, b=value)


@every_number
def test_a_failed_condition_gives_the_number_as_it_was_stored(table: Table, case: str) -> None:
    given, value = NUMBERS[case]
    table.run(PutItem(holding(given)))
    refused = PutItem(item("1"), Missing("hashKey") | Compare("n", "<>", given), return_on_failure=True)
    with pytest.raises(ConditionFailed) as failed:
        table.run(refused)
    is_exact(failed.value.item, value)
    with pytest.raises(TransactionCanceled) as canceled:
        table.run(TransactWrite((refused,)))
    is_exact(canceled.value.reasons[0].item, value)


@every_number
def test_the_stream_has_the_number_as_it_was_stored(table: Table, case: str) -> None:
    given, value = NUMBERS[case]
    table.run(PutItem(holding(given)))
    table.run(PutItem(item("1")))
    inserted, modified = changes(table)
    is_exact(inserted.new, value)
    is_exact(modified.old, value)


@every_number
def test_a_number_written_otherwise_is_the_same_number(table: Table, case: str) -> None:
    given, value = NUMBERS[case]
    table.run(PutItem(holding(given)))
    same = Compare("n", "=", value) & Compare("n", ">=", given) & Compare("list", "=", [given])
    table.run(UpdateItem(key("1"), add={"set": {value}, "n": 0}, condition=same))
    is_exact(stored(table, "1"), value)


@every_number
def test_a_key_that_is_a_number_is_found_however_it_is_written(open_table: OpenTable, case: str) -> None:
    given, value = NUMBERS[case]
    index = IndexLayout("byNumber", KeyAttribute("group"), KeyAttribute("number", "N"))
    number_keys = KeyAttribute("hashKey", "N"), KeyAttribute("rangeKey", "N")
    table = open_table(TableLayout(*number_keys, indexes=(index,)))
    expected = {"hashKey": value, "rangeKey": value, "group": "g", "number": value}
    table.run(PutItem({"hashKey": given, "rangeKey": given, "group": "g", "number": given}))
    table.run(PutItem({"hashKey": value, "rangeKey": value, "group": "g", "number": value}))
    assert table.run(GetItem({"hashKey": value, "rangeKey": given})).item == expected
    by_key = Query("hashKey", given, "rangeKey", Interval(value, given))
    by_index = Query("group", "g", "number", Interval(given, value), index="byNumber")
    assert every_item(table, by_key) == every_item(table, by_index) == [expected]
    assert all(type(each) is type(value) for name, each in every_item(table, by_key)[0].items() if name != "group")
