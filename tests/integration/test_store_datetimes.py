"""Times as Python has them: a datetime as a record's expiry, creation and last change, stored as an epoch number."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from shardweave.errors import SchemaError, ShardweaveError, ValueRefused
from shardweave.keys.sharding import ShardBump
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from shardweave.table.operations import Scan
from shardweave.values.codecs import Timestamp, TimestampSeconds
from tests.integration.conftest import OpenTable
from tests.unit.api_world import CURSOR_KEYS
from tests.unit.store_world import FIRST_BUMP, START, Clock

BUMPS = [ShardBump(0, char_bits=1, chars=0), ShardBump(FIRST_BUMP, char_bits=2, chars=1)]


class Pass(Entity, token="pass", shard_bumps=BUMPS):
    """Lets somebody in, until it ends."""

    pass_id: str = unique_property()
    created: dt.datetime = timestamp_property()
    updated: dt.datetime | None = updated_property(unit="s")
    ends: dt.datetime | None = ttl_property()
    gate: str = "north"

    gate_hash_key = HashKey("gate")
    newest_range_key = RangeKey(desc("created"), "pass_id")


class NumberedPass(Entity, token="pass", shard_bumps=BUMPS):
    """The same as it was declared with numbers."""

    pass_id: str = unique_property()
    created: Timestamp = timestamp_property()
    updated: TimestampSeconds | None = updated_property()
    ends: TimestampSeconds | None = ttl_property()
    gate: str = "north"

    gate_hash_key = HashKey("gate")
    newest_range_key = RangeKey(desc("created"), "pass_id")


INDEXES = [
    Index("gate", "gate_hash_key", "newest_range_key"),
    Index("created", "hash_key", "created"),
]
NAIVE = dt.datetime(2030, 1, 1, tzinfo=dt.UTC).replace(tzinfo=None)
SCHEMA = Schema([Pass], INDEXES)
NUMBERED = Schema([NumberedPass], INDEXES)


def moment(milliseconds: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(milliseconds / 1000, dt.UTC)


class Place:
    """Stores with both declarations on one table of the backend."""

    def __init__(self, open_table: OpenTable) -> None:
        self.clock = Clock()
        self.table = open_table(SCHEMA.layout)
        waiting = RetryClock(sleep=lambda _: None)
        self.store = Store(SCHEMA, self.table, clock=self.clock, waiting=waiting)
        self.numbered = Store(NUMBERED, self.table, clock=self.clock, waiting=waiting)

    def ids(self, **asked: Any) -> list[str]:
        queries = QueryRunner(SCHEMA, self.table, CURSOR_KEYS, clock=self.clock)
        try:
            return [each.pass_id for each in queries.run(QuerySpec("pass", **asked)).items]
        finally:
            queries.close()


@pytest.fixture
def place(open_table: OpenTable) -> Place:
    return Place(open_table)


def test_times_are_stored_as_numbers_of_their_unit_and_come_back_as_datetimes(place: Place) -> None:
    ends = moment(START + 60_000)
    made = place.store.create(Pass(pass_id="a", ends=ends))
    (item,) = place.table.run(Scan(consistent=True)).items
    assert (item["created"], item["updated"], item["ends"]) == (START, START // 1000, START // 1000 + 60)
    assert (made.created, made.updated, made.ends) == (moment(START), moment(START), ends)
    assert place.store.get(Pass, "a") == made
    assert made.created.tzinfo is not None


def test_a_record_with_an_expiry_is_hidden_in_time_and_makes_room(place: Place) -> None:
    place.store.create(Pass(pass_id="a", ends=moment(START + 60_000)))
    place.clock.now = START + 61_000
    assert place.store.get(Pass, "a") is None
    assert place.ids(index="gate", conditions={"gate": Equal("north")}) == []
    assert place.store.create(Pass(pass_id="a")).ends is None


def test_a_declaration_may_go_from_numbers_to_datetimes_and_back(place: Place) -> None:
    numbered = place.numbered.create(NumberedPass(pass_id="a", ends=START // 1000 + 60))
    found = place.store.get(Pass, "a")
    assert found is not None
    assert (found.created, found.ends) == (moment(numbered.created), moment(START + 60_000))
    place.clock.now = START + 5_000
    changed = place.store.update(Pass, "a", {"ends": None, "gate": "south"})
    assert (changed.created, changed.updated, changed.ends) == (moment(START), moment(START + 5_000), None)
    back = place.numbered.get(NumberedPass, "a")
    assert back is not None
    assert (back.created, back.updated, back.gate) == (START, START // 1000 + 5, "south")


def test_records_are_found_and_ordered_by_their_times(place: Place) -> None:
    times = {"a": START, "b": START + 1, "c": FIRST_BUMP + 7}
    for name, time in times.items():
        place.clock.now = time
        place.store.create(Pass(pass_id=name))
    assert place.ids(index="created") == ["a", "b", "c"]
    assert place.ids(index="gate", conditions={"gate": Equal("north")}) == ["c", "b", "a"]
    created = {"created": Range(moment(START + 1), moment(FIRST_BUMP + 7))}
    assert place.ids(index="created", conditions=created) == ["b", "c"]
    assert place.ids(index="created", conditions={"created": Equal(START + 1)}) == ["b"]
    away = dt.timezone(dt.timedelta(hours=9))
    assert place.ids(index="created", conditions={"created": Equal(moment(START).astimezone(away))}) == ["a"]


def test_what_is_less_than_the_unit_is_cut_off(place: Place) -> None:
    ends = moment(START + 60_000) + dt.timedelta(microseconds=999_999)
    made = place.store.create(Pass(pass_id="a", created=moment(START) + dt.timedelta(microseconds=999), ends=ends))
    assert (made.created, made.ends) == (moment(START), moment(START + 60_000))
    assert place.store.put(made) == made


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"ends": NAIVE}, "no time zone"),
        ({"ends": dt.datetime(9999, 1, 1, tzinfo=dt.UTC)}, "from 1970 to 2286"),
        ({"ends": dt.datetime(1900, 1, 1, tzinfo=dt.UTC)}, "from 1970 to 2286"),
        ({"created": NAIVE}, "no time zone"),
        ({"created": dt.datetime(1969, 1, 1, tzinfo=dt.UTC)}, "from 3 March 1973 to 2286"),
    ],
)
def test_what_can_not_be_such_a_number_is_refused(place: Place, given: dict[str, Any], words: str) -> None:
    for write in (place.store.create, place.store.put):
        with pytest.raises(ShardweaveError, match=words) as refused:
            write(Pass(pass_id="a", **given))
        assert isinstance(refused.value, ValueRefused)
        assert refused.value.where in given
        assert refused.value.fix
    place.store.create(Pass(pass_id="a"))
    with pytest.raises(ShardweaveError):
        place.store.update(Pass, "a", given)
    assert len(place.table.run(Scan(consistent=True)).items) == 1


def test_a_naive_datetime_and_a_date_are_no_times_of_a_record() -> None:
    class Day(Entity, token="day"):
        day_id: str = unique_property()
        created: dt.date = timestamp_property()
        ends: dt.date | None = ttl_property()

    with pytest.raises(SchemaError, match="a Timestamp or a datetime") as refused:
        Schema([Day])
    assert "epoch seconds" in str(refused.value)
