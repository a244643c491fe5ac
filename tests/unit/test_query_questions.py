"""Counting, first records, iteration, named properties, hydration, explaining."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shardweave.errors import (
    AccessDenied,
    InputError,
    LaneFailed,
    UnsupportedQuery,
)
from shardweave.keys.sharding import ShardBump
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, Prefix, QuerySpec, Range
from shardweave.table.conditions import Compare
from shardweave.table.operations import BatchGet, DeleteItem, PageAnswer, Query
from tests.unit.query_world import DAY, KEYS, NOW, People, starts_with


@pytest.fixture
def people() -> Iterator[People]:
    world = People(ShardBump(0, 2, 1))
    yield world
    world.close()


class TestOtherQuestions:
    def test_count_is_exact_over_all_pages(self, people: People) -> None:
        people.fill(57, first=lambda n: f"ja{n % 5}", last=lambda n: f"ja{n % 2}" if n % 3 else "x")
        assert people.runner.count(QuerySpec("person", {}, "first")).count == 57
        assert people.runner.count(QuerySpec("person", {"first": Prefix("ja1")})).count == len(range(1, 57, 5))
        both = people.runner.count(QuerySpec("person", branches=starts_with("ja")))
        assert both.count == 57, "overlapping branches are counted by their keys, each record once"
        assert people.runner.count(QuerySpec("person", {}, "first", filter=Compare("last", "=", "x"))).count == 19

    def test_count_lets_the_table_count_where_it_can(self, people: People) -> None:
        people.fill(20)
        people.runner.count(QuerySpec("person", {}, "first", filter=Compare("state", "=", "active")))
        assert all(query.count_only for query in people.table.queries())
        assert [query for query in people.table.queries() if query.filter is None] == [], "the expired are left out"

    def test_exists_and_first(self, people: People) -> None:
        spec = QuerySpec("person", {"first": Prefix("n")})
        assert not people.runner.exists(spec)
        assert people.runner.first(spec) is None
        people.fill(9, first=lambda n: f"n{n}")
        assert people.runner.exists(spec)
        assert people.runner.first(spec).person_id == "p00000"
        assert people.runner.first(replace(spec, reverse=True)).person_id == "p00008"

    def test_iteration_over_records_and_pages(self, people: People) -> None:
        ids = people.fill(23, first=lambda n: f"n{n:02d}")
        spec = QuerySpec("person", {}, "first", limit=5)
        assert [each.person_id for each in people.runner.records(spec)] == ids
        assert [len(page.items) for page in people.runner.pages(spec)] == [5, 5, 5, 5, 3]

        async def everything() -> list[str]:
            return [each.person_id async for each in people.runner.records_async(spec)]

        assert asyncio.run(everything()) == ids

    def test_named_properties_only(self, people: People) -> None:
        people.fill(3, first=lambda n: f"n{n}")
        page = people.runner.run(QuerySpec("person", {}, "first", limit=2, properties=("first", "personId")))
        assert page.items == ({"first": "n0", "personId": "p00000"}, {"first": "n1", "personId": "p00001"})
        read = people.table.queries()[-1].projection
        assert read is not None
        assert "photo" not in read
        with pytest.raises(UnsupportedQuery, match="does not project photo"):
            people.runner.run(QuerySpec("person", index="state", properties=("photo",)))
        with pytest.raises(InputError, match="exclude one another"):
            people.runner.run(QuerySpec("person", properties=("first",), hydrate=True))

    def test_an_index_of_keys_shows_what_its_keys_hold(self, people: People) -> None:
        people.fill(2)
        page = people.runner.run(QuerySpec("person", {"state": Equal("active")}))
        assert page.index == "state"
        expected = [{"personId": "p00000", "state": "active"}, {"personId": "p00001", "state": "active"}]
        assert sorted(page.items, key=lambda each: each["personId"]) == expected

    def test_hydration_reads_whole_records_in_batches(self, people: People) -> None:
        people.fill(150, photo=lambda n: f"photo {n}")
        page = people.runner.run(QuerySpec("person", {"state": Equal("active")}, limit=150, hydrate=True))
        assert {each.photo for each in page.items} == {f"photo {n}" for n in range(150)}
        batches = [operation for operation in people.table.operations if isinstance(operation, BatchGet)]
        assert sorted(len(batch.keys) for batch in batches) == [50, 100], "at once, in any order"

    def test_a_record_deleted_before_hydration_is_left_out(self, people: People) -> None:
        people.fill(5)
        item = people.add("gone")

        def remove(query: Query, answer: PageAnswer) -> PageAnswer:
            people.table.inner.run(DeleteItem(people.entity.make_key(item)))
            return answer

        people.table.after = remove
        page = people.runner.run(QuerySpec("person", {"state": Equal("active")}, hydrate=True))
        assert len(page.items) == 5

    def test_newest_first_over_five_generations_reads_only_the_newest_until_it_is_exhausted(self) -> None:
        bumps = [ShardBump(0, 1, 1), *(ShardBump(NOW - (5 - n) * DAY, 1, n + 1) for n in range(1, 5))]
        world = People(*bumps)
        ids = world.fill(200, created=lambda n: NOW - n * DAY // 40)
        spec = QuerySpec("person", {}, "created", limit=10, reverse=True)
        generations = []
        for page in world.pages(spec):
            widths = {len(query.hash_value) - len("person!") for query in world.table.queries()}
            generations.append((len(page.items), sorted(widths)))
            world.table.operations.clear()
        assert generations[0] == (10, [5]), "32 lanes of the newest, none of the 30 others"
        assert [read for _, read in generations[:3]] == [[5]] * 3
        assert generations[-1][1] == [1]
        assert world.ids(spec) == ids
        world.close()

    def test_explain_before_and_after_a_run(self, people: People) -> None:
        people.fill(40, first=lambda n: f"n{n:02d}")
        spec = QuerySpec("person", {"first": Prefix("n")}, "first", limit=10)
        before = people.runner.explain(spec)
        assert before.stats is None
        assert people.table.queries() == []
        assert before.plan_text().splitlines()[:3] == [
            "person by first, ascending, 10 a page",
            "  because first was named",
            "  because 4 lanes in 1 generation, 1 stage",
        ]
        assert [lane.first_fetch for lane in before.lanes] == [before.lanes[0].first_fetch] * 4
        after = people.runner.explain(spec, run=True)
        assert after.stats is not None
        assert (after.stats.requests, after.stats.rounds, after.stats.returned) == (4, 1, 10)
        cursor = people.runner.run(spec).cursor
        resumed = people.runner.explain(replace(spec, cursor=cursor))
        assert [lane.resumes for lane in resumed.lanes] == [True] * 4
        assert after.stats.reports[0].lane == "first person!0"

    def test_every_page_and_count_is_observed(self, people: People) -> None:
        people.fill(12)
        seen = []
        runner = QueryRunner(people.schema, people.table, KEYS, observer=lambda plan, stats: seen.append(stats))
        runner.run(QuerySpec("person", {}, "first", limit=5))
        runner.count(QuerySpec("person", {}, "first"))
        assert [(stats.lanes, stats.returned) for stats in seen] == [(4, 5), (4, 12)]
        runner.close()

    def test_one_that_fails_is_observed_too(self, people: People) -> None:
        people.fill(12)
        seen = []
        runner = QueryRunner(people.schema, people.table, KEYS, observer=lambda plan, stats: seen.append(stats))

        def before(query: Query) -> None:
            if query.hash_value == "person!1":
                raise AccessDenied("no")

        people.table.before = before
        for ask in (runner.run, runner.count):
            with pytest.raises(LaneFailed):
                ask(QuerySpec("person", {}, "first", limit=5))
        assert [(stats.lanes, stats.failed_lanes, stats.returned) for stats in seen] == [(4, 1, 0), (4, 1, 0)]
        runner.close()

    def test_bounds_and_values_that_no_key_can_have_are_empty_answers(self, people: People) -> None:
        people.fill(4, state=lambda n: f"s{n}")
        for constraint in (Range(None, ""), Equal(""), Equal("s" * 2000), Prefix("s" * 2000)):
            page = people.runner.run(QuerySpec("person", {"state": constraint}, "state"))
            assert (page.items, page.cursor) == ((), None)
        for constraint in (Range("", None), Prefix("")):
            assert len(people.runner.run(QuerySpec("person", {"state": constraint}, "state")).items) == 4
