"""How fast movers write: into no hash key more than its rate, whatever number of sources lead there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import CancellationReason, TransactionCanceled
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.copy_actions import CopyUnit
from shardweave.reshard.mover import Mover
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep
from shardweave.reshard.timings import DEPLOYED_PACE, Pace
from shardweave.reshard.work_items import WorkItem, items_of, sources_of
from shardweave.reshard.write_rate import WriteRate, sharers_of
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.schema import Schema
from shardweave.table import Guard
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import GetItem, Operation, PutItem, TransactWrite, UpdateItem

from .index_shards_world import visits_schema
from .reshard_world import WAITS, ReshardWorld
from .store_world import NoWaiting

SIXTY_FOUR, WIDER = ShardBump(0, 2, 3), ShardBump(0, 2, 4)
POWERS = st.sampled_from([1, 2, 4, 16, 64])
SPACES = st.builds(ShardBump, st.just(0), st.integers(1, 2), st.integers(1, 3))


def moving(old: ShardBump, new: ShardBump) -> ReshardState:
    """A re-shard from one space to another that copies."""
    maps = ShardMap.of_bumps((old,), 1, 1), ShardMap.of_bumps((new,), 2, 2)
    return ReshardState(2, maps[0], phase=Phase.DUAL_OLD, step=ReshardStep.COPY, new=maps[1])


def first_item(entity: Any, control: ReshardState) -> WorkItem:
    return items_of(entity, control, map(str, range(1000)))[0]


# -- how many items write to one hash key -----------------------------------------------------------------------------


def test_the_items_that_share_a_hash_key() -> None:
    entity = visits_schema().entity("visit")
    control = moving(SIXTY_FOUR, WIDER)
    assert sharers_of(entity, control, first_item(entity, control)) == {
        "oneHashKey": 48,
        "manyHashKey": 4,
        "allHashKey": 16,
        "idHashKey": 32,
    }


def test_a_smaller_shard_space_is_shared_too() -> None:
    entity = visits_schema(one=None, many=None).entity("visit")
    control = moving(SIXTY_FOUR, ShardBump(0, 1, 2))
    found = sharers_of(entity, control, first_item(entity, control))
    assert found["hashKey"] == found["placeHashKey"] == found["oneHashKey"] == 16


def test_segments_of_a_partitioned_entity_share_every_hash_key() -> None:
    class Order(Entity, token="order", partition="place", sort="number", shard_bumps=[SIXTY_FOUR]):
        place: str
        number: int
        all_hash_key = HashKey(shards=4)

    entity = Schema([Order], [])[Order]
    control = moving(SIXTY_FOUR, WIDER)
    assert sharers_of(entity, control, first_item(entity, control)) == {"hashKey": 16, "allHashKey": 16}


@given(old=SPACES, new=SPACES, one=POWERS, many=POWERS, width=st.integers(4, 9))
def test_never_do_more_items_write_to_a_hash_key_than_share_it(
    old: ShardBump, new: ShardBump, one: int, many: int, width: int
) -> None:
    new = replace(new, chars=width % 5) if width % 5 != old.chars else new
    if new.chars == old.chars:
        return
    entity = visits_schema((old,), one=one, many=many).entity("visit")
    control = moving(old, new)
    assert control.new is not None
    items = items_of(entity, control, map(str, range(1000)))
    item_of = {source.hash_key: each.number for each in items for source in sources_of(entity, control, each)}
    writers: dict[tuple[str, Any], set[int]] = defaultdict(set)
    for number in range(300):
        record = entity.complete(
            {"visitId": f"v{number}", "created": 1, "place": "sea", "note": ""} | {"created": 10**12}
        )
        copy = entity.complete(record, control.new)
        for name in entity.keys.names:
            if name.endswith("HashKey") or name == "hashKey":
                for each in (record, copy):
                    if name != "idHashKey":
                        writers[name, each[name]].add(item_of[record["hashKey"]])
    sharers = sharers_of(entity, control, items[0])
    for (name, _), numbers in writers.items():
        assert len(numbers) <= sharers.get(name, 1), name


# -- waiting ----------------------------------------------------------------------------------------------------------


def unit(key: str) -> CopyUnit:
    return CopyUnit({"oneHashKey": f"old {key}"}, (PutItem({"oneHashKey": f"new {key}"}),))


def test_a_slice_waits_for_its_share_of_a_hash_key_and_not_for_those_it_has_alone() -> None:
    pauses = NoWaiting()
    rate = WriteRate(0, 100, {"oneHashKey": 10}, pauses.waiting())
    for _ in range(40):
        rate.written([unit("a")])
    assert pauses.now == pytest.approx(4.0)
    for number in range(40):
        rate.written([unit(f"b{number}")])
    assert pauses.now == pytest.approx(4.0), "other hash keys have a share each"
    alone = NoWaiting()
    WriteRate(0, 100, {}, alone.waiting()).written([unit("a")] * 1000)
    assert alone.now == 0.0
    both = NoWaiting()
    WriteRate(5, 100, {"oneHashKey": 2}, both.waiting()).written([unit("a")] * 10)
    assert both.now == pytest.approx(2.0)


def test_deployed_movers_have_a_rate_into_shared_hash_keys_where_none_is_set_and_local_ones_have_not() -> None:
    assert DEPLOYED_PACE.into_key == 500
    assert Pace().into_key == 0


# -- sixty-four sources, one hash key ---------------------------------------------------------------------------------


@dataclass
class BusyIndexes:
    """How often each hash key of each index was written in each second, and how often that was too much."""

    a_second: int
    writes: Counter[tuple[str, Any, int]] = field(default_factory=Counter)
    refused: int = 0


class Partitions:
    """A table whose indexes take so many writes a second into one hash key, by a mover's own clock."""

    def __init__(self, inner: EmbeddedTable, busy: BusyIndexes, pauses: NoWaiting, names: list[str]) -> None:
        self._inner = inner
        self._busy = busy
        self._pauses = pauses
        self._names = names
        self.layout = inner.layout
        self.guards_inside_writes = inner.guards_inside_writes

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        if isinstance(operation, TransactWrite):
            places = [list(self._places(action)) for action in operation.actions]
            if any(self._busy.writes[place] >= self._busy.a_second for each in places for place in each):
                self._busy.refused += 1
                raise TransactionCanceled(
                    [CancellationReason("ThrottlingError" if each else "None") for each in places]
                )
            self._busy.writes.update(place for each in places for place in each)
        return self._inner.run(operation, guard=guard)

    def close(self) -> None:
        pass

    def _places(self, action: Any) -> Any:
        """The entries of indexes that a copy writes: those of its marked source, and its own."""
        item: Mapping[str, Any] = {}
        if isinstance(action, PutItem):
            item = action.item
        elif isinstance(action, UpdateItem):
            item = self._inner.run(GetItem(action.key)).item or {}
        yield from ((name, item[name], int(self._pauses.now)) for name in self._names if name in item)


