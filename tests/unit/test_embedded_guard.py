"""The guard of the embedded table: it stands inside the write's own transaction, so nothing comes between."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from shardweave.errors import ConditionFailed, TableError
from shardweave.table.conditions import Exists
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import (
    BatchGet,
    BatchWrite,
    DeleteItem,
    Describe,
    GetItem,
    Operation,
    PutItem,
    Query,
    Scan,
    TransactGet,
    TransactWrite,
    UpdateItem,
)
from shardweave.table.stream_operations import StreamRead, StreamShards
from tests.unit.embedded_table import LAYOUT, SHARD, changes, item, key

WRITES: dict[str, Operation[Any]] = {
    "put": PutItem(item("a", v=2)),
    "update": UpdateItem(key("a"), set={"v": 2}),
    "delete": DeleteItem(key("a")),
    "batch": BatchWrite((item("a", v=2), item("b"))),
    "transaction": TransactWrite((PutItem(item("a", v=2)), PutItem(item("b"))), token="t"),
}
READS: dict[str, Operation[Any]] = {
    "get": GetItem(key("a")),
    "batch": BatchGet((key("a"),)),
    "transaction": TransactGet((key("a"),)),
    "query": Query("hashKey", "h", "rangeKey"),
    "scan": Scan(),
    "describe": Describe(),
    "stream shards": StreamShards(),
    "stream": StreamRead(SHARD),
}


class Stopped(Exception):
    """What the guards here raise."""


@pytest.fixture(params=["file", "memory"])
def table(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[EmbeddedTable]:
    table = EmbeddedTable(LAYOUT, tmp_path / "table.sqlite" if request.param == "file" else None)
    table.run(PutItem(item("a", v=1)))
    yield table
    table.close()


def stop() -> None:
    raise Stopped


@pytest.mark.parametrize("case", WRITES)
def test_a_guard_that_raises_stops_the_write_and_leaves_nothing(table: EmbeddedTable, case: str) -> None:
    with pytest.raises(Stopped):
        table.run(WRITES[case], guard=stop)
    assert table.run(Scan()).items == (item("a", v=1),)
    assert len(changes(table)) == 1
    table.run(WRITES[case])
    assert len(changes(table)) > 1


@pytest.mark.parametrize("case", READS)
def test_a_guard_that_raises_stops_the_read(table: EmbeddedTable, case: str) -> None:
    with pytest.raises(Stopped):
        table.run(READS[case], guard=stop)
    table.run(READS[case])


@pytest.mark.parametrize("case", WRITES)
def test_no_other_process_writes_between_the_guard_and_the_write(tmp_path: Path, case: str) -> None:
    path = tmp_path / "table.sqlite"
    table = EmbeddedTable(LAYOUT, path)
    other = sqlite3.connect(path, timeout=0, isolation_level=None)

    def try_to_write() -> None:
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")

    table.run(WRITES[case], guard=try_to_write)
    other.execute("BEGIN IMMEDIATE")
    other.execute("ROLLBACK")


@pytest.mark.parametrize("case", WRITES)
def test_a_guard_reads_the_table_as_it_is_before_the_write(table: EmbeddedTable, case: str) -> None:
    seen: list[Any] = []

    def look() -> None:
        seen.append(table.run(GetItem(key("a"), consistent=True)).item)
        seen.append(table.run(TransactGet((key("b"),))).items)

    table.run(WRITES[case], guard=look)
    assert seen == [item("a", v=1), (None,)]
    assert table.run(Scan()).items != (item("a", v=1),)


def test_a_guard_is_asked_before_the_condition(table: EmbeddedTable) -> None:
    with pytest.raises(Stopped):
        table.run(PutItem(item("b"), condition=Exists("v")), guard=stop)
    with pytest.raises(ConditionFailed):
        table.run(PutItem(item("b"), condition=Exists("v")))


def test_a_guard_may_not_write(table: EmbeddedTable) -> None:
    with pytest.raises(TableError, match="guard"):
        table.run(PutItem(item("b")), guard=lambda: table.run(PutItem(item("c"))) and None)
    assert table.run(Scan()).items == (item("a", v=1),)
