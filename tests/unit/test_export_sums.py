"""An export has what read models remember of records: numbers and resets are the same in the table that imports it."""

from __future__ import annotations

import json
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import, ImportReport
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import unique_property
from shardweave.schema.read_models import ReadModel, Update
from shardweave.schema.schema import Schema
from shardweave.table.fault_injection import WRITES, Crash, Crashed, Script
from shardweave.table.stream_operations import StreamRecord
from tests.unit.store_world import World
from tests.unit.summed_world import SCHEMA, UNREAD, Box, Letter, changes_of, feed, post_room, summed

MEMBERS = ("ann", "bob", "cid")
RIGHT = {"ann": (2, 5), "bob": (0, 0), "cid": (1, 4), "": 5}


def filled() -> World:
    """Five letters that are counted. The numbers of two members were reset: of bob all is settled, of cid some."""
    world = post_room()
    letters = (("a", ["ann", "bob"], 2), ("b", ["ann"], 3), ("c", ["cid"], 1), ("d", ["bob"], 8))
    for name, members, weight in letters:
        world.store.create(Letter(letter_id=name, member_ids=members, weight=Decimal(weight)))
    feed(world.store, changes_of(world.inner))
    world.store.reset(Box, "bob")
    world.store.reset(Box, "cid")
    world.store.create(Letter(letter_id="e", member_ids=["cid"], weight=Decimal(4)))
    feed(world.store, changes_of(world.inner))
    assert summed(world.store, MEMBERS) == RIGHT
    return world


def exported(world: World, folder: Path, *tokens: str) -> list[bytes]:
    """The lines of an export, as an import reads them: file by file."""
    entities = [each for token, each in world.schema.entities.items() if token in tokens or not tokens]
    assert Export(world.new_store(world.inner).parts, entities, folder).run().done
    return [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]


def bring(world: World, lines: list[bytes], **options: Any) -> ImportReport:
    return Import(world.new_store(world.table).parts, world.clock, **options).run(lines)


def found(world: World) -> dict[str, int]:
    report = Doctor(world.new_store(world.inner).parts, world.clock).run()
    assert report.done
    return report.findings.counts


def rebuilt(world: World) -> dict[str, Any]:
    """The numbers after a rebuild."""
    Rebuild(world.store.parts, UNREAD).run()
    return summed(world.store, MEMBERS)


def test_numbers_are_equal_the_doctor_is_clean_and_a_rebuild_counts_nothing_that_was_settled(tmp_path: Path) -> None:
    world, other = filled(), post_room()
    report = bring(other, exported(world, tmp_path))
    assert (report.written, report.counted, report.refused, report.kept) == (5 + 3 + 1, 5, 0, 0)
    assert summed(other.store, MEMBERS) == RIGHT
    assert found(other) == {}
    assert rebuilt(other) == RIGHT
    assert found(other) == {}


def test_after_it_changes_and_resets_are_counted_as_in_the_first_table(tmp_path: Path) -> None:
    world, other = filled(), post_room()
    bring(other, exported(world, tmp_path))
    for each in (world, other):
        done = len(changes_of(each.inner))
        each.store.update(Letter, "d", {"weight": Decimal(10)})
        each.store.delete(Letter, "c")
        each.store.delete(Letter, "b")
        each.store.reset(Box, "ann", "unread")
        feed(each.store, changes_of(each.inner)[done:])
    assert summed(other.store, MEMBERS) == summed(world.store, MEMBERS)
    assert summed(other.store, MEMBERS) == {"ann": (0, 2), "bob": (0, 2), "cid": (1, 4), "": 3}
    assert found(other) == {}


class Following:
    """A table whose stream is handled after each request of an import."""

    def __init__(self, world: World) -> None:
        self._world, self._done = world, 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._world.inner, name)

    def run(self, operation: Any, **options: Any) -> Any:
        answer = self._world.inner.run(operation, **options)
        changes: tuple[StreamRecord, ...] = changes_of(self._world.inner)
        feed(self._world.other, changes[self._done :])
        self._done = len(changes)
        return answer


def test_a_stream_that_tells_of_the_records_while_they_come_in_counts_none_of_them_again(tmp_path: Path) -> None:
    world, other = filled(), post_room()
    other.table = Following(other)  # type: ignore[assignment]
    report = bring(other, exported(world, tmp_path))
    assert (report.kept, report.refused) == (0, 0)
    assert summed(other.store, MEMBERS) == RIGHT
    assert found(other) == {}