def copied_by_all(into_key: int, busy: BusyIndexes) -> list[float]:
    """Sixty-four shards of visits to one place are copied by all items at once, each with a mover of its own. Gives how
    long each took."""
    world = ReshardWorld(schema=visits_schema())
    visit = world.schema.entity("visit")
    for number in range(480):
        item = visit.complete(
            {"visitId": f"v{number}", "created": world.clock.now, "place": "sea", "note": "", "rev": "r"}
        )
        world.inner.run(PutItem(item))
    world.start(visit.model, WIDER)
    world.run_until(visit.model, Phase.DUAL_OLD, ReshardStep.COPY)
    while not world.work(visit.model):
        assert world.coordinator.step(visit)
    movers = []
    for item in world.work(visit.model):
        pauses = NoWaiting()
        table = Partitions(world.inner, busy, pauses, ["oneHashKey"])
        mover = Mover(
            table,
            WAITS,
            owner=world.new_name(),
            new_token=world.new_name,
            clock=world.clock,
            waiting=pauses.waiting(),
            pace=Pace(slice_ms=1000, margin_ms=1000, page=7, into_key=into_key),
        )
        movers.append((item, mover, pauses))
    assert len(movers) == 48
    while any(each.open for each in world.work(visit.model)):
        for item, mover, pauses in movers:
            try:
                mover.slice(visit, item)
            except TransactionCanceled:
                pauses.now += 1
            world.clock.now += 1
    copies = [item for item in world.items() if item["hashKey"].startswith("visit!") and len(item["hashKey"]) == 10]
    assert len(copies) == 480
    return [pauses.now for _, _, pauses in movers]


def test_sixty_four_sources_do_not_overrun_the_one_hash_key_of_an_index() -> None:
    busy = BusyIndexes(a_second=10**9)
    took = copied_by_all(96, busy)
    assert max(took) == pytest.approx(480 / 96, rel=1.0)
    in_all = Counter(place[:2] for place in busy.writes.elements())
    assert set(in_all.values()) == {480}
    for (_, _, second), count in busy.writes.items():
        assert second == 0 or count <= 96 + 48, "the rate, and what each item may be ahead"


def test_without_a_rate_they_are_throttled_and_copy_everything_all_the_same() -> None:
    busy = BusyIndexes(a_second=100)
    copied_by_all(0, busy)
    assert busy.refused > 0
    calm = BusyIndexes(a_second=1000)
    copied_by_all(96, calm)
    assert calm.refused == 0
