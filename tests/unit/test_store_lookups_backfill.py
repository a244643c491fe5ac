"""A lookup added to a filled table: not read before it holds everything, and filled while the table is in use."""

from __future__ import annotations

from typing import Any

import pytest

from shardweave.errors import AccessDenied, AlreadyExists, Conflict, HasChildren, LookupNotReady, UnknownName
from shardweave.keys.sharding import ShardBump
from shardweave.schema.declarations import Lookup, Unique, belongs_to
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.store import BackfillReport, Create, Store, Update
from shardweave.store.lookups.backfill_state import PAGE
from shardweave.table.fault_injection import WRITES, Call, Crash, Crashed, Meanwhile, Script, SimulatedTable
from shardweave.table.operations import Operation, PutItem, Scan
from tests.unit.shop_world import Issue, shop, unsound
from tests.unit.store_world import World

SHARDS = [ShardBump(0, char_bits=1, chars=2)]


class OldUser(Entity, token="user", shard_bumps=SHARDS):
    """A user as an older version of the program knows it."""

    user_id: str = unique_property(default_factory=nanoid)
    phone: str | None = None
    city: str | None = None
    boss_id: str | None = None


class User(OldUser, token="user", shard_bumps=SHARDS):
    """The same with lookups."""

    phone_lookup = Unique("phone")
    city_lookup = Lookup("city")
    boss = belongs_to("boss", by="boss_id", enforced=True)


class Boss(Entity, token="boss"):
    """Whom a user belongs to."""

    boss_id: str = unique_property()


class Step(Entity, token="step", partition="user_id", sort="number"):
    """Something whose records lie under hash keys that nobody can list."""

    user_id: str
    number: int
    code: str

    code_lookup = Unique("code")


OLD = Schema(entities=[OldUser, Boss])
NEW = Schema(entities=[User, Boss, Step])


class Upgraded(World):
    """A table that an older version filled, and a newer one uses: `old` still writes as the older one."""

    def __init__(self, count: int = 0, faults: Any = None, **values: Any) -> None:
        super().__init__(faults, schema=NEW)
        self.old = Store(OLD, self.inner, clock=self.clock, waiting=self.pauses.waiting())
        self.old.create({"bossId": "b"}, Boss)
        for number in range(count):
            record = {"userId": f"u{number:03}", "phone": str(number), "city": "Bath", "bossId": "b", **values}
            self.old.create(record, OldUser)

    def fresh(self) -> Store:
        """Another process of the newer version."""
        return self.new_store(self.table)


def test_a_new_table_needs_no_command() -> None:
    world = World(schema=NEW)
    assert world.store.get_by(User, "phone", "1") is None
    user = world.store.create({"phone": "1"}, User)
    world.store.create({"userId": "u", "number": 1, "code": "c"}, Step)
    for store in (world.store, world.new_store(world.inner)):
        assert store.get_by(User, "phone", "1") == user
        assert store.get_by(Step, "code", "c") is not None


def test_a_process_that_writes_first_finds_out_that_nothing_is_stored() -> None:
    world = World(schema=NEW)
    world.store.create({"bossId": "b"}, Boss)
    world.requests()
    world.store.create({"phone": "1"}, User)
    assert world.requests() == ["TransactWrite"], "markers are read once"
    assert world.new_store(world.inner).get_by(User, "phone", "1") is not None


def test_a_lookup_of_a_filled_table_is_not_read_and_the_command_is_named() -> None:
    world = Upgraded(3)
    for attempt in (
        lambda: world.store.get_by(User, "phone", "1"),
        lambda: world.store.find_by(User, "city", "Bath"),
        lambda: world.store.delete(Boss, "b"),
    ):
        with pytest.raises(LookupNotReady, match="shardweave backfill --entity user --lookup "):
            attempt()
    assert world.store.get(User, "u001") is not None, "what needs no lookup goes on"
    world.store.update(User, "u001", {"city": "York"})
    world.store.create({"phone": "new", "bossId": "b"}, User)
    with pytest.raises(LookupNotReady):
        world.store.get_by(User, "phone", "new")


