"""What is written while records move: every write of each phase, action by action, with its conditions.

The rows are those of the protocol's table. `O` and `N` are the spaces, `m` a mark, and in brackets the conditions:
free (absent or expired), live, rev (the one that was seen), known (no mark above the writer's version).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from shardweave.errors import AlreadyExists, LimitExceeded, ReshardRefused, RevisionConflict
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.control import encode_control
from shardweave.reshard.declaration_guard import placement_of
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep, Waits
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.entity_type import MARK, REVISION
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Delete, Operation, Put, RetryClock, Store, Update
from shardweave.table.conditions import And, Condition, Or
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import WRITES, Script, SimulatedTable
from shardweave.table.operations import BatchWrite, Scan, TransactWrite, UpdateItem
from shardweave.table.operations import DeleteItem as TableDelete
from shardweave.table.operations import PutItem as TablePut
from shardweave.values.codecs import Timestamp

HOUR_MS = 3_600_000
NOW = 1_730_000_000_000
EARLIER = ShardBump(0, 1, 1)
LATER = ShardBump(NOW - HOUR_MS, 1, 2)
TARGET = ShardBump(0, 1, 3)
COMING = ShardBump(NOW + HOUR_MS // 2, 1, 5)
VERSION = 7


class Thing(Entity, token="thing", shard_bumps=[EARLIER, LATER, COMING]):
    """Two shards at first, four for an hour, more soon."""

    thing_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    word: str
    number: int = 0
    ttl: int | None = ttl_property()


SCHEMA = Schema([Thing], [])
THING = SCHEMA[Thing]
OLD = replace(ShardMap.of_bumps((EARLIER, LATER, COMING)), version=VERSION)
NEW = ShardMap.of_bumps((TARGET, COMING), VERSION, VERSION)


@dataclass
class World:
    """A table in one phase, its store, and a way to see what the store wrote."""

    table: SimulatedTable
    store: Store
    phase: Phase

    def seen(self, work: Callable[[Store], Any]) -> list[str]:
        """The write that `work` led to, action by action."""
        self.table.calls.clear()
        work(self.store)
        (write,) = [call for call in self.table.calls if isinstance(call, (TransactWrite, TablePut, TableDelete))]
        return [described(action) for action in (write.actions if isinstance(write, TransactWrite) else (write,))]

    def keys(self, name: str) -> list[str]:
        """The hash keys under which an id is stored."""
        return sorted(item["hashKey"] for item in self.table.run(Scan()).items if item.get("thingId") == name)


@pytest.fixture(params=list(Phase), ids=lambda phase: phase.name.lower())
def world(request: pytest.FixtureRequest) -> Iterator[World]:
    with_phase = _world(request.param)
    yield with_phase
    with_phase.table.close()


def now() -> int:
    """A clock that stands still."""
    return NOW


def _world(phase: Phase) -> World:
    table = SimulatedTable(EmbeddedTable(SCHEMA.layout, clock=lambda: NOW / 1000), Script())
    control = ReshardState(VERSION, OLD, NEW, phase, ReshardStep.SETTLE, placement=placement_of(THING))
    table.run(TablePut(encode_control(THING, control, "r")))
    maps = LeasedMaps(table, Waits(), clock=now, exact=True)
    return World(table, Store(SCHEMA, table, maps=maps, clock=now), phase)


def described(action: Any) -> str:
    """An action as a row of the protocol's table has it."""
    item = action.item if isinstance(action, TablePut) else action.key
    width = len(item["hashKey"].removeprefix("thing!"))
    place = {1: "O earlier", 2: "O", 3: "N", 5: "O and N"}[width]
    marked = f" m={item[MARK]}" if MARK in item else ""
    return f"{type(action).__name__} {place}{marked} [{', '.join(kinds(action.condition))}]"


def kinds(condition: Condition | None) -> list[str]:
    if condition is None:
        return []
    parts = condition.conditions if isinstance(condition, And) else (condition,)
    return [kind for part in parts for kind in [_kind(part)] if kind]


def _kind(part: Condition) -> str:
    names = set(part.attributes())
    if MARK in names:
        return "known"
    if REVISION in names:
        return "rev"
    if isinstance(part, Or) and names == {"hashKey", "ttl"}:
        return "free"
    return "live" if names == {"ttl"} else ""


def written(word: str, **values: Any) -> dict[str, Any]:
    return {"word": word, **values}


