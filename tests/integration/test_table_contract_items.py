"""What every table does with single items: values, keys, conditions, updates, limits."""

from __future__ import annotations

import threading
from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import ConditionFailed, InvalidRequest, RecordTooLarge, ValueRefused
from shardweave.table import Table
from shardweave.table.conditions import Compare, Exists, Missing
from shardweave.table.layout import KeyAttribute, TableLayout
from shardweave.table.operations import DeleteItem, GetItem, PutItem, UpdateItem
from shardweave.table.values import MAX_ITEM_BYTES, item_bytes
from tests.integration.table_contract import LAYOUT, OpenTable, every_item, item, key, query, stored


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


# -- put, get, delete -------------------------------------------------------------------------------------------------


def test_a_stored_item_comes_back_equal(table: Table) -> None:
    everything = item(
        "1",
        string="Gómez \U0001f600",
        emptyString="",
        whole=12345678901234567890123456789012345678,
        fraction=Decimal("-0.00000000000000000000000000000000000001"),
        large=Decimal("9.9999999999999999999999999999999999999E+125"),
        small=Decimal("1E-130"),
        yes=True,
        no=False,
        null=None,
        binary=b"\x00\xff",
        emptyBinary=b"",
        list=[1, "a", [None, {"deep": b"x"}]],
        emptyList=[],
        map={"a": {"b": [True]}, "c": Decimal("1.5")},
        emptyMap={},
        strings={"a", "b"},
        numbers={1, Decimal("2.5")},
        binaries={b"a", b"\xff"},
    )
    table.run(PutItem(everything))
    assert stored(table, "1") == everything


@pytest.mark.parametrize("consistent", [False, True])
def test_an_item_that_does_not_exist_is_none(table: Table, consistent: bool) -> None:
    assert table.run(GetItem(key("none"), consistent=consistent)).item is None


def test_get_gives_only_the_attributes_that_are_asked_for(table: Table) -> None:
    table.run(PutItem(item("1", a=1, b=2)))
    assert table.run(GetItem(key("1"), projection=("b", "absent"))).item == {"b": 2}


def test_a_put_replaces_the_whole_item(table: Table) -> None:
    table.run(PutItem(item("1", a=1)))
    table.run(PutItem(item("1", b=2)))
    assert stored(table, "1") == item("1", b=2)


def test_a_put_gives_the_old_item_when_asked(table: Table) -> None:
    assert table.run(PutItem(item("1", a=1), return_values="ALL_OLD")).attributes is None
    assert table.run(PutItem(item("1", a=2), return_values="ALL_OLD")).attributes == item("1", a=1)
    assert table.run(PutItem(item("1", a=3))).attributes is None


def test_a_delete_removes_the_item_and_gives_it_when_asked(table: Table) -> None:
    table.run(PutItem(item("1", a=1)))
    assert table.run(DeleteItem(key("1"), return_values="ALL_OLD")).attributes == item("1", a=1)
    assert stored(table, "1") is None


def test_deleting_what_does_not_exist_is_no_error(table: Table) -> None:
    assert table.run(DeleteItem(key("1"), return_values="ALL_OLD")).attributes is None


def test_items_of_other_hash_keys_are_others(table: Table) -> None:
    table.run(PutItem(item("1", hash_key="a", n=1)))
    table.run(PutItem(item("1", hash_key="b", n=2)))
    assert stored(table, "1", "a") == item("1", hash_key="a", n=1)
    assert stored(table, "1", "b") == item("1", hash_key="b", n=2)


# -- update -----------------------------------------------------------------------------------------------------------


def test_an_update_sets_removes_and_adds_and_leaves_the_rest(table: Table) -> None:
    table.run(PutItem(item("1", a=1, b=2, count=3, keep="x", tags={"p"})))
    table.run(
        UpdateItem(key("1"), set={"a": "new", "c": [1]}, remove=("b", "absent"), add={"count": -5, "tags": {"q"}})
    )
    assert stored(table, "1") == item("1", a="new", c=[1], count=-2, keep="x", tags={"p", "q"})


def test_an_update_makes_an_item_that_does_not_exist(table: Table) -> None:
    table.run(UpdateItem(key("1"), set={"a": 1}))
    table.run(UpdateItem(key("2")))
    assert stored(table, "1") == item("1", a=1)
    assert stored(table, "2") == key("2")