def test_an_entity_that_is_new_in_a_filled_table_is_ready_unless_it_is_partitioned() -> None:
    world = Upgraded()
    for number in range(PAGE):
        world.old.create({"bossId": f"b{number}"}, Boss)
    assert world.store.get_by(User, "phone", "1") is None, "each of its shards is seen to be empty"
    with pytest.raises(LookupNotReady):
        world.store.get_by(Step, "code", "c")
    assert world.store.backfill(Step, "code").ready
    assert world.store.get_by(Step, "code", "c") is None


def test_a_small_table_is_read_whole() -> None:
    world = Upgraded(3)
    assert world.store.get_by(Step, "code", "c") is None
    with pytest.raises(LookupNotReady):
        world.store.get_by(User, "phone", "1")


def test_what_the_library_keeps_in_a_new_table_does_not_make_it_a_filled_one() -> None:
    world = World(schema=NEW)
    for number in range(3 * PAGE):
        world.inner.run(PutItem({"hashKey": f"_kept!{number}", "rangeKey": "k"}))
    assert world.store.get_by(Step, "code", "c") is None
    world.store.create({"userId": "u", "number": 1, "code": "d"}, Step)
    assert world.new_store(world.inner).get_by(Step, "code", "d") is not None


def test_whoever_makes_a_table_has_its_lookups_decided_before_others_write() -> None:
    """The others may not scan: what was decided is all that they go by."""
    world = World(schema=NEW)
    assert world.store.decide_lookups() == ()
    world.requests()
    assert world.store.decide_lookups() == ()
    assert world.requests() == ["BatchGet"], "it is decided once"
    other = world.new_store(SimulatedTable(world.inner, NoScans()))
    other.create({"userId": "u", "number": 1, "code": "c"}, Step)
    assert other.get_by(Step, "code", "c") is not None


def test_what_has_to_be_filled_is_named_when_it_is_decided() -> None:
    world = Upgraded(3)
    assert world.store.decide_lookups() == ("user.phone", "user.city", "user.boss")
    world.store.backfill(User, "phone")
    assert world.store.decide_lookups() == ("user.city", "user.boss")


@pytest.mark.parametrize("carried_out", [False, True])
def test_a_decision_that_was_cut_off_is_made_again(carried_out: bool) -> None:
    world = World(Script(Crash(carried_out), matching=WRITES), schema=NEW)
    with pytest.raises(Crashed):
        world.store.decide_lookups()
    assert world.new_store(world.inner).decide_lookups() == ()


def test_two_that_decide_at_once_agree() -> None:
    others: list[tuple[str, ...]] = []
    world = World(
        Script(Meanwhile(lambda: others.append(world.new_store(world.inner).decide_lookups())), matching=WRITES),
        schema=NEW,
    )
    assert world.store.decide_lookups() == ()
    assert others == [()]


class NoScans:
    """A table that refuses scans, as it does to the API of a deployed service."""

    def next_for(self, operation: Operation[Any]) -> Any:
        return Denied() if isinstance(operation, Scan) else None


class Denied:
    def execute(self, call: Call) -> Any:
        raise AccessDenied("no")


def test_a_process_that_may_not_scan_looks_into_the_shards() -> None:
    world = World(schema=NEW)
    store = world.new_store(SimulatedTable(world.inner, NoScans()))
    store.create({"phone": "1"}, User)
    assert store.get_by(User, "phone", "1") is not None
    with pytest.raises(LookupNotReady):
        store.get_by(Step, "code", "c")


# -- filling ----------------------------------------------------------------------------------------------------------


def test_a_backfill_makes_it_ready_for_every_process() -> None:
    world = Upgraded(250)
    reports: list[BackfillReport] = []
    report = world.store.backfill(User, "phone", follow=reports.append)
    assert (report.read, report.filled, report.refused, report.ready) == (250, 250, 0, True)
    assert [each.read for each in reports] == sorted(each.read for each in reports)
    for store in (world.store, world.fresh()):
        found = store.get_by(User, "phone", "77")
        assert found is not None
        assert found.user_id == "u077"
    with pytest.raises(LookupNotReady):
        world.store.find_by(User, "city", "Bath")
    assert world.store.backfill(User, "city").ready
    assert len(world.store.find_by(User, "city", "Bath", limit=500).items) == 250


