"""Every service that ships, and the support desk of the examples: what is exported and imported is equal, also when
both are stopped or die at random moments, and the doctor finds both tables clean."""

from __future__ import annotations

import datetime as dt
import io
import itertools
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from shardweave.keys.key_format import ORDERED
from shardweave.local.loading import load as load_samples
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import
from shardweave.maintenance.record_lines import item_line
from shardweave.schema.entity import now_ms
from shardweave.schema.schema import Schema
from shardweave.service.files import named_service
from shardweave.service.loader import service_module, service_schema
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import WRITES, Crash, Crashed, Script, SimulatedTable
from shardweave.table.operations import Scan
from tests.unit.summed_world import changes_of, feed

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


DESK = Path(__file__).parents[2] / "examples" / "support_desk" / "support_desk.py"
SERVICES = ["user_service", "user_service_lean", "order_tracking", "issue_tracker", "support_desk"]


def support_desk() -> tuple[Schema, Store, EmbeddedTable]:
    """A table with two desks: members, tags, conversations with their messages, and what is unread of them."""
    schema = service_schema(named_service(str(DESK)), ORDERED)
    table = EmbeddedTable(schema.layout)
    store = Store(schema, table)

    def create(values: dict[str, Any], entity: str) -> None:
        store.create(values, schema.entity(entity).model)

    for tenant in ("acme", "bolt"):
        of = {"tenantId": tenant}
        create({**of, "name": tenant}, "tenant")
        for who in ("ann", "bob"):
            reached = {"address": f"{who}@example.org", "name": who}
            create({**of, **reached, "memberId": who}, "member")
            create({**of, **reached, "code": f"{tenant}-{who}"}, "invitation")
        create({**of, "tagId": f"{tenant}-tag", "name": "Billing"}, "tag")
        for number in range(12):
            key = {**of, "conversationId": f"{tenant}-{number}"}
            more = {"subject": "It hums", "tagIds": {f"{tenant}-tag"}, "memberIds": {"ann", "bob"}}
            create({**key, **more}, "conversation")
            for said in range(3):
                text = {"messageId": f"{tenant}-{number}-{said}", "author": "ann", "text": "Unplug it."}
                create({**key, **text, "to": {"bob"}}, "message")
    feed(store, changes_of(table))
    return schema, store, table


def of_service(name: str, count: int = 700) -> tuple[Schema, Store, EmbeddedTable]:
    """A table with the sample data of a service."""
    if name == "support_desk":
        return support_desk()
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


@pytest.mark.parametrize("name", SERVICES)
def test_what_is_stopped_and_dies_at_random_moments_goes_on_and_ends_the_same(name: str, tmp_path: Path) -> None:
    schema, store, one = of_service(name, 200)
    drawn, whole, parts = random.Random(name), tmp_path / "whole", tmp_path / "parts"
    entities = list(schema.entities.values())
    assert Export(store.parts, entities, whole).run().done
    stops = 0
    while not Export(store.parts, entities, parts, page=7).run(stop=countdown(drawn.randint(1, 6))).done:
        stops += 1
    assert stops > 1
    assert sorted(lines_in(parts)) == sorted(lines_in(whole))

    two, lines, deaths = EmbeddedTable(schema.layout), lines_in(parts), 0
    for _ in range(6):
        passed = [None] * drawn.randint(0, 20)
        script = Script(*passed, Crash(carried_out=drawn.random() < 0.5), matching=WRITES)
        try:
            Import(Store(schema, SimulatedTable(two, script)).parts, now_ms).run(lines)
        except Crashed:
            deaths += 1
    assert deaths > 1
    assert Import(Store(schema, two).parts, now_ms).run(lines).refused == 0
    assert records(two, schema) == records(one, schema)
    assert is_clean(Store(schema, two))


def countdown(rounds: int) -> Callable[[], bool]:
    """True when it is asked for the last of so many times, and ever after."""
    left = iter(range(rounds))
    return lambda: next(left, None) is None
