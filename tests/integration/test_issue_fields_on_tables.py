"""Custom fields of issues on every table, and issues that were stored when there were four places for them."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid5

import pytest

from services._samples.issues import ACME, BRIDGE
from services.issue_tracker import schema
from services.issue_tracker.custom_values import FieldTest
from services.issue_tracker.grid import Wanted, issues_by
from services.issue_tracker.records import Issue
from shardweave import Create, Database
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.rewriting import Rewrite
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.schema.upgrades import VERSION
from shardweave.store import RetryClock, Store
from shardweave.store.lookups.lookup_records import OWNER
from shardweave.table.operations import DeleteItem, PutItem, Scan
from tests.integration.table_contract import OpenTable
from tests.unit.store_world import Clock

SCHEMA = schema()
LISTS = ("custom_texts", "custom_numbers", "custom_dates")
KEYS = CursorKeys("k", {"k": b"k" * 32})
FIELDS = {"spot": "text1", "side": "text2", "weight": "number1", "seen": "date1"}


class Tracker:
    """The issue tracker's store on a table."""

    def __init__(self, table: Any) -> None:
        self.table, self.clock = table, Clock()
        self.store = Store(SCHEMA, self.table, clock=self.clock, waiting=RetryClock())
        self.db = Database.over(self.store, QueryRunner(SCHEMA, self.table, KEYS, clock=self.clock))
        self.project = BRIDGE.model_copy(update={"custom_fields": FIELDS})
        self.store.transact([Create(ACME), Create(self.project)])
        ids = {"tenant_id": ACME.tenant_id, "project_id": BRIDGE.project_id}
        self.store.advance(Issue, "num", within=ids, to=5)

    def issue(self, num: int, **values: Any) -> Issue:
        ids = {"tenant_id": ACME.tenant_id, "issue_id": self.id(num), "project_id": BRIDGE.project_id}
        return self.store.create({**ids, "num": num, "title": f"Issue {num}", "created": self.clock(), **values}, Issue)

    @staticmethod
    def id(num: int) -> UUID:
        return uuid5(BRIDGE.project_id, str(num))

    def update(self, num: int, changes: dict[str, Any]) -> None:
        self.store.update(Issue, {"tenant_id": ACME.tenant_id, "issue_id": self.id(num)}, changes)

    def grid(self, sort: str, wanted: Wanted = Wanted()) -> list[int]:  # noqa: B008  # it is frozen
        """The numbers of a grid by a custom field, in pages of two."""
        asked, found, token = issues_by(self.project, sort, wanted), [], None
        assert asked.lookup is not None
        while True:
            how: dict[str, Any] = {"reverse": asked.reverse, "filter": asked.filter, "limit": 2, "next_token": token}
            page = self.db.find_by(Issue, asked.lookup, asked.value, within=asked.within, **how)
            found += [each.num for each in page.items]
            token = page.next_token
            if token is None:
                return found

    def items(self) -> list[dict[str, Any]]:
        return [dict(each) for each in self.table.run(Scan()).items]

    def wrong(self, *, repair: bool = False) -> dict[str, int]:
        return Doctor(self.store.parts, self.clock, repair=repair).run().findings.counts


def filled(tracker: Tracker) -> Tracker:
    for name in LISTS:
        tracker.store.backfill(Issue, name)
    for num, (spot, weight) in enumerate([("north", "2.5"), ("nord", "-1"), ("south", "10"), ("north", "9")], 1):
        texts, numbers = {"text1": spot}, {"number1": Decimal(weight)}
        tracker.issue(
            num, custom_texts=texts, custom_numbers=numbers, custom_dates={"date1": dt.date(2025, 1, 9 - num)}
        )
    tracker.issue(5)
    return tracker


