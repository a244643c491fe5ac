"""What writes generated keys anew refuses another key format than the one of the records; damage is no other format."""

from __future__ import annotations

import random
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.user_service import User, schema
from shardweave.cli.stored_format import check_format_of
from shardweave.errors import ConfigurationError
from shardweave.keys.key_format import KEY_FORMATS
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.format_sample import stored_formats
from shardweave.query.cursor import CursorKeys
from shardweave.service.build import Service, Settings, build
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import DeleteItem, PutItem
from tests.unit.store_world import World

FORMATS = list(KEY_FORMATS)
SCHEMAS = {name: schema(each) for name, each in KEY_FORMATS.items()}
PAIRS = list(permutations(FORMATS, 2))
COUNT = 20
KINDS = ("stale", "missing", "of no format", "moved")


def filled(*names: str) -> World:
    """A table with users that are written in some formats, in turn."""
    world = World(schema=SCHEMAS[names[0]])
    for number in range(COUNT):
        values = {"userId": f"u{number}", "beneficiaryId": f"b{number % 5}", "firstName": f"A{number}"}
        values |= {"lastName": "B", "phone": str(1_000_000_000 + number)}
        store = World(schema=SCHEMAS[names[number % len(names)]], table=world.inner)
        store.clock.now = world.clock.now + number
        store.store.create(values, User)
    return world


def others(name: str) -> dict[str, Any]:
    return {each: found for each, found in SCHEMAS.items() if each != name}


def asked_by(name: str, world: World) -> list[str]:
    """In which formats the records seem to be for who is given that one."""
    return stored_formats(World(schema=SCHEMAS[name], table=world.inner).store.parts, others(name))


def users(world: World) -> list[dict[str, Any]]:
    return [item for item in world.items() if item["hashKey"].startswith("user!")]


def damage(world: World, item: dict[str, Any], kind: str) -> None:
    """Make an item wrong in a way that no format does."""
    changed = dict(item)
    if kind == "stale":
        changed["lastName"], changed["lastNameCanonical"] = "Changed", "changed"
    elif kind == "missing":
        del changed["userBeneficiaryHashKey"]
    elif kind == "of no format":
        changed["firstNameRangeKey"] = "nothing"
    else:
        world.inner.run(DeleteItem({name: item[name] for name in ("hashKey", "rangeKey")}))
        changed["hashKey"] = f"{item['hashKey'][:5]}{(int(item['hashKey'][5:], 32) + 1) % 4}"
    world.inner.run(PutItem(changed))


@pytest.mark.parametrize(("given", "stored"), PAIRS)
def test_another_format_is_told(given: str, stored: str) -> None:
    assert asked_by(given, filled(stored)) == [stored]


@pytest.mark.parametrize("name", FORMATS)
def test_the_right_one_and_an_empty_table_are_left_alone(name: str) -> None:
    assert asked_by(name, filled(name)) == []
    assert asked_by(name, World(schema=SCHEMAS[name])) == []


@given(st.sampled_from(FORMATS), st.lists(st.sampled_from((*KINDS, "")), min_size=COUNT, max_size=COUNT))
def test_damage_is_never_another_format(name: str, kinds: list[str]) -> None:
    """However many records are damaged, be it all of them."""
    world = filled(name)
    for item, kind in zip(users(world), kinds, strict=True):
        if kind:
            damage(world, item, kind)
    assert asked_by(name, world) == []


@given(
    st.permutations(FORMATS), st.sampled_from(KINDS), st.integers(0, COUNT * 2 // 5), st.randoms(use_true_random=False)
)
def test_another_format_is_told_of_a_damaged_table_too(
    names: list[str], kind: str, count: int, drawn: random.Random
) -> None:
    given_format, stored, _ = names
    world = filled(stored)
    for item in drawn.sample(users(world), count):
        damage(world, item, kind)
    assert asked_by(given_format, world) == [stored]


@pytest.mark.parametrize(("given", "stored"), PAIRS)
def test_some_records_of_another_format_are_damage_which_repair_puts_right(given: str, stored: str) -> None:
    """As another program leaves them, that was started with the wrong format for a while."""
    world = filled(given, stored)
    assert asked_by(given, world) == []
    doctor = Doctor(World(schema=SCHEMAS[given], table=world.inner).store.parts, world.clock, repair=True)
    findings = doctor.run().findings
    assert findings.counts
    assert findings.repaired


def service_on(table: Any, name: str) -> Service:
    settings = Settings(CursorKeys("k", {"k": bytes(32)}), "user_service", name)
    return build(settings, open_table=lambda _: table)


def test_the_refusal_names_the_fix_and_nothing_is_written() -> None:
    world = filled("article")
    before = world.items()
    with pytest.raises(ConfigurationError) as refused:
        check_format_of(service_on(world.inner, "ordered"), "user_service", "ordered", "people")
    assert str(refused.value) == (
        "--key-format: the records of people are written in the key format 'article', not in 'ordered'. "
        "Fix: give --key-format article; nothing was written"
    )
    assert world.items() == before
    check_format_of(service_on(world.inner, "article"), "user_service", "article", "people")
    check_format_of(service_on(EmbeddedTable(SCHEMAS["ordered"].layout), "ordered"), "user_service", "ordered", "none")
