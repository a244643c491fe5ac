"""A process's copy of the control record: how old it may be, for reads, for writes, and for what is not there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from shardweave.errors import CursorExpired, OutcomeUnknown, ReshardUnreadable, ShardMapChanged, TableUnavailable
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.reshard.control import control_key, encode_control
from shardweave.reshard.declaration_guard import placement_of
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep, Waits, started
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import RetryClock, Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.fault_injection import LoseAnswer, LoseRequest, Meanwhile, Script, SimulatedTable
from shardweave.table.operations import DeleteItem, GetItem, Query, Scan, UpdateItem
from shardweave.table.operations import PutItem as TablePut
from shardweave.values.codecs import Timestamp

WAITS = Waits(lease_ms=1_000)
START = 1_700_000_000_000


class Thing(Entity, token="thing", shard_bumps=[ShardBump(0, 1, 1)]):
    """Something."""

    thing_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()


SCHEMA = Schema([Thing], [Index("created", hash_key="hash_key", range_key="created")])
THING = SCHEMA[Thing]


@dataclass
class Clocks:
    """Both clocks of a process, to be set."""

    wall: int = START
    monotonic: int = 0

    def pass_by(self, milliseconds: int) -> None:
        self.wall += milliseconds
        self.monotonic += milliseconds


@dataclass
class World:
    """A table with faults, and one process's maps and store on it."""

    clocks: Clocks = field(default_factory=Clocks)
    inner: EmbeddedTable = field(default_factory=lambda: EmbeddedTable(SCHEMA.layout))

    def __post_init__(self) -> None:
        self.table = SimulatedTable(self.inner, Script())
        waiting = RetryClock(sleep=lambda seconds: self.clocks.pass_by(int(seconds * 1000)))
        self.maps = LeasedMaps(
            self.table,
            WAITS,
            clock=lambda: self.clocks.wall,
            monotonic=lambda: self.clocks.monotonic,
            waiting=waiting,
        )
        self.store = Store(
            SCHEMA,
            self.table,
            clock=lambda: self.clocks.wall,
            maps=self.maps,
            waiting=waiting,
        )

    @property
    def control_reads(self) -> int:
        return sum(isinstance(call, GetItem) and "_reshard" in call.key["hashKey"] for call in self.table.calls)

    def set_phase(self, phase: Phase, *, rev: str = "r") -> ReshardState:
        control = started(
            None,
            THING.shard_map,
            ShardBump(0, 1, 2),
            now_ms=START,
            now=START,
            waits=WAITS,
            placement=placement_of(THING),
            schema="",
        )
        control = replace(control, phase=phase, step=ReshardStep.SETTLE)
        self.inner.run(TablePut(encode_control(THING, control, rev)))
        return control

    def faults(self, *faults: object) -> None:
        self.table._faults = Script(*faults)  # type: ignore[arg-type]


@pytest.fixture
def world() -> World:
    return World()


def test_one_read_serves_half_a_lease(world: World) -> None:
    for _ in range(10):
        world.maps.view(THING)
        world.clocks.pass_by(40)
    assert world.control_reads == 1
    world.clocks.pass_by(200)
    world.maps.view(THING)
    assert world.control_reads == 2


def test_that_there_is_no_control_record_is_not_believed_for_longer_either(world: World) -> None:
    assert world.maps.view(THING).mirror is None
    world.set_phase(Phase.DUAL_OLD)
    world.clocks.pass_by(WAITS.lease_ms)
    assert world.maps.view(THING).mirror is not None


@pytest.mark.parametrize("clock", ["wall", "monotonic"])
def test_a_lease_ends_by_whichever_clock_says_that_more_time_has_passed(world: World, clock: str) -> None:
    lease = world.maps.view(THING).lease
    assert lease is not None
    lease.check()
    setattr(world.clocks, clock, getattr(world.clocks, clock) + WAITS.lease_ms + 1)
    with pytest.raises(ShardMapChanged):
        lease.check()


def test_a_wall_clock_that_was_set_back_ends_a_lease_too(world: World) -> None:
    lease = world.maps.view(THING).lease
    assert lease is not None
    world.clocks.wall -= WAITS.lease_ms + 1
    with pytest.raises(ShardMapChanged):
        lease.check()


def test_age_counts_from_before_the_read_was_sent(world: World) -> None:
    world.faults(Meanwhile(lambda: world.clocks.pass_by(WAITS.lease_ms + 1)))
    lease = world.maps.view(THING).lease
    assert lease is not None
    with pytest.raises(ShardMapChanged):
        lease.check()


def test_a_lease_is_renewed_while_nothing_changed(world: World) -> None:
    lease = world.maps.view(THING).lease
    assert lease is not None
    world.clocks.pass_by(WAITS.lease_ms * 3)
    assert lease.renew()
    lease.check()


def test_a_lease_is_not_renewed_when_the_phase_is_another(world: World) -> None:
    lease = world.maps.view(THING).lease
    assert lease is not None
    world.set_phase(Phase.DUAL_OLD)
    world.clocks.pass_by(WAITS.lease_ms)
    assert not lease.renew()


def test_after_something_newer_was_met_the_next_view_is_read_anew_however_young_the_last_one_is(world: World) -> None:
    lease = world.maps.view(THING).lease
    assert lease is not None
    world.set_phase(Phase.DUAL_OLD)
    assert world.maps.view(THING).mirror is None
    lease.outdated()
    assert world.maps.view(THING).mirror is not None


