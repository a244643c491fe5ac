"""Unique values: one live record has each, found by two reads, moved and removed with its record."""

from __future__ import annotations

import contextlib
import itertools
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from shardweave.errors import AlreadyExists, KeyTooLong, LimitExceeded, UnknownName, ValidationFailed, ValueRefused
from shardweave.schema.entity import Entity
from shardweave.store import Create, Delete, Put, Update
from shardweave.store.lookups.lookup_records import OWNER
from shardweave.table.fault_injection import WRITES, Call, Meanwhile, Script
from shardweave.table.operations import BatchGet, DeleteItem, GetItem, PutItem
from tests.unit.shop_world import Customer, Issue, Mailbox, Project, internal, shop, sound
from tests.unit.store_world import DAY, FIRST_BUMP, SECOND_BUMP, START, World

LATER = START // 1000 + 3600
LONG = "x" * 1100
MOMENTS = [START, FIRST_BUMP, SECOND_BUMP]


def lookups_of(world: World, name: str) -> list[dict[str, Any]]:
    return [item for item in internal(world) if item["hashKey"].startswith(f"{name}!") and OWNER in item]


# -- the record of a value --------------------------------------------------------------------------------------------


def test_a_value_has_a_record_that_holds_its_owners_id_and_never_its_shard() -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "+44 1", "expires": LATER}, Customer)
    (record,) = lookups_of(world, "customer.phone")
    del record["rev"]
    assert record == {
        "hashKey": "customer.phone!64",
        "rangeKey": "phone#+44!201",
        "_owner": "customerId#ann",
        "expires": LATER,
    }


def test_the_shard_of_a_value_depends_on_the_value_alone() -> None:
    places = set()
    for now in MOMENTS:
        world = shop()
        world.clock.now = now
        world.store.create({"phone": "1"}, Customer)
        places.add(lookups_of(world, "customer.phone")[0]["hashKey"])
    assert len(places) == 1


def test_a_record_without_the_value_has_none() -> None:
    world = shop()
    world.store.create({}, Customer)
    world.store.create({}, Customer)
    assert lookups_of(world, "customer.phone") == []


def test_a_value_too_long_for_its_key_is_refused_and_named() -> None:
    world = shop()
    with pytest.raises(KeyTooLong) as raised:
        world.store.create({"phone": "1" * 1100}, Customer)
    assert raised.value.where == "phone"
    assert world.items_of(Customer) == []
    others: list[tuple[type[Entity], dict[str, str], str]] = [
        (Customer, {"email": "a", "tenant": LONG}, "tenant"),
        (Customer, {"city": "Bath", "customerId": LONG[:1010]}, "customerId"),
        (Issue, {"projectId": LONG}, "projectId"),
        (Mailbox, {"address": LONG, "ownerId": "o"}, "address"),
    ]
    for model, values, longest in others:
        with pytest.raises(KeyTooLong) as raised:
            world.store.create(values, model)
        assert raised.value.where == longest


# -- finding ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("now", MOMENTS)
def test_a_record_is_found_by_two_reads(now: int) -> None:
    world = shop()
    record = world.store.create({"phone": "1"}, Customer)
    world.clock.now = now
    world.requests()
    assert world.store.get_by(Customer, "phone", "1") == record
    assert len(world.requests()) == 2
    assert all(operation.consistent for operation in world.table.calls)
    assert world.store.get_by(Customer, "phone", "2") is None
    assert world.requests() == ["GetItem"]


def test_a_value_is_found_by_the_name_of_its_lookup_or_property() -> None:
    world = shop()
    box = world.store.create({"address": "Ann@x.org", "ownerId": "o"}, Mailbox)
    assert world.store.get_by(Mailbox, "folded", "ANN@X.ORG") == box
    assert world.store.get_by(Mailbox, "address", "ann@x.org") == box
    with pytest.raises(UnknownName, match="folded, ownerId"):
        world.store.get_by(Mailbox, "created", START)
    with pytest.raises(UnknownName, match="not unique"):
        world.store.get_by(Mailbox, "owner_id", "o")


