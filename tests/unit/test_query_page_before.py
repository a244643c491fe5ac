"""The page before: what the token back of a page leads to, in every kind of page, and what it does not promise."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import CursorMismatch, RecordUnreadable
from shardweave.keys.sharding import ShardBump
from shardweave.query.page_budget import PageBudget
from shardweave.query.spec import Page, Prefix, QuerySpec, Range
from shardweave.table.conditions import Compare
from shardweave.table.operations import BatchGet, DeleteItem, Operation, PutItem, Query
from tests.unit.query_world import DAY, NOW, People, starts_with
from tests.unit.test_query_moments import Watched

FIRST = QuerySpec("person", {}, "first", limit=4)
CREATED = QuerySpec("person", {"created": Range(0)}, "created", limit=4)
GENERATIONS = (ShardBump(0, 1, 1), ShardBump(NOW - 2 * DAY, 1, 2), ShardBump(NOW - DAY, 1, 3))


@pytest.fixture(params=[(), GENERATIONS], ids=["one shard", "three generations"])
def people(request: pytest.FixtureRequest) -> Iterator[People]:
    world = People(*request.param)
    yield world
    world.close()


@pytest.fixture
def staged() -> Iterator[People]:
    """People of three generations, some made in the very first and last moments of each."""
    world = People(*GENERATIONS)
    edges = [begin + step for begin in (NOW - 2 * DAY, NOW - DAY) for step in (-2, -1, 0, 1)]
    world.fill(16, created=lambda number: edges[number % 8], first=lambda number: f"n{number:02d}")
    yield world
    world.close()


def ids(page: Page) -> list[str]:
    return [item["personId"] if isinstance(item, dict) else item.person_id for item in page.items]


def named(people: People, count: int) -> list[str]:
    return people.fill(
        count, first=lambda number: f"n{number:02d}", created=lambda number: NOW - (number % 3) * DAY - DAY // 2
    )


def forwards(people: People, spec: QuerySpec) -> list[Page]:
    return list(people.pages(spec))


def back(people: People, spec: QuerySpec, page: Page, **more: Any) -> Page:
    return people.runner.run(replace(spec, cursor=page.prev_token, **more))


def on(people: People, spec: QuerySpec, page: Page, **more: Any) -> Page:
    return people.runner.run(replace(spec, cursor=page.cursor, **more))


QUESTIONS = (
    FIRST,
    CREATED,
    replace(FIRST, filter=Compare("nick", "=", "hot")),
    QuerySpec("person", {"state": Prefix("")}, "state", limit=4, hydrate=True),
    QuerySpec("person", branches=starts_with("n"), limit=4),
)


@pytest.mark.parametrize("reverse", [False, True], ids=["ascending", "descending"])
@pytest.mark.parametrize("question", QUESTIONS, ids=["names", "time", "filter", "whole records", "branches"])
def test_pages_meet_with_the_same_boundaries_where_nothing_changed(
    people: People, question: QuerySpec, reverse: bool
) -> None:
    people.fill(
        30,
        first=lambda number: f"n{number % 7}",
        last=lambda number: f"n{number % 5}",
        nick=lambda number: "hot" if number % 3 else "cold",
        created=lambda number: NOW - (number % 6) * DAY // 2,
        state=lambda number: f"s{number % 9}",
    )
    spec = replace(question, reverse=reverse)
    pages = forwards(people, spec)
    assert len(pages) > 4
    assert pages[0].prev_token is None, "a page that was asked for without a token has none back"
    assert all(page.prev_token is not None for page in pages[1:])
    page = pages[-1]
    for expected in reversed(pages[:-1]):
        page = back(people, spec, page)
        assert ids(page) == ids(expected)
        assert (page.complete, page.backwards) == (True, True)
    assert page.prev_token is None, "a page that reached the beginning has none before it"
    for expected in pages[1:]:
        page = on(people, spec, page)
        assert ids(page) == ids(expected)
        assert not page.backwards
    assert page.cursor is None


def test_the_token_says_which_way_it_reads_and_belongs_to_the_same_query(people: People) -> None:
    names = named(people, 12)
    second = forwards(people, FIRST)[1]
    assert ids(back(people, FIRST, second, limit=3)) == names[1:4]
    for other in (replace(FIRST, reverse=True), replace(FIRST, index="last"), replace(FIRST, scope="another")):
        with pytest.raises(CursorMismatch):
            back(people, other, second)


def test_what_is_added_at_the_gap_stands_where_its_order_says(people: People) -> None:
    names = named(people, 12)
    second = forwards(people, FIRST)[1]
    people.add("new-before", first="n03x", created=NOW)
    people.add("new-within", first="n05x", created=NOW)
    assert ids(back(people, FIRST, second)) == [*names[1:4], "new-before"]
    again = on(people, FIRST, back(people, FIRST, second))
    assert ids(again) == [names[4], names[5], "new-within", names[6]]


def test_one_side_is_removed(people: People) -> None:
    names = named(people, 12)
    second = forwards(people, FIRST)[1]
    for number, name in enumerate(names[:4]):
        created = NOW - (number % 3) * DAY - DAY // 2
        people.table.inner.run(DeleteItem(people.entity.make_key({"personId": name, "created": created})))
    before = back(people, FIRST, second)
    assert (ids(before), before.prev_token, before.complete) == ([], None, True)
    assert ids(on(people, FIRST, before)) == names[4:8], "from the beginning that it reached"
    people.add("new", first="a", created=NOW)
    assert ids(on(people, FIRST, before)) == ["new", *names[4:7]]
    assert ids(back(people, FIRST, on(people, FIRST, before))) == []


def test_an_empty_page_at_the_end_leads_back_from_the_end(people: People) -> None:
    names = named(people, 8)
    pages = forwards(people, replace(FIRST, limit=7))
    people.table.inner.run(
        DeleteItem(people.entity.make_key({"personId": names[7], "created": NOW - (7 % 3) * DAY - DAY // 2}))
    )
    end = on(people, FIRST, pages[0])
    assert (ids(end), end.cursor) == ([], None)
    assert ids(back(people, FIRST, end)) == names[3:7]
    people.add("new", first="z", created=NOW)
    assert ids(back(people, FIRST, end)) == [*names[4:7], "new"], "what stands at the end when it is read"


@pytest.mark.parametrize("reverse", [False, True], ids=["ascending", "descending"])
@pytest.mark.parametrize("budget", [1, 2, 3, 4])
def test_cuts_between_generations_are_turned(staged: People, budget: int, reverse: bool) -> None:
    """Whatever is read of a generation, the way back from a cut between two is everything on its other side."""
    spec = replace(CREATED, limit=50, reverse=reverse, budget=budget)
    every = ids(staged.runner.run(replace(spec, budget=None)))
    assert len(every) == 16
    between = 0
    for filtered in (None, Compare("personId", "=", every[7])):
        asked = replace(spec, filter=filtered)
        wanted = every if filtered is None else [every[7]]
        page, given = staged.runner.run(asked), list[str]()
        while True:
            given += ids(page)
            for way in (page.cursor, page.prev_token):
                if way is None:
                    continue
                state = staged.runner.cursors.decode(way, staged.runner.plan(asked).fingerprint, NOW)
                between += state.position is not None and state.position.rank is None
                here = ids(page) if way == page.prev_token else []
                before, after = given[: len(given) - len(here)], wanted[len(given) :]
                assert walked(staged, asked, way, backwards=state.backwards) == (before if state.backwards else after)
            if page.cursor is None:
                break
            page = on(staged, asked, page)
        assert given == wanted
        walk_back_and_turn_at_each(staged, asked, page, wanted)
    assert between or budget > 2


def walked(people: People, spec: QuerySpec, token: str | None, *, backwards: bool) -> list[str]:
    """Everything that a token leads to, in the query's order."""
    found: list[str] = []
    while token is not None:
        page = people.runner.run(replace(spec, cursor=token))
        found = ids(page) + found if backwards else found + ids(page)
        token = page.onward
    return found