CREATES = {
    Phase.STABLE: ["PutItem O [free, known]"],
    Phase.DUAL_OLD: ["PutItem O m=7 [free, known]", "PutItem N []"],
    Phase.DUAL_NEW: ["PutItem N [free, known]", "PutItem O m=7 []"],
    Phase.NEW_ONLY: ["PutItem N [free, known]"],
    Phase.PURGE: ["PutItem N [free, known]"],
}
CREATES_OF_A_GIVEN_ID = {
    Phase.STABLE: ["PutItem O [free, known]", "DeleteItem O earlier [free]", "DeleteItem O and N [free]"],
    Phase.DUAL_OLD: [
        "PutItem O m=7 [free, known]",
        "PutItem N []",
        "DeleteItem O earlier [free]",
        "DeleteItem O and N [free]",
    ],
    Phase.DUAL_NEW: [
        "PutItem N [free, known]",
        "PutItem O m=7 []",
        "DeleteItem O and N [free]",
        "DeleteItem O earlier []",
    ],
    Phase.NEW_ONLY: ["PutItem N [free, known]", "DeleteItem O and N [free]"],
    Phase.PURGE: ["PutItem N [free, known]", "DeleteItem O and N [free]"],
}
CHANGES = {
    Phase.STABLE: ["PutItem O [live, rev, known]"],
    Phase.DUAL_OLD: ["PutItem O m=7 [live, rev, known]", "PutItem N []"],
    Phase.DUAL_NEW: ["PutItem N [live, rev, known]", "PutItem O m=7 []"],
    Phase.NEW_ONLY: ["PutItem N [live, rev, known]"],
    Phase.PURGE: ["PutItem N [live, rev, known]"],
}
REMOVALS = {
    Phase.STABLE: ["DeleteItem O [live, rev, known]"],
    Phase.DUAL_OLD: ["DeleteItem O [live, rev, known]", "DeleteItem N []"],
    Phase.DUAL_NEW: ["DeleteItem N [live, rev, known]", "DeleteItem O []"],
    Phase.NEW_ONLY: ["DeleteItem N [live, rev, known]"],
    Phase.PURGE: ["DeleteItem N [live, rev, known]"],
}


def test_a_create(world: World) -> None:
    assert world.seen(lambda store: store.create(written("a"), Thing)) == CREATES[world.phase]


def test_a_create_of_a_given_id_frees_it_in_every_other_generation_of_both_spaces(world: World) -> None:
    seen = world.seen(lambda store: store.create(written("a", thing_id="given"), Thing))
    assert seen == CREATES_OF_A_GIVEN_ID[world.phase]


@pytest.mark.parametrize("how", ["update", "put"])
def test_a_change(world: World, how: str) -> None:
    name = world.store.create(written("a"), Thing).thing_id
    changes = {
        "update": lambda store: store.update(Thing, name, {"word": "b"}),
        "put": lambda store: store.put(written("b", thing_id=name), Thing),
    }
    assert world.seen(changes[how]) == CHANGES[world.phase]


def test_a_delete(world: World) -> None:
    name = world.store.create(written("a"), Thing).thing_id
    assert world.seen(lambda store: store.delete(Thing, name)) == REMOVALS[world.phase]
    assert world.keys(name) == []


def test_a_record_keeps_its_copy_equal_but_for_the_mark_and_the_keys(world: World) -> None:
    name = world.store.create(written("a"), Thing).thing_id
    world.store.update(Thing, name, {"word": "b"})
    copies = [item for item in world.table.run(Scan()).items if item.get("thingId") == name]
    same = [{each: value for each, value in item.items() if each not in (MARK, "hashKey")} for item in copies]
    assert all(each == same[0] for each in same)
    assert len(copies) == (2 if world.phase in (Phase.DUAL_OLD, Phase.DUAL_NEW) else 1)


def test_a_record_of_a_bump_that_both_maps_have_is_written_once_and_without_a_mark(world: World) -> None:
    created = NOW + HOUR_MS // 2
    # Its timestamp lies too far ahead to be created today, so it is put as another program would.
    item = THING.complete({"thingId": "soon", "created": created, "word": "a", "rev": "r0"}, OLD)
    world.table.run(TablePut(item))
    assert world.store.get(Thing, "soon") is not None
    assert world.seen(lambda store: store.update(Thing, "soon", {"word": "b"})) == [
        "PutItem O and N [live, rev, known]"
    ]
    assert world.seen(lambda store: store.delete(Thing, "soon")) == ["DeleteItem O and N [live, rev, known]"]


def test_puts_of_made_up_ids_go_without_conditions_only_where_nothing_is_mirrored(world: World) -> None:
    world.table.calls.clear()
    result = world.store.batch_write([Put(written("a"), Thing), Put(written("b"), Thing)])
    assert result.complete
    plain = any(isinstance(call, BatchWrite) for call in world.table.calls)
    assert plain == (world.phase not in (Phase.DUAL_OLD, Phase.DUAL_NEW))


