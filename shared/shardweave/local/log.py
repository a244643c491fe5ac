"""The log of the local server: one line for each thing that happened, with its time and level, on standard error.

Guarantees: lines never run into each other, whatever thread writes them. A warning or an error that is like one of the
last minute is counted and not written: the next one after that minute says how many there were, so that a fault that
comes with every request, or five times a second, is one line and not a flood.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from typing import TextIO

LOG = logging.getLogger("shardweave.local")
METRICS = logging.getLogger("shardweave.metrics")
"""Lines that programs read: they are written as they are."""

FLOOD_SECONDS = 60.0
MAX_KINDS = 1000


class FloodFilter(logging.Filter):
    """Lets one warning or error of a kind pass in `FLOOD_SECONDS`. A kind is a logger, a level and a first line."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._passed: dict[tuple[str, int, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        if record.levelno < logging.WARNING:
            return True
        kind = record.name, record.levelno, record.getMessage().partition("\n")[0]
        now = self._monotonic()
        last, more = self._passed.get(kind, (now - FLOOD_SECONDS, 0))
        if now - last < FLOOD_SECONDS:
            self._passed[kind] = (last, more + 1)
            return False
        if len(self._passed) >= MAX_KINDS:
            self._passed.clear()
        self._passed[kind] = (now, 0)
        if more:
            record.msg, record.args = f"{record.getMessage()}\n  {more:,} more like it since the last one", ()
        return True


def configure(stream: TextIO, monotonic: Callable[[], float] = time.monotonic) -> None:
    """Write the process's log to a stream, until it is configured anew."""
    lines = logging.Formatter("%(asctime)s.%(msecs)03dZ %(levelname)s %(message)s", "%Y-%m-%dT%H:%M:%S")
    lines.converter = time.gmtime
    told = _handler(stream, lines)
    told.addFilter(FloodFilter(monotonic))
    root = logging.getLogger()
    root.handlers[:] = [told]
    root.setLevel(logging.WARNING)
    LOG.setLevel(logging.INFO)
    # uvicorn warns of each request that it refuses, whose answer says why.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    METRICS.setLevel(logging.INFO)
    METRICS.propagate = False
    METRICS.handlers[:] = [_handler(stream, logging.Formatter("%(message)s"))]


def _handler(stream: TextIO, formatter: logging.Formatter) -> logging.Handler:
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    return handler
