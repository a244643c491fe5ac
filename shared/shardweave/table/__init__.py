"""The table: a closed set of operations, and the backends that carry them out.

`Table` is the one interface between the library and storage. Backends: `dynamodb` (boto3), `embedded` (SQLite: the
local default and the users' test double), `fault_injection` (wraps a table and injects faults).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from .layout import TableLayout
from .operations import Operation

R = TypeVar("R")

Guard = Callable[[], None]
"""Called before every attempt is sent, at a point after which its effect can't be delayed indefinitely: after the
attempt was signed, since DynamoDB refuses an old signature; in the embedded table inside the write transaction. It
raises an exception to stop the attempt."""


class Table(Protocol):
    """Carries out operations. Safe for use by many threads at once. A table that can carry out several reads in
    parallel itself also has `run_many`, see `many`; one that an event loop can use without threads has
    `waits_on_loop`, see `waiting`."""

    @property
    def layout(self) -> TableLayout:
        """The table's keys and indexes."""

    @property
    def guards_inside_writes(self) -> bool:
        """True if a write calls its guard inside its own transaction, so that the state read by the guard still holds
        when the write takes effect; False if other writers may commit in between."""

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """Carry out one operation and return its answer. Raises TableError's kinds, RecordTooLarge for an item over 400
        KB, ValueRefused for a value that has no form in DynamoDB, and whatever `guard` raises."""

    def close(self) -> None:
        """Release connections and files."""
