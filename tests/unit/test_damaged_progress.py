"""The stored progress of long work, damaged by another program: the work begins anew, and ends as it would have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from shardweave.cli.rekey import standing
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.progress import PARTITION
from shardweave.table import Table
from shardweave.table.operations import PutItem, Scan
from tests.unit.doctor_world import Clinic
from tests.unit.rekey_world import HAND_MADE, RekeyWorld, by_hand, member_schema

WRONG: tuple[Any, ...] = ("x", 7, None, ["x"], {"x": "y"}, {"bring": {"read": "x"}}, [["x"]])


def stored(table: Table, name: str, names: tuple[str, str]) -> dict[str, Any]:
    """The record of some work."""
    items = table.run(Scan(consistent=True)).items
    (item,) = [dict(each) for each in items if str(each[names[0]]).startswith(PARTITION) and each[names[1]] == name]
    return item


def damaged(item: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The same with each part of the state lost, or something else."""
    state = item["state"]
    yield {**item, "state": "x"}
    for name in state:
        yield {**item, "state": {each: value for each, value in state.items() if each != name}}
        for wrong in WRONG:
            yield {**item, "state": {**state, name: wrong}}


def test_a_rekey_tells_and_does_what_it_can() -> None:
    made = RekeyWorld(member_schema(), HAND_MADE)
    for number in range(20):
        made.put(by_hand(number))
    made.rekey().start()
    made.rekey(page=1).run(stop=lambda: True)
    item = stored(made.inner, "rekey#member", ("PK", "SK"))
    assert {"of", "passes", "examples", "lanes", "began"} <= item["state"].keys()
    for wrong in damaged(item):
        made.inner.run(PutItem(wrong))
        assert "member: follow: " in standing(made.rekey().status())
        report = made.run()
        assert (report.done, report.refused, len(made.records())) == (True, 0, 20)


@pytest.mark.parametrize("part", ["records", "sums"])
def test_a_doctor_begins_anew(part: str) -> None:
    clinic = Clinic()
    (item,) = [each for each in clinic.items() if each["hashKey"].startswith("project.*!") and "p0" in each["rangeKey"]]
    clinic.put(item, issue_project=9)
    whole = clinic.examined()
    assert whole.findings.counts == {"counter_wrong": 1}
    while clinic.doctor(page=9).run(stop=lambda: True).part != part:
        pass
    saved = stored(clinic.inner, "doctor", ("hashKey", "rangeKey"))
    assert {"part", "found", "sums", "read", "units", "undecided"} <= saved["state"].keys()
    for wrong in damaged(saved):
        clinic.inner.run(PutItem(wrong))
        report = Doctor(clinic.new_store(clinic.inner).parts, clinic.clock).run()
        assert report.done
        if wrong["state"] == "x":
            assert report.findings == whole.findings
