"""Many threads and many processes on one embedded table: nothing is lost, nothing is seen half done."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from shardweave.errors import ConditionFailed, TransactionCanceled
from shardweave.table.conditions import Missing
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import GetItem, PutItem, Query, TransactGet, TransactWrite, UpdateItem
from tests.unit.embedded_table import LAYOUT, add_many, changes, item, key

THREADS, TIMES = 8, 25


@pytest.fixture(params=["file", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedTable]:
    table = EmbeddedTable(LAYOUT, tmp_path / "table.sqlite" if request.param == "file" else None)
    yield table
    table.close()


def test_additions_of_many_threads_all_count(table: EmbeddedTable) -> None:
    def add(_: int) -> None:
        for _ in range(TIMES):
            table.run(UpdateItem(key("counter"), add={"total": 1}))

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(add, range(THREADS)))
    assert table.run(GetItem(key("counter"))).item == item("counter", total=THREADS * TIMES)
    assert [record.new["total"] for record in changes(table) if record.new] == list(range(1, THREADS * TIMES + 1))


def test_one_of_many_creates_wins(table: EmbeddedTable) -> None:
    def create(thread: int) -> bool:
        try:
            table.run(PutItem(item("one", by=thread), condition=Missing("hashKey")))
        except ConditionFailed:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        assert sum(pool.map(create, range(THREADS))) == 1


def test_one_of_many_transactions_wins(table: EmbeddedTable) -> None:
    def create(thread: int) -> bool:
        own = PutItem(item(f"own{thread}"))
        try:
            table.run(TransactWrite((own, PutItem(item("one"), condition=Missing("hashKey")))))
        except TransactionCanceled:
            return False
        return True

    with ThreadPoolExecutor(THREADS) as pool:
        won = list(pool.map(create, range(THREADS)))
    assert sum(won) == 1
    left = [table.run(GetItem(key(f"own{thread}"))).item is not None for thread in range(THREADS)]
    assert left == won


def test_reads_see_transactions_as_a_whole(table: EmbeddedTable) -> None:
    """Also beside a writer that never pauses, and a page of an index too."""
    done = False

    def write() -> None:
        for number in range(200):
            pair = tuple(PutItem(item(name, text="pair", number=number)) for name in ("left", "right"))
            table.run(TransactWrite(pair))

    def read() -> int:
        torn = 0
        while not done:
            left, right = table.run(TransactGet((key("left"), key("right")))).items
            page = table.run(Query("hashKey", "h", "text", index="byText")).items
            torn += left != right and (left or {}).get("number") != (right or {}).get("number")
            torn += len({found["number"] for found in page}) > 1 or len(page) == 1
        return torn

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            pool.submit(write).result()
        finally:
            done = True
        assert sum(reader.result() for reader in readers) == 0


def test_processes_that_open_a_new_file_at_once_share_it(tmp_path: Path) -> None:
    path = tmp_path / "table.sqlite"
    context = multiprocessing.get_context("spawn")
    start = context.Barrier(3)
    processes = [context.Process(target=add_many, args=(str(path), 50, start)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    table = EmbeddedTable(LAYOUT, path)
    assert table.run(GetItem(key("counter"))).item == item("counter", total=150)
    assert len(changes(table)) == 150
