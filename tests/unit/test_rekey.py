"""A table that another program made is brought in while it is used: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from shardweave.errors import (
    AlreadyExists,
    ConditionFailed,
    ConfigurationError,
    Conflict,
    NotFound,
    ReshardRefused,
    RevisionConflict,
    ShardMapChanged,
    ShardweaveError,
)
from shardweave.schema.declarations import Sequence
from shardweave.schema.entity import Entity
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.store.operations import Add, Create, Delete, Put, Update
from shardweave.table.conditions import Compare
from shardweave.table.fault_injection import WRITES, Crash, Crashed, Script, SimulatedTable
from shardweave.table.operations import UpdateItem
from shardweave.values.codecs import Timestamp
from tests.unit.rekey_world import HAND_MADE, NOW, Member, RekeyWorld, by_hand, member_schema

RECORDS = 12


def world(records: int = RECORDS, **options: Any) -> RekeyWorld:
    made = RekeyWorld(member_schema(), HAND_MADE, **options)
    for number in range(records):
        made.put(by_hand(number))
    return made


def dual(records: int = RECORDS, **options: Any) -> RekeyWorld:
    """A world in which Database and the other program write."""
    made = world(records, **options)
    made.rekey().start()
    made.run()
    made.rekey().switch()
    return made


# -- the whole way ----------------------------------------------------------------------------------------------------


def test_what_would_change_is_told_before_anything_is_written() -> None:
    made = world()
    before = made.items()
    report = made.run()
    assert (report.state, report.passes["look"].read, report.passes["look"].differing) == ("", RECORDS, RECORDS)
    assert made.items() == before


def test_the_whole_way_from_hand_made_items_to_records() -> None:
    made = world()
    made.rekey().start()
    report = made.run()
    assert (report.passes["bring"].written, report.refused, report.differing) == (RECORDS, 0, 0)
    assert made.is_equal()
    made.rekey().switch()
    made.store.update(Member, "m3", {"points": 99, "team": None})
    made.store.create({"memberId": "new", "team": "t1", "email": "e@x"}, Member)
    made.store.delete(Member, "m4")
    assert made.is_equal()
    assert made.old(by_hand(3)) == by_hand(3, team=None, points=99)
    assert made.old(by_hand(4)) is None
    assert made.old({"PK": "MEMBER#new", "SK": "PROFILE"})["mail"] == "e@x"
    assert made.faults() == {}
    made.run()
    made.rekey().finish()
    made.store.update(Member, "m5", {"points": 7})
    assert made.run().state == ""
    assert made.old_items() == []
    assert len(made.records()) == RECORDS
    plain = made.new_store(forms=False)
    found = plain.get(Member, "m5")
    assert found is not None
    assert (found.points, found.team) == (7, "t2")
    assert made.faults() == {}


def test_writes_of_every_kind_are_repeated_on_the_old_item() -> None:
    made = dual()
    store = made.store
    store.write(Add(Member, "m1", {"points": 5}))
    store.put({"memberId": "m2", "team": "other"}, Member)
    store.batch_write(
        [Put({"memberId": "b1", "points": 4}, Member)],
        [Delete(Member, "m5")],
        updates=[Update(Member, "m6", {"team": "x"})],
    )
    store.transact([Create({"memberId": "c1"}, Member), Update(Member, "m7", {"email": "a@b"}), Delete(Member, "m8")])
    rev = store.get(Member, "m9").rev  # type: ignore[union-attr]
    store.delete(Member, "m9", rev=rev)
    store.update(Member, "u1", {"points": 3}, upsert=True)
    assert made.is_equal()
    assert len(made.records()) == RECORDS


def test_another_programs_change_is_not_undone_and_ours_is_not_either() -> None:
    made = dual()
    made.change(by_hand(1), points=50, GSI1SK="00000050#m1")
    changed = made.store.update(Member, "m1", {"email": "e@x"})
    assert (changed.points, changed.email) == (50, "e@x")
    assert made.is_equal()
    made.change(by_hand(2), note="unknown to the schema")
    made.store.update(Member, "m2", {"email": "e@x"})
    assert made.old(by_hand(2))["note"] == "unknown to the schema"
    made.run()
    assert made.is_equal()


def test_another_program_creates_and_removes_what_we_write() -> None:
    made = dual()
    made.put(by_hand(77))
    with pytest.raises(AlreadyExists):
        made.store.create({"memberId": "m77"}, Member)
    made.remove(by_hand(3))
    with pytest.raises(NotFound):
        made.store.update(Member, "m3", {"points": 1})
    made.remove(by_hand(4))
    assert made.store.delete(Member, "m4") is False
    assert made.is_equal()


def test_a_revision_that_another_programs_change_made_old_is_refused() -> None:
    made = dual()
    rev = made.store.get(Member, "m1").rev  # type: ignore[union-attr]
    made.change(by_hand(1), team="z", GSI1PK="TEAM#z")
    with pytest.raises(RevisionConflict):
        made.store.update(Member, "m1", {"points": 9}, rev=rev)
    assert made.is_equal()


def test_a_run_follows_what_other_programs_did() -> None:
    made = world()
    made.rekey().start()
    made.run()
    made.put(by_hand(50))
    made.change(by_hand(1), team="z", GSI1PK="TEAM#z")
    made.remove(by_hand(2))
    made.put(by_hand(3, created=NOW - 99))
    report = made.run()
    assert (report.passes["bring"].written, report.passes["sweep"].removed) == (3, 1)
    assert made.is_equal()


# -- states -----------------------------------------------------------------------------------------------------------


def test_nobody_reads_or_writes_records_that_are_not_complete() -> None:
    made = world()
    made.rekey().start()
    for store in (made.store, made.new_store(forms=False)):
        with pytest.raises(ReshardRefused):
            store.get(Member, "m1")
        with pytest.raises(ReshardRefused):
            store.create({"memberId": "x"}, Member)


def test_a_process_without_the_mapping_is_refused_while_both_are_written() -> None:
    made = dual()
    with pytest.raises(ReshardRefused):
        made.new_store(forms=False).update(Member, "m1", {"points": 1})
    assert made.is_equal()


def test_a_process_with_another_mapping_is_refused() -> None:
    made = dual()
    other = {**HAND_MADE["entities"]["member"], "attributes": {"PK": "M#${id}", "SK": "P"}}
    wrong = RekeyWorld(made.schema, {**HAND_MADE, "entities": {"member": other}})
    made.forms = wrong.forms
    with pytest.raises(ReshardRefused):
        made.new_store().get(Member, "m1")


def test_back_and_abort_leave_the_old_items_as_they_are() -> None:
    made = dual()
    made.store.update(Member, "m1", {"points": 42})
    made.rekey().back()
    with pytest.raises(ReshardRefused):
        made.store.update(Member, "m1", {"points": 43})
    olds = made.old_items()
    made.change(by_hand(2), points=8, GSI1SK="00000008#m2")
    made.run()
    assert made.is_equal()
    made.rekey().abort()
    assert made.run().state == ""
    assert made.records() == []
    assert len(made.old_items()) == len(olds) == RECORDS
    made.rekey().start()


def test_each_command_is_refused_where_it_does_not_belong() -> None:
    made = world()
    for command in ("switch", "back", "finish", "abort"):
        with pytest.raises(Conflict):
            getattr(made.rekey(), command)()
    made.rekey().start()
    for command in ("start", "switch", "finish", "back"):
        with pytest.raises(Conflict):
            getattr(made.rekey(), command)()
    made.run()
    made.rekey().switch()
    for command in ("start", "switch", "finish", "abort"):
        with pytest.raises(Conflict):
            getattr(made.rekey(), command)()


def test_finish_waits_until_every_process_knows_and_nothing_differs() -> None:
    made = world(waits=replace(RekeyWorld.__init__.__kwdefaults__["waits"], lease_ms=1000))
    made.rekey().start()
    made.run()
    made.rekey().switch()
    made.run()
    with pytest.raises(Conflict, match="knew the state"):
        made.rekey().finish()
    made.now += 1000
    made.run()
    made.put(by_hand(50))
    made.rekey().finish()
    assert made.run().waiting_ms == 1000
    made.store.update(Member, "m1", {"points": 7})
    assert made.old(by_hand(1))["points"] == 7, "processes that do not know it yet still read the old items"
    made.now += 1000
    assert (made.run().state, made.run().waiting_ms) == ("purge", 1000)
    made.store.update(Member, "m1", {"points": 8})
    assert made.old(by_hand(1))["points"] == 7, "the records are written alone"
    assert len(made.old_items()) == RECORDS + 1
    made.now += 1000
    assert made.run().state == ""


def test_start_is_refused_where_records_are() -> None:
    made = world()
    made.store.create({"memberId": "x"}, Member)
    with pytest.raises(Conflict):
        made.rekey().start()


def test_items_that_can_not_be_brought_in_are_named_without_values_and_stop_the_switch() -> None:
    made = world(3)
    made.put({**by_hand(10), "GSI1PK": "TEAM#elsewhere"})
    made.put({**by_hand(11), "points": "secret"})
    made.put({name: value for name, value in by_hand(12).items() if name != "created"})
    made.rekey().start()
    report = made.run()
    assert report.refused == 3, "each once, though two passes name it"
    reasons = [each.reason for each in report.passes["bring"].examples]
    assert any("GSI1PK" in each for each in reasons)
    assert "secret" not in "".join(reasons)
    with pytest.raises(Conflict, match="can't be brought in"):
        made.rekey().switch()


def test_what_the_old_program_left_after_finish_was_asked_for_is_not_removed_unseen() -> None:
    made = dual()
    made.run()
    made.rekey().finish()
    made.put({**by_hand(60), "GSI1PK": "TEAM#wrong"})
    report = made.run()
    assert report.refused == 1
    assert report.state == "purge"
    made.remove(by_hand(60))
    assert made.run().state == ""


def test_an_item_that_each_pass_refuses_is_counted_once() -> None:
    made = world()
    made.put({**by_hand(60), "GSI1PK": "TEAM#wrong"})
    made.rekey().start()
    report = made.run()
    assert (report.refused, report.passes["bring"].refused, report.passes["verify"].refused) == (1, 1, 1)
    with pytest.raises(Conflict, match="an item can't be brought in"):
        made.rekey().switch()


def test_before_the_start_each_command_says_so() -> None:
    made = world()
    for command in ("switch", "back", "finish", "abort"):
        with pytest.raises(Conflict, match="nothing is being brought in"):
            getattr(made.rekey(), command)()


# -- interrupted and beside others ------------------------------------------------------------------------------------


@given(stops=st.lists(st.integers(0, 3), max_size=12))
@settings(max_examples=15, deadline=None)
def test_a_run_that_is_stopped_anywhere_goes_on_and_ends_the_same(stops: list[int]) -> None:
    made = world()
    made.rekey().start()
    for rounds in stops:
        left = iter(range(rounds))
        if made.rekey(page=2).run(stop=lambda left=left: next(left, None) is None).done:
            break
    assert made.run(page=2).done or made.is_equal()
    made.run()
    assert made.is_equal()


@pytest.mark.parametrize("crash", range(0, 40, 3))
def test_a_run_that_dies_is_repeated_and_ends_the_same(crash: int) -> None:
    made = world()
    made.rekey().start()
    script = Script(matching=WRITES)
    script._left = [None] * crash + [Crash(carried_out=crash % 2 == 0)]
    with suppress(Crashed):
        made.run(table=SimulatedTable(made.inner, script), page=2)
    assert made.run().done
    assert made.is_equal()


def act(made: RekeyWorld, drawn: random.Random, number: int, ours: bool) -> None:
    """One action of one of the two programs."""
    kind = drawn.randrange(4)
    if not ours:
        item = by_hand(number, points=drawn.randrange(100), team=drawn.choice(["a", "b", None]))
        if kind == 0:
            made.remove(item)
        else:
            made.put(item)
        return
    key = f"m{number}"
    if kind == 0:
        made.store.delete(Member, key)
    elif kind == 1:
        made.store.create({"memberId": key, "points": drawn.randrange(100)}, Member)
    elif kind == 2:
        made.store.write(Add(Member, key, {"points": 1}))
    else:
        made.store.update(Member, key, {"team": drawn.choice(["x", None]), "points": drawn.randrange(100)})


@given(seed=st.integers(0, 2**32), turns=st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=40))
@settings(max_examples=25, deadline=None)
def test_any_turns_of_both_programs_end_equal(seed: int, turns: list[tuple[bool, int]]) -> None:
    made, drawn = dual(5), random.Random(seed)
    for ours, number in turns:
        with suppress(ShardweaveError):
            act(made, drawn, number, ours)
        made.now += 1
    made.run()
    assert made.is_equal()
    assert made.faults() == {}


def test_increments_of_two_programs_beside_a_run_are_all_there() -> None:
    """Neither of two programs that write at once undoes the other: both count up on condition of what they read."""
    made = dual(3)
    failures: list[BaseException] = []

    def ours() -> None:
        for _ in range(15):
            made.new_store().write(Add(Member, "m1", {"points": 1}))

    def theirs() -> None:
        for _ in range(15):
            while True:
                points = made.old(by_hand(1))["points"]
                changed = {"points": points + 1, "GSI1SK": f"{points + 1:08}#m1"}
                with suppress(ConditionFailed):
                    made.inner.run(
                        UpdateItem(made.form.key(by_hand(1)), changed, condition=Compare("points", "=", points))
                    )
                    break

    def runs() -> None:
        for _ in range(2):
            made.run()

    def guarded(work: Any) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001 - told in the thread of the test
            failures.append(error)

    threads = [threading.Thread(target=guarded, args=(work,)) for work in (ours, theirs, runs)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    made.run()
    assert made.is_equal()
    assert made.old(by_hand(1))["points"] == 1 + 30


def test_a_switch_in_the_middle_of_a_write_is_noticed() -> None:
    made = dual()
    stale = made.new_store()
    stale.get(Member, "m1")
    made.run()
    made.rekey().finish()
    with suppress(ShardMapChanged):
        stale.update(Member, "m1", {"points": 5})
    assert made.run().state == ""
    assert made.old_items() == []


# -- mappings ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"preset": "other"}, "preset"),
        ({"entities": {"nobody": {}}}, "entities.nobody"),
        ({"more": 1}, "more"),
        ({"entities": {"member": {"attributes": {"PK": "X#${id}"}}}}, "entities.member"),
        ({"entities": {"member": {"attributes": {"PK": "X#${memberId:wide}", "SK": "x"}}}}, "attributes"),
        ({"entities": {"member": {"attributes": {"PK": "X#${memberId}"}}}}, "attributes"),
        ({"entities": {"member": {"attributes": {"PK": "X#${team}", "SK": "x"}}}}, "entities.member"),
        ({"entities": {"member": {"attributes": {"PK": "${memberId}", "SK": "x"}, "rename": {"a": "b"}}}}, "rename"),
        ({"entities": {"member": {"attributes": 3}}}, "attributes"),
        ({"preset": "onetable", "entities": {"member": {}}}, "entities.member"),
        ({"preset": "electrodb"}, "service"),
        ({"preset": "entity_manager"}, "config"),
    ],
)
def test_a_wrong_mapping_is_refused_with_its_place(change: Mapping[str, Any], where: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        RekeyWorld(member_schema(), {**HAND_MADE, **change})
    assert where in str(refused.value.where)


def test_other_key_names_than_the_tables_are_refused() -> None:
    with pytest.raises(ConfigurationError, match="PK and SK"):
        RekeyWorld(member_schema("hashKey", "rangeKey"), HAND_MADE).rekey()


class Numbered(Entity, token="numbered"):
    """An entity whose numbers another program could not give."""

    numbered_id: str = unique_property()
    created: Timestamp = timestamp_property()
    number: int = 0

    numbers = Sequence("number")


def test_an_entity_that_writes_more_than_can_be_repeated_is_refused() -> None:
    mapping = {"entities": {"numbered": {"attributes": {"hashKey": "N#${numberedId}", "rangeKey": "N"}}}}
    made = RekeyWorld(Schema([Numbered]), mapping, token="numbered")
    with pytest.raises(ConfigurationError, match="numbered properties"):
        made.rekey().start()
