"""What can come in the way of a re-shard, case by case: other programs, expiry, deployments, operators, late movers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import Conflict
from shardweave.keys.sharding import ShardBump
from shardweave.reshard.admin import ReshardAdmin
from shardweave.reshard.control import control_key
from shardweave.reshard.mover import Mover
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep
from shardweave.schema.entity import Entity, RangeKey
from shardweave.schema.entity_type import MARK
from shardweave.schema.property_options import ttl_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.table.fault_injection import Afterwards, Meanwhile, Script
from shardweave.table.operations import DeleteItem, GetItem, PutItem, TransactWrite, UpdateItem
from shardweave.values.codecs import TimestampSeconds
from tests.unit.reshard_world import ReshardWorld


class Leaf(Entity, token="leaf", shard_bumps=[ShardBump(0, char_bits=1, chars=0)]):
    leaf_id: str = unique_property()
    expires: TimestampSeconds | None = ttl_property()
    text: str = ""


class Twig(Entity, token="twig", partition="tree", sort="number", shard_bumps=[ShardBump(0, 1, 1)]):
    tree: str
    number: int
    text: str = ""


SCHEMA = Schema([Leaf, Twig])
TWO = ShardBump(0, char_bits=1, chars=1)
FOUR = ShardBump(0, char_bits=2, chars=2)
LEAVES = SCHEMA[Leaf]


def world_with(*names: str, schema: Schema = SCHEMA) -> ReshardWorld:
    world = ReshardWorld(schema=schema)
    for name in names:
        world.store.create(Leaf(leaf_id=name))
    return world


def leaf(world: ReshardWorld, name: str, width: int) -> dict[str, Any] | None:
    """The stored item of a leaf in the space of that width."""
    found = [i for i in world.items_of(Leaf) if i["leafId"] == name and len(i["hashKey"]) == len("leaf!") + width]
    return found[0] if found else None


def names(world: ReshardWorld, width: int) -> list[str]:
    leaves = [item for item in world.items() if item["hashKey"].startswith("leaf!")]
    return sorted(item["leafId"] for item in leaves if len(item["hashKey"]) == len("leaf!") + width)


def stray(name: str, **more: Any) -> dict[str, Any]:
    """What another program puts into O: no revision."""
    return {"hashKey": "leaf!", "rangeKey": f"leafId#{name}", "leafId": name, "text": "stray", **more}


class TestStrays:
    """Another program writes to O, in each phase."""

    @pytest.mark.parametrize("step", [ReshardStep.COPY, ReshardStep.SWEEP, ReshardStep.SETTLE])
    def test_before_the_verification_they_are_copied(self, step: ReshardStep) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        world.run_until(Leaf, Phase.DUAL_OLD, step)
        world.inner.run(PutItem(stray("s")))
        world.inner.run(PutItem({**world.items_of(Leaf)[0], "text": "changed in place"}))
        world.finish(Leaf)
        assert names(world, 1) == ["a", "s"]
        assert (leaf(world, "s", 1) or {})["text"] == "stray"
        assert (leaf(world, "a", 1) or {})["text"] == "changed in place"

    def test_after_the_flip_they_stop_it_and_are_left_alone(self) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        world.run_until(Leaf, Phase.DUAL_NEW)
        world.inner.run(PutItem(stray("s")))
        world.run_until(Leaf, Phase.DUAL_NEW, ReshardStep.VERIFY)
        world.settle(Leaf)
        assert "items, old or new, differ between the spaces: 1" in world.control(Leaf).attention
        world.abort(Leaf)
        world.finish(Leaf)
        assert names(world, 0) == ["a", "s"]

    @pytest.mark.parametrize("phase", [Phase.NEW_ONLY, Phase.PURGE])
    def test_later_they_block_the_end_until_someone_has_looked(self, phase: Phase) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        world.run_until(Leaf, phase)
        world.inner.run(PutItem(stray("s")))
        for _ in range(40):
            world.settle(Leaf)
            world.clock.now += 500
        assert "other programs" in world.control(Leaf).attention
        assert names(world, 0) == ["s"]
        world.inner.run(DeleteItem({"hashKey": "leaf!", "rangeKey": "leafId#s"}))
        world.resume(Leaf)
        world.finish(Leaf)
        assert (names(world, 0), names(world, 1)) == ([], ["a"])

    def test_what_can_not_be_copied_stops_it_before_the_flip(self) -> None:
        world = world_with("a")
        world.inner.run(PutItem(stray("s", **{f"attribute{number}": number for number in range(300)})))
        world.start(Leaf, TWO)
        world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.VERIFY)
        world.settle(Leaf)
        assert (world.control(Leaf).phase, world.control(Leaf).step) == (Phase.DUAL_OLD, ReshardStep.VERIFY)
        assert "can't be moved" in world.control(Leaf).attention
        world.inner.run(UpdateItem({"hashKey": "leaf!", "rangeKey": "leafId#s"}, {"rev": "now it has one"}))
        world.resume(Leaf)
        world.finish(Leaf)
        assert names(world, 1) == ["a", "s"]

    def test_in_the_new_space_they_are_swept(self) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SETTLE)
        world.inner.run(PutItem({**stray("s"), "hashKey": "leaf!0"}))
        world.finish(Leaf)
        assert names(world, 1) == ["a"]


class TestExpiry:
    def test_expired_records_are_not_copied_and_do_not_block_the_end(self) -> None:
        world = world_with("a")
        world.store.create(Leaf(leaf_id="e", expires=world.clock.now // 1000 + 1))
        world.clock.now += 2000
        world.start(Leaf, TWO)
        world.run_until(Leaf, Phase.DUAL_NEW)
        assert names(world, 1) == ["a"]
        world.finish(Leaf)
        assert names(world, 0) == []

    @pytest.mark.parametrize("width", [0, 1])
    @pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.DUAL_NEW])
    def test_a_removal_of_one_copy_alone_is_no_difference(self, phase: Phase, width: int) -> None:
        world = world_with("a")
        world.store.create(Leaf(leaf_id="e", expires=world.clock.now // 1000 + 1))
        world.start(Leaf, TWO)
        world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SETTLE)
        world.clock.now += 2000
        if phase is Phase.DUAL_NEW:
            world.run_until(Leaf, phase)
        copy = leaf(world, "e", width)
        if copy is not None:
            world.inner.run(DeleteItem({name: copy[name] for name in ("hashKey", "rangeKey")}))
        world.finish(Leaf)
        assert (names(world, 0), world.control(Leaf).attention) == ([], "")


class TestLateMovers:
    """A transaction of a mover arrives after its step was left."""

    def test_it_does_nothing(self) -> None:
        world = world_with("a", "b")
        world.start(Leaf, TWO)
        world.inner.run(PutItem({**stray("s"), "hashKey": "leaf!0"}))
        world.run_until(Leaf, Phase.STABLE, ReshardStep.REST)
        late = [
            call
            for call in world.table.calls
            if isinstance(call, TransactWrite) and call.actions[0].key["rangeKey"].startswith("work#")  # type: ignore[union-attr]
        ]
        assert late
        before = world.items()
        for call in late:
            with pytest.raises(Exception, match="canceled"):
                world.inner.run(replace(call, token=world.new_name()))
        assert world.items() == before

    def test_a_mover_that_is_overtaken_writes_nothing_more(self) -> None:
        world = world_with("a", "b")
        world.start(Leaf, TWO)
        world.coordinator.step(LEAVES)
        (item,) = world.work(Leaf)
        world.table._faults = Script(Meanwhile(lambda: world.abort(Leaf)), matching=[TransactWrite])
        assert world.mover.slice(LEAVES, item) is None
        world.finish(Leaf)
        assert (names(world, 0), names(world, 1)) == (["a", "b"], [])

    def test_a_record_that_changes_after_it_was_read_is_copied_as_it_became(self) -> None:
        world = world_with("a", "b")
        world.start(Leaf, TWO)
        world.coordinator.step(LEAVES)
        (item,) = world.work(Leaf)

        def change() -> None:
            world.inner.run(UpdateItem({"hashKey": "leaf!", "rangeKey": "leafId#a"}, {"text": "new", "rev": "new"}))

        world.table._faults = Script(Meanwhile(change), matching=[TransactWrite])
        done = world.mover.slice(LEAVES, item)
        assert done is not None
        assert (done.done, done.counts.written) == (True, 2)
        assert (leaf(world, "a", 1) or {})["text"] == "new"

    def test_a_record_that_goes_after_it_was_read_is_not_copied(self) -> None:
        world = world_with("a", "b")
        world.start(Leaf, TWO)
        world.coordinator.step(LEAVES)
        (item,) = world.work(Leaf)
        removal = Meanwhile(lambda: world.inner.run(DeleteItem({"hashKey": "leaf!", "rangeKey": "leafId#a"})))
        world.table._faults = Script(removal, matching=[TransactWrite])
        assert world.mover.slice(LEAVES, item) is not None
        assert names(world, 1) == ["b"]

    def test_two_movers_do_not_work_on_one_item_at_once(self) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        world.coordinator.step(LEAVES)
        (item,) = world.work(Leaf)
        other: Mover = world.new_mover(world.inner)
        tried: list[object] = []
        world.table._faults = Script(Afterwards(lambda: tried.append(other.slice(LEAVES, item))), matching=[UpdateItem])
        assert world.mover.slice(LEAVES, item) is not None
        assert tried == [None]


class TestOperators:
    def test_a_second_one_for_the_same_entity_is_refused(self) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        with pytest.raises(Conflict, match="under way"):
            world.start(Leaf, FOUR)

    def test_of_two_at_once_one_is_refused(self) -> None:
        world = world_with("a")
        coordinator = world.new_coordinator(world.table)
        world.table._faults = Script(Meanwhile(lambda: world.start(Leaf, FOUR)), matching=[PutItem])
        with pytest.raises(AssertionError):
            world.start(Leaf, TWO, coordinator=coordinator)
        new = world.control(Leaf).new
        assert new is not None
        assert new.generations[0].space == FOUR.space

    def test_an_abort_gets_through_however_often_movers_are_faster(self) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        leaf = world.schema[Leaf]
        faster = Meanwhile(lambda: world.put_control(leaf, world.control(Leaf)))
        world.table._faults = Script(*[faster] * 20, matching=[PutItem])
        coordinator = world.new_coordinator(world.table)
        operator = ReshardAdmin(
            world.table, coordinator, world.waits, clock=world.clock, waiting=world.pauses.waiting()
        )
        assert operator.abort(leaf).aborting

    def test_two_entities_move_at_once(self) -> None:
        world = world_with("a")
        world.store.create(Twig(tree="t", number=1))
        world.start(Leaf, TWO)
        world.start(Twig, FOUR)
        for _ in range(200):
            world.settle(Leaf)
            world.settle(Twig)
            world.clock.now += 500
        assert names(world, 1) == ["a"]
        assert [item["hashKey"].partition(" ")[0][:5] for item in world.items_of(Twig)] == ["twig!"]
        assert {world.control(model).phase for model in (Leaf, Twig)} == {Phase.STABLE}


def test_a_partitioned_entity_moves_too_there_and_back() -> None:
    world = ReshardWorld(schema=SCHEMA)
    for number in range(8):
        world.store.create(Twig(tree=f"tree {number % 3}", number=number))
    before = sorted(map(str, world.items_of(Twig)))
    for target, width in ((FOUR, 2), (TWO, 1)):
        world.start(Twig, target)
        world.finish(Twig)
        world.clock.now += world.waits.skew_ms
        suffixes = {item["hashKey"].partition("!")[2].partition(" |")[0] for item in world.items_of(Twig)}
        assert {len(suffix) for suffix in suffixes} == {width}
    assert sorted(map(str, world.items_of(Twig))) == before


class LeafNow(Entity, token="leaf", shard_bumps=[ShardBump(0, char_bits=1, chars=0)]):
    leaf_id: str = unique_property()
    expires: TimestampSeconds | None = ttl_property()
    text: str = ""
    colour: str | None = None

    colour_range_key = RangeKey("colour", "leaf_id")


class LeafElsewhere(Entity, token="leaf", shard_bumps=[ShardBump(0, char_bits=3, chars=1)]):
    leaf_id: str = unique_property()
    expires: TimestampSeconds | None = ttl_property()
    text: str = ""


def end(world: ReshardWorld, model: type[Entity]) -> None:
    """Let it end, and go on where someone is asked to look at another declaration."""
    for _ in range(400):
        world.settle(model)
        control = world.control(model)
        if control.attention:
            assert "not the one that it was started or resumed with" in control.attention
            world.resume(model)
        if not control.moving:
            return
        world.clock.now += 500
    raise AssertionError(f"it stays in {world.control(model)}")


class TestDeployments:
    """The declaration changes while records move."""

    def test_movers_of_another_declaration_stop_it_and_resume_copies_anew(self) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        world.settle(Leaf)
        world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.VERIFY)
        world.schema = Schema([LeafNow, Twig])
        world.settle(LeafNow)
        assert "not the one that it was started or resumed with" in world.control(LeafNow).attention
        world.resume(LeafNow)
        assert world.control(LeafNow).step is ReshardStep.COPY
        world.finish(LeafNow)
        assert names(world, 1) == ["a"]

    @pytest.mark.parametrize("aborting", [False, True])
    @pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.DUAL_NEW, Phase.NEW_ONLY, Phase.PURGE])
    def test_writers_of_both_declarations_in_any_phase_lose_nothing(self, phase: Phase, aborting: bool) -> None:
        """A deploy is under way: some processes have the property that is new, and an index of it, others don't yet."""
        world = world_with("a", "b", "c")
        world.start(Leaf, TWO)
        world.run_until(Leaf, phase, ReshardStep.SETTLE if phase is Phase.DUAL_OLD else None)
        if aborting and phase <= Phase.DUAL_NEW:
            world.abort(Leaf)
        before, world.schema = world.store, Schema([LeafNow, Twig])
        after = world.new_store()
        after.update(LeafNow, "a", {"colour": "red"})
        before.update(Leaf, "a", {"text": "written by the one before"})
        before.create(Leaf(leaf_id="d"))
        after.update(LeafNow, "d", {"colour": "blue"})
        after.delete(LeafNow, "c")
        end(world, LeafNow)
        found = {name: world.new_store().get(LeafNow, name) for name in "abcd"}
        told = {name: record and (record.text, record.colour) for name, record in found.items()}
        assert told == {"a": ("written by the one before", "red"), "b": ("", None), "c": None, "d": ("", "blue")}
        assert names(world, 0 if aborting and phase <= Phase.DUAL_NEW else 1) == ["a", "b", "d"]

    def test_one_that_places_records_otherwise_moves_nothing(self) -> None:
        world = world_with("a")
        world.start(Leaf, TWO)
        world.coordinator.step(LEAVES)
        before = world.items_of(Leaf)
        (item,) = world.work(Leaf)
        other = Schema([LeafElsewhere, Twig])[LeafElsewhere]
        assert world.mover.slice(other, item) is None
        assert world.items_of(Leaf) == before