def test_a_transaction_repeats_each_of_its_records(world: World) -> None:
    name = world.store.create(written("a"), Thing).thing_id
    other = world.store.create(written("a"), Thing).thing_id
    seen = world.seen(
        lambda store: store.transact(
            [Create(written("c"), Thing), Update(Thing, name, {"word": "b"}), Delete(Thing, other)]
        )
    )
    assert seen == CREATES[world.phase] + CHANGES[world.phase] + REMOVALS[world.phase]


def test_an_id_is_taken_wherever_its_record_is(world: World) -> None:
    created = NOW - 2 * HOUR_MS
    world.store.create(written("a", thing_id="given", created=created), Thing)
    with pytest.raises(AlreadyExists):
        world.store.create(written("b", thing_id="given"), Thing)


def test_an_expired_record_makes_room_in_both_spaces(world: World) -> None:
    expired = NOW // 1000 - 10
    created = NOW - 2 * HOUR_MS
    world.store.create(written("a", thing_id="given", created=created, ttl=expired), Thing)
    world.store.create(written("b", thing_id="given"), Thing)
    words = {item["word"] for item in world.table.run(Scan()).items if item.get("thingId") == "given"}
    assert words == {"b"}


def test_a_mark_of_a_newer_version_stops_a_writer_that_does_not_know_it() -> None:
    world = _world(Phase.STABLE)
    name = world.store.create(written("a"), Thing).thing_id
    (item,) = [each for each in world.table.run(Scan()).items if each.get("thingId") == name]
    world.table.run(TablePut({**item, MARK: VERSION + 1}))
    maps = LeasedMaps(world.table, Waits(), clock=now)
    hurried = Store(SCHEMA, world.table, maps=maps, clock=now, waiting=RetryClock(sleep=lambda seconds: None))
    with pytest.raises(RevisionConflict, match="kept being changed"):
        hurried.update(Thing, name, {"word": "b"})
    assert world.store.get(Thing, name) is not None


def test_a_declaration_that_places_records_otherwise_is_refused_while_they_move() -> None:
    world = _world(Phase.DUAL_OLD)
    control = ReshardState(VERSION, OLD, NEW, Phase.DUAL_OLD, ReshardStep.COPY, placement="another")
    world.table.run(TablePut(encode_control(THING, control, "r2")))
    with pytest.raises(ReshardRefused, match="was changed while they move"):
        world.store.create(written("a"), Thing)


# -- as many as fit ---------------------------------------------------------------------------------------------------


def test_as_many_records_fit_a_transaction_as_their_copies_leave_room_for(world: World) -> None:
    dual = world.phase in (Phase.DUAL_OLD, Phase.DUAL_NEW)

    def creates(count: int) -> list[Operation]:
        return [Create(written(str(at)), Thing) for at in range(count)]

    most = 50 if dual else 100
    assert len(world.store.transact(creates(most))) == most
    world.table.calls.clear()
    with pytest.raises(LimitExceeded) as refused:
        world.store.transact(creates(most + 1))
    assert refused.value.fix == f"write at most {most} of its {most + 1} operations at once"
    assert ("while a re-shard moves thing" in str(refused.value)) == dual
    assert not [each for each in world.table.calls if isinstance(each, WRITES)]


def test_additions_are_writes_of_the_whole_record_while_it_moves(world: World) -> None:
    world.store.create(written("a", thing_id="t", number=1), Thing)
    world.table.calls.clear()
    assert world.store.add(Thing, "t", {"number": 4}).number == 5
    (write,) = [call for call in world.table.calls if isinstance(call, WRITES)]
    alone = world.phase not in (Phase.DUAL_OLD, Phase.DUAL_NEW)
    updates = [write] if alone else [each for each in write.actions if isinstance(each, UpdateItem)]
    assert all(isinstance(each, UpdateItem) for each in updates)
    assert len(updates) == int(alone)
    assert world.keys("t")


def test_an_addition_meets_a_mark_that_it_does_not_know(world: World) -> None:
    if world.phase is not Phase.STABLE:
        return
    world.store.create(written("a", thing_id="t", number=1), Thing)
    (item,) = [each for each in world.table.run(Scan()).items if each.get("thingId") == "t"]
    world.table.run(TablePut({**item, MARK: VERSION + 1}))
    with pytest.raises(RevisionConflict):
        world.store.add(Thing, "t", {"number": 4})
    assert next(each for each in world.table.run(Scan()).items if each.get("thingId") == "t")["number"] == 1
