"""A table is brought in on every table: in place with dual writes, and from another table."""

from __future__ import annotations

import pytest

from shardweave.errors import Conflict
from shardweave.reshard.phases import Waits
from shardweave.table.layout import KeyAttribute, TableLayout
from tests.integration.conftest import OpenTable
from tests.unit.rekey_world import HAND_MADE, Member, RekeyWorld, by_hand, member_schema

TABLES = ("embedded", "ministack")
"""Passes read and write in several threads, and moto is not safe under threads."""
LEASES = Waits(lease_ms=1000, accepted_ms=0, request_ms=0, clocks_ms=0, quiet_ms=0)
RECORDS = 15


def pass_time(made: RekeyWorld) -> None:
    """Let every process notice the state."""
    made.now += 2 * LEASES.lease_ms


def in_place(open_table: OpenTable) -> RekeyWorld:
    schema = member_schema()
    made = RekeyWorld(schema, HAND_MADE, waits=LEASES, leases=LEASES, new_table=open_table(schema.layout))
    for number in range(RECORDS):
        made.put(by_hand(number))
    return made


def test_the_whole_way_with_both_programs_writing(open_table: OpenTable) -> None:
    made = in_place(open_table)
    made.rekey().start()
    pass_time(made)
    report = made.run()
    assert (report.passes["bring"].written, report.refused, report.differing) == (RECORDS, 0, 0)
    made.change(by_hand(1), team="moved", GSI1PK="TEAM#moved")
    made.remove(by_hand(2))
    made.put(by_hand(20))
    made.run()
    assert made.is_equal()
    made.rekey().switch()
    pass_time(made)
    made.store.update(Member, "m3", {"points": 99, "team": None})
    made.store.create({"memberId": "new", "team": "t1", "email": "e@x"}, Member)
    made.store.delete(Member, "m4")
    assert made.is_equal(), "each write is on both"
    assert made.old(by_hand(3)) == by_hand(3, team=None, points=99)
    made.change(by_hand(5), mail="theirs@x")
    made.store.update(Member, "m5", {"points": 50})
    found = made.store.get(Member, "m5")
    assert found is not None
    assert (found.email, found.points) == ("theirs@x", 50), "neither undoes the other's change"
    assert made.old(by_hand(5))["points"] == 50
    made.run()
    assert made.faults() == {}
    made.rekey().finish()
    pass_time(made)
    made.store.update(Member, "m6", {"points": 7})
    assert made.run().state == "purge"
    pass_time(made)
    assert made.run().state == ""
    assert made.old_items() == []
    assert len(made.records()) == RECORDS
    pass_time(made)
    plain = made.new_store(forms=False).get(Member, "m6")
    assert plain is not None
    assert (plain.points, plain.team) == (7, "t0")
    assert made.faults() == {}


def test_back_and_abort_leave_the_old_items_with_every_write(open_table: OpenTable) -> None:
    made = in_place(open_table)
    made.rekey().start()
    pass_time(made)
    made.run()
    made.rekey().switch()
    pass_time(made)
    made.store.update(Member, "m3", {"points": 99})
    made.rekey().back()
    pass_time(made)
    made.rekey().abort()
    pass_time(made)
    assert made.run().state == ""
    assert made.records() == []
    assert made.old(by_hand(3))["points"] == 99
    assert len(made.old_items()) == RECORDS
    assert made.faults() == {}


def test_from_another_table_that_is_written_until_finish(open_table: OpenTable) -> None:
    schema = member_schema("hashKey", "rangeKey")
    old = open_table(TableLayout(KeyAttribute("PK"), KeyAttribute("SK")))
    new = open_table(schema.layout)
    made = RekeyWorld(schema, HAND_MADE, waits=LEASES, leases=LEASES, old_table=old, new_table=new)
    for number in range(RECORDS):
        made.put(by_hand(number))
    made.rekey().start()
    pass_time(made)
    for number in range(3):
        made.run()
        made.remove(by_hand(number))
        made.put(by_hand(30 + number))
        made.change(by_hand(10), mail=f"a{number}@x")
    with pytest.raises(Conflict, match="another table"):
        made.rekey().switch()
    report = made.run()
    assert (report.refused, report.differing) == (0, 0)
    assert made.is_equal()
    made.rekey().finish()
    pass_time(made)
    before = made.items(made.olds)
    made.store.update(Member, "m10", {"points": 4})
    made.store.delete(Member, "m11")
    assert made.items(made.olds) == before, "the old table is left as it is"
    found = made.store.get(Member, "m10")
    assert found is not None
    assert (found.points, found.email) == (4, "a2@x")
    assert len(made.records()) == RECORDS - 1
    assert made.faults() == {}
