"""Every service that ships: its sample data exported and imported is equal, and the doctor finds both clean."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import json
from pathlib import Path
from typing import Any

import pytest

from shardweave.local.loading import load as load_samples
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import
from shardweave.schema.entity import now_ms
from shardweave.schema.schema import Schema
from shardweave.service.loader import service_module
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Scan

DAY = dt.date(2025, 1, 1)


def records(table: EmbeddedTable, schema: Schema) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = []
    start = None
    while True:
        page = table.run(Scan(consistent=True, start_key=start))
        found += [dict(item) for item in page.items if schema.entity_of_key(item[schema.hash_key]) is not None]
        start = page.last_key
        if start is None:
            return sorted(found, key=lambda item: (item[schema.hash_key], item[schema.range_key]))


@pytest.mark.parametrize("name", ["user_service", "order_tracking", "issue_tracker"])
def test_sample_data_goes_out_and_in_again(name: str, tmp_path: Path) -> None:
    module = service_module(name)
    schema: Schema = module.schema()
    one, two = EmbeddedTable(schema.layout), EmbeddedTable(schema.layout)
    store, other = Store(schema, one), Store(schema, two)
    samples = list(itertools.islice(module.sample_data(DAY), 700))
    load_samples(store, samples, name, io.StringIO())
    clock = now_ms
    entities = list(schema.entities.values())
    assert Export(store.parts, entities, tmp_path).run().done
    lines = [line for path in tmp_path.glob("*.jsonl") for line in path.read_bytes().splitlines()]
    outcome = Import(other.parts, clock).run(lines)
    assert (outcome.refused, outcome.kept) == (0, 0)
    assert outcome.written == len(records(one, schema)) > 0
    assert records(two, schema) == records(one, schema)
    for each in (store, other):
        report = Doctor(each.parts, clock).run()
        assert json.dumps(report.document()["named"]) == "[]"
        assert report.code == 0
