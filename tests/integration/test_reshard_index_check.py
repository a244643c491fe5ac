"""The index check: nothing flips while an index lacks an unchanged record of N, or shows one that is gone."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeVar

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.reshard.timings import Pace
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, nanoid
from shardweave.schema.entity_type import MARK, REVISION
from shardweave.schema.property_options import timestamp_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import DeleteItem, Operation, PutItem, Query, Scan
from shardweave.values.codecs import Timestamp
from tests.unit.reshard_world import PACE, ReshardWorld

R = TypeVar("R")

TWO = ShardBump(0, char_bits=1, chars=1)


class Animal(Entity, token="animal", shard_bumps=[ShardBump(0, char_bits=1, chars=0)]):
    animal_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    keeper_id: str
    note: str = ""

    keeper_hash_key = HashKey("keeper_id")


class Stall(Entity, token="stall", partition="farm", sort="number", shard_bumps=[ShardBump(0, 1, 0)]):
    farm: str
    number: int
    size: int = 0


SCHEMA = Schema(
    [Animal, Stall],
    [
        Index("created", "hash_key", "created"),
        Index("notes", "hash_key", "updated", projection=("note",)),
        Index("keeper", "keeper_hash_key", "created"),
        Index("keeperKeys", "keeper_hash_key", "range_key", projection="KEYS_ONLY"),
        Index("bySize", "hash_key", "size"),
    ],
)


class Lagging:
    """A table of whose indexes some show, after `freeze`, nothing that was written since. An index is asked through
    `asked` first."""

    def __init__(self, inner: EmbeddedTable, schema: Schema) -> None:
        self.inner = inner
        self.schema = schema
        self.old: EmbeddedTable | None = None
        self.frozen: set[str] = set()
        self.asked: Callable[[Query], None] = lambda query: None
        self.guards_inside_writes = inner.guards_inside_writes

    def freeze(self, *names: str) -> None:
        self.old = EmbeddedTable(self.schema.layout)
        self.frozen = set(names)
        for item in self.inner.run(Scan(consistent=True)).items:
            self.old.run(PutItem(dict(item)))

    def run(self, operation: Operation[R], **more: Any) -> R:
        if isinstance(operation, Query) and operation.index is not None:
            self.asked(operation)
            if operation.index in self.frozen:
                assert self.old is not None
                return self.old.run(operation, **more)
        return self.inner.run(operation, **more)


class Farm(ReshardWorld):
    """Six animals of one keeper, on a table whose indexes may lag."""

    def __init__(self, pace: Pace = PACE) -> None:
        super().__init__(schema=SCHEMA, pace=pace)
        self.lagging = Lagging(self.inner, SCHEMA)
        self.table = self.lagging  # type: ignore[assignment]
        self.rebirth()
        for number in range(6):
            self.store.create(Animal(animal_id=f"a{number}", keeper_id="k", created=self.clock.now - 10**6 + number))
        self.clock.now += 5000

    def is_behind(self, model: type[Entity] = Animal) -> bool:
        """Whether it stays in the index check, however long."""
        self.run_until(model, Phase.DUAL_OLD, ReshardStep.INDEXES)
        for _ in range(2):
            self.settle(model)
            self.clock.now += self.waits.lease_ms
        control = self.control(model)
        return (control.phase, control.step, control.attention) == (Phase.DUAL_OLD, ReshardStep.INDEXES, "")

    def kept_by(self, keeper: str) -> list[str]:
        """The animals that a reader finds in the index, as it is."""
        maps = LeasedMaps(self.inner, self.waits, clock=self.clock, monotonic=self.clock, exact=False)
        runner = QueryRunner(SCHEMA, self.table, CursorKeys("k", {"k": b"k" * 16}), maps=maps, clock=self.clock)
        page = runner.run(QuerySpec("animal", {"keeper_id": Equal(keeper)}, index="keeper", limit=100))
        return sorted(each.animal_id for each in page.items)  # type: ignore[attr-defined]


def test_an_index_of_its_own_hash_key_that_lacks_one_record_keeps_it_from_flipping() -> None:
    farm = Farm()
    stale = farm.new_store()
    stale.get(Animal, "a0")
    farm.start(Animal, TWO)
    farm.settle(Animal)
    stale.create(Animal(animal_id="late", keeper_id="k"))
    farm.clock.now += 3000
    for number in range(6):
        farm.new_store().update(Animal, f"a{number}", {"note": "later"})
    while not (farm.control(Animal).step is ReshardStep.COPY and farm.control(Animal).round > 0):
        if not farm.act(Animal):
            farm.clock.now += 100
    farm.lagging.freeze("keeper")
    assert "late" in farm.kept_by("k")
    assert farm.is_behind()
    assert "late" in farm.kept_by("k")
    farm.lagging.frozen.clear()
    farm.run_until(Animal, Phase.DUAL_NEW)
    assert len(farm.kept_by("k")) == 7


@pytest.mark.parametrize("index", ["created", "notes", "keeper", "keeperKeys"])
@pytest.mark.parametrize("change", ["create", "replace", "move", "remove"])
def test_an_index_that_is_behind_by_one_change_keeps_it_from_flipping(index: str, change: str) -> None:
    farm = Farm()
    farm.start(Animal, TWO)
    farm.run_until(Animal, Phase.DUAL_OLD, ReshardStep.SETTLE)
    farm.lagging.freeze(index)
    animal = farm.new_store().get(Animal, "a5")
    assert animal is not None
    if change == "create":
        farm.new_store().create(Animal(animal_id="new", keeper_id="k"))
    elif change == "replace":
        farm.new_store().update(Animal, "a5", {"note": "other"})
    elif change == "move":
        farm.new_store().update(Animal, "a5", {"keeper_id": "l"})
    else:
        farm.new_store().delete(Animal, "a5")
    lingers = change == "remove" and index in ("keeper", "keeperKeys")
    not_shown = change == "replace" and index == "keeperKeys"
    assert farm.is_behind() is not (lingers or not_shown)


def test_writes_during_the_check_do_not_hide_what_is_missing() -> None:
    farm = Farm()
    farm.start(Animal, TWO)
    farm.run_until(Animal, Phase.DUAL_OLD, ReshardStep.SETTLE)
    farm.lagging.freeze("created")
    farm.new_store().create(Animal(animal_id="missing", keeper_id="k"))
    made = iter(range(10**6))

    def busy(query: Query) -> None:
        # One is created for each that is missing, in the index at once.
        if query.index == "created" and query.limit is not None:
            animal = Animal(animal_id=f"busy{next(made)}", keeper_id="k")
            farm.new_store().create(animal)
            assert farm.lagging.old is not None
            for item in farm.items_of(Animal):
                if item["animalId"] == animal.animal_id:
                    farm.lagging.old.run(PutItem(dict(item)))

    farm.lagging.asked = busy
    assert farm.is_behind()
    farm.lagging.asked = lambda query: None
    farm.lagging.frozen.clear()
    farm.run_until(Animal, Phase.DUAL_NEW)


@pytest.mark.parametrize("workers", [1, 4])
def test_writes_on_every_record_do_not_keep_it_from_flipping(workers: int) -> None:
    farm = Farm(Pace(slice_ms=10_000, margin_ms=1000, page=5, workers=workers))
    farm.start(Animal, TWO)
    farm.run_until(Animal, Phase.DUAL_OLD, ReshardStep.INDEXES)
    done = iter(range(10**6))

    def busy(query: Query) -> None:
        number = next(done)
        farm.new_store().update(Animal, f"a{number % 6}", {"note": f"n{number}"})

    farm.lagging.asked = busy
    farm.run_until(Animal, Phase.DUAL_NEW)


def test_a_write_during_the_check_has_few_records_looked_for() -> None:
    farm = Farm(Pace(slice_ms=10_000, margin_ms=1000, page=50))
    began = farm.clock.now - 10**6
    more = [Animal(animal_id=f"more{number}", keeper_id="k", created=began - number) for number in range(400)]
    farm.store.batch_write(more)
    farm.start(Animal, TWO)
    farm.run_until(Animal, Phase.DUAL_OLD, ReshardStep.INDEXES)
    changed, looked = iter(range(10**6)), Counter[bool]()

    def busy(query: Query) -> None:
        looked[query.interval.low is not None] += query.index == "created"
        if query.index == "created" and query.start_key is not None:
            for number in itertools.islice(changed, 3):
                farm.new_store().update(Animal, f"more{number}", {"note": "other"})

    farm.lagging.asked = busy
    farm.run_until(Animal, Phase.DUAL_NEW)
    written = next(changed)
    assert written > 10
    assert 0 < looked[True] < 2 * written


def test_an_index_that_follows_within_a_look_is_not_behind() -> None:
    farm = Farm()
    farm.start(Animal, TWO)
    farm.run_until(Animal, Phase.DUAL_OLD, ReshardStep.INDEXES)
    before = farm.control(Animal).round
    farm.lagging.freeze("created")
    farm.new_store().update(Animal, "a5", {"note": "other"})
    pauses = len(farm.pauses.slept)

    def follow(query: Query) -> None:
        if len(farm.pauses.slept) > pauses:
            farm.lagging.frozen.clear()

    farm.lagging.asked = follow
    farm.settle(Animal)
    assert (farm.control(Animal).phase, before) == (Phase.DUAL_NEW, before)


def test_where_hash_keys_can_not_be_listed_each_record_is_looked_for() -> None:
    farm = Farm()
    farm.store.create(Stall(farm="f", number=1, size=3))
    farm.start(Stall, TWO)
    farm.run_until(Stall, Phase.DUAL_OLD, ReshardStep.SETTLE)
    farm.lagging.freeze("bySize")
    farm.new_store().create(Stall(farm="f", number=2, size=3))
    assert farm.is_behind(Stall)


class TestWhatIsCaughtMeanwhile:
    """Another program writes to O during the check: what is copied is verified, and looked for in the indexes."""

    def test_it_is_verified_and_looked_for_before_the_flip(self) -> None:
        farm = Farm()
        farm.start(Animal, TWO)
        farm.run_until(Animal, Phase.DUAL_OLD, ReshardStep.INDEXES)
        assert farm.coordinator.step(SCHEMA[Animal])
        assert self.caught(farm)
        farm.lagging.freeze("keeper")
        seen = []
        while farm.act(Animal):
            seen.append(farm.control(Animal).step)
        assert ReshardStep.VERIFY in seen
        assert farm.control(Animal).phase is Phase.DUAL_NEW

    def caught(self, farm: Farm) -> bool:
        record = next(item for item in farm.items_of(Animal) if len(item["hashKey"]) == len("animal!"))
        stray = {name: value for name, value in record.items() if name not in (REVISION, MARK)}
        key = {name: stray[name] for name in ("hashKey", "rangeKey")}
        farm.inner.run(DeleteItem(key))
        farm.inner.run(PutItem(stray))
        return farm.mover.catch_up(SCHEMA[Animal], key, farm.control(Animal), farm.work(Animal))
