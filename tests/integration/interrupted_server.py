"""`python -m tests.integration.interrupted_server`: `./run serve` that a signal, named by `SIGNALLED_BY`, reaches while
it loads its sample data."""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from shardweave.database.data_folder import DataFolder
from shardweave.local.serve import main
from shardweave.table.operations import TransactWrite

BEFORE = 10
"""Of the transactions that load the data, the one before which the signal comes."""


class InterruptedFolder(DataFolder):
    """A data folder whose table is interrupted."""

    def open_table(self, *arguments: Any, **more: Any) -> Any:
        table = super().open_table(*arguments, **more)
        run, number = table.run, signal.Signals[os.environ["SIGNALLED_BY"]]
        loaded = 0

        def interrupted(operation: Any, **options: Any) -> Any:
            nonlocal loaded
            if isinstance(operation, TransactWrite):
                loaded += 1
                if loaded == BEFORE:
                    os.kill(os.getpid(), number)
            return run(operation, **options)

        table.run = interrupted  # type: ignore[method-assign]
        return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], InterruptedFolder))