def test_adding_to_what_is_missing_begins_at_nothing(table: Table) -> None:
    table.run(UpdateItem(key("1"), add={"count": Decimal("0.1"), "tags": {1}}))
    table.run(UpdateItem(key("1"), add={"count": Decimal("0.2"), "tags": {1, 2}}))
    assert stored(table, "1") == item("1", count=Decimal("0.3"), tags={1, 2})


def test_additions_are_exact(table: Table) -> None:
    table.run(PutItem(item("1", n=10**37)))
    table.run(UpdateItem(key("1"), add={"n": 1}))
    assert stored(table, "1") == item("1", n=10**37 + 1)


@pytest.mark.parametrize(
    ("return_values", "expected"),
    [
        ("NONE", None),
        ("ALL_OLD", item("1", a=1, b=2, n=3)),
        ("ALL_NEW", item("1", a=5, n=4, c="new")),
        ("UPDATED_NEW", {"a": 5, "n": 4, "c": "new"}),
    ],
)
def test_an_update_answers_what_is_asked_for(table: Table, return_values: Any, expected: Any) -> None:
    table.run(PutItem(item("1", a=1, b=2, n=3)))
    update = UpdateItem(key("1"), set={"a": 5, "c": "new"}, remove=("b",), add={"n": 1}, return_values=return_values)
    assert table.run(update).attributes == expected


def test_an_update_that_makes_an_item_has_no_old_one(table: Table) -> None:
    assert table.run(UpdateItem(key("1"), set={"a": 1}, return_values="ALL_OLD")).attributes is None


@pytest.mark.parametrize(
    ("case", "update"),
    [
        ("set a key", UpdateItem(key("1"), set={"rangeKey": "2"})),
        ("remove a key", UpdateItem(key("1"), remove=("hashKey",))),
        ("set and remove one attribute", UpdateItem(key("1"), set={"a": 1}, remove=("a",))),
        ("set and add to one attribute", UpdateItem(key("1"), set={"a": 1}, add={"a": 1})),
        ("add to a string", UpdateItem(key("1"), add={"text": 1})),
        ("add a number to a set", UpdateItem(key("1"), add={"tags": 1})),
        ("add strings to numbers", UpdateItem(key("1"), add={"tags": {"x"}})),
        ("add a string", UpdateItem(key("1"), add={"new": "x"})),
    ],
)
def test_an_update_that_makes_no_sense_is_refused(table: Table, case: str, update: UpdateItem) -> None:
    before = item("1", a=0, text="x", tags={1})
    table.run(PutItem(before))
    with pytest.raises(InvalidRequest):
        table.run(update)
    assert stored(table, "1") == before


def test_simultaneous_additions_all_count(table: Table) -> None:
    def add() -> None:
        for _ in range(10):
            table.run(UpdateItem(key("counter"), add={"n": 1}))

    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert stored(table, "counter") == item("counter", n=40)


# -- conditions -------------------------------------------------------------------------------------------------------

WRITES: dict[str, Any] = {
    "put": lambda **parts: PutItem(item("1", a=9), **parts),
    "update": lambda **parts: UpdateItem(key("1"), set={"a": 9}, **parts),
    "delete": lambda **parts: DeleteItem(key("1"), **parts),
}


@pytest.mark.parametrize("case", WRITES)
def test_a_write_whose_condition_is_false_changes_nothing(table: Table, case: str) -> None:
    table.run(PutItem(item("1", a=1)))
    with pytest.raises(ConditionFailed) as failed:
        table.run(WRITES[case](condition=Compare("a", "=", 2)))
    assert failed.value.item is None
    assert stored(table, "1") == item("1", a=1)


@pytest.mark.parametrize("case", WRITES)
def test_a_false_condition_gives_the_item_when_asked(table: Table, case: str) -> None:
    table.run(PutItem(item("1", a=1)))
    with pytest.raises(ConditionFailed) as failed:
        table.run(WRITES[case](condition=Compare("a", ">", 1) | Missing("a"), return_on_failure=True))
    assert failed.value.item == item("1", a=1)


@pytest.mark.parametrize("case", WRITES)
def test_a_false_condition_on_nothing_gives_no_item(table: Table, case: str) -> None:
    with pytest.raises(ConditionFailed) as failed:
        table.run(WRITES[case](condition=Exists("hashKey"), return_on_failure=True))
    assert failed.value.item is None
    assert stored(table, "1") is None


