"""The embedded table's file: it keeps everything, follows a layout that gains or loses indexes, and refuses others."""

from __future__ import annotations

import sqlite3
import stat
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

from shardweave.errors import ConfigurationError, InvalidRequest, TableError, TableUnusable
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import Describe, GetItem, PutItem, Query, UpdateItem
from tests.unit.embedded_table import LAYOUT, changes, item, key

BY_COLOR = IndexLayout("byColor", KeyAttribute("hashKey"), KeyAttribute("color"))
BARE = TableLayout()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.sqlite"


def put(path: Path, layout: TableLayout, *items: dict[str, object]) -> None:
    table = EmbeddedTable(layout, path)
    for each in items:
        table.run(PutItem(each))
    table.close()


def colors(table: EmbeddedTable) -> list[str]:
    return [found["rangeKey"] for found in table.run(Query("hashKey", "h", "color", index="byColor")).items]


# -- what stays -------------------------------------------------------------------------------------------------------


def test_a_file_keeps_items_indexes_and_stream(path: Path) -> None:
    put(path, LAYOUT, item("a", text="x"), item("b", text="w"))
    table = EmbeddedTable(LAYOUT, path)
    answer = table.run(Query("hashKey", "h", "text", index="byText"))
    assert [found["rangeKey"] for found in answer.items] == ["b", "a"]
    assert [record.key["rangeKey"] for record in changes(table)] == ["a", "b"]


def test_an_item_of_an_earlier_version_that_wrote_exponents_is_the_same_item(path: Path) -> None:
    small = item("a", n=Decimal("1.5E-50"), list=[10**40])
    put(path, LAYOUT, small)
    connection = sqlite3.connect(path)
    (image,) = connection.execute("SELECT image FROM items").fetchone()
    older = image.replace(b"0." + b"0" * 49 + b"15", b"15E-51").replace(b"1" + b"0" * 40, b"1E+40")
    assert len(older) < len(image) - 80
    connection.execute("UPDATE items SET image = ?", (older,))
    connection.commit()
    connection.close()

    table = EmbeddedTable(LAYOUT, path)
    assert table.run(GetItem(key("a"))).item == small
    table.run(PutItem(small))
    table.run(UpdateItem(key("a"), add={"n": 0}))
    assert len(changes(table)) == 1
    table.run(UpdateItem(key("a"), set={"list": [True]}))
    assert [record.old for record in changes(table)] == [None, small]
    table.close()


def test_a_new_file_and_those_beside_it_are_their_owners_alone(path: Path) -> None:
    table = EmbeddedTable(LAYOUT, path)
    table.run(PutItem(item("a")))
    modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in path.parent.iterdir()}
    assert modes == {"table.sqlite": 0o600, "table.sqlite-wal": 0o600, "table.sqlite-shm": 0o600}
    table.close()


def test_who_may_read_a_file_that_is_there_stays_as_its_owner_has_set_it(path: Path) -> None:
    put(path, LAYOUT, item("a"))
    path.chmod(0o640)
    put(path, LAYOUT, item("b"))
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_table_in_memory_is_its_own() -> None:
    one, other = EmbeddedTable(LAYOUT), EmbeddedTable(LAYOUT)
    one.run(PutItem(item("a")))
    assert other.run(GetItem(key("a"))).item is None


def test_a_closed_table_says_so(path: Path) -> None:
    for table in (EmbeddedTable(LAYOUT), EmbeddedTable(LAYOUT, path)):
        table.close()
        table.close()
        with pytest.raises(TableError, match="closed"):
            table.run(GetItem(key("a")))
        with pytest.raises(TableError, match="closed"):
            table.run(PutItem(item("a")))


def test_a_closed_file_leaves_no_log_behind(path: Path) -> None:
    put(path, LAYOUT, item("a"))
    assert [found.name for found in path.parent.iterdir()] == [path.name]


# -- indexes that come and go -----------------------------------------------------------------------------------------


def test_an_added_index_holds_what_was_there_before(path: Path) -> None:
    put(path, LAYOUT, item("a", color="red"), item("b", color="blue"), item("none"))
    table = EmbeddedTable(replace(LAYOUT, indexes=(*LAYOUT.indexes, BY_COLOR)), path)
    assert colors(table) == ["b", "a"]
    table.run(PutItem(item("c", color="green")))
    table.run(UpdateItem(key("a"), remove=("color",)))
    assert colors(table) == ["b", "c"]
    assert table.run(Describe()).items == 4


def test_an_added_index_leaves_out_what_can_not_be_its_key(path: Path) -> None:
    """As a new index of DynamoDB does; other attributes of such an item can still be changed."""
    put(path, BARE, item("a", color=1), item("b", color=""), item("c", color=None), item("d", color="red"))
    table = EmbeddedTable(replace(BARE, indexes=(BY_COLOR,)), path)
    assert colors(table) == ["d"]
    table.run(UpdateItem(key("a"), set={"other": 1}))
    assert table.run(GetItem(key("a"))).item == item("a", color=1, other=1)
    with pytest.raises(InvalidRequest):
        table.run(UpdateItem(key("b"), set={"color": 2}))
    table.run(UpdateItem(key("a"), set={"color": "amber"}))
    assert colors(table) == ["a", "d"]


def test_more_items_than_one_step_of_the_backfill(path: Path) -> None:
    table = EmbeddedTable(BARE, path)
    for number in range(1100):
        table.run(PutItem(item(f"r{number}", color="red" if number % 2 else "blue")))
    table.close()
    table = EmbeddedTable(replace(BARE, indexes=(BY_COLOR,)), path)
    assert len(colors(table)) == 1100