def walk_back_and_turn_at_each(people: People, spec: QuerySpec, last: Page, wanted: list[str]) -> None:
    page, left = last, wanted[: len(wanted) - len(ids(last))]
    while page.prev_token is not None:
        page = back(people, spec, page)
        left = left[: len(left) - len(ids(page))]
        if page.prev_token is not None:
            assert walked(people, spec, page.prev_token, backwards=True) == left
        assert walked(people, spec, page.cursor, backwards=False) == wanted[len(left) + len(ids(page)) :]
    assert left == []


def test_a_page_that_bytes_cut_lacks_what_stands_at_its_start(people: People) -> None:
    names = named(people, 12)
    third = forwards(people, FIRST)[2]
    room = PageBudget(800, lambda records: [300] * len(records))
    page = people.runner.run(replace(FIRST, cursor=third.prev_token), room=room)
    assert (ids(page), page.complete, page.stats.cut_by) == (names[6:8], False, "bytes")
    assert ids(back(people, FIRST, page)) == names[2:6]
    assert ids(on(people, FIRST, page)) == names[8:]


def test_an_empty_page_that_was_cut_leads_both_ways_from_where_it_was_cut(people: People) -> None:
    named(people, 40)
    for number in (0, 39):
        people.add(f"hot{number}", first=f"n{number:02d}x", nick="hot")
    spec = replace(FIRST, filter=Compare("nick", "=", "hot"), limit=1)
    page = people.runner.run(spec)
    assert ids(page) == ["hot0"]
    empty = 0
    while not page.items or ids(page) == ["hot0"]:
        page = on(people, spec, page, budget=1)
        if not page.items:
            empty += 1
            assert walked(people, spec, page.prev_token, backwards=True) == ["hot0"]
            assert walked(people, spec, page.cursor, backwards=False) == ["hot39"]
    assert empty


