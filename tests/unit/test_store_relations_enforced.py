"""Enforced relations: no child without its parent, no deletion of a parent that has children, whoever is faster."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from shardweave.errors import Conflict, HasChildren, InputError, LimitExceeded, NotFound, ParentMissing
from shardweave.schema.entity import Entity
from shardweave.store import Check, Create, Delete, Operation, Put, Update
from shardweave.table.fault_injection import WRITES, Meanwhile, Script
from tests.unit.shop_world import Area, Issue, Project, internal, shop, sound
from tests.unit.store_world import World


def filled(*faults: Any) -> World:
    """Two projects; one issue in the first. The faults are those of the writes that follow."""
    script = Script(matching=WRITES)
    world = shop(script)
    for name in ("p", "q"):
        world.other.create({"projectId": name}, Project)
    world.other.create({"issueId": "i", "projectId": "p"}, Issue)
    world.store.delete(Project, "none")
    script._left = list(faults)
    world.requests()
    return world


def issue(project: str, **values: Any) -> Create:
    return Create({"projectId": project, "num": 9, **values}, Issue)


def counters(world: World) -> dict[str, dict[str, int]]:
    found = [item for item in internal(world) if ".*!" in item["hashKey"]]
    return {item["rangeKey"]: {name: n for name, n in item.items() if isinstance(n, int)} for item in found}


# -- children ---------------------------------------------------------------------------------------------------------

WITHOUT_PARENT: dict[str, Callable[[World], object]] = {
    "create": lambda world: world.store.create({"projectId": "none", "num": 9}, Issue),
    "put, new": lambda world: world.store.put({"issueId": "new", "projectId": "none", "num": 9}, Issue),
    "put, over": lambda world: world.store.put({"issueId": "i", "projectId": "none", "num": 9}, Issue),
    "update": lambda world: world.store.update(Issue, "i", {"projectId": "none", "num": 9}),
}


@pytest.mark.parametrize("write", WITHOUT_PARENT.values(), ids=WITHOUT_PARENT.keys())
def test_a_child_is_not_written_without_its_parent(write: Callable[[World], object]) -> None:
    world = filled()
    before = world.items()
    with pytest.raises(ParentMissing) as raised:
        write(world)
    assert raised.value.where == "projectId"
    assert "none" not in raised.value.message
    assert world.items() == before


def test_in_a_transaction_the_operation_is_named() -> None:
    world = filled()
    with pytest.raises(ParentMissing) as raised:
        world.store.transact([issue("p"), issue("none")])
    assert raised.value.where == "operations[1].projectId"


def test_a_batch_reports_the_children_without_parents() -> None:
    world = filled()
    puts = [Put({"projectId": project, "num": 9 + at}, Issue) for at, project in enumerate(("p", "none", "q"))]
    outcomes = world.store.batch_write(puts).puts
    assert [outcome.status for outcome in outcomes] == ["written", "failed", "written"]
    assert isinstance(outcomes[1].error, ParentMissing)
    assert sound(world)


def test_a_child_that_leads_nowhere_needs_no_parent() -> None:
    world = filled()
    world.store.create({"areaId": "a"}, Area)
    world.store.update(Area, "a", {"projectId": "p"})
    assert counters(world)["projectId#p"] == {"issue_project": 1, "area_project": 1}
    world.store.update(Area, "a", {"projectId": None})
    assert counters(world)["projectId#p"] == {"issue_project": 1, "area_project": 0}
    assert sound(world)


def test_children_are_counted_as_they_come_move_and_go() -> None:
    world = filled()
    world.store.create({"issueId": "j", "projectId": "p"}, Issue)
    world.store.update(Issue, "j", {"title": "same parent"})
    world.store.put({"issueId": "j", "projectId": "p"}, Issue)
    assert counters(world) == {"projectId#p": {"issue_project": 2}}
    world.store.update(Issue, "j", {"projectId": "q", "num": 1})
    assert counters(world) == {"projectId#p": {"issue_project": 1}, "projectId#q": {"issue_project": 1}}
    world.store.delete(Issue, "i")
    assert counters(world)["projectId#p"] == {"issue_project": 0}
    assert sound(world)


def test_what_a_child_costs() -> None:
    world = filled()
    world.store.create({"issueId": "j", "projectId": "p", "num": 9}, Issue)
    assert world.requests() == ["GetItem", "TransactWrite"]
    world.store.update(Issue, "j", {"title": "x"})
    assert world.requests() == ["GetItem", "PutItem"]
    world.store.delete(Issue, "j")
    assert world.requests() == ["GetItem", "TransactWrite"]


# -- parents ----------------------------------------------------------------------------------------------------------


def test_a_parent_that_has_children_is_not_deleted() -> None:
    world = filled()
    world.other.create({"projectId": "p"}, Area)
    before = world.items()
    rev = world.other.get(Project, "p")
    assert rev is not None
    for attempt in (
        lambda: world.store.delete(Project, "p"),
        lambda: world.store.delete(Project, "p", rev=rev.rev),
        lambda: world.store.transact([Delete(Project, "p")]),
    ):
        with pytest.raises(HasChildren, match="issue, area"):
            attempt()
    (outcome,) = world.store.batch_write([], [Delete(Project, "p")]).deletes
    assert isinstance(outcome.error, HasChildren)
    assert world.items() == before


def test_a_parent_without_children_is_deleted_and_leaves_nothing() -> None:
    world = filled()
    assert world.store.delete(Project, "q")
    world.store.delete(Issue, "i")
    assert world.store.delete(Project, "p")
    assert world.items_of(Project) == []
    assert counters(world) == {}
    assert not world.store.delete(Project, "p")


def test_a_parent_that_is_written_again_keeps_its_children() -> None:
    world = filled()
    world.store.put({"projectId": "p", "name": "x"}, Project)
    world.store.update(Project, "p", {"name": "y"})
    with pytest.raises(HasChildren):
        world.store.delete(Project, "p")


# -- in one transaction -----------------------------------------------------------------------------------------------


def test_children_made_together_share_their_parents_check_and_count() -> None:
    world = filled()
    world.store.transact([issue("p", num=number) for number in range(10, 40)])
    assert counters(world)["projectId#p"] == {"issue_project": 31}
    (sent,) = [operation for operation in world.table.calls if hasattr(operation, "actions")]
    assert len(sent.actions) == 30 * 2 + 2
    with pytest.raises(LimitExceeded, match="102 actions"):
        world.store.transact([issue("p", num=number) for number in range(50, 100)])


def test_a_parent_and_its_children_are_made_together_and_removed_together() -> None:
    world = filled()
    world.store.transact([issue("new", issueId="a"), Create({"projectId": "new"}, Project), issue("new", num=8)])
    assert counters(world)["projectId#new"] == {"issue_project": 2}
    children = [item["issueId"] for item in world.items_of(Issue) if item["projectId"] == "new"]
    with pytest.raises(HasChildren) as raised:
        world.store.transact([Delete(Issue, children[0]), Delete(Project, "new")])
    assert raised.value.where == "operations[1].projectId"
    world.store.transact([Delete(Project, "new"), *[Delete(Issue, child) for child in children]])
    assert "projectId#new" not in counters(world)
    assert sound(world)


def test_a_parent_may_be_changed_or_checked_beside_its_children() -> None:
    world = filled()
    world.store.transact([Update(Project, "p", {"name": "x"}), issue("p")])
    world.store.transact([Check(Project, "q"), issue("q", num=7), issue("p", num=7)])
    assert sound(world)


def test_a_child_of_a_parent_that_is_deleted_beside_it_is_refused() -> None:
    world = filled()
    with pytest.raises(InputError) as raised:
        world.store.transact([Delete(Project, "q"), issue("q")])
    assert raised.value.where == "operations[1].projectId"
    world.store.transact([Update(Issue, "i", {"projectId": "q", "num": 5}), Delete(Project, "p")])
    assert world.other.get(Project, "p") is None
    assert sound(world)


def test_children_that_change_places_change_no_number() -> None:
    world = filled()
    world.other.create({"issueId": "j", "projectId": "q", "num": 1}, Issue)
    world.store.transact(
        [Update(Issue, "i", {"projectId": "q", "num": 1}), Update(Issue, "j", {"projectId": "p", "num": 1})]
    )
    assert counters(world) == {"projectId#p": {"issue_project": 1}, "projectId#q": {"issue_project": 1}}
    assert sound(world)


# -- races ------------------------------------------------------------------------------------------------------------


def test_a_parent_deleted_just_before_its_child_is_created() -> None:
    world: World
    world = filled(Meanwhile(lambda: world.other.delete(Project, "q")))
    with pytest.raises(ParentMissing):
        world.store.create({"projectId": "q", "num": 9}, Issue)
    assert sound(world)
    assert [item["projectId"] for item in world.items_of(Issue)] == ["p"]


def test_a_child_created_just_before_its_parent_is_deleted() -> None:
    world: World
    world = filled(Meanwhile(lambda: world.other.create({"projectId": "q", "num": 9}, Issue)))
    with pytest.raises(HasChildren):
        world.store.delete(Project, "q")
    assert sound(world)


def test_the_last_child_deleted_just_before_its_parent() -> None:
    world: World
    world = filled(Meanwhile(lambda: world.other.delete(Issue, "i")))
    assert world.store.delete(Project, "p")
    assert sound(world)


def test_a_parent_deleted_and_made_again_just_before_its_child_is_created() -> None:
    world: World

    def again() -> None:
        world.other.delete(Project, "q")
        world.other.create({"projectId": "q"}, Project)

    world = filled(Meanwhile(again))
    world.store.create({"projectId": "q", "num": 9}, Issue)
    assert sound(world)
    with pytest.raises(HasChildren):
        world.store.delete(Project, "q")


def test_a_child_that_moves_while_its_parents_are_deleted() -> None:
    world: World
    for parent, refused in (("p", HasChildren), ("q", None)):
        world = filled(Meanwhile(lambda parent=parent: attempt(lambda: world.other.delete(Project, parent))))  # noqa: B023
        if refused is None:
            with pytest.raises(ParentMissing):
                world.store.update(Issue, "i", {"projectId": "q", "num": 1})
        else:
            world.store.update(Issue, "i", {"projectId": "q", "num": 1})
        assert sound(world)
        assert world.other.get(Project, world.stored(Issue)["projectId"]) is not None


def attempt(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except (Conflict, NotFound) as refusal:
        return refusal


def test_creators_and_deleters_at_once_leave_no_child_without_its_parent() -> None:
    world = shop()
    barrier = threading.Barrier(8)

    def work(worker: int) -> list[Any]:
        outcomes = []
        barrier.wait()
        for turn in range(6):
            project = f"p{turn}"
            if worker == 0:
                outcomes.append(attempt(lambda project=project: world.store.create({"projectId": project}, Project)))
            elif worker < 3:
                outcomes.append(attempt(lambda project=project: world.store.delete(Project, project)))
            else:
                operation: Operation = issue(project, num=worker)
                outcomes.append(attempt(lambda operation=operation: world.store.transact([operation])))
        return outcomes

    with ThreadPoolExecutor(8) as pool:
        outcomes = [outcome for own in pool.map(work, range(8)) for outcome in own]
    assert all(not isinstance(outcome, Exception) or isinstance(outcome, Conflict) for outcome in outcomes)
    parents = {item["projectId"] for item in world.items_of(Project)}
    assert {item["projectId"] for item in world.items_of(Issue)} <= parents
    assert sound(world)
    for model in (Issue, Project):
        remove_all(world, model)
    assert counters(world) == {}


def remove_all(world: World, model: type[Entity]) -> None:
    entity = world.schema[model]
    for item in world.items_of(model):
        assert world.store.delete(model, item[entity.identity[0]])
