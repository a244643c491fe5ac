"""The command line as an operator runs it, in a process of its own, against a deployed table."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from shardweave.cdk.sources import ROOT

LONGEST_SECONDS = 300.0


@dataclass(frozen=True)
class Finished:
    """What a command left: its exit code, its output and its messages."""

    code: int
    output: str
    said: str

    @property
    def lines(self) -> list[Any]:
        """The output as JSON lines."""
        return [json.loads(line) for line in self.output.splitlines()]

    @property
    def document(self) -> Any:
        """The output as one JSON document."""
        return json.loads(self.output)


@dataclass(frozen=True)
class Commands:
    """An operator at a command line. `variables` are the environment, in which the account and its endpoint are."""

    service: str
    variables: Mapping[str, str]
    folder: Path

    def run(self, *arguments: str | Path, without: tuple[str, ...] = (), **variables: str) -> Finished:
        """Run a command to its end."""
        process = self._start(arguments, without, variables)
        output, said = process.communicate(timeout=LONGEST_SECONDS)
        return Finished(process.returncode, output, said)

    def interrupt(self, *arguments: str | Path, once: Callable[[], bool]) -> Finished:
        """Run a command, and press Ctrl+C as soon as something is so."""
        process = self._start(arguments, (), {})
        ends = time.monotonic() + LONGEST_SECONDS
        while process.poll() is None and not once():
            assert time.monotonic() < ends, "it did not come to that"
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        output, said = process.communicate(timeout=LONGEST_SECONDS)
        return Finished(process.returncode, output, said)

    def _start(
        self, arguments: tuple[str | Path, ...], without: tuple[str, ...], variables: Mapping[str, str]
    ) -> subprocess.Popen[str]:
        kept = {name: value for name, value in {**self.variables, **variables}.items() if name not in without}
        return subprocess.Popen(
            [ROOT / "run", "shardweave", *arguments, "--service", self.service],
            cwd=self.folder,
            env=kept,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
