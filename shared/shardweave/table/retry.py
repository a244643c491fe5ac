"""How often and how long to try again.

Full jitter: before attempt n the pause is a random part of `base * 2**n`, at most `longest`. The number of attempts
and the whole time are bounded. An attempt that got something done starts the count anew, so that only a table that
makes no progress at all is given up early.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class RetryPolicy:
    """At most `attempts` attempts without progress within `seconds`; pauses as the module says."""

    attempts: int = 10
    base: float = 0.02
    longest: float = 1.0
    seconds: float = 20.0


UNANSWERED = RetryPolicy()
"""For what the table did not answer, throttled, or left unprocessed."""

IN_CONFLICT = RetryPolicy(attempts=40, base=0.01, longest=0.5)
"""For a write that meets a transaction in progress on the same item: that one ends, and is not refused for it."""

CONTENDED = RetryPolicy(attempts=40, base=0.005, longest=0.25)
"""For a record that another writer changed first."""


system_random = random.SystemRandom().random
"""0 to 1, drawn by the system: processes that were one, before a fork or in a snapshot, do not draw the same pauses."""


@dataclass(frozen=True)
class RetryClock:
    """What pauses are made of, so that tests need not wait. `random` is 0 to 1, `monotonic` in seconds."""

    sleep: Callable[[float], object] = time.sleep
    random: Callable[[], float] = system_random
    monotonic: Callable[[], float] = time.monotonic

    def pauses(self, policy: RetryPolicy, seconds: float | None = None) -> Backoff:
        """The pauses of one piece of work. `seconds` shorten the policy's."""
        allowed = policy.seconds if seconds is None else min(seconds, policy.seconds)
        return Backoff(policy, self, self.monotonic() + allowed)


class Backoff:
    """The pauses between the attempts of one piece of work, by one thread."""

    def __init__(self, policy: RetryPolicy, waiting: RetryClock, ends: float) -> None:
        self._policy = policy
        self._waiting = waiting
        self._ends = ends
        self._attempts = 1

    def pause(self) -> bool:
        """Wait before the next attempt. False, at once, when there is none to be made."""
        policy = self._policy
        longest = min(policy.longest, policy.base * 2.0**self._attempts)
        pause = self._waiting.random() * longest
        if self._attempts >= policy.attempts or self._waiting.monotonic() + pause >= self._ends:
            return False
        self._attempts += 1
        self._waiting.sleep(pause)
        return True

    def again(self) -> Backoff:
        """The pauses of another piece of work, by another thread, until the same moment."""
        return Backoff(self._policy, self._waiting, self._ends)

    def progress(self) -> None:
        """The last attempt got something done."""
        self._attempts = 1
