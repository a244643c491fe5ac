"""Events and hands write the same record, in any order, and whatever goes wrong on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import ShardweaveError
from shardweave.schema.read_models import Event
from shardweave.table.fault_injection import Crash, Crashed, Faults, LoseAnswer, LoseRequest, Seeded, SimulatedTable
from tests.unit.read_model_world import Lost, Parcel, Seen, Sent, post_office
from tests.unit.store_world import World

Write = Parcel | dict[str, Any] | None | Event
"""A put, an update, a deletion, all by hand; or an event."""

owners, places = st.sampled_from("ab"), st.sampled_from([None, "x", "y"])
by_hand = st.one_of(
    st.builds(lambda owner, place: Parcel(parcel_id="p", owner=owner, place=place, note="hand"), owners, places),
    st.builds(lambda place: {"place": place}, places),
    st.none(),
)


@st.composite
def writes(draw: st.DrawFn) -> list[Write]:
    """What is done to one parcel, one after the other; events in any order of their positions."""
    made: list[Write] = []
    for number in range(draw(st.integers(2, 7))):
        about: dict[str, Any] = {"event_id": f"e{number}", "position": draw(st.integers(1, 6)), "parcel_id": "p"}
        match draw(st.sampled_from(["sent", "seen", "seen", "lost", "hand", "hand"])):
            case "sent":
                made.append(Sent(**about, owner=draw(owners)))
            case "seen":
                made.append(Seen(**about, place=draw(places), note=draw(st.sampled_from([None, "wet"]))))
            case "lost":
                made.append(Lost(**about))
            case _:
                made.append(draw(by_hand))
    return made


def do(world: World, write: Write) -> None:
    """Carry one out. An update of what is not there does nothing."""
    store = world.store
    if isinstance(write, Event):
        store.apply("parcels", write)
    elif isinstance(write, Parcel):
        store.put(write)
    elif write is None:
        store.delete(Parcel, "p")
    elif store.get(Parcel, "p") is not None:
        store.update(Parcel, "p", write)


def shown(world: World) -> dict[str, Any] | None:
    parcel = world.other.get(Parcel, "p")
    return None if parcel is None else parcel.model_dump(exclude={"updated"})


def given_by(event: Event) -> set[str]:
    """The properties that an event gives."""
    if isinstance(event, Seen):
        return {"place"} | ({"note"} if event.note is not None else set())
    return set(Parcel.model_fields)


@given(writes())
def test_an_event_changes_nothing_but_the_properties_that_it_gives(done: Sequence[Write]) -> None:
    world = post_office()
    for write in done:
        before = shown(world)
        do(world, write)
        after = shown(world)
        if isinstance(write, Seen) and before is not None:
            assert after is not None
            assert {name for name in before if before[name] != after[name]} <= given_by(write)
        if isinstance(write, Parcel):
            assert after == write.model_dump(exclude={"updated"})


@given(writes())
def test_what_was_before_a_deletion_by_hand_leaves_no_trace(done: Sequence[Write]) -> None:
    world = post_office()
    since: list[Write] = []
    for write in done:
        forgets = write is None and shown(world) is not None
        do(world, write)
        since = [] if forgets else [*since, write]
    fresh = post_office()
    for write in since:
        do(fresh, write)
    assert shown(world) == shown(fresh)


@given(writes(), st.integers(0, 10**6))
def test_lost_requests_and_answers_and_deaths_change_nothing_of_that(done: Sequence[Write], seed: int) -> None:
    faults = {LoseAnswer(): 0.1, LoseRequest(): 0.1, Crash(): 0.1, Crash(carried_out=True): 0.1}
    calm, troubled = post_office(), post_office()
    trouble: Faults = Seeded(seed, faults)
    for write in done:
        do(calm, write)
        _until_done(troubled, trouble, partial(do, troubled, write))
        assert shown(troubled) == shown(calm)
        assert _kept(troubled) == _kept(calm)


def _until_done(world: World, faults: Faults, work: Callable[[], None]) -> None:
    while True:
        world.table = SimulatedTable(world.inner, faults)
        world.store = world.new_store(world.table)
        try:
            work()
        except (ShardweaveError, Crashed):
            continue
        return


def _kept(world: World) -> list[str]:
    """Whether there is a record, a remnant, or nothing."""
    return [item["hashKey"].partition("!")[0] for item in world.items() if item["hashKey"].startswith("parcel")]
