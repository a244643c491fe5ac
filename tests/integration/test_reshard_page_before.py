"""Pages back and forth while their records move: over the start, the flip and the purge, with writes in between.

A page goes by the map that its token names, for as long as that is kept. Whatever the map, it is the records that stand
next to its token's place by the time of their creation, which no two of these have alike.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace

import pytest

from shardweave.errors import CursorExpired
from shardweave.query.spec import Page, QuerySpec
from shardweave.reshard.phases import Phase, ReshardStep
from tests.integration.test_reshard_counterexamples import FOUR, Leaf, World

AFTER_ALL = 1 << 60
CREATED = QuerySpec("leaf", {}, index="created", limit=2)


@dataclass
class Pages:
    """The pages of a world's leaves, by their names."""

    world: World = field(default_factory=World)
    created: dict[str, int] = field(default_factory=dict)

    def add(self, name: str, before: int = 0) -> None:
        """A new leaf, made so many milliseconds before now."""
        created = self.world.clock.now - before
        if created not in self.created.values():
            self.world.store.create({"leaf_id": name, "created": created}, Leaf)
            self.created[name] = created

    def remove(self, name: str) -> None:
        assert self.world.store.delete(Leaf, name)
        del self.created[name]

    def grow(self, names: str) -> None:
        for name in names:
            self.add(name)
            self.world.pass_by(1)

    def read(self, token: str | None = None, **more: object) -> tuple[str, Page[Leaf]]:
        page = self.world.reader.run(replace(CREATED, cursor=token, **more))  # type: ignore[arg-type]
        return "".join(each.leaf_id for each in page.items), page


def test_a_token_back_is_good_over_the_flip_and_until_the_purge() -> None:
    pages = Pages()
    pages.grow("abcdefgh")
    _, first = pages.read()
    _, second = pages.read(first.cursor)
    _, third = pages.read(second.cursor)
    world = pages.world
    world.start(Leaf, FOUR)
    world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SETTLE)
    assert pages.read(third.prev_token)[0] == "cd"
    world.run_until(Leaf, Phase.DUAL_NEW)
    world.pass_by(world.waits.lease_ms)
    names, before = pages.read(third.prev_token)
    assert (names, pages.read(before.cursor)[0], pages.read(before.prev_token)[0]) == ("cd", "ef", "ab")
    pages.remove("d")
    assert pages.read(third.prev_token)[0] == "bc", "what is written is written to both copies"
    _, anew = pages.read(limit=4)
    _, on = pages.read(anew.cursor)
    assert pages.read(on.prev_token, limit=4)[0] == "abce"
    world.finish(Leaf)
    for token in (third.prev_token, before.prev_token, before.cursor):
        with pytest.raises(CursorExpired):
            pages.read(token)


@pytest.mark.parametrize("seed", range(6))
def test_random_steps_while_records_move(seed: int) -> None:
    """The place of a token is the time of the record that it stands at; pages that were begun anew are of the map then
    in force."""
    chooser, met = random.Random(f"moving {seed}"), Counter[str]()
    pages = Pages()
    pages.grow("abcdefghijkl")
    world = pages.world
    world.start(Leaf, FOUR)
    token, gap, backwards = None, 0, False
    begun: set[Phase] = set()
    for step in range(250):
        limit = chooser.randint(1, 5)
        try:
            _, page = pages.read(token, limit=limit)
        except CursorExpired:
            assert token is not None
            met["expired"] += 1
            token, gap, backwards = None, 0, False
            continue
        begun.add(world.control(Leaf).phase)
        ordered = sorted(pages.created, key=lambda name: pages.created[name])
        if backwards:
            expected = [name for name in ordered if pages.created[name] < gap][-limit:]
        else:
            expected = [name for name in ordered if pages.created[name] > gap][:limit]
        assert [each.leaf_id for each in page.items] == expected, step
        met["backwards" if backwards else "forwards"] += 1
        ways = {way: each for way, each in (("on", page.cursor), ("back", page.prev_token)) if each is not None}
        token, gap, backwards = None, 0, False
        if ways:
            way = chooser.choice(sorted(ways))
            token, backwards = ways[way], way == "back"
            end = AFTER_ALL if backwards else 0
            gap = pages.created[expected[0] if backwards else expected[-1]] if expected else end
        change(chooser, pages, step)
    assert met["backwards"] > 20
    assert met["forwards"] > 20
    assert begun >= {Phase.DUAL_OLD, Phase.DUAL_NEW, Phase.NEW_ONLY}


def change(chooser: random.Random, pages: Pages, step: int) -> None:
    """Something is written, or the move goes on."""
    kind = chooser.choice(["add", "add before", "remove", "move", "move", "time"])
    if kind == "add":
        pages.add(f"n{step}")
    elif kind == "add before":
        pages.add(f"m{step}", chooser.randint(1, 4000))
    elif kind == "remove" and len(pages.created) > 3:
        pages.remove(chooser.choice(sorted(pages.created)))
    elif kind == "move":
        for _ in range(4):
            pages.world.act(Leaf)
    else:
        pages.world.pass_by(chooser.choice([1, 700, 3000]))