def test_an_enforced_relation_is_filled_by_counting_each_child_once() -> None:
    world = Upgraded(30)
    world.store.create({"bossId": "b"}, User)
    assert world.store.backfill(User, "boss").filled == 30
    assert world.store.backfill(User, "boss", again=True).filled == 0
    with pytest.raises(HasChildren):
        world.store.delete(Boss, "b")
    for item in world.items_of(User):
        world.store.delete(User, item["userId"])
    assert world.store.delete(Boss, "b")
    assert list(unsound(world)) == []


def test_what_is_ready_is_not_filled_again_unless_asked() -> None:
    world = Upgraded(5)
    world.store.backfill(User, "phone")
    world.requests()
    assert world.store.backfill(User, "phone").ready
    assert world.requests() == ["GetItem"]
    world.old.create({"phone": "stray"}, OldUser)
    report = world.store.backfill(User, "phone", again=True)
    assert (report.read, report.filled, report.ready) == (6, 1, True)
    assert world.store.get_by(User, "phone", "stray") is not None


def test_what_writers_brought_in_already_costs_no_write() -> None:
    world = Upgraded(5)
    for number in range(3):
        world.store.update(User, f"u{number:03}", {"phone": f"new {number}"})
    world.requests()
    report = world.store.backfill(User, "phone")
    assert (report.read, report.filled) == (5, 2)
    assert world.requests().count("TransactWrite") == 2


def test_two_records_with_one_value_are_reported_and_keep_it_from_being_ready() -> None:
    world = Upgraded(4)
    world.old.update(OldUser, "u003", {"phone": "0"})
    report = world.store.backfill(User, "phone")
    assert (report.read, report.filled, report.refused, report.ready) == (4, 3, 1, False)
    (example,) = report.examples
    assert isinstance(example.error, AlreadyExists)
    assert example.identity["userId"] in ("u000", "u003")
    with pytest.raises(LookupNotReady):
        world.store.get_by(User, "phone", "0")
    world.store.update(User, "u003", {"phone": "3"})
    report = world.store.backfill(User, "phone")
    assert (report.refused, report.ready) == (0, True)
    assert unsound_lookup(world) == []


def test_the_one_that_stays_out_can_be_removed_and_changed_without_the_others_value() -> None:
    for write in ("delete", "update", "unrelated"):
        world = Upgraded(2, phone="same")
        report = world.store.backfill(User, "phone")
        (example,) = report.examples
        out = example.identity["userId"]
        if write == "delete":
            world.store.delete(User, out)
        else:
            world.store.update(User, out, {"phone": "other"} if write == "update" else {"city": "York"})
        (holder,) = {"u000", "u001"} - {out}
        if write == "unrelated":
            continue
        assert world.store.backfill(User, "phone").ready
        found = world.store.get_by(User, "phone", "same")
        assert found is not None
        assert found.user_id == holder


def test_a_value_that_fits_no_lookup_is_reported() -> None:
    world = Upgraded(1, phone="1" * 1100)
    report = world.store.backfill(User, "phone")
    assert (report.refused, report.ready) == (1, False)
    assert report.examples[0].error.where == "phone"


def test_it_can_be_stopped_and_started_at_any_request() -> None:
    smooth = Upgraded(3)
    smooth.store.backfill(User, "phone")
    for step in range(len(smooth.table.calls)):
        for carried_out in (False, True):
            world = Upgraded(3, Script(*[None] * step, Crash(carried_out)))
            with pytest.raises(Crashed):
                world.store.backfill(User, "phone")
            assert world.fresh().backfill(User, "phone").ready
            assert unsound_lookup(world) == []


def test_it_goes_on_where_it_was_stopped() -> None:
    world = Upgraded(250)
    stop = [False]

    def follow(report: BackfillReport) -> None:
        stop[0] = report.read >= 100
        if stop[0]:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.store.backfill(User, "phone", follow=follow)
    report = world.fresh().backfill(User, "phone")
    assert report.read < 200
    assert report.ready
    assert unsound_lookup(world) == []


