"""What a page holds and where its cursor goes on are of one moment: when time ends, when lanes fail, and when records
are gone before they were read whole."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import DeadlineTooShort, LaneFailed, Throttled
from shardweave.keys.sharding import ShardBump
from shardweave.query.fanout import FanOut
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Page, Prefix, QuerySpec, Range
from shardweave.schema.shard_maps import StaticMaps
from shardweave.table.conditions import Compare
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchGet, DeleteItem, Operation, PutItem, Query
from tests.unit.held_reads import HeldReads
from tests.unit.query_world import DAY, KEYS, NOW, people_schema

WHOLE = QuerySpec("person", {"state": Prefix("s")}, "state", limit=5, hydrate=True)
RARE = QuerySpec("person", {}, "first", filter=Compare("nick", "=", "rare"), limit=10, time_limit_ms=1000)


class Watched:
    """People in a table whose reads are held or fail where a test says so."""

    def __init__(self, *bumps: ShardBump) -> None:
        self.schema = people_schema(*bumps)
        self.person = self.schema.entity("person")
        self.inner = EmbeddedTable(self.schema.layout)
        self.table = HeldReads(self.inner)
        self.runner = self.runs()

    def runs(self, throttle: int = 8) -> QueryRunner:
        clocks: Any = {
            "maps": StaticMaps(),
            "monotonic": self.table.monotonic,
            "wait": self.table.wait,
            "sleep": lambda seconds: None,
        }
        return QueryRunner(self.schema, self.table, KEYS, clock=lambda: NOW, throttle=throttle, **clocks)

    def fill(self, count: int, **more: Any) -> list[str]:
        """Records `p000` and on, whose names and states are in that order and of which every third is rare."""
        for number in range(count):
            name = f"p{number:03d}"
            values = {"personId": name, "created": NOW, "first": name, "last": "x", "state": f"s{number:03d}"}
            values |= {"nick": "rare" if number % 3 == 0 else "usual"}
            values |= {key: value(number) for key, value in more.items()}
            self.inner.run(PutItem(self.person.complete(self.person.dump(self.person.validate(values)))))
        return [f"p{number:03d}" for number in range(count)]

    def delete_before_whole_records(self, *names: str) -> None:
        """These records are deleted when whole records are read the next time."""
        left = list(names)

        def delete(operation: Operation[Any]) -> None:
            while isinstance(operation, BatchGet) and left:
                self.inner.run(DeleteItem(self.person.make_key({"personId": left.pop(), "created": NOW})))

        self.table.before = delete

    def rest(self, spec: QuerySpec, page: Page) -> list[str]:
        self.table.begin()
        found = []
        while page.cursor is not None:
            page = self.runner.run(replace(spec, cursor=page.cursor))
            found += ids(page)
        return found

    def close(self) -> None:
        self.runner.close()
        self.table.close()


@pytest.fixture
def two() -> Iterator[Watched]:
    world = Watched(ShardBump(0, 1, 1))
    yield world
    world.close()


def ids(page: Page) -> list[str]:
    return [each.person_id for each in page.items]


class TestDeadlines:
    @pytest.mark.parametrize("lane", ["first person!0", "first person!1"])
    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_page_that_is_cut_in_a_refill_has_all_that_is_known_and_loses_nothing(
        self, two: Watched, lane: str, reverse: bool
    ) -> None:
        everything = two.fill(60)[::3]
        wanted = everything[::-1] if reverse else everything
        spec = replace(RARE, reverse=reverse)
        two.table.begin({(lane, 2): "late"})
        page = two.runner.run(spec)
        assert (lane, 2) in two.table.seen
        assert not page.complete
        assert [*ids(page), *two.rest(spec, page)] == wanted

    def test_a_full_page_is_full_though_a_lane_is_late(self, two: Watched) -> None:
        """What is late is needed only to see whether another record follows; one that was read does."""
        wanted = two.fill(60)
        spec = replace(RARE, filter=None, limit=4)
        for place in (("first person!0", 2), ("first person!1", 2)):
            two.table.begin({place: "late"})
            page = two.runner.run(spec)
            assert (len(page.items), page.complete) == (4, True)
            assert [*ids(page), *two.rest(spec, page)] == wanted

    def test_a_first_read_that_is_late_is_an_error_and_never_the_same_cursor(self, two: Watched) -> None:
        two.fill(40)
        two.table.begin({("first person!1", 1): "late"})
        with pytest.raises(DeadlineTooShort):
            two.runner.run(RARE)

    def test_a_slow_shard_is_left_out_of_a_partial_page(self, two: Watched) -> None:
        wanted = two.fill(40)[::3]
        spec = replace(RARE, on_shard_error="partial", limit=500)
        two.table.begin({("first person!0", 1): "late"})
        page = two.runner.run(spec)
        assert (page.failed, page.complete) == (("first person!0",), False)
        assert sorted([*ids(page), *two.rest(spec, page)]) == wanted

    def test_nothing_is_sent_when_the_time_is_over(self, two: Watched) -> None:
        fan_out = FanOut(two.table, monotonic=lambda: 5.0, wait=two.table.wait)
        (outcome,) = fan_out.read([Query("hashKey", "person!0", "rangeKey")], 5.0)
        assert outcome.late
        assert isinstance(outcome.error, DeadlineTooShort)
        assert two.table.seen == []

    def test_a_throttled_refill_that_has_no_time_for_another_attempt_is_late_and_no_failure(self, two: Watched) -> None:
        wanted = two.fill(60)[::3]

        def throttle(operation: Operation[Any]) -> None:
            if isinstance(operation, Query) and operation.start_key is not None:
                raise Throttled

        two.table.before = throttle
        two.runner = QueryRunner(
            two.schema, two.table, KEYS, maps=StaticMaps(), clock=lambda: NOW, jitter=lambda: 1.0, monotonic=lambda: 0.0
        )
        spec = replace(RARE, time_limit_ms=40)
        page = two.runner.run(spec)
        assert (page.complete, page.failed) == (False, ())
        two.table.before = lambda operation: None
        assert [*ids(page), *two.rest(spec, page)] == wanted

    def test_the_time_limit_of_the_first_record_is_that_of_all_its_pages(self, two: Watched) -> None:
        two.fill(60)
        nobody = replace(RARE, filter=Compare("nick", "=", "nobody"))
        two.table.begin({("first person!0", 2): "late"})
        with pytest.raises(DeadlineTooShort):
            two.runner.first(nobody)
        two.table.begin()
        assert two.runner.first(nobody) is None
        assert not two.runner.exists(nobody)


class TestFailingLanes:
    def test_one_that_fails_in_a_refill_takes_its_records_with_it_and_they_come_later(self, two: Watched) -> None:
        wanted = two.fill(60)[::3]
        spec = replace(RARE, on_shard_error="partial")
        two.table.begin({("first person!0", 2): "fails"})
        page = two.runner.run(spec)
        assert page.failed == ("first person!0",)
        hashes = [query["hashKey"] for query in map(two.person.make_key, self._keys(page))]
        assert set(hashes) == {"person!1"}
        assert sorted([*ids(page), *two.rest(spec, page)]) == wanted

    @staticmethod
    def _keys(page: Page) -> list[dict[str, Any]]:
        return [{"personId": each.person_id, "created": NOW} for each in page.items]

    def test_a_stage_that_fails_as_a_whole_is_not_walked_past_for_ever(self) -> None:
        """Where no lane has got on, a page does not end between the stages for its budget: it would give the same token
        again and again."""
        world = Watched(ShardBump(0, 1, 1), ShardBump(NOW - DAY, 1, 2))
        wanted = world.fill(20, created=lambda number: NOW - 2 * DAY if number < 10 else NOW)
        spec = QuerySpec("person", {"created": Range(0)}, "created", limit=50, budget=1, on_shard_error="partial")
        broken = {(f"created person!{shard}", 1): "fails" for shard in "01"}
        cursors: list[str | None] = []
        found: list[str] = []
        while len(cursors) < 20:
            world.table.begin(broken)  # type: ignore[arg-type]
            try:
                page = world.runner.run(replace(spec, cursor=cursors[-1] if cursors else None))
            except LaneFailed:
                break
            found += ids(page)
            cursors.append(page.cursor)
            assert page.cursor is not None
        assert sorted(found) == wanted[10:]
        world.table.begin()
        assert sorted([*found, *world.rest(spec, page)]) == wanted
        world.close()


class TestWholeRecords:
    def test_a_page_is_filled_up_where_records_are_gone(self, two: Watched) -> None:
        names = two.fill(30)
        two.delete_before_whole_records(*names[1:6], names[8])
        page = two.runner.run(WHOLE)
        assert ids(page) == [names[0], *names[6:8], *names[9:11]]
        assert (page.complete, page.stats.returned) == (True, 5)
        assert two.rest(WHOLE, page) == names[11:]

    def test_the_first_record_is_the_first_that_is_there(self, two: Watched) -> None:
        names = two.fill(30)
        two.delete_before_whole_records(*names[:9])
        assert two.runner.first(WHOLE).person_id == names[9]  # type: ignore[union-attr]
        two.delete_before_whole_records(*names[9:])
        assert not two.runner.exists(WHOLE)

    def test_one_that_expires_is_passed_over_and_one_that_is_another_s(self, two: Watched) -> None:
        names = two.fill(30, photo=lambda number: "mine" if number % 2 else "another's")
        page = two.runner.run(replace(WHOLE, visibility=lambda item: item["photo"] == "mine"))
        assert ids(page) == names[1:10:2]
        assert page.complete

    def test_a_cut_by_reads_says_so_though_the_page_is_empty(self, two: Watched) -> None:
        names = two.fill(30)
        two.delete_before_whole_records(*names[:20])
        page = two.runner.run(replace(WHOLE, budget=2))
        assert (page.items, page.complete) == ((), False)
        assert two.rest(WHOLE, page) == names[20:]

    def test_lanes_leave_time_for_the_whole_records_of_a_page_that_they_cut(self, two: Watched) -> None:
        names = two.fill(30)
        spec = replace(WHOLE, time_limit_ms=1000, limit=20, on_shard_error="partial")
        two.table.begin({("state person!0", 1): "late"})
        page = two.runner.run(spec)
        assert page.failed == ("state person!0",)
        assert len(page.items) > 0
        assert sorted([*ids(page), *two.rest(spec, page)]) == names

    def test_whole_records_that_are_late_are_left_to_the_next_page(self, two: Watched) -> None:
        names = two.fill(150)
        two.runner = two.runs(throttle=1)  # one batch after the other
        spec = replace(WHOLE, time_limit_ms=1000, limit=120)
        two.table.begin({("whole", 2): "late"})
        page = two.runner.run(spec)
        assert not page.complete
        assert len(page.items) == 100, "those of the first batch"
        assert [*ids(page), *two.rest(spec, page)] == names

    def test_where_all_of_them_are_late_there_is_no_page(self, two: Watched) -> None:
        two.fill(5)
        two.table.begin({("whole", 1): "late"})
        with pytest.raises(DeadlineTooShort):
            two.runner.run(replace(WHOLE, time_limit_ms=1000))