@pytest.mark.parametrize("case", WRITES)
def test_a_write_whose_condition_is_true_is_carried_out(table: Table, case: str) -> None:
    table.run(PutItem(item("1", a=1)))
    table.run(WRITES[case](condition=Compare("a", "=", 1) & Exists("rangeKey")))
    assert stored(table, "1") == (None if case == "delete" else item("1", a=9))


def test_a_condition_may_look_at_keys(table: Table) -> None:
    table.run(PutItem(item("1", a=1)))
    table.run(PutItem(item("1", a=2), condition=Compare("rangeKey", "=", "1")))
    with pytest.raises(ConditionFailed):
        table.run(PutItem(item("1", a=3), condition=Missing("hashKey")))
    assert stored(table, "1") == item("1", a=2)


# -- what can't be stored ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("case", "value"),
    [
        ("empty set", set()),
        ("float", 1.5),
        ("39 digits", 10**39 + 1),
        ("not a number", Decimal("NaN")),
        ("too large a number", Decimal("1E+126")),
        ("mixed set", {1, "a"}),
        ("lone surrogate", "\ud800"),
        ("deep inside", [{"a": {"b": set()}}]),
    ],
)
def test_a_value_that_has_no_form_is_refused(table: Table, case: str, value: Any) -> None:
    with pytest.raises(ValueRefused):
        table.run(PutItem(item("1", a=value)))
    with pytest.raises(ValueRefused):
        table.run(UpdateItem(key("1"), set={"a": value}))
    assert stored(table, "1") is None


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        ("no range key", {"hashKey": "h"}),
        ("no hash key", {"rangeKey": "1"}),
        ("number for a string", {"hashKey": "h", "rangeKey": 1}),
        ("null", {"hashKey": None, "rangeKey": "1"}),
        ("empty hash key", {"hashKey": "", "rangeKey": "1"}),
        ("empty range key", {"hashKey": "h", "rangeKey": ""}),
        ("long hash key", {"hashKey": "é" * 1024 + "x", "rangeKey": "1"}),
        ("long range key", {"hashKey": "h", "rangeKey": "é" * 512 + "x"}),
    ],
)
def test_a_wrong_primary_key_is_refused(table: Table, case: str, wrong: Any) -> None:
    for operation in (PutItem(wrong), GetItem(wrong), DeleteItem(wrong), UpdateItem(wrong, set={"a": 1})):
        with pytest.raises(InvalidRequest):
            table.run(operation)


def test_a_key_holds_the_key_attributes_alone(table: Table) -> None:
    for operation in (GetItem(item("1", a=1)), DeleteItem(item("1", a=1)), UpdateItem(item("1", a=1))):
        with pytest.raises(InvalidRequest):
            table.run(operation)


def test_the_longest_keys_are_accepted(table: Table) -> None:
    longest = {"hashKey": "é" * 1024, "rangeKey": "é" * 512}
    table.run(PutItem(longest))
    assert table.run(GetItem(longest)).item == longest


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        ("null", {"text": None}),
        ("empty string", {"text": ""}),
        ("number for a string", {"text": 1}),
        ("string for a number", {"number": "1"}),
        ("empty binary", {"binary": b""}),
        ("string for a binary", {"binary": "x"}),
        ("list", {"text": ["x"]}),
        ("long index range key", {"text": "x" * 1025}),
        ("long index hash key", {"group": "x" * 2049, "text": "x"}),
    ],
)
def test_a_wrong_index_key_is_refused(table: Table, case: str, wrong: Any) -> None:
    table.run(PutItem(item("1", a=1)))
    with pytest.raises(InvalidRequest):
        table.run(PutItem(item("1", **wrong)))
    with pytest.raises(InvalidRequest):
        table.run(UpdateItem(key("1"), set=wrong))
    assert stored(table, "1") == item("1", a=1)


def test_an_addition_that_makes_an_index_key_wrong_is_refused(table: Table) -> None:
    with pytest.raises(InvalidRequest):
        table.run(UpdateItem(key("1"), add={"text": 1}))
    assert stored(table, "1") is None


# -- size -------------------------------------------------------------------------------------------------------------


