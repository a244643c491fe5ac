"""The short way in which a very big project is written for these tests has the outcome of the long one."""

from __future__ import annotations

import datetime as dt
import sys
from pathlib import Path
from typing import Any

from services._samples.issues import issue_tracker_samples
from shardweave.database.data_folder import DataFolder
from shardweave.local.loading import load
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.change_log import SHARD
from shardweave.table.operations import Scan
from shardweave.table.stream_operations import StreamRead
from tests.browser.big_project import SERVICE, fill, opened

DAY = dt.date(2025, 1, 1)
ISSUES = 120
OF_A_WRITE = {"rev", "updated", "updatedRangeKey", "_taker"}
"""What differs from one write to the next."""


def items(table: EmbeddedTable) -> dict[tuple[Any, ...], dict[str, Any]]:
    """All items by their keys, without what differs from one write to the next."""
    found = table.run(Scan())
    assert found.last_key is None
    return {
        (item["hashKey"], item["rangeKey"]): {name: item[name] for name in item if name not in OF_A_WRITE}
        for item in found.items
    }


def test_a_big_project_is_as_the_store_would_have_written_it(tmp_path: Path) -> None:
    fill(tmp_path / "short", DAY, ISSUES)
    _, short = opened(tmp_path / "short")
    declared, long = opened(tmp_path / "long")
    load(Store(declared, long), list(issue_tracker_samples(DAY, ISSUES)), "Loading", sys.stderr)
    written = items(short)
    assert written == items(long)
    assert len(written) > 2 * ISSUES
    short.close()
    long.close()


def test_a_server_that_starts_has_no_changes_of_it_to_read(tmp_path: Path) -> None:
    fill(tmp_path, DAY, ISSUES)
    declared, behind = opened(tmp_path)
    read = StreamRead(SHARD.id, "TRIM_HORIZON", 1000)
    assert len(behind.run(read).records) > ISSUES
    behind.close()
    table = DataFolder(tmp_path).open_table(declared, SERVICE, "ordered", create=False)
    assert table.run(read).records == ()
    table.close()