def test_a_removed_index_is_gone_and_may_come_back(path: Path) -> None:
    with_color = replace(BARE, indexes=(BY_COLOR,))
    put(path, with_color, item("a", color="red"))
    put(path, BARE, item("a", color="blue"), item("b", color="green"))
    with pytest.raises(InvalidRequest):
        EmbeddedTable(BARE, path).run(Query("hashKey", "h", "color", index="byColor"))
    table = EmbeddedTable(with_color, path)
    assert colors(table) == ["a", "b"]
    assert [found["color"] for found in table.run(Query("hashKey", "h", "color", index="byColor")).items] == [
        "blue",
        "green",
    ]


def test_indexes_may_change_many_times(path: Path) -> None:
    indexes = [IndexLayout(f"i{number}", KeyAttribute("hashKey"), KeyAttribute(f"a{number}")) for number in range(4)]
    put(path, BARE, item("a", a0="x", a1="x", a2="x", a3="x"))
    for chosen in ([0, 1], [1, 2], [2, 3, 0], [], [3, 1]):
        table = EmbeddedTable(replace(BARE, indexes=tuple(indexes[number] for number in chosen)), path)
        for number in chosen:
            assert table.run(Query("hashKey", "h", f"a{number}", index=f"i{number}")).count == 1
        table.close()


def test_an_index_may_project_something_else(path: Path) -> None:
    put(path, replace(BARE, indexes=(replace(BY_COLOR, projection="KEYS_ONLY"),)), item("a", color="red", size=1))
    table = EmbeddedTable(replace(BARE, indexes=(replace(BY_COLOR, projection=("size",)),)), path)
    assert table.run(Query("hashKey", "h", "color", index="byColor")).items == (item("a", color="red", size=1),)


def test_another_ttl_attribute_counts_from_now_on(path: Path) -> None:
    put(path, replace(BARE, ttl_attribute="old"), item("a", old=1_700_000_000), item("b", new=1_700_000_000))
    table = EmbeddedTable(replace(BARE, ttl_attribute="new"), path)
    assert table.expire(1_700_000_001) == 1
    assert table.run(GetItem(key("a"))).item is not None


def test_attributes_that_differ_in_case_are_two_keys(path: Path) -> None:
    indexes = (
        IndexLayout("lower", KeyAttribute("hashKey"), KeyAttribute("name")),
        IndexLayout("Lower", KeyAttribute("hashKey"), KeyAttribute("Name")),
    )
    table = EmbeddedTable(replace(BARE, indexes=indexes), path)
    table.run(PutItem(item("a", name="1", Name="2")))
    table.run(PutItem(item("b", name="2")))
    assert table.run(Query("hashKey", "h", "name", index="lower")).count == 2
    assert table.run(Query("hashKey", "h", "Name", index="Lower")).count == 1


def test_names_may_hold_anything(path: Path) -> None:
    strange = '"; DROP TABLE items; --'
    index = IndexLayout(strange, KeyAttribute("hashKey"), KeyAttribute(f"{strange}'"))
    table = EmbeddedTable(replace(BARE, indexes=(index,)), path)
    table.run(PutItem(item("a", **{f"{strange}'": "x"})))
    assert table.run(Query("hashKey", "h", f"{strange}'", index=strange)).count == 1


# -- what is refused --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "layout",
    [
        replace(BARE, hash_key=KeyAttribute("other")),
        replace(BARE, range_key=KeyAttribute("rangeKey", "N")),
        replace(BARE, indexes=(replace(BY_COLOR, range_key=KeyAttribute("color", "N")),)),
        replace(BARE, indexes=(replace(BY_COLOR, hash_key=KeyAttribute("group")),)),
    ],
    ids=["hash key", "type of the range key", "type of an index's key", "hash key of an index"],
)
def test_other_keys_are_refused_and_change_nothing(path: Path, layout: TableLayout) -> None:
    stored = replace(BARE, indexes=(BY_COLOR,))
    put(path, stored, item("a", color="red"))
    with pytest.raises(ConfigurationError):
        EmbeddedTable(layout, path)
    assert colors(EmbeddedTable(stored, path)) == ["a"]


@pytest.mark.parametrize(
    "layout",
    [
        replace(BARE, indexes=(replace(BY_COLOR, range_key=KeyAttribute("hashKey", "N")),)),
        replace(BARE, indexes=(BY_COLOR, replace(BY_COLOR, range_key=KeyAttribute("size")))),
    ],
    ids=["one attribute with two types", "two indexes of one name"],
)
def test_a_layout_that_contradicts_itself_is_refused(layout: TableLayout) -> None:
    with pytest.raises(ConfigurationError):
        EmbeddedTable(layout)


def test_a_file_of_something_else_is_refused(path: Path) -> None:
    path.write_text("not a database, " * 100)
    with pytest.raises(ConfigurationError):
        EmbeddedTable(LAYOUT, path)
    path.unlink()
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE theirs (a)")
    other.close()
    with pytest.raises(ConfigurationError):
        EmbeddedTable(LAYOUT, path)


def test_a_table_that_is_open_with_an_older_layout_stops_writing(path: Path) -> None:
    """It would leave the new index without its items."""
    older = EmbeddedTable(BARE, path)
    newer = EmbeddedTable(replace(BARE, indexes=(BY_COLOR,)), path)
    with pytest.raises(TableUnusable, match="layout"):
        older.run(PutItem(item("a", color="red")))
    assert older.run(GetItem(key("a"))).item is None
    newer.run(PutItem(item("a", color="red")))
    assert colors(newer) == ["a"]


def test_a_table_that_is_open_with_a_removed_index_says_so(path: Path) -> None:
    older = EmbeddedTable(replace(BARE, indexes=(BY_COLOR,)), path)
    EmbeddedTable(BARE, path)
    with pytest.raises(TableError, match="removed the index"):
        colors(older)
