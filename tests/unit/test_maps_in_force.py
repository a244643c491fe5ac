"""Whoever opens a table and says nothing of shard maps goes by those in force, for reads and for writes."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

import pytest

from shardweave.errors import ShardMapChanged
from shardweave.keys.sharding import ShardBump
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.reshard.control import control_key
from shardweave.reshard.leased_maps import LeasedMaps, guards_inside_writes, maps_in_force
from shardweave.reshard.phases import Waits
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.schema.shard_maps import StaticMaps
from shardweave.service.build import reshard_driver, reshard_operator
from shardweave.store import Store
from shardweave.table import Guard, Table
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import GetItem, Operation
from shardweave.values.codecs import Timestamp
from tests.unit.api_world import CURSOR_KEYS
from tests.unit.store_world import START, Clock, NoWaiting

SHORT = Waits(lease_ms=250, accepted_ms=0, request_ms=0, clocks_ms=0, cursor_life_ms=0, quiet_ms=0, recheck_ms=())


class Parcel(Entity, token="parcel", shard_bumps=[ShardBump(0, char_bits=2, chars=1)]):
    """What is sent."""

    parcel_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    town: str = "Bern"

    town_hash_key = HashKey("town")


def parcels() -> Schema:
    return Schema([Parcel], [Index("town", hash_key="town_hash_key", range_key="created")])


class OverTheNetwork:
    """A table whose writes ask their guard before they are sent; `sending` happens in between."""

    guards_inside_writes = False

    def __init__(self, inner: Table) -> None:
        self.inner = inner
        self.layout = inner.layout
        self.asked: list[Operation[Any]] = []
        self.sending: Callable[[], None] = lambda: None

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        self.asked.append(operation)
        self.sending()
        if guard is not None:
            guard()
        return self.inner.run(operation)

    def close(self) -> None:
        self.inner.close()


def moved(schema: Schema, table: Table, clock: Clock, target: ShardBump) -> None:
    """Another process moves every parcel."""
    operator = reshard_operator(table, SHORT, clock)
    driver = reshard_driver(schema, table, LeasedMaps(table, SHORT, clock=clock), SHORT, clock=clock)
    entity = schema[Parcel]
    operator.start(entity, target)
    for _ in range(200):
        driver.wake()
        clock.now += 1000
        status = operator.status(entity)
        assert not status.attention
        if not status.moving:
            return
    raise AssertionError(f"it stays in {status.phase}, {status.step}")


@pytest.mark.parametrize("opened", [lambda inner: inner, OverTheNetwork], ids=["embedded", "over the network"])
def test_a_store_and_a_runner_that_were_opened_before_follow_the_records(opened: Callable[[Table], Table]) -> None:
    schema, clock = parcels(), Clock()
    inner = EmbeddedTable(schema.layout, clock=lambda: clock.now / 1000)
    table = opened(inner)
    store = Store(schema, table, clock=clock)
    queries = QueryRunner(schema, table, CURSOR_KEYS, clock=clock)
    bern = QuerySpec("parcel", {"town": Equal("Bern")}, limit=100)
    ids = {store.create(Parcel()).parcel_id for _ in range(20)}
    assert queries.count(bern).count == 20

    moved(schema, inner, clock, ShardBump(0, char_bits=2, chars=2))

    assert {each for each in ids if store.get(Parcel, each) is not None} == ids
    assert queries.count(bern).count == 20
    assert {record.parcel_id for record in queries.run(bern).items} == ids
    late = store.create(Parcel()).parcel_id
    store.update(Parcel, min(ids), {"town": "Chur"})
    assert store.delete(Parcel, max(ids))

    others = Store(schema, inner, clock=clock)
    there = [others.get(Parcel, each) for each in (late, min(ids), max(ids))]
    assert [None if each is None else each.town for each in there] == ["Bern", "Chur", None]
    queries.close()


def test_a_write_that_was_held_up_for_longer_than_the_lease_is_not_sent() -> None:
    schema, clock = parcels(), Clock()
    table = OverTheNetwork(EmbeddedTable(schema.layout))
    kept = maps_in_force(table, clock, monotonic=lambda: 0)
    store = Store(schema, table, clock=clock, waiting=NoWaiting().waiting())

    def hold_up() -> None:
        clock.now += 251 if not isinstance(table.asked[-1], GetItem) else 0

    store.create(Parcel())
    table.sending = hold_up
    with pytest.raises(ShardMapChanged):
        store.create(Parcel())
    assert maps_in_force(table, clock) is kept


def test_a_store_and_a_runner_of_one_table_share_what_they_read() -> None:
    schema, clock = parcels(), Clock()
    table = OverTheNetwork(EmbeddedTable(schema.layout))
    kept = maps_in_force(table, clock, monotonic=lambda: 0)
    store = Store(schema, table, clock=clock)
    queries = QueryRunner(schema, table, CURSOR_KEYS, clock=clock)
    store.create(Parcel())
    queries.count(QuerySpec("parcel", {"town": Equal("Bern")}))
    control = GetItem(control_key(schema[Parcel]), consistent=True)
    assert table.asked.count(control) == 1
    assert maps_in_force(table, clock) is kept
    queries.close()


def test_the_maps_of_a_table_end_with_those_who_use_them() -> None:
    schema = parcels()
    table = EmbeddedTable(schema.layout)
    kept = maps_in_force(table)
    assert maps_in_force(table) is kept
    assert maps_in_force(table, Clock()) is not kept
    assert maps_in_force(EmbeddedTable(schema.layout)) is not kept


def test_two_declarations_of_one_entity_have_a_map_each() -> None:
    """As a program has that writes by an old schema and reads by a new one."""
    schema = parcels()

    class Wider(Entity, token="parcel", shard_bumps=[ShardBump(0, char_bits=2, chars=1), ShardBump(START, 2, 2)]):
        parcel_id: str = unique_property(default_factory=nanoid)
        created: Timestamp = timestamp_property()
        town: str = "Bern"

        town_hash_key = HashKey("town")

    wider = Schema([Wider], [Index("town", hash_key="town_hash_key", range_key="created")])
    table = EmbeddedTable(schema.layout)
    maps = maps_in_force(table)
    assert len(maps.view(schema[Parcel]).shard_map.generations) == 1
    assert len(maps.view(wider[Wider]).shard_map.generations) == 2


def test_the_declared_maps_are_had_by_name_only() -> None:
    for opener in (Store, QueryRunner):
        assert signature(opener).parameters["maps"].default is None
    schema = parcels()
    table = OverTheNetwork(EmbeddedTable(schema.layout))
    Store(schema, table, maps=StaticMaps()).get(Parcel, "p")
    assert GetItem(control_key(schema[Parcel]), consistent=True) not in table.asked


class Wrapper:
    """A table that says nothing of its guards, as one that somebody wraps for a purpose of their own."""

    def __init__(self, inner: Table) -> None:
        self.inner = inner
        self.layout = inner.layout

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        return self.inner.run(operation, guard=guard)

    def close(self) -> None:
        self.inner.close()


def test_a_table_that_says_nothing_of_its_guards_is_taken_to_be_of_the_weaker_kind() -> None:
    schema = parcels()
    wrapper: Any = Wrapper(EmbeddedTable(schema.layout))
    assert not guards_inside_writes(wrapper)
    made = Store(schema, wrapper).create(Parcel(parcel_id="p", town="t"))
    found = Store(schema, wrapper).get(Parcel, "p")
    assert found == made
    assert hash(found) == hash(made)
