"""Damage in what stands beside a record's properties: revisions, counters, kept answers, what is kept of events. Each
is an error of its own that says what is damaged, nothing is written, and what has nothing to do with it goes on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from shardweave.api.problems import problem
from shardweave.errors import RecordUnreadable, RevisionConflict
from shardweave.store import Create, IdempotencyKey
from shardweave.table.operations import PutItem
from tests.unit.read_model_world import Seen, Sent, post_office
from tests.unit.shop_world import Customer, Issue, Project, shop
from tests.unit.store_world import World

SECRET = "sesame"
DAMAGE: dict[str, Any] = {
    "it is missing": None,
    "a text": SECRET,
    "a list": [SECRET],
    "a map": {"a": SECRET},
    "bytes": SECRET.encode(),
    "true": True,
}
ONCE = IdempotencyKey("key", "tenant/ann", b"POST /v1/customers {}")


def damage(world: World, hash_key: str, name: str, value: Any) -> dict[str, Any]:
    """Let another program put something in place of an attribute; the item as it was."""
    (item,) = [item for item in world.items() if item["hashKey"].startswith(hash_key) and name in item]
    world.inner.run(PutItem({key: each for key, each in {**item, name: value}.items() if each is not None}))
    return item


def refused(world: World, ask: Callable[[], object], code: str) -> RecordUnreadable:
    """What is said of a write that damage refuses, which leaves the table as it was."""
    before = world.items()
    with pytest.raises(RecordUnreadable) as failure:
        ask()
    assert failure.value.record.code == code
    assert SECRET not in str(failure.value)
    assert world.items() == before
    answer = problem(failure.value)
    assert (answer.status, b"record_unreadable" in answer.body) == (500, True)
    return failure.value


def with_issue() -> World:
    world = shop()
    world.store.create(Project(project_id="p"))
    world.store.create(Project(project_id="q"))
    world.store.create(Issue(issue_id="i", project_id="p"))
    world.store.create(Issue(issue_id="j", project_id="q"))
    return world


@pytest.mark.parametrize("kind", [kind for kind in DAMAGE if kind != "it is missing"])
def test_the_counter_of_a_sequence(kind: str) -> None:
    world = with_issue()
    (whole,) = [item for item in world.items() if item.get("_last") == 1 and item["rangeKey"] == "projectId#p"]
    world.inner.run(PutItem({**whole, "_last": DAMAGE[kind]}))
    error = refused(world, lambda: world.store.create(Issue(project_id="p")), "counter_damaged")
    assert (error.where, error.record.key) == ("issue p", {"projectId": "p"})
    assert world.store.create(Issue(project_id="q")).num == 2
    world.inner.run(PutItem(whole))
    assert world.store.create(Issue(project_id="p")).num == 2


@pytest.mark.parametrize("kind", [kind for kind in DAMAGE if kind != "it is missing"])
def test_the_counter_of_a_parents_children(kind: str) -> None:
    world = with_issue()
    (whole,) = [item for item in world.items() if "issue_project" in item and item["rangeKey"] == "projectId#p"]
    world.inner.run(PutItem({**whole, "issue_project": DAMAGE[kind]}))
    asked: list[Callable[[], object]] = [
        lambda: world.store.create(Issue(issue_id="k", project_id="p", num=9)),
        lambda: world.store.delete(Issue, "i"),
        lambda: world.store.delete(Project, "p"),
    ]
    for ask in asked:
        error = refused(world, ask, "counter_damaged")
        assert (error.where, error.record.key) == ("project p", {"projectId": "p"})
    world.store.delete(Issue, "j")
    world.store.delete(Project, "q")
    world.inner.run(PutItem(whole))
    world.store.delete(Issue, "i")
    world.store.delete(Project, "p")


@pytest.mark.parametrize("kind", [kind for kind in DAMAGE if kind not in ("it is missing", "a list")])
def test_what_says_by_which_relations_a_child_is_counted(kind: str) -> None:
    world = with_issue()
    (whole,) = [item for item in world.items_of(Issue) if item["issueId"] == "i"]
    world.inner.run(PutItem({**whole, "_counted": DAMAGE[kind]}))
    error = refused(world, lambda: world.store.delete(Issue, "i"), "counting_damaged")
    assert error.record.key == {"issueId": "i"}
    world.store.delete(Issue, "j")
    world.inner.run(PutItem(whole))
    world.store.delete(Issue, "i")


@pytest.mark.parametrize("value", [None, [SECRET], 7], ids=str)
@pytest.mark.parametrize("write", ["put", "update", "delete"])
def test_a_stored_record_whose_id_is_damaged_is_not_the_callers_fault(write: str, value: Any) -> None:
    world = shop()
    world.store.create(Customer(customer_id="ann", phone="1"))
    whole = damage(world, "customer!", "customerId", value)
    asked: dict[str, Callable[[], object]] = {
        "put": lambda: world.store.put(Customer(customer_id="ann", phone="2")),
        "update": lambda: world.store.update(Customer, "ann", {"phone": "2"}),
        "delete": lambda: world.store.delete(Customer, "ann"),
    }
    with pytest.raises(RecordUnreadable) as failure:
        asked[write]()
    assert SECRET not in str(failure.value)
    world.inner.run(PutItem(whole))
    asked[write]()


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in ("_request", "_answer", "_parts", "rev", "expires")
        for kind in DAMAGE
        if (name, kind) != ("rev", "a text")
    ],
)
def test_the_kept_answer_of_an_idempotency_key(name: str, kind: str) -> None:
    world = shop()
    create = Create({"customerId": "ann"}, Customer)
    kept = world.store.idempotent(ONCE, [create], lambda records: b"made")
    whole = damage(world, "_idempotency!", name, DAMAGE[kind])
    error = refused(world, lambda: world.store.idempotent(ONCE, [create], lambda records: b"made"), "answer_damaged")
    assert (error.where, error.record.stored_key) == ("idempotency key", (whole["hashKey"], whole["rangeKey"]))
    other = IdempotencyKey("other", ONCE.scope, ONCE.fingerprint)
    assert not world.store.idempotent(other, [Create({"customerId": "bob"}, Customer)], lambda records: b"x").repeated
    world.inner.run(PutItem(whole))
    again = world.store.idempotent(ONCE, [create], lambda records: b"other")
    assert (again.answer, again.repeated) == (kept.answer, True)


@pytest.mark.parametrize(
    ("name", "kind"), [(name, kind) for name in ("_projected", "_values") for kind in DAMAGE if kind != "a map"]
)
def test_what_is_kept_of_events_about_a_record_that_is_to_come(name: str, kind: str) -> None:
    world = post_office()
    world.store.apply("parcels", Seen(event_id="1", position=1, parcel_id="p", place="here"))
    whole = damage(world, "parcel.*waiting!", name, DAMAGE[kind])
    sent = Sent(event_id="2", position=2, parcel_id="p", owner="ann")
    error = refused(world, lambda: world.store.apply("parcels", sent), "events_damaged")
    assert error.record.key == {"parcelId": "p"}
    world.store.apply("parcels", Sent(event_id="3", position=3, parcel_id="q", owner="bob"))
    world.inner.run(PutItem(whole))
    world.store.apply("parcels", sent)
    assert {item["parcelId"] for item in world.items() if item["hashKey"].startswith("parcel!")} == {"p", "q"}


def test_what_a_record_says_of_its_events() -> None:
    world = post_office()
    world.store.apply("parcels", Sent(event_id="1", position=1, parcel_id="p", owner="ann"))
    whole = damage(world, "parcel!", "_projected", SECRET)
    seen = Seen(event_id="2", position=2, parcel_id="p", place="here")
    refused(world, lambda: world.store.apply("parcels", seen), "events_damaged")
    world.inner.run(PutItem(whole))
    world.store.apply("parcels", seen)


@pytest.mark.parametrize("value", [None, 7, [SECRET], b"x", True], ids=repr)
@pytest.mark.parametrize("mend", ["put", "update", "delete"])
def test_a_revision_that_is_no_text_can_not_be_read_and_is_written_over(value: Any, mend: str) -> None:
    """Also where the table has it as null, which is not the same as that there is none."""
    world = shop()
    world.store.create(Customer(customer_id="ann", phone="1"))
    (item,) = [item for item in world.items_of(Customer) if item.get("customerId") == "ann"]
    world.inner.run(PutItem({**item, "rev": value}))
    refused(world, lambda: world.store.get(Customer, "ann"), "wrong_revision")
    refused(world, lambda: world.store.get_by(Customer, "phone", "1"), "wrong_revision")
    with pytest.raises(RevisionConflict):
        world.store.update(Customer, "ann", {"phone": "2"}, rev=item["rev"])
    if mend == "delete":
        assert world.store.delete(Customer, "ann")
        assert world.store.get(Customer, "ann") is None
        return
    if mend == "put":
        world.store.put(Customer(customer_id="ann", phone="2"))
    else:
        world.store.update(Customer, "ann", {"phone": "2"})
    found = world.store.get_by(Customer, "phone", "2")
    assert found is not None
    assert found.rev


@pytest.mark.parametrize("value", [None, 7, [SECRET]], ids=repr)
def test_a_unique_value_whose_lookup_record_has_no_text_as_its_revision_can_be_taken(value: Any) -> None:
    world = shop()
    world.store.create(Customer(customer_id="ann", phone="1"))
    world.store.create(Customer(customer_id="bob", phone="2"))
    (record,) = [item for item in world.items() if item["hashKey"].startswith("customer.phone!") and "bob" in str(item)]
    (owner,) = [item for item in world.items_of(Customer) if item.get("customerId") == "bob"]
    world.inner.run(PutItem({**record, "rev": value}))
    world.inner.run(PutItem({**owner, "phone": "3"}))
    world.store.update(Customer, "ann", {"phone": "2"})
    found = world.store.get_by(Customer, "phone", "2")
    assert found is not None
    assert found.customer_id == "ann"
