"""Lookups, parents and numbers when the table does not answer, throttles, conflicts, or the process dies: whatever
happens at whichever request, what is stored is sound, and the next write and the next read go well.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import pytest

from shardweave.errors import AlreadyExists, Conflict, HasChildren, NotFound
from shardweave.store import Create, Delete, Put, Update
from shardweave.table.fault_injection import (
    WRITES,
    Crash,
    Crashed,
    DeliverLate,
    Fault,
    LoseAnswer,
    LoseRequest,
    MeetTransaction,
    Script,
    Throttle,
)
from tests.unit.shop_world import Customer, Issue, Mailbox, Project, shop, sound, unsound
from tests.unit.store_world import DAY, FIRST_BUMP, SECOND_BUMP, World

Write = Callable[[World], object]

WRITE_CASES: dict[str, Write] = {
    "create": lambda world: world.store.create({"phone": "new", "email": "N@x", "city": "Bath"}, Customer),
    "create, id given": lambda world: world.store.create({"customerId": "new", "phone": "new"}, Customer),
    "create, over an expired owner": lambda world: world.store.create({"phone": "expired"}, Customer),
    "create, sharded by its owner": lambda world: world.store.create({"address": "N@x", "ownerId": "o"}, Mailbox),
    "create, a child": lambda world: world.store.create({"projectId": "p", "num": 5, "code": "new"}, Issue),
    "put, over": lambda world: world.store.put({"customerId": "ann", "phone": "new", "city": "York"}, Customer),
    "update, value": lambda world: world.store.update(Customer, "ann", {"phone": "new", "email": None}),
    "update, to an expired owner's": lambda world: world.store.update(Customer, "ann", {"phone": "expired"}),
    "update, TTL": lambda world: world.store.update(Customer, "ann", {"expires": SECOND_BUMP // 1000 + 99}),
    "update, parent": lambda world: world.store.update(Issue, "i", {"projectId": "q", "num": 7}),
    "delete": lambda world: world.store.delete(Customer, "ann"),
    "delete, sharded by its owner": lambda world: world.store.delete(Mailbox, "A@x"),
    "delete, a child": lambda world: world.store.delete(Issue, "i"),
    "delete, a parent": lambda world: world.store.delete(Project, "q"),
    "transact": lambda world: world.store.transact(
        [
            Update(Customer, "ann", {"phone": "2"}),
            Update(Customer, "bob", {"phone": "1"}),
            Create({"projectId": "q", "num": 1}, Issue),
            Create({"projectId": "q", "num": 2}, Issue),
            Delete(Issue, "i"),
        ]
    ),
    "batch": lambda world: world.store.batch_write(
        [Put({"customerId": key, "phone": f"new {key}"}, Customer) for key in ("ann", "new")], [Delete(Mailbox, "A@x")]
    ),
}

EVERY_WRITE = pytest.mark.parametrize("write", WRITE_CASES.values(), ids=WRITE_CASES.keys())


def filled(faults: Script | None = None) -> World:
    """A world with records of each kind, in the last generation; one of them has expired."""
    script = Script()
    world = shop(script)
    other = world.other
    other.create({"customerId": "gone", "phone": "expired", "expires": FIRST_BUMP // 1000 + 1}, Customer)
    other.create({"customerId": "ann", "phone": "1", "email": "A@x", "city": "Bath"}, Customer)
    other.create({"address": "A@x", "ownerId": "o"}, Mailbox)
    world.clock.now = FIRST_BUMP
    other.create({"customerId": "bob", "phone": "2", "city": "Bath"}, Customer)
    other.batch_write([Project(project_id="p"), Project(project_id="q")])
    other.create({"issueId": "i", "projectId": "p", "num": 1, "code": "c"}, Issue)
    world.clock.now = SECOND_BUMP
    other.delete(Project, "none")
    world.store.delete(Project, "none")
    world.requests()
    if faults is not None:
        script._left, script._matching = faults._left, faults._matching
    return world


def content(world: World) -> list[str]:
    """What is in the table, without what is random."""
    random = {"rev", "issueId", "customerId", "rangeKey", "hashKey", "cityHashKey", "_owner"}
    items = world.items()
    return sorted(repr(sorted((name, each[name]) for name in each.keys() - random)) for each in items)


FAULTS: dict[str, list[Fault]] = {
    "the request is lost": [LoseRequest()],
    "the answer is lost": [LoseAnswer()],
    "throttled and in conflict after a lost answer": [LoseAnswer(), Throttle(), MeetTransaction()],
}


def test_the_world_is_sound() -> None:
    for write in WRITE_CASES.values():
        world = filled()
        write(world)
        assert list(unsound(world)) == []


@EVERY_WRITE
@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS.keys())
def test_a_fault_at_any_write_changes_nothing_of_the_outcome(write: Write, faults: list[Fault]) -> None:
    smooth = filled()
    write(smooth)
    for step in range(sum(isinstance(operation, WRITES) for operation in smooth.table.calls)):
        world = filled(Script(*[None] * step, *faults, matching=WRITES))
        write(world)
        assert content(world) == content(smooth)
        assert sound(world)


@EVERY_WRITE
def test_a_request_that_arrives_late_changes_nothing(write: Write) -> None:
    world = filled(Script(DeliverLate(), matching=WRITES))
    write(world)
    before = world.items()
    world.table.deliver_late()
    assert world.items() == before


@EVERY_WRITE
@pytest.mark.parametrize("carried_out", [False, True], ids=["before", "after"])
def test_after_a_death_at_any_request_writes_and_reads_go_on(write: Write, carried_out: bool) -> None:
    smooth = filled()
    write(smooth)
    for step in range(len(smooth.table.calls)):
        world = filled(Script(*[None] * step, Crash(carried_out)))
        with pytest.raises(Crashed):
            write(world)
        assert sound(world)
        with contextlib.suppress(AlreadyExists, NotFound):
            write(world)
        assert sound(world)
        everything_can_be_found_changed_and_removed(world)


def everything_can_be_found_changed_and_removed(world: World) -> None:
    store = world.store
    for item in world.items_of(Customer):
        if item.get("phone") is None or item.get("expires", world.clock()) * 1000 <= world.clock():
            continue
        found = store.get_by(Customer, "phone", item["phone"])
        assert found is not None
        assert found.customer_id == item["customerId"]
        with pytest.raises(AlreadyExists):
            store.create({"phone": item["phone"]}, Customer)
        store.update(Customer, found.customer_id, {"phone": "another"})
        assert store.create({"phone": item["phone"]}, Customer).phone == item["phone"]
        store.update(Customer, found.customer_id, {"phone": None})
    for project in ("p", "q"):
        children = [item["issueId"] for item in world.items_of(Issue) if item["projectId"] == project]
        if children:
            with pytest.raises(HasChildren):
                store.delete(Project, project)
        for child in children:
            store.delete(Issue, child)
        store.delete(Project, project)
    assert world.items_of(Project) == []
    assert sound(world)


def test_a_value_whose_owner_expires_while_it_is_taken_goes_to_one() -> None:
    """Two takers, whose clocks differ, meet at the moment of the expiry."""
    for first_is_behind in (False, True):
        world = filled()
        for moment in [FIRST_BUMP, FIRST_BUMP + DAY] if first_is_behind else [FIRST_BUMP + DAY, FIRST_BUMP]:
            world.clock.now = moment
            outcome: Any = None
            try:
                outcome = world.store.create({"phone": "expired", "name": str(moment)}, Customer)
            except Conflict:
                assert outcome is None
        world.clock.now = FIRST_BUMP + DAY
        owners = [item for item in world.items_of(Customer) if item.get("phone") == "expired"]
        assert len([item for item in owners if item["customerId"] != "gone"]) == 1
