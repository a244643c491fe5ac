"""Answers that come in another order than they were asked for: what is shown is always of what was asked last, and what
comes for a record that is no longer open touches no other one."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, Request, expect

from services._samples.issues import BRIDGE, TUNNEL
from tests.browser.browsing import at_rest, go, opened
from tests.browser.conftest import Tracker
from tests.browser.issue_pages import choose, entity_page, open_row
from tests.browser.late_answers import asks, held_back
from tests.browser.test_mishaps import ended
from tests.browser.test_records import made, path
from tests.integration.local_server import LocalServer


def explains(page: Page, project: str) -> None:
    """The explanation is of the page that is shown, and of a project's records."""
    expect(page.locator("table.lanes tbody th").first).to_have_attribute("title", re.compile(project))
    expect(page.locator("table.lanes rect").first).to_have_attribute("width", re.compile(r"\d"))


# -- pages and their explanations -------------------------------------------------------------------------------------


def test_a_page_that_comes_late_is_neither_shown_nor_explained(page: Page, tracker: Tracker) -> None:
    entity_page(page)
    choose(page, TUNNEL.project_id)
    expect(page.get_by_role("status")).to_contain_text("25 records")
    with held_back(page, asks("POST", "/issues/query", str(BRIDGE.project_id))) as late:
        choose(page, BRIDGE.project_id)
        late.await_answer(page)
        choose(page, TUNNEL.project_id)
        expect(page.get_by_role("status")).to_contain_text("25 records")
        late.come(page)
    expect(page.get_by_role("status")).to_contain_text("25 records")
    page.locator("#explain summary").click()
    explains(page, str(TUNNEL.project_id))


def test_an_explanation_that_comes_late_is_not_shown(page: Page, tracker: Tracker) -> None:
    entity_page(page)
    with held_back(page, asks("POST", "/issues/explain", str(BRIDGE.project_id))) as late:
        page.locator("#explain summary").click()
        late.await_answer(page)
        choose(page, TUNNEL.project_id)
        explains(page, str(TUNNEL.project_id))
        late.come(page)
    explains(page, str(TUNNEL.project_id))


def test_an_explanation_of_a_page_that_is_not_shown_yet_stays_away(page: Page, tracker: Tracker) -> None:
    entity_page(page)
    with held_back(page, asks("POST", "/issues/query", str(TUNNEL.project_id))) as late:
        choose(page, TUNNEL.project_id)
        late.await_answer(page)
        page.locator("#explain summary").click()
        explains(page, str(BRIDGE.project_id))
        late.come(page)
    explains(page, str(TUNNEL.project_id))


def test_a_list_of_the_services_own_is_explained_as_it_is_shown(page: Page, tracker: Tracker) -> None:
    def has_filter(request: Request) -> bool:
        return "/explain" in request.url and "priority=urgent" in request.url

    priority = page.locator("form.tools label", has_text="priority").locator("select")
    expect(page.locator(".grid tbody tr")).to_have_count(3)
    with held_back(page, has_filter) as late:
        page.locator("#explain summary").click()
        told = page.locator("#explain dl")
        expect(told).not_to_contain_text("urgent")
        priority.select_option("urgent")
        late.await_answer(page)
        expect(told).to_have_count(0)
        priority.select_option("low")
        expect(told).to_contain_text("low")
        late.come(page)
        expect(told).to_contain_text("low")
    page.get_by_role("textbox", name="assignee").fill("nobody")
    page.locator("#explain summary").click()
    page.locator("#explain summary").click()
    expect(told).not_to_contain_text("nobody")


# -- records ----------------------------------------------------------------------------------------------------------


@contextmanager
def closed_before_its_edit_is_answered(
    page: Page, tracker: Tracker, name: str, text: str, meanwhile: Mapping[str, str] | None = None
) -> Iterator[dict[str, str]]:
    """A record that is edited; the answer comes when the dialog shows another one, and leaves that one as it is."""
    slow, other = made(tracker, "Edited slowly"), made(tracker, "Opened meanwhile")
    page.reload()
    with held_back(page, asks("PATCH", path(slow))) as late:
        open_row(page, "Edited slowly")
        page.locator("#edit").click()
        page.locator(f"#field-{name}").fill(text)
        if meanwhile:
            tracker.request("PATCH", path(slow), meanwhile)
        page.get_by_role("button", name="Save").click()
        late.await_answer(page)
        page.keyboard.press("Escape")
        open_row(page, "Opened meanwhile")
        expect(page.locator("dl.record")).to_contain_text("Opened meanwhile")
        late.come(page)
    expect(page.locator("#conflict")).to_have_count(0)
    expect(page.locator("dl.record")).to_contain_text("Opened meanwhile")
    page.keyboard.press("Escape")
    yield slow
    assert tracker.request("GET", path(other)) == other
    for each in (slow, other):
        tracker.request("DELETE", path(each))


