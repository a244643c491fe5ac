"""A whole re-shard, from the start to its end, with nobody in the way."""

from __future__ import annotations

from shardweave.keys.sharding import ShardBump
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.reshard.timings import Pace
from shardweave.service.build import reshard_operator
from tests.unit.reshard_world import FOUR, ReshardWorld, add_notes
from tests.unit.store_world import Note

SIXTEEN = ShardBump(0, char_bits=2, chars=2)


def widths(world: ReshardWorld) -> set[int]:
    return {len(item["hashKey"].partition("!")[2]) for item in world.items_of(Note)}


def test_every_record_is_in_the_new_shards_in_the_end_and_nowhere_else() -> None:
    world = ReshardWorld()
    names = add_notes(world, 60)
    world.start(Note, SIXTEEN)
    world.finish(Note)
    assert widths(world) == {2}
    assert sorted(item["noteId"] for item in world.items_of(Note)) == sorted(names)
    assert all("_mark" not in item for item in world.items_of(Note))
    store = world.new_store()
    assert [store.get(Note, name).note_id for name in names] == names


def test_and_back_again() -> None:
    world = ReshardWorld()
    names = add_notes(world, 30)
    before = sorted(map(str, world.items_of(Note)))
    world.start(Note, SIXTEEN)
    world.finish(Note)
    world.clock.now += world.waits.skew_ms
    world.start(Note, FOUR)
    world.finish(Note)
    assert sorted(map(str, world.items_of(Note))) == before
    assert sorted(item["noteId"] for item in world.items_of(Note)) == sorted(names)


def test_an_abort_leaves_every_record_where_it_was() -> None:
    world = ReshardWorld()
    names = add_notes(world, 30)
    world.start(Note, SIXTEEN)
    world.run_until(Note, Phase.DUAL_OLD, ReshardStep.SETTLE)
    assert widths(world) == {1, 2}
    world.abort(Note)
    world.finish(Note)
    assert widths(world) == {1}
    assert sorted(item["noteId"] for item in world.items_of(Note)) == sorted(names)


def test_an_abort_from_dual_new_goes_back_over_dual_old() -> None:
    world = ReshardWorld()
    names = add_notes(world, 30)
    world.start(Note, SIXTEEN)
    world.run_until(Note, Phase.DUAL_NEW)
    world.abort(Note)
    assert world.control(Note).phase is Phase.DUAL_OLD
    world.finish(Note)
    assert widths(world) == {1}
    assert sorted(item["noteId"] for item in world.items_of(Note)) == sorted(names)


def test_a_rate_is_kept_to_and_a_slice_ends_in_time_all_the_same() -> None:
    world = ReshardWorld(pace=Pace(slice_ms=4000, margin_ms=1000, page=100))
    add_notes(world, 60)
    world.start(Note, SIXTEEN, rate=2)
    world.coordinator.step(world.schema[Note])
    (item, *_) = world.work(Note)
    begun = world.pauses.now
    done = world.mover.slice(world.schema[Note], item)
    assert done is not None
    assert 0 < done.counts.written <= 10
    assert world.pauses.now - begun >= done.counts.written / 2
    assert not done.done


def test_another_rate_holds_from_the_next_slice_on_and_nothing_is_done_again() -> None:
    world = ReshardWorld(pace=Pace(slice_ms=4000, margin_ms=1000, page=100))
    add_notes(world, 60)
    world.start(Note, SIXTEEN, rate=2)
    entity = world.schema[Note]
    world.coordinator.step(entity)
    (item, *_) = world.work(Note)
    slow = world.mover.slice(entity, item)
    assert slow is not None
    operator = reshard_operator(world.inner, world.waits, world.clock)
    assert operator.set_rate(entity, 0).rate == 0
    (now, *_) = world.work(Note)
    assert (now.token, now.at, now.key, now.counts) == (slow.token, slow.at, slow.key, slow.counts)
    begun = world.pauses.now
    done = world.mover.slice(entity, now)
    assert done is not None
    assert done.done
    assert done.counts.written == done.counts.seen > slow.counts.written
    assert world.pauses.now == begun
