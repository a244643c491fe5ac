"""A write that must wait for another process: for a bounded time, beside reads that do not, and until a stop."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from shardweave.errors import ShardweaveError, TableUnusable, Throttled
from shardweave.table.embedded.connections import Connections

LONG_SECONDS = 600.0


class Clock:
    """A clock that goes on by a second each time that it is read."""

    def __init__(self) -> None:
        self.reads = 0

    def __call__(self) -> float:
        self.reads += 1
        return float(self.reads)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    made = Connections(tmp_path / "file")
    made.write(lambda writer: writer.execute("CREATE TABLE t (x)"))
    made.close()
    return tmp_path / "file"


@pytest.fixture
def holder(path: Path) -> Iterator[sqlite3.Connection]:
    """Another process, which holds the lock for writing until it rolls back."""
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    yield other
    other.close()


def add(connections: Connections) -> None:
    connections.write(lambda writer: writer.execute("INSERT INTO t VALUES (1)"))


def rows(connections: Connections) -> int:
    return int(connections.read(lambda reader: reader.execute("SELECT count(*) FROM t").fetchone())[0])


def test_a_write_waits_for_so_long_and_the_next_ones_only_try_until_one_succeeds(
    path: Path, holder: sqlite3.Connection
) -> None:
    clock = Clock()
    connections = Connections(path, busy_seconds=10.0, monotonic=clock)
    with pytest.raises(Throttled, match="held by another process"):
        add(connections)
    waited = clock.reads
    assert waited > 5
    for _ in range(16):
        with pytest.raises(Throttled):
            add(connections)
    assert clock.reads - waited <= 16 * 3
    assert rows(connections) == 0
    holder.execute("ROLLBACK")
    add(connections)
    assert rows(connections) == 1
    holder.execute("BEGIN IMMEDIATE")
    before = clock.reads
    with pytest.raises(Throttled):
        add(connections)
    assert clock.reads - before > 5
    connections.close()


def test_reads_go_on_beside_writes_that_wait_and_a_stop_ends_every_wait(path: Path, holder: sqlite3.Connection) -> None:
    connections = Connections(path, busy_seconds=LONG_SECONDS)
    refused: list[ShardweaveError] = []

    def write() -> None:
        try:
            add(connections)
        except ShardweaveError as error:
            refused.append(error)

    writers = [threading.Thread(target=write) for _ in range(16)]
    for writer in writers:
        writer.start()
    assert rows(connections) == 0
    assert refused == []
    connections.stop_waiting()
    for writer in writers:
        writer.join(LONG_SECONDS)
    assert [type(error) for error in refused] == [TableUnusable] * 16
    connections.close()
    assert holder.in_transaction
