"""One transaction names an item once, whatever comes together in it."""

from __future__ import annotations

from collections.abc import Callable
from itertools import permutations

import pytest

from shardweave.errors import AlreadyExists
from shardweave.schema.declarations import Unique, belongs_to
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import Create, Delete, Operation, Put, Update
from shardweave.table.fault_injection import WRITES, Meanwhile, Script
from shardweave.table.operations import DeleteItem, PutItem
from tests.unit.shop_world import SCHEMA, Customer, shop, sound
from tests.unit.store_world import DAY, FIRST_BUMP, START, World

BOTH = {"phone": "1", "email": "Ann@x"}


def written(world: World, *puts: Put) -> None:
    assert world.store.batch_write(puts).complete


TAKES: dict[str, Callable[[World], object]] = {
    "create": lambda world: world.store.create({"customerId": "new", **BOTH}, Customer),
    "create, id made up": lambda world: world.store.create(BOTH, Customer),
    "put": lambda world: world.store.put({"customerId": "new", **BOTH}, Customer),
    "update": lambda world: world.store.update(Customer, "bob", BOTH),
    "batch": lambda world: written(world, Put({"customerId": "new", **BOTH}, Customer)),
    "two in a transaction": lambda world: world.store.transact(
        [Create({"customerId": "new", "phone": "1"}, Customer), Update(Customer, "bob", {"email": "ann@x"})]
    ),
}


def removed_behind(world: World) -> None:
    stored = world.stored(Customer)
    world.inner.run(DeleteItem({name: stored[name] for name in ("hashKey", "rangeKey")}))


def a_day_later(world: World) -> None:
    world.clock.now += DAY


GONE: dict[str, Callable[[World], object]] = {
    "expired": a_day_later,
    "removed": removed_behind,
    "changed": lambda world: world.written_behind(Customer, phone="9", email="9"),
}


@pytest.mark.parametrize("take", TAKES.values(), ids=TAKES.keys())
@pytest.mark.parametrize("go", GONE.values(), ids=GONE.keys())
@pytest.mark.parametrize("later", [0, FIRST_BUMP - START])
def test_two_values_of_one_owner_that_has_them_no_more_are_taken_at_once(
    take: Callable[[World], object], go: Callable[[World], object], later: int
) -> None:
    world = shop()
    world.store.create({"customerId": "ann", "expires": START // 1000 + 3600, **BOTH}, Customer)
    world.clock.now += later
    go(world)
    world.other.create({"customerId": "bob"}, Customer)
    take(world)
    assert world.store.get_by(Customer, "phone", "1") is not None
    assert world.store.get_by(Customer, "email", "ann@x", within={"tenant": "t"}) is not None


def with_one_value_twice() -> World:
    """Ann has the lookup of a phone that another program gave Bob too."""
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1"}, Customer)
    bob = {name: value for name, value in world.stored(Customer).items() if name not in ("hashKey", "rangeKey")}
    world.inner.run(PutItem(SCHEMA[Customer].complete({**bob, "customerId": "bob"})))
    return world


@pytest.mark.parametrize("first", ["ann", "bob"])
@pytest.mark.parametrize("how", ["deleted", "changed"])
def test_a_value_that_two_records_have_is_given_up_by_both(first: str, how: str) -> None:
    world = with_one_value_twice()
    names = [first, *{"ann", "bob"} - {first}]
    ways: dict[str, list[Operation]] = {
        "deleted": [Delete(Customer, name) for name in names],
        "changed": [Update(Customer, name, {"phone": None}) for name in names],
    }
    world.store.transact(ways[how])
    assert world.store.get_by(Customer, "phone", "1") is None
    assert sound(world)


def test_a_value_that_two_records_give_up_is_taken_by_a_third_in_the_same_transaction() -> None:
    operations = [
        Delete(Customer, "ann"),
        Update(Customer, "bob", {"phone": None}),
        Create({"customerId": "cleo", "phone": "1"}, Customer),
    ]
    for order in permutations(operations):
        world = with_one_value_twice()
        world.store.transact(order)
        found = world.store.get_by(Customer, "phone", "1")
        assert found is not None
        assert found.customer_id == "cleo"
        assert sound(world)


class Member(Entity, token="member"):
    """Somebody who may have a boss."""

    member_id: str = unique_property()
    boss_id: str | None = None
    email: str | None = None

    email_lookup = Unique("email")
    boss = belongs_to("member", by="boss_id", enforced=True)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_what_two_operations_require_of_one_record_is_required_together(order: tuple[int, int]) -> None:
    """One needs a boss to be there, the other that the same has a value no more, which it has again meanwhile."""
    script = Script(matching=WRITES)
    world = World(script, schema=Schema([Member]))
    world.store.create({"memberId": "boss", "email": "1"}, Member)
    had = world.stored(Member)
    world.written_behind(Member, email="2", rev="changed")
    back = Meanwhile(lambda: world.inner.run(PutItem({**had, "rev": "back"})))
    script._left = [None, back]
    wanted = [Create({"memberId": "one", "bossId": "boss"}, Member), Create({"memberId": "two", "email": "1"}, Member)]
    with pytest.raises(AlreadyExists) as raised:
        world.store.transact([wanted[at] for at in order])
    assert raised.value.where == f"operations[{order.index(1)}].email"
