"""Entries of indexes that wait: what is read is the same, few pages are logged, and nothing is lost on the way."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from shardweave.errors import ConfigurationError, TableError, TableUnusable
from shardweave.table.embedded import EmbeddedTable, stored_items
from shardweave.table.embedded.copies import copy_table
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import (
    BatchWrite,
    DeleteItem,
    GetItem,
    PageAnswer,
    PutItem,
    Query,
    Scan,
    TransactWrite,
    UpdateItem,
)
from tests.unit.embedded_table import LAYOUT, changes, item, key

FORMAT_1 = Path(__file__).parents[1] / "data" / "embedded_format_1.sql"
WRITTEN = 1_800_000_000
"""When it was, by its clock: changes are kept for a day."""
WAIT = 7
"""So few that random writes often write the entries that wait."""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.sqlite"


def waiting(path: Path) -> int:
    """How many items wait."""
    with closing(sqlite3.connect(path)) as connection:
        through, last = connection.execute("SELECT through, (SELECT max(id) FROM items) FROM indexed").fetchone()
        return max(0, (last or 0) - through)


def texts(table: EmbeddedTable) -> list[str]:
    return [found["rangeKey"] for found in table.run(Query("hashKey", "h", "text", index="byText")).items]


# -- what is read -----------------------------------------------------------------------------------------------------


def a_write(chooser: random.Random) -> Any:
    """A write of one of a few items, so that many are of items that are there, and of items that wait."""

    def an_item() -> dict[str, Any]:
        keys: dict[str, Any] = {}
        if chooser.random() < 0.8:
            keys["text"] = chooser.choice("xyz")
        if chooser.random() < 0.7:
            keys |= {"group": chooser.choice("gh"), "number": chooser.randrange(4), "color": chooser.choice("rb")}
        return item(f"r{chooser.randrange(25)}", chooser.choice(("h", "a hash key of over 16 bytes")), **keys)

    def a_key() -> dict[str, Any]:
        return {name: value for name, value in an_item().items() if name in ("hashKey", "rangeKey")}

    match chooser.randrange(6):
        case 0 | 1:
            return PutItem(an_item())
        case 2:
            return DeleteItem(a_key())
        case 3:
            return UpdateItem(a_key(), set={"text": chooser.choice("xyz")}, remove=("color",))
        case 4:
            return UpdateItem(a_key(), set={"other": chooser.randrange(3)})
        case _:
            distinct = {tuple(each[name] for name in ("hashKey", "rangeKey")): each for each in (an_item(), an_item())}
            if chooser.random() < 0.5:
                return BatchWrite(tuple(distinct.values()))
            return TransactWrite(tuple(PutItem(each) for each in distinct.values()))


def pages(table: EmbeddedTable, operation: Query | Scan) -> list[PageAnswer]:
    found: list[PageAnswer] = []
    while True:
        page = table.run(operation)
        found.append(page)
        if page.last_key is None:
            return found
        operation = replace(operation, start_key=page.last_key)


def reads(chooser: random.Random) -> Iterator[Query | Scan]:
    descending, limit = chooser.random() < 0.5, chooser.choice((1, 3, None))
    for hash_key in ("h", "a hash key of over 16 bytes"):
        yield Query("hashKey", hash_key, "text", index="byText", limit=limit, descending=descending)
    yield Query("group", "g", "number", index="byNumber", limit=limit, descending=descending)
    yield Scan(index="byText", limit=limit, segment=chooser.randrange(2), total_segments=2)
    yield Scan(index="byNumber", limit=limit)
    yield Scan(limit=limit)


@pytest.mark.parametrize("seed", range(2))
def test_every_read_is_that_of_a_table_in_which_nothing_waits(path: Path, seed: int) -> None:
    """The table in memory writes all entries at once. A second object on the file stands for another process."""
    chooser = random.Random(seed)
    ours, beside, plain = EmbeddedTable(LAYOUT, path, wait=WAIT), EmbeddedTable(LAYOUT, path), EmbeddedTable(LAYOUT)
    met: Counter[str] = Counter()
    before = 0
    for _ in range(120):
        write = a_write(chooser)
        for table in (ours, plain):
            table.run(write)
        now = waiting(path)
        met["some wait" if now else "none waits"] += 1
        if now < before:
            met[f"written by {type(write).__name__}"] += 1
        before = now
        for table in chooser.sample((ours, beside), max(0, chooser.randrange(6) - 3)):
            for read in reads(chooser):
                assert pages(table, read) == pages(plain, read)
    assert met["some wait"] >= 40
    assert met["written by UpdateItem"] + met["written by DeleteItem"] >= 2
    for table in (ours, beside, plain):
        table.close()


def test_many_items_wait_until_their_number_is_reached(path: Path) -> None:
    table = EmbeddedTable(LAYOUT, path, wait=WAIT)
    seen = []
    for number in range(2 * WAIT):
        table.run(PutItem(item(f"r{number:02}", text="x")))
        seen.append(waiting(path))
        assert len(texts(table)) == number + 1
    assert seen == [*range(1, WAIT), 0] * 2


def test_the_number_of_a_removed_row_is_not_given_to_an_item_that_would_wait(path: Path) -> None:
    table = EmbeddedTable(LAYOUT, path, wait=WAIT)
    table.run(PutItem(item("a", text="x")))
    table.run(DeleteItem(key("a")))
    table.run(PutItem(item("b", text="x")))
    assert waiting(path) == 1
    assert texts(table) == ["b"]


def test_a_change_that_keeps_the_keys_lets_entries_wait(path: Path) -> None:
    table = EmbeddedTable(LAYOUT, path)
    table.run(PutItem(item("a", text="x", v=1)))
    table.run(UpdateItem(key("a"), add={"v": 1}))
    assert waiting(path) == 1
    assert table.run(Query("hashKey", "h", "text", index="byText")).items == (item("a", text="x", v=2),)


def test_closing_writes_what_waits_and_only_reading_does_not(path: Path) -> None:
    table = EmbeddedTable(LAYOUT, path)
    table.run(PutItem(item("a", text="x")))
    reader = EmbeddedTable(LAYOUT, path)
    assert texts(reader) == ["a"]
    assert waiting(path) == 1
    table.close()
    assert waiting(path) == 0
    assert texts(reader) == ["a"]
    reader.close()


def test_a_removed_index_is_missed_even_when_items_wait(path: Path) -> None:
    older = EmbeddedTable(LAYOUT, path)
    newer = EmbeddedTable(replace(LAYOUT, indexes=LAYOUT.indexes[1:]), path)
    newer.run(PutItem(item("a", text="x")))
    with pytest.raises(TableError, match="removed the index"):
        texts(older)
    assert older.run(Query("group", "g", "number", index="byNumber")).items == ()


def test_a_layout_that_gains_an_index_finds_what_waits(path: Path) -> None:
    table = EmbeddedTable(replace(LAYOUT, indexes=LAYOUT.indexes[1:]), path)
    table.run(PutItem(item("a", text="x", group="g", number=1, color="red")))
    assert waiting(path) == 1
    newer = EmbeddedTable(LAYOUT, path)
    assert waiting(path) == 0
    assert texts(newer) == ["a"]
    assert newer.run(Query("group", "g", "number", index="byNumber")).count == 1


# -- what is logged ---------------------------------------------------------------------------------------------------


def test_a_create_logs_few_pages_whatever_the_indexes(path: Path) -> None:
    """Of an item of eleven indexes in a table of a thousand: 86 KB when each index had its own tree."""
    names = [f"a{number}" for number in range(11)]
    layout = TableLayout(indexes=tuple(IndexLayout(n, KeyAttribute("hashKey"), KeyAttribute(n)) for n in names))
    table = EmbeddedTable(layout, path)
    chooser = random.Random(1)

    def some(count: int) -> tuple[dict[str, Any], ...]:
        keys = ({name: f"{chooser.getrandbits(120):030x}" for name in names} for _ in range(count))
        return tuple(item(f"{chooser.getrandbits(64):016x}", **each) for each in keys)

    for _ in range(40):
        table.run(BatchWrite(some(25)))
    log = path.with_name(f"{path.name}-wal")
    before = log.stat().st_size
    for each in some(20):
        table.run(PutItem(each))
    assert (log.stat().st_size - before) / 20 < 12_000


# -- files of the former format, and copies ---------------------------------------------------------------------------


def former(path: Path, script: str | None = None) -> None:
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(f"BEGIN; {script or FORMAT_1.read_text()} COMMIT;")


def test_a_file_of_the_former_format_is_migrated_with_all_that_it_holds(path: Path) -> None:
    former(path)
    assert list(stored_items(path, [("h", "a"), ("h", "gone")])) == [("h", "a")]
    table = EmbeddedTable(LAYOUT, path, clock=lambda: WRITTEN + 60)
    assert texts(table) == ["b", "a"]
    assert [found["rangeKey"] for found in table.run(Scan(index="byNumber")).items] == ["a", "b"]
    assert table.run(Scan()).count == 3
    assert [record.event for record in changes(table)] == ["INSERT"] * 4 + ["REMOVE", "MODIFY"]
    assert table.run(TransactWrite((UpdateItem(key("a"), set={"group": "g", "number": 1}),), token="once"))
    assert len(changes(table)) == 6
    table.run(UpdateItem(key("a"), set={"text": "a"}))
    table.run(DeleteItem(key("c", "a hash key that is longer than sixteen bytes")))
    table.run(PutItem(item("d", text="z")))
    assert texts(table) == ["a", "b", "d"]
    assert table.expire(1_800_000_200) == 1
    table.close()
    assert texts(EmbeddedTable(LAYOUT, path)) == ["a", "d"]
    assert list(stored_items(path, [("h", "a"), ("h", "gone")])) == [("h", "a")]


def test_a_migrated_file_may_gain_and_lose_indexes_at_once(path: Path) -> None:
    former(path)
    by_color = IndexLayout("byColor", KeyAttribute("hashKey"), KeyAttribute("color"))
    table = EmbeddedTable(replace(LAYOUT, indexes=(*LAYOUT.indexes[:1], by_color), ttl_attribute="other"), path)
    assert texts(table) == ["b", "a"]
    assert table.run(Scan(index="byColor")).count == 1
    assert table.expire(1_800_000_200) == 0


@pytest.mark.parametrize("value", ["3", "0"])
def test_a_file_of_another_format_is_refused(path: Path, value: str) -> None:
    former(path, FORMAT_1.read_text().replace("'format','1'", f"'format','{value}'"))
    with pytest.raises(ConfigurationError, match=f"format {value}; this version reads formats 1 and 2"):
        EmbeddedTable(LAYOUT, path)


def test_a_copy_that_is_put_back_takes_the_place_of_what_waits(path: Path, tmp_path: Path) -> None:
    """The rows after the copy have the same numbers as those that a reader knew."""
    copy = tmp_path / "copy.sqlite"
    table = EmbeddedTable(LAYOUT, path)
    table.run(PutItem(item("a", text="x")))
    copy_table(path, copy)
    table.run(PutItem(item("b", text="y")))
    assert texts(table) == ["a", "b"]
    copy_table(copy, path)
    table.run(PutItem(item("c", text="w")))
    assert texts(table) == ["c", "a"]


def test_a_copy_with_pages_of_another_size_is_put_back(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    table = EmbeddedTable(LAYOUT, path)
    table.run(PutItem(item("a", text="x")))
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA page_size = 4096")
        connection.execute("VACUUM INTO ?", (str(copy),))
    table.run(DeleteItem(key("a")))
    copy_table(copy, path)
    assert table.run(GetItem(key("a"))).item == item("a", text="x")
    assert sorted(each.name for each in tmp_path.iterdir() if "table" not in each.name) == ["copy.sqlite"]


def test_an_open_table_whose_file_was_put_back_in_the_former_format_says_so(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "copy.sqlite"
    former(copy)
    table = EmbeddedTable(LAYOUT, path)
    copy_table(copy, path)
    for operation in (PutItem(item("a")), Scan()):
        with pytest.raises(TableUnusable, match="open the table again"):
            table.run(operation)
    assert texts(EmbeddedTable(LAYOUT, path)) == ["b", "a"]
