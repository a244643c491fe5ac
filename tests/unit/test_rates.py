"""`--rate`: no command that reads or writes a whole table does more in a second, nor more at once than is for a few.

Time is a clock that only pauses move: what was told at a time was done until then.
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Callable
from decimal import Decimal
from itertools import pairwise
from pathlib import Path

import pytest

from shardweave.cli.backfill import fill
from shardweave.cli.console import Streams
from shardweave.cli.load import Loading
from shardweave.maintenance.comparing import Comparison, OldItems, TableRecords
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.maintenance.rewriting import Rewrite
from shardweave.maintenance.scanning import RecordScan
from shardweave.maintenance.walk import LANES, ROUND_SECONDS, Pace
from shardweave.table.operations import MAX_BATCH_GET
from tests.unit.cli_world import NOW, shardweave
from tests.unit.rekey_world import HAND_MADE, RekeyWorld, by_hand, member_schema
from tests.unit.store_world import Note, NoWaiting, World
from tests.unit.summed_world import UNREAD, Letter, post_room
from tests.unit.test_store_lookups_backfill import Upgraded

COUNT = 600

Told = list[tuple[float, int]]
"""At which time how much had been done."""


def notes() -> World:
    world = World()
    for number in range(COUNT):
        world.store.create({"noteId": f"n{number}", "text": "t"}, Note)
    return world


def rewritten(rate: int, folder: Path) -> Told:
    world, told = notes(), Told()
    Rewrite(world.store.parts, world.schema[Note], rate=rate).run(lambda it: told.append((world.pauses.now, it.read)))
    return told


def exported(rate: int, folder: Path) -> Told:
    world, told = notes(), Told()
    export = Export(world.store.parts, [world.schema[Note]], folder / "export", rate=rate)
    export.run(lambda it: told.append((world.pauses.now, it.lines["note"])))
    return told


def scanned(rate: int, folder: Path) -> Told:
    world, told, count = notes(), Told(), 0
    scan = RecordScan(world.store.parts, world.schema[Note], rate=rate)
    while (page := scan.next_page()) is not None:
        count += len(page.items)
        told.append((world.pauses.now, count))
    return told


def rebuilt(rate: int, folder: Path) -> Told:
    world, told = post_room(), Told()
    for number in range(COUNT):
        world.store.create(Letter(letter_id=f"l{number}", member_ids=[f"m{number}"], weight=Decimal(1)))
    Rebuild(world.store.parts, UNREAD, rate=rate).run(lambda it: told.append((world.pauses.now, it.read)))
    return told


def compared(rate: int, folder: Path) -> Told:
    """Of two tables each is read at the rate, one after the other."""
    world, told = notes(), Told()
    sides = [TableRecords(world.new_store(world.table).parts, [world.schema[Note]], name, rate=rate) for name in "ab"]
    comparison = Comparison(sides[0], sides[1], folder / "state")
    report = comparison.run(lambda it: told.append((world.pauses.now, sum(it.read))))
    assert report.equal == COUNT
    return told


def compared_with_old_items(rate: int, folder: Path) -> Told:
    made, told, pauses = RekeyWorld(member_schema(), HAND_MADE), Told(), NoWaiting()
    for number in range(COUNT):
        made.put(by_hand(number))
    made.waiting = pauses.waiting()
    sides = [OldItems(made.new_store(bringing=True).parts, [made.form], rate=rate) for _ in "ab"]
    Comparison(sides[0], sides[1], folder / "state").run(lambda it: told.append((pauses.now, sum(it.read))))
    return told


def looked_at(rate: int, folder: Path) -> Told:
    """What would be brought in, which `doctor --as` tells."""
    made, pauses = RekeyWorld(member_schema(), HAND_MADE), NoWaiting()
    for number in range(COUNT):
        made.put(by_hand(number))
    made.waiting = pauses.waiting()
    found = made.rekey(rate=rate).look()
    assert found.read == COUNT
    return [(pauses.now, found.read)]


WALKS: tuple[Callable[[int, Path], Told], ...] = (
    rewritten,
    exported,
    scanned,
    rebuilt,
    compared,
    compared_with_old_items,
    looked_at,
)


@pytest.mark.parametrize("rate", [20, 100])
@pytest.mark.parametrize("work", WALKS)
def test_a_walk_keeps_to_its_rate_in_rounds_of_a_few_seconds(
    work: Callable[[int, Path], Told], rate: int, tmp_path: Path
) -> None:
    told = work(rate, tmp_path)
    most = max(LANES, rate * ROUND_SECONDS)
    assert all(done <= rate * seconds + most + 0.001 for seconds, done in told)
    assert max(after[1] - before[1] for before, after in pairwise([(0.0, 0), *told])) <= most or len(told) == 1
    seconds, done = told[-1]
    assert done >= COUNT
    assert seconds >= done / rate - ROUND_SECONDS - 0.001


@pytest.mark.parametrize("work", [work for work in WALKS if work is not rebuilt])
def test_without_a_rate_nothing_waits(work: Callable[[int, Path], Told], tmp_path: Path) -> None:
    """A rebuild does where two records add to the same sum at once."""
    assert work(0, tmp_path)[-1][0] == 0.0


def silent() -> Streams:
    return Streams(io.BytesIO(), io.BytesIO(), io.StringIO(), lambda: NOW)


@pytest.mark.parametrize("rate", [0, 10, 1000])
def test_a_backfill_keeps_to_it_by_pages(rate: int) -> None:
    world = Upgraded(COUNT)
    options = argparse.Namespace(entity="user", lookup="phone", again=False, rate=rate, json=False)
    begun = world.pauses.now
    assert fill(options, world.schema, world.store, silent()) == 0
    took = world.pauses.now - begun
    assert (took == 0) if rate == 0 else (COUNT - MAX_BATCH_GET) / rate <= took <= COUNT / rate + 0.001


@pytest.mark.parametrize("rate", [0, 10, 1000])
def test_a_load_keeps_to_it_by_batches(rate: int) -> None:
    world = World()
    loading = Loading(world.store, world.schema, world.schema[Note], lambda line: pytest.fail(line), rate)
    lines = [json.dumps({"noteId": f"n{number}", "text": "t"}).encode() for number in range(COUNT)]
    loading.load(iter(lines))
    assert loading.written == COUNT
    assert world.pauses.now == pytest.approx(COUNT / rate if rate else 0)


def test_time_in_which_less_was_done_is_not_made_up_for() -> None:
    """A table that did not answer for an hour is not asked for an hour's records at once."""
    pauses = NoWaiting()
    pace = Pace(10, pauses.waiting())
    pace.did(10)
    assert pauses.now == 1
    pauses.now += 3600
    pace.did(10)
    assert pauses.now == 3601, "that round took long enough"
    pace.did(10)
    assert pauses.now == 3602


COMMANDS = (
    ("backfill",),
    ("compare", "--with-table", "other"),
    ("doctor",),
    ("export", "folder"),
    ("import", "folder"),
    ("load", "-"),
    ("rebuild",),
    ("rekey", "run", "--entity", "user"),
    ("rewrite",),
    ("scan", "--entity", "user"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command[0])
@pytest.mark.parametrize("rate", ["-1", "1000001"])
def test_every_long_command_has_it_and_refuses_what_is_none(command: tuple[str, ...], rate: str) -> None:
    refused = shardweave(*command, "--rate", rate, "--table", "none")
    assert refused.code == 2
    assert refused.errors.startswith("error: --rate: a rate is a number of "), refused.errors
    assert refused.errors.endswith("a second. Fix: give 1 to 1000000, or 0 for no limit\n"), refused.errors
