"""Pages back and forth over records that change: random steps in both directions with other limits each time, and every
page is what a brute-force evaluation of its moment says.

Between two steps records are added, many of them next to the place where the walk is, changed, and removed, sometimes
all of one side. Pages are cut by reads, time and bytes, lanes fail and recover, earlier tokens are taken up again.

A page is right when it is the records that stand next to its token's place, as many as were asked for unless it says
that it was cut, of lanes that did not fail; when its token onwards leaves exactly what it did not give; and when its
token back leaves exactly what stands before the first record that was walked.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

from shardweave.errors import DeadlineTooShort, LaneFailed, TooManyLaggingLanes, UnsupportedQuery
from shardweave.query.cursor import CursorState, Position
from shardweave.query.page_budget import PageBudget
from shardweave.query.plan import Plan
from shardweave.query.resume import order_of
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Page, QuerySpec
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.embedded.ordering import KeyColumn, tie_bytes
from shardweave.table.operations import DeleteItem, PutItem
from tests.integration.query_questions import NOW, make_branches, make_filter, make_items, make_schema
from tests.integration.question_shapes import SHAPES
from tests.integration.test_query_model import KEYS, FlakyTable, place_in, wait_for_all

STEPS, WALKS = 40, 28
HASH, RANGE = KeyColumn("hashKey", "S", "hash"), KeyColumn("rangeKey", "S", "range")
FLOOR = {
    "forwards": 200, "backwards": 200, "cut forwards": 30, "cut backwards": 30, "failed backwards": 5,
    "empty backwards": 15, "at the gap": 50, "one side removed": 15, "between stages, turned": 3, "end reached": 50,
}  # fmt: skip
"""How often a run of all walks must meet each of these."""

Place = tuple[Any, str, int, bytes]


def tie(item: Any) -> bytes:
    """What orders records of one key of an index in the embedded table."""
    return tie_bytes(HASH.encode(item["hashKey"]), RANGE.encode(item["rangeKey"]))


@dataclass
class Walker:
    """One question, its records by their ids, and the tokens of its pages."""

    chooser: random.Random
    met: Counter[str] = field(default_factory=Counter)
    tokens: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        chooser = self.chooser
        shape = chooser.choice(SHAPES)
        schema = make_schema(chooser, shape.generations, random.Random(chooser.getrandbits(32)))
        self.thing = schema.entity("thing")
        self.table = FlakyTable(EmbeddedTable(schema.layout), chooser.choice([None, 1, 2, 3]))
        self.items: dict[str, dict[str, Any]] = {}
        for item in make_items(chooser, self.thing):
            self.put(item)
        self.runner = QueryRunner(
            schema, self.table, KEYS, clock=lambda: NOW, throttle=1,
            sleep=lambda seconds: None, monotonic=lambda: self.table.seconds, wait=wait_for_all,
        )  # fmt: skip
        branches, filter_ = tuple(make_branches(chooser, shape)), make_filter(chooser, 0.3)
        self.spec = QuerySpec("thing", branches=branches, filter=filter_, reverse=shape.reverse)
        self.plan = self.runner.plan(self.spec)
        self.lanes = {(lane.rank, lane.hash_value): lane.number for lane in self.plan.lanes}

    def put(self, item: dict[str, Any]) -> None:
        self.items[item["thingId"]] = item
        self.table.run(PutItem(item))

    def remove(self, name: str) -> None:
        item = self.items.pop(name)
        self.table.run(DeleteItem({key: item[key] for key in ("hashKey", "rangeKey")}))

    # -- what is expected

    def places(self) -> dict[str, Place]:
        """Where each record that answers the question stands in ascending order."""
        found: dict[str, Place] = {}
        for name, item in self.items.items():
            if isinstance(item.get("expires"), int) and item["expires"] <= NOW // 1000:
                continue
            places = [place for each in self.plan.branches if (place := place_in(each, self.plan, item)) is not None]
            if places:
                found[name] = (*min(places), tie(item))
        return found

    def left(self, plan: Plan, state: CursorState, places: dict[str, Place]) -> list[str]:
        """What a token has before it, in the order of reading."""
        lagging = {number: each.position for each in state.lagging for number in each.lanes}
        found: list[str] = []
        for name, place in places.items():
            lane = self.lanes[place[2], place[1]]
            if lane in lagging or not state.at_end:
                position = lagging.get(lane, state.position)
                if position is None or is_beyond(plan, position, place):
                    found.append(name)
        return sorted(found, key=lambda name: places[name], reverse=plan.descending)

    # -- steps

    def step(self, token: str | None) -> Page | None:
        """One page, checked; None where nothing came of it."""
        chooser = self.chooser
        spec = replace(self.spec, cursor=token, limit=chooser.choice([1, 2, 3, 5, 8, 20]))
        room: PageBudget | None = None
        cut = chooser.choice(["", "", "", "budget", "time", "bytes", "failing"])
        self.table.broken = set()
        if cut == "budget":
            spec = replace(spec, budget=chooser.choice([1, 2, 3]))
        elif cut == "time":
            spec = replace(spec, time_limit_ms=chooser.choice([25, 45, 65, 105]))
        elif cut == "bytes":
            room = PageBudget(chooser.choice([1, 300, 900]), lambda records: [0] * len(records))
        elif cut == "failing" and self.plan.lanes:
            spec = replace(spec, on_shard_error="partial")
            hashes = sorted({lane.hash_value for lane in self.plan.lanes if lane.interval is not None})
            self.table.broken = set(chooser.sample(hashes, min(len(hashes), chooser.choice([1, 1, 2]))))
        if chooser.random() < 0.1:
            spec = replace(spec, hydrate=True)
        try:
            page = self.runner.run(spec, room=room)
        except (DeadlineTooShort, LaneFailed, TooManyLaggingLanes):
            return None
        self.check(spec, page)
        return page

    def state(self, token: str) -> CursorState:
        return self.runner.cursors.decode(token, self.plan.fingerprint, NOW)

    def check(self, spec: QuerySpec, page: Page) -> None:
        asked = CursorState(NOW, self.plan.map_ids, None) if spec.cursor is None else self.state(spec.cursor)
        plan, places = self.plan.turned() if asked.backwards else self.plan, self.places()
        assert page.backwards == asked.backwards
        left = self.left(plan, asked, places)
        given = [item["thingId"] if isinstance(item, dict) else item.thing_id for item in page.items]
        read = given[::-1] if page.backwards else given
        broken = {lane.number for lane in plan.lanes if plan.name(lane) in page.failed} if page.failed else set()
        possible = [name for name in left if self.lanes[places[name][2], places[name][1]] not in broken]
        assert read == possible[: len(read)], "the records next to the place"
        assert len(read) <= spec.limit
        if not page.stats.cut:
            assert len(read) == min(spec.limit, len(possible)), "a page that was not cut is full"
        assert page.complete == (not page.stats.cut and not page.failed)

        rest = [name for name in left if name not in set(read)]
        if page.onward is None:
            assert rest == [], "nothing is left out at an end"
        else:
            assert rest or not page.complete, "a token is given only where something is left"
            following = self.state(page.onward)
            assert (following.backwards, following.started_ms) == (asked.backwards, asked.started_ms)
            assert self.left(plan, following, places) == rest, "what was not given is left, and nothing else"
        self.check_back(spec, page, read, places)
        self.count(page, asked)

    def check_back(self, spec: QuerySpec, page: Page, read: list[str], places: dict[str, Place]) -> None:
        back = page.cursor if page.backwards else page.prev_token
        assert (back is None) == (spec.cursor is None), "a page that was asked for with a token has one back"
        if back is None:
            return
        turned = self.state(back)
        assert (turned.backwards, turned.lagging, turned.at_end) == (not page.backwards, (), False)
        plan = self.plan.turned() if turned.backwards else self.plan
        left = self.left(plan, turned, places)
        if read:
            behind = [name for name in places if is_before(plan, places[name], places[read[0]])]
        elif page.stats.cut:
            assert page.onward is not None
            onward = self.state(page.onward)
            # Where only lanes are left that lag, the place that the page came to is theirs.
            assert turned.position in (onward.position, *(each.position for each in onward.lagging))
            behind = left
        else:
            behind = list(places)
        assert sorted(left) == sorted(behind), "what stands before the first record that was walked, and nothing else"

    def count(self, page: Page, asked: CursorState) -> None:
        way = "backwards" if page.backwards else "forwards"
        self.met[way] += 1
        self.met[f"cut {way}"] += page.stats.cut
        self.met[f"failed {way}"] += bool(page.failed)
        self.met[f"empty {way}"] += not page.items
        self.met["end reached"] += page.onward is None
        between = asked.position is not None and asked.position.rank is None
        if between and asked.position is not None:
            self.met["between stages, turned"] += asked.position.behind != asked.backwards

    def walk(self) -> None:
        token: str | None = None
        for _ in range(STEPS):
            page = self.step(token)
            if page is None:
                continue
            self.tokens += [each for each in (page.cursor, page.prev_token) if each is not None]
            ways = [each for each in (page.cursor, page.prev_token, page.prev_token) if each is not None]
            token = self.chooser.choice(ways) if ways else None
            if self.tokens and self.chooser.random() < 0.15:
                token = self.chooser.choice(self.tokens)
            if self.chooser.random() < 0.6:
                self.change(token)

    # -- what happens meanwhile

    def change(self, token: str | None) -> None:
        chooser = self.chooser
        names = sorted(self.items)
        kind = chooser.choice(["add", "add", "at the gap", "at the gap", "change", "remove", "one side"])
        if kind == "at the gap" and token is not None and self.places():
            state = self.state(token)
            plan, places = self.plan.turned() if state.backwards else self.plan, self.places()
            left = self.left(plan, state, places)
            ordered = sorted(places, key=lambda name: places[name], reverse=plan.descending)
            at = ordered.index(left[0]) if left else len(ordered)
            for name in ordered[max(0, at - 1) : at + 1]:
                self.met["at the gap"] += 1
                self.put(self.made({**self.items[name], "thingId": f"g{chooser.random()}"}))
        elif kind == "add":
            for item in make_items(chooser, self.thing)[: chooser.choice([1, 3])]:
                self.put(self.made({**item, "thingId": f"n{chooser.random()}"}))
        elif kind == "change" and names:
            name, others = chooser.choice(names), make_items(chooser, self.thing)
            if others:
                kept = {each: self.items[name][each] for each in ("thingId", "created", "home")}
                self.put(self.made({**chooser.choice(others), **kept}))
        elif kind == "remove" and names:
            self.remove(chooser.choice(names))
        elif kind == "one side" and token is not None and chooser.random() < 0.4:
            self.met["one side removed"] += 1
            state = self.state(token)
            plan, places = self.plan.turned() if state.backwards else self.plan, self.places()
            left = self.left(plan, state, places)
            for name in left if chooser.random() < 0.5 else [name for name in places if name not in left]:
                self.remove(name)

    def made(self, values: dict[str, Any]) -> dict[str, Any]:
        """A record of these properties, with keys of its own."""
        given = {name: value for name, value in values.items() if name in self.thing.properties}
        return self.thing.complete(self.thing.dump(self.thing.validate(given)))


def is_beyond(plan: Plan, position: Position, place: Place) -> bool:
    """Whether a record stands behind a position as the plan reads."""
    order = order_of(plan, position)
    if place[:3] != order:
        return place[:3] < order if plan.descending else place[:3] > order
    at = tie(dict(zip(plan.branches[order[2]].view.page_key, position.values, strict=True)))
    return place[3] < at if plan.descending else place[3] > at


def is_before(plan: Plan, place: Place, other: Place) -> bool:
    """Whether a plan that is read from `other` on comes to a place."""
    return place < other if plan.descending else place > other


def test_every_page_is_that_of_its_moment(record_property: Any) -> None:
    met: Counter[str] = Counter()
    walks = seed = 0
    while walks < WALKS:
        seed += 1
        try:
            walker = Walker(random.Random(f"back and forth {seed}"))
        except UnsupportedQuery:
            continue
        try:
            walker.walk()
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        walker.runner.close()
        walks += 1
        met += walker.met
    record_property("met", dict(met))
    assert met["forwards"] + met["backwards"] >= 1000
    assert not {name: met[name] for name, least in FLOOR.items() if met[name] < least}, dict(met)
