"""How queries behave when they span indexes, when time or reads run out, and when shards fail."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

import pytest

from shardweave.errors import (
    AccessDenied,
    InputError,
    LaneFailed,
    LimitExceeded,
    TableUnavailable,
    Throttled,
    TooManyLaggingLanes,
    UnknownName,
    UnsupportedQuery,
)
from shardweave.keys.sharding import ShardBump
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import BranchSpec, OneOf, Prefix, QuerySpec, Range
from shardweave.table.conditions import BeginsWith, Compare, Or
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import PageAnswer, PutItem, Query
from tests.unit.query_world import DAY, KEYS, NOW, People, starts_with


@pytest.fixture
def people() -> Iterator[People]:
    world = People(ShardBump(0, 2, 1))
    yield world
    world.close()


@pytest.fixture
def many() -> Iterator[People]:
    """16 shards."""
    world = People(ShardBump(0, 4, 1))
    yield world
    world.close()


class TestSeveralIndexes:
    def test_two_branches_share_hash_keys(self, people: People) -> None:
        people.add("both", first="jane", last="jackson")
        people.add("first", first="jack", last="smith")
        people.add("last", first="anna", last="jay")
        people.add("none", first="anna", last="smith")
        spec = QuerySpec("person", branches=starts_with("ja"), limit=1)
        assert people.ids(spec) == ["first", "both", "last"], "by jack, jackson, jay"
        assert people.ids(replace(spec, reverse=True)) == ["last", "both", "first"]

    @pytest.mark.parametrize("reverse", [False, True])
    @pytest.mark.parametrize("limit", [1, 3, 50])
    def test_branches_that_hold_the_same_records_give_each_once(
        self, people: People, limit: int, reverse: bool
    ) -> None:
        ids = people.fill(40, first=lambda n: f"ja{n % 7}", last=lambda n: f"ja{n % 5}")
        found = people.ids(QuerySpec("person", branches=starts_with("ja"), limit=limit, reverse=reverse))
        assert sorted(found) == ids

    def test_branches_that_hold_no_common_record(self, people: People) -> None:
        people.fill(40, first=lambda n: "ja" if n % 2 else "x", last=lambda n: "x" if n % 2 else "ja")
        assert len(set(people.ids(QuerySpec("person", branches=starts_with("ja"), limit=7)))) == 40

    def test_a_record_at_other_positions_in_three_branches_is_given_at_the_lowest(self, people: People) -> None:
        people.add("far", first="c", last="b", nick="a")
        people.add("near", first="b", last="c", nick="c")
        branches = tuple(BranchSpec({}, index) for index in ("first", "last", "nick"))
        assert people.ids(QuerySpec("person", branches=branches, limit=1)) == ["far", "near"], "by a, b"
        assert people.ids(QuerySpec("person", branches=branches, limit=1, reverse=True)) == ["near", "far"]

    def test_a_record_older_than_one_of_the_indexes_is_found_by_the_others(self, people: People) -> None:
        item = people.add("old", first="ja", last="x")
        del item["lastRangeKey"]
        people.table.inner.run(PutItem(item))
        people.add("new", first="x", last="ja")
        assert sorted(people.ids(QuerySpec("person", branches=starts_with("ja"), limit=1))) == ["new", "old"]

    def test_an_index_that_lags_behind_for_some_records_loses_no_other(self, people: People) -> None:
        ids = people.fill(60, first=lambda n: f"ja{n % 9}", last=lambda n: f"ja{n % 4}")
        behind = set(ids[::10])

        def lag(query: Query, answer: PageAnswer) -> PageAnswer:
            if query.index != "first":
                return answer
            return replace(answer, items=tuple(item for item in answer.items if item["personId"] not in behind))

        people.table.after = lag
        found = Counter(people.ids(QuerySpec("person", branches=starts_with("ja"), limit=7)))
        assert {key: found[key] for key in ids if key not in behind} == dict.fromkeys(set(ids) - behind, 1)
        assert all(found[key] <= 1 for key in behind)

    def test_several_values_of_a_hash_element_are_branches_of_one_index(self) -> None:
        from services import user_service

        schema = user_service.schema()
        runner = QueryRunner(schema, EmbeddedTable(schema.layout), KEYS)
        plan = runner.plan(QuerySpec("user", {"beneficiaryId": OneOf(("b1", "b2", "b1"))}, "userBeneficiaryCreated"))
        assert len(plan.branches) == 2
        assert len(plan.lanes) == 8
        assert not plan.overlaps[0].possible
        with pytest.raises(LimitExceeded, match="1 to 50 values"):
            runner.plan(QuerySpec("user", {"beneficiaryId": OneOf(tuple(map(str, range(51))))}))
        runner.close()

    def test_identical_branches_are_read_once(self, people: People) -> None:
        people.fill(5, first=lambda n: "ja")
        branch = BranchSpec({"first": Prefix("ja")}, "first")
        assert len(people.runner.plan(QuerySpec("person", branches=(branch, branch))).lanes) == 4
        assert len(people.ids(QuerySpec("person", branches=(branch, branch), limit=2))) == 5

    def test_branches_that_do_not_agree_are_refused_with_the_reason(self, people: People) -> None:
        for other, reason in (("created", "different numbers of elements"), ("pair", "different numbers of elements")):
            with pytest.raises(UnsupportedQuery, match=reason):
                people.runner.run(QuerySpec("person", branches=(BranchSpec({}, "first"), BranchSpec({}, other))))
        with pytest.raises(UnsupportedQuery, match="differ in type or direction"):
            people.runner.run(QuerySpec("person", branches=(BranchSpec({}, "state"), BranchSpec({}, "created"))))
        with pytest.raises(InputError, match="branches replace"):
            people.runner.run(QuerySpec("person", index="first", branches=(BranchSpec({}, "first"),)))
        with pytest.raises(LimitExceeded, match="at most 50 branches"):
            people.runner.run(QuerySpec("person", branches=(BranchSpec({}, "first"),) * 51))


class TestFilters:
    def test_the_article_s_question_with_a_filter(self, people: People) -> None:
        people.fill(
            60, first=lambda n: f"ja{n % 7}", last=lambda n: "x", state=lambda n: "suspended" if n % 3 else "active"
        )
        spec = QuerySpec("person", branches=starts_with("ja"), filter=Compare("state", "<>", "suspended"), limit=6)
        pages = list(people.pages(spec))
        assert [len(page.items) for page in pages] == [6, 6, 6, 2]
        assert {each.state for page in pages for each in page.items} == {"active"}

    def test_a_filter_on_a_key_of_the_index_is_evaluated_here(self, people: People) -> None:
        people.fill(20, first=lambda n: f"n{n}", state=lambda n: "a" if n % 2 else "b")
        spec = QuerySpec("person", {"created": Range(0)}, "created", filter=Compare("created", "=", NOW))
        explanation = people.runner.explain(spec)
        assert explanation.filter_by_table == ()
        assert explanation.filter_here == ({"property": "created", "eq": NOW},)
        assert explanation.estimate_is_least
        assert len(people.ids(spec)) == 20
        either = Or((Compare("created", "<", NOW), Compare("state", "=", "a")))
        assert len(people.ids(replace(spec, filter=either))) == 10

    def test_a_filter_on_what_the_index_does_not_project_is_refused(self, people: People) -> None:
        with pytest.raises(UnsupportedQuery, match="does not project photo"):
            people.runner.run(QuerySpec("person", index="state", filter=BeginsWith("photo", "x")))
        with pytest.raises(UnknownName, match="no property 'nope'"):
            people.runner.run(QuerySpec("person", filter=Compare("nope", "=", 1)))

    def test_a_filter_that_matches_nothing_ends_with_a_budget_smaller_than_the_lanes(self, many: People) -> None:
        """16 lanes, 10 reads a page: every page makes progress, and the walk ends."""
        many.fill(800, first=lambda n: f"n{n:04d}")
        spec = QuerySpec("person", {}, "first", filter=Compare("state", "=", "gone"), limit=10, budget=10)
        pages = list(many.pages(spec))
        assert [len(page.items) for page in pages] == [0] * len(pages)
        assert 1 < len(pages) < 200
        assert [page.complete for page in pages] == [False] * (len(pages) - 1) + [True]
        assert all(page.stats.requests <= 16 for page in pages), "each lane once, budget or not"


class TestCuts:
    def test_a_page_cut_by_its_budget_is_in_order_and_goes_on(self, many: People) -> None:
        ids = many.fill(600, first=lambda n: f"n{n:04d}", state=lambda n: "rare" if n % 6 == 0 else "active")
        spec = QuerySpec("person", {}, "first", filter=Compare("state", "=", "rare"), limit=60, budget=20)
        pages = list(many.pages(spec))
        assert not pages[0].complete
        assert 0 < len(pages[0].items) < 60
        assert [each.person_id for page in pages for each in page.items] == ids[::6]

    def test_a_cut_between_generations_goes_on_with_the_next(self) -> None:
        bumps = [ShardBump(0, 1, 1), *(ShardBump(NOW - (5 - n) * DAY, 1, n + 1) for n in range(1, 5))]
        world = People(*bumps)
        ids = world.fill(50, created=lambda n: NOW - (49 - n) * DAY // 8)
        for reverse in (False, True):
            wanted = ids[::-1] if reverse else ids
            spec = QuerySpec("person", {}, "created", limit=500, budget=1, reverse=reverse)
            pages = list(world.pages(spec))
            assert [each.person_id for page in pages for each in page.items] == wanted
            assert len(pages) >= 5
            nothing = list(world.pages(replace(spec, filter=Compare("state", "=", "gone"))))
            assert [page.items for page in nothing] == [()] * len(nothing)
        world.close()

    def test_limits_of_time_and_reads_are_checked(self, people: People) -> None:
        for wrong in ({"budget": 0}, {"time_limit_ms": 0}):
            with pytest.raises(LimitExceeded):
                people.runner.run(QuerySpec("person", **wrong))  # type: ignore[arg-type]


class TestFailingShards:
    def breaking(self, world: People, *hashes: str) -> None:
        def check(query: Query) -> None:
            if query.hash_value in hashes:
                raise Throttled

        world.table.before = check

    def test_by_default_a_failing_lane_fails_the_query_and_is_named(self, people: People) -> None:
        people.fill(20)
        self.breaking(people, "person!2")
        with pytest.raises(LaneFailed, match="first person!2") as raised:
            people.runner.run(QuerySpec("person", {}, "first"))
        assert raised.value.cause == "throttled"

    @pytest.mark.parametrize("reverse", [False, True])
    def test_a_lane_that_recovers_three_pages_later_continues_from_where_it_was(
        self, people: People, reverse: bool
    ) -> None:
        ids = people.fill(100, first=lambda n: f"n{n:04d}")
        spec = QuerySpec("person", {}, "first", limit=10, on_shard_error="partial", reverse=reverse)
        first = people.runner.run(spec)
        self.breaking(people, "person!1")
        pages = [first]
        for _ in range(3):
            pages.append(people.runner.run(replace(spec, cursor=pages[-1].cursor)))
            assert pages[-1].failed == ("first person!1",)
            assert not pages[-1].complete
            assert len(pages[-1].items) == 10
            assert pages[-1].late == 0
        self.breaking(people)
        rest = list(people.pages(replace(spec, cursor=pages[-1].cursor)))
        assert rest[0].late > 0, "the recovered lane's records come first, and are flagged"
        for page in [*pages, *rest]:
            keys = [each.person_id for each in page.items]
            assert keys == sorted(keys, reverse=reverse), "order holds within the page"
        found = [each.person_id for page in [*pages, *rest] for each in page.items]
        assert sorted(found) == ids

    def test_lanes_may_lag_at_the_end_of_all_others(self, people: People) -> None:
        ids = people.fill(30, first=lambda n: f"n{n:04d}")
        self.breaking(people, "person!0", "person!3")
        spec = QuerySpec("person", {}, "first", limit=500, on_shard_error="partial")
        page = people.runner.run(spec)
        assert page.cursor is not None
        self.breaking(people)
        late = people.runner.run(replace(spec, cursor=page.cursor))
        assert late.late == len(late.items) > 0
        assert late.cursor is None
        assert sorted(each.person_id for each in [*page.items, *late.items]) == ids

    def test_all_lanes_throttled_is_an_error_even_for_partial_answers(self, people: People) -> None:
        people.fill(10)
        self.breaking(people, *(f"person!{n}" for n in range(4)))
        for mode in ("fail", "partial"):
            with pytest.raises(LaneFailed):
                people.runner.run(QuerySpec("person", {}, "first", on_shard_error=mode))

    def test_a_ninth_place_to_remember_is_an_error(self, many: People) -> None:
        many.fill(400, first=lambda n: f"n{n:04d}")
        spec = QuerySpec("person", {}, "first", limit=5, on_shard_error="partial")
        broken: list[str] = []
        digits = "0123456789abcdef"
        for digit in digits[:8]:
            broken.append(f"person!{digit}")
            self.breaking(many, *broken)
            spec = replace(spec, cursor=many.runner.run(spec).cursor)
        self.breaking(many, *broken, f"person!{digits[8]}")
        with pytest.raises(TooManyLaggingLanes):
            many.runner.run(spec)

    def test_a_throttled_read_is_tried_again(self, people: People) -> None:
        ids = people.fill(20, first=lambda n: f"n{n:04d}")
        chooser = random.Random(1)

        def sometimes(query: Query) -> None:
            if chooser.random() < 0.3:
                raise Throttled

        people.table.before = sometimes
        assert people.ids(QuerySpec("person", {}, "first", limit=5)) == ids

    def test_the_token_grows_by_its_key_and_a_few_bytes_for_each_lagging_place(self, many: People) -> None:
        many.fill(200, first=lambda n: f"n{n:04d}")
        spec = QuerySpec("person", {}, "first", limit=5, on_shard_error="partial")
        whole = many.runner.run(spec).cursor
        self.breaking(many, "person!3")
        lagging = many.runner.run(replace(spec, cursor=whole)).cursor
        assert whole is not None
        assert lagging is not None
        assert len(lagging) - len(whole) < 140


def test_a_lane_s_failure_says_what_mends_it() -> None:
    """Trying again mends what passes; what does not is mended as the table says."""
    assert LaneFailed("lane", Throttled()).fix.startswith("try again")
    assert LaneFailed("lane", TableUnavailable("no answer", fix="retry")).fix.startswith("try again")
    assert LaneFailed("lane", AccessDenied("no credentials", fix="set AWS_PROFILE")).fix == "set AWS_PROFILE"