class TestLanesThatFail:
    def fail(self, world: People, *hashes: str) -> None:
        def before(query: Query) -> None:
            if query.hash_value in hashes:
                raise ConnectionError

        world.table.before = before

    @pytest.fixture
    def two(self) -> Iterator[Watched]:
        world = Watched(ShardBump(0, 1, 1))
        yield world
        world.close()

    def test_a_page_backwards_has_what_others_have_and_late_records_come_last(self, two: Watched) -> None:
        names = two.fill(40)
        spec = QuerySpec("person", {}, "first", limit=6, on_shard_error="partial")
        start = two.runner.run(replace(spec, limit=20))
        third = two.runner.run(replace(spec, cursor=start.cursor))
        two.table.begin({("first person!0", 1): "fails"})
        page = two.runner.run(replace(spec, cursor=third.prev_token))
        assert page.failed == ("first person!0",)
        of_one = [name for name in names[:20] if self._shard(two, name) == "person!1"]
        assert ids(page) == of_one[-6:]
        assert page.prev_token is not None
        two.table.begin()
        before = two.runner.run(replace(spec, cursor=page.prev_token, limit=30))
        of_zero = [name for name in names[:20] if self._shard(two, name) == "person!0"]
        assert ids(before) == sorted([*of_one[:-6], *of_zero])
        begin = of_one[-6]
        assert before.late == sum(name > begin for name in of_zero)
        assert ids(before)[-before.late :] == [name for name in of_zero if name > begin]

    def test_what_they_owed_is_not_owed_by_the_token_back(self, two: Watched) -> None:
        names = two.fill(40)
        spec = QuerySpec("person", {}, "first", limit=6, on_shard_error="partial")
        start = two.runner.run(spec)
        two.table.begin({("first person!0", 1): "fails"})
        page = two.runner.run(replace(spec, cursor=start.cursor))
        two.table.begin()
        first = names.index(ids(page)[0])
        assert ids(two.runner.run(replace(spec, cursor=page.prev_token))) == names[max(0, first - 6) : first]

    def test_records_that_share_the_place_where_a_page_began_are_not_late(self, two: Watched) -> None:
        """Those of the place's own lane stand behind it."""
        two.fill(40, first=lambda number: "a")
        spec = QuerySpec("person", {}, "pair", limit=4, on_shard_error="partial")
        for reverse in (False, True):
            asked = replace(spec, reverse=reverse)
            page = two.runner.run(asked)
            two.table.begin({(f"pair person!{0 if reverse else 1}", 1): "fails"})
            page = two.runner.run(replace(asked, cursor=page.cursor))
            assert page.failed
            two.table.begin()
            page = two.runner.run(replace(asked, cursor=page.cursor))
            assert page.late == 0, "the lane that failed stands behind in the order"

    @staticmethod
    def _shard(world: Watched, name: str) -> str:
        return str(world.person.make_key({"personId": name, "created": NOW})["hashKey"])


