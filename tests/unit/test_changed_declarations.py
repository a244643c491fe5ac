"""Long work that was stopped, and is started again with another declaration, begins anew: what it did by the one before
is not right by this one."""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pytest

from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.progress import declared
from shardweave.maintenance.rebuilding import Rebuild
from shardweave.maintenance.rewriting import Rewrite
from shardweave.schema.declarations import Index
from shardweave.schema.entity import Entity, HashKey
from shardweave.schema.property_options import unique_property
from shardweave.schema.read_models import Action, ReadModel, Update
from shardweave.schema.schema import Schema
from tests.unit.store_world import World
from tests.unit.summed_world import UNREAD, Box, Hall, Letter, post_room, summed

COUNT = 40


class Plain(Entity, token="person"):
    """Somebody."""

    person_id: str = unique_property()
    name: str
    city: str = "Bath"


class Keyed(Plain, token="person"):
    """The same with a key."""

    city_hash_key = HashKey("city")


class Derived(Keyed, token="person"):
    """The same with what is derived by a function alone."""

    @classmethod
    def prepare(cls, values: dict[str, Any]) -> dict[str, Any]:
        return values | {"city": "York"}


def schema_of(model: type[Entity]) -> Schema:
    keyed = [Index("byCity", "city_hash_key", "person_id")] if model is not Plain else []
    return Schema([model], [Index("created", "hash_key", "name"), *keyed])


def people() -> World:
    world = World(schema=schema_of(Plain))
    for number in range(COUNT):
        world.store.create(Plain(person_id=f"p{number:02}", name="Ann"))
    return world


def rewrite(world: World, model: type[Entity]) -> Rewrite:
    world.schema = schema_of(model)
    return Rewrite(world.new_store(world.inner).parts, world.schema[model], page=3)


@pytest.mark.parametrize("after", [Keyed, Derived])
def test_a_rewrite_goes_over_all_records_by_the_new_declaration(after: type[Entity]) -> None:
    world, before = people(), Plain if after is Keyed else Keyed
    stopped = rewrite(world, before).run(stop=lambda: True)
    assert 0 < stopped.read < COUNT
    again = rewrite(world, before).run(stop=lambda: True)
    assert stopped.read < again.read < COUNT, "by the same declaration it goes on"
    report = rewrite(world, after).run()
    assert (report.read, report.written) == (COUNT, COUNT)
    stored = [item for item in world.items() if item["hashKey"].startswith("person!")]
    assert {item["cityHashKey"].partition("|")[2] for item in stored} == {
        f"city#{'Bath' if after is Keyed else 'York'}"
    }


def test_a_rebuild_counts_all_records_by_the_new_function() -> None:
    def heavier(letter: Letter) -> Sequence[Action]:
        return [Update(Box, each, add={"unread": 1, "weight": letter.weight + 1}) for each in letter.member_ids]

    world = post_room()
    for number in range(COUNT):
        world.store.create(Letter(letter_id=f"l{number}", member_ids=["ann"], weight=Decimal(1)))
    rounds = iter(range(4))
    half = Rebuild(world.new_store(world.inner).parts, UNREAD, page=1).run(stop=lambda: next(rounds, None) is None)
    assert 0 < half.counted < COUNT
    changed = ReadModel("unread", records=(Letter,), writes=(Box, Hall), project=heavier)
    world.schema = Schema([Letter, Box, Hall], read_models=[changed])
    report = Rebuild(world.new_store(world.inner).parts, changed, page=1).run()
    assert (report.done, report.counted) == (True, COUNT)
    assert summed(world.new_store(world.inner), ["ann"]) == {"ann": (COUNT, 2 * COUNT), "": 0}


def test_a_doctor_examines_all_records_by_the_new_declaration_and_says_when_it_goes_on() -> None:
    world, told = people(), list[str]()

    def doctor(**options: Any) -> Doctor:
        parts, skip = world.new_store(world.inner).parts, ["layout_differs"]
        return Doctor(parts, world.clock, page=3, say=told.append, skip=skip, **options)

    calls = iter([False])
    half = doctor().run(stop=lambda: next(calls, True))
    assert 0 < half.read < COUNT
    assert told == []
    doctor().run(stop=lambda: True)
    (said,) = told
    assert re.fullmatch(r"goes on with the examination that began at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", said)
    world.schema = schema_of(Keyed)
    assert doctor(hidden=["byCity"]).run().findings.counts == {"missing_key": COUNT}
    assert told == [said]


def test_a_digest_follows_texts_and_what_is_written_and_names_what_is_written_nowhere() -> None:
    assert declared("a", Keyed) == declared("a", Keyed)
    told = [declared(*parts) for parts in (("a",), ("b",), (Plain,), (Keyed,), (Derived,), (schema_of,), (people,))]
    assert len(set(told)) == len(told)
    made = type("Made", (), {})
    assert declared(made) == declared(type("Made", (), {}))
    assert declared(functools.partial(people)) == declared(functools.partial(schema_of))
    assert declared([]) == declared([1]), "also of what has no hash"
