"""The progress of long work as lines, for output without a terminal, and what is said when Ctrl+C stops it."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY_SECONDS = 10.0
GOES_ON = "stopped; the same command goes on where this one came to"
BEGINS_ANEW = "stopped; the same command begins anew"


class ProgressLines:
    """Prints a line at most once in an interval, the first one an interval after the begin of the work."""

    def __init__(
        self,
        say: Callable[[str], object],
        every: float = EVERY_SECONDS,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say = say
        self._every = every
        self._monotonic = monotonic
        self._said = monotonic()

    def tell(self, line: Callable[[], str]) -> None:
        """Print the line of a function, unless another one was printed within the interval."""
        now = self._monotonic()
        if now - self._said >= self._every:
            self._said = now
            self._say(line())
