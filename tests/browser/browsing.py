"""A headless Chromium, and pages in it that are watched: what they ask for, and what they complain of."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from .chromium import chromium

PATIENCE_MS = 60_000
"""No measure: what has not come after that never will."""


@contextmanager
def launched(say: Callable[[str], None] = lambda _: None) -> Iterator[Browser]:
    """The browser; `say` is told which one it is."""
    own = chromium(say)
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(
            executable_path=own.program,
            args=["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
            env={**os.environ, **own.variables},
        )
        say(f"Chromium {found.version} ({own.origin})")
        try:
            yield found
        finally:
            found.close()


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


def at_rest(page: Page) -> None:
    """What was asked for is there: what the page shows first, and the page of a grid that was asked for last."""
    expect(page.locator("main")).to_be_visible()
    expect(page.locator('[aria-busy="true"]')).to_have_count(0)


def go(page: Page, place: str) -> None:
    """Open a part of the service, and wait until all of it is there: nothing on it is of what was open before."""
    page.evaluate("place => { location.hash = `#/${place}`; }", place)
    expect(page.locator(f'nav a[href="#/{place}"]')).to_have_attribute("aria-current", "page")
    at_rest(page)


@contextmanager
def opened(browser: Browser, address: str, *, complaints: tuple[str, ...] = (), **options: Any) -> Iterator[Page]:
    """A page of a browser of its own. In the end it has asked its own server alone, and has complained of nothing but
    what `complaints` are parts of."""
    context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
    context.set_default_timeout(PATIENCE_MS)
    page, watched = context.new_page(), Watched()
    page.on("request", watched.on_request)
    page.on("console", watched.on_console)
    page.on("pageerror", lambda error: watched.complaints.append(str(error)))
    try:
        yield page
        left = [each for each in watched.complaints if not any(part in each for part in complaints)]
        assert not left, left
        assert watched.hosts == {address.split("/")[2]}, watched.hosts
    finally:
        context.close()
