"""Writing every record of an entity once more: what was added comes to each, and nothing that others do is undone."""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.access import private_property
from shardweave.errors import Conflict
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.progress import PARTITION
from shardweave.maintenance.rewriting import MAX_EXAMPLES, Rewrite, RewriteReport
from shardweave.reshard.phases import Phase
from shardweave.schema.declarations import Index, Lookup, Unique
from shardweave.schema.entity import Entity, HashKey, RangeKey, nanoid
from shardweave.schema.property_options import timestamp_property, ttl_property, unique_property, updated_property
from shardweave.schema.schema import Schema
from shardweave.store import Store
from shardweave.table.fault_injection import WRITES, Crash, Crashed, Meanwhile, Script
from shardweave.table.operations import PutItem
from shardweave.values.codecs import Timestamp, TimestampSeconds
from tests.unit.cli_world import shardweave
from tests.unit.reshard_world import SIXTEEN, ReshardWorld
from tests.unit.store_world import World

SHARDS = [ShardBump(0, char_bits=2, chars=1)]


class OldPerson(Entity, token="person", shard_bumps=SHARDS):
    """Somebody, as an older version of the program knows them."""

    person_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    expires: TimestampSeconds | None = ttl_property()
    name: str
    phone: str | None = None
    pay: int | None = private_property(default=None)


class Person(OldPerson, token="person", shard_bumps=SHARDS):
    """The same with a derived property, a default, generated keys and lookups."""

    name_canonical: str
    city: str = "Bath"

    city_hash_key = HashKey("city")
    name_range_key = RangeKey("name_canonical", "created")

    phone_lookup = Unique("phone")
    city_lookup = Lookup("city")

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        name = values.get("name")
        return values | {"nameCanonical": name.lower()} if isinstance(name, str) else values


OLD = Schema([OldPerson], [Index("created", "hash_key", "created")])
NEW = Schema([Person], [Index("created", "hash_key", "created"), Index("cityName", "city_hash_key", "name_range_key")])


class Upgraded(World):
    """A table that an older version filled with people p000, p001, ... and a newer one uses."""

    def __init__(self, count: int, faults: Any = None) -> None:
        super().__init__(faults, schema=NEW)
        self.old = Store(OLD, self.inner, clock=self.clock, maps=self.maps, waiting=self.pauses.waiting())
        for number in range(count):
            record = {"personId": f"p{number:03}", "name": f"Ann {number}", "phone": f"{number}", "pay": number}
            self.old.create(record, OldPerson)
        self.clock.now += 1000

    def rewrite(self, **options: Any) -> Rewrite:
        """A rewrite by another process."""
        return Rewrite(self.new_store(self.table).parts, NEW[Person], **options)

    def people(self) -> dict[str, dict[str, Any]]:
        return {item["personId"]: item for item in self.items_of(Person)}


def counts(report: RewriteReport) -> tuple[int, int, int, bool]:
    return report.read, report.written, report.refused, report.done


def test_each_record_gets_what_was_added_and_keeps_all_else() -> None:
    world = Upgraded(40)
    before = world.people()
    assert counts(world.rewrite().run()) == (40, 40, 0, True)
    for person_id, item in world.people().items():
        assert item["nameCanonical"] == before[person_id]["name"].lower()
        assert item["city"] == "Bath"
        assert (
            item["nameRangeKey"]
            == f"nameCanonical#{item['nameCanonical'].replace(' ', '!20')} |created#{item['created']}"
        )
        assert item["rev"] != before[person_id]["rev"]
        kept = {name: value for name, value in before[person_id].items() if name != "rev"}
        assert kept.items() <= item.items(), "private properties and times stay as they are"


def test_it_is_only_read_the_second_time() -> None:
    world = Upgraded(10)
    world.rewrite().run()
    before = world.items()
    assert counts(world.rewrite().run()) == (10, 0, 0, True)
    assert world.items() == before


