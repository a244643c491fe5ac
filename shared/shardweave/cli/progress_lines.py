"""How far long work has come, in lines: what is shown where there is no terminal for a bar to move in."""

from __future__ import annotations

import time
from collections.abc import Callable

EVERY_SECONDS = 10.0


class ProgressLines:
    """Says a line at most every so many seconds, the first one that long after the work began."""

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
        """The line that the function gives, unless another one was said a moment ago."""
        now = self._monotonic()
        if now - self._said >= self._every:
            self._said = now
            self._say(line())
