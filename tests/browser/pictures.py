"""The pictures of docs/explorer.md, taken of the page as it is.

./run python -m tests.browser.pictures docs/pictures
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from playwright.sync_api import Page, expect

from services._samples.issues import BRIDGE, TUNNEL
from tests.browser.browsing import launched
from tests.browser.conftest import Tracker, served
from tests.browser.issue_pages import choose

SIZE = {"width": 1000, "height": 620}


def main(folder: Path) -> None:
    """Take them all."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as made, served(Path(made)) as tracker, launched() as browser:
        page = browser.new_page(viewport=SIZE)
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        for take in (grid, explain, conflict, reshard):
            take(page, tracker)
            page.screenshot(path=folder / f"explorer-{take.__name__}.png")


def grid(page: Page, tracker: Tracker) -> None:
    choose(page, TUNNEL.project_id)
    page.get_by_role("columnheader", name="priority").get_by_role("button").click()
    expect(page.locator("[aria-sort=ascending]")).to_contain_text("priority")
    expect(page.get_by_role("status")).to_contain_text("25 records")


def explain(page: Page, tracker: Tracker) -> None:
    page.goto(f"{tracker.server.address}/explorer#/entity/issue")
    page.locator("#index").select_option("gridTitle")
    choose(page, TUNNEL.project_id)
    page.get_by_label("Rows").select_option("10")
    page.locator("#explain summary").click()
    expect(page.locator("table.lanes tbody tr")).to_have_count(4)
    page.locator("#explain").scroll_into_view_if_needed()


def conflict(page: Page, tracker: Tracker) -> None:
    body = {"projectId": str(BRIDGE.project_id), "title": "Paint is out of stock"}
    issue = tracker.request("POST", "/v1/issues", body)
    page.goto(f"{tracker.server.address}/explorer#/view/issueGrid")
    page.locator(".grid tbody tr", has_text="Paint is out").locator("button.link").click()
    page.locator("#edit").click()
    page.locator("#field-title").fill("Paint has to be ordered")
    path = f"/v1/issues/{issue['tenantId']}/{issue['issueId']}"
    tracker.request("PATCH", path, {"title": "Paint is on its way", "assignee": "bob"})
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#conflict tbody tr").first).to_be_visible()


def reshard(page: Page, tracker: Tracker) -> None:
    page.keyboard.press("Escape")
    page.goto(f"{tracker.server.address}/explorer#/shards/issue")
    page.locator("#rate").fill("400")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#state")).to_contain_text("from 4 to 16 shards")
    page.wait_for_timeout(1500)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
