"""A page is cut at every place where it can be, and the walk that goes on from its token is the whole answer.

Every read of a page, of every lane, in every round, is late once, and fails once; every budget and every number of
bytes ends the page once. Over one lane and several, stages and generations read together, branches, filters, whole
records of which some are gone; in both directions; where a failing lane fails the query and where it does not.

Each record comes once; without failed lanes in query order over all pages, with them in order within each page, and
those of a lane that comes after are flagged.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from shardweave.errors import DeadlineTooShort, LaneFailed, ShardweaveError
from shardweave.keys.sharding import ShardBump
from shardweave.query.page_budget import PageBudget
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Page, Prefix, QuerySpec, Range
from shardweave.schema.shard_maps import StaticMaps
from shardweave.table.conditions import Compare
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import BatchGet, DeleteItem, Operation, PutItem
from tests.unit.held_reads import Fault, HeldReads, Place
from tests.unit.query_world import DAY, KEYS, NOW, people_schema, starts_with

COUNT = 96
LIMIT = 8
HOT = Compare("nick", "=", "hot")
TOGETHER = (ShardBump(0, 1, 1), ShardBump(NOW - DAY, 1, 2))
STAGES = (ShardBump(0, 1, 1), ShardBump(NOW - 9 * DAY // 4, 1, 2), ShardBump(NOW - 7 * DAY // 4, 1, 3))


@dataclass(frozen=True)
class Shape:
    """A question and what it is asked of. `gone` are the places in the order of the records that are deleted between
    their index's read and that of the whole records."""

    name: str
    bumps: tuple[ShardBump, ...]
    spec: QuerySpec
    gone: frozenset[int] = frozenset()


FIRST = QuerySpec("person", {}, "first", filter=HOT, limit=LIMIT)
CREATED = QuerySpec("person", {"created": Range(0)}, "created", filter=HOT, limit=LIMIT)
WHOLE = QuerySpec("person", {"state": Prefix("s")}, "state", hydrate=True, limit=LIMIT)
FRONT = frozenset(range(1, 14)) | frozenset(range(COUNT - 12, COUNT))

SHAPES = [
    Shape("one lane", (), FIRST),
    Shape("two lanes", (ShardBump(0, 1, 1),), FIRST),
    Shape("four lanes", (ShardBump(0, 2, 1),), FIRST),
    Shape("generations together", TOGETHER, FIRST),
    Shape("stages", STAGES, CREATED),
    Shape("branches", (ShardBump(0, 1, 1),), QuerySpec("person", branches=starts_with("n", HOT), limit=LIMIT)),
    Shape("whole records of one lane", (), WHOLE, FRONT),
    Shape("whole records of two lanes", (ShardBump(0, 1, 1),), WHOLE, FRONT),
    Shape("whole records, none of them left", (ShardBump(0, 1, 1),), WHOLE, frozenset(range(COUNT))),
    Shape("whole records in stages", STAGES, replace(CREATED, hydrate=True), FRONT | set(range(COUNT - 36, COUNT))),
]


def text(number: int) -> str:
    return f"n{number:03d}"


class Filled:
    """A shape's records in a table. Worlds of many tests read it one after another: to fill it is what takes the
    time."""

    def __init__(self, shape: Shape) -> None:
        self.schema = people_schema(*shape.bumps)
        self.table = EmbeddedTable(self.schema.layout)
        person = self.schema.entity("person")
        self.items = [
            person.complete(person.dump(person.validate(values_of(shape, number)))) for number in range(COUNT)
        ]
        self.gone = [self.items[number] for number in sorted(shape.gone)]
        self.whole = True
        self._put(self.items)

    def refill(self) -> None:
        """Put back what walks have removed."""
        if not self.whole:
            self._put(self.gone)
            self.whole = True

    def remove(self) -> None:
        self.whole = False
        person = self.schema.entity("person")
        for item in self.gone:
            self.table.run(DeleteItem(person.make_key(item)))

    def _put(self, items: Sequence[Mapping[str, Any]]) -> None:
        for item in items:
            self.table.run(PutItem(item))


