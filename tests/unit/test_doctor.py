"""What the doctor finds: each kind of fault put there, found, named, repaired where it is safe, found clean after."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.access import private_property
from shardweave.errors import Conflict
from shardweave.keys.sharding import ShardBump
from shardweave.maintenance.count_judge import LATE
from shardweave.maintenance.doctor import Doctor, last_report
from shardweave.maintenance.fault_kinds import KINDS, Severity
from shardweave.reshard.control import control_key, encode_control
from shardweave.reshard.phases import Phase, ReshardState, ReshardStep
from shardweave.schema.declarations import Unique
from shardweave.schema.entity import Entity
from shardweave.schema.entity_type import MARK
from shardweave.schema.property_options import unique_property
from shardweave.schema.schema import Schema
from shardweave.table.fault_injection import Crash, Crashed, Meanwhile, Script
from shardweave.table.operations import DeleteItem, PutItem, Scan, TransactGet
from tests.unit.doctor_world import Clinic
from tests.unit.shop_world import SCHEMA, Customer, Issue, Project, sound
from tests.unit.store_world import World

Damage = Callable[[Clinic], Any]


def missing_key(world: Clinic) -> None:
    world.put(world.one("customer!", customerId="c1"), cityHashKey=None)


def stale_key(world: Clinic) -> None:
    item = world.one("customer!", customerId="c1")
    world.put(item, cityHashKey=item["cityHashKey"].replace("Bath", "York"))


def superfluous_key(world: Clinic) -> None:
    world.put(world.one("customer!", customerId="c0"), cityHashKey="customer! |city#Bath")


def stray_record(world: Clinic) -> None:
    item = world.one("issue!", issueId="p0i0")
    world.remove(item)
    world.put(item, hashKey=f"issue!{(int(item['hashKey'][-1]) + 1) % 4}")


def duplicate_id(world: Clinic) -> None:
    item = world.one("project!", projectId="p0")
    world.put(item, hashKey=f"project!{(int(item['hashKey'][-1]) + 1) % 4}", name="another")


def duplicate_in_two_generations(world: Clinic) -> None:
    item = world.one("customer!", customerId="c0")
    copy = {**item, "created": world.clock.now, "rev": "other"}
    world.put(SCHEMA[Customer].complete(copy) | {"rev": "other"})


def reshard_remains(world: Clinic) -> None:
    control = ReshardState(1, replace(SCHEMA[Project].shard_map, id=1, version=1), absorbed_until=1)
    world.put(encode_control(SCHEMA[Project], control, "r"))
    item = world.one("project!", projectId="p0")
    world.put(item, hashKey="project!000", **{MARK: 1})


def impossible_mark(world: Clinic) -> None:
    world.put(world.one("project!", projectId="p0"), **{MARK: 7})


def unreadable_record(world: Clinic) -> None:
    world.put(world.one("product!", productId="x"), name={"not": "a text"})


def wrong_key(world: Clinic) -> None:
    world.put(world.one("product!", productId="x"), productId="y")


def unknown_item(world: Clinic) -> None:
    world.put({"hashKey": "house!1", "rangeKey": "houseId#1"})


def lookup_missing(world: Clinic) -> None:
    world.remove(world.one("customer.phone!", rangeKey="phone#03"))


def lookup_of_the_dead(world: Clinic) -> None:
    world.put(world.one("customer.phone!", rangeKey="phone#03"), _owner="customerId#nobody")


def identity_lookup_missing(world: Clinic) -> None:
    world.remove(world.one("mailbox.address!", rangeKey="address#A1"))


def lookup_stale(world: Clinic) -> None:
    world.put(world.one("customer.phone!", rangeKey="phone#03"), expires=world.clock.now // 1000 + 99)


def identity_lookup_stale(world: Clinic) -> None:
    world.put(world.one("mailbox.address!", rangeKey="address#A1"), expires=world.clock.now // 1000 + 99)


def identity_lookup_damaged(world: Clinic) -> None:
    world.put(world.one("mailbox.address!", rangeKey="address#A1"), _place=7)


def identity_lookup_misplaced(world: Clinic) -> None:
    world.put(world.one("mailbox.address!", rangeKey="address#A1"), hashKey="mailbox.address!zz")


def counter_misplaced(world: Clinic) -> None:
    world.put(world.one("project.*!", rangeKey="projectId#p0"), hashKey="project.*!zz")


def lookup_dangling(world: Clinic) -> None:
    lookup = world.one("customer.phone!", rangeKey="phone#03")
    from shardweave.store.lookups.lookup_records import lookup_keys, lookup_record

    entity = SCHEMA[Customer]
    owner = {"customerId": "gone", "phone": "999"}
    (key,) = lookup_keys(entity, entity.lookups["phone"], owner)
    world.put(lookup_record(entity, key, owner, lookup["rev"]))


def identity_lookup_dangling(world: Clinic) -> None:
    lookup = world.one("mailbox.address!", rangeKey="address#A1")
    world.put(lookup, rangeKey="address#nowhere")


def lookup_damaged(world: Clinic) -> None:
    world.put(world.one("customer.city!", _owner="customerId#c1"), _owner=7)


def value_held_twice(world: Clinic) -> None:
    world.put(world.one("customer!", customerId="c4"), phone="03")
    world.remove(world.one("customer.phone!", rangeKey="phone#04"))


def lookup_not_filled(world: Clinic) -> None:
    world.put(world.one("customer.phone!", rangeKey="_state"), _state="filling")


def expired_item(world: Clinic) -> None:
    world.put({"hashKey": "_rate!3f", "rangeKey": "x", "expires": world.clock.now // 1000 - 10**6})


def expired_lookup(world: Clinic) -> None:
    lookup = world.one("customer.phone!", rangeKey="phone#03")
    world.put(lookup, rangeKey="phone#77", expires=world.clock.now // 1000 - 10**6)


def expired_record(world: Clinic) -> None:
    world.put(world.one("customer!", customerId="c0"), expires=world.clock.now // 1000 - 10**6)


def sequence_behind(world: Clinic) -> None:
    world.put(world.one("issue.num+!", rangeKey="projectId#p0"), _last=2)


def sequence_gone(world: Clinic) -> None:
    world.remove(world.one("area.rank+!"))


def counter_damaged(world: Clinic) -> None:
    world.put(world.one("issue.num+!", rangeKey="projectId#p0"), _last="many")


def children_damaged(world: Clinic) -> None:
    world.put(world.one("project.*!", rangeKey="projectId#p0"), issue_project="many")


def counter_dangling(world: Clinic) -> None:
    from shardweave.store.relations.enforced import counter_key

    world.put(counter_key(SCHEMA[Project], {"projectId": "gone"}) | {"issue_project": 0})


def counter_wrong(world: Clinic) -> None:
    world.put(world.one("project.*!", rangeKey="projectId#p0"), issue_project=5)


def counter_gone(world: Clinic) -> None:
    world.remove(world.one("project.*!", rangeKey="projectId#p1"))


def uncounted_child(world: Clinic) -> None:
    world.put(world.one("issue!", issueId="p1i1"), _counted=None)
    world.put(world.one("project.*!", rangeKey="projectId#p1"), issue_project=2)


def parent_missing(world: Clinic) -> None:
    world.remove(world.one("project!", projectId="p1"))


def control_unreadable(world: Clinic) -> None:
    world.put(control_key(SCHEMA[Project]) | {"format": 99})


def control_impossible(world: Clinic) -> None:
    shard_map = SCHEMA[Project].shard_map
    control = ReshardState(1, shard_map, step=ReshardStep.EMPTY)
    world.put(encode_control(SCHEMA[Project], control, "r"))


def declaration_differs(world: Clinic) -> None:
    shard_map = SCHEMA[Project].shard_map
    new = ShardBump(0, 2, 3)
    control = ReshardState(
        1, replace(shard_map, version=1), type(shard_map).of_bumps((new,), 1, 1), Phase.DUAL_OLD, ReshardStep.COPY
    )
    world.put(encode_control(SCHEMA[Project], replace(control, placement="another"), "r"))


def reshard_stopped(world: Clinic) -> None:
    control = ReshardState(1, replace(SCHEMA[Project].shard_map, version=1), attention="look")
    world.put(encode_control(SCHEMA[Project], control, "r"))


def bookkeeping_damaged(world: Clinic) -> None:
    world.put(control_key(SCHEMA[Project]) | {"rangeKey": "work#000001#1#"})


def marker_damaged(world: Clinic) -> None:
    world.put(world.one("mailbox.folded!", rangeKey="_state"), _state=5)


DAMAGES: list[tuple[Damage, str, set[str]]] = [
    (missing_key, "missing_key", set()),
    (stale_key, "stale_key", set()),
    (superfluous_key, "superfluous_key", set()),
    (stray_record, "stray_record", {"lookup_dangling", "counter_wrong"}),
    (duplicate_id, "duplicate_id", set()),
    (duplicate_in_two_generations, "duplicate_id", set()),
    (reshard_remains, "reshard_remains", set()),
    (impossible_mark, "impossible_mark", set()),
    (unreadable_record, "unreadable_record", set()),
    (wrong_key, "unreadable_record", set()),
    (unknown_item, "unknown_item", set()),
    (lookup_missing, "lookup_missing", set()),
    (lookup_of_the_dead, "lookup_missing", {"lookup_dangling"}),
    (identity_lookup_missing, "lookup_missing", {"lookup_dangling"}),
    (lookup_stale, "lookup_stale", set()),
    (identity_lookup_stale, "lookup_stale", set()),
    (lookup_dangling, "lookup_dangling", set()),
    (identity_lookup_dangling, "lookup_dangling", set()),
    (lookup_damaged, "lookup_damaged", {"lookup_missing"}),
    (identity_lookup_damaged, "lookup_damaged", {"lookup_missing", "lookup_dangling"}),
    (identity_lookup_misplaced, "lookup_dangling", set()),
    (value_held_twice, "value_held_twice", set()),
    (lookup_not_filled, "lookup_not_filled", set()),
    (expired_item, "expired_item", set()),
    (expired_lookup, "expired_item", set()),
    (expired_record, "expired_record", {"lookup_dangling"}),
    (sequence_behind, "sequence_behind", set()),
    (sequence_gone, "sequence_behind", set()),
    (counter_damaged, "counter_damaged", set()),
    (children_damaged, "counter_damaged", {"counter_wrong"}),
    (counter_dangling, "counter_dangling", set()),
    (counter_wrong, "counter_wrong", set()),
    (counter_gone, "counter_wrong", set()),
    (uncounted_child, "uncounted_child", set()),
    (parent_missing, "parent_missing", set()),
    (control_unreadable, "control_unreadable", set()),
    (control_impossible, "control_unreadable", set()),
    (declaration_differs, "declaration_differs", set()),
    (reshard_stopped, "reshard_stopped", set()),
    (bookkeeping_damaged, "bookkeeping_damaged", set()),
    (marker_damaged, "bookkeeping_damaged", {"lookup_not_filled"}),
]
"""What is done to the table, the kind that says so, and others that go with it."""


def named(damages: list[tuple[Damage, str, set[str]]]) -> dict[str, Any]:
    return {"argvalues": damages, "ids": [damage.__name__ for damage, *_ in damages]}


def test_a_sound_table_has_no_fault() -> None:
    world = Clinic()
    report = world.examined()
    assert (report.done, report.code, report.findings.counts, report.layout) == (True, 0, {}, ())
    assert report.read == len(world.items()), "its own progress too, in whose place the report is"
    assert report.units > 0
    assert sound(world)


@pytest.mark.parametrize(("damage", "kind", "others"), **named(DAMAGES))
def test_each_fault_is_found_and_nothing_is_written(damage: Damage, kind: str, others: set[str]) -> None:
    world = Clinic()
    damage(world)
    before = world.items()
    report = world.examined(page=3)
    assert kind in report.findings.counts
    assert set(report.findings.counts) <= {kind, *others}
    assert report.code == max(
        1 if KINDS[each].severity is Severity.REPAIRABLE else 2 for each in report.findings.counts
    )
    assert [item for item in world.items() if not item["hashKey"].startswith("_maintenance")] == before
    for finding in report.findings.all_named:
        assert finding.about
        assert str(finding).startswith(f"{finding.kind}: {finding.about}: ")


REPAIRED = [each for each in DAMAGES if KINDS[each[1]].severity is Severity.REPAIRABLE]
REPORTED = [each for each in DAMAGES if KINDS[each[1]].severity is Severity.NEEDS_A_PERSON]


@pytest.mark.parametrize(("damage", "kind", "others"), **named(REPAIRED))
def test_what_is_safe_is_repaired_logged_and_found_clean_after(damage: Damage, kind: str, others: set[str]) -> None:
    world, said = Clinic(), list[str]()
    damage(world)
    report = world.examined(repair=True, say=said.append)
    assert any(line.startswith(f"repaired {kind}: ") for line in said)
    assert report.code == 0
    assert world.found() == {}


@pytest.mark.parametrize(("damage", "kind", "others"), **named(REPORTED))
def test_what_takes_a_person_is_left_as_it_is(damage: Damage, kind: str, others: set[str]) -> None:
    world = Clinic()
    damage(world)
    before = world.items()
    report = world.examined(repair=True)
    assert report.code == 2
    assert kind not in report.findings.repaired
    after = [item for item in world.items() if not item["hashKey"].startswith("_maintenance")]
    if not report.findings.repaired:
        assert after == before


def test_every_kind_that_is_found_in_items_is_put_there_by_a_test() -> None:
    elsewhere = {"copy_differs", "index_entry_missing", "index_entry_left", "layout_differs"}
    elsewhere |= {*LATE, "uncountable_record", "sum_wrong", "sum_lost"}  # see test_doctor_sums
    elsewhere |= {"deletion_stopped", "deletion_remains"}  # see test_store_deletion_work
    assert {kind for _, kind, _ in DAMAGES} | elsewhere == set(KINDS)


def test_repaired_records_are_as_their_next_write_would_leave_them() -> None:
    world = Clinic()
    whole = [item for item in world.items() if not item["hashKey"].startswith("_")]
    for damage in (missing_key, superfluous_key, lookup_missing, identity_lookup_missing, counter_wrong):
        damage(world)
    assert world.examined(repair=True).code == 0
    strip = lambda item: {name: value for name, value in item.items() if name != "rev"}  # noqa: E731
    after = [item for item in world.items() if not item["hashKey"].startswith("_")]
    assert [strip(item) for item in after] == [strip(item) for item in whole]
    assert sound(world)


def test_a_counter_at_another_place_is_set_to_what_it_counts_and_then_removed() -> None:
    world = Clinic()
    counter_misplaced(world)
    assert world.examined(repair=True).findings.counts == {"counter_wrong": 2}
    assert world.examined(repair=True).findings.repaired == {"counter_dangling": 1}
    assert world.found() == {}
    assert sound(world)


def test_both_sides_of_a_conflict_are_named() -> None:
    world = Clinic()
    value_held_twice(world)
    (finding,) = world.examined().findings.all_named
    holders = {(item["hashKey"], item["rangeKey"]) for item in world.items_of(Customer) if item.get("phone") == "03"}
    assert {finding.key, finding.other} == holders


def test_a_suspect_counts_only_if_it_is_wrong_at_one_moment() -> None:
    script = Script(matching=[Scan])
    world = Clinic(script)

    def change() -> None:
        world.other.update(Customer, "c3", {"phone": "new"})
        world.other.delete(Customer, "c5")
        world.other.delete(Issue, "p0i1")
        world.other.create({"issueId": "p1i9", "projectId": "p1"}, Issue)

    script._left = [None, None, None, Meanwhile(change)]
    assert world.found(page=2) == {}


def test_a_suspect_is_read_again_in_one_transaction() -> None:
    world = Clinic()
    lookup_missing(world)
    world.table.calls.clear()
    world.examined()
    snapshots = [operation for operation in world.table.calls if isinstance(operation, TransactGet)]
    assert snapshots
    assert any(key["rangeKey"] == "phone#03" for each in snapshots for key in each.keys)


def test_kinds_that_are_skipped_are_not_looked_for() -> None:
    world = Clinic()
    unknown_item(world)
    lookup_missing(world)
    report = world.examined(skip=["unknown_item"])
    assert (report.findings.counts, report.code) == ({"lookup_missing": 1}, 1)
    assert report.document()["skipped"] == ["unknown_item"]


@pytest.mark.parametrize("rounds", range(1, 40, 3))
def test_stopped_after_any_number_of_rounds_and_gone_on_with_the_report_is_the_same(rounds: int) -> None:
    world = Clinic()
    for damage in (stale_key, lookup_missing, counter_wrong, unknown_item, sequence_behind):
        damage(world)
    whole = world.examined(page=2)
    while True:
        left = iter(range(rounds))
        report = world.doctor(page=2).run(stop=lambda left=left: next(left, None) is None)
        if report.done:
            break
    assert report.findings == whole.findings
    assert abs(report.read - whole.read) <= 2, "what the doctor keeps itself comes and goes"


def test_two_doctors_do_not_work_against_each_other() -> None:
    world = Clinic()
    first, rounds = world.doctor(page=1), iter(range(3))

    def other() -> bool:
        number = next(rounds)
        if number == 1:
            world.doctor(page=1).run(stop=lambda: True)
        return number > 0

    with pytest.raises(Conflict, match="another process does the same work"):
        first.run(stop=other)


def test_the_last_report_is_kept() -> None:
    world = Clinic()
    lookup_missing(world)
    assert last_report(world.store.parts) is None
    report = world.examined()
    kept = last_report(world.store.parts)
    assert kept is not None
    assert {**kept, "at": 0} == {**report.document(), "seconds": kept["seconds"], "units": kept["units"], "at": 0}
    assert kept["at"] == world.clock.now


class Member(Entity, token="member"):
    """Somebody whose card is nobody's business."""

    member_id: str = unique_property()
    card: str = private_property()

    by_card = Unique("card")


