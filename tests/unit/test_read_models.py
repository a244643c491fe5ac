"""Events feed a read model: once, together, in order per record, nothing shown before it is whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import Any, Literal

import pytest

from shardweave.errors import (
    AlreadyExists,
    IdempotencyMismatch,
    ImmutableProperty,
    InputError,
    UnknownName,
    ValidationFailed,
    ValueRefused,
)
from shardweave.schema.entity import Entity
from shardweave.schema.read_models import Action, Delete, Event, ReadModel, Set, Update
from shardweave.schema.schema import Schema
from shardweave.store import Put, Store
from shardweave.store.events.lww_registers import PROJECTED
from shardweave.table.operations import PutItem
from tests.unit.read_model_world import PARCELS, Lost, Parcel, Scan, Seen, Sent, Tally, post_office, read_model, told
from tests.unit.store_world import DAY, World

SENT = Sent(event_id="a", position=1, parcel_id="p", owner="ann", label="L1")
SEEN = Seen(event_id="b", position=2, parcel_id="p", place="Bath")
SEEN_AGAIN = Seen(event_id="c", position=3, parcel_id="p", place="York", note="wet")
LOST = Lost(event_id="d", position=4, parcel_id="p")


def applied(*events: Event) -> World:
    world = post_office()
    for event in events:
        world.store.apply("parcels", event)
    return world


def parcel(world: World) -> Any:
    return world.store.get(Parcel, "p")


def values(world: World, model: type[Entity], key: Any) -> dict[str, Any]:
    record = world.store.get(model, key)
    assert record is not None
    return record.model_dump()


def test_an_event_changes_every_record_that_it_is_about() -> None:
    world = applied(SENT, SEEN)
    assert parcel(world).model_dump(exclude={"updated"}) == {
        "parcel_id": "p",
        "owner": "ann",
        "place": "Bath",
        "note": "none",
        "label": "L1",
    }
    assert values(world, Scan, {"parcelId": "p", "position": 2}) == {"parcel_id": "p", "position": 2, "place": "Bath"}
    assert values(world, Tally, {}) == {"sent": 1, "seen": 1}


def test_an_update_keeps_what_the_event_does_not_carry() -> None:
    world = applied(SENT, SEEN_AGAIN, Seen(event_id="e", position=5, parcel_id="p", place=None))
    record = parcel(world)
    assert (record.owner, record.place, record.note, record.label) == ("ann", None, "wet", "L1")


def test_an_event_that_is_delivered_again_changes_nothing() -> None:
    world = applied(SENT, SEEN)
    before = world.items()
    assert [world.store.apply("parcels", each).repeated for each in (SENT, SEEN)] == [True, True]
    assert world.items() == before


def test_what_comes_before_the_record_can_be_shown_waits_unseen() -> None:
    world = applied(SEEN)
    assert parcel(world) is None
    assert world.items_of(Parcel) == []
    world.store.apply("parcels", SENT)
    assert (parcel(world).owner, parcel(world).place) == ("ann", "Bath")
    assert not [item for item in world.items() if "*waiting" in item["hashKey"]]


def test_an_older_event_that_comes_late_does_not_overwrite_a_newer_one() -> None:
    world = applied(SENT, SEEN_AGAIN, SEEN)
    assert (parcel(world).place, parcel(world).note) == ("York", "wet")


@pytest.mark.parametrize(
    "events", [(SENT, SEEN, SEEN_AGAIN, LOST), (SENT, SEEN, LOST.model_copy(update={"position": 0}))]
)
def test_every_order_of_arrival_gives_the_same_read_model(events: Sequence[Event]) -> None:
    expected = told(events)
    for order in permutations(events):
        assert read_model(applied(*order)) == expected


def test_a_deleted_record_is_not_brought_back_by_an_older_event_and_is_by_a_newer_one() -> None:
    world = applied(SENT, LOST, SEEN_AGAIN)
    assert parcel(world) is None
    world.store.apply("parcels", Sent(event_id="e", position=5, parcel_id="p", owner="bob"))
    assert (parcel(world).owner, parcel(world).place, parcel(world).label) == ("bob", None, None)


def test_of_two_events_with_one_position_their_ids_decide() -> None:
    one, other = (Seen(event_id=name, position=2, parcel_id="p", place=name) for name in "xy")
    assert parcel(applied(SENT, one, other)).place == "y"
    assert parcel(applied(SENT, other, one)).place == "y"


def test_an_event_costs_a_read_of_its_marker_one_of_its_records_and_a_transaction() -> None:
    world = applied(SENT, SEEN)
    world.requests()
    world.store.apply("parcels", SEEN_AGAIN)
    assert world.requests() == ["GetItem", "BatchGet", "TransactWrite"]
    world.store.apply("parcels", SEEN_AGAIN)
    assert world.requests() == ["GetItem"]


def test_markers_and_what_waits_are_kept_for_as_long_as_the_projection_says() -> None:
    world = applied(SEEN)
    kept = [item for item in world.items() if item["hashKey"].startswith(("_idempotency!", "parcel.*waiting!"))]
    ttl = world.schema.layout.ttl_attribute
    assert ttl == "_expires"
    assert [item[ttl] for item in kept] == [world.clock.now // 1000 + 14 * DAY // 1000] * 2
    world.clock.now += 15 * DAY
    world.store.apply("parcels", SENT)
    assert parcel(world).place is None


def test_changes_by_hand_stay_until_an_event_says_otherwise() -> None:
    world = applied(SENT)
    world.store.update(Parcel, "p", {"note": "by hand", "place": "by hand"})
    world.store.apply("parcels", SEEN)
    assert (parcel(world).note, parcel(world).place) == ("by hand", "Bath")
    world.store.delete(Parcel, "p")
    world.store.apply("parcels", SEEN_AGAIN)
    assert parcel(world) is None


BY_HAND = Parcel(parcel_id="p", owner="hand", place="hand", note="hand")
NOTED = Seen(event_id="n", position=3, parcel_id="p", place="Hull", note="wet")


@pytest.mark.parametrize(
    "write",
    [
        lambda store: store.create(BY_HAND),
        lambda store: store.put(BY_HAND),
        lambda store: store.batch_write([BY_HAND]),
        lambda store: store.transact([Put(BY_HAND)]),
    ],
    ids=["create", "put", "batch_write", "transact"],
)
def test_a_record_made_by_hand_stays_as_it_was_made_and_knows_who_spoke_before(
    write: Callable[[Store], object],
) -> None:
    world = applied(NOTED)
    write(world.store)
    assert not [item for item in world.items() if "*waiting" in item["hashKey"]]
    for late_or_about_another in (SEEN, SENT.model_copy(update={"event_id": "s", "position": 0})):
        world.store.apply("parcels", late_or_about_another)
    assert (parcel(world).owner, parcel(world).place, parcel(world).note) == ("ann", "hand", "hand")
    world.store.apply("parcels", SEEN_AGAIN.model_copy(update={"position": 4, "note": None}))
    assert (parcel(world).place, parcel(world).note) == ("York", "hand")


def test_a_record_made_and_deleted_by_hand_forgets_what_had_waited_for_it() -> None:
    world = applied(NOTED)
    world.store.put(BY_HAND)
    assert world.store.delete(Parcel, "p")
    assert not [item for item in world.items() if item["hashKey"].startswith(("parcel!", "parcel.*waiting"))]
    world.store.apply("parcels", SENT)
    assert (parcel(world).owner, parcel(world).place, parcel(world).note) == ("ann", None, "none")


def test_a_record_made_by_hand_of_an_event_that_deletes_it_is_gone() -> None:
    world = applied(NOTED)
    world.store.put(BY_HAND)
    world.store.apply("parcels", LOST)
    assert parcel(world) is None
    world.store.apply("parcels", SENT)
    assert parcel(world) is None


def test_what_an_older_program_left_beside_a_record_made_by_hand_does_not_undo_it() -> None:
    world = applied(NOTED)
    (remnant,) = [item for item in world.items() if "*waiting" in item["hashKey"]]
    world.store.put(BY_HAND)
    world.inner.run(PutItem({name: each for name, each in world.stored(Parcel).items() if name != PROJECTED}))
    world.inner.run(PutItem(remnant))
    world.store.apply("parcels", SEEN)
    assert (parcel(world).place, parcel(world).note) == ("hand", "hand")
    world.inner.run(PutItem(remnant))
    world.store.apply("parcels", LOST)
    assert parcel(world) is None


def test_unique_values_are_kept_by_events_too() -> None:
    world = applied(SENT)
    other = Sent(event_id="o", position=1, parcel_id="q", owner="bob", label="L1")
    with pytest.raises(AlreadyExists, match="label"):
        world.store.apply("parcels", other)
    assert values(world, Tally, {}) == {"sent": 1, "seen": 0}
    world.store.apply("parcels", LOST)
    assert not world.store.apply("parcels", other).repeated
    found = world.store.get_by(Parcel, "label", "L1")
    assert found is not None
    assert found.parcel_id == "q"


def test_two_appliers_at_once() -> None:
    world = post_office()
    stores = [world.new_store(world.inner) for _ in range(4)]
    seen = [Seen(event_id=f"s{at}", position=at, parcel_id="p", place=f"{at}") for at in range(2, 12)]
    events: list[Event] = [SENT, *seen]
    gate = threading.Barrier(4)

    def deliver(number: int) -> int:
        gate.wait()
        mine = events[number:] + events[:number]
        return sum(not stores[number].apply("parcels", event).repeated for event in mine)

    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(deliver, range(4)))
    assert sum(done) == len(events)
    assert read_model(world) == told(events)


# -- what is refused --------------------------------------------------------------------------------------------------


def test_another_event_with_the_id_of_one_that_was_applied_is_refused() -> None:
    world = applied(SENT)
    with pytest.raises(IdempotencyMismatch):
        world.store.apply("parcels", SENT.model_copy(update={"owner": "bob"}))


def test_a_projection_and_an_event_must_be_known() -> None:
    world = post_office()
    with pytest.raises(UnknownName, match="parcels"):
        world.store.apply("others", SENT)

    class Other(Event):
        type: Literal["Other"] = "Other"

    with pytest.raises(InputError, match="does not take"):
        world.store.apply("parcels", Other(event_id="a", position=1))


def meaning(*actions: Action) -> World:
    """A world whose read model makes this of every event."""
    read_model = ReadModel("parcels", events=(Sent,), writes=(Parcel, Tally), project=lambda event: actions)
    return World(schema=Schema(entities=[Parcel, Scan, Tally], read_models=[read_model]))


@pytest.mark.parametrize(
    ("action", "error", "where"),
    [
        (Update(Parcel, "p", {"place": 1, "note": 2}), ValidationFailed, "place.*note"),
        (Update(Parcel, "p", {"parcelId": "q"}), ImmutableProperty, "parcelId"),
        (Update(Parcel, "p", {"size": 1}), UnknownName, "size"),
        (Update(Tally, {}, add={"sent": True}), ValueRefused, "sent"),
        (Update(Scan, {"parcelId": "p", "position": 1}, {"place": "x"}), InputError, "writes=.*"),
    ],
)
def test_an_action_that_does_not_fit_changes_nothing(action: Action, error: type[Exception], where: str) -> None:
    world = meaning(Set(Parcel(parcel_id="q", owner="ann")), action)
    with pytest.raises(error, match=where):
        world.store.apply("parcels", SENT)
    assert world.items_of(Parcel) == []


def test_an_event_names_each_record_once_and_not_too_many() -> None:
    with pytest.raises(InputError, match="same parcel"):
        meaning(Delete(Parcel, "p"), Update(Parcel, "p")).store.apply("parcels", SENT)
    many = [Delete(Parcel, str(number)) for number in range(34)]
    with pytest.raises(InputError, match="34 actions"):
        meaning(*many).store.apply("parcels", SENT)


def test_a_record_that_events_would_make_wrong_is_refused_with_every_property() -> None:
    def wrong(event: Event) -> Sequence[Action]:
        return (Set(Parcel.model_validate({"parcelId": 1, "owner": 2})),)

    read_model = ReadModel("parcels", events=(Sent,), writes=(Parcel,), project=wrong)
    world = World(schema=Schema(entities=[Parcel], read_models=[read_model]))
    with pytest.raises(ValidationFailed) as caught:
        world.store.apply("parcels", SENT)
    assert [fault.location for fault in caught.value.fields] == [("parcelId",), ("owner",)]


def test_the_projection_of_the_schema_is_found_by_name() -> None:
    assert post_office().schema.read_model("parcels") is PARCELS
