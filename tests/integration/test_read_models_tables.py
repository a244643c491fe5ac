"""Events on every table: late ones, repeated ones, a deletion, totals; whatever carries the operations out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from shardweave.schema.read_models import Event
from shardweave.store import RetryClock, Store
from shardweave.table.fault_injection import WRITES, LoseAnswer, Script, SimulatedTable
from tests.integration.conftest import OpenTable
from tests.unit.read_model_world import SCHEMA, Lost, Parcel, Scan, Seen, Sent, Tally
from tests.unit.store_world import Clock

SENT = Sent(event_id="a", position=1, parcel_id="p", owner="ann", label="L1")
SEEN = Seen(event_id="b", position=2, parcel_id="p", place="Bath", note="wet")
LOST = Lost(event_id="c", position=3, parcel_id="p")
SENT_AGAIN = Sent(event_id="d", position=4, parcel_id="p", owner="bob")
SEEN_LAST = Seen(event_id="e", position=5, parcel_id="p", place="York")

ORDERS: dict[str, Sequence[Event]] = {
    "in order": (SENT, SEEN, LOST, SENT_AGAIN, SEEN_LAST),
    "reversed": (SEEN_LAST, SENT_AGAIN, LOST, SEEN, SENT),
    "the deletion last": (SEEN, SENT, SEEN_LAST, SENT_AGAIN, LOST),
    "the deletion first": (LOST, SEEN_LAST, SENT, SENT_AGAIN, SEEN),
}


@pytest.mark.parametrize("events", ORDERS.values(), ids=ORDERS.keys())
def test_a_read_model_is_the_same_in_any_order_and_with_lost_answers(
    open_table: OpenTable, events: Sequence[Event]
) -> None:
    table = open_table(SCHEMA.layout)
    smooth = Store(SCHEMA, table, clock=Clock(), waiting=RetryClock(sleep=lambda _: None))
    lossy = SimulatedTable(table, Script(LoseAnswer(), None, LoseAnswer(), None, LoseAnswer(), matching=WRITES))
    stores = (smooth, Store(SCHEMA, lossy, clock=Clock(), waiting=RetryClock(sleep=lambda _: None)))
    for number, event in enumerate(events):
        stores[number % 2].apply("parcels", event)
        assert stores[1 - number % 2].apply("parcels", event).repeated
    assert seen(smooth.get(Parcel, "p")) == {"owner": "bob", "place": "York", "note": "none", "label": None}
    assert seen(smooth.get(Tally, {})) == {"sent": 2, "seen": 2}
    assert seen(smooth.get(Scan, {"parcelId": "p", "position": 5})) == {"place": "York"}
    assert smooth.get_by(Parcel, "label", "L1") is None


def seen(record: Any) -> dict[str, Any]:
    """A record without its identity and its times."""
    assert record is not None
    return dict(record.model_dump(exclude={"parcel_id", "position", "updated"}))
