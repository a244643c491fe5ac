"""A table that is asked by one thread at a time: moto is not made for several."""

from __future__ import annotations

import threading
from typing import TypeVar

from shardweave.table import Guard, Table
from shardweave.table.layout import TableLayout
from shardweave.table.operations import Operation

R = TypeVar("R")


class OneAtATime:
    """Carries out one operation after the other. Those of several threads still come between one another."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._lock = threading.RLock()  # a write asks the table itself, inside

    @property
    def layout(self) -> TableLayout:
        return self._table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self._table.guards_inside_writes

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        with self._lock:
            return self._table.run(operation, guard=guard)

    def close(self) -> None:
        self._table.close()
