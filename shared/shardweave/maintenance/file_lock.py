"""Locks of the operating system on files: one process at a time does what a file stands for.

A lock ends with the process that holds it, however that ends: nothing has to be removed afterwards.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from ..errors.exit_codes import Unavailable


def locked_file(path: Path, busy: Unavailable) -> TextIO:
    """The file, locked until it is closed, and made for its owner alone where there is none. Raises `busy` if it is
    locked already; OSError."""
    while True:
        file = os.fdopen(for_owner(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), "a", encoding="utf-8")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if _is_at(file, path):
                return file
        except BlockingIOError:
            file.close()
            raise busy from None
        except BaseException:
            file.close()
            raise
        # Whoever held it has removed it since it was opened.
        file.close()


@contextmanager
def held_while_used(file: TextIO, path: Path) -> Iterator[None]:
    """A context at the end of which a locked file is removed, and unlocked."""
    with file:
        try:
            yield
        finally:
            path.unlink(missing_ok=True)


def for_owner(path: str | Path, flags: int) -> int:
    """Opens a file for `open`; one that is made is readable by its owner alone."""
    return os.open(path, flags, 0o600)


def _is_at(file: TextIO, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(file.fileno()), path.stat())
    except FileNotFoundError:
        return False
