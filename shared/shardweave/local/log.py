"""The log of the local server: one line for each event, with its time and level, on standard error.

Guarantees: lines of different threads are never mixed. Of similar warnings and errors the first is written and the
others are counted: once a minute a line gives their number and the time of the last one. So a fault that occurs with
every request, or five times a second, takes two lines a minute, and the log shows when it ended. When the process ends,
the remaining counts are written. Messages are similar if they differ only in numbers.

Messages of other libraries (the event loop, the HTTP server) are cut to their first line and the place in the code; the
text of a foreign exception is left out, since it may contain a record's values. A fault of the operating system, such
as too many open files, is that one line. Lines that can't be written because the disk is full are counted too.
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
"""A logger of lines that programs read: they are written without time and level."""

FLOOD_SECONDS = 60.0
MAX_KINDS = 1000

_NUMBERS = re.compile(r"0x[0-9a-f]+|\d+")

Kind = tuple[str, int, str]
"""What similar messages have in common: the logger, the level, and the text without its numbers."""


@dataclass
class _Flood:
    """Similar messages: the first one, the time when one was last written, and the number since then."""

    name: str
    level: int
    first_line: str
    written: float
    more: int = 0
    last: float = 0.0


class FloodFilter(logging.Filter):
    """Lets one of several similar warnings or errors pass in `FLOOD_SECONDS`, and counts the others."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._monotonic = monotonic
        self._counting = threading.Lock()
        self._floods: dict[Kind, _Flood] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to write a message."""
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
        """A message with the number of suppressed ones, for each kind for which it is due. Kinds without any are
        forgotten."""
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
    """Writes lines. Lines that could not be written are counted, and their number is written when there is space
    again."""

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
        """Count a line that could not be written. Any other exception is a programming error."""
        if isinstance(sys.exc_info()[1], OSError):
            self._unwritten += 1
        else:
            super().handleError(record)

    def write_counts(self, *, all_of_them: bool = False) -> None:
        """Write the number of lines that could not be written, if a minute has passed or with `all_of_them`."""
        for record in self._floods.counts(all_of_them=all_of_them):
            self.acquire()
            try:
                self.emit(record)
            finally:
                self.release()


class _Lines(logging.Formatter):
    """Formats lines with time and level. Messages of other libraries are shortened."""

    def format(self, record: logging.LogRecord) -> str:
        """The line; for a programming error, followed by the place where it was raised."""
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
    """Direct the log of the process to a stream."""
    told = LogHandler(stream, FloodFilter(monotonic))
    told.setFormatter(_Lines())
    root = logging.getLogger()
    root.handlers[:] = [told]
    root.setLevel(logging.WARNING)
    LOG.setLevel(logging.INFO)
    # uvicorn logs a warning for each request that it refuses; the answer already gives the reason.
    logging.getLogger("uvicorn").setLevel(logging.ERROR)
    METRICS.setLevel(logging.INFO)
    METRICS.propagate = False
    metrics = logging.StreamHandler(stream)
    metrics.setFormatter(logging.Formatter("%(message)s"))
    METRICS.handlers[:] = [metrics]
    return told
