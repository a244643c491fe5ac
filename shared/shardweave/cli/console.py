"""Input and output of commands, which tests can replace.

A line of input has at most `MAX_LINE_BYTES`, which limits the memory. Messages show control characters as escapes, so
that they can't affect a terminal, and use singular and plural.
"""

from __future__ import annotations

import datetime as dt
import errno
import sys
import time
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from ..errors import InputError
from ..schema.entity import now_ms

MAX_LINE_BYTES = 4 * 1024 * 1024
"""More than the size of a record of 400 KB with every character escaped."""
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that are escaped: controls, formats, surrogates, line separators."""


@dataclass(frozen=True)
class Streams:
    """Standard input and output as bytes, which are UTF-8 regardless of the locale; `clock` returns epoch milliseconds,
    `monotonic` the seconds by which long work tells how far it is."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: TextIO
    clock: Callable[[], int] = now_ms
    monotonic: Callable[[], float] = time.monotonic

    @classmethod
    def of_process(cls) -> Streams:
        """The process's own."""
        return cls(sys.stdin.buffer, sys.stdout.buffer, sys.stderr)

    def write(self, line: str) -> None:
        """A whole line on standard output."""
        self.stdout.write(line.encode() + b"\n")

    def say(self, line: str) -> None:
        """A line on standard error."""
        self.stderr.write(visible(line) + "\n")


def visible(text: str) -> str:
    """A text for people, with invisible characters (except line ends) as escapes."""
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in UNSEEN
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def counted(count: int, noun: str) -> str:
    """`1 record`, `2 records`, `1,000 records`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def utc(moment_ms: int) -> str:
    """A moment (epoch milliseconds) as people read it, to the second."""
    return dt.datetime.fromtimestamp(moment_ms / 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S UTC")


def lines_of(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream. A line longer than `MAX_LINE_BYTES` is cut there, and ends the stream. Raises
    InputError."""
    while True:
        line = read_at_most(source.readline, MAX_LINE_BYTES + 1)
        if line:
            yield line
        if not line or len(line) > MAX_LINE_BYTES:
            return


def whole_text(source: BinaryIO) -> bytes:
    """The whole text of a stream with one document. Raises InputError, also for more than `MAX_LINE_BYTES`."""
    text = read_at_most(source.read, MAX_LINE_BYTES + 1)
    if len(text) > MAX_LINE_BYTES:
        raise too_long("it")
    return text


def read_at_most(read: Callable[[int], bytes], limit: int) -> bytes:
    """The result of a stream's read method. Raises InputError for an unreadable stream."""
    try:
        return read(limit)
    except OSError as error:
        raise InputError(f"it can't be read: {reason(error)}", fix="give a file, or lines") from None


def reason(error: OSError) -> str:
    """Why a stream can't be read or written, for people."""
    return "it is closed" if error.errno == errno.EBADF else error.strerror or type(error).__name__


def too_long(what: str) -> InputError:
    """The error of a line or a document over the limit."""
    return InputError(f"{what} is longer than {MAX_LINE_BYTES:,} bytes", fix="write each record on a line of its own")