def test_a_generated_property_that_is_no_more_or_is_stale_is_put_right() -> None:
    world = Upgraded(1)
    world.rewrite().run()
    right = world.people()["p000"]
    world.inner.run(PutItem({**right, "nameRangeKey": "nameCanonical#zoe |created#1"}))
    assert counts(world.rewrite().run()) == (1, 1, 0, True)
    assert {**world.people()["p000"], "rev": ""} == {**right, "rev": ""}


def test_what_the_schema_does_not_know_stays() -> None:
    world = Upgraded(1)
    world.written_behind(Person, legacy={"a": 1})
    world.rewrite().run()
    assert world.people()["p000"]["legacy"] == {"a": 1}


def test_a_record_that_was_changed_or_removed_between_reading_and_writing_stays_so() -> None:
    script = Script(matching=WRITES)
    world = Upgraded(2, script)

    def meanwhile() -> None:
        world.old.update(OldPerson, "p000", {"phone": "new"})
        world.old.delete(OldPerson, "p001")

    script._left = [Meanwhile(meanwhile)]
    report = world.rewrite().run()
    assert set(world.people()) == {"p000"}
    assert (world.people()["p000"]["phone"], world.people()["p000"]["city"]) == ("new", "Bath")
    assert report.done
    assert report.refused == 0


def test_a_record_that_the_declaration_does_not_fit_is_named_and_left() -> None:
    world = Upgraded(3)
    world.inner.run(PutItem({**world.people()["p001"], "name": 7}))
    before = world.people()["p001"]
    report = world.rewrite().run()
    assert counts(report) == (3, 2, 1, True)
    assert world.people()["p001"] == before
    (example,) = report.examples
    assert example.identity == {"personId": "p001"}
    assert "name" in example.reason
    assert "7" not in example.reason


def test_no_more_than_some_of_those_refused_are_named() -> None:
    world = Upgraded(MAX_EXAMPLES + 5)
    for item in world.people().values():
        world.inner.run(PutItem({**item, "name": 7}))
    report = world.rewrite().run()
    assert (report.refused, len(report.examples)) == (MAX_EXAMPLES + 5, MAX_EXAMPLES)


