"""The old items are in another table, which each command names."""

from __future__ import annotations

import pytest

from shardweave.errors import Conflict
from shardweave.maintenance.rekeying import OldTable
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import KeyAttribute, TableLayout
from tests.unit.rekey_world import HAND_MADE, Member, RekeyWorld, by_hand, member_schema

RECORDS = 12


def another_table(*names: str) -> RekeyWorld:
    """The keys of the records have these names, or those of the old table."""
    old = EmbeddedTable(TableLayout(KeyAttribute("PK"), KeyAttribute("SK")))
    made = RekeyWorld(member_schema(*names), HAND_MADE, old_table=old)
    for number in range(RECORDS):
        made.put(by_hand(number))
    return made


@pytest.mark.parametrize("names", [(), ("hashKey", "rangeKey")])
def test_from_another_table(names: tuple[str, ...]) -> None:
    made = another_table(*names)
    made.rekey().start()
    made.run()
    made.remove(by_hand(1))
    made.put(by_hand(30))
    made.change(by_hand(2), points=3, GSI1SK="00000003#m2")
    with pytest.raises(Conflict, match="another table"):
        made.rekey().switch()
    made.run()
    assert made.is_equal()
    made.rekey().finish()
    made.store.update(Member, "m2", {"points": 4})
    assert made.old(by_hand(2))["points"] == 3, "it is left as it was"
    assert (len(made.old_items()), len(made.records())) == (RECORDS, RECORDS)


@pytest.mark.parametrize("command", ["run", "switch", "finish", "abort"])
@pytest.mark.parametrize("given", [None, "a third"])
def test_each_command_needs_the_old_table_with_which_it_was_started(command: str, given: str | None) -> None:
    made = another_table()
    made.rekey().start()
    made.run()
    olds, records = made.old_items(), made.records()
    third = None if given is None else OldTable(given, EmbeddedTable(made.olds.layout))
    with pytest.raises(Conflict, match=r"it was started with the old items in 'old'.*--from old"):
        getattr(made.rekey(old_table=third), command)()
    assert (made.old_items(), made.records(), made.rekey().status().state) == (olds, records, "follow")


def test_an_old_table_is_refused_where_there_was_none() -> None:
    made = RekeyWorld(member_schema(), HAND_MADE)
    for number in range(RECORDS):
        made.put(by_hand(number))
    made.rekey().start()
    made.run()
    records = made.records()
    empty = OldTable("empty", EmbeddedTable(made.olds.layout))
    with pytest.raises(Conflict, match=r"it was started in one table.*leave out --from"):
        made.rekey(old_table=empty).run()
    assert made.records() == records


def test_after_finish_another_table_may_be_started_with() -> None:
    made = another_table()
    made.rekey().start()
    made.run()
    made.rekey().finish()
    assert made.run().passes["look"].differing == 0
    with pytest.raises(Conflict, match="nothing is being brought in"):
        made.rekey().abort()


def test_a_change_after_the_last_run_stops_finish_from_another_table() -> None:
    made = another_table()
    made.rekey().start()
    made.run()
    made.put(by_hand(1, points=1000))
    report = made.rekey(page=2).run(stop=lambda: True)
    assert not report.done
    with pytest.raises(Conflict, match="no run is complete"):
        made.rekey().finish()
