"""What a command reads and writes, so that tests can give it other streams and another time."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import BinaryIO, TextIO

from ..entity import now_ms


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
        self.stderr.write(line + "\n")
