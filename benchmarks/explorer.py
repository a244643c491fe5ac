"""The Explorer in a browser on a project with 100,000 issues: the first paint, and how long a page of its grid takes
from the click until it is shown.

The browser is a headless Chromium on the same machine as the server, so what is measured is both, without a network.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from playwright.sync_api import Browser, Page

from benchmarks.issue_grid import load
from benchmarks.tables import Table
from services._samples.issues import ACME, TUNNEL
from services.issue_tracker import schema
from shardweave.access.tokens import GROUPS, encode_token
from shardweave.database.data_folder import DataFolder
from shardweave.schema.entity import now_ms
from shardweave.store import Store
from tests.browser import waiting_times
from tests.browser.browsing import launched
from tests.browser.waiting_times import until_shown
from tests.integration.local_server import LocalServer

TITLE = "the Explorer in a browser, on a grid of 100,000 issues"
ISSUES = 100_000
TIMES = 7
SERVICE = "issue_tracker"


def run() -> list[Table]:
    return run_with(ISSUES)


def run_with(issues: int) -> list[Table]:
    """The same with so many issues."""
    with tempfile.TemporaryDirectory() as made, launched() as browser:
        folder = DataFolder(Path(made) / "data")
        opened = schema()
        table = folder.open_table(opened, SERVICE, "ordered", create=True)
        load(Store(opened, table), issues)
        table.close()
        server = LocalServer.start(folder.path, "--service", SERVICE, "--empty")
        try:
            claims = {"sub": "bench", "tenant": str(ACME.tenant_id), GROUPS: ["operators"]}
            token = encode_token(claims, folder.token_secret(), now=now_ms() // 1000, seconds=36_000)
            wait_for_the_poller(server)
            rows = list(measured(browser, f"{server.address}/explorer#token={token}"))
        finally:
            server.stop()
    note = (
        f"{issues:,} issues in one project over 4 shards; pages of 25 issues, sorted by the service's own grid; the "
        f"median and the longest of {TIMES} times. Page and data come from the local server, the browser is headless."
    )
    return [Table("What a reader waits for", ["what", "ms, median", "ms, longest"], rows, note)]


def wait_for_the_poller(server: LocalServer) -> None:
    """Until the changes of loading have been counted, so that nothing else is at work."""
    print("Waiting until the changes of loading are counted ...", file=sys.stderr, flush=True)
    while server.get("/metrics").json["pollerLagSeconds"] > 0:
        time.sleep(1)


def measured(browser: Browser, address: str) -> Iterator[Sequence[object]]:
    """A row for each thing."""
    paints, grids = zip(*(first_paint(browser, address) for _ in range(TIMES)), strict=True)
    yield row("first paint, nothing in the browser's cache", paints)
    yield row("the first grid of records, likewise", grids)
    page = browser.new_page()
    page.goto(address)
    chosen = page.locator("form.tools label", has_text="projectId").locator("select")
    chosen.select_option(str(TUNNEL.project_id))
    page.get_by_role("status").filter(has_text="25 records").wait_for()
    clicks(page, "button[data-way=first]", 1)
    yield row("the next page", clicks(page, "button[data-way=next]"))
    yield row("the page before", clicks(page, "button[data-way=prev]"))
    yield row("the last of all pages", clicks(page, "button[data-way=last]"))
    yield row("the page before that", clicks(page, "button[data-way=prev]"))
    for name in ("title", "priority", "assignee", "due"):
        place = [text.strip() for text in page.locator(".grid thead th").all_inner_texts()].index(name) + 1
        yield row(f"sorted by {name}, one way and the other", clicks(page, f".grid th:nth-child({place}) button"))


def first_paint(browser: Browser, address: str) -> tuple[float, float]:
    """The milliseconds until something, and until records are shown, in a browser that has no page of the server."""
    context = browser.new_context()
    try:
        page = context.new_page()
        began = time.perf_counter()
        page.goto(address)
        page.locator(".grid tbody tr").first.wait_for()
        return waiting_times.first_paint(page), (time.perf_counter() - began) * 1000
    finally:
        context.close()


def clicks(page: Page, selector: str, times: int = TIMES) -> list[float]:
    """The milliseconds from a click until what it asked for is shown."""
    return [until_shown(page, selector) for _ in range(times)]


def row(what: str, milliseconds: Sequence[float]) -> Sequence[object]:
    return what, statistics.median(milliseconds), max(milliseconds)
