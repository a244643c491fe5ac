"""Retries with backoff: the number of attempts and the pauses between them.

Full jitter: before attempt n the pause is a random part of `base * 2**n`, at most `longest`. The number of attempts and
the whole time are bounded. An attempt with progress resets the count, so that only a table without any progress is
given up early.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from .waiting import sleep


@dataclass(frozen=True)
class RetryPolicy:
    """At most `attempts` attempts without progress within `seconds`; pauses as the module says."""

    attempts: int = 10
    base: float = 0.02
    longest: float = 1.0
    seconds: float = 20.0


UNANSWERED = RetryPolicy()
"""For requests that the table did not answer, throttled, or left unprocessed."""

IN_CONFLICT = RetryPolicy(attempts=40, base=0.01, longest=0.5)
"""For a write that conflicts with a transaction in progress on the same item, which will end soon."""

CONTENDED = RetryPolicy(attempts=40, base=0.005, longest=0.25)
"""For a record that another writer changed first."""


system_random = random.SystemRandom().random
"""A random number from 0 to 1 from the operating system, so that forked processes and those started from the same
snapshot have different pauses."""


@dataclass(frozen=True)
class RetryClock:
    """The sleep function, clock and random numbers of pauses, which tests replace. `random` is 0 to 1, `monotonic` in
    seconds."""

    sleep: Callable[[float], object] = sleep
    random: Callable[[], float] = system_random
    monotonic: Callable[[], float] = time.monotonic

    def pauses(self, policy: RetryPolicy, seconds: float | None = None) -> Backoff:
        """The pauses of one task. `seconds` can shorten the policy's time."""
        allowed = policy.seconds if seconds is None else min(seconds, policy.seconds)
        return Backoff(policy, self, self.monotonic() + allowed)


class Backoff:
    """The pauses between the attempts of one task, in one thread."""

    def __init__(self, policy: RetryPolicy, waiting: RetryClock, ends: float) -> None:
        self._policy = policy
        self._waiting = waiting
        self._ends = ends
        self._attempts = 1

    def pause(self) -> bool:
        """Wait before the next attempt. Returns False immediately if there is no further attempt."""
        policy = self._policy
        longest = min(policy.longest, policy.base * 2.0**self._attempts)
        pause = self._waiting.random() * longest
        if self._attempts >= policy.attempts or self._waiting.monotonic() + pause >= self._ends:
            return False
        self._attempts += 1
        self._waiting.sleep(pause)
        return True

    def again(self) -> Backoff:
        """The pauses of another task, in another thread, with the same deadline."""
        return Backoff(self._policy, self._waiting, self._ends)

    def progress(self) -> None:
        """Note that the last attempt made progress."""
        self._attempts = 1
