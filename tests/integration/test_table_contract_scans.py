"""What every table does with reads that follow no order: scans, and batches of keys."""

from __future__ import annotations

import pytest

from shardweave.errors import InvalidRequest
from shardweave.table import Table
from shardweave.table.conditions import Compare
from shardweave.table.operations import BatchGet, PutItem, Scan
from shardweave.table.values import Item
from tests.integration.table_contract import LAYOUT, OpenTable, every_item, fill, item, key, values


@pytest.fixture
def table(open_table: OpenTable) -> Table:
    return open_table(LAYOUT)


@pytest.fixture
def letters(table: Table) -> Table:
    """A table that holds a, b, c, d, e under one hash key, and c under another."""
    fill(table, [item(letter, n=place) for place, letter in enumerate("abcde")])
    fill(table, [item("c", hash_key="g")])
    return table


# -- scans ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def scattered(table: Table) -> Table:
    """A table with 60 items under 20 hash keys, every third of them in byNumber."""
    fill(
        table,
        [
            item(str(place), hash_key=f"h{place % 20}", place=place) | ({} if place % 3 else {"number": place})
            for place in range(60)
        ],
    )
    return table


@pytest.mark.parametrize("total", [1, 2, 7])
@pytest.mark.parametrize("index", [None, "byNumber"])
def test_the_segments_of_a_scan_are_disjoint_and_complete(scattered: Table, index: str | None, total: int) -> None:
    found = [
        each["place"]
        for segment in range(total)
        for each in every_item(scattered, Scan(segment, total, index=index, limit=4))
    ]
    assert sorted(found) == [place for place in range(60) if index is None or place % 3 == 0]


def test_a_scan_keeps_its_order(scattered: Table) -> None:
    whole = every_item(scattered, Scan())
    assert every_item(scattered, Scan(limit=7)) == whole
    assert every_item(scattered, Scan(consistent=True)) == whole


def test_a_scan_filters_projects_and_counts_like_a_query(scattered: Table) -> None:
    found = every_item(scattered, Scan(filter=Compare("place", "<", 5), projection=("place",), limit=10))
    assert sorted(values(found, "place")) == [0, 1, 2, 3, 4]
    page = scattered.run(Scan(filter=Compare("place", "<", 5), limit=60, count_only=True))
    assert (page.items, page.count, page.scanned) == ((), 5, 60)


def test_a_scan_may_filter_on_keys(scattered: Table) -> None:
    found = every_item(scattered, Scan(filter=Compare("hashKey", "=", "h7")))
    assert sorted(values(found, "place")) == [7, 27, 47]


@pytest.mark.parametrize(
    ("case", "wrong"),
    [
        ("no such segment", Scan(2, 2)),
        ("no segments", Scan(0, 0)),
        ("unknown index", Scan(index="unknown")),
        ("consistent read of an index", Scan(index="byText", consistent=True)),
        ("limit of zero", Scan(limit=0)),
        ("start key without a range key", Scan(start_key={"hashKey": "h"})),
    ],
)
def test_a_scan_that_does_not_fit_the_table_is_refused(scattered: Table, case: str, wrong: Scan) -> None:
    with pytest.raises(InvalidRequest):
        scattered.run(wrong)


# -- batches of reads -------------------------------------------------------------------------------------------------


def test_a_batch_gives_the_items_that_exist(letters: Table) -> None:
    answer = letters.run(BatchGet((key("c"), key("none"), key("a"), key("c", "g")), consistent=True))
    assert sorted((each["hashKey"], each["rangeKey"]) for each in answer.items) == [("g", "c"), ("h", "a"), ("h", "c")]
    assert answer.unprocessed == ()


def test_a_batch_gives_only_the_attributes_that_are_asked_for(letters: Table) -> None:
    answer = letters.run(BatchGet((key("b"), key("c")), projection=("n",)))
    assert sorted(values(answer.items, "n")) == [1, 2]
    assert all(set(each) == {"n"} for each in answer.items)


def test_a_batch_reads_100_items(table: Table) -> None:
    fill(table, [item(str(place)) for place in range(100)])
    answer = table.run(BatchGet(tuple(key(str(place)) for place in range(100))))
    assert len(answer.items) == 100


def test_what_does_not_fit_in_a_batch_of_16_mb_is_left_unprocessed(table: Table) -> None:
    fill_one_by_one = [item(str(place), padding="x" * 390_000) for place in range(45)]
    for each in fill_one_by_one:
        table.run(PutItem(each))
    keys = tuple(key(str(place)) for place in range(45))
    answer = table.run(BatchGet(keys))
    assert answer.unprocessed
    got = {each["rangeKey"] for each in answer.items} | set(values(answer.unprocessed, "rangeKey"))
    assert len(answer.items) + len(answer.unprocessed) == 45
    assert got == set(values(keys, "rangeKey"))


@pytest.mark.parametrize(
    ("case", "keys"),
    [
        ("none", ()),
        ("101", tuple(key(str(place)) for place in range(101))),
        ("one key twice", (key("a"), key("b"), key("a"))),
        ("incomplete key", ({"hashKey": "h"},)),
    ],
)
def test_a_batch_of_reads_that_makes_no_sense_is_refused(letters: Table, case: str, keys: tuple[Item, ...]) -> None:
    with pytest.raises(InvalidRequest):
        letters.run(BatchGet(keys))
