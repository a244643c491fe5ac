"""The state of a comparison: an SQLite file with what was read of both sources, and how far.

    records    a row for each record of a side (1 or 2): its entity, identity, digests, and key
    kept       values by name: `of`, the sources and the format; `place 1` and `place 2`, how far each was read; `done`

One process at a time uses it. The state of a comparison that has ended begins anew.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from ..errors import ConfigurationError
from ..errors.exit_codes import Unavailable
from .file_lock import for_owner

FORMAT = "1"


@contextmanager
def opened_state(path: Path, names: list[str]) -> Iterator[sqlite3.Connection]:
    """The state, which no other process can open before the context ends. Raises ConfigurationError, Unavailable."""
    with suppress(OSError):
        # A new one is its owner's alone; what is wrong with the path, SQLite says next.
        os.close(for_owner(path, os.O_RDWR | os.O_CREAT | os.O_EXCL))
    try:
        database = sqlite3.connect(path, timeout=0)
    except sqlite3.Error as error:
        raise _unusable(path, error) from None
    with closing(database):
        try:
            with database:
                of = _begun(database, names)
        except sqlite3.Error as error:
            raise _unusable(path, error) from None
        if of != [FORMAT, *names]:
            raise ConfigurationError(f"{path} is of another comparison", where="--state", fix="give another file")
        try:
            yield database
        except sqlite3.Error as error:
            told = f"{path} can't be read or written: {error}"
            raise Unavailable(told, where="--state", fix="make room, or remove it, and try again") from None


def _begun(database: sqlite3.Connection, names: list[str]) -> Any:
    """Which comparison the state is of, this one if it is new or has ended."""
    database.execute("PRAGMA locking_mode = EXCLUSIVE")
    database.execute("BEGIN EXCLUSIVE")
    database.execute("CREATE TABLE IF NOT EXISTS kept (name TEXT PRIMARY KEY, value TEXT) WITHOUT ROWID")
    database.execute(
        "CREATE TABLE IF NOT EXISTS records (side INTEGER, entity TEXT, identity TEXT, digests TEXT, key TEXT, "
        "PRIMARY KEY (side, entity, identity)) WITHOUT ROWID"
    )
    of = kept(database, "of")
    if of == [FORMAT, *names] and kept(database, "done"):  # What it has read is of that time.
        database.execute("DELETE FROM records")
        database.execute("DELETE FROM kept")
        of = None
    if of is None:
        of = [FORMAT, *names]
        keep(database, "of", of)
    return of


def _unusable(path: Path, error: sqlite3.Error) -> ConfigurationError:
    if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
        fix = "let it end or stop it, or give another file"
        return Unavailable(f"another comparison uses {path}", where="--state", fix=fix)
    fix = "give another file, or none"
    return ConfigurationError(f"{path} can't be used as the state of a comparison", where="--state", fix=fix)


def kept(database: sqlite3.Connection, name: str) -> Any:
    row = database.execute("SELECT value FROM kept WHERE name = ?", (name,)).fetchone()
    return None if row is None else json.loads(row[0])


def keep(database: sqlite3.Connection, name: str, value: Any) -> None:
    database.execute("INSERT OR REPLACE INTO kept VALUES (?, ?)", (name, json.dumps(value)))
