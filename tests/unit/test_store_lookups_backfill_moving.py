"""A lookup is filled while its records are moved to other shards: each record comes to be in it."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import LookupNotReady
from shardweave.keys.sharding import ShardBump
from shardweave.reshard.phases import Phase, ReshardStep
from shardweave.schema.declarations import Lookup, Unique
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import BackfillReport, Store
from tests.unit.reshard_world import FOUR, STAGES, ReshardWorld

SHARDS = [ShardBump(0, char_bits=1, chars=3)]


class OldTicket(Entity, token="ticket", shard_bumps=SHARDS):
    """A ticket as an older version of the program knows it."""

    ticket_id: str = unique_property()
    code: str
    city: str


class Ticket(OldTicket, token="ticket", shard_bumps=SHARDS):
    """The same with lookups."""

    code_lookup = Unique("code")
    city_lookup = Lookup("city")


class OldSeat(Entity, token="seat", partition="hall", sort="number", shard_bumps=SHARDS):
    """Something whose records lie under hash keys that nobody can list."""

    hall: str
    number: int
    code: str
    city: str


class Seat(OldSeat, token="seat", partition="hall", sort="number", shard_bumps=SHARDS):
    """The same with lookups."""

    code_lookup = Unique("code")
    city_lookup = Lookup("city")


OLD = Schema(entities=[OldTicket, OldSeat])
NEW = Schema(entities=[Ticket, Seat])


class Filled(ReshardWorld):
    """A table that an older version filled."""

    def __init__(self, model: type[Entity], count: int) -> None:
        super().__init__(schema=NEW)
        old = Store(OLD, self.inner, clock=self.clock, waiting=self.pauses.waiting())
        for number in range(count):
            identity: dict[str, Any] = {"ticket_id": f"t{number:03}"}
            if model is Seat:
                identity = {"hall": f"h{number:03}", "number": number}
            record = {**identity, "code": str(number), "city": "Bath"}
            old.create(record, OldTicket if model is Ticket else OldSeat)

    def filled(self, model: type[Entity], name: str, meanwhile: Any) -> BackfillReport:
        """Fill it in another process, and let this happen after the first page."""
        left = [meanwhile]

        def follow(report: BackfillReport) -> None:
            if left:
                left.pop()()

        return self.new_store().backfill(model, name, follow=follow)


@pytest.mark.parametrize("model", [Ticket, Seat])
@pytest.mark.parametrize("name", ["code", "city"])
@pytest.mark.parametrize("stage", STAGES)
def test_records_that_move_past_the_reader_come_to_be_in_the_lookup(
    model: type[Entity], name: str, stage: tuple[Phase, ReshardStep]
) -> None:
    world = Filled(model, 150)

    def move() -> None:
        world.start(model, FOUR)
        world.run_until(model, *stage)

    report = world.filled(model, name, move)
    world.finish(model)
    assert (report.ready, report.refused) == (True, 0)
    assert found_by(world, model, name) == list(range(150))


@pytest.mark.parametrize("stage", STAGES[:-1])
def test_so_it_is_where_the_move_was_under_way_and_ends(stage: tuple[Phase, ReshardStep]) -> None:
    world = Filled(Ticket, 150)
    world.start(Ticket, FOUR)
    world.run_until(Ticket, *stage)
    assert world.filled(Ticket, "code", lambda: world.finish(Ticket)).ready
    assert found_by(world, Ticket, "code") == list(range(150))


def test_what_is_refused_is_told_once_where_all_is_read_again() -> None:
    world = Filled(Ticket, 150)
    Store(OLD, world.inner, clock=world.clock).create({"ticket_id": "t", "code": "7", "city": "Bath"}, OldTicket)

    def move() -> None:
        world.start(Ticket, FOUR)
        world.finish(Ticket)

    report = world.filled(Ticket, "code", move)
    assert (report.ready, report.refused, len(report.examples)) == (False, 1, 1)
    with pytest.raises(LookupNotReady):
        world.new_store().get_by(Ticket, "code", "1")


def found_by(world: ReshardWorld, model: type[Entity], name: str) -> list[int]:
    """The numbers of the records that are found by a lookup."""
    store: Any = world.new_store()
    if name == "city":
        return sorted(int(each.code) for each in store.find_by(model, "city", "Bath", limit=500).items)
    return [number for number in range(150) if store.get_by(model, "code", str(number)) is not None]
