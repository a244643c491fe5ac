"""The doctor on every table: each kind of fault is found there, repaired where that is safe, and found clean after."""

from __future__ import annotations

from typing import Any

from shardweave.maintenance.fault_kinds import KINDS, Severity
from shardweave.table.operations import DeleteItem, PutItem
from tests.integration.conftest import OpenTable
from tests.unit.doctor_world import Clinic
from tests.unit.shop_world import SCHEMA, Customer, Issue, sound
from tests.unit.test_doctor import DAMAGES, lookup_missing, unknown_item

TABLES = ("embedded", "ministack")
"""A doctor reads in several threads, and moto is not safe under threads."""


def by_key(world: Clinic) -> dict[tuple[str, str], dict[str, Any]]:
    """Everything in the table but what doctors keep."""
    items = {(item["hashKey"], item["rangeKey"]): item for item in world.items()}
    return {key: item for key, item in items.items() if not key[0].startswith("_maintenance")}


def put_back(world: Clinic, whole: dict[tuple[str, str], dict[str, Any]]) -> None:
    """Make the table what it was."""
    now = by_key(world)
    for hash_key, range_key in now.keys() - whole.keys():
        world.inner.run(DeleteItem({"hashKey": hash_key, "rangeKey": range_key}))
    for key, item in whole.items():
        if now.get(key) != item:
            world.inner.run(PutItem(item))


def test_each_kind_of_fault_is_found_named_and_repaired_or_left(open_table: OpenTable) -> None:
    world = Clinic(table=open_table(SCHEMA.layout))
    whole = by_key(world)
    assert world.examined().code == 0
    for damage, kind, others in DAMAGES:
        name = damage.__name__
        damage(world)
        report = world.examined(repair=True)
        assert kind in report.findings.counts, name
        assert set(report.findings.counts) <= {kind, *others}, name
        assert report.findings.all_named, name
        if KINDS[kind].severity is Severity.REPAIRABLE:
            assert report.code == 0, name
            assert world.found() == {}, f"{name}: it is found clean after"
        else:
            assert report.code == 2, name
            assert kind not in report.findings.repaired, name
        put_back(world, whole)
    assert world.found() == {}
    assert sound(world)


def test_without_repair_nothing_is_written_and_the_code_is_that_of_the_worst_kind(open_table: OpenTable) -> None:
    world = Clinic(table=open_table(SCHEMA.layout))
    for code, damage in ((1, lookup_missing), (2, unknown_item)):
        damage(world)
        damaged = by_key(world)
        assert world.examined().code == code
        assert by_key(world) == damaged


def test_interrupted_at_every_page_the_report_is_the_same(open_table: OpenTable) -> None:
    world = Clinic(table=open_table(SCHEMA.layout))
    for damage, kind, others in DAMAGES:
        if kind in {"stale_key", "lookup_missing", "counter_wrong", "unknown_item"} and not others:
            damage(world)
    whole = world.examined(page=9)
    assert whole.code == 2
    interrupted = 0
    while not (report := world.doctor(page=9).run(stop=lambda: True)).done:
        interrupted += 1
    assert interrupted > 3
    assert report.findings == whole.findings
    assert report.code == whole.code


def test_records_that_are_written_between_two_pages_are_no_fault(open_table: OpenTable) -> None:
    world = Clinic(table=open_table(SCHEMA.layout))
    number = 0
    while not (report := world.doctor(page=9).run(stop=lambda: True)).done:
        number += 1
        world.other.update(Customer, f"c{number % 8}", {"phone": f"n{number}", "city": f"d{number}"})
        world.other.delete(Issue, f"p{number % 2}i{number % 3}")
        world.other.put({"issueId": f"p{number % 2}i{number % 3}", "projectId": f"p{number % 2}"}, Issue)
    assert report.findings.counts == {}
    assert world.found() == {}
