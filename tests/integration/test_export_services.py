"""Every service that ships: its sample data exported and imported is equal, and the doctor finds both clean."""

from __future__ import annotations

import datetime as dt
import io
import itertools
from pathlib import Path
from typing import Any

import pytest

from shardweave.local.loading import load as load_samples
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import
from shardweave.maintenance.record_lines import item_line
from shardweave.schema.entity import now_ms
from shardweave.schema.schema import Schema
from shardweave.service.loader import service_module
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Scan

DAY = dt.date(2025, 1, 1)


def every_item(table: EmbeddedTable) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start = None
    while True:
        page = table.run(Scan(consistent=True, start_key=start))
        found += map(dict, page.items)
        start = page.last_key
        if start is None:
            return found


def records(table: EmbeddedTable, schema: Schema) -> list[dict[str, Any]]:
    found = [item for item in every_item(table) if schema.entity_of_key(item[schema.hash_key]) is not None]
    return sorted(found, key=lambda item: (item[schema.hash_key], item[schema.range_key]))


SERVICES = ["user_service", "user_service_lean", "order_tracking", "issue_tracker"]


def of_service(name: str, count: int = 700) -> tuple[Schema, Store, EmbeddedTable]:
    """A table with the sample data of a service."""
    module = service_module(name)
    schema: Schema = module.schema()
    table = EmbeddedTable(schema.layout)
    store = Store(schema, table)
    load_samples(store, list(itertools.islice(module.sample_data(DAY), count)), name, io.StringIO())
    return schema, store, table


def lines_in(folder: Path) -> list[bytes]:
    return [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines()]


def is_clean(store: Store) -> bool:
    report = Doctor(store.parts, now_ms).run()
    return report.code == 0 and report.document()["named"] == []


@pytest.mark.parametrize("name", SERVICES)
def test_sample_data_goes_out_and_in_again(name: str, tmp_path: Path) -> None:
    schema, store, one = of_service(name)
    two = EmbeddedTable(schema.layout)
    other = Store(schema, two)
    assert Export(store.parts, list(schema.entities.values()), tmp_path).run().done
    outcome = Import(other.parts, now_ms).run(lines_in(tmp_path))
    assert (outcome.refused, outcome.kept, outcome.passed) == (0, 0, 0)
    assert outcome.written == len(records(one, schema)) > 0
    assert records(two, schema) == records(one, schema)
    assert is_clean(store)
    assert is_clean(other)


@pytest.mark.parametrize("name", SERVICES)
def test_an_export_of_dynamodb_to_s3_comes_in_equal(name: str) -> None:
    schema, _, one = of_service(name, 200)
    two = EmbeddedTable(schema.layout)
    other = Store(schema, two)
    # Its lines have every item of the table, with keys, lookups and counters.
    lines = [item_line(item) for item in every_item(one)]
    outcome = Import(other.parts, now_ms).run(lines)
    assert (outcome.refused, outcome.kept) == (0, 0)
    assert records(two, schema) == records(one, schema)
    assert is_clean(other)