def test_a_record_of_the_greatest_size_moves() -> None:
    world = ReshardWorld(schema=SCHEMA)
    largest = 400 * 1024 - 600
    world.store.create(Leaf(leaf_id="a", text="x" * largest))
    world.start(Leaf, TWO)
    world.finish(Leaf)
    assert len((leaf(world, "a", 1) or {})["text"]) == largest


def test_marks_of_a_re_shard_that_was_taken_back_do_not_stand_for_the_next_one() -> None:
    world = world_with("a")
    world.start(Leaf, TWO)
    world.run_until(Leaf, Phase.DUAL_OLD, ReshardStep.SETTLE)
    world.abort(Leaf)
    world.finish(Leaf)
    assert (leaf(world, "a", 0) or {})[MARK] == 1
    world.clock.now += world.waits.skew_ms
    world.start(Leaf, TWO)
    world.finish(Leaf)
    assert (names(world, 0), names(world, 1)) == ([], ["a"])


def test_an_opening_and_a_leaving_exclude_each_other() -> None:
    """A coordinator closes the items to leave; before it has left, another opens them again."""
    world = world_with("a")
    world.start(Leaf, TWO)
    world.coordinator.step(LEAVES)
    other = world.new_coordinator(world.inner)
    world.table._faults = Script(Meanwhile(lambda: other.step(LEAVES)), matching=[PutItem])
    slow = world.new_coordinator(world.table)
    seen = slow.read(LEAVES)
    assert seen is not None
    following: ReshardState = replace(seen.control, step=ReshardStep.SETTLE, aborting=True)
    assert not slow.replace(LEAVES, seen, following)
    assert world.control(Leaf).step is ReshardStep.COPY
    (item,) = world.work(Leaf)
    assert item.open
    assert world.inner.run(GetItem(control_key(LEAVES), consistent=True)).item is not None


