"""How many records are asked of a lane: few enough to be paid for, so many that a second round is rare."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from math import comb
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from shardweave.keys.sharding import ShardBump
from shardweave.query.page_budget import PageBudget
from shardweave.query.sizes import RARE_CHANCE, RECORDS_PER_UNIT, RETRY_CHANCE, fetch_size
from shardweave.query.spec import MAX_LIMIT, BranchSpec, QuerySpec
from shardweave.table.operations import Scan
from shardweave.table.values import item_bytes
from tests.unit.query_world import People

LANES = st.integers(2, 1024)
COUNTS = st.integers(1, MAX_LIMIT + 1)
ROUNDING = 1e-9


def chance_of_a_second_round(lanes: int, count: int, size: int) -> float:
    """At most this: lanes x P(X >= size), where X of the next `count` records stand in one lane; none where a lane gave
    all of those."""
    if size >= count:
        return 0.0
    ways = sum(comb(count, hits) * (lanes - 1) ** (count - hits) for hits in range(size, count + 1))
    return lanes * (ways / lanes**count)


@given(LANES, COUNTS)
def test_a_second_round_is_rare_or_would_cost_more_reads_than_are_aimed_at(lanes: int, count: int) -> None:
    size = fetch_size(lanes, count)
    chance = chance_of_a_second_round(lanes, count, size)
    most = 2 * count + lanes * RECORDS_PER_UNIT
    assert chance <= RETRY_CHANCE + ROUNDING
    assert chance <= RARE_CHANCE + ROUNDING or lanes * (size + 1) > most


@given(LANES, COUNTS)
def test_no_more_is_read_than_aimed_at_unless_a_second_round_were_likely(lanes: int, count: int) -> None:
    size = fetch_size(lanes, count)
    is_likely_with_less = chance_of_a_second_round(lanes, count, size - 1) > RETRY_CHANCE - ROUNDING
    assert lanes * size <= 2 * count + lanes * RECORDS_PER_UNIT or is_likely_with_less


@given(LANES, COUNTS)
def test_no_lane_is_asked_for_more_than_can_be_needed_of_it(lanes: int, count: int) -> None:
    assert 1 <= fetch_size(lanes, count) <= count


@given(LANES)
def test_the_first_record_alone_costs_two_records_a_lane(lanes: int) -> None:
    """One to answer, and one to know whether there is another."""
    assert fetch_size(lanes, 2) == 2


def test_every_page_over_few_shards_costs_the_same_requests() -> None:
    world, chooser = People(ShardBump(0, 2, 1)), Random(2)
    for name in [f"{chooser.getrandbits(64):016x}" for _ in range(300)]:
        world.add(name, first=name)
    specs = [QuerySpec("person", index="first", limit=20, reverse=reverse) for reverse in (False, True)]
    requests = [page.stats.requests for spec in specs for page in world.pages(spec)]
    world.close()
    assert requests == [4] * 30


BUDGETS = st.sampled_from([1, 900, 4096, 8192, 8193, 20_000, 40_000, 100_000])


def walked(world: People, room: PageBudget) -> list[list[str]]:
    """The ids of each page, to the end."""
    pages: list[list[str]] = []
    spec = QuerySpec("person", branches=(BranchSpec({}, "first"),), limit=20)
    while True:
        page = world.runner.run(spec, room=room)
        pages.append([each.person_id for each in page.items])
        if page.cursor is None:
            return pages
        spec = replace(spec, cursor=page.cursor)


@given(st.lists(st.integers(0, 9000), min_size=1, max_size=12), BUDGETS, st.sampled_from([0.0, 1.0]))
def test_what_a_table_says_of_its_reads_spares_measuring_and_changes_no_page(
    photos: list[int], budget: int, said: float
) -> None:
    """A page ends where its records are larger than it may be, whether the table says what reads cost or not."""
    world = People(ShardBump(0, 1, 1))
    for number, size in enumerate(photos):
        world.add(f"p{number:02d}", first=f"n{number:02d}", photo="x" * size)
    world.table.after = lambda query, answer: replace(answer, units=said * answer.units)
    room = PageBudget(budget, lambda records: [0] * len(records))
    sizes = {item["personId"]: item_bytes(item) for item in world.table.inner.run(Scan()).items}
    pages = walked(world, room)
    assert [each for page in pages for each in page] == [f"p{number:02d}" for number in range(len(photos))]
    assert all(len(page) == 1 or sum(sizes[each] for each in page) <= budget for page in pages)
    for page, following in pairwise(pages):
        assert sum(sizes[each] for each in [*page, following[0]]) > budget
    world.runner.close()
