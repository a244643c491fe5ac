"""What the embedded table costs to fill and to write to: CPU and log, by batches and one record at a time."""

from __future__ import annotations

import datetime as dt
import io
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.tables import Table
from services._samples.users import user_service_records
from services.user_service import INDEXES, User, schema
from shardweave import Entity
from shardweave.local.loading import load
from shardweave.schema.shard_maps import StaticMaps
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.waiting import WAIT

TITLE = "embedded table: CPU and log of loading 20,000 users, and of creates one by one"
USERS = 20_000
DAY = dt.date(2025, 1, 1)
CREATES = 64
ROUNDS = WAIT // CREATES
"""As many creates as write the entries in indexes once."""


def run() -> list[Table]:
    """Loading into a new file, then creates into the same."""
    samples: list[Entity] = []
    later: list[User] = []
    for number, user, record in numbered():
        if number <= USERS:
            samples.append(record)
        elif record is user:
            later.append(user)
    definition = schema()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.sqlite"
        table = EmbeddedTable(definition.layout, path)
        began = time.process_time()
        written = load(Store(definition, table, maps=StaticMaps()), samples, "", io.StringIO())
        loading = (time.process_time() - began) * 1000 / written
        # What is closed has all of its log in its file.
        table.close()
        size = path.stat().st_size / 1000 / written
        table = EmbeddedTable(definition.layout, path)
        with closing(sqlite3.connect(path)) as reader:
            # A read that goes on keeps the log from being begun again.
            reader.execute("BEGIN")
            reader.execute("SELECT 1 FROM items").fetchone()
            milliseconds, kilobytes = creates(Store(definition, table, maps=StaticMaps()), later, path)
        table.close()
    rows = [
        [f"loading {written:,} records", loading, loading, 1.0, "", "", size],
        ["a create", min(milliseconds), statistics.median(milliseconds), "", statistics.median(kilobytes), "", ""],
        [
            "a create, with its share of the indexes",
            "",
            statistics.mean(milliseconds),
            "",
            statistics.mean(kilobytes),
            20,
            "",
        ],
    ]
    return [
        Table(
            "Writes of the embedded table",
            ["write", "best CPU ms / record", "median", "target", "KB of log", "target", "KB of the file"],
            rows,
            f"{USERS:,} users and their e-mails into a new file, as many in a transaction as it holds; then {ROUNDS} "
            f"times {CREATES} users, each in a transaction of its own. A user is in {len(INDEXES)} indexes; entries of "
            f"{WAIT:,} users are written together, by one of the creates. The last row is the mean of all creates. The "
            "whole process: models, keys, checks, SQLite.",
        )
    ]


def numbered() -> list[tuple[int, User, Entity]]:
    """The sample records, each with the number of its user and that user."""
    found: list[tuple[int, User, Entity]] = []
    number, user = 0, None
    for record in user_service_records(DAY, USERS + ROUNDS * CREATES + 1):
        if isinstance(record, User):
            number, user = number + 1, record
        assert user is not None
        found.append((number, user, record))
    return found


def creates(store: Store, users: list[User], path: Path) -> tuple[list[float], list[float]]:
    """CPU milliseconds and kilobytes of log of a create, of each round."""
    store.create(users[0])
    milliseconds, kilobytes = [], []
    for number in range(ROUNDS):
        log, began = log_bytes(path), time.process_time()
        for user in users[1 + number * CREATES : 1 + (number + 1) * CREATES]:
            store.create(user)
        milliseconds.append((time.process_time() - began) * 1000 / CREATES)
        kilobytes.append((log_bytes(path) - log) / 1000 / CREATES)
    return milliseconds, kilobytes


def log_bytes(path: Path) -> int:
    """The bytes of the table's write-ahead log."""
    return path.with_name(f"{path.name}-wal").stat().st_size
