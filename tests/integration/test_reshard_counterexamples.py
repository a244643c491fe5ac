"""Histories that broke earlier forms of the protocol, one test each.

Strays, the removal of one copy alone, the record of the greatest size and movers that are overtaken are in
`test_reshard_cases`; a write whose composition changes while its answer is missing is in `test_reshard_maps`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from shardweave.errors import CursorExpired, IdempotentParameterMismatch, InputError, TransactionCanceled
from shardweave.keys.sharding import ShardBump
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import QuerySpec
from shardweave.reshard.leased_maps import LeasedMaps
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Store
from shardweave.table.fault_injection import Meanwhile, Script, SimulatedTable, Stall
from shardweave.table.operations import DeleteItem, PutItem, TransactWrite, UpdateItem
from shardweave.values.codecs import Timestamp
from tests.unit.reshard_world import ReshardWorld
from tests.unit.store_world import SECOND_BUMP

BEGINS = SECOND_BUMP + 10**9 + 4000
"""A few seconds after a world begins."""


class Leaf(Entity, token="leaf", shard_bumps=[ShardBump(0, 1, 1), ShardBump(BEGINS, 1, 3)]):
    leaf_id: str = unique_property()
    created: Timestamp = timestamp_property()
    text: str = ""


SCHEMA = Schema([Leaf], [Index("created", "hash_key", "created")])
FOUR = ShardBump(0, char_bits=1, chars=2)
LATER_PHASES = (Phase.DUAL_NEW, Phase.NEW_ONLY, Phase.PURGE, Phase.STABLE)


class World(ReshardWorld):
    """A world with leaves and with readers."""

    def __init__(self, *names: str) -> None:
        super().__init__(schema=SCHEMA)
        for name in names:
            self.store.create({"leaf_id": name}, Leaf)
        self.reader = QueryRunner(
            SCHEMA,
            self.inner,
            CursorKeys("k", {"k": b"k" * 16}),
            maps=self.new_maps(),
            clock=self.clock,
            cursor_life_ms=self.waits.cursor_life_ms,
        )

    def new_maps(self, *, exact: bool = False) -> LeasedMaps:
        return LeasedMaps(self.inner, self.waits, clock=self.clock, monotonic=self.clock, exact=exact)

    def paused_store(self, meanwhile: Callable[[], None], *, exact: bool = False) -> Store:
        """A store whose next write is checked, and then waits while something else happens; with `exact` it is the
        table that checks, when the write arrives."""
        fault = Meanwhile(meanwhile) if exact else Stall(meanwhile)
        table = SimulatedTable(self.inner, Script(fault, matching=[PutItem, UpdateItem, DeleteItem, TransactWrite]))
        store = Store(SCHEMA, table, clock=self.clock, maps=self.new_maps(exact=exact), waiting=self.pauses.waiting())
        store.get(Leaf, "any")
        return store

    def pass_by(self, milliseconds: int) -> None:
        self.clock.now += milliseconds

    def move(self) -> None:
        """A whole move."""
        self.start(Leaf, FOUR)
        self.finish(Leaf)

    def places(self) -> dict[str, list[int]]:
        """The widths of the suffixes under which each leaf is stored."""
        found: dict[str, list[int]] = {}
        for item in self.items_of(Leaf):
            found.setdefault(item["leafId"], []).append(len(item["hashKey"]) - len("leaf!"))
        return found

    def walk(self, meanwhile: Callable[[int], None]) -> list[str]:
        """The leaves as a reader meets them, one a page; `meanwhile` is what happens after each page."""
        met: list[str] = []
        cursor = None
        while True:
            page = self.reader.run(QuerySpec("leaf", {}, index="created", limit=1, cursor=cursor))
            met += [str(found.leaf_id) for found in page.items]
            cursor = page.cursor
            if cursor is None:
                return met
            meanwhile(len(met))

    def late_calls(self, *, copies: bool) -> list[TransactWrite]:
        """The transactions of movers that put, or those that only remove, in the order in which they came."""
        calls = [call for call in self.table.calls if isinstance(call, TransactWrite)]
        work = [call for call in calls if call.actions[0].key["rangeKey"].startswith("work#")]  # type: ignore[union-attr]
        return [call for call in work if any(isinstance(each, PutItem) for each in call.actions) == copies]


@pytest.mark.parametrize("how", ["update", "put", "delete"])
def test_a_writer_that_pauses_between_its_age_check_and_its_request_over_a_whole_move(how: str) -> None:
    """It goes by the old space alone, finds nothing there, and plans anew."""
    world = World("a", "b")
    store = world.paused_store(world.move)
    if how == "update":
        store.update(Leaf, "a", {"text": "new"})
    elif how == "put":
        store.put({"leaf_id": "a", "text": "new"}, Leaf)
    else:
        assert store.delete(Leaf, "a")
    assert world.places() == ({"b": [2]} if how == "delete" else {"a": [2], "b": [2]})
    left = world.store.get(Leaf, "a")
    assert (left and left.text) == (None if how == "delete" else "new")


def test_a_create_that_pauses_over_a_whole_move_where_the_table_checks_the_map_itself() -> None:
    """In DynamoDB its signature would be too old; the embedded table reads the control record in its transaction."""
    world = World("a")
    world.paused_store(world.move, exact=True).create({"leaf_id": "late"}, Leaf)
    assert world.places() == {"a": [2], "late": [2]}


@pytest.mark.parametrize("phase", LATER_PHASES)
def test_a_backfill_that_wakes_in_a_later_phase(phase: Phase) -> None:
    world = World("a", "b")
    world.start(Leaf, FOUR)
    world.run_until(Leaf, phase)
    world.store.update(Leaf, "a", {"text": "newer"})
    before = world.items()
    late = world.late_calls(copies=True)
    assert late
    for call in late:
        with pytest.raises(TransactionCanceled):
            world.inner.run(replace(call, token=world.new_name()))
    assert world.items() == before


def test_a_sweep_delivered_again_after_purge() -> None:
    """What it removed has been created since, with the revision that it saw: nothing but its token can stop it."""
    world = World("a")
    world.start(Leaf, FOUR)
    world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SWEEP)
    left_over = {**world.items_of(Leaf)[0], "hashKey": "leaf!00", "rangeKey": "leafId#s", "leafId": "s"}
    world.inner.run(PutItem(left_over))
    world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SETTLE)
    (sweep,) = (call for call in world.late_calls(copies=False) if isinstance(call.actions[-1], DeleteItem))
    assert "s" not in world.places()
    world.finish(Leaf)
    world.inner.run(PutItem(left_over))
    with pytest.raises(TransactionCanceled):
        world.inner.run(replace(sweep, token=world.new_name()))
    assert "s" in world.places()


def test_a_cursor_re_issued_hourly_does_not_outlive_the_soak() -> None:
    """A walk has the life of its first page, however often it asks; else the old space would never be given up."""
    world = World(*"abcdefgh")
    with pytest.raises(CursorExpired):
        world.walk(lambda met: world.pass_by(world.waits.cursor_life_ms // 4))


def test_cursors_from_before_live_on_over_the_flip() -> None:
    world = World(*"abcdef")

    def go_on(met: int) -> None:
        if met == 2:
            world.start(Leaf, FOUR)
            world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SETTLE)
        elif met == 4:
            world.run_until(Leaf, Phase.DUAL_NEW)

    assert sorted(world.walk(go_on)) == list("abcdef")


def test_abort_under_live_cursors() -> None:
    """A walk that began on the new space ends on it, and sees what was written after the way back was taken."""
    world = World(*"abcdef")
    world.start(Leaf, FOUR)
    world.run_until(Leaf, Phase.DUAL_NEW)
    world.pass_by(world.waits.lease_ms)

    def take_back(met: int) -> None:
        if met == 2:
            world.abort(Leaf)
            world.pass_by(world.waits.skew_ms)
            world.settle(Leaf)
            world.store.create({"leaf_id": "z"}, Leaf)

    assert sorted(world.walk(take_back)) == [*"abcdef", "z"]
    world.finish(Leaf)
    assert world.places() == {**{name: [1] for name in "abcdef"}, "z": [3]}


def test_the_same_token_with_another_composition() -> None:
    """The table refuses it, so a write that got no answer is never sent in the form of another phase."""
    world = World()
    first = PutItem({"hashKey": "leaf!0", "rangeKey": "leafId#a", "leafId": "a"})
    world.inner.run(TransactWrite((first,), token="t"))
    copy = replace(first, item={**first.item, "hashKey": "leaf!00"})
    with pytest.raises(IdempotentParameterMismatch):
        world.inner.run(TransactWrite((first, copy), token="t"))
    assert world.places() == {"a": [1]}


def test_a_bump_that_begins_in_the_middle() -> None:
    """Leaves from before its time move; leaves of its own are in the bump's shards in both maps, and stay there."""
    world = World("before")
    world.start(Leaf, FOUR)
    made: dict[str, bool] = {}
    for phase in (Phase.DUAL_OLD, Phase.DUAL_NEW, Phase.NEW_ONLY, Phase.PURGE):
        world.run_until(Leaf, phase)
        for part in range(2):
            name = f"{phase.name} {part}"
            made[name] = world.clock.now >= BEGINS
            world.store.create({"leaf_id": name}, Leaf)
    world.finish(Leaf)
    assert set(made.values()) == {False, True}
    assert world.places() == {"before": [2], **{name: [3 if begun else 2] for name, begun in made.items()}}


def test_a_transaction_of_60_actions_is_refused_before_a_move_as_it_would_be_during_one() -> None:
    """Every record may have to be written twice, so what fits in one phase fits in each."""
    world = World()

    def create(count: int) -> None:
        world.store.transact([Create({"leaf_id": f"{world.clock.now} {n}"}, Leaf) for n in range(count)])

    for phase in (None, Phase.DUAL_OLD, Phase.DUAL_NEW, Phase.NEW_ONLY):
        if phase is Phase.DUAL_OLD:
            world.start(Leaf, FOUR)
        if phase is not None:
            world.run_until(Leaf, phase)
        with pytest.raises(InputError, match="100 are possible"):
            create(60)
