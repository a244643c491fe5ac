"""Whatever the order in which events arrive, how often, and what goes wrong on the way: the same read model."""

from __future__ import annotations

import random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.errors import ShardweaveError
from shardweave.schema.read_models import Event
from shardweave.store.events.lww_registers import Known, Marks, RegisterPart, When, Whole
from shardweave.table.fault_injection import (
    Crash,
    Crashed,
    Fault,
    Faults,
    LoseAnswer,
    LoseRequest,
    MeetTransaction,
    Script,
    Seeded,
    SimulatedTable,
    Throttle,
)
from tests.unit.read_model_world import Lost, Seen, Sent, post_office, read_model, told
from tests.unit.store_world import World

FAULTS: dict[Fault, float] = {
    LoseAnswer(): 0.1,
    LoseRequest(): 0.1,
    Throttle(): 0.05,
    MeetTransaction(): 0.05,
    Crash(): 0.1,
    Crash(carried_out=True): 0.1,
}


@st.composite
def histories(draw: st.DrawFn) -> list[Event]:
    """Events about two parcels, some of one position."""
    made: list[Event] = []
    for number in range(draw(st.integers(1, 7))):
        parcel, position = draw(st.sampled_from("pq")), draw(st.integers(1, 6))
        about: dict[str, Any] = {"event_id": f"e{number}", "position": position, "parcel_id": parcel}
        kind = draw(st.sampled_from(["sent", "seen", "seen", "noted", "lost"]))
        if kind == "sent":
            made.append(Sent(**about, owner=draw(st.sampled_from("ab")), label=f"of {parcel}"))
        elif kind == "lost":
            made.append(Lost(**about))
        else:
            place = draw(st.sampled_from([None, "x", "y"]))
            made.append(Seen(**about, place=place, note="wet" if kind == "noted" else None))
    return made


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[list[Event], list[Event]]:
    """Events, and how they are delivered: each at least once, in any order."""
    events = draw(histories())
    again = draw(st.lists(st.sampled_from(events), max_size=3))
    return events, draw(st.permutations([*events, *again]))


def deliver(world: World, event: Event) -> None:
    """Deliver an event until it has been taken, as a queue does."""
    while True:
        try:
            world.store.apply("parcels", event)
        except (ShardweaveError, Crashed):
            world.store = world.new_store(world.table)
        else:
            return


def troubled(faults: Faults) -> World:
    """A world whose faults begin when it is there."""
    world = post_office()
    world.table = SimulatedTable(world.inner, faults)
    world.store = world.new_store(world.table)
    return world


def delivered(order: list[Event], faults: Faults | None) -> World:
    world = post_office() if faults is None else troubled(faults)
    for event in order:
        deliver(world, event)
    return world


@given(deliveries())
def test_any_order_and_repetition_gives_the_read_model_of_the_events_in_order(
    case: tuple[list[Event], list[Event]],
) -> None:
    events, order = case
    assert read_model(delivered(order, None)) == told(events)


@given(deliveries(), st.integers(0, 10**6))
def test_and_so_it_does_when_requests_and_answers_are_lost_and_appliers_die(
    case: tuple[list[Event], list[Event]], seed: int
) -> None:
    events, order = case
    assert read_model(delivered(order, Seeded(seed, FAULTS))) == told(events)


def test_a_death_at_any_request_leaves_all_of_an_event_or_nothing_and_its_redelivery_completes_it() -> None:
    events: list[Event] = [
        Seen(event_id="b", position=2, parcel_id="p", place="Bath"),
        Sent(event_id="a", position=1, parcel_id="p", owner="ann", label="L"),
        Lost(event_id="d", position=3, parcel_id="p"),
        Seen(event_id="e", position=4, parcel_id="p", place="York"),
    ]
    states = [told(events[:count]) for count in range(len(events) + 1)]
    for carried_out in (False, True):
        step, died = 0, True
        while died:
            world = troubled(Script(*[None] * step, Crash(carried_out)))
            died = False
            for position, event in enumerate(events):
                try:
                    world.store.apply("parcels", event)
                except Crashed:
                    died = True
                    assert read_model(world) in states[position : position + 2]
                    assert world.other.apply("parcels", event).event_id == event.event_id
            assert read_model(world) == states[-1]
            step += 1
        assert step > 15


# -- the merging alone ------------------------------------------------------------------------------------------------

changes = st.one_of(
    st.builds(Whole, st.none() | st.dictionaries(st.sampled_from("abc"), st.integers(1, 3), max_size=3)),
    st.builds(
        RegisterPart,
        st.dictionaries(st.sampled_from("abc"), st.none() | st.integers(1, 3), max_size=2),
        st.dictionaries(st.sampled_from("cd"), st.integers(-2, 2), max_size=1),
    ),
)


@settings(max_examples=300)
@given(st.lists(changes, max_size=7), st.integers(0, 10**6))
def test_what_is_known_of_a_record_does_not_depend_on_the_order(said: list[Whole | RegisterPart], seed: int) -> None:
    events: list[tuple[Whole | RegisterPart, When]] = [(each, (at // 2, f"e{at}")) for at, each in enumerate(said)]
    shuffled = random.Random(seed).sample(events, len(events))

    def known(order: list[tuple[Whole | RegisterPart, When]]) -> Known:
        result = Known()
        for change, when in order:
            result = change.applied_to(result, when)
        return result

    assert known(shuffled) == known(events)


@given(st.lists(changes, max_size=5))
def test_marks_are_stored_and_read_back(said: list[Whole | RegisterPart]) -> None:
    result = Known()
    for at, change in enumerate(said):
        result = change.applied_to(result, (at, f"e{at}"))
    assert Marks.decode(result.marks.encode()) == result.marks
