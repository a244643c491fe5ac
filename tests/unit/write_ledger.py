"""A table that keeps a ledger of what was carried out on it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from shardweave.schema.entity_type import REVISION
from shardweave.table import Guard, Table
from shardweave.table.layout import TableLayout
from shardweave.table.operations import WRITES, BatchWrite, DeleteItem, Operation, PutItem, TransactWrite, UpdateItem

R = TypeVar("R")


class Ledger:
    """A `Table` over `table`. `written` has the item of each put and update that was carried out, `removed` the key of
    each delete, once for each time; what a transaction's token kept from being carried out again is not among them."""

    def __init__(self, table: Table) -> None:
        self._table = table
        self._tokens: set[str | None] = set()
        self.written: list[Mapping[str, Any]] = []
        self.removed: list[Mapping[str, Any]] = []

    @property
    def layout(self) -> TableLayout:
        return self._table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self._table.guards_inside_writes

    def close(self) -> None:
        self._table.close()

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        answer = self._table.run(operation, guard=guard)
        if isinstance(operation, WRITES):
            self._note(operation)
        return answer

    def times(self, rev: str | None) -> int:
        """How many times what has the revision was written."""
        return sum(item.get(REVISION) == rev for item in self.written)

    def _note(self, operation: Operation[Any]) -> None:
        if isinstance(operation, TransactWrite):
            if operation.token in self._tokens:
                return
            self._tokens.add(operation.token)
            for action in operation.actions:
                self._note(action)  # type: ignore[arg-type]
        elif isinstance(operation, BatchWrite):
            self.written += operation.puts
            self.removed += operation.deletes
        elif isinstance(operation, PutItem):
            self.written.append(operation.item)
        elif isinstance(operation, UpdateItem):
            self.written.append({**operation.key, **operation.set})
        elif isinstance(operation, DeleteItem):
            self.removed.append(operation.key)
