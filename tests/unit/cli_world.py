"""A command run on given input, with what it wrote and its exit code."""

from __future__ import annotations

import io
import json
from dataclasses import dataclass
from typing import Any

from shardweave.cli.console import Streams
from shardweave.cli.main import main

NOW = 1_727_140_133_000


@dataclass(frozen=True)
class Outcome:
    """What became of a command."""

    code: int
    output: str
    errors: str

    @property
    def lines(self) -> list[Any]:
        """The output as JSON lines."""
        return [json.loads(line) for line in self.output.splitlines()]


def shardweave(*arguments: str, given: str | bytes = b"", now: int = NOW) -> Outcome:
    """Run a command. Wrong arguments end as they do in a process."""
    stdin = io.BytesIO(given if isinstance(given, bytes) else given.encode())
    stdout, stderr = io.BytesIO(), io.StringIO()
    code = main(arguments, Streams(stdin, stdout, stderr, lambda: now))
    return Outcome(code, stdout.getvalue().decode(), stderr.getvalue())
