"""A process that dies at any moment: what it said is written is there, whole, and so are the indexes and the log."""

from __future__ import annotations

import multiprocessing
import sqlite3
from pathlib import Path

import pytest

from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import GetItem, PutItem, Query, Scan, TransactWrite
from tests.unit.embedded_table import LAYOUT, changes, item, key, replayed, write_until_killed

ROUNDS, WRITES_A_ROUND = 3, 40


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[int]]:
    """A file that processes wrote to until they were killed, and the numbers that they said were written."""
    path = tmp_path_factory.mktemp("crash") / "table.sqlite"
    context = multiprocessing.get_context("spawn")
    told: list[int] = []
    for round_ in range(ROUNDS):
        ours, theirs = context.Pipe()
        process = context.Process(target=write_until_killed, args=(str(path), theirs), daemon=True)
        process.start()
        theirs.close()
        ours.send(round_ * 1_000_000)
        told += [ours.recv() for _ in range(WRITES_A_ROUND + round_)]
        process.kill()
        process.join()
        while ours.poll():
            try:
                told.append(ours.recv())
            except EOFError:
                break
    return path, told


def test_what_was_said_to_be_written_is_there(killed: tuple[Path, list[int]]) -> None:
    path, told = killed
    table = EmbeddedTable(LAYOUT, path)
    for number in told:
        for range_key in (f"single{number}", f"left{number}", f"right{number}"):
            assert table.run(GetItem(key(range_key), consistent=True)).item is not None


def test_a_transaction_is_there_as_a_whole_or_not_at_all(killed: tuple[Path, list[int]]) -> None:
    table = EmbeddedTable(LAYOUT, killed[0])
    keys = {found["rangeKey"] for found in table.run(Scan()).items}
    sides = [{name.removeprefix(side) for name in keys if name.startswith(side)} for side in ("left", "right")]
    assert sides[0] == sides[1]


def test_indexes_and_stream_agree_with_the_items(killed: tuple[Path, list[int]]) -> None:
    table = EmbeddedTable(LAYOUT, killed[0])
    items = {(found["hashKey"], found["rangeKey"]): found for found in table.run(Scan()).items}
    assert replayed(changes(table)) == items
    texts = {found["rangeKey"] for found in table.run(Query("hashKey", "h", "text", index="byText")).items}
    assert texts == {found["rangeKey"] for found in items.values() if "text" in found}
    numbers = table.run(Query("group", "g", "number", index="byNumber")).items
    assert [found["number"] for found in numbers] == sorted(
        found["number"] for found in items.values() if "group" in found
    )


def test_a_token_is_there_exactly_when_its_transaction_is(killed: tuple[Path, list[int]]) -> None:
    path, told = killed
    table = EmbeddedTable(LAYOUT, path)
    number = told[-1]
    before = len(changes(table))
    pair = (PutItem(item(f"left{number}", text="left")), PutItem(item(f"right{number}", group="g", number=number)))
    table.run(TransactWrite(pair, token=f"token{number}"))
    assert len(changes(table)) == before


def test_the_file_is_whole(killed: tuple[Path, list[int]]) -> None:
    connection = sqlite3.connect(killed[0])
    assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    connection.close()
