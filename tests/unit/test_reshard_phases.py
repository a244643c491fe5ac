"""The phases of a re-shard: what follows what, when at the earliest, and what each means to readers and writers."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import Conflict, ReshardRefused, ReshardUnreadable
from shardweave.keys.sharding import ShardBump, ShardMap
from shardweave.reshard.control import control_key, decode_control, encode_control
from shardweave.reshard.phases import (
    Phase,
    ReshardState,
    ReshardStep,
    StepResult,
    Waits,
    aborted,
    advanced,
    check_target,
    due_ms,
    map_in_force,
    resumed,
    started,
)
from shardweave.schema.entity import Entity, nanoid
from shardweave.schema.property_options import timestamp_property, unique_property
from shardweave.schema.schema import Schema
from shardweave.values.codecs import Timestamp

WAITS = Waits(lease_ms=10, accepted_ms=100, request_ms=30, clocks_ms=60, cursor_life_ms=1_000, quiet_ms=5)
NOW = 1_700_000_000_000
FOUR = ShardBump(0, 2, 1)
SIXTEEN = ShardBump(0, 2, 2)
DECLARED = ShardMap.of_bumps((FOUR,))
DONE = StepResult(done=True)


def begun(
    current: ShardMap = DECLARED, target: ShardBump = SIXTEEN, control: ReshardState | None = None
) -> ReshardState:
    return started(control, current, target, now_ms=NOW, now=NOW, waits=WAITS, placement="placement", schema="schema")


def run_on(
    control: ReshardState, findings: StepResult = DONE, *, until: Phase, step: ReshardStep | None = None
) -> list[ReshardState]:
    """The controls that follow when all work is done at once and each wait is waited for."""
    now, seen = control.stepped_ms, [control]
    while seen[-1].phase is not until or (step is not None and seen[-1].step is not step):
        following = advanced(seen[-1], findings, now, WAITS)
        if following is None:
            now += 1
        else:
            seen.append(following)
        assert len(seen) < 100, "it goes on for ever"
    return seen


def at(phase: Phase, step: ReshardStep | None = None) -> ReshardState:
    return run_on(begun(), until=phase, step=step)[-1]


# -- the way forward


def test_a_re_shard_goes_through_every_phase_and_ends_in_its_new_map() -> None:
    seen = run_on(begun(), until=Phase.STABLE)
    steps = [(control.phase, control.step) for control in seen]
    assert steps == [
        (Phase.DUAL_OLD, ReshardStep.COPY),
        (Phase.DUAL_OLD, ReshardStep.SWEEP),
        (Phase.DUAL_OLD, ReshardStep.SETTLE),
        (Phase.DUAL_OLD, ReshardStep.VERIFY),
        (Phase.DUAL_OLD, ReshardStep.INDEXES),
        (Phase.DUAL_NEW, ReshardStep.SOAK),
        (Phase.DUAL_NEW, ReshardStep.VERIFY),
        (Phase.NEW_ONLY, ReshardStep.SETTLE),
        (Phase.PURGE, ReshardStep.EMPTY),
        (Phase.PURGE, ReshardStep.QUIET),
        (Phase.PURGE, ReshardStep.EMPTY),
        (Phase.STABLE, ReshardStep.REST),
    ]
    assert seen[-1].old.generations[0].space == SIXTEEN.space
    assert seen[-1].old.id == 1
    assert not seen[-1].moving


def test_every_phase_lasts_until_no_request_of_the_one_before_can_arrive() -> None:
    seen = run_on(begun(), until=Phase.STABLE)
    entered = [control.entered_ms for control in seen]
    for earlier, later in itertools.pairwise(entered):
        assert later == earlier or later - earlier >= WAITS.skew_ms


def test_the_verification_that_decides_begins_only_when_no_process_can_be_in_the_phase_before() -> None:
    seen = run_on(begun(), until=Phase.DUAL_NEW)
    verify = next(control for control in seen if control.step is ReshardStep.VERIFY)
    assert verify.stepped_ms >= verify.entered_ms + WAITS.skew_ms


def test_the_soak_outlives_every_cursor_on_the_old_space() -> None:
    seen = run_on(begun(), until=Phase.NEW_ONLY)
    flipped = next(control for control in seen if control.phase is Phase.DUAL_NEW)
    assert seen[-1].entered_ms - flipped.entered_ms >= WAITS.skew_ms + WAITS.cursor_life_ms


def test_what_verification_can_mend_is_copied_again() -> None:
    found = advanced(at(Phase.DUAL_OLD, ReshardStep.VERIFY), StepResult(done=True, repairable=1), NOW + 10_000, WAITS)
    assert found is not None
    assert (found.phase, found.step) == (Phase.DUAL_OLD, ReshardStep.COPY)


def test_indexes_that_are_behind_are_looked_at_again_and_nothing_flips() -> None:
    control = at(Phase.DUAL_OLD, ReshardStep.INDEXES)
    behind = StepResult(done=True, repairable=1)
    assert advanced(control, behind, control.stepped_ms, WAITS) is None
    again = advanced(control, behind, control.stepped_ms + WAITS.lease_ms, WAITS)
    assert again is not None
    assert (again.phase, again.step) == (Phase.DUAL_OLD, ReshardStep.INDEXES)
    assert again.round == control.round + 1


def test_differences_after_the_flip_need_someones_attention_and_wait_for_it() -> None:
    control = at(Phase.DUAL_NEW, ReshardStep.VERIFY)
    stopped = advanced(control, StepResult(done=True, repairable=2), NOW, WAITS)
    assert stopped is not None
    assert "items, old or new, differ between the spaces: 2" in stopped.attention
    assert advanced(stopped, DONE, NOW + 10**9, WAITS) is None
    again = resumed(stopped, NOW + 5, schema="schema")
    assert (again.phase, again.step, again.attention) == (Phase.DUAL_NEW, ReshardStep.MEND, "")
    verified = advanced(again, DONE, NOW + 6, WAITS)
    assert verified is not None
    assert (verified.phase, verified.step) == (Phase.DUAL_NEW, ReshardStep.VERIFY)


def test_attention_names_records_until_someone_has_looked() -> None:
    found = StepResult(done=True, repairable=2, strays=1, keys=(("note!1", "noteId#a"),))
    for control in (
        at(Phase.DUAL_OLD, ReshardStep.VERIFY),
        at(Phase.DUAL_NEW, ReshardStep.VERIFY),
        at(Phase.PURGE, ReshardStep.EMPTY),
    ):
        stopped = advanced(control, found, NOW, WAITS)
        assert stopped is not None
        assert stopped.concerned == found.keys
        assert resumed(stopped, NOW, schema="schema").concerned == ()


def test_strays_in_the_old_space_block_its_end_until_someone_has_looked() -> None:
    control = at(Phase.PURGE, ReshardStep.EMPTY)
    stopped = advanced(control, StepResult(done=True, strays=1), NOW, WAITS)
    assert stopped is not None
    assert "other programs" in stopped.attention
    assert advanced(stopped, DONE, NOW + 10**9, WAITS) is None
    assert resumed(stopped, NOW, schema="schema").step is ReshardStep.EMPTY


def test_the_old_space_must_be_met_empty_once_after_it_was_quiet() -> None:
    control = at(Phase.PURGE, ReshardStep.EMPTY)
    quiet = advanced(control, StepResult(done=True, left=7), NOW, WAITS)
    assert quiet is not None
    assert quiet.step is ReshardStep.QUIET
    again = advanced(quiet, DONE, quiet.stepped_ms + WAITS.skew_ms, WAITS)
    assert again is not None
    still = advanced(again, StepResult(done=True, left=1), again.stepped_ms, WAITS)
    assert still is not None
    assert still.step is ReshardStep.QUIET


@given(st.integers(0, 2**32))
def test_whatever_work_finds_phases_only_ever_change_to_adjacent_ones(seed: int) -> None:
    draw = random.Random(seed)
    control, now = begun(), NOW
    for _ in range(300):
        now += draw.choice((0, 1, 50, WAITS.skew_ms, WAITS.soak_ms))
        findings = StepResult(draw.random() < 0.7, *(draw.choice((0, 0, 1)) for _ in range(3)))
        following = advanced(control, findings, now, WAITS)
        if draw.random() < 0.05:
            try:
                following = aborted(control, now)
            except ReshardRefused:
                following = None
        if following is None:
            continue
        change = int(following.phase) - int(control.phase)
        ends = control.phase is Phase.PURGE and following.phase is Phase.STABLE
        assert change in (-1, 0, 1) or ends
        if change and change != -1:
            assert now - control.entered_ms >= WAITS.skew_ms
        if change == -1 and following.phase is Phase.STABLE:
            assert now - control.entered_ms >= WAITS.skew_ms
        assert following.version == control.version
        control = following


# -- the way back


def test_an_abort_before_the_flip_ends_in_the_old_map_with_the_new_space_emptied() -> None:
    control = aborted(begun(), NOW + 3)
    assert (control.phase, control.step, control.aborting) == (Phase.DUAL_OLD, ReshardStep.SETTLE, True)
    seen = run_on(control, until=Phase.STABLE, step=ReshardStep.REST)
    assert [each.step for each in seen[1:]] == [ReshardStep.CLEAN, ReshardStep.CLEAN, ReshardStep.REST]
    assert seen[-1].old.generations == DECLARED.generations
    assert seen[-1].new is None


def test_after_an_abort_the_new_space_is_emptied_once_more_when_no_process_can_write_to_it() -> None:
    seen = run_on(aborted(begun(), NOW), until=Phase.STABLE, step=ReshardStep.REST)
    last = [control for control in seen if control.step is ReshardStep.CLEAN][-1]
    assert last.stepped_ms >= last.entered_ms + WAITS.skew_ms


def test_an_abort_after_the_flip_keeps_the_new_space_for_the_life_of_its_cursors() -> None:
    flipped = at(Phase.DUAL_NEW, ReshardStep.SOAK)
    control = aborted(flipped, flipped.entered_ms + 77)
    assert control.phase is Phase.DUAL_OLD
    assert control.readable(control.version) is not None
    seen = run_on(control, until=Phase.STABLE)
    assert seen[-1].entered_ms >= flipped.entered_ms + 77 + WAITS.soak_ms


def test_an_aborted_re_shard_does_not_flip_any_more() -> None:
    control = aborted(begun(), NOW)
    assert {each.phase for each in run_on(control, until=Phase.STABLE)} == {Phase.DUAL_OLD, Phase.STABLE}


@pytest.mark.parametrize("phase", [Phase.NEW_ONLY, Phase.PURGE, Phase.STABLE])
def test_there_is_no_way_back_where_only_the_new_space_is_written(phase: Phase) -> None:
    with pytest.raises(ReshardRefused, match="no way back"):
        aborted(at(phase), NOW)


# -- what is in force

MEANING = {
    Phase.STABLE: ("old", None, None),
    Phase.DUAL_OLD: ("old", "new", "old"),
    Phase.DUAL_NEW: ("new", "old", "old"),
    Phase.NEW_ONLY: ("new", None, None),
    Phase.PURGE: ("new", None, None),
}


@pytest.mark.parametrize("phase", list(Phase))
def test_what_readers_and_writers_go_by_in_each_phase(phase: Phase) -> None:
    control = replace(begun(), phase=phase)
    maps = {"old": control.old, "new": control.new, None: None}
    current, mirror, marked = MEANING[phase]
    assert control.current is maps[current]
    assert control.mirror is maps[mirror]
    assert control.marked is maps[marked]


def test_a_cursor_is_readable_while_its_space_is_kept_whole() -> None:
    old, new = 0, 1
    readable = {
        phase: [each for each in (old, new) if replace(begun(), phase=phase).readable(each) is not None]
        for phase in Phase
    }
    assert readable == {
        Phase.STABLE: [old],
        Phase.DUAL_OLD: [old, new],
        Phase.DUAL_NEW: [old, new],
        Phase.NEW_ONLY: [new],
        Phase.PURGE: [new],
    }


def test_the_version_grows_with_every_start_and_marks_of_earlier_ones_stay_known() -> None:
    ended = run_on(aborted(begun(), NOW), until=Phase.STABLE, step=ReshardStep.REST)[-1]
    later = ended.entered_ms + 10 * WAITS.skew_ms
    again = started(
        ended, map_in_force(DECLARED, ended), SIXTEEN, now_ms=later, now=later, waits=WAITS, placement="", schema=""
    )
    assert (ended.version, again.version) == (1, 2)
    assert again.old.version == 2
    assert again.new is not None
    assert again.new.id == 2


# -- bumps

COMING = ShardBump(NOW + 50_000, 2, 3)


def test_a_bump_that_has_not_begun_is_part_of_both_maps() -> None:
    control = begun(ShardMap.of_bumps((FOUR, COMING)))
    assert control.new is not None
    assert control.new.bumps == (SIXTEEN, COMING)


def test_a_bump_that_lies_in_the_past_is_absorbed() -> None:
    control = begun(ShardMap.of_bumps((ShardBump(0, 2, 0), ShardBump(NOW - 1, 2, 1))))
    assert control.new is not None
    assert control.new.bumps == (SIXTEEN,)


def test_after_a_move_bumps_declared_later_come_on_top_of_the_new_space() -> None:
    ended = run_on(begun(), until=Phase.STABLE)[-1]
    assert map_in_force(DECLARED, ended).bumps == (SIXTEEN,)
    declared = ShardMap.of_bumps((FOUR, COMING))
    assert map_in_force(declared, ended).bumps == (SIXTEEN, COMING)
    narrow = ShardMap.of_bumps((FOUR, ShardBump(NOW + 1, 1, 2)))
    with pytest.raises(ReshardUnreadable, match="no more than the"):
        map_in_force(narrow, ended)


REFUSED_TARGETS = {
    "the same space": (DECLARED, FOUR, "there already"),
    "a width that is in use": (DECLARED, ShardBump(0, 3, 1), "are in use"),
    "no wider than a bump to come": (ShardMap.of_bumps((FOUR, COMING)), ShardBump(0, 2, 4), "not wider"),
    "as wide as a bump to come": (ShardMap.of_bumps((FOUR, COMING)), ShardBump(0, 2, 3), "are in use"),
    "no shard space": (DECLARED, ShardBump(0, 6, 2), "must be a shard space"),
    "too many shards": (DECLARED, ShardBump(0, 5, 5), "over 1048576 shards"),
}


@pytest.mark.parametrize("case", REFUSED_TARGETS)
def test_targets_that_cannot_work_are_refused(case: str) -> None:
    current, target, message = REFUSED_TARGETS[case]
    with pytest.raises(ReshardRefused, match=message):
        check_target(current, target, NOW)


def test_shrinking_is_possible() -> None:
    check_target(ShardMap.of_bumps((SIXTEEN,)), FOUR, NOW)


# -- starting


def test_two_re_shards_of_one_entity_are_refused() -> None:
    with pytest.raises(Conflict, match="under way"):
        begun(control=begun())


def test_the_next_start_waits_until_every_process_knows_of_the_last_end() -> None:
    ended = replace(run_on(begun(), until=Phase.STABLE)[-1], entered_ms=NOW - 1)
    with pytest.raises(Conflict, match="try again in"):
        begun(map_in_force(DECLARED, ended), FOUR, ended)


def test_while_the_new_space_is_emptied_after_an_abort_no_other_can_start() -> None:
    cleaning = run_on(aborted(begun(), NOW), until=Phase.STABLE)[-1]
    assert cleaning.moving
    with pytest.raises(Conflict, match="still being taken back"):
        begun(control=cleaning)
    with pytest.raises(ReshardRefused, match="being taken back already"):
        aborted(cleaning, NOW)


def test_there_is_nothing_to_resume_while_it_goes_on() -> None:
    with pytest.raises(ReshardRefused, match="nothing has stopped"):
        resumed(begun(), NOW, schema="schema")


def test_with_another_schema_it_is_resumed_by_copying_again() -> None:
    again = resumed(at(Phase.DUAL_OLD, ReshardStep.VERIFY), NOW, schema="newer")
    assert (again.step, again.schema) == (ReshardStep.COPY, "newer")


# -- the record


class Thing(Entity, token="thing"):
    """Something."""

    thing_id: str = unique_property(default_factory=nanoid)
    created: Timestamp = timestamp_property()


@pytest.mark.parametrize("phase", list(Phase))
def test_the_control_record_reads_back_as_it_was(phase: Phase) -> None:
    entity = Schema([Thing], [])[Thing]
    control = replace(at(phase), attention="look", concerned=(("thing!1", "thingId#a"),), rate=5)
    item = encode_control(entity, control, "r1")
    assert decode_control(entity, item) == control
    assert item["rev"] == "r1"
    assert {name: item[name] for name in ("hashKey", "rangeKey")} == control_key(entity)
    assert item["hashKey"] == "thing._reshard!"


def test_waits_are_told_beforehand() -> None:
    control = at(Phase.DUAL_OLD, ReshardStep.SETTLE)
    assert due_ms(control, WAITS) == control.entered_ms + WAITS.skew_ms
    assert due_ms(at(Phase.DUAL_OLD, ReshardStep.COPY), WAITS) is None
