"""Copying a table's file while it is in use: SQLite's own online backup, in both directions.

A copy is the table as it was at one moment. Writers wait while one is made, or put back, for as long as it takes to
read or write the pages. What is put back replaces everything in one transaction of the file: every process that has it
open sees the one content or the other.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from ...errors import TableUnusable


def copy_table(source: Path, target: Path, *, wait_seconds: float = 60.0) -> None:
    """Make one file hold what the other does; the target is made where there is none. Raises TableUnusable."""
    try:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=wait_seconds)) as read:
            read.execute("SELECT 1 FROM settings").fetchone()
            if not target.exists():
                target.touch(0o600)
            with closing(sqlite3.connect(target, timeout=wait_seconds)) as written:
                read.backup(written)
    except sqlite3.Error as error:
        fix = "see that the file is whole, and that there is room"
        raise TableUnusable(f"{source.name} could not be copied: {error}", where=str(target), fix=fix) from error
