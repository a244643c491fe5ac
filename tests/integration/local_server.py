"""`./run serve` as a process of its own, and a client that speaks HTTP to it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from tests.unit.api_world import checked_headers

ROOT = Path(__file__).parents[2]
START_SECONDS = 600
"""No measure: a process that has not started, answered or ended after that never will."""


@dataclass(frozen=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass
class LocalServer:
    """A running server. `lines` is what it wrote to standard output, `log` the file with its standard error."""

    process: subprocess.Popen[str]
    log: Path
    lines: list[str] = field(default_factory=list)

    @classmethod
    def start(
        cls, data: Path, *arguments: str, log: Path | None = None, module: str = "shardweave.local"
    ) -> LocalServer:
        """Start on a free port and wait for the ready line. `module` is what is run."""
        data.parent.mkdir(parents=True, exist_ok=True)
        log = log or data.with_name(f"{data.name}.log")
        server = cls(launch(data, *arguments, log=log, module=module), log)
        server.wait_until_ready()
        return server

    def wait_until_ready(self) -> None:
        """Wait for the ready line."""
        assert self.process.stdout is not None
        timer = threading.Timer(START_SECONDS, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        assert line.startswith("ready "), f"it did not start:\n{self.log.read_text()}"
        self.lines.append(line)

    @property
    def address(self) -> str:
        return self.lines[0].split()[1]

    def connection(self) -> http.client.HTTPConnection:
        """A new connection; closed by the caller."""
        parts = urlsplit(self.address)
        assert parts.hostname is not None
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=START_SECONDS)

    def request(
        self, method: str, target: str, body: bytes | None = None, headers: Mapping[str, str] | None = None
    ) -> Answer:
        """One request on a connection of its own."""
        connection = self.connection()
        try:
            connection.request(method, target, body, dict(headers or {}))
            response = connection.getresponse()
            found = checked_headers({name.lower(): value for name, value in response.getheaders()})
            return Answer(response.status, found, response.read())
        finally:
            connection.close()

    def get(self, target: str) -> Answer:
        return self.request("GET", target)

    def post(self, target: str, document: Any) -> Answer:
        return self.request("POST", target, json.dumps(document).encode(), {"content-type": "application/json"})

    def stop(self) -> int:
        """Ask it to stop with SIGTERM; the exit code."""
        self.process.terminate()
        return self._ended()

    def kill(self) -> int:
        """Stop it with SIGKILL, in the middle of whatever it does."""
        self.process.kill()
        return self._ended()

    def _ended(self) -> int:
        rest, _ = self.process.communicate(timeout=START_SECONDS)
        self.lines += rest.splitlines(keepends=True)
        return self.process.returncode


def launch(
    data: Path, *arguments: str, log: Path, module: str = "shardweave.local", **variables: str
) -> subprocess.Popen[str]:
    """A server process on a free port (unless the arguments name one), its standard error in a file. `variables` are
    added to those of the environment."""
    port = () if "--port" in arguments else ("--port", "0")
    with log.open("ab") as output:
        return subprocess.Popen(
            [sys.executable, "-P", "-m", module, "--data", str(data), *port, *arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": f"{ROOT}{os.pathsep}{ROOT / 'shared'}", **variables},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=output,
            text=True,
        )
