"""`python -m tests.integration.unwritable_server`: `./run serve` on a table that can be read and not be written."""

from __future__ import annotations

import sys
from typing import Any

from shardweave.database.data_folder import DataFolder
from shardweave.errors import TableFull
from shardweave.local.serve import main


class FullFolder(DataFolder):
    """A data folder on a disk that is full."""

    def open_table(self, *arguments: Any, **more: Any) -> Any:
        table = super().open_table(*arguments, **more)

        def refuse() -> None:
            raise TableFull("The disk of the table's file is full; nothing was changed.", fix="make room")

        table.check = refuse  # type: ignore[method-assign]
        return table


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], FullFolder))
