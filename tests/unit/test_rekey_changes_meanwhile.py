"""Old items that another program changes and deletes while a run is at them."""

from __future__ import annotations

from typing import Any

from shardweave.table.fault_injection import WRITES
from tests.unit.rekey_world import HAND_MADE, RekeyWorld, by_hand, member_schema

RECORDS = 6
CHANGED = by_hand(3)


class Deleting:
    """A table in which another program deletes an old item before the first write, once it is `armed`."""

    def __init__(self, made: RekeyWorld) -> None:
        self._made = made
        self.armed = self.deleted = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._made.inner, name)

    def run(self, operation: Any, *, guard: Any = None) -> Any:
        about = "MEMBER#m3" in repr(operation)
        if self.armed and not self.deleted and isinstance(operation, WRITES) and about:
            self.deleted = True
            self._made.remove(CHANGED)
        return self._made.inner.run(operation, guard=guard)


def test_a_record_goes_in_the_sweep_that_finds_its_old_item_changed_and_then_gone() -> None:
    made = RekeyWorld(member_schema(), HAND_MADE)
    for number in range(RECORDS):
        made.put(by_hand(number))
    made.rekey().start()
    made.run()
    table = Deleting(made)

    def change(report: Any) -> None:
        if "verify" not in report.passes and not table.armed:
            table.armed = True
            made.change(CHANGED, mail="new@x")

    report = made.rekey(table=table, page=RECORDS).run(change)
    assert table.deleted
    assert report.passes["bring"].written == 0
    assert report.passes["sweep"].removed == 1
    assert report.differing == 0
    assert made.is_equal()
    assert len(made.records()) == RECORDS - 1
