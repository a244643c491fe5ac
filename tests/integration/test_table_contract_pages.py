"""What every table does with queries: order, intervals, pages, start keys, filters, indexes."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardweave.errors import InvalidRequest
from shardweave.table import Table
from shardweave.table.conditions import BeginsWith, Compare, Missing
from shardweave.table.layout import KeyAttribute, TableLayout
from shardweave.table.operations import DeleteItem, Interval, PutItem, Query, Scan, UpdateItem
from shardweave.table.values import Item
from tests.integration.table_contract import (
    LAYOUT,
    OpenTable,
    every_item,
    fill,
    item,
    key,
    pages,
    query,
    values,
)

# Every example writes items, so there are few.
FEW = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


@pytest.fixture
def letters(table: Table) -> Table:
    """A table that holds a, b, c, d, e under one hash key, and others beside it."""
    fill(table, [item(letter, text=letter, n=place) for place, letter in enumerate("abcde")])
    fill(table, [item("c", hash_key="g", text="c"), item("c", hash_key="i", text="c")])
    return table


# -- order ------------------------------------------------------------------------------------------------------------

TEXTS = ["\x01", " ", "!", "A", "Z", "a", "a ", "a!", "ab", "z", "\x7f", "\x80", "é", "\u07ff", "\u0800", "\ufffd"]
TEXTS += ["\uffff", "\U00010000", "\U0001f600", "\U0010ffff"]


@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("index", [None, "byText"])
def test_texts_are_ordered_by_their_utf8_bytes(table: Table, index: str | None, descending: bool) -> None:
    fill(table, [item(text, text=text) for text in sorted(TEXTS, key=lambda text: text[::-1])])
    found = values(every_item(table, query(index, descending=descending)), "rangeKey")
    assert found == sorted(TEXTS, key=str.encode, reverse=descending)


NUMBERS = [-(10**38) + 1, -(10**37) - 1, -(10**37), -2, -1, Decimal("-1E-130"), 0, Decimal("1E-130"), Decimal("0.5")]
NUMBERS += [1, Decimal("1.0000000000000000000000000000000000001"), 9, 10, 2**53, 2**53 + 1, 2**63, 2**63 + 1]
NUMBERS += [10**37, 10**37 + 1, 10**38 - 1, Decimal("9.9999999999999999999999999999999999999E+125")]


@pytest.mark.parametrize("descending", [False, True])
def test_numbers_are_ordered_exactly(open_table: OpenTable, descending: bool) -> None:
    table = open_table(TableLayout(range_key=KeyAttribute("rangeKey", "N")))
    fill(table, [{"hashKey": "h", "rangeKey": number} for number in sorted(NUMBERS, key=str)])
    found = values(every_item(table, query(descending=descending)), "rangeKey")
    assert found == sorted(NUMBERS, reverse=descending)


def test_an_index_orders_numbers_exactly(table: Table) -> None:
    fill(table, [item(str(place), number=number) for place, number in enumerate(sorted(NUMBERS, key=str))])
    assert values(every_item(table, query("byNumber")), "number") == sorted(NUMBERS)


def test_intervals_of_numbers_are_exact(table: Table) -> None:
    fill(table, [item(str(place), number=number) for place, number in enumerate(NUMBERS)])
    for low, high in itertools.pairwise(sorted(NUMBERS)):
        found = every_item(table, query("byNumber", interval=Interval(low, high)))
        assert values(found, "number") == [low, high]


@pytest.mark.parametrize("descending", [False, True])
def test_binaries_are_ordered_as_unsigned_bytes(table: Table, descending: bool) -> None:
    binaries = [b"\x00", b"\x00\x00", b"\x01", b"\x7f", b"\x80", b"\xff", b"\xff\x00", b"\xff\xff"]
    fill(table, [item(str(place), binary=binary) for place, binary in enumerate(reversed(binaries))])
    found = values(every_item(table, query("byBinary", descending=descending)), "binary")
    assert found == sorted(binaries, reverse=descending)


# -- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [None, "byText"])
@pytest.mark.parametrize(
    ("interval", "expected"),
    [
        (Interval(), "abcde"),
        (Interval("b", "d"), "bcd"),
        (Interval("aa", "cz"), "bc"),
        (Interval(low="c"), "cde"),
        (Interval(high="c"), "abc"),
        (Interval("c", "c"), "c"),
        (Interval("cc", "cc"), ""),
        (Interval("x", "z"), ""),
    ],
)
@pytest.mark.parametrize("descending", [False, True])
def test_an_interval_is_closed(
    letters: Table, index: str | None, interval: Interval, expected: str, descending: bool
) -> None:
    found = values(every_item(letters, query(index, interval=interval, descending=descending)), "rangeKey")
    assert found == list(reversed(expected) if descending else expected)


@pytest.mark.parametrize(
    ("case", "interval"),
    [
        ("reversed", Interval("d", "b")),
        ("wrong type", Interval(1, 2)),
        ("mixed types", Interval("a", 2)),
        ("empty low", Interval("", "b")),
        ("long low", Interval("x" * 1025, "y")),
        ("long point", Interval("x" * 1025, "x" * 1025)),
    ],
)
def test_an_interval_that_makes_no_sense_is_refused(letters: Table, case: str, interval: Interval) -> None:
    with pytest.raises(InvalidRequest):
        letters.run(query(interval=interval))


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        ("hash key of another type", Query("hashKey", 1, "rangeKey")),
        ("empty hash key", Query("hashKey", "", "rangeKey")),
        ("not the hash key", Query("text", "h", "rangeKey")),
        ("not the range key", Query("hashKey", "h", "text", Interval("a", "b"))),
        ("not the index's hash key", Query("hashKey", "h", "text", index="keysOnly")),
        ("not the index's range key", Query("hashKey", "h", "rangeKey", Interval("a", "b"), index="byText")),
        ("unknown index", Query("hashKey", "h", "text", index="unknown")),
        ("consistent read of an index", Query("hashKey", "h", "text", index="byText", consistent=True)),
        ("limit of zero", Query("hashKey", "h", "rangeKey", limit=0)),
    ],
)
def test_a_query_that_does_not_fit_the_table_is_refused(letters: Table, case: str, wrong: Query) -> None:
    with pytest.raises(InvalidRequest):
        letters.run(wrong)


def test_a_consistent_query_of_the_table_sees_every_write(letters: Table) -> None:
    letters.run(PutItem(item("f")))
    letters.run(DeleteItem(key("a")))
    assert values(letters.run(query(consistent=True)).items, "rangeKey") == list("bcdef")


# -- pages ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("index", [None, "byText"])
@pytest.mark.parametrize("descending", [False, True])
def test_pages_hold_exactly_the_limit(letters: Table, index: str | None, descending: bool) -> None:
    found = list(pages(letters, query(index, limit=2, descending=descending)))
    assert [page.count for page in found] == [2, 2, 1]
    assert [page.scanned for page in found] == [2, 2, 1]
    assert "".join(values([each for page in found for each in page.items], "rangeKey")) == (
        "edcba" if descending else "abcde"
    )


def test_a_page_that_the_limit_ends_has_a_last_key_although_nothing_follows(letters: Table) -> None:
    page = letters.run(query(limit=5))
    assert page.last_key == key("e")
    after = letters.run(query(limit=5, start_key=page.last_key))
    assert (after.items, after.count, after.scanned, after.last_key) == ((), 0, 0, None)


def test_a_page_that_the_data_ends_has_no_last_key(letters: Table) -> None:
    assert letters.run(query(limit=6)).last_key is None
    assert letters.run(query()).last_key is None


def test_a_query_of_nothing_is_empty(letters: Table) -> None:
    page = letters.run(query(hash_value="nothing", limit=1))
    assert (page.items, page.count, page.scanned, page.last_key) == ((), 0, 0, None)


def test_the_last_key_of_an_index_holds_its_keys_and_the_tables(table: Table) -> None:
    table.run(PutItem(item("1", text="t", group="g", number=Decimal("1.5"), binary=b"b", color="red")))
    table.run(PutItem(item("2", text="u", group="g", number=Decimal("2.5"), binary=b"c", color="red")))
    expected = {
        "byText": key("1") | {"text": "t"},
        "byNumber": key("1") | {"number": Decimal("1.5")},
        "byBinary": key("1") | {"binary": b"b"},
        "keysOnly": key("1") | {"group": "g", "text": "t"},
        "some": key("1") | {"group": "g", "number": Decimal("1.5")},
    }
    for index, last_key in expected.items():
        hash_value = "g" if index in ("keysOnly", "some") else "h"
        assert table.run(query(index, hash_value=hash_value, limit=1)).last_key == last_key


def test_a_page_holds_at_most_1_mb_before_filtering(table: Table) -> None:
    fill(table, [item(f"{place:02}", text="t", padding="x" * 150_000) for place in range(10)])
    for operation in (query(), query("byText"), query(descending=True)):
        found = list(pages(table, operation))
        assert len(found) > 1
        assert all(4 <= page.scanned <= 7 for page in found[:-1])
        assert sorted(values([each for page in found for each in page.items], "rangeKey")) == [
            f"{place:02}" for place in range(10)
        ]


def test_a_filter_or_projection_does_not_make_pages_longer(table: Table) -> None:
    fill(table, [item(f"{place:02}", padding="x" * 150_000) for place in range(10)])
    for parts in ({"filter": Compare("padding", "=", "none")}, {"projection": ("rangeKey",)}, {"count_only": True}):
        first = table.run(query(**parts))
        assert 4 <= first.scanned <= 7
        assert first.last_key is not None


# -- start keys -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("start", "ascending", "descending"),
    [("b", "cde", "a"), ("bb", "cde", "ba"), ("0", "abcde", ""), ("z", "", "edcba")],
)
def test_a_start_key_need_not_name_an_item(letters: Table, start: str, ascending: str, descending: str) -> None:
    for index, start_key in ((None, key(start)), ("byText", key(start) | {"text": start})):
        forward = every_item(letters, query(index, start_key=start_key))
        backward = every_item(letters, query(index, start_key=start_key, descending=True))
        assert "".join(values(forward, "rangeKey")) == ascending
        assert "".join(values(backward, "rangeKey")) == descending


def test_a_walk_goes_on_after_its_last_item_was_deleted(letters: Table) -> None:
    for index in (None, "byText"):
        page = letters.run(query(index, limit=2))
        letters.run(DeleteItem(key("b")))
        rest = every_item(letters, query(index, start_key=page.last_key))
        assert values(rest, "rangeKey") == ["c", "d", "e"]
        letters.run(PutItem(item("b", text="b")))


@pytest.mark.parametrize(
    ("case", "index", "start_key"),
    [
        ("no range key", None, {"hashKey": "h"}),
        ("an attribute too many", None, key("b") | {"text": "b"}),
        ("wrong type", None, {"hashKey": "h", "rangeKey": 1}),
        ("other hash key", None, key("b", "g")),
        ("below the interval", None, key("a")),
        ("above the interval", None, key("e")),
        ("no table key", "byText", {"hashKey": "h", "text": "b"}),
        ("no index key", "byText", key("b")),
        ("an index attribute too many", "byText", key("b") | {"text": "b", "n": 1}),
        ("wrong type in the index", "byText", key("b") | {"text": 1}),
        ("other hash key in the index", "byText", key("b", "g") | {"text": "b"}),
        ("outside the interval of the index", "byText", key("b") | {"text": "e"}),
    ],
)
def test_a_start_key_that_does_not_fit_is_refused(
    letters: Table, case: str, index: str | None, start_key: Item
) -> None:
    with pytest.raises(InvalidRequest):
        letters.run(query(index, interval=Interval("b", "d"), start_key=start_key))


# -- filters and projections ------------------------------------------------------------------------------------------


def test_a_filter_is_applied_after_the_limit(letters: Table) -> None:
    page = letters.run(query(limit=2, filter=Compare("n", ">=", 3)))
    assert (page.items, page.count, page.scanned, page.last_key) == ((), 0, 2, key("b"))
    found = every_item(letters, query(limit=2, filter=Compare("n", ">=", 3)))
    assert values(found, "rangeKey") == ["d", "e"]


def test_the_last_key_is_of_the_last_item_scanned(letters: Table) -> None:
    page = letters.run(query(limit=3, filter=Compare("n", "=", 0)))
    assert values(page.items, "rangeKey") == ["a"]
    assert page.last_key == key("c")


def test_counting_answers_no_items(letters: Table) -> None:
    page = letters.run(query(count_only=True, filter=Compare("n", "<", 3), projection=("n",)))
    assert (page.items, page.count, page.scanned) == ((), 3, 5)


def test_a_projection_gives_only_the_attributes_that_are_asked_for(letters: Table) -> None:
    page = letters.run(query(projection=("n", "absent"), limit=2, filter=Missing("absent")))
    assert page.items == ({"n": 0}, {"n": 1})
    assert page.last_key == key("b")


def test_a_filter_may_look_at_what_is_not_asked_for(letters: Table) -> None:
    page = letters.run(query(projection=("rangeKey",), filter=Compare("n", "=", 3)))
    assert page.items == ({"rangeKey": "d"},)


@pytest.mark.parametrize(
    ("case", "index", "attribute"),
    [
        ("hash key", None, "hashKey"),
        ("range key", None, "rangeKey"),
        ("index hash key", "byText", "hashKey"),
        ("index range key", "byText", "text"),
    ],
)
def test_a_filter_on_a_key_is_refused(letters: Table, case: str, index: str | None, attribute: str) -> None:
    for condition in (BeginsWith(attribute, "a"), Compare("n", "=", 1) | ~Missing(attribute)):
        with pytest.raises(InvalidRequest):
            letters.run(query(index, filter=condition))


def test_a_filter_on_an_index_may_look_at_the_tables_range_key(letters: Table) -> None:
    found = letters.run(query("byText", filter=Compare("rangeKey", ">", "c"))).items
    assert values(found, "rangeKey") == ["d", "e"]


# -- indexes ----------------------------------------------------------------------------------------------------------


def test_an_index_holds_only_items_that_have_both_of_its_keys(table: Table) -> None:
    fill(
        table,
        [
            item("1", group="g", text="a"),
            item("2", group="g"),
            item("3", text="a"),
            item("4", group="g", text="b", number=1),
        ],
    )
    assert values(every_item(table, query("keysOnly", hash_value="g")), "rangeKey") == ["1", "4"]
    assert sorted(values(every_item(table, query("byText")), "rangeKey")) == ["1", "3", "4"]
    assert values(every_item(table, query("byNumber")), "rangeKey") == ["4"]
    assert values(every_item(table, Scan(index="some")), "rangeKey") == ["4"]


def test_an_index_follows_updates(table: Table) -> None:
    def found() -> list[tuple[str, str]]:
        return [(each["text"], each["rangeKey"]) for each in every_item(table, query("byText"))]

    fill(table, [item("1", text="b"), item("2", text="c"), item("3")])
    table.run(UpdateItem(key("1"), set={"text": "d"}))
    assert found() == [("c", "2"), ("d", "1")]
    table.run(UpdateItem(key("3"), set={"text": "a"}))
    table.run(UpdateItem(key("2"), remove=("text",)))
    assert found() == [("a", "3"), ("d", "1")]
    table.run(DeleteItem(key("3")))
    table.run(PutItem(item("1")))
    assert found() == []


def test_an_index_gives_what_it_projects(table: Table) -> None:
    whole = item("1", group="g", text="t", number=1, color="red", shape="round")
    table.run(PutItem(whole))
    assert every_item(table, query("byText")) == [whole]
    assert every_item(table, query("keysOnly", hash_value="g")) == [key("1") | {"group": "g", "text": "t"}]
    assert every_item(table, query("some", hash_value="g")) == [key("1") | {"group": "g", "number": 1, "color": "red"}]


def test_a_filter_on_an_index_sees_only_what_it_projects(table: Table) -> None:
    table.run(PutItem(item("1", group="g", text="t", number=1, color="red", shape="round")))
    some = query("some", hash_value="g")
    assert table.run(replace(some, filter=Compare("color", "=", "red"))).count == 1
    assert table.run(replace(some, filter=Compare("shape", "=", "round"))).count == 0
    assert table.run(replace(some, filter=Missing("shape"))).count == 1
    keys_only = query("keysOnly", hash_value="g")
    assert table.run(replace(keys_only, filter=Compare("color", "=", "red"))).count == 0


@pytest.mark.parametrize("index", ["byText", "byNumber", "byBinary"])
def test_ties_keep_one_order_that_can_be_resumed_at_each_item(table: Table, index: str) -> None:
    tied = {"text": "tie", "number": 7, "binary": b"tie"}
    fill(table, [item(f"{place}", **tied) for place in (5, 3, 9, 1, 7)])
    fill(table, [item("below", text="t", number=6, binary=b"t"), item("above", text="tie0", number=8, binary=b"tie0")])
    ascending = every_item(table, query(index))
    assert values(ascending, "rangeKey")[0] == "below"
    assert values(ascending, "rangeKey")[-1] == "above"
    assert sorted(values(ascending, "rangeKey")[1:-1]) == ["1", "3", "5", "7", "9"]
    assert every_item(table, query(index, descending=True)) == ascending[::-1]
    for limit in (1, 2, 3):
        assert every_item(table, query(index, limit=limit)) == ascending
        assert every_item(table, query(index, limit=limit, descending=True)) == ascending[::-1]
    for place, resumed in enumerate(ascending):
        start_key = {name: resumed[name] for name in LAYOUT.start_key_names(index)}
        assert every_item(table, query(index, start_key=start_key)) == ascending[place + 1 :]
        assert every_item(table, query(index, start_key=start_key, descending=True)) == ascending[:place][::-1]


# -- properties -------------------------------------------------------------------------------------------------------

_fresh = itertools.count(1)


def fresh_hash_key() -> str:
    """A hash key of its own for each example, since the examples of one test share its table."""
    return f"example-{next(_fresh)}"


# Small alphabets, so that ties and prefixes are common; the last two sort differently by UTF-16.
TEXT = st.text(alphabet="ab\u00e9\uffff\U00010000", min_size=1, max_size=3)
NUMBER = st.integers(-2, 2) | st.sampled_from([10**37, 10**37 + 1, Decimal("0.1"), Decimal("-0.1")])


def resumed_everywhere(table: Table, operation: Query, index: str | None, whole: list[Item]) -> Iterator[bool]:
    for place, each in enumerate(whole):
        start_key = {name: each[name] for name in LAYOUT.start_key_names(index)}
        yield every_item(table, replace(operation, start_key=start_key)) == whole[place + 1 :]


@FEW
@given(texts=st.lists(TEXT, unique=True, max_size=12), limit=st.integers(1, 4), descending=st.booleans())
def test_the_pages_of_a_table_put_together_are_the_sorted_items(
    table: Table, texts: list[str], limit: int, descending: bool
) -> None:
    hash_key = fresh_hash_key()
    fill(table, [item(text, hash_key=hash_key) for text in texts])
    operation = query(hash_value=hash_key, limit=limit, descending=descending)
    found = every_item(table, operation)
    assert values(found, "rangeKey") == sorted(texts, key=str.encode, reverse=descending)
    assert all(resumed_everywhere(table, operation, None, found))


@FEW
@given(numbers=st.lists(NUMBER, max_size=12), limit=st.integers(1, 4), descending=st.booleans())
def test_the_pages_of_an_index_put_together_are_the_sorted_items(
    table: Table, numbers: list[Any], limit: int, descending: bool
) -> None:
    hash_key = fresh_hash_key()
    fill(table, [item(str(place), hash_key=hash_key, number=number) for place, number in enumerate(numbers)])
    operation = query("byNumber", hash_value=hash_key, limit=limit, descending=descending)
    found = every_item(table, operation)
    assert values(found, "number") == sorted(numbers, reverse=descending)
    assert sorted(values(found, "rangeKey")) == sorted(str(place) for place in range(len(numbers)))
    assert all(resumed_everywhere(table, operation, "byNumber", found))


@FEW
@given(texts=st.lists(TEXT, unique=True, max_size=12), bounds=st.tuples(TEXT, TEXT), low_only=st.booleans())
def test_an_interval_holds_what_lies_in_it(
    table: Table, texts: list[str], bounds: tuple[str, str], low_only: bool
) -> None:
    low, high = sorted(bounds, key=str.encode)
    hash_key = fresh_hash_key()
    fill(table, [item(text, hash_key=hash_key, text=text) for text in texts])
    interval = Interval(low) if low_only else Interval(low, high)
    expected = sorted((text for text in texts if low <= text and (low_only or text <= high)), key=str.encode)
    for index in (None, "byText"):
        found = every_item(table, query(index, hash_value=hash_key, interval=interval, limit=3))
        assert values(found, "rangeKey") == expected
