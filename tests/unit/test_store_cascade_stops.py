"""Deleting a parent with more children than a transaction holds, stopped at any step: what was done stays sound, and
deleting it again, by any process, goes on to the end."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest
from pydantic import Field

from shardweave.errors import DeleteIncomplete, OutcomeUnknown
from shardweave.maintenance.doctor import Doctor
from shardweave.schema.declarations import Lookup, belongs_to
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.fault_injection import WRITES, Call, Crash, Crashed, DeliverLate, Script
from tests.unit.store_world import World


class Board(Entity, token="board"):
    """What columns belong to."""

    board_id: str = unique_property(default_factory=nanoid)


class Column(Entity, token="column"):
    """Goes with its board, and has tags by which it is found."""

    column_id: str = unique_property(default_factory=nanoid)
    board_id: str
    tags: set[str] = Field(default_factory=set)

    boards = Lookup("board_id")
    by_tag = Lookup("tags", name="tag")
    board = belongs_to(Board, by="board_id", enforced=True, on_delete="cascade")


class Card(Entity, token="card"):
    """Goes with its column."""

    card_id: str = unique_property(default_factory=nanoid)
    column_id: str

    columns = Lookup("column_id")
    column = belongs_to(Column, by="column_id", enforced=True, on_delete="cascade")


SCHEMA = Schema([Board, Column, Card])
TAGS = {f"t{number}" for number in range(30)}


def board(columns: int, cards: int) -> tuple[World, Script]:
    """A board with columns of many tags, each with some cards."""
    script = Script(matching=WRITES)
    world = World(script, schema=SCHEMA)
    world.store.create(Board(board_id="b"))
    world.store.create(Board(board_id="other"))
    world.store.create(Column(column_id="stays", board_id="other", tags=TAGS))
    for number in range(columns):
        world.store.create(Column(column_id=f"c{number}", board_id="b", tags=TAGS))
        world.store.batch_write([Card(column_id=f"c{number}") for _ in range(cards)])
    return world, script


def is_sound(world: World) -> bool:
    report = Doctor(world.new_store(world.inner).parts, world.clock).run()
    return report.done and report.code == 0


@pytest.mark.parametrize("step", range(6))
@pytest.mark.parametrize("carried_out", [False, True])
def test_stopped_at_any_step_it_goes_on_to_the_end(step: int, carried_out: bool) -> None:
    world, script = board(3, 1)
    script._left = [None] * step + [Crash(carried_out)]
    stopped = False
    try:
        world.store.delete(Board, "b")
    except Crashed:
        stopped = True
    assert stopped
    if step % 4 == 1:
        assert is_sound(world)
    another = world.new_store(world.inner)
    assert another.delete(Board, "b") or carried_out
    assert another.get(Board, "b") is None
    assert [item["columnId"] for item in world.items_of(Column)] == ["stays"]
    assert world.items_of(Card) == []
    assert is_sound(world)


def test_many_children_go_in_parts_of_the_time_that_there_is() -> None:
    world, _ = board(1, 0)
    world.other.batch_write([Card(column_id="c0") for _ in range(90)])
    attempts = 0
    while world.other.get(Board, "b") is not None:
        attempts += 1
        with suppress(DeleteIncomplete):
            # The clock of waits moves at each pause alone, so the time ends at once here.
            world.store.delete(Board, "b", seconds=0 if attempts < 4 else None)
    assert attempts >= 4
    assert world.items_of(Card) == []
    assert is_sound(world)


def test_a_late_request_that_deletes_the_parent_in_place_of_the_last_one_is_not_told_as_a_parent_that_was_missing() -> (
    None
):
    world, script = board(1, 1)

    class DeliverFirst:
        """What is on its way arrives before this request."""

        def execute(self, call: Call) -> Any:
            world.table.deliver_late()
            return call.run(call.operation)

    script._left = [DeliverLate(), None, None, DeliverFirst()]
    with pytest.raises(OutcomeUnknown):
        world.store.delete(Column, "c0")
    assert world.store.get(Column, "c0") is None
    assert is_sound(world)


def test_a_parent_that_another_process_deletes_meanwhile_is_told_as_missing() -> None:
    world, script = board(1, 0)

    class Overtaken:
        """Another process deletes the parent before this request."""

        def execute(self, call: Call) -> Any:
            assert world.other.delete(Board, "b")
            return call.run(call.operation)

    script._left = [None, None, Overtaken()]
    assert not world.store.delete(Board, "b")
