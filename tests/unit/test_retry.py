"""Pauses: full jitter, doubled from attempt to attempt, bounded in number and in time."""

from __future__ import annotations

from shardweave.table.retry import RetryPolicy
from tests.unit.store_world import NoWaiting

POLICY = RetryPolicy(attempts=5, base=1.0, longest=5.0, seconds=100.0)


def slept(world: NoWaiting, policy: RetryPolicy, seconds: float | None = None) -> list[float]:
    pauses = world.waiting().pauses(policy, seconds)
    while pauses.pause():
        pass
    return world.slept


def test_pauses_grow_up_to_the_longest_and_end() -> None:
    assert slept(NoWaiting(1.0), POLICY) == [2.0, 4.0, 5.0, 5.0]


def test_a_pause_is_a_random_part_of_that() -> None:
    assert slept(NoWaiting(0.25), POLICY) == [0.5, 1.0, 1.25, 1.25]
    assert slept(NoWaiting(0.0), POLICY) == [0.0] * 4


def test_no_pause_goes_beyond_the_deadline() -> None:
    assert slept(NoWaiting(1.0), POLICY, seconds=11.0) == [2.0, 4.0]
    assert slept(NoWaiting(1.0), RetryPolicy(attempts=50, base=1.0, longest=5.0, seconds=12.0)) == [2.0, 4.0, 5.0]
    assert slept(NoWaiting(1.0), POLICY, seconds=-1.0) == []


def test_progress_begins_anew_but_for_the_deadline() -> None:
    world = NoWaiting(1.0)
    pauses = world.waiting().pauses(RetryPolicy(attempts=2, base=1.0, longest=5.0, seconds=7.0))
    assert pauses.pause()
    assert not pauses.pause()
    pauses.progress()
    assert pauses.pause()
    pauses.progress()
    assert pauses.pause()
    pauses.progress()
    assert not pauses.pause(), "the deadline"
    assert world.slept == [2.0, 2.0, 2.0]
