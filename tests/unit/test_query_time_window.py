"""A time window: only records made in it are given, and where an index is ordered by time only those are read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from shardweave.errors import ValueRefused
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec, Range
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, RangeKey, desc
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PutItem
from shardweave.values.codecs import Timestamp

NOW = 1_730_000_000_000
TIMES = [0, 10**11, *(NOW + step for step in range(-12, 0))]
BOUNDS = st.none() | st.sampled_from([*TIMES, NOW, -1, 5, 10**13, 10**40]) | st.integers(NOW - 14, NOW + 2)
BY_TIME = {
    "created": QuerySpec("event", index="created"),
    "conditioned": QuerySpec("event", {"created": Range(NOW - 9, NOW - 3)}, "created"),
    "kind": QuerySpec("event", {"kind": Equal("a")}, "kind"),
    "newest": QuerySpec("event", {"kind": Equal("a")}, "newest"),
}
ASKED = {**BY_TIME, "name": QuerySpec("event", index="name"), "all kinds": QuerySpec("event", index="newest")}


WINDOWS = st.tuples(BOUNDS, BOUNDS).map(lambda both: both if None in both else (min(both), max(both)))


class Events:
    """An event of either kind for each time, over three generations."""

    def __init__(self) -> None:
        class Event(
            Entity,
            token="event",
            shard_bumps=[ShardBump(0, 1, 1), *(ShardBump(NOW - n, 1, 5 - n // 4) for n in (8, 4))],
        ):
            event_id: str = unique_property()
            created: Timestamp = timestamp_property()
            kind: str
            name: str

            kind_range_key = RangeKey("kind", "created", "name")
            newest_range_key = RangeKey("kind", desc("created"))

        indexes = [
            Index("created", "hash_key", "created"),
            Index("kind", "hash_key", "kind_range_key"),
            Index("newest", "hash_key", "newest_range_key"),
            Index("name", "hash_key", "name"),
        ]
        self.schema = Schema([Event], indexes)
        self.table = EmbeddedTable(self.schema.layout)
        self.runner = QueryRunner(self.schema, self.table, CursorKeys("k", {"k": b"k" * 32}), clock=lambda: NOW)
        self.records = [
            Event(event_id=f"{kind}{place}", created=created, kind=kind, name=f"n{place % 5}")
            for kind in "ab"
            for place, created in enumerate(TIMES)
        ]
        entity = self.schema[Event]
        for record in self.records:
            self.table.run(PutItem(entity.complete(entity.dump(record))))

    def found(self, spec: QuerySpec) -> list[str]:
        return [record.event_id for record in self.runner.records(spec)]

    def expected(self, name: str, earliest: int | None, latest: int | None) -> set[str]:
        """By looking at every record."""
        return {
            each.event_id
            for each in self.records
            if (earliest is None or earliest <= each.created)
            and (latest is None or each.created <= latest)
            and (name not in ("kind", "newest") or each.kind == "a")
            and (name != "conditioned" or NOW - 9 <= each.created <= NOW - 3)
        }


@pytest.fixture(scope="module")
def events() -> Iterator[Events]:
    world = Events()
    yield world
    world.runner.close()
    world.table.close()


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(ASKED)), WINDOWS, st.booleans(), st.integers(1, 30))
def test_what_was_made_in_it_is_given_and_nothing_else(
    events: Events, name: str, window: tuple[int | None, int | None], reverse: bool, limit: int
) -> None:
    earliest, latest = window
    spec = replace(ASKED[name], earliest=earliest, latest=latest, reverse=reverse, limit=limit)
    found = events.found(spec)
    assert sorted(found) == sorted(events.expected(name, earliest, latest))
    assert found == events.found(replace(spec, reverse=not reverse))[::-1]
    assert events.runner.count(spec).count == len(found)


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.sampled_from(sorted(BY_TIME)), st.integers(NOW - 14, NOW + 2), st.integers(0, 16))
def test_an_index_that_is_ordered_by_time_reads_nothing_else(
    events: Events, name: str, earliest: int, length: int
) -> None:
    latest = earliest + length
    spec = replace(BY_TIME[name], earliest=earliest, latest=latest)
    answer = events.runner.count(spec)
    assert answer.stats.scanned == answer.count == len(events.expected(name, earliest, latest))


@pytest.mark.parametrize("name", ASKED)
def test_a_window_that_begins_above_its_end_is_refused(events: Events, name: str) -> None:
    with pytest.raises(ValueRefused, match="swap earliest and latest") as refused:
        events.runner.run(replace(ASKED[name], earliest=NOW - 3, latest=NOW - 4))
    assert refused.value.where == "earliest"
    assert events.found(replace(ASKED[name], earliest=NOW + 3, latest=NOW + 3)) == []


def test_a_plan_says_what_the_window_does(events: Events) -> None:
    window = {"earliest": NOW - 3, "latest": NOW}
    narrowed = events.runner.explain(replace(BY_TIME["created"], **window))
    assert narrowed.reasons[-1] == (
        f"records made from {NOW - 3} to {NOW} alone are read, since the index is ordered by time"
    )
    assert {(lane.low, lane.high) for lane in narrowed.lanes} == {(str(NOW - 3), str(NOW))}
    assert not narrowed.estimate_is_least
    other = events.runner.explain(replace(ASKED["name"], **window))
    assert "it chooses generations, and records after reading" in other.reasons[-1]
    assert other.estimate_is_least
