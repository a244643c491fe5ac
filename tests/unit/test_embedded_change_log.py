"""The embedded table's stream: kept for a day by its clock, positions stay good, removals by TTL are marked."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from shardweave.errors import InvalidRequest, StreamTrimmed
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.change_log import MAX_RECORDS, RETENTION_SECONDS, trim
from shardweave.table.embedded.expiry import EXPIRE_ROWS
from shardweave.table.operations import BatchWrite, DeleteItem, GetItem, PutItem, Query, Scan, UpdateItem
from shardweave.table.stream_operations import StreamPage, StreamRead, StreamShards
from tests.unit.embedded_table import LAYOUT, SHARD, Clock, changes, item, key

DAY, HOUR = RETENTION_SECONDS, 3600.0


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "table.sqlite"


@pytest.fixture
def table(clock: Clock, path: Path) -> Iterator[EmbeddedTable]:
    table = EmbeddedTable(LAYOUT, path, clock=clock)
    yield table
    table.close()


def read(table: EmbeddedTable, after: str = "TRIM_HORIZON", limit: int = 100) -> StreamPage:
    return table.run(StreamRead(SHARD, after, limit))


def range_keys(table: EmbeddedTable, after: str = "TRIM_HORIZON") -> list[str]:
    return [record.key["rangeKey"] for record in changes(table, after)]


# -- the stream -------------------------------------------------------------------------------------------------------


def test_a_record_says_what_changed_and_when(table: EmbeddedTable, clock: Clock) -> None:
    table.run(PutItem(item("a", v=1)))
    clock.now += 5
    table.run(UpdateItem(key("a"), add={"v": Decimal("0.5")}))
    inserted, modified = changes(table)
    assert (inserted.event, inserted.old, inserted.new) == ("INSERT", None, item("a", v=1))
    assert (modified.event, modified.old, modified.new) == ("MODIFY", item("a", v=1), item("a", v=Decimal("1.5")))
    assert modified.created == inserted.created + 5 == clock.now
    assert inserted.event_id != modified.event_id


def test_events_of_two_tables_have_different_ids(table: EmbeddedTable) -> None:
    other = EmbeddedTable(LAYOUT)
    for each in (table, other):
        each.run(PutItem(item("a")))
    assert changes(table)[0].event_id != changes(other)[0].event_id


def test_the_stream_has_one_shard_that_never_closes(table: EmbeddedTable) -> None:
    (shard,) = table.run(StreamShards())
    assert (shard.id, shard.parent, shard.closed) == (SHARD, None, False)
    assert not read(table).closed


def test_positions_are_ordered_as_text_and_outlive_the_process(table: EmbeddedTable, clock: Clock, path: Path) -> None:
    for number in range(12):
        table.run(PutItem(item(f"r{number:02}")))
    sequences = [record.sequence for record in changes(table)]
    assert sequences == sorted(sequences)
    table.close()
    again = EmbeddedTable(LAYOUT, path, clock=clock)
    assert range_keys(again, sequences[9]) == ["r10", "r11"]


def test_the_latest_position_is_the_end(table: EmbeddedTable) -> None:
    assert read(table, "LATEST").records == ()
    table.run(PutItem(item("a")))
    end = read(table, "LATEST").position
    table.run(PutItem(item("b")))
    assert range_keys(table, end) == ["b"]


def test_a_page_of_large_records_ends_early(table: EmbeddedTable) -> None:
    for number in range(5):
        table.run(PutItem(item(f"r{number}", data="x" * 390_000)))
    assert len(read(table).records) == 3
    assert range_keys(table) == ["r0", "r1", "r2", "r3", "r4"]


@pytest.mark.parametrize(
    "wrong",
    [
        StreamRead("another-shard"),
        StreamRead(SHARD, limit=0),
        StreamRead(SHARD, limit=MAX_RECORDS + 1),
        StreamRead(SHARD, "not a position"),
        StreamRead(SHARD, "9" * 21),
    ],
    ids=["shard", "no records", "too many records", "no position", "a position that was never given"],
)
def test_a_read_that_makes_no_sense_is_refused(table: EmbeddedTable, wrong: StreamRead) -> None:
    with pytest.raises(InvalidRequest):
        table.run(wrong)


# -- what a day does to it --------------------------------------------------------------------------------------------


def test_a_record_is_kept_for_a_day(table: EmbeddedTable, clock: Clock) -> None:
    table.run(PutItem(item("old")))
    clock.now += HOUR
    table.run(PutItem(item("new")))
    clock.now += DAY - HOUR
    assert range_keys(table) == ["old", "new"]
    clock.now += 1
    assert range_keys(table) == ["new"]
    clock.now += HOUR
    assert range_keys(table) == []


def test_a_position_that_lost_records_is_refused(table: EmbeddedTable, clock: Clock) -> None:
    start = read(table).position
    table.run(PutItem(item("a")))
    after_a = read(table).position
    table.run(PutItem(item("b")))
    clock.now += DAY + 1
    table.run(PutItem(item("c")))
    for lost in (start, after_a):
        with pytest.raises(StreamTrimmed):
            read(table, lost)
    assert range_keys(table) == ["c"]


def test_a_position_that_lost_nothing_stays_good(table: EmbeddedTable, clock: Clock) -> None:
    """A reader that had read all, and slept, need not begin anew."""
    table.run(PutItem(item("a")))
    position = read(table).position
    clock.now += 30 * DAY
    assert read(table, position).position == position
    table.run(PutItem(item("b")))
    assert range_keys(table, position) == ["b"]


def test_numbers_go_on_after_everything_was_trimmed(table: EmbeddedTable, clock: Clock) -> None:
    table.run(PutItem(item("a")))
    last = changes(table)[0]
    clock.now += 2 * DAY
    assert changes(table) == []
    table.run(PutItem(item("b")))
    (record,) = changes(table)
    assert record.sequence > last.sequence
    assert record.event_id != last.event_id


def test_a_long_log_is_trimmed_in_steps_between_which_others_write(
    table: EmbeddedTable, clock: Clock, path: Path
) -> None:
    for start in range(0, 3000, 25):
        table.run(BatchWrite(tuple(item(f"r{start + n}") for n in range(25))))
    clock.now += 2 * DAY
    left = [3000]
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        while trim(other, clock.now):
            left += other.execute("SELECT count(*) FROM changes").fetchone()
    assert all(0 < before - after <= 1024 for before, after in pairwise(left)), left
    assert len(left) > 2
    assert changes(table) == []


def test_a_stream_that_nobody_reads_does_not_grow_for_ever(table: EmbeddedTable, clock: Clock, path: Path) -> None:
    def write(count: int) -> None:
        for start in range(0, count, 25):
            table.run(BatchWrite(tuple(item(f"r{start + n}", at=str(clock.now), data="x" * 2000) for n in range(25))))

    write(1000)
    sizes = []
    with closing(sqlite3.connect(path)) as other:
        for _ in range(4):
            clock.now += 2 * DAY
            write(1000)
            table.run(PutItem(item("end", at=str(clock.now))))
            # What the file has, its log included.
            sizes += other.execute("PRAGMA page_count").fetchone()
    assert sizes[-1] < sizes[1] * 1.1


# -- TTL --------------------------------------------------------------------------------------------------------------


def test_expired_items_are_removed_by_the_service(table: EmbeddedTable, clock: Clock) -> None:
    now = int(clock.now)
    table.run(PutItem(item("past", text="x", ttl=now - 1)))
    table.run(PutItem(item("future", text="y", ttl=now + 1)))
    table.run(PutItem(item("never", text="z")))
    table.run(DeleteItem(key("never")))
    assert table.expire(now) == 1
    assert table.run(Scan()).items == (item("future", text="y", ttl=now + 1),)
    assert table.run(Query("hashKey", "h", "text", index="byText")).count == 1
    by_caller, by_service = changes(table)[-2:]
    assert (by_caller.event, by_caller.by_service) == ("REMOVE", False)
    assert (by_service.event, by_service.by_service) == ("REMOVE", True)
    assert by_service.old == item("past", text="x", ttl=now - 1)
    assert table.expire(now) == 0


@pytest.mark.parametrize(
    "ttl",
    [None, "1", True, b"1", 0, -5, {1}, 10**30, 1_600_000_000],
    ids=["null", "text", "bool", "binary", "zero", "negative", "set", "beyond time", "more than five years ago"],
)
def test_what_is_no_time_of_the_last_five_years_never_expires(table: EmbeddedTable, clock: Clock, ttl: Any) -> None:
    table.run(PutItem(item("a", ttl=ttl)))
    assert table.expire(clock.now) == 0
    assert table.run(GetItem(key("a"))).item is not None


def test_an_item_whose_ttl_was_moved_or_removed_stays(table: EmbeddedTable, clock: Clock) -> None:
    now = int(clock.now)
    for name in ("moved", "removed", "replaced"):
        table.run(PutItem(item(name, ttl=now - 1)))
    table.run(UpdateItem(key("moved"), set={"ttl": now + 10}))
    table.run(UpdateItem(key("removed"), remove=("ttl",)))
    table.run(PutItem(item("replaced")))
    assert table.expire(now) == 0
    assert table.expire(now + 11) == 1


def test_more_items_expire_than_one_transaction_removes(table: EmbeddedTable, clock: Clock) -> None:
    total = 2 * EXPIRE_ROWS + 25
    for start in range(0, total, 25):
        table.run(BatchWrite(tuple(item(f"r{start + n}", ttl=int(clock.now) - 1) for n in range(25))))
    assert table.expire(clock.now) == total
    assert table.run(Scan(count_only=True)).count == 0