def test_whole_records_that_are_gone_are_made_up_for_from_before(people: People) -> None:
    names = people.fill(20, state=lambda number: f"s{number:02d}")
    spec = QuerySpec("person", {"state": Prefix("s")}, "state", limit=5, hydrate=True)
    third = forwards(people, spec)[2]
    gone = [names[9], names[6]]

    def delete(operation: Operation[Any], *, guard: Any = None) -> Any:
        while isinstance(operation, BatchGet) and gone:
            inner(DeleteItem(people.entity.make_key({"personId": gone.pop(), "created": NOW})))
        return inner(operation, guard=guard)

    inner, people.table.inner.run = people.table.inner.run, delete  # type: ignore[method-assign]
    page = back(people, spec, third)
    assert (ids(page), page.complete) == ([names[3], *names[4:6], *names[7:9]], True)
    assert ids(on(people, spec, page)) == names[10:15]


def test_what_cant_be_read_is_told_in_its_place(people: People) -> None:
    names = named(people, 12)
    for name in (names[2], names[3], names[6], names[7]):
        (item,) = [each for each in stored(people) if each["personId"] == name]
        people.table.inner.run(PutItem({**item, "rev": 7}))

    def told(page: Page) -> list[str]:
        found: list[str] = []
        for position, item in enumerate((*ids(page), None)):
            found += [f"{each.key['personId']}!" for each in page.unreadable if each.position == position]
            found += [] if item is None else [item]
        return found

    spec = replace(FIRST, limit=2)
    pages = forwards(people, spec)
    every = [each for page in pages for each in told(page)]
    assert [each.removesuffix("!") for each in every] == names
    page, found = pages[-1], told(pages[-1])
    while page.prev_token is not None:
        page = back(people, spec, page)
        assert len(page.items) <= 2
        found = told(page) + found
    assert found == every
    assert told(pages[1]) == [f"{names[2]}!", f"{names[3]}!", *names[4:6]]
    assert told(back(people, spec, pages[1])) == names[:2], "the place is that of the first record that was walked"
    assert told(back(people, spec, pages[2])) == [*names[4:6]], "those behind the last of a page are left to the next"
    with pytest.raises(RecordUnreadable):
        list(back(people, replace(spec, limit=3), pages[2]).in_order())


def stored(people: People) -> list[Any]:
    return [
        item
        for hash_value in {lane.hash_value for lane in people.runner.plan(FIRST).lanes}
        for item in people.table.inner.run(Query("hashKey", hash_value, "rangeKey")).items
    ]


def test_shorter_questions_go_on_in_the_token_s_direction(people: People) -> None:
    names = named(people, 12)
    third = forwards(people, FIRST)[2]
    spec = replace(FIRST, cursor=third.prev_token)
    assert [ids(page) for page in people.runner.pages(spec)] == [names[4:8], names[:4]]
    assert [each.person_id for each in people.runner.records(spec)] == names[7::-1]
    assert people.runner.first(spec).person_id == names[7]  # type: ignore[union-attr]
    assert people.runner.count(spec).count == 12
    explanation = people.runner.explain(spec, run=True)
    assert explanation.order == "ascending"
    assert explanation.reasons[-1] == "read backwards, from the token's place on; the page is then turned"
    assert [lane.high for lane in explanation.lanes] != [None] * len(explanation.lanes) or len(explanation.lanes) == 1
