"""What a command reads and writes, so that tests can give it other streams and another time.

What is read is bounded: a line has at most `MAX_LINE_BYTES`, so that no input takes all memory. What is said shows
characters that would steer a terminal as escapes, and counts as people do.
"""

from __future__ import annotations

import errno
import sys
import unicodedata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from ..errors import InputError
from ..schema.entity import now_ms

MAX_LINE_BYTES = 4 * 1024 * 1024
"""More than a record of 400 KB takes, each of its characters escaped."""
UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of characters that are not to be seen: controls, formats, surrogates, separators of lines."""


@dataclass(frozen=True)
class Streams:
    """Standard input and output as bytes, which are UTF-8 whatever the locale says; `clock` gives epoch ms."""

    stdin: BinaryIO
    stdout: BinaryIO
    stderr: TextIO
    clock: Callable[[], int] = now_ms

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
    """A text for people: what is no character to be seen (but a line's end) is shown as an escape."""
    return "".join(
        character
        if character == "\n" or unicodedata.category(character) not in UNSEEN
        else character.encode("unicode_escape").decode("ascii")
        for character in text
    )


def counted(count: int, noun: str) -> str:
    """`1 record`, `2 records`, `1,000 records`."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def lines_of(source: BinaryIO) -> Iterator[bytes]:
    """The lines of a stream. One that is longer than `MAX_LINE_BYTES` ends it, cut right after them. Raises
    InputError."""
    while True:
        line = read_at_most(source.readline, MAX_LINE_BYTES + 1)
        if line:
            yield line
        if not line or len(line) > MAX_LINE_BYTES:
            return


def whole_text(source: BinaryIO) -> bytes:
    """All of a stream that holds one document. Raises InputError, also for more than `MAX_LINE_BYTES`."""
    text = read_at_most(source.read, MAX_LINE_BYTES + 1)
    if len(text) > MAX_LINE_BYTES:
        raise too_long("it")
    return text


def read_at_most(read: Callable[[int], bytes], limit: int) -> bytes:
    """What a stream's method gives. Raises InputError for a stream that can't be read."""
    try:
        return read(limit)
    except OSError as error:
        raise InputError(f"it can't be read: {reason(error)}", fix="give a file, or lines") from None


def reason(error: OSError) -> str:
    """Why a stream can't be read or written, for people."""
    return "it is closed" if error.errno == errno.EBADF else error.strerror or type(error).__name__


def too_long(what: str) -> InputError:
    """The refusal of a line or a document that is over the limit."""
    return InputError(f"{what} is longer than {MAX_LINE_BYTES:,} bytes", fix="write each record on a line of its own")
