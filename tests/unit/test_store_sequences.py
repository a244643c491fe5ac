"""Sequences: 1, 2, 3, ... inside a scope, each once, in the order of creation."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from typing import Any

import pytest

from shardweave.errors import (
    AlreadyExists,
    ImmutableProperty,
    InputError,
    TableUnavailable,
    UnknownName,
    ValidationFailed,
)
from shardweave.store import Create, Put
from shardweave.table.fault_injection import (
    Afterwards,
    Fault,
    LoseAnswer,
    LoseRequest,
    MeetTransaction,
    Script,
    Throttle,
)
from shardweave.table.operations import UpdateItem
from tests.unit.shop_world import Area, Issue, Project, internal, shop, sound
from tests.unit.store_world import World


def projects(*faults: Fault | None) -> World:
    """A world with two projects; the faults are those of the counter."""
    script = Script(matching=[UpdateItem])
    world = shop(script)
    for name in ("p", "q"):
        world.other.create({"projectId": name}, Project)
    script._left = list(faults)
    return world


def numbers(world: World, project: str = "p") -> list[int]:
    return sorted(item["num"] for item in world.items_of(Issue) if item["projectId"] == project)


def add(world: World, project: str = "p", **values: Any) -> int:
    return world.store.create({"projectId": project, **values}, Issue).num


# -- numbering --------------------------------------------------------------------------------------------------------


def test_each_scope_is_numbered_by_itself() -> None:
    world = projects()
    assert [add(world), add(world, "q"), add(world), add(world, "q"), add(world)] == [1, 1, 2, 2, 3]


def test_a_sequence_without_a_scope_goes_over_all_records() -> None:
    world = projects()
    ranks = [world.store.create({"projectId": project}, Area).rank for project in ("p", "q", None)]
    assert ranks == [1, 2, 3]


@pytest.mark.parametrize("given", [{}, {"num": 0}, {"num": None}])
def test_a_record_without_a_number_is_numbered_however_it_is_given(given: dict[str, Any]) -> None:
    world = projects()
    assert add(world, **given) == 1
    assert world.store.create(Issue(project_id="p")).num == 2
    assert world.store.put(Issue(project_id="p")).num == 3
    assert world.store.put({"projectId": "p", **given}, Issue).num == 4
    (outcome,) = world.store.batch_write([Put({"projectId": "p", **given}, Issue)]).puts
    assert isinstance(outcome.record, Issue)
    assert outcome.record.num == 5


def test_a_number_costs_one_write_and_a_read_of_the_parent() -> None:
    world = projects()
    world.store.create({"projectId": "p"}, Issue)
    world.requests()
    add(world)
    assert world.requests() == ["GetItem", "UpdateItem", "GetItem", "TransactWrite"]


def test_a_transaction_and_a_batch_take_their_numbers_at_once() -> None:
    world = projects()
    made = world.store.transact([Create({"projectId": "p"}, Issue) for _ in range(3)])
    assert [issue.num for issue in made if isinstance(issue, Issue)] == [1, 2, 3]
    assert world.requests().count("UpdateItem") == 1
    result = world.store.batch_write([Put({"projectId": "pq"[n % 2]}, Issue) for n in range(6)])
    assert result.complete
    assert world.requests().count("UpdateItem") == 2
    assert (numbers(world), numbers(world, "q")) == ([1, 2, 3, 4, 5, 6], [1, 2, 3])
    assert sound(world)


def test_what_is_not_valid_takes_no_number() -> None:
    world = projects()
    for wrong in ({"title": 3}, {"unknown": "x"}, {"projectId": 5}):
        with pytest.raises(ValidationFailed):
            world.store.create({"projectId": "p", **wrong}, Issue)
    with pytest.raises(ValidationFailed):
        world.store.transact([Create({"projectId": "p", "title": 3}, Issue)])
    with pytest.raises(ValidationFailed) as raised:
        world.store.create({"title": "x"}, Issue)
    assert raised.value.where == "issue"
    assert add(world) == 1


def test_a_create_that_fails_leaves_a_gap_and_no_other_does() -> None:
    world = projects()
    add(world, code="x")
    with pytest.raises(AlreadyExists):
        add(world, code="x")
    assert add(world) == 3


def test_twenty_creators_at_once_get_the_numbers_one_to_sixty() -> None:
    world = projects()
    barrier = threading.Barrier(20)

    def create(creator: int) -> list[int]:
        barrier.wait()
        return [add(world, title=str(creator)) for _ in range(3)]

    with ThreadPoolExecutor(20) as pool:
        taken = list(pool.map(create, range(20)))
    assert sorted(number for own in taken for number in own) == list(range(1, 61))
    assert all(own == sorted(own) for own in taken), "each creator's own are in order"
    assert numbers(world) == list(range(1, 61))
    assert sound(world)


# -- what happens to a number later -----------------------------------------------------------------------------------


def test_a_number_stays_with_its_record() -> None:
    world = projects()
    add(world, issueId="i")
    assert world.store.update(Issue, "i", {"title": "x"}).num == 1
    assert world.store.put({"issueId": "i", "projectId": "p", "title": "y"}, Issue).num == 1
    assert world.store.put(Issue(issue_id="i", project_id="p", num=1)).num == 1
    for put in (
        Put(Issue(issue_id="i", project_id="p", num=7)),
        Put({"issueId": "i", "projectId": "p", "num": 7}, Issue),
    ):
        for write in (world.store.write, lambda one: world.store.transact([one])):
            with pytest.raises(ImmutableProperty) as refused:
                write(put)
            assert refused.value.where.endswith("num")
        (outcome,) = world.store.batch_write([put]).puts
        assert isinstance(outcome.error, ImmutableProperty)
    for change in ({"num": 2}, {"num": None}, {"projectId": "q"}, {"projectId": "q", "num": None}):
        with pytest.raises(ImmutableProperty) as raised:
            world.store.update(Issue, "i", change)
        assert raised.value.where == "num"
    assert add(world) == 2, "an earlier put took no number"


def test_a_record_moves_to_another_scope_with_a_number_taken_there() -> None:
    world = projects()
    add(world, issueId="i")
    add(world, "q")
    (number,) = world.store.take(Issue, "num", within="q")
    moved = world.store.update(Issue, "i", {"projectId": "q", "num": number})
    assert (moved.project_id, moved.num) == ("q", 2)
    assert world.store.put({"issueId": "i", "projectId": "p"}, Issue).num == 2, "a put takes one by itself"
    found = world.store.get_by(Issue, "num", 2, within={"project_id": "p"})
    assert found is not None
    assert found.issue_id == "i"
    assert sound(world)


def test_of_two_puts_that_make_one_record_the_slower_keeps_the_number_of_the_faster() -> None:
    faster = {"issueId": "i", "projectId": "p", "title": "faster"}
    world = projects(Afterwards(lambda: world.other.put(faster, Issue)))
    put = world.store.put({"issueId": "i", "projectId": "p", "title": "slower"}, Issue)
    assert (put.num, put.title) == (2, "slower"), "its own number, 1, was taken first and is a gap"


# -- blocks -----------------------------------------------------------------------------------------------------------


def test_numbers_are_taken_in_blocks() -> None:
    world = projects()
    assert world.store.take(Issue, "num", within="p", count=1000) == range(1, 1001)
    assert world.store.take(Issue, "num", within={"projectId": "p"}) == range(1001, 1002)
    assert add(world, num=5) == 5
    assert add(world) == 1002
    assert world.store.take(Area, "rank", count=2) == range(1, 3)


def test_a_sequence_goes_on_above_the_numbers_that_it_did_not_give() -> None:
    world = projects()
    add(world, num=40)
    world.store.advance(Issue, "num", within="p", to=40)
    world.store.advance(Issue, "num", within="p", to=7)
    assert add(world) == 41


def test_what_can_not_be_taken_is_refused() -> None:
    world = projects()
    with pytest.raises(InputError):
        world.store.take(Issue, "num", within="p", count=0)
    with pytest.raises(UnknownName, match="num"):
        world.store.take(Issue, "title", within="p")
    for within in (None, {}, {"title": "x"}, {"projectId": "p", "title": "x"}):
        with pytest.raises(UnknownName, match="within projectId"):
            world.store.take(Issue, "num", within=within)
    with pytest.raises(UnknownName, match="within nothing"):
        world.store.take(Area, "rank", within="p")


@pytest.mark.parametrize("number", [None, "3", 1.5, True, -1, Decimal(2), float("nan"), 10**18 + 1, [], {}])
def test_what_no_counter_can_be_moved_by_or_to_is_refused_and_changes_nothing(number: Any) -> None:
    world = projects()
    add(world)
    stored = world.items()
    with pytest.raises(InputError, match="count: must be a whole number"):
        world.store.take(Issue, "num", within="p", count=number)
    with pytest.raises(InputError, match="to: must be a whole number"):
        world.store.advance(Issue, "num", within="p", to=number)
    assert world.items() == stored
    assert add(world) == 2


@pytest.mark.parametrize("name", [None, 1, [], {}, b"num", "n" * 1000])
def test_what_names_no_sequence_and_no_lookup_is_refused(name: Any) -> None:
    store = projects().store
    for work in (
        lambda: store.take(Issue, name, within="p"),
        lambda: store.advance(Issue, name, within="p", to=5),
        lambda: store.backfill(Issue, name),
        lambda: store.get_by(Issue, name, "x"),
    ):
        with pytest.raises(UnknownName, match="has no"):
            work()


# -- an answer is lost ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("fault", [LoseRequest(), LoseAnswer(), Throttle(), MeetTransaction()], ids=repr)
def test_a_number_whose_answer_was_lost_is_recognised(fault: Fault) -> None:
    world = projects(fault)
    assert add(world) == 1
    assert add(world) == 2


def test_a_number_is_lost_only_when_the_answer_is_and_another_takes_one_meanwhile() -> None:
    world: World
    world = projects(Afterwards(lambda: world.other.take(Issue, "num", within="p"), LoseAnswer()))
    assert add(world) == 3
    world = projects(Afterwards(lambda: world.other.advance(Issue, "num", within="p", to=9), LoseAnswer()))
    assert add(world) == 10, "nor is one taken twice"


def test_where_no_number_can_be_had_nothing_is_created() -> None:
    world = projects(*[LoseRequest()] * 100)
    with pytest.raises(TableUnavailable) as raised:
        add(world)
    assert not raised.value.maybe_written
    assert world.items_of(Issue) == []
    with pytest.raises(TableUnavailable) as raised:
        world.store.take(Issue, "num", within="p")
    assert raised.value.maybe_written


def test_a_counter_is_in_its_scopes_shard() -> None:
    world = projects()
    add(world)
    (counter,) = [item for item in internal(world) if "_last" in item]
    assert (counter["hashKey"][:11], counter["rangeKey"], counter["_last"]) == ("issue.num+!", "projectId#p", 1)
