"""The issue tracker with its sample data on the local server, and a browser that its page is opened in.

The big project has 2,000 issues; with `SHARDWEAVE_LONG_SEARCHES=1`, as in CI, it has 100,000, and with
`SHARDWEAVE_EXPLORER_ISSUES` as many as that says. At the end a run reports which browser it drove, and how long a
reader waited.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from services._samples.issues import ACME, BIG
from shardweave.access.tokens import GROUPS, encode_token
from shardweave.database.data_folder import DataFolder
from shardweave.schema.entity import now_ms
from tests.integration.local_server import LocalServer

from .big_project import fill
from .browsing import launched, opened

WAITS = {
    "leaseMs": 250,
    "acceptedMs": 0,
    "requestMs": 200,
    "clocksMs": 0,
    "cursorLifeMs": 3_600_000,
    "quietMs": 100,
    "recheckMs": [3_600_000],
}
"""Of a re-shard that is taken back. One that comes to its end lasts as long as a cursor lives; here cursors live longer
than any test turns pages."""
DAY = "2025-01-01"
LONG = bool(os.environ.get("SHARDWEAVE_LONG_SEARCHES"))
ISSUES = int(os.environ.get("SHARDWEAVE_EXPLORER_ISSUES", 100_000 if LONG else BIG))
"""The issues of the big project."""


@dataclass(frozen=True)
class Tracker:
    """The served issue tracker, and an operator's token of the tenant with the big project."""

    server: LocalServer
    token: str

    def request(self, method: str, path: str, body: Any = None) -> Any:
        """The JSON of an answer that is a success."""
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json"}
        answer = self.server.request(method, path, None if body is None else json.dumps(body).encode(), headers)
        assert answer.status < 300, answer.body
        return answer.json if answer.body else None


@pytest.fixture(scope="session")
def tracker(tmp_path_factory: pytest.TempPathFactory, report: Callable[[str], None]) -> Iterator[Tracker]:
    """The issue tracker."""
    folder = tmp_path_factory.mktemp("explorer")
    with served(folder, report) as found:
        yield found
    if ISSUES != BIG:
        shutil.rmtree(folder)  # Some hundreds of megabytes, of which pytest would keep three.


@contextmanager
def served(folder: Path, report: Callable[[str], None] = lambda _: None) -> Iterator[Tracker]:
    """The issue tracker with its data in a folder."""
    data, samples = folder / "data", ("--day", DAY)
    if ISSUES != BIG:
        began, samples = time.monotonic(), ("--empty",)
        fill(data, dt.date.fromisoformat(DAY), ISSUES)
        report(f"{ISSUES:,} issues written in {time.monotonic() - began:.0f} s")
    with tracker_of(data, WAITS, *samples) as found:
        yield found


@contextmanager
def tracker_of(data: Path, waits: dict[str, Any], *options: str) -> Iterator[Tracker]:
    """An issue tracker with waits of its own."""
    server = LocalServer.start(data, "--service", "issue_tracker", "--reshard-waits", json.dumps(waits), *options)
    claims = {"sub": "tester", "tenant": str(ACME.tenant_id), GROUPS: ["operators"]}
    token = encode_token(claims, DataFolder(data).token_secret(), now=now_ms() // 1000, seconds=36_000)
    try:
        yield Tracker(server, token)
    finally:
        assert server.stop() == 0


REPORT = pytest.StashKey[list[str]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[REPORT] = []


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    if config.stash[REPORT]:
        terminalreporter.section("the Explorer in a browser")
        for line in config.stash[REPORT]:
            terminalreporter.line(line)


@pytest.fixture(scope="session")
def report(pytestconfig: pytest.Config) -> Callable[[str], None]:
    """Adds a line to what a run says at its end."""
    return pytestconfig.stash[REPORT].append


@pytest.fixture(scope="session")
def browser(report: Callable[[str], None]) -> Iterator[Browser]:
    """A headless Chromium."""
    with launched(report) as found:
        yield found


@pytest.fixture
def page(browser: Browser, tracker: Tracker) -> Iterator[Page]:
    """The Explorer, opened with a token."""
    with opened(browser, tracker.server.address) as found:
        found.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        yield found