class TestLaterVerifications:
    """A day and a week after the flip, here a minute and a minute and a half."""

    def after(self, world: ReshardWorld, *, milliseconds: int) -> ReshardState:
        flipped = world.control(Leaf).flipped_ms
        assert flipped is not None
        while world.clock.now < flipped + milliseconds:
            world.clock.now += 500
            world.settle(Leaf)
        return world.control(Leaf)

    def moved(self) -> ReshardWorld:
        world = world_with("a", "b")
        world.start(Leaf, TWO)
        world.finish(Leaf)
        return world

    def test_they_run_by_themselves_and_leave_nothing_behind(self) -> None:
        world = self.moved()
        before = world.items_of(Leaf)
        assert self.after(world, milliseconds=59_000).rechecked == 0
        assert self.after(world, milliseconds=61_000).rechecked == 1
        assert self.after(world, milliseconds=120_000).rechecked == 2
        assert (world.control(Leaf).attention, world.control(Leaf).moving) == ("", False)
        assert world.items_of(Leaf) == before
        assert len(world.items()) == len(before) + 1

    def test_a_record_that_is_not_where_it_belongs_needs_attention(self) -> None:
        world = self.moved()
        record = world.items_of(Leaf)[0]
        other = {"leaf!0": "leaf!1", "leaf!1": "leaf!0"}[record["hashKey"]]
        world.inner.run(PutItem({**record, "hashKey": other}))
        control = self.after(world, milliseconds=61_000)
        assert "records are not where they belong" in control.attention
        assert not control.moving

    def test_another_move_may_begin_meanwhile_and_so_may_another_declaration(self) -> None:
        world = self.moved()
        self.after(world, milliseconds=59_000)
        world.clock.now += 1000
        world.coordinator.step(LEAVES)
        assert world.control(Leaf).step is ReshardStep.VERIFY
        world.start(Leaf, FOUR)
        assert world.control(Leaf).phase is Phase.DUAL_OLD
        world.finish(Leaf)
        assert names(world, 2) == ["a", "b"]
