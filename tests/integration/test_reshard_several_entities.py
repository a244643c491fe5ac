"""Pages of several entities while each of them is re-sharded at its own pace: over a bump, the flip and the purge, with
lanes that fail and go on later.

A token names the shard map of each entity, and the lanes that lag by their entity and their number within it: so a bump
of one entity, which adds lanes, and the flip of another leave what the token says of a third as it is.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest

from shardweave.errors import CursorExpired, LaneFailed, Throttled
from shardweave.keys.sharding import READ_AHEAD_MS, ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Page, QuerySpec, joined
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table import Guard
from shardweave.table.operations import Operation, Query
from shardweave.values.codecs import Timestamp
from tests.integration.test_reshard_counterexamples import FOUR
from tests.unit.reshard_world import ReshardWorld
from tests.unit.store_world import SECOND_BUMP

BEGINS = SECOND_BUMP + 10**9
"""When a world begins."""
BUMP = BEGINS + READ_AHEAD_MS + 4000
"""Read from four seconds after the world begins on."""


class Grown(Entity):
    leaf_id: str = unique_property()
    created: Timestamp = timestamp_property()


class Leaf(Grown, token="leaf", shard_bumps=[ShardBump(0, 1, 1), ShardBump(BUMP, 1, 3)]):
    """Its bump begins between pages."""


class Twig(Grown, token="twig", shard_bumps=[ShardBump(0, 1, 1)]):
    """It flips."""


class Root(Grown, token="root"):
    """It is purged."""


class Seed(Grown, token="seed", shard_bumps=[ShardBump(0, 1, 3)]):
    """It stays where it is."""


KINDS: tuple[type[Grown], ...] = (Leaf, Twig, Root, Seed)
SCHEMA = Schema(KINDS, [Index("created", "hash_key", "created")])


class Broken:
    """A table whose lanes of some hash keys do not answer."""

    def __init__(self, inner: Any) -> None:
        self.inner, self.layout = inner, inner.layout
        self.guards_inside_writes = inner.guards_inside_writes
        self.hash_values: set[str] = set()

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, Query) and operation.hash_value in self.hash_values:
            raise Throttled
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()


class World(ReshardWorld):
    """A world with records of several entities, one a millisecond, and with a reader of all of them."""

    def __init__(self, kinds: Sequence[type[Grown]], records: int, life: int | None = None) -> None:
        super().__init__(schema=SCHEMA)
        self.kinds = kinds
        self.created: dict[str, int] = {}
        for number in range(records):
            self.add(kinds[number % len(kinds)], f"n{number:03d}")
        self.broken = Broken(self.inner)
        self.reader = QueryRunner(
            SCHEMA,
            self.broken,
            CursorKeys("k", {"k": b"k" * 16}),
            clock=self.clock,
            cursor_life_ms=life or self.waits.cursor_life_ms,
            sleep=lambda seconds: None,
        )
        parts = [QuerySpec(kind.declaration.token, {}, "created") for kind in kinds]
        self.spec = joined([replace(parts[0], on_shard_error="partial"), *parts[1:]])

    def add(self, kind: type[Grown], name: str) -> None:
        self.clock.now += 1
        self.store.create({"leaf_id": name, "created": self.clock.now}, kind)
        self.created[name] = self.clock.now

    def remove(self, kind: type[Grown], name: str) -> None:
        assert self.store.delete(kind, name)
        del self.created[name]

    def read(self, token: str | None, limit: int) -> Page[Grown]:
        return self.reader.run(replace(self.spec, cursor=token, limit=limit))

    def lanes(self, kind: type[Grown]) -> list[str]:
        plan = self.reader.plan(self.spec)
        return [lane.hash_value for lane in plan.lanes if plan.part_of(lane).entity.model is kind]


def names(page: Page[Grown]) -> list[str]:
    return [each.leaf_id for each in page.items]


@pytest.mark.parametrize("count", [2, 3, 4])
def test_a_bump_a_flip_and_a_purge_between_pages_while_lanes_lag(count: int) -> None:
    kinds = KINDS[:count]
    world, read, late = World(kinds, 12 * count), list[str](), 0
    moving = kinds[min(1, count - 1)]
    world.start(moving, FOUR)
    world.run_until(moving, Phase.DUAL_OLD, ReshardStep.SETTLE)
    lagging = {f"{kinds[-1].declaration.token}!" + ("0" if kinds[-1] is not Root else ""), "leaf!1"}
    world.broken.hash_values = {"seed!000"} | lagging if count == 4 else lagging

    def turn(token: str | None, limit: int = 4) -> Page[Grown]:
        nonlocal late
        page = world.read(token, limit)
        read.extend(names(page))
        late += page.late
        return page

    page = turn(None)
    failed = {each.partition("!")[0].rpartition(" ")[2] for each in page.failed}
    assert failed == {"leaf", kinds[-1].declaration.token}
    lanes = len(world.lanes(Leaf))
    world.clock.now = max(world.clock.now, BUMP - READ_AHEAD_MS)
    assert len(world.lanes(Leaf)) == lanes + 8, "the bump is read from now on"
    page = turn(page.cursor)
    assert page.failed, "they still fail, by the same names"
    world.run_until(moving, Phase.DUAL_NEW)
    world.clock.now += world.waits.lease_ms
    page = turn(page.cursor)
    assert page.failed
    world.broken.hash_values = set()
    kept = page.cursor
    while page.cursor is not None:
        page = turn(page.cursor)
    assert Counter(read) == Counter(list(world.created)), "each record once"
    assert late > 0
    assert kept is not None
    world.finish(moving)
    with pytest.raises(CursorExpired):
        world.read(kept, 4)
    page, again = world.read(None, 5), list[str]()
    again += names(page)
    while page.cursor is not None:
        page = world.read(page.cursor, 5)
        again += names(page)
    assert again == sorted(world.created, key=lambda name: world.created[name])


def test_a_flip_between_the_plan_and_the_answer_has_the_page_read_again() -> None:
    """The leases of all entities are confirmed after the answers, not that of the first alone."""
    world = World((Leaf, Twig, Seed), 30)
    world.start(Twig, FOUR)
    world.run_until(Twig, Phase.DUAL_OLD, ReshardStep.SETTLE)
    asked: list[str] = []

    class Moving(Broken):
        def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
            answer = super().run(operation, guard=guard)
            if isinstance(operation, Query):
                asked.append(operation.hash_value)
                if len(asked) == 1:
                    world.finish(Twig)
                    world.clock.now += world.waits.lease_ms
            return answer

    reader = QueryRunner(SCHEMA, Moving(world.inner), CursorKeys("k", {"k": b"k" * 16}), clock=world.clock, throttle=1)
    page = reader.run(replace(world.spec, limit=100))
    assert names(page) == sorted(world.created, key=lambda name: world.created[name])
    assert any(each.startswith("twig!00") for each in asked)
    reader.close()


@dataclass
class Place:
    """Where a token stands: behind what was created at `moment`, or before it where it leads backwards; lanes that lag
    have not told what they hold from `since` on."""

    token: str | None = None
    moment: int = 0
    backwards: bool = False


@pytest.mark.parametrize(("count", "seed"), [(count, seed) for count in (2, 3, 4) for seed in range(2)])
def test_random_steps_back_and_forth_while_each_entity_moves_at_its_own_pace(count: int, seed: int) -> None:
    """No lane fails here, so that each page is what stands next to its token's place."""
    chooser, met = random.Random(f"several {count} {seed}"), Counter[str]()
    kinds = KINDS[:count]
    world, place = World(kinds, 6 * count), Place()
    of = {name: kinds[int(name[1:]) % count] for name in world.created}
    for kind in kinds[:-1]:
        world.start(kind, FOUR)
    phases: set[tuple[Phase, ...]] = set()
    for step in range(150):
        limit = chooser.randint(1, 5)
        try:
            page = world.read(place.token, limit)
        except CursorExpired:
            assert place.token is not None
            met["expired"] += 1
            place = Place()
            continue
        phases.add(tuple(world.control(kind).phase for kind in kinds[:-1]))
        ordered = sorted(world.created, key=lambda name: world.created[name])
        if place.backwards:
            expected = [name for name in ordered if world.created[name] < place.moment][-limit:]
        else:
            expected = [name for name in ordered if world.created[name] > place.moment][:limit]
        assert names(page) == expected, step
        met["backwards" if place.backwards else "forwards"] += 1
        ways = [(each, way) for way, each in ((False, page.cursor), (True, page.prev_token)) if each is not None]
        place = Place()
        if ways:
            token, back = chooser.choice(ways)
            end = 1 << 60 if back else 0
            place = Place(token, world.created[expected[0 if back else -1]] if expected else end, back)
        kind = chooser.choice(["add", "remove", "move", "move", "time"])
        if kind == "add":
            name = f"m{step}"
            of[name] = chooser.choice(kinds)
            world.add(of[name], name)
        elif kind == "remove" and len(world.created) > 6:
            name = chooser.choice(sorted(world.created))
            world.remove(of[name], name)
        elif kind == "move":
            moving = chooser.choice(kinds[:-1])
            for _ in range(4):
                world.act(moving)
        else:
            world.clock.now += chooser.choice([1, 700, 3000])
    assert min(met["backwards"], met["forwards"]) > 20
    assert len(phases) > 1, "their phases changed on the way"


