"""How long the work of a command still takes, by how much of it is done."""

from __future__ import annotations

import time
from collections.abc import Callable

from ..errors import AccessDenied
from ..table import Table
from ..table.operations import Describe


def items_of(*tables: Table) -> int:
    """About how many items tables have, as their descriptions say, which may be hours old. Raises AccessDenied."""
    return sum(table.run(Describe()).items for table in tables)


class TimeLeft:
    """Tells how long a work takes, from how much of it there is, which is asked once. What earlier runs have done is
    done and took no time. `bound` says how exact that is: only a part of a table's items may have to be read."""

    def __init__(
        self,
        amount: Callable[[], int],
        *,
        bound: str = "at most about",
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._amount = amount
        self._bound = bound
        self._monotonic = monotonic
        self._all: int | None = None
        self._first: tuple[float, int] | None = None
        self._done = 0

    def is_at(self, done: int) -> None:
        """So much is done."""
        self._done = done
        if self._first is None:
            self._first = self._monotonic(), done

    def told(self) -> str:
        """What follows the line that tells of the progress, such as `; at most about 40 s to go`; empty if that is not
        known."""
        if self._first is None:
            return ""
        if self._all is None:
            try:
                self._all = self._amount()
            except AccessDenied:
                self._all = 0
        seconds, now_done, left = (
            self._monotonic() - self._first[0],
            self._done - self._first[1],
            self._all - self._done,
        )
        if now_done <= 0 or left <= 0:
            return ""
        return f"; {self._bound} {duration(round(seconds * left / now_done))} to go"


def duration(seconds: int) -> str:
    """`45 s`, `12 min`, `25 h`."""
    if seconds < 120:
        return f"{seconds} s"
    return f"{seconds // 60} min" if seconds < 7200 else f"{seconds // 3600} h"
