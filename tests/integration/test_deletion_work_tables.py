"""Deleting a parent with many children on every table: stopped, asked how far it is, and continued by another store."""

from __future__ import annotations

import pytest

from shardweave.errors import DeleteIncomplete, ParentMissing
from shardweave.maintenance.doctor import Doctor
from shardweave.schema.declarations import Lookup, belongs_to
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from shardweave.table import Table
from shardweave.table.fault_injection import WRITES, Crashed, LoseAnswer, Script, SimulatedTable
from tests.integration.conftest import OpenTable
from tests.unit.store_world import Clock

MANY = 30


class Fleet(Entity, token="fleet"):
    """What ships belong to."""

    fleet_id: str = unique_property()


class Ship(Entity, token="ship"):
    """Goes with its fleet."""

    ship_id: str = unique_property()
    fleet_id: str

    fleets = Lookup("fleet_id")
    fleet = belongs_to(Fleet, by="fleet_id", enforced=True, on_delete="cascade")


SCHEMA = Schema([Fleet, Ship])


def store_over(table: Table, clock: Clock) -> Store:
    return Store(SCHEMA, table, clock=clock, waiting=RetryClock(sleep=lambda _: None), workers=1)


def crash(*told: object) -> None:
    """The process ends as soon as a child is gone."""
    raise Crashed


def test_a_deletion_that_stopped_is_continued_by_another_store(open_table: OpenTable) -> None:
    table, clock = open_table(SCHEMA.layout), Clock()
    store = store_over(table, clock)
    store.create(Fleet(fleet_id="f"))
    store.batch_write([Ship(ship_id=f"s{number}", fleet_id="f") for number in range(MANY)])
    script = Script(None, LoseAnswer(), matching=WRITES)
    with pytest.raises(Crashed):
        store_over(SimulatedTable(table, script), clock).delete(Fleet, "f", follow=crash)
    (deletion,) = store.deletions()
    assert (deletion.entity, deletion.key, deletion.total) == ("fleet", {"fleetId": "f"}, MANY)
    assert 0 < deletion.left < MANY
    with pytest.raises(ParentMissing):
        store.create(Ship(ship_id="late", fleet_id="f"))
    with pytest.raises(DeleteIncomplete):
        store.delete(Fleet, "f", seconds=0)
    assert store.continue_deletions() == 0
    clock.now += 3_600_000
    assert store.continue_deletions() == 1
    assert store.get(Fleet, "f") is None
    assert list(store.deletions()) == []
    report = Doctor(store.parts, clock).run()
    assert (report.done, report.code) == (True, 0)
    assert [item for item in store.batch_get(Ship, [f"s{number}" for number in range(MANY)]) if item] == []
