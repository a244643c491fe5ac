"""Parallel reads by the table itself: the interface `run_many`, and the outcomes.

A table may have `run_many`. If it has none, or None, the caller sends each read separately: from its own threads, or
one after another if the table `answers_in_process`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import DeadlineTooShort, ShardweaveError
from .operations import Operation
from .waiting import sleep

R = TypeVar("R")


@dataclass(frozen=True)
class Outcome(Generic[R]):
    """The outcome of one read: an answer or an error, and its duration. `late`: the deadline left no time for it, or
    for another attempt; the error says which."""

    answer: R | None
    error: ShardweaveError | None
    milliseconds: float
    late: bool = False


@dataclass(frozen=True)
class Lanes(Generic[R]):
    """Reads to carry out in parallel, at most `at_once` at a time. Reads that have not ended after `seconds` are late.
    `pause_after` alone decides about retries: from the number of a read, the error of its attempt and the number of
    attempts it computes the seconds to wait, or None for no retry. `sleep` is used to wait if no read is in
    progress."""

    operations: Sequence[Operation[R]]
    at_once: int
    pause_after: Callable[[int, ShardweaveError, int], float | None]
    seconds: float | None = None
    sleep: Callable[[float], object] = sleep


RunMany = Callable[[Lanes[Any]], Sequence[Outcome[Any]]]
"""Carries out the reads and returns the outcomes in their order. A failed read does not affect the others."""


def run_many_of(table: object) -> RunMany | None:
    """The `run_many` of a table, None if it has none."""
    found: RunMany | None = getattr(table, "run_many", None)
    return found


def answers_in_process(table: object) -> bool:
    """Whether a table answers reads in this process, so that using another thread would cost more than it saves."""
    return bool(getattr(table, "answers_in_process", False))


def too_late() -> DeadlineTooShort:
    """The error of a read for which the deadline left no time."""
    return DeadlineTooShort("the deadline passed before the table answered", where="timeLimitMs", fix="allow more time")