def test_the_value_is_given_in_the_propertys_type() -> None:
    world = shop()
    with pytest.raises(ValidationFailed):
        world.store.get_by(Customer, "phone", 1)
    with pytest.raises(UnknownName, match="give tenant"):
        world.store.get_by(Customer, "email", "a")
    with pytest.raises(UnknownName, match="give nothing"):
        world.store.get_by(Customer, "phone", "1", within={"tenant": "t"})


def test_a_record_that_loses_the_value_between_the_two_reads_is_not_given_and_its_heir_is() -> None:
    world: World

    def hand_over() -> None:
        world.other.transact([Update(Customer, "ann", {"phone": None}), Update(Customer, "bob", {"phone": "1"})])

    script = Script()
    world = shop(script)
    for name, phone in (("ann", "1"), ("bob", None)):
        world.other.create({"customerId": name, "phone": phone}, Customer)
    script._left = [None, Meanwhile(hand_over)]
    found = world.store.get_by(Customer, "phone", "1")
    assert found is not None
    assert found.customer_id == "bob"


def test_a_lookup_that_leads_to_another_value_finds_nothing() -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1"}, Customer)
    world.written_behind(Customer, phone="2")
    assert world.store.get_by(Customer, "phone", "1") is None


# -- taken ------------------------------------------------------------------------------------------------------------

TAKEN: dict[str, Callable[[World], object]] = {
    "create": lambda world: world.store.create({"phone": "1"}, Customer),
    "create, id given": lambda world: world.store.create({"customerId": "new", "phone": "1"}, Customer),
    "create, record": lambda world: world.store.create(Customer(phone="1", name="x")),
    "put, new": lambda world: world.store.put({"customerId": "new", "phone": "1"}, Customer),
    "put, over": lambda world: world.store.put({"customerId": "bob", "phone": "1"}, Customer),
    "update": lambda world: world.store.update(Customer, "bob", {"phone": "1"}),
}


@pytest.mark.parametrize("write", TAKEN.values(), ids=TAKEN.keys())
@pytest.mark.parametrize("now", MOMENTS)
def test_a_value_that_a_live_record_has_is_a_conflict_that_names_the_property(
    write: Callable[[World], object], now: int
) -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1"}, Customer)
    world.store.create({"customerId": "bob", "phone": "2"}, Customer)
    world.clock.now = now
    before = world.items()
    with pytest.raises(AlreadyExists) as raised:
        write(world)
    assert raised.value.where == "phone"
    assert "1" not in raised.value.message
    assert world.items() == before


def test_a_conflict_in_a_transaction_names_operation_and_property() -> None:
    world = shop()
    world.store.create({"phone": "1"}, Customer)
    with pytest.raises(AlreadyExists) as raised:
        world.store.transact([Create({"phone": "2"}, Customer), Create({"phone": "1"}, Customer)])
    assert raised.value.where == "operations[1].phone"
    with pytest.raises(AlreadyExists) as raised:
        world.store.transact([Create({"phone": "3"}, Customer), Create({"phone": "3"}, Customer)])
    assert raised.value.where == "operations[1].phone"
    assert len(world.items_of(Customer)) == 1


def test_letter_case_counts_as_the_declaration_says_and_scopes_are_apart() -> None:
    world = shop()
    record = world.store.create({"email": "Ann@Example.org"}, Customer)
    with pytest.raises(AlreadyExists) as raised:
        world.store.create({"email": "aNN@example.ORG"}, Customer)
    assert raised.value.where == "email"
    other = world.store.create({"email": "ann@example.org", "tenant": "u"}, Customer)
    assert world.store.get_by(Customer, "email", "ANN@example.org", within={"tenant": "t"}) == record
    assert world.store.get_by(Customer, "email", "ANN@example.org", within={"tenant": "u"}) == other
    changed = world.store.update(Customer, record.customer_id, {"email": "ANN@EXAMPLE.ORG"})
    assert changed.email == "ANN@EXAMPLE.ORG", "its own value may be written otherwise"
    assert sound(world)


