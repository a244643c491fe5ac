"""The protocol searched exhaustively as a model, and what becomes of it without each of its rules.

One writer here; `test_reshard_model` has more.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.simulator.model import Guards, guard_names, search

OVERLAPPING = ("mark", "sweep")
"""Each makes up for the other: a stale writer is refused, or what it leaves is removed and copied anew."""


def test_no_state_that_can_be_reached_is_wrong_and_each_can_come_to_an_end() -> None:
    states, wrong = search(writers=1)
    assert not wrong
    assert states > 9_000


@pytest.mark.parametrize("name", [name for name in guard_names() if name not in OVERLAPPING])
def test_without_each_rule_something_breaks(name: str) -> None:
    _, wrong = search(replace(Guards(), **{name: False}), writers=1)
    assert wrong


def test_without_both_of_two_rules_that_overlap_something_breaks() -> None:
    _, wrong = search(replace(Guards(), **dict.fromkeys(OVERLAPPING, False)), writers=1)
    assert wrong
