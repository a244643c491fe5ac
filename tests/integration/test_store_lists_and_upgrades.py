"""Ordered lookups, and records of earlier versions, on every table: the same answers whatever carries them out."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

from shardweave import Database, between, prefix, where
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.schema.upgrades import VERSION
from shardweave.store import RetryClock, Store
from tests.integration.table_contract import OpenTable
from tests.unit.store_world import Clock
from tests.unit.test_ordered_lookups import LISTS, SIZE, Task
from tests.unit.test_ordered_lookups import SCHEMA as TASKS
from tests.unit.test_upgrades import NEW, OLD, First, Third, values_of

KEYS = CursorKeys("k", {"k": b"k" * 32})
P = {"project": "p"}


def walked(db: Database, name: str, value: Any = None, **asked: Any) -> list[str]:
    """The ids of a list, in pages of two, the last page's way back checked."""
    found: list[str] = []
    page = db.find_by(Task, name, value, limit=2, **asked)
    while True:
        before = [each.task_id for each in page.items]
        found += before
        if page.next_token is None:
            return found
        page = db.find_by(Task, name, value, limit=2, next_token=page.next_token, **asked)
        back = db.find_by(Task, name, value, limit=2, prev_token=page.prev_token, **asked)
        assert [each.task_id for each in back.items] == before


def test_lists_are_in_order_and_follow_their_records(open_table: OpenTable) -> None:
    table, clock = open_table(TASKS.layout), Clock()
    store = Store(TASKS, table, clock=clock, waiting=RetryClock())
    db = Database.over(store, QueryRunner(TASKS, table, KEYS, clock=clock))
    for name in LISTS:
        store.backfill(Task, name)
    for number, day in enumerate([5, 2, 9, 2, 7]):
        due, numbers = dt.date(2026, 1, day), {"size": Decimal(number * (-1) ** number)}
        db.create(Task(task_id=f"t{number}", created=clock.now, project="p", num=-number, due=due, numbers=numbers))
    assert walked(db, "due", within=P) == ["t3", "t1", "t0", "t4", "t2"]
    assert walked(db, "due", within=P, reverse=True) == ["t2", "t4", "t0", "t1", "t3"]
    assert walked(db, "due", between(dt.date(2026, 1, 3), dt.date(2026, 1, 7)), within=P) == ["t0", "t4"]
    assert walked(db, "due", prefix("2026-01-02"), within=P, filter=where("num") < -1) == ["t3"]
    assert walked(db, "numbers", within=SIZE) == ["t3", "t1", "t0", "t2", "t4"]
    db.update(Task, "t1", {"due": dt.date(2026, 2, 1), "numbers": {}})
    db.delete(Task, "t3")
    assert walked(db, "due", within=P) == ["t0", "t4", "t2", "t1"]
    assert walked(db, "numbers", between(1, None), within=SIZE) == ["t2", "t4"]


@pytest.mark.parametrize("write", ["update", "add", "put"])
def test_earlier_versions_are_read_and_the_next_write_stores_the_current_one(open_table: OpenTable, write: str) -> None:
    table, clock = open_table(NEW.layout), Clock()
    old = Store(OLD, table, clock=clock, waiting=RetryClock())
    for number in range(3):
        old.create(values_of(number), First)
    store = Store(NEW, table, clock=clock, waiting=RetryClock())
    db = Database.over(store, QueryRunner(NEW, table, KEYS, clock=clock))
    rich = where("fee_cents") >= 50
    page = db.query(Third, team="red", index="byTeam", filter=rich)
    assert sorted(each.last_name for each in page.items) == ["Bell1", "Bell2"]
    writes: dict[str, Any] = {
        "update": lambda: db.update(Third, "m1", {"visits": 1}),
        "add": lambda: db.add(Third, "m1", {"visits": 1}),
        "put": lambda: db.put(db.get(Third, "m1").model_copy(update={"visits": 1})),  # type: ignore[union-attr]
    }
    writes[write]()
    item = store.parts.reader.find_now([(NEW[Third], {"memberId": "m1"})])[0].found
    assert item is not None
    assert (item.item[VERSION], item.item["visits"], "name" in item.item) == (3, 1, False)
    assert db.count(Third, team="red", index="byTeam", filter=rich) == 2
