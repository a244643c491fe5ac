"""Whatever the order in which the stream tells of changes, how often, and what goes wrong on the way: the same numbers.

Letters are written while some of the changes have been handled and some have not; resets and rebuilds happen between.
The shapes of the histories are counted: each kind of act, a change of every kind, and changes that are told out of
order, have to be met.
"""

from __future__ import annotations

import random
import threading
from collections import Counter
from decimal import Decimal
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.errors import NotFound, ShardweaveError
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.store import Store
from shardweave.table.fault_injection import (
    Crash,
    Crashed,
    Fault,
    LoseAnswer,
    LoseRequest,
    MeetTransaction,
    Seeded,
    SimulatedTable,
    Throttle,
)
from shardweave.table.operations import PutItem
from shardweave.table.stream_operations import StreamRecord
from tests.unit.store_world import START, World
from tests.unit.summed_world import UNREAD, Box, Letter, changes_of, post_room, recounted, summed

MEMBERS = ("ann", "bob", "cid")
IDS = ("a", "b", "c")
FAULTS: dict[Fault, float] = {
    LoseAnswer(): 0.05,
    LoseRequest(): 0.05,
    Throttle(): 0.05,
    MeetTransaction(): 0.05,
    Crash(): 0.05,
    Crash(carried_out=True): 0.05,
}

Act = tuple[Any, ...]
acts = st.one_of(
    st.tuples(
        st.just("put"),
        st.sampled_from(IDS),
        st.lists(st.sampled_from(MEMBERS), max_size=3),
        st.integers(0, 3),
    ),
    st.tuples(st.just("delete"), st.sampled_from(IDS)),
    st.tuples(st.just("tell"), st.integers(0, 10**6), st.integers(1, 4)),
)


def live(world: World) -> list[Letter]:
    """The letters that are there."""
    return [each for each in world.other.batch_get(Letter, IDS) if each is not None]


def tell(world: World, change: StreamRecord) -> None:
    """Tell of a change until it has been handled, as a stream does."""
    while True:
        try:
            world.store.feed.handle(change)
        except (ShardweaveError, Crashed):
            world.store = world.new_store(world.table)
        else:
            return


def act(world: World, given: Act, shapes: Counter[str]) -> None:
    """Write a letter, or tell of some changes, in any order."""
    kind, *said = given
    shapes[kind] += 1
    if kind == "put":
        name, members, weight = said
        world.other.put(Letter(letter_id=name, created=START, member_ids=members, weight=Decimal(weight)))
    elif kind == "delete":
        world.other.delete(Letter, said[0])
    else:
        changes = changes_of(world.inner)
        chosen = random.Random(said[0]).choices(changes, k=said[1]) if changes else []
        shapes["out of order"] += chosen != sorted(chosen, key=lambda each: each.sequence)
        for each in chosen:
            shapes[each.event] += 1
            tell(world, each)


def finish(world: World, seed: int) -> None:
    """Tell of every change, in an order of its own."""
    changes = list(changes_of(world.inner))
    random.Random(seed).shuffle(changes)
    for each in changes:
        tell(world, each)


def test_any_order_and_repetition_gives_the_sums_over_the_records() -> None:
    met: Counter[str] = Counter()

    @settings(max_examples=120)
    @given(st.lists(acts, max_size=12), st.integers(0, 10**6), st.booleans())
    def histories(said: list[Act], seed: int, faulty: bool) -> None:
        world = post_room()
        if faulty:
            world.table = SimulatedTable(world.inner, Seeded(seed, FAULTS))
            world.store = world.new_store(world.table)
            met["faults"] += 1
        for each in said:
            act(world, each, met)
        finish(world, seed)
        assert summed(world.other, MEMBERS) == recounted(live(world), MEMBERS)

    histories()
    wanted = {"put", "delete", "tell", "INSERT", "MODIFY", "REMOVE", "out of order", "faults"}
    assert {each for each in wanted if met[each] >= 10} == wanted, dict(met)


NEW_IDS = ("d", "e")
later_acts = st.one_of(
    st.tuples(st.just("put"), st.sampled_from(NEW_IDS), st.lists(st.sampled_from(MEMBERS), max_size=3), st.just(2)),
    st.tuples(st.just("weigh"), st.sampled_from(IDS), st.integers(0, 3)),
    st.tuples(st.just("delete"), st.sampled_from((*IDS, *NEW_IDS))),
    st.tuples(st.just("tell"), st.integers(0, 10**6), st.integers(1, 4)),
)