def test_no_value_of_a_private_property_is_in_a_report() -> None:
    world = World(schema=Schema([Member]))
    for number in range(3):
        world.store.create({"memberId": f"m{number}", "card": f"hush{number}"}, Member)
    lookups = [item for item in world.lookups() if "_owner" in item]
    world.inner.run(DeleteItem({name: lookups[0][name] for name in ("hashKey", "rangeKey")}))
    world.inner.run(PutItem({**lookups[1], "rangeKey": "card#hush9"}))
    world.inner.run(PutItem({**lookups[2], "_owner": 5}))
    report = Doctor(world.new_store(world.inner).parts, world.clock).run()
    assert set(report.findings.counts) == {"lookup_missing", "lookup_dangling", "lookup_damaged"}
    assert "hush" not in str(report.document())
    assert "(private, " in str(report.document())


@pytest.mark.parametrize("calls", range(0, 90, 9))
def test_killed_anywhere_and_begun_again_the_report_is_the_same(calls: int) -> None:
    script = Script()
    world = Clinic(script)
    for damage in (stale_key, lookup_missing, counter_wrong, unknown_item):
        damage(world)
    whole = world.examined(page=2)
    script._left = [None] * calls + [Crash(carried_out=calls % 2 == 0)]
    with suppress(Crashed):
        world.examined(page=2)
    script._left = []
    assert world.examined(page=2).findings == whole.findings


TOGETHER = [damage for damage, *_ in REPAIRED]


@given(damages=st.lists(st.sampled_from(TOGETHER), min_size=2, max_size=5, unique=True))
@settings(max_examples=20, deadline=None)
def test_any_faults_together_are_repaired_and_nothing_is_lost(damages: list[Damage]) -> None:
    world = Clinic()
    before = {item["rangeKey"] for item in world.items() if world.schema.entity_of_key(item["hashKey"]) is not None}
    for damage in damages:
        with suppress(ValueError, KeyError):  # Another one has taken what it would damage.
            damage(world)
    for _ in range(3):
        if world.examined(repair=True).code == 0:
            break
    assert world.found() == {}
    assert {item["rangeKey"] for item in world.items() if world.schema.entity_of_key(item["hashKey"])} == before
    assert sound(world)