def test_a_conflict_before_it_was_stopped_is_not_forgotten() -> None:
    world = Upgraded(2, phone="same")
    seen: list[int] = []

    def follow(report: BackfillReport) -> None:
        seen.append(report.refused)
        if report.refused:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        world.store.backfill(User, "phone", follow=follow)
    assert not world.fresh().backfill(User, "phone").ready


def test_of_two_at_once_one_stops() -> None:
    world = Upgraded(3)

    def other(report: BackfillReport) -> None:
        if report.read:
            world.fresh().backfill(User, "phone", again=True)

    with pytest.raises(Conflict, match="another backfill"):
        world.store.backfill(User, "phone", follow=other)


ACTS = {
    "changes the value": lambda world: world.other.update(User, "u000", {"phone": "9"}),
    "changes another property": lambda world: world.other.update(User, "u000", {"city": "York"}),
    "deletes the record": lambda world: world.other.delete(User, "u000"),
    "takes the value": lambda world: world.other.transact(
        [Update(User, "u000", {"phone": None}), Create({"userId": "new", "phone": "0"}, User)]
    ),
    "makes the record again": lambda world: (
        world.other.delete(User, "u000"),
        world.other.create({"userId": "u000", "phone": "0"}, User),
    ),
}


@pytest.mark.parametrize("act", ACTS.values(), ids=ACTS.keys())
def test_whoever_writes_meanwhile_is_not_overwritten(act: Any) -> None:
    for step in range(4):
        script = Script(matching=WRITES)
        world = Upgraded(1, script)
        script._left = [*[None] * step, Meanwhile(lambda world=world: act(world))]
        assert world.store.backfill(User, "phone").ready
        assert unsound_lookup(world) == []


def test_only_what_is_declared_can_be_filled() -> None:
    with pytest.raises(UnknownName, match="phone, city"):
        Upgraded().store.backfill(User, "name")
    with pytest.raises(UnknownName, match=r"use one of .*code, project"):
        shop().store.backfill(Issue, "nope")


def unsound_lookup(world: World) -> list[str]:
    """What is wrong with the lookup of phones; the others are not filled."""
    return [fault for fault in unsound(world) if "phone" in fault]


def test_a_record_behind_the_programs_back_is_brought_in_by_its_next_change() -> None:
    world = Upgraded(1)
    world.store.update(User, "u000", {"phone": "9"})
    assert unsound_lookup(world) == []
    world.inner.run(PutItem(world.stored(User) | {"phone": "8"}))
    assert world.store.backfill(User, "phone").filled == 1


def begun(world: Upgraded, name: str) -> dict[str, Any]:
    """The marker of a backfill that was stopped after its first page."""

    class Stopped(Exception):
        """The process ends here."""

    def stop(report: BackfillReport) -> None:
        raise Stopped

    with pytest.raises(Stopped):
        world.fresh().backfill(User, name, follow=stop)
    (marker,) = [item for item in world.items() if item["hashKey"] == f"user.{name}!" and item["rangeKey"] == "_state"]
    return marker


@pytest.mark.parametrize("name", ["_state", "_source", "_after", "_map", "_refused", "rev"])
@pytest.mark.parametrize(
    "value", [None, "x", -1, ["x"], {"hashKey": 1, "rangeKey": "r"}, {"hashKey": "h", "rangeKey": "r"}, True], ids=repr
)
def test_what_is_kept_of_a_backfill_damaged_begins_it_anew(name: str, value: Any) -> None:
    world = Upgraded(250)
    marker = begun(world, "phone")
    assert marker["_map"]
    world.inner.run(PutItem({**marker, name: value}))
    store = world.fresh()
    with pytest.raises(LookupNotReady):
        store.get_by(User, "phone", "1")
    assert store.backfill(User, "phone").ready
    assert all(world.fresh().get_by(User, "phone", str(number)) is not None for number in range(0, 250, 25))
