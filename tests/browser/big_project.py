"""The big project of the sample data with very many issues, written the short way: their items in batches, as a backup
is put back, in place of a transaction for every few records. Several processes share the work.

The items are those that the store would write, made by the library's own functions: an issue, marked as counted, the
record of its number, and the entries of its custom fields. The project's counter and its sequence follow in the end.
`test_big_project` compares both ways, item by item.

The table's clock is days behind meanwhile: the changes of loading count as old, so that the server, whose clock is
right, drops them in place of reading each.
"""

from __future__ import annotations

import datetime as dt
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from services._samples.issues import TUNNEL, generated_issues, issue_tracker_samples
from services.issue_tracker import schema
from services.issue_tracker.records import Issue, Project
from shardweave import Schema
from shardweave.database.data_folder import DataFolder
from shardweave.local.loading import load
from shardweave.schema.relations import COUNTED
from shardweave.store import Store
from shardweave.store.lookups.lookup_records import lookup_keys, lookup_record
from shardweave.store.relations.enforced import counter_key
from shardweave.store.store import new_revision
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import MAX_BATCH_WRITE, BatchWrite, UpdateItem
from shardweave.table.values import Item

SERVICE = "issue_tracker"
PROCESSES = 2
DAYS_BEHIND = 3


def fill(folder: Path, day: dt.date, issues: int, processes: int = PROCESSES) -> None:
    """Write the sample data of a day with so many issues in its big project into a folder."""
    declared, table = opened(folder)
    store = Store(declared, table)
    load(store, list(issue_tracker_samples(day, 0)), "Loading", sys.stderr)
    arguments = [sys.executable, "-P", "-m", __name__, str(folder), day.isoformat(), str(issues), str(processes)]
    started = [subprocess.Popen([*arguments, str(part)]) for part in range(processes)]
    assert [each.wait() for each in started] == [0] * processes
    store.advance(Issue, "num", within={"tenant_id": TUNNEL.tenant_id, "project_id": TUNNEL.project_id}, to=issues)
    parent = declared[Project]
    table.run(UpdateItem(counter_key(parent, parent.dump(TUNNEL)), add={"issue_project": issues}))
    table.close()


def fill_part(folder: Path, day: dt.date, issues: int, processes: int, part: int) -> None:
    """Write every so manieth issue."""
    declared, table = opened(folder)
    items = items_of(declared, islice(generated_issues(TUNNEL, issues, day), part, None, processes))
    while batch := tuple(islice(items, MAX_BATCH_WRITE)):
        table.run(BatchWrite(puts=batch))
    table.close()


def opened(folder: Path) -> tuple[Schema, EmbeddedTable]:
    """The table of the issue tracker in a folder, with a clock that is days behind."""
    declared, place = schema(), DataFolder(folder)
    place.open_table(declared, SERVICE, "ordered", create=True).close()
    path = place.table_path(SERVICE, "ordered")
    return declared, EmbeddedTable(declared.layout, path, clock=lambda: time.time() - DAYS_BEHIND * 24 * 3600)


def items_of(declared: Schema, issues: Iterator[Issue]) -> Iterator[Item]:
    """What the store writes for each issue."""
    entity = declared[Issue]
    for issue in issues:
        properties = entity.prepared(entity.dump(issue), None)
        revised = {**properties, "updated": properties["created"], "rev": new_revision()}
        item = {COUNTED: ["project"], **entity.complete(revised)}
        yield item
        for lookup in entity.lookups.values():
            for key in lookup_keys(entity, lookup, item):
                yield lookup_record(entity, key, item, str(item["rev"]))


if __name__ == "__main__":
    _folder, _day, *_numbers = sys.argv[1:]
    fill_part(Path(_folder), dt.date.fromisoformat(_day), *map(int, _numbers))
