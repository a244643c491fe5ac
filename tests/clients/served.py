"""Clients written for the issue tracker, a server with its sample data, and what the programs of a day come to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from services._samples.issues import BRIDGE
from shardweave.cli.client import described, written
from shardweave.service.files import named_service
from tests.integration.documented import DAY, made_token
from tests.integration.local_server import LocalServer

PROGRAMS = Path(__file__).parent
CUSTOMERS = "tests/clients/customers.py"
DEPOT = "tests/clients/depot.py"
OUTLETS = "tests/clients/outlets.py"
SERVICES = (
    "issue_tracker",
    "order_tracking",
    "user_service",
    "examples/support_desk/support_desk.py",
    CUSTOMERS,
    DEPOT,
    OUTLETS,
)
TENANT = str(BRIDGE.tenant_id)
DAY_OF_WORK = {
    "pages": [2, 1],
    "once": True,
    "conflict": ["precondition_failed", 412],
    "assignee": "ann",
    "fields": {"pressure": "number1"},
    "custom": {"pressure": "2.5"},
    "titles": ["Rust below deck"],
    "grid": ["Rust below deck"],
    "state": "closed",
    "gone": None,
    "faults": ["title"],
}
"""What both programs say."""
OPENING = {
    "street": "Quay",
    "region": [1, 2],
    "country": [["03", 1], ["03", 2], ["46", 1]],
    "closed": [False, "Pier"],
    "moved": ["immutable_property", 400],
    "gone": None,
}
"""What both programs about outlets say."""
_MARK = re.compile("(//|#) wrong: ")


def client_text(service: str, language: str) -> str:
    """The client of a service."""
    return written(described(named_service(service), "ordered"), language)


def wrong_lines(text: str) -> list[int]:
    """The numbers of the lines that have the mark."""
    return [number for number, line in enumerate(text.splitlines(), 1) if _MARK.search(line)]


@contextmanager
def tracker(folder: Path) -> Iterator[list[str]]:
    """The arguments of a program that works at the issue tracker: address, token, project."""
    data = folder / "data"
    server = LocalServer.start(data, "--service", "issue_tracker", "--day", DAY.isoformat())
    try:
        token = made_token(f"$(./run shardweave token --claim tenant={TENANT} --data {data})", data)
        yield [server.address, token, str(BRIDGE.project_id)]
    finally:
        assert server.stop() == 0


@contextmanager
def outlets(folder: Path) -> Iterator[list[str]]:
    """The arguments of a program that works with outlets: the address."""
    server = LocalServer.start(folder / "data", "--service", OUTLETS, "--empty")
    try:
        yield [server.address]
    finally:
        assert server.stop() == 0


def said_by(command: Sequence[str | Path], folder: Path) -> dict[str, Any]:
    """What a program prints."""
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    return said


def checked(command: Sequence[str | Path], folder: Path) -> str:
    """What a checker says of a program, nothing where it is right."""
    done = subprocess.run(command, cwd=folder, check=False, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


MYPY = (sys.executable, "-P", "-m", "mypy", "--strict", "--warn-unreachable", "--strict-equality", "--no-incremental")
