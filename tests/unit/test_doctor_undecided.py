"""A counter of children that keep changing is not decided, and the report says so."""

from __future__ import annotations

from typing import Any

from shardweave.table.operations import Scan
from tests.unit.doctor_world import Clinic
from tests.unit.shop_world import Issue


class ChangingChildren:
    """A table in which a child is written anew each time that the table is gone over."""

    def __init__(self, world: Clinic) -> None:
        self._world, self._number = world, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.inner, name)

    def run(self, operation: Any, **options: Any) -> Any:
        if isinstance(operation, Scan):
            self._number += 1
            self._world.store.update(Issue, "p0i0", {"title": f"t{self._number}"})
        return self._world.inner.run(operation, **options)


def test_a_counter_whose_children_keep_changing_is_named_and_not_decided() -> None:
    clinic = Clinic()
    counters = [each for each in clinic.items() if each["hashKey"].startswith("project.*!")]
    (item,) = [each for each in counters if each["rangeKey"].endswith("p0")]
    clinic.put(item, issue_project=9)
    report = clinic.doctor(table=ChangingChildren(clinic)).run()
    assert report.findings.counts == {}
    assert report.undecided == ((item["hashKey"], item["rangeKey"]),)
    assert report.document()["undecided"] == [[item["hashKey"], item["rangeKey"]]]
    later = clinic.examined()
    assert (later.findings.counts, later.undecided) == ({"counter_wrong": 1}, ())
