"""A run of a rekey that is stopped between reading and writing, for as long as it likes: it writes nothing any more
when another run has begun, or a command has changed the state."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardweave.errors import Conflict
from shardweave.maintenance.run_fence import RunEnded
from shardweave.reshard.control import control_key
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import WRITES
from shardweave.table.layout import KeyAttribute, TableLayout
from shardweave.table.operations import Query, Scan, TransactWrite
from tests.unit.rekey_world import HAND_MADE, NOW, Member, RekeyWorld, by_hand, member_schema

RECORDS = 60


class Stopping:
    """A table whose user is stopped before its first write after some reading, until `meanwhile` has happened."""

    def __init__(self, inner: Any, meanwhile: Callable[[], object]) -> None:
        self._inner, self._meanwhile = inner, meanwhile
        self.has_read = False
        self.stopped = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run(self, operation: Any, *, guard: Any = None) -> Any:
        if isinstance(operation, WRITES) and self.has_read and not self.stopped:
            self.stopped = True
            self._meanwhile()
        self.has_read = self.has_read or isinstance(operation, (Scan, Query))
        return self._inner.run(operation, guard=guard)


class Counting:
    """A table that counts the actions of its transactions."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.transactions: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    def run(self, operation: Any, *, guard: Any = None) -> Any:
        if isinstance(operation, TransactWrite):
            self.transactions.append(len(operation.actions))
        return self._inner.run(operation, guard=guard)


def in_place() -> RekeyWorld:
    made = RekeyWorld(member_schema(), HAND_MADE)
    for number in range(RECORDS):
        made.put(by_hand(number))
    made.rekey().start()
    return made


def late(made: RekeyWorld, meanwhile: Callable[[], object]) -> None:
    """A run that is stopped when it has read something. What it still writes changes nothing."""
    before: list[Any] = []

    def others() -> None:
        meanwhile()
        before.extend(made.items())

    table = Stopping(made.inner, others)
    with pytest.raises(RunEnded):
        made.rekey(table=table, workers=1).run()
    assert table.stopped
    assert made.items() == before


def test_it_does_not_bring_what_another_run_has_brought_since() -> None:
    made = in_place()

    def meanwhile() -> None:
        made.change(by_hand(3), mail="new@x")
        made.remove(by_hand(4))
        made.run()

    late(made, meanwhile)
    assert made.is_equal()


def test_it_does_not_bring_after_switch() -> None:
    made = in_place()

    def meanwhile() -> None:
        made.run()
        made.rekey().switch()
        made.store.update(Member, "m3", {"points": 99})
        made.store.delete(Member, "m4")

    late(made, meanwhile)
    assert made.is_equal()


def test_it_does_not_bring_after_the_end() -> None:
    made = in_place()

    def meanwhile() -> None:
        made.run()
        made.rekey().switch()
        made.run()
        made.rekey().finish()
        assert [made.run().state, made.old_items()] == ["", []]
        made.store.delete(Member, "m4")

    late(made, meanwhile)
    assert len(made.records()) == RECORDS - 1


def test_it_does_not_sweep_what_was_made_anew() -> None:
    made = in_place()
    made.run()
    for number in range(RECORDS):
        made.remove(by_hand(number))

    def meanwhile() -> None:
        made.run()
        for number in range(RECORDS):
            made.put(by_hand(number))
        made.run()

    late(made, meanwhile)
    assert len(made.records()) == RECORDS


def test_it_does_not_undo_the_records_of_another_rekey() -> None:
    made = in_place()
    made.run()
    made.rekey().abort()

    def meanwhile() -> None:
        assert made.run().state == ""
        made.rekey().start()
        made.run()

    late(made, meanwhile)
    assert made.is_equal()
    assert len(made.records()) == RECORDS


def test_it_does_not_delete_old_items_that_were_written_after_the_end() -> None:
    made = in_place()
    made.run()
    made.rekey().switch()
    made.run()
    made.rekey().finish()

    def meanwhile() -> None:
        assert made.run().state == ""
        for number in range(RECORDS):
            made.put(by_hand(number))

    late(made, meanwhile)
    assert len(made.old_items()) == RECORDS


def test_it_does_not_bring_from_another_table_when_that_is_finished() -> None:
    schema = member_schema("hashKey", "rangeKey")
    old = EmbeddedTable(TableLayout(KeyAttribute("PK"), KeyAttribute("SK")), clock=lambda: NOW / 1000)
    made = RekeyWorld(schema, HAND_MADE, old_table=old)
    for number in range(RECORDS):
        made.put(by_hand(number))
    made.rekey().start()

    def meanwhile() -> None:
        made.change(by_hand(3), mail="new@x")
        made.run()
        made.rekey().finish()
        made.store.update(Member, "m5", {"points": 99})

    late(made, meanwhile)
    members = [made.store.get(Member, name) for name in ("m3", "m5")]
    assert [(each.email, each.points) for each in members if each is not None] == [("new@x", 3), (None, 99)]


def test_of_two_runs_the_one_that_began_last_goes_on_and_the_other_one_ends() -> None:
    made = in_place()
    reports: list[Any] = []

    def other_begins(report: object) -> None:
        if not reports:
            reports.append(made.run())

    with pytest.raises(Conflict, match="another run has begun"):
        made.rekey(page=2).run(other_begins)
    assert reports[0].done
    assert made.is_equal()


def test_a_run_writes_many_records_in_a_transaction() -> None:
    made = in_place()
    table = Counting(made.inner)
    report = made.rekey(table=table).run()
    assert report.passes["bring"].written == RECORDS
    assert made.is_equal()
    of_records = [actions for actions in table.transactions if actions > 2]
    assert sum(actions - 1 for actions in of_records) == 2 * RECORDS, "a record, and a check of its old item"
    assert len(of_records) <= 16 + RECORDS // 25, "the rest of each of sixteen lanes, and full ones"


def test_one_that_another_program_changes_meanwhile_holds_up_no_other_one() -> None:
    made = in_place()
    table = Stopping(made.inner, lambda: [made.change(by_hand(number), mail="new@x") for number in range(RECORDS // 2)])
    report = made.rekey(table=table).run()
    assert table.stopped
    assert (report.passes["bring"].written, report.refused, report.differing) == (RECORDS, 0, 0)
    assert made.is_equal()


def test_the_control_record_is_left_without_a_run() -> None:
    made = in_place()
    made.run()
    made.rekey().abort()
    made.run()
    (control,) = made.store.parts.reader.items([control_key(made.entity)])
    assert control is not None
    assert (control["rekey"], control["rekey_run"]) == ("", "")
