"""Waves change one index at a time, and no query ever needs an index that is not filled."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.cdk.waves import MOST_INDEXES, decode_waves, encode_waves, first_waves, plan_waves
from shardweave.errors import ConfigurationError, SchemaError
from shardweave.table.layout import IndexLayout, KeyAttribute

NAMES = st.sets(st.sampled_from([f"i{number:02d}" for number in range(12)]), max_size=10)


def layouts(names: set[str] | list[str]) -> list[IndexLayout]:
    return [IndexLayout(name, KeyAttribute("hashKey"), KeyAttribute(f"{name}Range")) for name in sorted(names)]


def test_without_changes_everything_else_is_deployed_at_once() -> None:
    (wave,) = plan_waves(layouts({"a", "b"}), layouts({"a", "b"}))
    assert wave.meaning == "deploying everything else"
    assert wave.indexes == tuple(layouts({"a", "b"}))


def test_new_indexes_come_one_by_one_then_the_code_and_then_old_ones_go() -> None:
    waves = plan_waves(layouts({"a", "b"}), layouts({"b", "c", "d"}))
    assert [wave.meaning for wave in waves] == [
        "adding the index c (1 of 2)",
        "adding the index d (2 of 2)",
        "deploying everything else",
        "removing the index a (1 of 1)",
    ]
    assert [wave.hidden for wave in waves] == [("c", "d"), ("c", "d"), (), ()]


@given(there=NAMES, wanted=NAMES)
def test_every_wave_changes_one_index_and_the_last_has_what_is_wanted(there: set[str], wanted: set[str]) -> None:
    waves = plan_waves(layouts(there), layouts(wanted))
    before = there
    for wave in waves:
        after = {index.name for index in wave.indexes}
        assert len(before ^ after) == (0 if wave.meaning == "deploying everything else" else 1)
        before = after
    assert before == wanted


@given(there=NAMES, wanted=NAMES)
def test_what_is_read_is_always_there_and_filled(there: set[str], wanted: set[str]) -> None:
    """Queries use the wanted indexes that are not hidden: from its first wave on the new code runs, so each of those
    was in the table before the wave began. What the old code reads goes only after the new code is there."""
    before = there
    code_is_there = False
    for wave in plan_waves(layouts(there), layouts(wanted)):
        assert wanted - set(wave.hidden) <= before
        code_is_there |= wave.meaning == "deploying everything else"
        after = {index.name for index in wave.indexes}
        assert code_is_there or before <= after
        before = after


@given(there=NAMES, wanted=NAMES, data=st.data())
def test_an_interrupted_roll_out_is_planned_anew_from_where_it_is(
    there: set[str], wanted: set[str], data: st.DataObject
) -> None:
    waves = plan_waves(layouts(there), layouts(wanted))
    reached = data.draw(st.integers(0, len(waves) - 1))
    again = plan_waves(waves[reached].indexes, layouts(wanted))
    assert {index.name for index in again[-1].indexes} == wanted
    assert len(again) <= len(waves)


def test_an_index_that_would_change_in_place_is_refused() -> None:
    changed = [IndexLayout("a", KeyAttribute("hashKey"), KeyAttribute("other"))]
    with pytest.raises(SchemaError, match="another name"):
        plan_waves(layouts({"a"}), changed)


def test_new_indexes_need_room_beside_the_old_ones() -> None:
    full = [f"i{number:02d}" for number in range(MOST_INDEXES)]
    with pytest.raises(ConfigurationError, match="without the old ones first"):
        plan_waves(layouts(full), layouts([*full[1:], "new"]))
    assert len(plan_waves(layouts(full), layouts(full[1:]))) == 2


def test_a_stage_that_is_kept_is_protected_once_it_stands() -> None:
    """CloudFormation takes back a creation that fails, and could not if nobody may delete the table."""
    first, second = first_waves(layouts({"a"}), protected=True)
    assert (first.protection, second.protection) == (False, True)
    assert first.indexes == second.indexes == tuple(layouts({"a"}))
    assert len(first_waves(layouts({"a"}), protected=False)) == 1


@given(there=NAMES, wanted=NAMES)
def test_what_is_there_is_never_without_protection(there: set[str], wanted: set[str]) -> None:
    assert all(wave.protection for wave in plan_waves(layouts(there), layouts(wanted)))


@given(there=NAMES, wanted=NAMES)
def test_waves_are_read_as_they_were_written(there: set[str], wanted: set[str]) -> None:
    waves = [*first_waves(layouts(wanted), protected=True), *plan_waves(layouts(there), layouts(wanted))]
    read = decode_waves(encode_waves(waves), [*layouts(there), *layouts(wanted)])
    assert [replace(wave, meaning="") for wave in waves] == list(read)
    assert decode_waves("", layouts(there)) == ()