@pytest.mark.parametrize("owner", ["o", "p"])
@pytest.mark.parametrize("now", MOMENTS)
def test_an_address_that_is_sharded_by_its_owner_is_unique_over_bumps_and_letter_case(owner: str, now: int) -> None:
    world = shop()
    box = world.store.create({"address": "ann@x.org", "ownerId": "o"}, Mailbox)
    world.clock.now = now
    for address in ("ann@x.org", "Ann@X.org"):
        with pytest.raises(AlreadyExists) as raised:
            world.store.create({"address": address, "ownerId": owner}, Mailbox)
        assert raised.value.where == "address"
    assert world.store.get_by(Mailbox, "address", "ANN@x.org") == box
    world.store.delete(Mailbox, "ann@x.org")
    world.store.create({"address": "Ann@X.org", "ownerId": owner}, Mailbox)
    assert sound(world)


def test_a_value_that_has_no_canonical_form_is_refused() -> None:
    from shardweave.schema.declarations import Unique
    from shardweave.schema.property_options import unique_property
    from shardweave.schema.schema import Schema

    def digits(value: str) -> str:
        if not value.isdecimal():
            raise ValueError
        return value.lstrip("0")

    class Badge(Entity, token="badge"):
        badge_id: str = unique_property()
        code: str

        code_lookup = Unique("code", canonical=digits)

    world = World(schema=Schema(entities=[Badge]))
    world.store.create({"badgeId": "a", "code": "007"}, Badge)
    with pytest.raises(AlreadyExists):
        world.store.create({"badgeId": "b", "code": "7"}, Badge)
    with pytest.raises(ValueRefused) as raised:
        world.store.create({"badgeId": "b", "code": "seven"}, Badge)
    assert raised.value.where == "code"
    world.written_behind(Badge, code="seven")
    assert world.store.delete(Badge, "a"), "what could not be stored now can be removed"


# -- free -------------------------------------------------------------------------------------------------------------


def release_by(how: str, world: World) -> None:
    if how == "deleted":
        world.other.delete(Customer, "ann")
    elif how == "changed":
        world.other.update(Customer, "ann", {"phone": "9"})
    elif how == "cleared":
        world.other.update(Customer, "ann", {"phone": None})
    elif how == "put":
        world.other.put({"customerId": "ann"}, Customer)
    elif how == "expired":
        world.clock.now += DAY
    elif how == "removed by another program":
        stored = world.stored(Customer)
        world.inner.run(DeleteItem({"hashKey": stored["hashKey"], "rangeKey": stored["rangeKey"]}))
    elif how == "changed by another program":
        world.written_behind(Customer, phone="9")
    else:
        world.clock.now += DAY
        world.other.create({"customerId": "ann", "phone": "9"}, Customer)


RELEASES = [
    "deleted",
    "changed",
    "cleared",
    "put",
    "expired",
    "removed by another program",
    "changed by another program",
    "expired and made again",
]


@pytest.mark.parametrize("how", RELEASES)
@pytest.mark.parametrize("later", [0, FIRST_BUMP - START, SECOND_BUMP - START])
def test_a_value_is_free_when_its_owner_does_not_have_it(how: str, later: int) -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1", "expires": LATER}, Customer)
    release_by(how, world)
    world.clock.now += later
    record = world.store.create({"phone": "1"}, Customer)
    assert world.store.get_by(Customer, "phone", "1") == record
    with pytest.raises(AlreadyExists):
        world.store.create({"phone": "1"}, Customer)