def test_grids_by_fields_are_in_order_and_follow_their_issues(open_table: OpenTable) -> None:
    tracker = filled(Tracker(open_table(SCHEMA.layout)))
    assert tracker.grid("weight") == [2, 1, 4, 3]
    assert tracker.grid("-weight") == [3, 4, 1, 2]
    assert tracker.grid("spot") == [2, 1, 4, 3]
    assert tracker.grid("seen", Wanted({}, [FieldTest("date1", low=dt.date(2025, 1, 6))])) == [3, 2, 1]
    assert tracker.grid("spot", Wanted({}, [FieldTest("text1", prefix="nor")])) == [2, 1, 4]
    assert tracker.grid("weight", Wanted({}, [FieldTest("text1", prefix="nor"), FieldTest("number1", low=0)])) == [1, 4]
    assert tracker.grid("-num", Wanted({}, [FieldTest("text1", equal="north")])) == [4, 1]
    tracker.update(3, {"custom_numbers": {"number1": Decimal("-7")}, "custom_texts": {"text2": "left"}})
    tracker.update(1, {"custom_numbers": {}})
    tracker.store.delete(Issue, {"tenant_id": ACME.tenant_id, "issue_id": tracker.id(4)})
    assert tracker.grid("weight") == [3, 2]
    assert tracker.grid("spot") == [2, 1]
    assert tracker.grid("side") == [3]


def test_the_doctor_finds_and_repairs_what_is_missing_and_what_has_no_owner(open_table: OpenTable) -> None:
    tracker = filled(Tracker(open_table(SCHEMA.layout)))
    assert not tracker.wrong()
    entries = [each for each in tracker.items() if each["hashKey"].startswith("issue.custom") and OWNER in each]
    assert len(entries) == 12
    first = entries[0]
    tracker.table.run(DeleteItem({name: first[name] for name in ("hashKey", "rangeKey")}))
    lost = {**entries[1], OWNER: entries[1][OWNER].replace(str(entries[1][OWNER])[-12:], "0" * 12)}
    lost["rangeKey"] = entries[1]["rangeKey"].replace(str(entries[1][OWNER])[-12:], "0" * 12)
    tracker.table.run(PutItem(lost))
    assert tracker.wrong() == {"lookup_missing": 1, "lookup_dangling": 1}
    tracker.wrong(repair=True)
    assert not tracker.wrong()
    assert tracker.grid("weight") == [2, 1, 4, 3]
    assert tracker.grid("spot") == [2, 1, 4, 3]


@pytest.mark.parametrize("first", ["backfill", "rewrite"])
def test_issues_with_four_places_get_their_entries_by_a_backfill_and_by_a_rewrite(
    open_table: OpenTable, first: str
) -> None:
    tracker = filled(Tracker(open_table(SCHEMA.layout)))
    for item in tracker.items():
        if item["hashKey"].startswith("issue.custom"):
            tracker.table.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))
        elif "issueId" in item and VERSION in item:
            kept = {name: value for name, value in item.items() if name not in {VERSION, *map(_stored, LISTS)}}
            for name in LISTS:
                held = item.get(_stored(name), {})
                kept |= held | {f"has{place.capitalize()}": True for place in held}
            tracker.table.run(PutItem(kept))
    old = Tracker.__new__(Tracker)
    old.__dict__ |= tracker.__dict__
    old.store = Store(SCHEMA, tracker.table, clock=tracker.clock, waiting=RetryClock())
    old.db = Database.over(old.store, QueryRunner(SCHEMA, tracker.table, KEYS, clock=tracker.clock))
    found = old.store.get(Issue, {"tenant_id": ACME.tenant_id, "issue_id": old.id(1)})
    assert found is not None
    assert (found.custom_texts, found.custom_numbers) == ({"text1": "north"}, {"number1": Decimal("2.5")})
    if first == "rewrite":
        Rewrite(old.store.parts, SCHEMA[Issue]).run()
        assert sum(each["hashKey"].startswith("issue.custom") and OWNER in each for each in old.items()) == 12
    for name in LISTS:
        assert old.store.backfill(Issue, name).ready
    assert old.grid("weight") == [2, 1, 4, 3]
    assert old.grid("-spot") == [3, 4, 1, 2]
    Rewrite(old.store.parts, SCHEMA[Issue]).run()
    written = [each for each in old.items() if "issueId" in each and "title" in each]
    assert len(written) == 5
    assert all(each[VERSION] == 2 and "text1" not in each and "hasText1" not in each for each in written)
    assert not old.wrong()
    assert old.grid("seen") == [4, 3, 2, 1]


def _stored(name: str) -> str:
    first, second = name.split("_")
    return first + second.capitalize()
