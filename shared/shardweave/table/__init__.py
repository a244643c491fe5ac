"""The table: a closed set of operations, and what carries them out.

`Table` is the one interface between the library and storage. Backends: `dynamodb` (boto3), `embedded` (SQLite: the
local default and the users' test double), `fault_injection` (wraps a table and misbehaves on purpose).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from .layout import TableLayout
from .operations import Operation

R = TypeVar("R")

Guard = Callable[[], None]
"""Called before every attempt is sent, when nothing can delay its effect without end any more: after the attempt was
signed, since DynamoDB refuses an old signature; inside the embedded table's own write transaction. It raises to stop
the attempt."""


class Table(Protocol):
    """Carries out operations. Safe for use by many threads at once. A table that can carry out several reads at once by
    itself has `run_many` besides, see `many`."""

    @property
    def layout(self) -> TableLayout:
        """The table's keys and indexes."""

    @property
    def guards_inside_writes(self) -> bool:
        """True where a write calls its guard inside its own transaction, so that what the guard read still holds when
        the write takes effect; False where other writers may commit between the two."""

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """Carry out one operation and give its answer. Raises TableError's kinds, RecordTooLarge for an item over
        400 KB, ValueRefused for a value that has no form in DynamoDB, and whatever `guard` raises."""

    def close(self) -> None:
        """Release connections and files."""
