"""The log of the local server: one line for each thing that happened, with its time and level, on standard error.

Guarantees: lines never run into each other, whatever thread writes them. Of warnings and errors that are alike the
first is written and the others are counted: once a minute a line says how many there were and when the last one was, so
that a fault that comes with every request, or five times a second, is two lines a minute and not a flood, and its end
is told. What the process says when it ends has the counts that are left. Alike is what differs in numbers alone.

What other libraries say (the event loop, the HTTP server) is their first line, with where it happened and never with
the text of a foreign exception, which may hold a record's values; a fault of the operating system, such as having no
file descriptors, is that one line. Lines that can't be written, since the disk is full, are counted too.
"""

from __future__ import annotations

import logging
import re
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

from shardweave.api.safe_traceback import trace

LOG = logging.getLogger("shardweave.local")
METRICS = logging.getLogger("shardweave.metrics")
"""Lines that programs read: they are written as they are."""

FLOOD_SECONDS = 60.0
MAX_KINDS = 1000

_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")

Kind = tuple[str, int, str]
"""A logger, a level, and the text without its numbers."""


@dataclass
class _Flood:
    """One kind: its first line, when a line of it was written last, and what came since."""

    name: str
    level: int
    first_line: str
    written: float
    more: int = 0
    last: float = 0.0


class FloodFilter(logging.Filter):
    """Lets one warning or error of a kind pass in `FLOOD_SECONDS`, and counts the others."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._counting = threading.Lock()
        self._floods: dict[Kind, _Flood] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write it."""
        if record.levelno < logging.WARNING:
            return True
        text = record.getMessage()
        kind = record.name, record.levelno, _NUMBERS.sub("0", text)
        now = self._monotonic()
        with self._counting:
            flood = self._floods.pop(kind, None)
            if flood is not None and now - flood.written < FLOOD_SECONDS:
                flood.more += 1
                flood.last = record.created
                self._floods[kind] = flood
                return False
            if len(self._floods) >= MAX_KINDS:
                del self._floods[next(iter(self._floods))]
            self._floods[kind] = _Flood(record.name, record.levelno, text.partition("\n")[0], now)
        if flood is not None and flood.more:
            record.msg, record.args = f"{text}\n  {flood.more:,} more like it since the last one", ()
        return True

    def counts(self, *, all_of_them: bool = False) -> list[logging.LogRecord]:
        """A record for each kind of which some were counted, where a line is due; of which none came is forgotten."""
        now = self._monotonic()
        with self._counting:
            kinds = self._floods.items()
            due = [(kind, each) for kind, each in kinds if all_of_them or now - each.written >= FLOOD_SECONDS]
            for kind, flood in due:
                if not flood.more:
                    del self._floods[kind]
            told = [_count_of(flood) for _, flood in due if flood.more]
            for _, flood in due:
                flood.written, flood.more = now, 0
        return told


def _count_of(flood: _Flood) -> logging.LogRecord:
    text = f"{flood.more:,} more like it, the last at {_time_text(flood.last)}: {flood.first_line}"
    return logging.LogRecord(flood.name, flood.level, "", 0, text, (), None)


class LogHandler(logging.StreamHandler[TextIO]):
    """Writes lines, and what could not be written as a number, once there is room again."""

    def __init__(self, stream: TextIO, floods: FloodFilter) -> None:
        super().__init__(stream)
        self._floods = floods
        self._unwritten = 0
        self.addFilter(floods)

    def emit(self, record: logging.LogRecord) -> None:
        """Write a line."""
        unwritten = self._unwritten
        super().emit(record)
        if unwritten and self._unwritten == unwritten:
            self._unwritten = 0
            text = f"{unwritten:,} lines could not be written"
            super().emit(logging.LogRecord(LOG.name, logging.WARNING, "", 0, text, (), None))

    def handleError(self, record: logging.LogRecord) -> None:  # noqa: N802 - its name in the standard library
        """Count a line that could not be written. What else goes wrong is a fault of the program."""
        if isinstance(sys.exc_info()[1], OSError):
            self._unwritten += 1
        else:
            super().handleError(record)

    def write_counts(self, *, all_of_them: bool = False) -> None:
        """Write how many there were of what was not written, where a minute is over; or now."""
        for record in self._floods.counts(all_of_them=all_of_them):
            self.acquire()
            try:
                self.emit(record)
            finally:
                self.release()


class _Lines(logging.Formatter):
    """Time and level before the text; of other libraries no more than may be shown."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, and below it where a fault of the program happened."""
        text = record.getMessage()
        if record.name != LOG.name:
            text = text.partition("\n")[0]
        failure = record.exc_info[1] if record.exc_info else None
        if isinstance(failure, OSError):
            text = f"{text}: {failure.strerror}"
        elif failure is not None:
            text = "\n".join([text, *trace(failure)])
        return f"{_time_text(record.created)} {record.levelname} {text}"


def _time_text(seconds: float) -> str:
    milliseconds = int(seconds * 1000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(milliseconds // 1000))}.{milliseconds % 1000:03}Z"


def configure(stream: TextIO, monotonic: Callable[[], float] = time.monotonic) -> LogHandler:
    """Write the process's log to a stream, until it is configured anew."""
    told = LogHandler(stream, FloodFilter(monotonic))
    told.setFormatter(_Lines())
    root = logging.getLogger()
    root.handlers[:] = [told]
    root.setLevel(logging.WARNING)
    LOG.setLevel(logging.INFO)
    # uvicorn warns of each request that it refuses, whose answer says why.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    METRICS.setLevel(logging.INFO)
    METRICS.propagate = False
    metrics = logging.StreamHandler(stream)
    metrics.setFormatter(logging.Formatter("%(message)s"))
    METRICS.handlers[:] = [metrics]
    return told