def test_the_last_copy_serves_for_a_lease_when_no_newer_one_can_be_read(world: World) -> None:
    world.maps.view(THING)
    world.clocks.pass_by(WAITS.lease_ms - 1)
    world.faults(*[LoseRequest()] * 30)
    world.maps.view(THING)
    world.clocks.pass_by(2)
    with pytest.raises(TableUnavailable):
        world.maps.view(THING)


@pytest.mark.parametrize("clock", ["wall", "monotonic"])
@pytest.mark.parametrize("damage", [{"phase": "x"}, {"format": 99}], ids=["damaged", "of a newer version"])
def test_a_control_record_that_can_not_be_read_is_said_half_a_lease_later_at_most(
    world: World, clock: str, damage: dict[str, Any]
) -> None:
    kept = world.store.create(Thing())
    control = world.set_phase(Phase.PURGE)
    world.clocks.pass_by(WAITS.lease_ms)
    assert world.store.get(Thing, kept.thing_id) is None, "the records are read by this control record from here on"
    world.inner.run(UpdateItem(control_key(THING), damage))

    setattr(world.clocks, clock, getattr(world.clocks, clock) + WAITS.lease_ms // 2 - 1)
    there = world.store.create(Thing())
    assert world.store.get(Thing, there.thing_id) is not None
    setattr(world.clocks, clock, getattr(world.clocks, clock) + 1)
    asked: list[Callable[[], object]] = [
        lambda: world.store.get(Thing, there.thing_id),
        lambda: world.store.create(Thing()),
        lambda: world.store.delete(Thing, there.thing_id),
    ]
    for ask in [*asked, *asked]:
        with pytest.raises(ReshardUnreadable):
            ask()

    world.inner.run(TablePut(encode_control(THING, control, "mended")))
    assert world.store.get(Thing, there.thing_id) is not None


def test_a_write_whose_map_grew_old_before_it_was_sent_is_planned_anew(world: World) -> None:
    record = world.store.create({}, Thing)
    world.clocks.pass_by(WAITS.lease_ms)

    def change() -> None:
        world.set_phase(Phase.DUAL_OLD)
        world.clocks.pass_by(WAITS.lease_ms + 1)

    world.faults(None, Meanwhile(change))
    assert world.store.delete(Thing, record.thing_id)
    assert not [item for item in world.table.run(Scan()).items if item.get("thingId")]


def test_a_write_without_an_answer_is_not_sent_in_another_form(world: World) -> None:
    record = world.store.create({}, Thing)
    world.maps.view(THING)

    def change() -> None:
        world.set_phase(Phase.DUAL_OLD)
        world.clocks.pass_by(WAITS.lease_ms + 1)

    world.faults(None, LoseAnswer(), Meanwhile(change))
    world.clocks.pass_by(10)
    with pytest.raises(OutcomeUnknown):
        world.store.delete(Thing, record.thing_id, rev=None)


def test_a_read_that_a_flip_overtook_is_read_again(world: World) -> None:
    control = world.set_phase(Phase.DUAL_NEW)
    record = world.store.create({}, Thing)
    world.set_phase(Phase.DUAL_OLD, rev="r2")
    late = World(clocks=world.clocks, inner=world.inner)
    late.maps.view(THING)
    assert control.new is not None

    def flip() -> None:
        world.set_phase(Phase.NEW_ONLY, rev="r3")
        world.clocks.pass_by(WAITS.lease_ms + 1)
        for item in world.inner.run(Scan()).items:
            if item.get("thingId") and len(item["hashKey"]) == len("thing!0"):
                world.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))

    late.faults(Meanwhile(flip))
    assert late.store.get(Thing, record.thing_id) is not None


def test_a_page_that_a_flip_overtook_is_planned_again(world: World) -> None:
    world.set_phase(Phase.DUAL_NEW)
    world.store.create({}, Thing)
    world.set_phase(Phase.DUAL_OLD, rev="r2")
    late = World(clocks=world.clocks, inner=world.inner)
    runner = QueryRunner(
        SCHEMA,
        late.table,
        CursorKeys("k", {"k": b"k" * 16}),
        maps=late.maps,
        clock=lambda: world.clocks.wall,
        throttle=1,
    )
    late.maps.view(THING)
    late.table.calls.clear()

    def flip() -> None:
        world.set_phase(Phase.DUAL_NEW, rev="r3")
        world.clocks.pass_by(WAITS.lease_ms + 1)

    late.faults(None, Meanwhile(flip))
    page = runner.run(QuerySpec("thing", {}, index="created"))
    asked = [call.hash_value for call in late.table.calls if isinstance(call, Query)]
    assert len(page.items) == 1
    assert asked[:2] == ["thing!0", "thing!1"]
    assert asked[2:] == ["thing!00", "thing!01", "thing!10", "thing!11"]


def test_a_map_that_is_no_longer_kept_is_an_expired_cursor(world: World) -> None:
    world.set_phase(Phase.NEW_ONLY)
    assert world.maps.readable(THING, 1).id == 1
    with pytest.raises(CursorExpired):
        world.maps.readable(THING, 0)


def test_where_the_check_stands_in_the_writes_own_transaction_it_is_exact(world: World) -> None:
    exact = LeasedMaps(world.table, WAITS, clock=lambda: world.clocks.wall, exact=True)
    lease = exact.view(THING).lease
    assert lease is not None
    lease.check()
    world.set_phase(Phase.DUAL_OLD)
    with pytest.raises(ShardMapChanged):
        lease.check()
