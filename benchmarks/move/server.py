"""`python -m benchmarks.move.server`: `./run serve`, whose table counts what its movers consume.

    DIR/units.json    [{"version", "step", "records", "transactions", "units"}, ...], when the server has stopped

A mover's transaction begins with the check of its work item, whose key tells re-shard and step. `records` are those
that were copied or removed.
"""

from __future__ import annotations

import json
import sys
import threading
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from shardweave.database.data_folder import DataFolder
from shardweave.local.serve import main
from shardweave.reshard.work_items import WORK
from shardweave.table import Guard
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import ConditionCheck, DeleteItem, Operation, PutItem, TransactWrite

UNITS = "units.json"


class CountingTable:
    """A table that counts, and writes down what it counted when it is closed."""

    def __init__(self, table: EmbeddedTable, file: Path, range_name: str) -> None:
        self.layout = table.layout
        self.guards_inside_writes = table.guards_inside_writes
        self._table = table
        self._file = file
        self._range_name = range_name
        self._lock = threading.Lock()
        self._counted: defaultdict[tuple[int, str], Counter[str]] = defaultdict(Counter)

    def run(self, operation: Operation[Any], *, guard: Guard | None = None) -> Any:
        answer = self._table.run(operation, guard=guard)
        if isinstance(operation, TransactWrite) and isinstance(operation.actions[0], ConditionCheck):
            name = str(operation.actions[0].key[self._range_name])
            if name.startswith(WORK):
                self._count(name, operation, answer.units)
        return answer

    def check(self) -> None:
        self._table.check()

    def stop_waiting(self) -> None:
        self._table.stop_waiting()

    def close(self) -> None:
        self._table.close()
        rows = [{"version": version, "step": step, **counts} for (version, step), counts in self._counted.items()]
        self._file.write_text(json.dumps(rows))

    def _count(self, name: str, operation: TransactWrite, units: float) -> None:
        _, version, _, _, step, _ = name.split("#")
        records = sum(isinstance(action, PutItem | DeleteItem) for action in operation.actions)
        with self._lock:
            self._counted[int(version), step].update({"records": records, "transactions": 1, "units": int(units)})


class CountingFolder(DataFolder):
    """A data folder whose tables count."""

    def open_table(self, schema: Any, *arguments: Any, **more: Any) -> Any:
        table = super().open_table(schema, *arguments, **more)
        return CountingTable(table, self.path / UNITS, schema.range_key)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], CountingFolder))