def values_of(shape: Shape, number: int) -> dict[str, Any]:
    # The first and last names stand in other orders, so that branches overlap at other places.
    last = text((number * 7) % COUNT) if number % 12 else "x"
    first = text(number) if number % 18 or shape.spec.branches is None else "x"
    return {
        "personId": text(number),
        "created": NOW - (COUNT - number) * 3 * DAY // COUNT,
        "first": first,
        "last": last,
        "state": f"s{text(number)}",
        "nick": "hot" if number % 6 == 0 or shape.spec.hydrate else "cold",
    }


@dataclass
class World:
    """A shape's records, none of them gone yet, and its runner."""

    shape: Shape
    filled: Filled
    reverse: bool
    partial: bool
    table: HeldReads = field(init=False)
    runner: QueryRunner = field(init=False)
    expected: list[str] = field(init=False)

    def __post_init__(self) -> None:
        self.filled.refill()
        self.table = HeldReads(self.filled.table)
        left_to_go = bool(self.shape.gone)

        def remove(operation: Operation[Any]) -> None:
            nonlocal left_to_go
            if left_to_go and isinstance(operation, BatchGet):
                left_to_go = False
                self.filled.remove()

        self.table.before = remove
        self.runner = QueryRunner(
            self.filled.schema,
            self.table,
            KEYS,
            maps=StaticMaps(),
            clock=lambda: NOW,
            monotonic=self.table.monotonic,
            wait=self.table.wait,
        )
        left = [item for number, item in enumerate(self.filled.items) if number not in self.shape.gone]
        answers = [(place, item["personId"]) for item in left if (place := self._place(item)) is not None]
        self.expected = [key for _, key in sorted(answers, reverse=self.reverse)]

    @property
    def spec(self) -> QuerySpec:
        mode: Any = "partial" if self.partial else "fail"
        return replace(self.shape.spec, reverse=self.reverse, on_shard_error=mode, time_limit_ms=1000)

    def _place(self, item: Mapping[str, Any]) -> tuple[Any, ...] | None:
        """Where a record stands, None for one that does not answer."""
        if item["nick"] != "hot":
            return None
        if self.shape.spec.branches is None:
            return (item["created"],) if self.shape.spec.index == "created" else (item["first"],)
        names = [(item["first"], item["last"]), (item["last"], item["first"])]
        return min((pair for pair in names if pair[0].startswith("n")), default=None)


Open = Callable[[], World]


@pytest.fixture(params=SHAPES, ids=lambda shape: shape.name)
def shape(request: pytest.FixtureRequest) -> Shape:
    found: Shape = request.param
    return found


@pytest.fixture(scope="module")
def filled() -> Iterator[dict[str, Filled]]:
    """What tests have filled, by the shapes' names."""
    made: dict[str, Filled] = {}
    yield made
    for each in made.values():
        each.table.close()


@pytest.fixture(params=[(False, False), (False, True), (True, False), (True, True)], ids=lambda each: str(each))
def opened(request: pytest.FixtureRequest, shape: Shape, filled: dict[str, Filled]) -> Iterator[Open]:
    """Opens the shape's world, ascending or descending, with failing lanes that fail the query or not."""
    reverse, partial = request.param
    worlds: list[World] = []
    if shape.name not in filled:
        filled[shape.name] = Filled(shape)

    def open_world() -> World:
        worlds.append(World(shape, filled[shape.name], reverse, partial))
        return worlds[-1]

    yield open_world
    for world in worlds:
        world.runner.close()


def ids(page: Page) -> list[str]:
    return [each["personId"] if isinstance(each, Mapping) else each.person_id for each in page.items]


