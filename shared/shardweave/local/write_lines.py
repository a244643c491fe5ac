"""A log line for each write: its actions and its cost, for the developer of a service.

write of issue: a transaction of 4: put issue, put issue.num, check project, update project.*; 30 units, 2.1 ms

Names are the beginnings of hash keys: an entity, `issue.num` its unique value, `issue.num+` its sequence, `project.*`
the count of children. Lines contain no values. Writes of the library's own bookkeeping are left out.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from ..schema.schema import Schema
from ..table import Guard, Table
from ..table.layout import TableLayout
from ..table.many import RunMany, answers_in_process, run_many_of
from ..table.operations import (
    BatchWrite,
    ConditionCheck,
    DeleteItem,
    Operation,
    PutItem,
    TransactWrite,
    UpdateItem,
    key_or_item,
)

R = TypeVar("R")

VERBS: dict[type[Any], str] = {PutItem: "put", UpdateItem: "update", DeleteItem: "delete", ConditionCheck: "check"}
MOST_NAMED = 12


class ToldWrites:
    """A `Table` that logs each write of records."""

    def __init__(self, table: Table, schema: Schema, tell: Callable[[str], None]) -> None:
        self._table = table
        self._schema = schema
        self._tell = tell

    @property
    def layout(self) -> TableLayout:
        return self._table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self._table.guards_inside_writes

    @property
    def answers_in_process(self) -> bool:
        """See `many`."""
        return answers_in_process(self._table)

    @property
    def run_many(self) -> RunMany | None:
        """The table's method, if it has one, which is for reads only."""
        return run_many_of(self._table)

    def close(self) -> None:
        self._table.close()

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """See `Table`."""
        began = time.perf_counter()
        answer = self._table.run(operation, guard=guard)
        parts = parts_of(operation, self._schema)
        entity = next((name for _, name in parts if name in self._schema.entities), None)
        if entity is not None:
            kind = "batch" if isinstance(operation, BatchWrite) else "transaction"
            units, spent = getattr(answer, "units", 0.0), time.perf_counter() - began
            self._tell(line(entity, kind, parts, units, spent * 1000))
        return answer


def parts_of(operation: Operation[Any], schema: Schema) -> list[tuple[str, str]]:
    """The verb and the subject of each action of a write; empty for a read."""
    if isinstance(operation, TransactWrite):
        actions: Sequence[Any] = operation.actions
    elif isinstance(operation, BatchWrite):
        actions = [*map(PutItem, operation.puts), *map(DeleteItem, operation.deletes)]
    else:
        actions = [operation] if type(operation) in VERBS else []
    delimiter = schema.key_format.shard_delimiter
    return [
        (VERBS[type(each)], str(key_or_item(each)[schema.hash_key]).partition(delimiter)[0].partition("#")[0])
        for each in actions
    ]


def line(entity: str, kind: str, parts: Sequence[tuple[str, str]], units: float, milliseconds: float) -> str:
    """The log line of a write; `kind` names what several actions are together."""
    named = [f"{verb} {name}" for verb, name in parts[:MOST_NAMED]]
    if len(parts) > MOST_NAMED:
        named.append(f"{len(parts) - MOST_NAMED} more")
    how = f"a {kind} of {len(parts)}: " if len(parts) > 1 else ""
    return f"write of {entity}: {how}{', '.join(named)}; {units:g} units, {milliseconds:.1f} ms"
