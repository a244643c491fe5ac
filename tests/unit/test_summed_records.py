"""Read models fed by records: a number is the sum of what the records add that there are, however it was told."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import InputError, LimitExceeded, RecordUnreadable
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property, updated_property
from shardweave.schema.read_models import Action, Delete, Event, ReadModel, Set, Update
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.fault_injection import WRITES, Meanwhile, Script, SimulatedTable
from shardweave.table.operations import DeleteItem, PutItem
from shardweave.values.codecs import Timestamp
from tests.unit.store_world import DAY, World
from tests.unit.summed_world import Box, Hall, Letter, changes_of, feed, post_room, summed

MEMBERS = ("ann", "bob")


def only_unread(letter: Letter) -> Sequence[Action]:
    """What a letter adds to each member, and to nothing else."""
    return [Update(Box, each, add={"unread": 1}) for each in letter.member_ids]


ONLY_UNREAD = Schema(
    [Letter, Box, Hall], read_models=[ReadModel("unread", records=(Letter,), writes=(Box,), project=only_unread)]
)


def told(world: World) -> dict[str, Any]:
    """The numbers after all changes were handled."""
    feed(world.store, changes_of(world.inner))
    return summed(world.store, MEMBERS)


def send(world: World, name: str, *members: str, weight: int = 1) -> None:
    world.store.create(Letter(letter_id=name, member_ids=list(members), weight=Decimal(weight)))


def test_numbers_follow_records_that_are_created_changed_and_deleted() -> None:
    world = post_room()
    send(world, "a", "ann", "bob", weight=2)
    send(world, "b", "ann", weight=3)
    assert told(world) == {"ann": (2, 5), "bob": (1, 2), "": 2}
    world.store.update(Letter, "a", {"member_ids": ["bob"], "weight": Decimal(7)})
    assert told(world) == {"ann": (1, 3), "bob": (1, 7), "": 2}
    world.store.delete(Letter, "b")
    assert told(world) == {"ann": (0, 0), "bob": (1, 7), "": 1}


def test_what_is_told_again_writes_nothing_and_what_adds_nothing_else_only_what_is_remembered() -> None:
    world = post_room()
    send(world, "a", "ann")
    told(world)
    world.store.update(Letter, "a", {"note": "read me"})
    before = [item for item in world.items() if "_parts" not in item]
    assert told(world) == {"ann": (1, 1), "bob": (0, 0), "": 1}
    assert [item for item in world.items() if "_parts" not in item] == before
    (memory,) = [item for item in world.items() if "_parts" in item]
    assert memory["_of"] == world.items_of(Letter)[0]["rev"]
    before = world.items()
    assert told(world) == {"ann": (1, 1), "bob": (0, 0), "": 1}
    assert world.items() == before


def slow(world: World, meanwhile: Callable[[], object]) -> Store:
    """A store of a process that, when it has read everything, stands still before it writes, while others act."""
    return world.new_store(SimulatedTable(world.inner, Script(Meanwhile(meanwhile), matching=WRITES)))


def handled(world: World, act: Callable[[], object]) -> None:
    """Another process does something, and handles the last change."""
    act()
    feed(world.other, changes_of(world.inner)[-1:])


def test_a_process_that_read_a_record_which_was_removed_meanwhile_counts_nothing() -> None:
    """The one that handled the removal had never heard of the record."""
    world = post_room()
    send(world, "a", "ann")
    created = changes_of(world.inner)
    feed(slow(world, lambda: handled(world, lambda: world.other.delete(Letter, "a"))), created)
    assert summed(world.store, MEMBERS) == {"ann": (0, 0), "bob": (0, 0), "": 0}


def test_a_process_that_read_a_record_which_was_removed_again_counts_nothing() -> None:
    world = post_room()
    send(world, "a", "ann")
    told(world)
    world.store.delete(Letter, "a")
    told(world)
    send(world, "a", "bob")
    created = changes_of(world.inner)[-1:]
    feed(slow(world, lambda: handled(world, lambda: world.other.delete(Letter, "a"))), created)
    assert summed(world.store, MEMBERS) == {"ann": (0, 0), "bob": (0, 0), "": 0}


def test_a_process_that_read_a_state_between_two_equal_ones_does_not_count_it() -> None:
    world = post_room()
    send(world, "a", "ann")
    told(world)
    world.store.update(Letter, "a", {"member_ids": ["bob"]})
    between = changes_of(world.inner)[-1:]
    back = lambda: world.other.update(Letter, "a", {"member_ids": ["ann"]})  # noqa: E731
    feed(slow(world, lambda: handled(world, back)), between)
    assert summed(world.store, MEMBERS) == {"ann": (1, 1), "bob": (0, 0), "": 1}


def test_a_process_that_read_what_adds_something_does_not_count_it_when_nothing_is_added_any_more() -> None:
    world = World(schema=ONLY_UNREAD)
    world.store.create(Letter(letter_id="a", member_ids=["ann"]))
    created = changes_of(world.inner)
    nobody = lambda: world.other.update(Letter, "a", {"member_ids": []})  # noqa: E731
    feed(slow(world, lambda: handled(world, nobody)), created)
    assert world.store.get(Box, "ann") is None


def test_a_record_that_comes_back_in_a_revision_that_it_had_is_counted() -> None:
    """As an import brings it."""
    world = post_room()
    send(world, "a", "ann")
    told(world)
    (item,) = world.items_of(Letter)
    world.store.delete(Letter, "a")
    told(world)
    world.inner.run(PutItem(item))
    assert told(world) == {"ann": (1, 1), "bob": (0, 0), "": 1}


def test_a_change_that_is_told_late_counts_the_record_as_it_is() -> None:
    world = post_room()
    send(world, "a", "ann")
    (created,) = changes_of(world.inner)
    world.store.delete(Letter, "a")
    feed(world.store, [created])
    assert summed(world.store, MEMBERS) == {"ann": (0, 0), "bob": (0, 0), "": 0}
    assert world.store.get(Box, "ann") is None


def test_a_repeated_change_costs_one_read() -> None:
    world = post_room()
    send(world, "a", "ann")
    feed(world.store, changes_of(world.inner))
    world.requests()
    feed(world.store, changes_of(world.inner)[:1])
    assert world.requests() == ["GetItem"]


def test_a_new_record_costs_two_reads_and_then_one_of_its_targets_and_one_transaction() -> None:
    world = post_room()
    world.store.batch_write()
    send(world, "a", "ann", "bob")
    world.requests()
    feed(world.store, changes_of(world.inner))
    assert world.requests() == ["GetItem", "GetItem", "BatchGet", "TransactWrite"]


def test_an_expired_record_is_taken_out_when_the_table_removes_it() -> None:
    world = post_room()
    world.store.create(Letter(letter_id="a", member_ids=["ann"], expires=world.clock.now // 1000 + 60))
    assert told(world)["ann"] == (1, 0)
    world.clock.now += 3_600_000
    stored = world.stored(Letter)
    world.inner.run(DeleteItem({name: stored[name] for name in ("hashKey", "rangeKey")}))
    assert told(world)["ann"] == (0, 0)


def test_a_record_adds_to_many_others_in_several_transactions() -> None:
    world = post_room()
    names = [f"m{number}" for number in range(99)]
    send(world, "a", *names)
    feed(world.store, changes_of(world.inner))
    assert all(world.store.get(Box, name).unread == 1 for name in names)  # type: ignore[union-attr]
    world.store.delete(Letter, "a")
    feed(world.store, changes_of(world.inner))
    assert all(world.store.get(Box, name).unread == 0 for name in names)  # type: ignore[union-attr]


def test_a_record_that_adds_to_too_many_others_is_an_error_that_says_so_and_counts_nothing() -> None:
    world = post_room()
    send(world, "a", *[f"m{number}" for number in range(100)])
    with pytest.raises(LimitExceeded, match="adds to 101 records, 100 are possible") as refused:
        feed(world.store, changes_of(world.inner))
    assert refused.value.where == "unread"
    assert world.items_of(Box) == []


def test_a_record_that_cannot_be_read_adds_what_it_added_before() -> None:
    world = post_room()
    send(world, "a", "ann")
    told(world)
    world.written_behind(Letter, memberIds=5)
    assert told(world)["ann"] == (1, 1)


def test_what_is_remembered_is_kept_for_a_while_after_a_record_is_gone_and_then_expires() -> None:
    world = post_room()
    send(world, "a", "ann")
    told(world)
    (memory,) = [item for item in world.items() if "*sums-unread" in item["hashKey"]]
    assert "expires" not in memory
    world.store.delete(Letter, "a")
    told(world)
    (memory,) = [item for item in world.items() if "*sums-unread" in item["hashKey"]]
    assert memory["_parts"] == []
    assert memory["expires"] == world.clock.now // 1000 + 14 * DAY // 1000
    send(world, "a", "ann")
    assert told(world)["ann"] == (1, 1)


def test_damaged_memory_is_an_error_that_names_the_item() -> None:
    world = post_room()
    send(world, "a", "ann")
    told(world)
    (memory,) = [item for item in world.items() if "*sums-unread" in item["hashKey"]]
    world.inner.run(PutItem(memory | {"_parts": [["box"]]}))
    world.store.update(Letter, "a", {"weight": Decimal(2)})
    with pytest.raises(RecordUnreadable) as refused:
        feed(world.store, changes_of(world.inner)[-1:])
    assert refused.value.record.code == "sums_damaged"


class BoxAfter(Entity, token="box", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """The box of a later declaration, in which letters have no weight."""

    member_id: str = unique_property()
    updated: Timestamp = updated_property()
    unread: int = 0


def only_unread_after(letter: Letter) -> Sequence[Action]:
    """What a letter adds to each member by that declaration."""
    return [Update(BoxAfter, each, add={"unread": 1}) for each in letter.member_ids]


def test_a_number_that_is_not_declared_any_more_is_left_and_the_others_follow() -> None:
    world = post_room()
    for name in ("a", "b", "c"):
        send(world, name, "ann")
    told(world)
    after = ReadModel("unread", records=(Letter,), writes=(BoxAfter, Hall), project=only_unread_after)
    world.schema = Schema([Letter, BoxAfter, Hall], read_models=[after])
    store = world.new_store(world.inner)
    store.delete(Letter, "a")
    store.update(Letter, "b", {"member_ids": ["bob"]})
    feed(store, changes_of(world.inner))

    def unread(name: str) -> int:
        return store.get(BoxAfter, name).unread

    assert (unread("ann"), unread("bob")) == (1, 1)
    report = Rebuild(store.parts, after).run()
    assert (report.refused, report.corrected) == (0, 0)
    assert (unread("ann"), unread("bob")) == (1, 1)
    assert Doctor(store.parts, world.clock).run().findings.counts == {}


def test_a_read_model_of_records_takes_no_events() -> None:
    world = post_room()
    with pytest.raises(InputError, match="takes no events"):
        world.store.apply("unread", Event(type="Sent", event_id="a", position=1))


# -- what project may give ---------------------------------------------------------------------------------------------


def wrong(letter: Letter) -> list[Any]:
    if letter.note == "raises":
        raise RuntimeError("secret")
    return {
        "set": [Set(Box(member_id="ann"))],
        "delete": [Delete(Box, "ann")],
        "changes": [Update(Box, "ann", {"colour": "red"})],
        "stranger": [Update(Letter, "a", add={"weight": 1})],
        "text": [Update(Box, "ann", add={"colour": 1})],
        "unknown": [Update(Box, "ann", add={"size": 1})],
        "half": [Update(Box, "ann", add={"unread": Decimal("0.5")})],
        "key": [Update(Box, {"size": 1}, add={"unread": 1})],
        "number": [Update(Box, "ann", add={"unread": "1"})],
        "kind": [5],
    }[letter.note or ""]


WRONG = Schema([Letter, Box, Hall], read_models=[ReadModel("unread", (), (Box, Hall), wrong, records=(Letter,))])


@pytest.mark.parametrize(
    "note",
    ["set", "delete", "changes", "stranger", "text", "unknown", "half", "key", "number", "kind", "raises"],
)
def test_what_project_may_not_give_is_an_error_that_names_the_read_model_and_changes_nothing(note: str) -> None:
    world = World(schema=WRONG)
    world.store.create(Letter(letter_id="a", member_ids=[], note=note))
    before = world.items()
    with pytest.raises(InputError) as refused:
        feed(world.store, changes_of(world.inner))
    assert (refused.value.where or "").startswith("unread")
    assert refused.value.fix
    assert "secret" not in str(refused.value)
    assert world.items() == before
