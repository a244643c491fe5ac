"""Scans while their records move: over the start, the flip, the purge, and moves that are taken back.

A scan tells each record that is there all the time once, as it was at some moment, or ends with an error that says that
it has to begin anew. It is stopped and goes on from its position, by another process, at any page.
"""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from shardweave.errors import CursorExpired
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.scanning import RecordScan
from shardweave.maintenance.walk import Segment
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp
from tests.unit.reshard_world import WAITS, ReshardWorld

TWO = ShardBump(0, char_bits=1, chars=1)
TARGETS = [ShardBump(0, char_bits=1, chars=2), ShardBump(0, char_bits=1, chars=0)]
KEPT = 20
NEXT = {
    Phase.DUAL_OLD: Phase.DUAL_NEW,
    Phase.DUAL_NEW: Phase.NEW_ONLY,
    Phase.NEW_ONLY: Phase.PURGE,
}
SHORT = replace(WAITS, cursor_life_ms=4000)


class Leaf(Entity, token="leaf", shard_bumps=[TWO]):
    """In one of two shards."""

    leaf_id: str = unique_property()
    created: Timestamp = timestamp_property()
    colour: int = 0


class Twig(Entity, token="twig", partition="tree", sort="number", shard_bumps=[TWO]):
    """The same with a partition: only a scan of the table finds all."""

    tree: str
    number: int
    created: Timestamp = timestamp_property()
    colour: int = 0


SCHEMA = Schema([Leaf, Twig])
SEEDS: dict[type[Entity], int] = {Leaf: 9, Twig: 3}


def made(model: type[Entity], name: str) -> dict[str, Any]:
    return {"leafId": name} if model is Leaf else {"tree": name, "number": 1}


def name_of(record: Any) -> str:
    found: str = record.leaf_id if isinstance(record, Leaf) else record.tree
    return found


@dataclass
class Wood:
    """Leaves or twigs: `kept` are there all the time; each has a colour that only grows."""

    model: type[Entity]
    chooser: random.Random
    world: ReshardWorld = field(default_factory=lambda: ReshardWorld(schema=SCHEMA, waits=SHORT))
    kept: tuple[str, ...] = tuple(f"kept{number}" for number in range(KEPT))
    others: set[str] = field(default_factory=set)
    colours: dict[str, int] = field(default_factory=dict)
    made: int = 0
    aborts: bool = False

    def __post_init__(self) -> None:
        for name in self.kept:
            self.world.store.create(made(self.model, name), self.model)
            self.colours[name] = 0

    def change(self) -> None:
        """Something is written, or a little is moved."""
        kind, store = self.chooser.choice(["add", "remove", "paint", "paint", "move"]), self.world.store
        if kind == "add":
            self.made += 1
            self.others.add(f"new{self.made}")
            store.create(made(self.model, f"new{self.made}"), self.model)
        elif kind == "remove" and self.others:
            name = self.chooser.choice(sorted(self.others))
            self.others.remove(name)
            assert store.delete(self.model, self.key(name))
        elif kind == "paint":
            name = self.chooser.choice(self.kept)
            self.colours[name] += 1
            store.update(self.model, self.key(name), {"colour": self.colours[name]})
        elif kind == "move":
            self.world.act(self.model)

    def advance(self) -> None:
        """The move comes to its next phase, or is taken back."""
        control = self.world.control(self.model)
        if self.aborts and control.phase is Phase.DUAL_NEW:
            self.aborts = False
            self.world.abort(self.model)
        elif control.aborting or control.phase in (Phase.PURGE, Phase.STABLE):
            self.world.finish(self.model)
        elif control.phase is Phase.DUAL_OLD and control.step is ReshardStep.COPY:
            self.world.run_until(self.model, Phase.DUAL_OLD, ReshardStep.SETTLE)
        else:
            self.world.run_until(self.model, NEXT[control.phase])

    def key(self, name: str) -> Any:
        return name if self.model is Leaf else made(self.model, name)

    def scan(self, position: str | None, segment: Segment, size: int) -> RecordScan[Any]:
        """A scan of a new process."""
        store = self.world.new_store()
        return RecordScan(store.parts, SCHEMA[self.model], position=position, segment=segment, page=size)

    @property
    def moves(self) -> bool:
        return self.world.control(self.model).moving

    def phase(self) -> Phase:
        return self.world.control(self.model).phase


@dataclass
class Met:
    """What the scans met."""

    whole: Counter[str] = field(default_factory=Counter)
    expired: int = 0


def scan_through(wood: Wood, met: Met) -> None:
    """One scan, in pages and processes of any size, while things change."""
    chooser, told, began = wood.chooser, Counter[str](), dict(wood.colours)
    seen = {wood.phase()}
    segment = Segment(0, 1)
    position, scan = None, wood.scan(None, segment, chooser.choice([1, 1, 2]))
    while True:
        try:
            page = scan.next_page()
        except CursorExpired:
            met.expired += 1
            break
        if page is None:
            for name in wood.kept:
                assert told[name] == 1, f"{name} was told {told[name]} times over {seen}"
            assert set(told.values()) == {1}, seen
            met.whole[" ".join(sorted(each.name for each in seen))] += 1
            return
        for record in page.items:
            name = name_of(record)
            told[name] += 1
            if name in began and name in wood.kept:
                assert began[name] <= record.colour <= wood.colours[name]
        position = page.position
        if position is not None and chooser.random() < 0.3:
            scan = wood.scan(position, segment, chooser.choice([1, 1, 2]))
        for _ in range(chooser.randint(0, 3)):
            wood.change()
        if wood.moves and chooser.random() < 0.3:
            wood.advance()
        seen.add(wood.phase())


@pytest.mark.parametrize("model", [Leaf, Twig])
def test_scans_while_records_move_there_and_back(model: type[Entity]) -> None:
    met = Met()
    for seed in range(SEEDS[model]):
        wood = Wood(model, random.Random(f"scan {seed}"), aborts=seed % 3 == 0)
        wood.world.start(model, TARGETS[seed % 2])
        while wood.moves:
            scan_through(wood, met)
    over = Counter[bool]()
    for phases, count in met.whole.items():
        over[{"DUAL_OLD", "DUAL_NEW"} <= set(phases.split())] += count
    assert over[True] >= SEEDS[model] // 3, met
    assert over[False] >= SEEDS[model] // 3, met
    assert met.expired >= SEEDS[model] // 3, met


@pytest.mark.parametrize("model", [Leaf, Twig])
def test_a_scan_goes_on_over_the_flip_and_ends_when_its_copies_are_not_kept_up_any_more(model: type[Entity]) -> None:
    wood = Wood(model, random.Random("flip"))
    world = wood.world
    world.start(model, TARGETS[0])
    world.run_until(model, Phase.DUAL_OLD, ReshardStep.SETTLE)
    first = wood.scan(None, Segment(), 1).next_page()
    assert first is not None
    world.run_until(model, Phase.DUAL_NEW)
    rest = wood.scan(first.position, Segment(), 100)
    names = [name_of(each) for page in (first, *iter(rest.next_page, None)) for each in page.items]
    assert sorted(names) == sorted(wood.kept)
    world.run_until(model, Phase.NEW_ONLY)
    with pytest.raises(CursorExpired, match="position: the records have moved"):
        wood.scan(first.position, Segment(), 1).next_page()
    anew = wood.scan(None, Segment(), 100)
    assert sorted(name_of(each) for page in iter(anew.next_page, None) for each in page.items) == sorted(wood.kept)
