"""What a reader does on the pages of the issue tracker: chooses a project, turns pages, opens a record."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from services._samples.issues import BRIDGE, TUNNEL
from tests.browser.browsing import at_rest, go


def entity_page(page: Page) -> None:
    """Open the issues of a small project, sorted by their numbers."""
    go(page, "entity/issue")
    page.locator("#index").select_option("gridNum")
    choose(page, BRIDGE.project_id)
    expect(page.locator(".grid tbody tr")).not_to_have_count(0)
    at_rest(page)


def choose(page: Page, project: object) -> None:
    """Choose a project."""
    page.locator("form.tools label", has_text="projectId").locator("select").select_option(str(project))


def choose_the_big_project(page: Page) -> None:
    """Choose the big project, and wait for its first page."""
    at_rest(page)
    choose(page, TUNNEL.project_id)
    at_rest(page)
    expect(page.get_by_role("status")).to_contain_text("25 records")


def turn(page: Page, way: str) -> None:
    """Show another page, once the last one that was asked for is there."""
    at_rest(page)
    turn_at_once(page, way)


def turn_at_once(page: Page, way: str) -> None:
    """The same, of a reader who does not wait."""
    page.locator(f"button[data-way={way}]").click()


def open_row(page: Page, title: str) -> None:
    """Open the record of a row."""
    page.locator(".grid tbody tr", has_text=title).locator("button.link").click()