def test_an_expired_record_is_passed_over() -> None:
    world = Upgraded(1)
    world.written_behind(Person, expires=world.clock.now // 1000 - 1)
    before = world.items_of(Person)
    assert counts(world.rewrite().run()) == (0, 0, 0, True)
    assert world.items_of(Person) == before


def test_a_value_that_changes_through_the_rewrite_takes_its_lookup_along() -> None:
    world = Upgraded(1)
    world.rewrite().run()
    assert world.store.backfill(Person, "city").ready
    world.written_behind(Person, city="York", nameCanonical="wrong")
    world.rewrite().run()
    assert world.people()["p000"]["nameCanonical"] == "ann 0"


@pytest.mark.parametrize("crash", [1, 2, 3, 5, 8])
def test_one_that_dies_goes_on_and_ends_the_same(crash: int) -> None:
    script = Script(matching=WRITES)
    world = Upgraded(30, script)
    script._left = [None] * crash + [Crash()]
    with pytest.raises(Crashed):
        world.rewrite(page=3).run()
    script._left = []
    assert world.rewrite(page=3).run().done
    assert all(item["city"] == "Bath" and "nameRangeKey" in item for item in world.people().values())
    assert not [item for item in world.items() if item["hashKey"].startswith(PARTITION)], "nothing of it is left"


@given(stops=st.lists(st.integers(1, 4), max_size=6))
@settings(max_examples=25, deadline=None)
def test_stopped_anywhere_and_gone_on_with_it_reads_each_record_once(stops: list[int]) -> None:
    world = Upgraded(25)
    for rounds in stops:
        left = iter(range(rounds))
        world.rewrite(page=2).run(stop=lambda left=left: next(left, None) is None)
    report = world.rewrite(page=2).run()
    assert counts(report)[1:] == (report.written, 0, True)
    assert report.written in (25, 0), "0: an earlier run had come to the end"
    assert all(item["city"] == "Bath" for item in world.people().values())


def test_two_at_once_do_not_work_against_each_other() -> None:
    world = Upgraded(20)
    first = world.rewrite(page=1)
    rounds = iter(range(2))

    def other() -> bool:
        if next(rounds, None) == 0:
            world.rewrite(page=1).run(stop=lambda: True)
        return True

    with pytest.raises(Conflict, match="another process does the same work"):
        first.run(stop=other)


def test_records_that_others_write_all_the_while_lose_nothing() -> None:
    world = Upgraded(60)
    ended = threading.Event()
    written: dict[str, str] = {}

    def change() -> None:
        number = 0
        while not ended.is_set() or number < 60:
            person_id = f"p{number % 60:03}"
            world.old.update(OldPerson, person_id, {"phone": f"new {number}"})
            written[person_id] = f"new {number}"
            number += 1

    writer = threading.Thread(target=change)
    writer.start()
    try:
        report = world.rewrite(page=5).run()
    finally:
        ended.set()
        writer.join()
    assert report.done
    people = world.people()
    assert {person_id: people[person_id]["phone"] for person_id in written} == written
    assert all(item["city"] == "Bath" for item in people.values())


@pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.DUAL_NEW, Phase.NEW_ONLY, Phase.STABLE])
def test_while_records_move_both_copies_are_written_and_none_is_missed(phase: Phase) -> None:
    world = ReshardWorld(schema=NEW)
    old = Store(OLD, world.inner, clock=world.clock, waiting=world.pauses.waiting())
    for number in range(20):
        old.create({"personId": f"p{number}", "name": "Ann", "pay": 1}, OldPerson)
    world.start(Person, SIXTEEN)
    world.run_until(Person, phase)
    for item in world.items_of(Person):  # As an older version of the program would leave them.
        added = ("city", "nameCanonical", "cityHashKey", "nameRangeKey")
        world.inner.run(PutItem({name: value for name, value in item.items() if name not in added}))
    report = Rewrite(world.new_store().parts, NEW[Person]).run()
    assert counts(report) == (20, 20, 0, True)
    world.finish(Person)
    items = world.items_of(Person)
    assert len(items) == 20
    assert all(len(item["hashKey"]) == len("person!000") and item["city"] == "Bath" for item in items)


HEAD = """from shardweave import ORDERED, Entity, Schema, Unique, unique_property


class Person(Entity, token="person"):
    person_id: str = unique_property()
    name: str
"""
ADDED = """    city: str = "Bath"
    by_name = Unique("name")
"""
TAIL = """

def schema(key_format=ORDERED):
    return Schema([Person], key_format=key_format)
"""


def command(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, which reads a service's file anew."""
    called = [sys.executable, "-P", "-m", "shardweave.cli", *arguments]
    return subprocess.run(called, input=given, capture_output=True, text=True, check=False)


def test_the_command_rewrites_and_fills(tmp_path: Path) -> None:
    service = tmp_path / "people.py"
    where = ("--service", str(service), "--data", str(tmp_path / "data"))
    service.write_text(HEAD + TAIL)
    lines = '{"personId": "a", "name": "Ann"}\n{"personId": "b", "name": "Bob"}\n'
    assert command("load", *where, "-", given=lines).returncode == 0
    service.write_text(HEAD + ADDED + TAIL)
    outcome = command("rewrite", "--entity", "person", *where)
    assert (outcome.returncode, outcome.stdout) == (0, "")
    assert "person: 2 records read, 2 written\n" in outcome.stderr
    assert "person.name: 2 records read, 2 filled; ready" in outcome.stderr
    again = shardweave("rewrite", *where)
    assert again.code == 0
    assert again.errors.startswith("person: 2 records read, 0 written\n")
    assert shardweave("rewrite", "--rate", "-1", *where).code == 2
