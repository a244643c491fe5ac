"""Tables are brought in while programs read and write: nothing is lost, nothing is there twice, all can be read."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from shardweave.errors import Conflict, ShardweaveError
from shardweave.schema.entity_manager import schema_from_config
from shardweave.store import Store
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.layout import KeyAttribute, TableLayout
from shardweave.table.operations import GetItem
from tests.integration.work_beside import beside
from tests.unit.rekey_world import HAND_MADE, NOW, Member, RekeyWorld, by_hand, golden_config, member_schema
from tests.unit.test_rekey_presets import ENTITY_MANAGER, Person, golden_schema

BY_HAND = int(os.environ.get("SHARDWEAVE_REKEYED", "60"))
"""10,000 were brought in once."""
GOLDEN = int(os.environ.get("SHARDWEAVE_REKEYED_GOLDEN", "60"))
"""1,000 were."""


class Watch:
    """What went wrong in threads, and how often they did something."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.count = 0

    def check(self, holds: bool, what: str) -> None:
        self.count += 1
        if not holds:
            self.failures.append(what)


def reader_of_olds(made: RekeyWorld, stable: list[dict[str, Any]], watch: Watch) -> Callable[[random.Random], None]:
    """The other program reads items that nobody changes."""

    def read(drawn: random.Random) -> None:
        item = drawn.choice(stable)
        found = made.olds.run(GetItem(made.form.key(item), consistent=True)).item
        watch.check(found is not None and item.items() <= found.items(), str(made.form.key(item)))

    return read


def reader_of_records(made: RekeyWorld, store: Store, model: Any, stable: list[dict[str, Any]], watch: Watch) -> Any:
    """Database reads records that nobody changes."""
    name = made.entity.identity[0]

    def read(drawn: random.Random) -> None:
        item = drawn.choice(stable)
        key = made.form.read(item)[name]
        watch.check(store.get(model, key) is not None, str(key))

    return read


def switched(made: RekeyWorld) -> None:
    """Runs, and the switch as soon as one could bring everything in."""
    for _ in range(100):
        made.run()
        with suppress(Conflict):
            made.rekey().switch()
            return
    raise AssertionError("no run could bring everything in")


def brought_in(
    made: RekeyWorld,
    model: Any,
    stable: list[dict[str, Any]],
    theirs: Callable[[random.Random], None],
    ours: Callable[[random.Random], None],
) -> None:
    """The whole way, with both programs at work."""
    watch = Watch()
    olds = reader_of_olds(made, stable, watch)
    records = reader_of_records(made, made.new_store(), model, stable, watch)
    made.rekey().start()
    with beside(theirs, theirs, olds):
        switched(made)
    with beside(theirs, ours, ours, olds, records):
        made.run()
    with beside(ours, ours, olds, records):
        made.run()
        report = made.run()
        assert (report.refused, report.differing) == (0, 0)
        before = made.new_store()
        made.rekey().finish()
    with beside(ours, records):
        with suppress(ShardweaveError):
            before.update(model, made.form.read(stable[0])[made.entity.identity[0]], {})
        assert made.run().state == ""
    assert made.old_items() == []
    assert watch.failures == []
    assert watch.count > 20
    assert made.faults() == {}
    ids = [record[made.entity.identity[0]] for record in made.records()]
    assert len(ids) == len(set(ids)), "none is there twice"
    assert {made.form.read(item)[made.entity.identity[0]] for item in stable} <= set(ids), "none is lost"


def test_records_made_by_hand() -> None:
    made = RekeyWorld(member_schema(), HAND_MADE)
    stable = [by_hand(number) for number in range(BY_HAND)]
    for item in stable:
        made.put(item)
    store = made.new_store()

    def theirs(drawn: random.Random) -> None:
        item = by_hand(10**6 + drawn.randrange(20), points=drawn.randrange(100))
        made.remove(item) if drawn.random() < 0.3 else made.put(item)

    def ours(drawn: random.Random) -> None:
        key = f"m{10**6 + drawn.randrange(20)}"
        with suppress(ShardweaveError):
            kind = drawn.randrange(3)
            if kind == 0:
                store.create({"memberId": key, "points": drawn.randrange(100)}, Member)
            elif kind == 1:
                store.update(Member, key, {"team": drawn.choice(["x", None])})
            else:
                store.delete(Member, key)

    brought_in(made, Member, stable, theirs, ours)
    team = made.new_store(forms=False)
    assert all(team.get(Member, item["id"]) is not None for item in stable[:20])


