"""Copying a table's file while it is in use: SQLite's own online backup, in both directions.

A copy is the table as it was at one moment. Writers wait while one is made, or put back, for as long as it takes to
read or write the pages. What is put back replaces everything in one transaction of the file: every process that has it
open sees the one content or the other. A file that is damaged is not copied, in either direction.
"""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

from ...errors import TableUnusable

_ANY = "SELECT 1 FROM sqlite_master"


def copy_table(source: Path, target: Path, *, wait_seconds: float = 60.0) -> None:
    """Make one file hold what the other does; the target is made where there is none. Raises TableUnusable."""
    try:
        with closing(sqlite3.connect(f"{source.absolute().as_uri()}?mode=ro", uri=True, timeout=wait_seconds)) as read:
            read.execute("SELECT 1 FROM settings").fetchone()
            _check_whole(read)
            if not target.exists():
                target.touch(0o600)
            with closing(sqlite3.connect(target, timeout=wait_seconds)) as written:
                if _page_bytes(written) == _page_bytes(read) or not written.execute(_ANY).fetchone():
                    read.backup(written)
                else:
                    _copy_pages(read, written, target.parent)
    except sqlite3.Error as error:
        fix = "see that the file is whole, and that there is room"
        raise TableUnusable(f"{source} could not be copied: {error}", where=str(target), fix=fix) from error


def _check_whole(connection: sqlite3.Connection) -> None:
    """Raises sqlite3.DatabaseError if a file is damaged, so that no damage replaces what is whole."""
    ((found,),) = connection.execute("PRAGMA integrity_check(1)").fetchall()
    if found != "ok":
        raise sqlite3.DatabaseError("the file is damaged")


def _page_bytes(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA page_size").fetchone()[0])


def _copy_pages(read: sqlite3.Connection, written: sqlite3.Connection, folder: Path) -> None:
    """Copy into a file whose pages have another size, which a file that is in use can't change."""
    with tempfile.TemporaryDirectory(dir=folder) as beside:
        again = Path(beside) / "copy"
        again.touch(0o600)
        read.execute(f"PRAGMA page_size = {_page_bytes(written)}")
        read.execute("VACUUM INTO ?", (str(again),))
        with closing(sqlite3.connect(again)) as same_size:
            same_size.backup(written)
