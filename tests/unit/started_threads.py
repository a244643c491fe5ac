"""Which threads are started."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def started_threads() -> Iterator[list[str]]:
    """The names of the threads that are started inside, also of those that end there."""
    names: list[str] = []

    def begins(*_: Any) -> None:
        sys.setprofile(None)
        names.append(threading.current_thread().name)

    before = threading.getprofile()
    threading.setprofile(begins)
    try:
        yield names
    finally:
        threading.setprofile(before)  # type: ignore[arg-type]