def test_a_record_that_comes_late_is_not_shown_for_another(page: Page, tracker: Tracker) -> None:
    slow, other = made(tracker, "Slow to come"), made(tracker, "Opened after it")
    page.reload()
    with held_back(page, asks("GET", path(slow))) as late:
        open_row(page, "Slow to come")
        late.await_answer(page)
        page.keyboard.press("Escape")
        open_row(page, "Opened after it")
        expect(page.locator("dl.record")).to_contain_text("Opened after it")
        late.come(page)
        expect(page.locator("dl.record")).to_contain_text("Opened after it")
    page.locator("#edit").click()
    expect(page.locator("#field-title")).to_have_value("Opened after it")
    page.keyboard.press("Escape")
    for each in (slow, other):
        tracker.request("DELETE", path(each))


def test_an_edit_that_is_answered_late_closes_no_other_record(page: Page, tracker: Tracker) -> None:
    with closed_before_its_edit_is_answered(page, tracker, "assignee", "ann"):
        expect(page.locator(".grid tbody tr", has_text="Edited slowly")).to_contain_text("ann")


def test_a_refusal_that_comes_late_is_said_and_touches_no_other_record(page: Page, tracker: Tracker) -> None:
    with closed_before_its_edit_is_answered(page, tracker, "title", "Mine", {"title": "Theirs"}) as slow:
        expect(page.get_by_role("alert")).to_contain_text(path(slow))
        assert tracker.request("GET", path(slow))["title"] == "Theirs"
        page.get_by_role("link", name="Project", exact=True).first.click()
        expect(page.get_by_role("alert")).to_have_count(0)


def test_a_record_is_not_edited_between_a_refused_deletion_and_its_newer_form(page: Page, tracker: Tracker) -> None:
    issue = made(tracker, "Deleted too late")
    page.reload()
    open_row(page, "Deleted too late")
    expect(page.get_by_role("dialog")).to_contain_text("Revision")
    tracker.request("PATCH", path(issue), {"title": "Newer"})
    with held_back(page, asks("GET", path(issue))) as late:
        page.get_by_role("button", name="Delete …").click()
        page.locator("#delete").click()
        late.await_answer(page)
        expect(page.locator("#edit")).to_have_count(0)
        late.come(page)
    page.locator("#edit").click()
    expect(page.locator("#field-title")).to_have_value("Newer")
    page.keyboard.press("Escape")
    tracker.request("DELETE", path(issue))


# -- tokens and shards ------------------------------------------------------------------------------------------------


def test_an_answer_to_the_token_before_is_not_shown(browser: Browser, tracker: Tracker) -> None:
    with opened(browser, tracker.server.address) as page:
        with held_back(page, asks("GET", "/v1/_explorer")) as late:
            page.goto(f"{tracker.server.address}/explorer#token={ended(tracker)}")
            late.await_answer(page)
            first, late.answers = late.answers, []
            page.get_by_label("Token").fill(tracker.token)
            page.get_by_role("button", name="Use").click()
            late.await_answer(page)
            late.come(page)
            expect(page.locator(".grid tbody tr")).not_to_have_count(0)
            late.answers = first
            late.come(page)
        expect(page.get_by_role("alert")).to_have_count(0)
        expect(page.locator(".grid tbody tr")).not_to_have_count(0)


def test_an_estimate_is_of_the_numbers_that_stand_there(page: Page, tracker: Tracker) -> None:
    go(page, "shards/project")
    with held_back(page, asks("POST", "/estimate", '"chars":3')) as late:
        page.locator("#chars").fill("2")
        page.get_by_role("button", name="Estimate").click()
        expect(page.locator("dl.estimate")).to_be_visible()
        page.locator("#chars").fill("3")
        expect(page.locator("dl.estimate")).to_have_count(0)
        page.get_by_role("button", name="Estimate").click()
        late.await_answer(page)
        page.locator("#chars").fill("1")
        late.come(page)
    expect(page.locator("dl.estimate")).to_have_count(0)


def test_a_look_from_before_a_command_does_not_replace_its_answer(browser: Browser, tmp_path: Path) -> None:
    server = LocalServer.start(tmp_path / "data", "--service", "user_service", "--empty")
    try:
        with opened(browser, server.address) as page:
            page.goto(f"{server.address}/explorer#/shards/user")
            at_rest(page)
            with held_back(page, asks("GET", "/v1/_reshard/user")) as late:
                late.await_answer(page)
                page.locator("#start").click()
                expect(page.locator("#state")).to_contain_text("from")
                late.come(page)
                expect(page.locator("#state")).to_contain_text("from")
    finally:
        server.stop()
