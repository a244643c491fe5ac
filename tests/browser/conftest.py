"""The issue tracker with its sample data on the local server, and a browser that its page is opened in.

`SHARDWEAVE_EXPLORER_ISSUES=100000` plays the tests on a big project with so many issues in place of 2,000; loading them
takes some minutes.
"""

from __future__ import annotations

import datetime as dt
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, sync_playwright

from services._samples.issues import ACME, BIG, issue_tracker_samples
from services.issue_tracker import schema
from shardweave.access.tokens import GROUPS, encode_token
from shardweave.database.data_folder import DataFolder
from shardweave.local.loading import load
from shardweave.schema.entity import now_ms
from shardweave.store import Store
from tests.integration.local_server import LocalServer

from .chromium import chromium

WAITS = (
    '{"leaseMs": 250, "acceptedMs": 0, "requestMs": 200, "clocksMs": 0, "cursorLifeMs": 1500, "quietMs": 100, '
    '"recheckMs": [3600000]}'
)
"""A re-shard has to come to its end here, and cursors to live longer than a test turns pages."""
DAY = "2025-01-01"
ISSUES = int(os.environ.get("SHARDWEAVE_EXPLORER_ISSUES", BIG))
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
def tracker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tracker]:
    """The issue tracker."""
    with served(tmp_path_factory.mktemp("explorer")) as found:
        yield found


@contextmanager
def served(folder: Path) -> Iterator[Tracker]:
    """The issue tracker with its data in a folder."""
    data = folder / "data"
    filled = fill(data) if ISSUES != BIG else ()
    options = ("--service", "issue_tracker", "--day", DAY, "--reshard-waits", WAITS, *filled)
    server = LocalServer.start(data, *options)
    claims = {"sub": "tester", "tenant": str(ACME.tenant_id), GROUPS: ["operators"]}
    token = encode_token(claims, DataFolder(data).token_secret(), now=now_ms() // 1000, seconds=36_000)
    try:
        yield Tracker(server, token)
    finally:
        assert server.stop() == 0


def fill(data: Path) -> tuple[str, ...]:
    """Write another amount of sample data into a folder, and give the option of the server that leaves it as it is."""
    opened = schema()
    table = DataFolder(data).open_table(opened, "issue_tracker", "ordered", create=True)
    samples = list(issue_tracker_samples(dt.date.fromisoformat(DAY), ISSUES))
    load(Store(opened, table), samples, "Loading issues", sys.stderr)
    table.close()
    return ("--empty",)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """A headless Chromium."""
    own = chromium()
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=own.program,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
            env={**os.environ, **own.variables},
        )
        yield launched
        launched.close()


@dataclass
class Watched:
    """What a page asked for and complained of."""

    hosts: set[str] = field(default_factory=set)
    complaints: list[str] = field(default_factory=list)

    def on_request(self, request: Request) -> None:
        self.hosts.add(request.url.split("/", 3)[2] if "//" in request.url else request.url)

    def on_console(self, message: ConsoleMessage) -> None:
        # What the API refuses is a problem that the page shows; the browser writes it down as well.
        if message.type in ("error", "warning") and "the server responded with a status of" not in message.text:
            self.complaints.append(message.text)


@contextmanager
def opened(browser: Browser, address: str, **options: Any) -> Iterator[Page]:
    """A page of a browser of its own. In the end it has asked its own server alone, and has complained of nothing."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(20_000)
    page, watched = context.new_page(), Watched()
    page.on("request", watched.on_request)
    page.on("console", watched.on_console)
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    try:
        yield page
        assert watched.hosts == {address.split("/")[2]}
        assert watched.complaints == []
    finally:
        context.close()


@pytest.fixture
def page(browser: Browser, tracker: Tracker) -> Iterator[Page]:
    """The Explorer, opened with a token."""
    with opened(browser, tracker.server.address) as found:
        found.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        yield found
