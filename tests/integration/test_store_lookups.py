"""Unique values, numbers, parents and idempotency keys on every table: the same answers whatever carries them out."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from shardweave.errors import AlreadyExists, HasChildren, IdempotencyMismatch, ParentMissing
from shardweave.store import Create, Delete, IdempotencyKey, RetryClock, Store, Update
from tests.integration.table_contract import OpenTable
from tests.unit.shop_world import SCHEMA, Customer, Issue, Order, Project
from tests.unit.store_world import FIRST_BUMP, SECOND_BUMP, START, Clock


class Place:
    """A store on a new table of the backend."""

    def __init__(self, open_table: OpenTable) -> None:
        self.clock = Clock()
        self.table = open_table(SCHEMA.layout)
        self.store = Store(SCHEMA, self.table, clock=self.clock, waiting=RetryClock())


@pytest.fixture
def place(open_table: OpenTable) -> Place:
    return Place(open_table)


def test_a_value_is_taken_found_handed_over_and_free_again(place: Place) -> None:
    store = place.store
    ann = store.create({"customerId": "ann", "phone": "1", "email": "Ann@x", "city": "Bath"}, Customer)
    place.clock.now = FIRST_BUMP
    with pytest.raises(AlreadyExists) as raised:
        store.create({"email": "aNN@X"}, Customer)
    assert raised.value.where == "email"
    store.create({"customerId": "bob", "phone": "2", "city": "Bath", "expires": FIRST_BUMP // 1000 + 60}, Customer)
    assert store.get_by(Customer, "phone", "1") == ann
    store.transact([Update(Customer, "ann", {"phone": "2"}), Update(Customer, "bob", {"phone": "1"})])
    with pytest.raises(AlreadyExists) as raised:
        store.transact([Create({"phone": "3"}, Customer), Create({"phone": "1"}, Customer)])
    assert raised.value.where == "operations[1].phone"
    page = store.find_by(Customer, "city", "Bath", limit=1)
    assert [each.customer_id for each in page.items] == ["ann"]
    assert [each.customer_id for each in store.find_by(Customer, "city", "Bath", after=page.after).items] == ["bob"]
    place.clock.now = SECOND_BUMP
    heir = store.create({"customerId": "cleo", "phone": "1"}, Customer)
    assert store.get_by(Customer, "phone", "1") == heir
    assert store.expand([Order(customer_id="ann", phone="1")], "customer", "caller") == [
        {"customer": store.get(Customer, "ann"), "caller": heir}
    ]


def test_children_are_numbered_and_keep_their_parent(place: Place) -> None:
    store = place.store
    with pytest.raises(ParentMissing):
        store.create({"projectId": "p", "num": 9}, Issue)
    store.create({"projectId": "p"}, Project)
    issues = [store.create({"projectId": "p"}, Issue) for _ in range(3)]
    assert [issue.num for issue in issues] == [1, 2, 3]
    assert store.take(Issue, "num", within="p", count=5) == range(4, 9)
    with pytest.raises(HasChildren):
        store.delete(Project, "p")
    store.transact([*[Delete(Issue, issue.issue_id) for issue in issues], Delete(Project, "p")])
    assert store.get(Project, "p") is None
    assert store.get_by(Issue, "num", 1, within={"projectId": "p"}) is None


def test_creators_at_once_share_a_value_a_parent_and_its_numbers(place: Place) -> None:
    store = place.store
    store.create({"projectId": "p"}, Project)
    barrier = threading.Barrier(8)

    def create(creator: int) -> tuple[int, str]:
        barrier.wait()
        number = store.create({"projectId": "p", "title": str(creator)}, Issue).num
        try:
            return number, store.create({"phone": "1", "name": str(creator)}, Customer).name
        except AlreadyExists as conflict:
            return number, conflict.where

    with ThreadPoolExecutor(8) as pool:
        outcomes = list(pool.map(create, range(8)))
    assert sorted(number for number, _ in outcomes) == list(range(1, 9))
    assert [name for _, name in outcomes].count("phone") == 7
    with pytest.raises(HasChildren):
        store.delete(Project, "p")


def test_a_request_is_carried_out_once(place: Place) -> None:
    store = place.store
    place.clock.now = START

    def ask(content: bytes = b"") -> bytes:
        created = [Create({"phone": "1"}, Customer)]
        return store.idempotent(
            IdempotencyKey("key", "tenant", content), created, lambda made: repr(made).encode()
        ).answer

    assert ask() == ask()
    with pytest.raises(IdempotencyMismatch):
        ask(b"another")
    assert store.idempotent_work(IdempotencyKey("other", "tenant", b""), lambda: b"done").answer == b"done"
    assert store.idempotent_work(IdempotencyKey("other", "tenant", b""), lambda: b"never").repeated