@pytest.mark.parametrize("crash", range(14))
def test_an_import_that_dies_is_repeated_and_ends_the_same(crash: int, tmp_path: Path) -> None:
    world = filled()
    other = World(Script(*[None] * crash, Crash(carried_out=crash % 2 == 0), matching=WRITES), schema=SCHEMA)
    lines = exported(world, tmp_path)
    with pytest.raises(Crashed):
        bring(other, lines)
    other.table = other.inner  # type: ignore[assignment]
    report = bring(other, lines)
    assert (report.counted, report.refused, report.kept) == (5, 0, 0)
    assert summed(other.store, MEMBERS) == RIGHT
    assert found(other) == {}


def test_an_import_of_lines_in_any_order_into_a_table_that_nobody_uses_is_equal(tmp_path: Path) -> None:
    world = filled()
    lines = exported(world, tmp_path)
    for seed in range(5):
        other = post_room()
        random.Random(seed).shuffle(lines)
        bring(other, lines)
        assert summed(other.store, MEMBERS) == RIGHT
        assert found(other) == {}


def test_what_is_remembered_in_the_table_already_is_not_overwritten(tmp_path: Path) -> None:
    world, other = filled(), post_room()
    lines = exported(world, tmp_path)
    bring(other, lines)
    done = len(changes_of(other.inner))
    other.store.update(Letter, "a", {"member_ids": ["cid"]})
    feed(other.store, changes_of(other.inner)[done:])
    before = summed(other.store, MEMBERS)
    again = bring(other, lines)
    assert (again.counted, again.passed) == (4, 1)
    assert summed(other.store, MEMBERS) == before
    assert found(other) == {}


def test_a_replacement_remembers_nothing(tmp_path: Path) -> None:
    world, other = filled(), post_room()
    report = bring(other, exported(world, tmp_path), replace_unchanged=True)
    assert (report.written, report.counted, report.passed) == (0, 0, 5)
    assert not other.items()


def test_records_without_those_of_their_numbers_are_exported_without_what_was_counted(tmp_path: Path) -> None:
    world = filled()
    other = post_room()
    lines = exported(world, tmp_path, "letter", "box")
    assert all("entity" in json.loads(line) for line in lines)
    bring(other, [line for line in lines if json.loads(line)["entity"] == "letter"])
    assert found(other) == {"count_missing": 5}


def test_an_export_that_is_stopped_anywhere_has_what_is_remembered_once_and_first(tmp_path: Path) -> None:
    world = filled()
    entities = list(world.schema.entities.values())
    runs = 1
    while not Export(world.new_store(world.inner).parts, entities, tmp_path, page=1).run(stop=lambda: True).done:
        runs += 1
    assert runs > 5
    lines = (tmp_path / "letter.jsonl").read_bytes().splitlines()
    assert ["entity" in json.loads(line) for line in lines] == [False] * 5 + [True] * 5
    other = post_room()
    bring(other, lines)
    assert len([each for each in other.items() if "_parts" in each]) == 5


def test_a_damaged_line_of_it_is_refused_and_named(tmp_path: Path) -> None:
    world, other = filled(), post_room()
    lines = exported(world, tmp_path)
    at = next(number for number, line in enumerate(lines) if b"_parts" in line)
    document = json.loads(lines[at])
    document["Item"]["_parts"] = {"S": "none"}
    lines[at] = json.dumps(document).encode()
    report = bring(other, lines)
    assert report.refused == 1
    assert "what it says was counted of a record can't be read" in report.examples[0].reason
    assert "rebuild the read model" in report.examples[0].reason


class Moved(Entity, token="letter", shard_bumps=[ShardBump(0, char_bits=2, chars=4)]):
    """The letters of another shard space."""

    letter_id: str = unique_property()
    member_ids: list[str]
    weight: Decimal = Decimal(0)


def test_a_table_of_another_shard_space_has_the_same_numbers(tmp_path: Path) -> None:
    world = filled()
    model = ReadModel(
        "unread",
        records=(Moved,),
        writes=(Box,),
        project=lambda each: [
            Update(Box, name, add={"unread": 1, "weight": each.weight}) for name in sorted({*each.member_ids})
        ],
    )
    schema = Schema([Moved, Box], read_models=[model])
    other = World(schema=schema)
    lines = [line for line in exported(world, tmp_path) if json.loads(line).get("entity") != "hall"]
    bring(other, lines)
    numbers = {name: other.store.get(Box, name) for name in MEMBERS}
    assert {name: (each.unread, each.weight) for name, each in numbers.items() if each is not None} == {
        name: each for name, each in RIGHT.items() if name
    }