@pytest.mark.parametrize(("count", "seed"), [(count, seed) for count in (2, 3, 4) for seed in range(2)])
def test_random_walks_while_lanes_fail_and_records_move(count: int, seed: int) -> None:
    """What does not change during a walk is given exactly once, whatever fails and moves on the way."""
    chooser, met = random.Random(f"walks {count} {seed}"), Counter[str]()
    kinds = KINDS[:count]
    world = World(kinds, 18 + count)
    for kind in kinds[:-1]:
        world.start(kind, FOUR)
    for walk in range(5):
        stable, read, token = dict(world.created), Counter[str](), None
        for step in range(200):
            hashes = sorted({each for kind in kinds for each in world.lanes(kind)})
            fails = chooser.random() < 0.5 and step < 20
            world.broken.hash_values = set(chooser.sample(hashes, 1 + len(hashes) // 4)) if fails else set()
            try:
                page = world.read(token, chooser.randint(1, 4))
            except CursorExpired:
                met["expired"] += 1
                break
            except LaneFailed:
                continue
            found = names(page)
            assert len(found) == len(set(found))
            read.update(found)
            met["failed"] += bool(page.failed)
            met["late"] += page.late
            token = page.cursor
            if token is None:
                assert {name: read[name] for name in stable} == dict.fromkeys(stable, 1)
                met["walked"] += 1
                break
            if chooser.random() < 0.4:
                world.add(chooser.choice(kinds), f"w{walk}s{step}")
            moving = chooser.choice(kinds[:-1])
            if not world.act(moving) or chooser.random() < 0.2:
                world.clock.now += chooser.choice([1, 200, 500])
        else:
            pytest.fail("the walk makes no progress")
        world.broken.hash_values = set()
        for _ in range(30):
            if not world.act(chooser.choice(kinds[:-1])):
                world.clock.now += 500
    assert met["walked"] > 1
    assert met["late"] > 0