@settings(max_examples=100)
@given(st.lists(acts, max_size=8), st.lists(later_acts, max_size=10), st.integers(0, 10**6))
def test_after_a_reset_the_numbers_are_what_has_come_since(before: list[Act], after: list[Act], seed: int) -> None:
    """A letter that was counted before adds the difference to its weight then, and nothing once it is gone."""
    world, shapes = post_room(), Counter[str]()
    for each in before:
        act(world, each, shapes)
    finish(world, seed)
    settled = {each.letter_id: each for each in live(world)}
    for name in MEMBERS:
        try:
            assert world.other.reset(Box, name).unread == 0
        except NotFound:
            assert not any(name in each.member_ids for each in settled.values())
    for each in after:
        if each[0] != "weigh":
            act(world, each, shapes)
        elif world.other.get(Letter, each[1]) is not None:
            world.other.update(Letter, each[1], {"weight": Decimal(each[2])})
    finish(world, seed + 1)
    letters = [each for each in world.other.batch_get(Letter, (*IDS, *NEW_IDS)) if each is not None]
    for name in MEMBERS:
        own = [each for each in letters if name in each.member_ids]
        unread = sum(each.letter_id in NEW_IDS for each in own)
        weight = sum((each.weight for each in own), Decimal(0))
        weight -= sum((settled[each.letter_id].weight for each in own if each.letter_id in settled), Decimal(0))
        assert summed(world.other, [name])[name] == (unread, weight)


@settings(max_examples=60)
@given(st.lists(acts, max_size=8), st.lists(acts, max_size=8), st.integers(0, 10**6), st.integers(0, 8))
def test_a_rebuild_that_is_stopped_anywhere_ends_with_the_sums_whatever_was_wrong(
    before: list[Act], during: list[Act], seed: int, stops: int
) -> None:
    world, shapes = post_room(), Counter[str]()
    for each in before:
        act(world, each, shapes)
    damage(world, seed)
    left = list(during)
    for _ in range(stops):
        rebuild(world.other, rounds=1)
        if left:
            act(world, left.pop(), shapes)
    for each in left:
        act(world, each, shapes)
    report = rebuild(world.other)
    assert report.done
    finish(world, seed)
    assert summed(world.other, MEMBERS) == recounted(live(world), MEMBERS)


def damage(world: World, seed: int) -> None:
    """Another program writes numbers, or removes records."""
    draw = random.Random(seed)
    for item in world.items_of(Box):
        if draw.random() < 0.4:
            world.inner.run(PutItem(item | {"unread": draw.randrange(9), "rev": f"damaged-{draw.random()}"}))
        elif draw.random() < 0.3:
            world.other.delete(Box, item["memberId"])


def rebuild(store: Store, rounds: int = 10**9) -> Any:
    """Go on with a rebuild for some rounds."""
    left = [rounds]

    def stop() -> bool:
        left[0] -= 1
        return left[0] <= 0

    return Rebuild(store.parts, UNREAD, page=1).run(stop=stop)


def test_processes_that_feed_and_rebuild_at_once_lose_nothing() -> None:
    world = post_room()
    stores = [Store(world.schema, world.inner, clock=world.clock) for _ in range(4)]
    failed: list[BaseException] = []

    def work(number: int) -> None:
        store = stores[number]
        try:
            for position in range(12):
                name = f"{number}-{position}"
                members = [MEMBERS[position % 3], MEMBERS[number % 3]]
                store.put(Letter(letter_id=name, created=START, member_ids=members, weight=Decimal(position)))
                if position % 4 == 3:
                    store.delete(Letter, f"{number}-{position - 1}")
                for change in changes_of(world.inner)[-5:]:
                    handled(store, change)
            if number == 0:
                rebuild(store)
        except BaseException as error:  # noqa: BLE001 - it is raised again in the test
            failed.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(len(stores))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert failed == []
    finish(world, 0)
    names = [f"{number}-{position}" for number in range(len(stores)) for position in range(12)]
    letters = [each for each in world.other.batch_get(Letter, names) if each is not None]
    assert len(letters) == 9 * len(stores)
    assert summed(world.other, MEMBERS) == recounted(letters, MEMBERS)


def handled(store: Store, change: StreamRecord) -> None:
    """Give a change until it has been handled."""
    while True:
        try:
            store.feed.handle(change)
        except ShardweaveError:
            continue
        return
