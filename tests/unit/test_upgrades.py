"""Versions of a stored form: each is read as the current one, is written back by the next write, and never moves."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave import Database, prefix, where
from shardweave.errors import RecordUnreadable, SchemaError, ShardweaveError, UnsupportedQuery
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.exporting import Export
from shardweave.maintenance.importing import Import, ImportReport
from shardweave.maintenance.rewriting import Rewrite
from shardweave.query.cursor import CursorKeys
from shardweave.query.runner import QueryRunner
from shardweave.query.spec import Equal, QuerySpec
from shardweave.reshard.phases import Phase
from shardweave.schema.declarations import Index, Lookup
from shardweave.schema.entity import Entity, HashKey, RangeKey
from shardweave.schema.manifest import decode_manifest, encode_manifest, manifest_of, placement_faults
from shardweave.schema.property_options import timestamp_property, unique_property, updated_property
from shardweave.schema.read_models import Event, ReadModel
from shardweave.schema.schema import Schema
from shardweave.schema.upgrades import VERSION, Upgrades
from shardweave.store import Store
from shardweave.table.operations import PutItem
from shardweave.values.codecs import Timestamp
from shardweave.wire.stored_json import StoredJson
from tests.unit.reshard_world import SIXTEEN, ReshardWorld
from tests.unit.store_world import World

SHARDS = [ShardBump(0, char_bits=2, chars=1)]


class First(Entity, token="member", shard_bumps=SHARDS):
    """A member as the first version of a program stored one: a whole name, and a fee in euros."""

    member_id: str = unique_property()
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    team: str
    name: str
    fee: Decimal | None = None
    visits: int = 0

    team_hash_key = HashKey("team")
    team_lookup = Lookup("team")


def split_name(values: dict[str, Any]) -> dict[str, Any]:
    first, _, last = values.pop("name").partition(" ")
    return {**values, "firstName": first, "lastName": last}


def fee_in_cents(values: dict[str, Any]) -> dict[str, Any]:
    fee = values.pop("fee", None)
    return values if fee is None else {**values, "feeCents": int(fee * 100)}


class Second(Entity, token="member", shard_bumps=SHARDS, upgrades=(split_name,)):
    """The same of the second version: two names."""

    member_id: str = unique_property()
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    team: str
    first_name: str
    last_name: str
    fee: Decimal | None = None
    visits: int = 0

    team_hash_key = HashKey("team")
    team_lookup = Lookup("team")


class Third(Entity, token="member", shard_bumps=SHARDS, upgrades=(split_name, fee_in_cents)):
    """The same of the third version: cents, and an index and a lookup of what the upgrades add."""

    member_id: str = unique_property()
    created: Timestamp = timestamp_property()
    updated: Timestamp = updated_property()
    team: str
    first_name: str
    last_name: str
    fee_cents: int | None = None
    visits: int = 0

    team_hash_key = HashKey("team")
    name_range_key = RangeKey("last_name", "created")
    team_lookup = Lookup("team")
    name_lookup = Lookup("last_name")


INDEXES = (
    Index("byTeam", "team_hash_key", "created"),
    Index("keys", "hash_key", "created", projection="KEYS_ONLY"),
    Index("some", "team_hash_key", "range_key", projection=("visits",)),
)


def schema_of(model: type[Entity], *more: Index) -> Schema:
    return Schema([model], [*INDEXES, *more])


OLD, BETWEEN = schema_of(First), schema_of(Second)
NEW = schema_of(Third, Index("byName", "hash_key", "name_range_key"))


def values_of(number: int) -> dict[str, Any]:
    return {"memberId": f"m{number}", "team": "red", "name": f"Ann Bell{number}", "fee": Decimal(number) / 2}


class Club(World):
    """A table with members m0, m1, ... of the first version, which the third one uses."""

    def __init__(self, count: int = 3, *, schema: Schema = NEW) -> None:
        super().__init__(schema=schema)
        self.old = self.store_of(OLD)
        for number in range(count):
            self.old.create(values_of(number), First)
        self.clock.now += 1000
        keys = CursorKeys("k", {"k": b"k" * 32})
        self.db = Database.over(self.store, QueryRunner(schema, self.inner, keys, clock=self.clock, maps=self.maps))

    def store_of(self, schema: Schema) -> Store:
        return Store(schema, self.inner, clock=self.clock, maps=self.maps, waiting=self.pauses.waiting())

    def member(self, number: int = 0) -> dict[str, Any]:
        return next(item for item in self.items() if item.get("memberId") == f"m{number}" and "team" in item)

    def report(self) -> dict[str, int]:
        return Doctor(self.new_store(self.inner).parts, self.clock).run().findings.counts

    def refused(self, code: str, *writes: Any) -> None:
        """What is done is refused, and nothing is changed."""
        before = self.items()
        for write in writes:
            with pytest.raises(RecordUnreadable) as told:
                write()
            assert told.value.record.code == code
        assert self.items() == before


def named(records: Any) -> list[tuple[str, int | None]]:
    return [(each.last_name, each.fee_cents) for each in records]


# -- reading ----------------------------------------------------------------------------------------------------------


def test_an_earlier_version_is_read_as_the_current_one_and_stays_as_it_is() -> None:
    world = Club()
    before = world.items()
    assert named([world.db.get(Third, "m1")]) == [("Bell1", 50)]
    everyone = [("Bell0", 0), ("Bell1", 50), ("Bell2", 100)]
    assert named(world.db.batch_get(Third, ["m0", "m1", "m2"])) == everyone
    assert sorted(named(world.db.query(Third, team="red", index="byTeam").items)) == everyone
    assert sorted(named(world.db.find_by(Third, "team", "red").items)) == everyone
    assert world.items() == before


def test_filters_and_counts_go_by_the_current_form() -> None:
    world = Club(4)
    world.db.update(Third, "m3", {"visits": 1})
    rich = where("fee_cents") >= 100
    assert sorted(named(world.db.query(Third, team="red", index="byTeam", filter=rich).items)) == [
        ("Bell2", 100),
        ("Bell3", 150),
    ]
    assert world.db.count(Third, team="red", index="byTeam", filter=rich) == 2
    assert world.db.count(Third, team="red", index="byTeam", filter=where("first_name") == "Bob") == 0


def test_a_filter_of_what_no_upgrade_may_change_is_the_tables() -> None:
    world = Club()
    spec = QuerySpec("member", {"team": Equal("red")}, "byTeam", filter=where("member_id") == "m1")
    (branch,) = world.db.queries.plan(spec).branches
    assert (branch.filter.by_table is None, branch.filter.here) == (False, None)
    assert len(world.db.queries.run(spec).items) == 1


def test_chosen_properties_are_of_the_current_form() -> None:
    world = Club(1)
    page = world.db.queries.run(
        QuerySpec("member", {"team": Equal("red")}, "byTeam", properties=("lastName", "feeCents"))
    )
    assert page.items == ({"lastName": "Bell0", "feeCents": 0},)


def test_an_index_with_a_part_of_each_record_gives_whole_ones_and_refuses_what_would_need_them() -> None:
    world = Club()
    assert len(named(world.db.query(Third, index="keys").items)) == 3
    assert len(named(world.db.query(Third, team="red", index="some").items)) == 3
    assert world.db.count(Third, team="red", index="some") == 3
    with pytest.raises(UnsupportedQuery, match="can't be upgraded"):
        world.db.query(Third, team="red", index="some", filter=where("visits") == 1)
    with pytest.raises(UnsupportedQuery, match="can't be upgraded"):
        world.db.queries.run(QuerySpec("member", {"team": Equal("red")}, "some", properties=("visits",)))


def test_stored_json_takes_the_current_form_alone() -> None:
    world = Club(1)
    entity = NEW[Third]
    assert StoredJson(entity).texts([world.member()])[0] is None
    world.db.update(Third, "m0", {"visits": 2})
    text = StoredJson(entity).texts([world.member()])[0]
    assert text is not None
    assert b'"lastName":"Bell0"' in text


@given(version=st.integers(1, 6), value=st.integers(0, 10**6))
@settings(max_examples=50, deadline=None)
def test_from_any_version_each_later_upgrade_is_applied_once_in_order(version: int, value: int) -> None:
    steps = tuple(lambda values, n=n: {**values, "way": [*values.get("way", ()), n]} for n in range(1, 6))
    upgrades = Upgrades(steps, frozenset({"id"}), frozenset(), frozenset({"hashKey"}))
    item = {"hashKey": "k", "id": value, "way": [], **({VERSION: version} if version > 1 else {})}
    found = upgrades.current(item)
    assert found["way"] == list(range(version, 6))
    assert found[VERSION] == 6
    assert upgrades.current(found) is found
    assert item["way"] == []


# -- writing ----------------------------------------------------------------------------------------------------------


def test_a_new_record_says_its_version_and_one_without_upgrades_does_not() -> None:
    world = Club(1)
    assert VERSION not in world.member()
    world.db.create(Third, {"memberId": "m9", "team": "red", "firstName": "Zoe", "lastName": "Z"})
    assert world.member(9)[VERSION] == 3


WRITES = {
    "update": lambda db: db.update(Third, "m0", {"visits": 1}),
    "update by a function": lambda db: db.update(Third, "m0", lambda record: {"visits": record.visits + 1}),
    "add": lambda db: db.add(Third, "m0", {"visits": 1}),
    "put": lambda db: db.put(db.get(Third, "m0").model_copy(update={"visits": 1})),
}


@pytest.mark.parametrize("write", WRITES)
def test_the_next_write_stores_the_current_form(write: str) -> None:
    world = Club(1)
    world.inner.run(PutItem({**world.member(), "legacy": {"a": 1}}))
    WRITES[write](world.db)
    item = world.member()
    assert (item["lastName"], item["feeCents"], item["visits"], item[VERSION]) == ("Bell0", 0, 1, 3)
    assert item["legacy"] == {"a": 1}, "what the schema does not know stays"
    assert "name" not in item, "what an upgrade leaves out is gone"
    assert "fee" not in item
    assert item["nameRangeKey"].startswith("lastName#Bell0 |")
    assert any("lastName#Bell0" in each["rangeKey"] for each in world.lookups()), "so does a lookup of what it adds"
    WRITES[write](world.db)
    assert world.member()["lastName"] == "Bell0"


def test_a_rewrite_stores_it_for_all_and_only_reads_the_second_time() -> None:
    world = Club(12)
    report = Rewrite(world.new_store(world.inner).parts, NEW[Third]).run()
    assert (report.read, report.written, report.refused) == (12, 12, 0)
    assert all(item[VERSION] == 3 for item in world.items_of(Third))
    again = Rewrite(world.new_store(world.inner).parts, NEW[Third]).run()
    assert (again.read, again.written) == (12, 0)


def test_every_earlier_version_is_upgraded_from_where_it_is() -> None:
    world = Club(2)
    world.store_of(BETWEEN).update(Second, "m1", {"visits": 1})
    assert world.member(1)[VERSION] == 2
    assert named(world.db.batch_get(Third, ["m0", "m1"])) == [("Bell0", 0), ("Bell1", 50)]


def test_a_backfill_adds_what_an_upgrade_gives_a_lookup() -> None:
    world = Club(3)
    assert world.store.backfill(Third, "lastName").ready
    assert len(world.db.find_by(Third, "lastName", "Bell1").items) == 1
    assert set(world.report()) <= {"lookup_not_filled"}


def test_a_backfill_passes_over_what_can_not_be_upgraded() -> None:
    world = Club(2)
    world.inner.run(PutItem({**world.member(1), "name": 7}))
    report = world.store.backfill(Third, "lastName")
    assert (report.filled, report.refused, report.ready) == (1, 0, True)
    assert [each.member_id for each in world.db.find_by(Third, "lastName", "Bell0").items] == ["m0"]


def test_deleting_an_earlier_version_takes_its_lookups_along() -> None:
    world = Club(1)
    world.db.delete(Third, "m0")
    assert not world.items_of(Third)
    assert not world.db.find_by(Third, "team", "red").items


# -- what is refused --------------------------------------------------------------------------------------------------


def another_id(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "memberId": "x"}


def another_time(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "created": values["created"] + 1}


def another_team(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "team": "blue"}


def no_team(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if name != "team"}


def of_its_own(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "rev": "mine"}


def broken(values: dict[str, Any]) -> dict[str, Any]:
    raise KeyError("secret")


def unstorable(values: dict[str, Any]) -> dict[str, Any]:
    return {**values, "more": object()}


def moved(upgrade: Any) -> Schema:
    class Moved(First, token="member", shard_bumps=SHARDS, upgrades=(upgrade,)):
        pass

    return schema_of(Moved)


CHANGED = {another_id: "memberId", another_time: "created", another_team: "team", no_team: "team", of_its_own: "rev"}


@pytest.mark.parametrize("upgrade", [*CHANGED, broken, unstorable], ids=lambda each: each.__name__)
def test_an_upgrade_that_fails_or_would_move_a_record_is_refused_and_changes_nothing(upgrade: Any) -> None:
    world = Club(1, schema=moved(upgrade))
    (model,) = (each.model for each in world.schema.entities.values())
    world.refused(
        "not_upgraded",
        lambda: world.db.get(model, "m0"),
        lambda: world.db.update(model, "m0", {"visits": 1}),
        lambda: world.db.add(model, "m0", {"visits": 1}),
    )
    with pytest.raises(RecordUnreadable) as told:
        world.db.get(model, "m0")
    assert "secret" not in str(told.value)
    if upgrade in CHANGED:
        assert f"{CHANGED[upgrade]} (changed by an upgrade)" in str(told.value)
    before = world.items()
    report = Rewrite(world.new_store(world.inner).parts, world.schema[model]).run()
    assert (report.written, report.refused) == (0, 1)
    assert "unreadable_record" in world.report()
    assert world.store.backfill(model, "team").refused == 0, "what it is of is as it was"
    assert [item for item in world.items() if "memberId" in item] == [item for item in before if "memberId" in item]


def test_a_record_that_can_not_be_upgraded_is_replaced_by_a_put() -> None:
    world = Club(1, schema=moved(broken))
    (model,) = (each.model for each in world.schema.entities.values())
    world.db.put(model, {"memberId": "m0", "team": "red", "name": "Bob"})
    assert world.db.get(model, "m0").name == "Bob"  # type: ignore[attr-defined]


@pytest.mark.parametrize("version", [4, 0, -1, Decimal("2.5"), "3", True, None])
def test_a_version_that_is_not_known_is_not_read_and_not_written_over(version: Any) -> None:
    world = Club(1)
    world.inner.run(PutItem({**world.member(), VERSION: version}))
    world.refused(
        "unknown_version",
        lambda: world.db.get(Third, "m0"),
        lambda: world.db.update(Third, "m0", {"visits": 1}),
        lambda: world.db.add(Third, "m0", {"visits": 1}),
        lambda: world.db.put(Third, {"memberId": "m0", "team": "red", "firstName": "Z", "lastName": "Z"}),
    )


def test_a_program_without_upgrades_leaves_alone_what_a_newer_one_wrote() -> None:
    world = Club(1)
    world.db.update(Third, "m0", {"visits": 1})
    world.refused(
        "unknown_version",
        lambda: world.old.get(First, "m0"),
        lambda: world.old.update(First, "m0", {"visits": 9}),
        lambda: world.old.add(First, "m0", {"visits": 9}),
        lambda: world.old.put(values_of(0), First),
    )


BAD: dict[str, tuple[Any, str]] = {
    "no function": (("split",), "must be a function, got str"),
    "a class": ((dict,), "must be a function, got type"),
    "a lambda": ((lambda values: values,), "the function has no name"),
    "one twice": ((split_name, split_name), "two functions are called split_name"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_upgrade_is_refused_with_the_schema(case: str) -> None:
    given, message = BAD[case]

    class Member(Entity, token="member", upgrades=given):
        member_id: str = unique_property()

    with pytest.raises(SchemaError, match=message):
        Schema([Member])


def test_what_events_write_has_no_upgrades() -> None:
    class Board(Entity, token="board", upgrades=(split_name,)):
        board_id: str = unique_property()

    class Named(Event):
        type: Any = "Named"

    with pytest.raises(SchemaError, match="Board has upgrades"):
        Schema([Board], read_models=[ReadModel("boards", (Named,), (Board,), lambda event: [])])


def test_manifests_know_upgrades_and_refuse_to_lose_one() -> None:
    first, between, third = (manifest_of(each) for each in (OLD, BETWEEN, NEW))
    assert third.entities["member"].upgrades == ("split_name", "fee_in_cents")
    assert decode_manifest(encode_manifest(third)) == third
    assert "upgrades" not in encode_manifest(first)
    assert [placement_faults(before, after) for before, after in ((first, between), (between, third))] == [[], []]
    faults = [str(each) for each in placement_faults(third, between)]
    assert any("member.upgrades: its upgrades were split_name, fee_in_cents" in each for each in faults)


# -- carried, looked after, moved -------------------------------------------------------------------------------------


def lines_of(folder: Path) -> list[bytes]:
    return [line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines(keepends=True)]


def bring(world: World, lines: list[bytes]) -> ImportReport:
    return Import(world.new_store(world.inner).parts, world.clock).run(lines)


def test_what_is_exported_keeps_its_version_and_is_imported_in_the_current_one(tmp_path: Path) -> None:
    world = Club(3)
    world.db.update(Third, "m2", {"visits": 5})
    assert Export(world.new_store(world.inner).parts, [NEW[Third]], tmp_path).run().done
    other = Club(0)
    outcome = bring(other, lines_of(tmp_path))
    assert (outcome.written, outcome.refused) == (3, 0)
    assert all(item[VERSION] == 3 for item in other.items_of(Third))
    assert named(other.db.batch_get(Third, ["m0", "m1", "m2"])) == [("Bell0", 0), ("Bell1", 50), ("Bell2", 100)]
    assert bring(other, lines_of(tmp_path)).there == 3


def test_the_doctor_has_nothing_against_an_earlier_version_but_the_keys_that_it_lacks() -> None:
    world = Club(3)
    world.store.backfill(Third, "team")
    assert set(world.report()) == {"missing_key", "lookup_not_filled"}
    Doctor(world.new_store(world.inner).parts, world.clock, repair=True).run()
    assert all(item[VERSION] == 3 for item in world.items_of(Third))
    world.store.backfill(Third, "lastName")
    assert not world.report()


@pytest.mark.parametrize("phase", [Phase.DUAL_OLD, Phase.DUAL_NEW, Phase.NEW_ONLY, Phase.STABLE])
def test_records_of_all_versions_move_while_they_are_upgraded(phase: Phase) -> None:
    world = ReshardWorld(schema=NEW)
    for number in range(12):
        store = Store(OLD, world.inner, clock=world.clock, waiting=world.pauses.waiting())
        store.create(values_of(number), First)
    world.start(Third, SIXTEEN)
    world.run_until(Third, phase)
    for number in range(0, 12, 3):
        world.new_store().update(Third, f"m{number}", {"visits": number})
    world.finish(Third)
    items = world.items_of(Third)
    assert len(items) == 12
    assert sorted(item.get(VERSION, 1) for item in items) == [1] * 8 + [3] * 4
    for number in range(12):
        record = world.new_store().get(Third, f"m{number}")
        assert record is not None
        assert (record.last_name, record.visits) == (f"Bell{number}", 0 if number % 3 else number)


def test_a_data_folder_fills_an_added_index_with_what_upgrades_give(tmp_path: Path) -> None:
    with Database(OLD, path=tmp_path) as db:
        for number in range(5):
            db.create(First, values_of(number))
    with Database(NEW, path=tmp_path) as db:
        found = db.query(Third, last_name=prefix("Bell"), index="byName").items
        assert [each.last_name for each in found] == [f"Bell{number}" for number in range(5)]
    with pytest.raises(ShardweaveError, match="its upgrades were split_name, fee_in_cents"):
        Database(BETWEEN, path=tmp_path)
