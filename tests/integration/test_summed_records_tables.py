"""Sums over records on every table: told twice, with lost answers, reset and rebuilt; events in transactions."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

import pytest

from shardweave.errors import RevisionConflict
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.schema.read_models import Event
from shardweave.schema.schema import Schema
from shardweave.store import Apply, Check, Delete, Put, Reset, RetryClock, Store
from shardweave.table import Table
from shardweave.table.fault_injection import WRITES, LoseAnswer, Script, SimulatedTable
from shardweave.table.stream_operations import StreamRecord
from tests.integration.conftest import OpenTable
from tests.unit.read_model_world import PARCELS, Parcel, Scan, Seen, Sent, Tally
from tests.unit.store_world import START, Clock
from tests.unit.summed_world import SCHEMA, UNREAD, Box, Letter, feed, summed

MEMBERS = ("ann", "bob")


def store_over(table: Table, schema: Schema = SCHEMA) -> Store:
    return Store(schema, table, clock=Clock(), waiting=RetryClock(sleep=lambda _: None))


def letter(name: str, *members: str, weight: int = 1) -> Letter:
    return Letter(letter_id=name, created=START, member_ids=list(members), weight=Decimal(weight))


def told(store: Store, names: Sequence[str]) -> None:
    """Tell of changes of letters, as the stream does, each twice and the last one first."""
    entity = store.schema[Letter]
    for name in [*reversed(names), *names]:
        key = entity.make_key(letter(name))
        stored = store.get(Letter, name)
        image = {**key, "letterId": name, "created": START, **({} if stored is None else {"rev": stored.rev})}
        event = "REMOVE" if stored is None else "MODIFY"
        old, new = (image, None) if stored is None else (None, image)
        feed(store, [StreamRecord(event, key, old, new, "1", "1", 0.0)])  # type: ignore[arg-type]


def test_sums_follow_records_with_lost_answers_and_are_reset_and_rebuilt(open_table: OpenTable) -> None:
    table = open_table(SCHEMA.layout)
    store = store_over(table)
    lossy = store_over(SimulatedTable(table, Script(LoseAnswer(), None, LoseAnswer(), matching=WRITES)))
    store.put(letter("a", "ann", "bob", weight=2))
    store.put(letter("b", "ann", weight=3))
    told(lossy, ["a", "b"])
    assert summed(store, MEMBERS) == {"ann": (2, 5), "bob": (1, 2), "": 2}
    seen = store.get(Box, "ann")
    assert seen is not None
    store.put(letter("c", "ann"))
    told(store, ["c"])
    with pytest.raises(RevisionConflict):
        store.reset(Box, "ann", rev=seen.rev)
    store.transact([Reset(Box, "ann", ("unread",)), Delete(Letter, "b")])
    told(store, ["a", "b", "c"])
    assert summed(store, MEMBERS) == {"ann": (0, 3), "bob": (1, 2), "": 2}
    store.update(Box, "bob", {"unread": 40})
    store.put(letter("d", "ann", "bob"))
    report = Rebuild(store.parts, UNREAD, workers=1).run()  # moto's transactions of several threads lose writes
    assert report.done
    assert report.corrected >= 1
    assert summed(store, MEMBERS) == {"ann": (1, 4), "bob": (2, 3), "": 3}


def test_the_doctor_counts_what_was_not_told_and_corrects_a_number(open_table: OpenTable) -> None:
    store = store_over(open_table(SCHEMA.layout))
    store.put(letter("a", "ann", "bob", weight=2))
    told(store, ["a"])
    store.put(letter("b", "bob", weight=3))
    store.update(Box, "ann", {"unread": 7})
    found = {"count_missing": 1, "sum_wrong": 1}
    report = Doctor(store.parts, Clock()).run()
    assert (report.findings.counts, report.code) == (found, 1)
    assert Doctor(store.parts, Clock(), repair=True).run().findings.repaired == found
    assert summed(store, MEMBERS) == {"ann": (1, 2), "bob": (2, 5), "": 2}
    told(store, ["a", "b"])
    assert summed(store, MEMBERS) == {"ann": (1, 2), "bob": (2, 5), "": 2}
    assert Doctor(store.parts, Clock()).run().code == 0


EVENTS = Schema([Parcel, Scan, Tally, Letter], read_models=[PARCELS])


def test_an_event_and_other_writes_are_one_transaction(open_table: OpenTable) -> None:
    store = store_over(open_table(EVENTS.layout), EVENTS)
    events: list[Event] = [
        Sent(event_id="a", position=1, parcel_id="p", owner="ann"),
        Seen(event_id="b", position=2, parcel_id="p", place="Bath"),
    ]
    for number, event in enumerate((*events, *events)):
        store.transact([Put(letter(f"l{number}")), Apply("parcels", event), Check(Letter, "none", exists=False)])
    tally = store.get(Tally, {})
    assert tally is not None
    assert (tally.sent, tally.seen) == (1, 1)
    assert all(store.batch_get(Letter, [f"l{number}" for number in range(4)]))
