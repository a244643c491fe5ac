"""Records that are sharded by another property than their id: a lookup finds them and keeps the id unique."""

from __future__ import annotations

import pytest

from services import user_service
from shardweave.errors import AlreadyExists, ImmutableProperty, KeyTooLong
from shardweave.store import Check, Create
from shardweave.store.lookups.lookup_records import LOOKUP_SPACE, identity_lookup_key
from shardweave.table.operations import DeleteItem, PutItem, Query
from tests.unit.store_world import (
    ADDRESSES,
    DAY,
    FIRST_BUMP,
    SCHEMA,
    SECOND_BUMP,
    START,
    Address,
    World,
    is_consistent,
)


def sound(world: World) -> bool:
    return list(is_consistent(world, world.clock())) == []


def test_a_record_lies_in_the_shard_of_what_it_is_sharded_by() -> None:
    world = World()
    world.clock.now = SECOND_BUMP
    for name in ("a", "b", "c"):
        world.store.create({"address": name, "ownerId": "o"}, Address)
    assert len({item["hashKey"] for item in world.items_of(Address)}) == 1
    assert sound(world)


def test_a_lookup_lies_where_its_value_alone_decides() -> None:
    key = identity_lookup_key(ADDRESSES, {"address": "ann@example.org"})
    assert key == {"hashKey": "address.address!41", "rangeKey": "address#ann@example.org"}
    assert LOOKUP_SPACE.shards == 256


def test_create_update_and_delete_cost_what_they_need() -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o"}, Address)
    assert world.requests() == ["TransactWrite"]
    world.store.get(Address, "a")
    assert world.requests() == ["GetItem", "GetItem"]
    world.store.update(Address, "a", {"label": "home"})
    assert world.requests() == ["GetItem", "GetItem", "PutItem"], "the lookup is not touched"
    world.store.update(Address, "a", {"expires": START // 1000 + 60})
    assert world.requests() == ["GetItem", "GetItem", "TransactWrite"], "the lookup expires with its record"
    world.store.delete(Address, "a")
    assert world.requests() == ["GetItem", "GetItem", "TransactWrite"]
    assert world.items() == []


@pytest.mark.parametrize("owner", ["same", "other"])
@pytest.mark.parametrize("now", [START, FIRST_BUMP, SECOND_BUMP])
def test_an_id_is_unique_over_all_shards_and_generations(owner: str, now: int) -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "same"}, Address)
    world.clock.now = now
    with pytest.raises(AlreadyExists):
        world.store.create({"address": "a", "ownerId": owner}, Address)
    assert len(world.items_of(Address)) == 1
    assert sound(world)


def test_put_finds_the_record_and_refuses_to_move_it() -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o"}, Address)
    world.clock.now = SECOND_BUMP
    assert world.store.put({"address": "a", "ownerId": "o", "label": "home"}, Address).created == START
    with pytest.raises(ImmutableProperty) as raised:
        world.store.put({"address": "a", "ownerId": "p"}, Address)
    assert raised.value.where == "ownerId"
    with pytest.raises(ImmutableProperty):
        world.store.update(Address, "a", {"ownerId": "p"})
    assert sound(world)


@pytest.mark.parametrize("write", ["create", "put"])
@pytest.mark.parametrize("owner", ["o", "p"])
def test_an_id_is_free_again_when_its_record_has_expired(write: str, owner: str) -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o", "expires": START // 1000 + 60}, Address)
    world.clock.now = SECOND_BUMP
    record = getattr(world.store, write)({"address": "a", "ownerId": owner}, Address)
    assert world.store.get(Address, "a") == record
    assert (len(world.items_of(Address)), len(world.lookups())) == (1, 1)
    assert sound(world)


@pytest.mark.parametrize("write", ["create", "put"])
def test_an_id_is_free_again_when_its_record_is_gone_and_its_lookup_is_not(write: str) -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o"}, Address)
    stored = world.stored(Address)
    world.inner.run(DeleteItem({"hashKey": stored["hashKey"], "rangeKey": stored["rangeKey"]}))
    assert world.store.get(Address, "a") is None
    assert world.store.delete(Address, "a") is False
    getattr(world.store, write)({"address": "a", "ownerId": "p"}, Address)
    assert sound(world)


def test_an_id_is_not_free_because_its_lookup_has_expired() -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o"}, Address)
    (lookup,) = world.lookups()
    world.inner.run(PutItem(lookup | {"expires": START // 1000 - 1}))
    with pytest.raises(AlreadyExists):
        world.store.create({"address": "a", "ownerId": "p"}, Address)


def test_a_lookup_expires_with_its_record() -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o", "expires": START // 1000 + 60}, Address)
    assert world.lookups()[0]["expires"] == START // 1000 + 60
    world.store.update(Address, "a", {"expires": START // 1000 + 90})
    assert world.lookups()[0]["expires"] == START // 1000 + 90
    world.store.update(Address, "a", {"expires": None})
    assert "expires" not in world.lookups()[0]
    assert sound(world)


def test_lookups_are_in_no_index_and_belong_to_no_entity() -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o", "expires": START // 1000 + 60}, Address)
    (lookup,) = world.lookups()
    assert SCHEMA.entity_of_key(lookup["hashKey"]) is None
    for index in SCHEMA.layout.indexes:
        assert not {index.hash_key.name, index.range_key.name} <= lookup.keys()
        page = world.inner.run(Query(index.hash_key.name, lookup["hashKey"], index.range_key.name, index=index.name))
        assert page.items == ()


def test_a_transaction_can_require_that_an_id_is_free() -> None:
    world = World()
    world.store.create({"address": "a", "ownerId": "o", "expires": START // 1000 + 60}, Address)
    with pytest.raises(AlreadyExists):
        world.store.transact([Check(Address, "a", exists=False)])
    world.clock.now += DAY
    world.store.transact([Check(Address, "a", exists=False), Create({"address": "b", "ownerId": "o"}, Address)])
    world.store.transact([Check(Address, "c", exists=False)])
    assert world.store.get(Address, "b") is not None


def test_a_batch_reads_the_lookups_first() -> None:
    world = World()
    world.clock.now = SECOND_BUMP
    records = [world.store.create({"address": name, "ownerId": name * 3}, Address) for name in "abc"]
    world.requests()
    assert world.store.batch_get(Address, ["c", "x", "a", "b"]) == [records[2], None, records[0], records[1]]
    assert world.requests() == ["BatchGet", "BatchGet"]


def test_an_id_too_long_for_its_lookup_is_refused() -> None:
    with pytest.raises(KeyTooLong):
        World().store.create({"address": "x" * 1020, "ownerId": "o"}, Address)


def test_the_user_service_needs_no_lookups() -> None:
    schema = user_service.schema()
    assert not any(entity.lookup_placed for entity in schema.entities.values())