def test_records_of_another_table_that_its_program_writes_until_it_is_stopped() -> None:
    """In another table there is one program at a time: what it writes is followed until it stops, and what is written
    there after `finish` is told by the next run, and not brought in."""
    old = EmbeddedTable(TableLayout(KeyAttribute("PK"), KeyAttribute("SK")))
    made = RekeyWorld(member_schema("hashKey", "rangeKey"), HAND_MADE, old_table=old)
    stable = [by_hand(number) for number in range(BY_HAND)]
    for item in stable:
        made.put(item)
    watch = Watch()

    def theirs(drawn: random.Random) -> None:
        item = by_hand(10**6 + drawn.randrange(20), points=drawn.randrange(100))
        made.remove(item) if drawn.random() < 0.3 else made.put(item)

    made.rekey().start()
    with beside(theirs, theirs, reader_of_olds(made, stable, watch)):
        for _ in range(3):
            assert made.run().refused == 0
    assert made.run().differing == 0, "once it is stopped, one run makes all equal"
    assert made.is_equal()
    made.rekey().finish()
    assert made.run().differing == 0
    whole = made.records()
    made.put(by_hand(10**7))
    made.change(stable[0], mail="late@x")
    assert made.run().differing == 2, "what was written too late is told"
    assert made.records() == whole, "and not brought in"
    with beside(reader_of_records(made, made.new_store(), Member, stable, watch)):
        made.store.update(Member, stable[1]["id"], {"points": 5})
        assert made.run().differing == 3
    assert watch.failures == []
    assert watch.count > 10
    assert {made.form.read(item)["memberId"] for item in stable} <= {each["memberId"] for each in whole}
    assert made.faults() == {}


def golden_records(count: int) -> list[dict[str, Any]]:
    """Records as Entity Manager writes them: those of the vectors, and, beyond, more made of the same users' names."""
    vectors = golden_config()
    old = schema_from_config(vectors["config"])["user"]
    found = {each["record"]["userId"]: each["record"] for each in vectors["users"]}
    items = [each["item"] for each in vectors["users"]]
    for number in range(count):
        if len(found) >= count:
            break
        item = {**items[number % len(items)], "userId": f"more{number}"}
        found[item["userId"]] = {**item, **old.keys.build(item, old.shard_map)}
    return list(found.values())[:count]


@pytest.mark.parametrize("count", [GOLDEN])
def test_records_of_entity_manager(count: int) -> None:
    made = RekeyWorld(golden_schema(), ENTITY_MANAGER, token="person")
    stable = golden_records(count)
    assert len(stable) == count
    for item in stable:
        made.put(item)
    assert made.form.old is not None
    old, store = made.form.old, made.new_store()

    def theirs(drawn: random.Random) -> None:
        item = {"userId": f"t{drawn.randrange(20)}", "created": NOW - 5, "phone": str(drawn.randrange(100))}
        whole = {**item, **old.keys.build(item, old.shard_map)}
        made.remove(whole) if drawn.random() < 0.3 else made.put(whole)

    def ours(drawn: random.Random) -> None:
        key = f"t{drawn.randrange(20)}"
        with suppress(ShardweaveError):
            kind = drawn.randrange(3)
            if kind == 0:
                store.create({"userId": key, "firstNameCanonical": "ann", "lastNameCanonical": "lee"}, Person)
            elif kind == 1:
                store.update(Person, key, {"phone": str(drawn.randrange(100))})
            else:
                store.delete(Person, key)

    brought_in(made, Person, stable, theirs, ours)
    assert all(record["hashKey"].startswith("person!") for record in made.records())