def test_a_value_is_not_free_because_its_lookup_says_so() -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1"}, Customer)
    (record,) = lookups_of(world, "customer.phone")
    world.inner.run(PutItem(record | {"expires": START // 1000 - 1}))
    with pytest.raises(AlreadyExists):
        world.store.create({"phone": "1"}, Customer)


def test_a_lookup_expires_with_its_owner() -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1", "expires": LATER}, Customer)
    world.store.update(Customer, "ann", {"expires": LATER + 5})
    assert lookups_of(world, "customer.phone")[0]["expires"] == LATER + 5
    world.store.update(Customer, "ann", {"expires": None})
    assert "expires" not in lookups_of(world, "customer.phone")[0]
    world.requests()
    world.store.update(Customer, "ann", {"name": "Ann"})
    assert world.requests() == ["GetItem", "PutItem"], "what does not change is not written"


def test_an_owner_that_expires_does_not_take_its_heirs_value_with_it() -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1", "expires": LATER}, Customer)
    world.clock.now += DAY
    heir = world.store.create({"customerId": "bob", "phone": "1"}, Customer)
    world.clock.now -= DAY
    assert world.store.delete(Customer, "ann"), "by a clock that is behind she is still there"
    world.clock.now += DAY
    assert world.store.get_by(Customer, "phone", "1") == heir
    assert sound(world)


def test_an_owner_can_not_come_back_to_a_value_that_was_taken() -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1", "expires": LATER}, Customer)
    world.clock.now += DAY
    world.store.create({"customerId": "bob", "phone": "1"}, Customer)
    world.clock.now -= DAY
    with pytest.raises(AlreadyExists):
        world.store.update(Customer, "ann", {"expires": None})
    world.clock.now += DAY
    assert sound(world)


# -- together ---------------------------------------------------------------------------------------------------------


def test_two_records_change_values_in_one_transaction() -> None:
    world = shop()
    for name, phone in (("ann", "1"), ("bob", "2")):
        world.store.create({"customerId": name, "phone": phone}, Customer)
    world.store.transact([Update(Customer, "ann", {"phone": "2"}), Update(Customer, "bob", {"phone": "1"})])
    assert sound(world)
    world.store.transact([Delete(Customer, "ann"), Create({"customerId": "cleo", "phone": "2"}, Customer)])
    found = world.store.get_by(Customer, "phone", "2")
    assert found is not None
    assert found.customer_id == "cleo"
    assert sound(world)


def test_a_holder_that_is_written_in_the_same_transaction_is_named_once() -> None:
    world = shop()
    world.store.create({"customerId": "ann", "phone": "1"}, Customer)
    world.written_behind(Customer, phone="9")
    world.store.transact([Create({"phone": "1"}, Customer), Update(Customer, "ann", {"name": "Ann"})])
    assert world.store.get_by(Customer, "phone", "1") is not None


def test_records_with_lookups_become_a_transaction_each_in_a_batch() -> None:
    world = shop()
    world.store.create({"phone": "2"}, Customer)
    world.requests()
    result = world.store.batch_write([Put({"phone": str(number)}, Customer) for number in range(4)])
    assert [outcome.status for outcome in result.puts] == ["written", "written", "failed", "written"]
    assert isinstance(result.puts[2].error, AlreadyExists)
    assert result.puts[2].error.where == "phone"
    assert world.requests().count("BatchWrite") == 0
    assert sound(world)


def test_lookups_count_as_actions() -> None:
    world = shop()
    operations = [Create({"phone": str(n), "email": str(n), "city": "Bath"}, Customer) for n in range(20)]
    assert len(world.store.transact(operations)) == 20
    more = [Create({"phone": f"x{n}", "email": f"x{n}", "city": "Bath"}, Customer) for n in range(26)]
    with pytest.raises(LimitExceeded, match="104 actions"):
        world.store.transact(more)


# -- many writers -----------------------------------------------------------------------------------------------------


def test_of_twenty_creators_of_one_phone_one_wins_and_the_others_are_told_the_property() -> None:
    world = shop()
    world.clock.now = SECOND_BUMP
    barrier = threading.Barrier(20)

    def create(number: int) -> object:
        barrier.wait()
        try:
            return world.store.create({"phone": "1", "name": str(number)}, Customer)
        except AlreadyExists as conflict:
            return conflict.where

    with ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(create, range(20)))
    assert outcomes.count("phone") == 19
    (winner,) = [outcome for outcome in outcomes if outcome != "phone"]
    assert world.store.get_by(Customer, "phone", "1") == winner
    assert len(world.items_of(Customer)) == 1
    assert sound(world)


INTERFERENCES: dict[str, Callable[[World], object]] = {
    "another takes it": lambda world: world.other.create({"customerId": "cleo", "phone": "1"}, Customer),
    "its owner gives it up": lambda world: world.other.update(Customer, "ann", {"phone": "9"}),
    "its owner is deleted": lambda world: world.other.delete(Customer, "ann"),
    "its owner changes": lambda world: world.other.update(Customer, "ann", {"name": "x"}),
}


@pytest.mark.parametrize("act", INTERFERENCES.values(), ids=INTERFERENCES.keys())
@pytest.mark.parametrize("stale", [False, True], ids=["had", "had before"])
def test_whoever_acts_in_between_one_live_record_has_the_value(act: Callable[[World], object], stale: bool) -> None:
    """At each write of a create and an update that want Ann's phone, somebody else acts just before."""
    for step, write in itertools.product(range(3), ("create", "update")):
        script = Script(matching=WRITES)
        world = shop(script)
        world.other.create({"customerId": "ann", "phone": "1"}, Customer)
        world.other.create({"customerId": "bob", "phone": "2"}, Customer)
        if stale:
            stored = next(item for item in world.items_of(Customer) if item["customerId"] == "ann")
            world.inner.run(PutItem({name: value for name, value in stored.items() if name != "phone"}))
        script._left = [*[None] * step, Meanwhile(lambda world=world: attempt(act, world))]
        if write == "create":
            attempt(lambda world: world.store.create({"customerId": "dan", "phone": "1"}, Customer), world)
        else:
            attempt(lambda world: world.store.update(Customer, "bob", {"phone": "1"}), world)
        owners = [item["customerId"] for item in world.items_of(Customer) if item.get("phone") == "1"]
        found = world.store.get_by(Customer, "phone", "1")
        assert len(owners) <= 1
        assert owners == ([found.customer_id] if found else [])


def test_an_owner_that_a_read_does_not_show_yet_keeps_its_value() -> None:
    """Plain reads beside a transaction may show one of its items before and another after it."""

    class SeesNothing:
        def execute(self, call: Call) -> Any:
            answer = call.run(call.operation)
            return replace(answer, items=()) if isinstance(call.operation, BatchGet) else replace(answer, item=None)

    for now in MOMENTS:
        script = Script(matching=[GetItem, BatchGet])
        world = shop(script)
        world.store.create({"customerId": "ann", "phone": "1"}, Customer)
        world.clock.now = now
        script._left = [SeesNothing()]
        with pytest.raises(AlreadyExists) as raised:
            world.store.create({"phone": "1"}, Customer)
        assert raised.value.where == "phone"
        assert sound(world)


def attempt(act: Callable[[World], object], world: World) -> None:
    with contextlib.suppress(AlreadyExists):
        act(world)


def test_a_number_and_a_parent_do_not_stand_in_a_unique_values_way() -> None:
    world = shop()
    world.store.create({"projectId": "p"}, Project)
    world.store.create({"projectId": "p", "code": "x"}, Issue)
    with pytest.raises(AlreadyExists) as raised:
        world.store.create({"projectId": "p", "code": "x"}, Issue)
    assert raised.value.where == "code"
    assert sound(world)
