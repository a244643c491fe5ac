"""Several reads at once: what is asked of a table that can carry them out by itself, and what became of each.

A table may have `run_many`; where it has none, or None, its caller asks for each read by itself: from threads of its
own, or one after another where the table `answers_in_process`.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from ..errors import DeadlineTooShort, ShardweaveError
from .operations import Operation

R = TypeVar("R")


@dataclass(frozen=True)
class Outcome(Generic[R]):
    """What became of one read: an answer or an error, and how long it took. `late`: the deadline left no time for it,
    or for another attempt; the error says which."""

    answer: R | None
    error: ShardweaveError | None
    milliseconds: float
    late: bool = False


@dataclass(frozen=True)
class Lanes(Generic[R]):
    """Reads that are wanted together, at most `at_once` of them under way. What has not ended after so many `seconds`
    is late. `pause_after` decides alone what is sent again: from the number of a read, the error of its attempt and how
    many there were, the seconds to wait, None for an error that stays. What has nothing else to wait for waits by
    `sleep`."""

    operations: Sequence[Operation[R]]
    at_once: int
    pause_after: Callable[[int, ShardweaveError, int], float | None]
    seconds: float | None = None
    sleep: Callable[[float], object] = time.sleep


RunMany = Callable[[Lanes[Any]], Sequence[Outcome[Any]]]
"""Carries the reads out; the outcomes have their order. One that fails takes no other with it."""


def run_many_of(table: object) -> RunMany | None:
    """How a table carries reads out that are wanted together, if it can by itself."""
    found: RunMany | None = getattr(table, "run_many", None)
    return found


def answers_in_process(table: object) -> bool:
    """Whether reads of a table wait for nobody, so that handing one to another thread costs more than it spares."""
    return bool(getattr(table, "answers_in_process", False))


def too_late() -> DeadlineTooShort:
    """The error of what the deadline left no time for."""
    return DeadlineTooShort("the deadline passed before the table answered", where="timeLimitMs", fix="allow more time")