def of_size(size: int) -> dict[str, Any]:
    """An item of exactly that many bytes, names included."""
    small = item("1", padding="")
    return small | {"padding": "x" * (size - item_bytes(small))}


def test_an_item_of_400_kb_is_stored(table: Table) -> None:
    table.run(PutItem(of_size(MAX_ITEM_BYTES)))
    found = stored(table, "1")
    assert found is not None
    assert item_bytes(found) == MAX_ITEM_BYTES


def test_an_item_over_400_kb_is_refused(table: Table) -> None:
    with pytest.raises(RecordTooLarge):
        table.run(PutItem(of_size(MAX_ITEM_BYTES + 1)))
    assert stored(table, "1") is None


def test_an_update_that_makes_an_item_too_large_is_refused(table: Table) -> None:
    table.run(PutItem(of_size(MAX_ITEM_BYTES - 2)))
    with pytest.raises(RecordTooLarge):
        table.run(UpdateItem(key("1"), set={"more": "x"}))
    assert stored(table, "1") == of_size(MAX_ITEM_BYTES - 2)


def test_the_size_counts_bytes_not_characters(table: Table) -> None:
    with pytest.raises(RecordTooLarge):
        table.run(PutItem(item("1", padding="é" * (MAX_ITEM_BYTES // 2))))


# -- tables whose keys are numbers or bytes ---------------------------------------------------------------------------


def test_number_keys_are_one_item_however_they_are_written(open_table: OpenTable) -> None:
    table = open_table(TableLayout(hash_key=KeyAttribute("hashKey", "N"), range_key=KeyAttribute("rangeKey", "N")))
    table.run(PutItem({"hashKey": 1, "rangeKey": Decimal("2.50"), "a": 1}))
    table.run(PutItem({"hashKey": Decimal("1.0"), "rangeKey": Decimal("2.5"), "a": 2}))
    assert table.run(GetItem({"hashKey": Decimal("1E+0"), "rangeKey": Decimal("25E-1")})).item == {
        "hashKey": 1,
        "rangeKey": Decimal("2.5"),
        "a": 2,
    }


def test_number_keys_of_38_digits_stay_apart(open_table: OpenTable) -> None:
    table = open_table(TableLayout(range_key=KeyAttribute("rangeKey", "N")))
    numbers = [10**37 + 1, 10**37 + 2, 10**38 - 1, -(10**38) + 1, Decimal("1.0000000000000000000000000000000000001")]
    for number in numbers:
        table.run(PutItem({"hashKey": "h", "rangeKey": number, "own": str(number)}))
    for number in numbers:
        found = table.run(GetItem({"hashKey": "h", "rangeKey": number})).item
        assert found == {"hashKey": "h", "rangeKey": number, "own": str(number)}


def test_binary_keys(open_table: OpenTable) -> None:
    table = open_table(TableLayout(hash_key=KeyAttribute("hashKey", "B"), range_key=KeyAttribute("rangeKey", "B")))
    table.run(PutItem({"hashKey": b"\x00", "rangeKey": b"\xff\x00", "a": 1}))
    assert table.run(GetItem({"hashKey": b"\x00", "rangeKey": b"\xff\x00"})).item is not None
    assert table.run(GetItem({"hashKey": b"\x00", "rangeKey": b"\xff"})).item is None


# -- the guard --------------------------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def test_a_guard_that_raises_stops_the_write(table: Table) -> None:
    def stop() -> None:
        raise Stopped

    with pytest.raises(Stopped):
        table.run(PutItem(item("1")), guard=stop)
    assert stored(table, "1") is None


def test_a_guard_is_asked_once_for_each_operation_that_has_it(table: Table) -> None:
    asked: list[str] = []
    table.run(PutItem(item("1")), guard=lambda: asked.append("put"))
    table.run(UpdateItem(key("1"), set={"a": 1}))
    table.run(DeleteItem(key("1"), condition=Exists("a")), guard=lambda: asked.append("delete"))
    assert asked == ["put", "delete"]


def test_a_guard_may_use_the_table(table: Table) -> None:
    table.run(PutItem(item("allowed")))

    def check() -> None:
        if stored(table, "allowed") is None:
            raise Stopped

    table.run(PutItem(item("1")), guard=check)
    assert every_item(table, query()) == [item("1"), item("allowed")]