class Walk:
    """The pages of one walk, each checked as it comes."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.found: list[str] = []
        self.cursor: str | None = None
        self.ended = False
        self.failed = False
        self.pages: list[Page] = []
        self.places: list[Place] = []
        self.place_of = {key: number for number, key in enumerate(world.expected)}

    def page(self, faults: Mapping[Place, Fault] | None = None, *, room: PageBudget | None = None, **more: Any) -> Page:
        """The next page, whose reads meet these faults. Raises what the query raises, and goes on from the same token
        then."""
        self.world.table.begin(faults)
        try:
            page = self.world.runner.run(replace(self.world.spec, cursor=self.cursor, **more), room=room)
        finally:
            self.places = list(self.world.table.seen)
        self.check(page, more.get("limit", LIMIT))
        return page

    def rest(self) -> None:
        """All that is left, without faults; then every record has come once."""
        while not self.ended:
            self.page(limit=31)
            assert len(self.pages) < 200, "the walk makes no progress"
        assert sorted(self.found) == sorted(self.world.expected), "each record once, none missing, none too many"
        if not self.failed:
            assert self.found == self.world.expected, "in query order over all pages"

    def check(self, page: Page, limit: int) -> None:
        got = ids(page)
        places = [self.place_of[key] for key in got]
        assert places == sorted(places), "in order within the page"
        assert len(got) <= limit
        if page.complete and page.cursor is not None:
            assert len(got) == limit, "a page that was not cut is full"
        if page.cursor is None:
            assert page.complete or self.world.partial
        assert page.cursor is None or page.cursor != self.cursor
        reached = max((self.place_of[key] for key in self.found), default=-1)
        assert page.late >= sum(place < reached for place in places), "what comes after is flagged"
        assert self.failed or page.late == 0
        assert page.stats.returned == len(got)
        self.failed = self.failed or bool(page.failed)
        self.found += got
        self.pages.append(page)
        self.cursor, self.ended = page.cursor, page.cursor is None
        if not self.failed:
            assert self.found == self.world.expected[: len(self.found)], "the next records, and none left out"


def every_place(opened: Open, page_number: int) -> list[Place]:
    """The reads of a page to which nothing happens."""
    walk = Walk(opened())
    for _ in range(page_number + 1):
        if walk.ended:
            return []
        walk.page()
    return list(dict.fromkeys(walk.places))


@pytest.mark.parametrize("page_number", [0, 1])
@pytest.mark.parametrize("fault", ["late", "fails"])
def test_a_fault_at_any_read_of_a_page(opened: Open, fault: Fault, page_number: int) -> None:
    places, met = every_place(opened, page_number), Counter[str]()
    for place in places:
        walk = Walk(opened())
        for _ in range(page_number):
            walk.page()
        before = len(walk.found)
        try:
            page = walk.page({place: fault})
        except (DeadlineTooShort, LaneFailed, ShardweaveError) as error:
            met[what_may_be(walk.world, place, fault, error)] += 1
            assert len(walk.found) == before
        else:
            met[what_came(walk.world, place, fault, page)] += 1
        walk.rest()
    if page_number == 0:
        assert_met(walk.world, fault, met)


def what_may_be(world: World, place: Place, fault: Fault, error: ShardweaveError) -> str:
    """An error is right where nothing could be got on with: a first read that is late, or a failing lane of a query
    that is to fail, or that has no other lanes; of whole records the first of the page."""
    name, number = place
    if name == "whole":
        assert (number == 1) if fault == "late" else True
        assert isinstance(error, DeadlineTooShort) == (fault == "late")
        return f"{fault}, whole records: error"
    if fault == "late":
        assert number == 1, "a late refill is never a failure"
        assert isinstance(error, DeadlineTooShort)
        assert not world.partial or not world.shape.bumps
        return "late, first read: error"
    assert isinstance(error, LaneFailed)
    assert not world.partial or not world.shape.bumps
    return "fails, first read: error" if number == 1 else "fails, refill: error"


def what_came(world: World, place: Place, fault: Fault, page: Page) -> str:
    name, number = place
    if name == "whole":
        assert fault == "late"
        assert not page.complete
        return "late, whole records: cut"
    if fault == "late" and number > 1:
        assert not page.failed, "a late refill is never a failure"
        return "late, refill: cut" if not page.complete else "late, refill: full all the same"
    assert world.partial
    assert len(page.failed) == 1
    assert not page.complete
    return f"{fault}, {'first read' if number == 1 else 'refill'}: a page without the lane"


def assert_met(world: World, fault: Fault, met: Counter[str]) -> None:
    """A shape would say little if what it is made for did not occur in it."""
    several = bool(world.shape.bumps)
    lane = "a page without the lane" if world.partial and several else "error"
    wanted = {
        f"{fault}, first read: {lane}": 1,
        "late, refill: cut" if fault == "late" else f"fails, refill: {lane}": 1,
    }
    if world.shape.spec.hydrate:
        wanted[f"{fault}, whole records: error"] = 1
    short = {kind: met[kind] for kind, least in wanted.items() if met[kind] < least}
    assert not short, f"met too rarely: {short} of {dict(met)}"


def test_a_lane_that_is_late_or_fails_on_every_page(opened: Open) -> None:
    """The same read of each page, until the others are done."""
    for fault in ("late", "fails"):
        for place in every_place(opened, 0):
            walk = Walk(opened())
            while not walk.ended:
                try:
                    walk.page({place: fault})  # type: ignore[dict-item]
                except ShardweaveError:
                    walk.page()
                assert len(walk.pages) < 200, "the walk makes no progress"
            walk.rest()


def test_every_budget(opened: Open) -> None:
    cut = 0
    for budget in range(1, 20):
        walk = Walk(opened())
        while not walk.ended:
            cut += not walk.page(budget=budget).complete
            assert len(walk.pages) < 200, "the walk makes no progress"
        walk.rest()
    assert cut


@pytest.mark.parametrize("stored", [False, True], ids=["as answered", "as stored"])
def test_every_number_of_bytes(opened: Open, stored: bool) -> None:
    for records in range(1, LIMIT + 1):
        size = 100 if not stored else 10_000
        room = PageBudget(
            records * (size if not stored else 150), lambda given: [100 if not stored else 1] * len(given)
        )
        walk = Walk(opened())
        while not walk.ended:
            page = walk.page(room=room)
            assert len(page.items) <= records or stored
            assert len(walk.pages) < 200, "the walk makes no progress"
        walk.rest()


def test_a_late_read_of_a_page_with_a_budget(opened: Open) -> None:
    for budget in (1, 3, 6):
        for place in every_place(opened, 0):
            walk = Walk(opened())
            try:
                walk.page({place: "late"}, budget=budget)
            except ShardweaveError:
                continue
            walk.rest()


def test_pages_and_shorter_questions(opened: Open) -> None:
    """Pages that are read ahead, or without blocking, and `first`, `exists` and `count` say the same."""

    def clean() -> World:
        world = opened()
        world.table.begin()
        return world

    world = clean()
    assert [key for page in world.runner.pages(world.spec) for key in ids(page)] == world.expected

    async def all_pages(world: World) -> list[str]:
        return [key async for page in none_blocked(world) for key in ids(page)]

    async def none_blocked(world: World) -> Any:
        async for page in world.runner.pages_async(world.spec):
            yield page

    world = clean()
    assert asyncio.run(all_pages(world)) == world.expected
    world = clean()
    first = world.runner.first(world.spec)
    found = None if first is None else first["personId"] if isinstance(first, Mapping) else first.person_id
    assert found == (world.expected[0] if world.expected else None)
    world = clean()
    assert world.runner.exists(world.spec) == bool(world.expected)
    assert world.runner.count(world.spec).count >= len(world.expected)
    if world.shape.gone:
        world.runner.run(world.spec)
    assert world.runner.count(world.spec).count == len(world.expected)
