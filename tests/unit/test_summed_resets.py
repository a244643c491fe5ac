"""Numbers that a read model counts can be reset: what was counted is settled, and what comes later counts."""

from __future__ import annotations

import asyncio
from decimal import Decimal
from typing import Any

import pytest

from shardweave import AsyncDatabase, Database
from shardweave.errors import InputError, NotFound, RevisionConflict, UnknownName
from shardweave.store import Put, Reset
from tests.unit.read_model_world import Seen, Sent, Tally, post_office
from tests.unit.store_world import START, World
from tests.unit.summed_world import SCHEMA, Box, Hall, Letter, changes_of, feed, post_room


def box(world: World, name: str = "ann") -> tuple[int, Decimal]:
    """The numbers of a member after all changes were handled."""
    feed(world.store, changes_of(world.inner))
    found = world.store.get(Box, name)
    assert found is not None
    return found.unread, found.weight


def send(world: World, name: str, weight: int = 1) -> None:
    world.store.put(Letter(letter_id=name, created=START, member_ids=["ann"], weight=Decimal(weight)))


def full_box() -> World:
    world = post_room()
    send(world, "a", 2)
    send(world, "b", 3)
    assert box(world) == (2, 5)
    return world


def test_a_reset_sets_all_numbers_of_a_record_to_0_and_what_comes_later_counts() -> None:
    world = full_box()
    reset = world.store.reset(Box, "ann")
    assert (reset.unread, reset.weight) == (0, 0)
    assert box(world) == (0, 0)
    send(world, "c", 7)
    assert box(world) == (1, 7)


def test_what_was_settled_adds_its_difference_and_takes_nothing_away() -> None:
    world = full_box()
    world.store.reset(Box, "ann")
    send(world, "a", 5)
    world.store.delete(Letter, "b")
    assert box(world) == (0, 3)
    world.store.delete(Letter, "a")
    assert box(world) == (0, 0)


def test_a_reset_of_one_number_leaves_the_others() -> None:
    world = full_box()
    world.store.reset(Box, "ann", "unread")
    assert box(world) == (0, 5)
    world.store.delete(Letter, "a")
    assert box(world) == (0, 3)


def test_a_reset_of_a_revision_is_refused_once_something_else_has_come() -> None:
    world = full_box()
    seen = world.store.get(Box, "ann")
    assert seen is not None
    send(world, "c")
    assert box(world)[0] == 3
    with pytest.raises(RevisionConflict):
        world.store.reset(Box, "ann", rev=seen.rev)
    assert box(world)[0] == 3


def test_a_letter_that_was_sent_before_and_is_told_of_after_a_reset_counts() -> None:
    world = full_box()
    send(world, "c")
    world.store.reset(Box, "ann")
    assert box(world)[0] == 1


def test_a_reset_stands_in_a_transaction_with_other_writes() -> None:
    world = full_box()
    written = world.store.transact([Reset(Box, "ann"), Put(Letter(letter_id="c", created=START, member_ids=[]))])
    assert written[0] is not None
    assert written[0].unread == 0  # type: ignore[attr-defined]
    with pytest.raises(NotFound, match="no such box"):
        world.store.transact([Put(Letter(letter_id="d", created=START, member_ids=[])), Reset(Box, "nobody")])
    assert world.store.get(Letter, "d") is None


def test_numbers_that_events_add_to_can_be_reset_too() -> None:
    world = post_office()
    for number in range(3):
        world.store.apply("parcels", Sent(event_id=f"s{number}", position=number, parcel_id=f"p{number}", owner="ann"))
    world.store.reset(Tally, {}, "sent")
    late = Sent(event_id="late", position=0, parcel_id="p9", owner="ann")
    for event in (late, Seen(event_id="x", position=9, parcel_id="p0", place=None)):
        world.store.apply("parcels", event)
    assert world.store.apply("parcels", late).repeated
    tally = world.store.get(Tally, {})
    assert tally is not None
    assert (tally.sent, tally.seen) == (1, 1)


@pytest.mark.parametrize(
    ("model", "key", "names", "code", "message"),
    [
        (Box, "nobody", (), NotFound, "no such box"),
        (Letter, "a", (), InputError, "only what a read model counts can be reset"),
        (Box, "ann", ("colour",), InputError, "only unread, weight can be reset"),
        (Box, "ann", ("size",), UnknownName, "size"),
        (Box, {"size": 1}, (), UnknownName, "size"),
    ],
)
def test_what_cannot_be_reset_is_refused(model: Any, key: Any, names: Any, code: Any, message: str) -> None:
    world = full_box()
    before = world.items()
    with pytest.raises(code, match=message) as refused:
        world.store.reset(model, key, *names)
    assert refused.value.fix
    assert world.items() == before


def test_a_database_feeds_and_resets() -> None:
    with Database(SCHEMA) as db:
        db.create(Letter(letter_id="a", member_ids=["ann"]))
        assert db.feed() == 4  # the letter; then the numbers of two records, and what is remembered
        assert db.feed() == 0
        found = db.get(Box, "ann")
        assert found is not None
        assert found.unread == 1
        assert db.reset(Box, "ann", rev=found.rev).unread == 0
        with pytest.raises(InputError, match="a number must be named by text"):
            db.reset(Box, "ann", 5)  # type: ignore[arg-type]
        with pytest.raises(InputError, match="must be a revision"):
            db.reset(Box, "ann", rev=5)  # type: ignore[arg-type]


def test_an_asynchronous_database_feeds_and_resets() -> None:
    async def whole() -> None:
        async with AsyncDatabase(SCHEMA) as db:
            await db.create(Letter(letter_id="a", member_ids=["ann"]))
            await db.feed()
            hall = await db.get(Hall, {})
            assert hall is not None
            assert hall.letters == 1
            assert (await db.reset(Hall, {})).letters == 0
            assert (await db.rebuild("unread")).done
            assert (await db.reset(Box, "ann")).unread == 0

    asyncio.run(whole())
