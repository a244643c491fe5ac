"""Somebody who does not wait: two clicks where one is enough, the next thing asked for before the last one came, other
parts of the service opened meanwhile. Nothing is done twice, no click is lost, and what is shown is what was asked."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from services._samples.issues import BRIDGE, TUNNEL
from tests.browser.browsing import at_rest, go, opened
from tests.browser.conftest import Tracker
from tests.browser.issue_pages import choose, entity_page, open_row, turn_at_once
from tests.browser.late_answers import asks, held_back
from tests.browser.test_mishaps import is_start
from tests.browser.test_records import made, path
from tests.integration.local_server import LocalServer

# -- pages ------------------------------------------------------------------------------------------------------------


def test_what_is_asked_for_before_the_choices_come_is_not_replaced_by_the_first_page(page: Page) -> None:
    at_rest(page)
    with held_back(page, asks("GET", "/v1/projects?limit")) as late:
        page.evaluate("location.hash = '#/entity/issue'")
        late.await_answer(page)
        page.get_by_role("button", name="Show").click()
        expect(page.get_by_role("status")).to_contain_text("page 1")
        turn_at_once(page, "next")
        expect(page.get_by_role("status")).to_contain_text("page 2")
        late.come(page)
    at_rest(page)
    expect(page.get_by_role("status")).to_contain_text("page 2")


def test_nothing_is_written_where_choices_are_about_to_come(page: Page) -> None:
    at_rest(page)
    with held_back(page, asks("GET", "/v1/projects?limit")) as late:
        page.evaluate("location.hash = '#/entity/issue'")
        late.await_answer(page)
        page.locator("#index").select_option("gridNum")
        expect(page.get_by_role("textbox", name="projectId")).to_be_disabled()
        late.come(page)
        expect(page.get_by_role("combobox", name="projectId")).to_be_enabled()
    at_rest(page)
    expect(page.locator(".grid tbody tr")).not_to_have_count(0)


def test_a_page_beside_the_shown_one_is_not_asked_for_when_another_list_is_on_its_way(page: Page) -> None:
    entity_page(page)
    choose(page, TUNNEL.project_id)
    expect(page.get_by_role("status")).to_contain_text("25 records")
    with held_back(page, asks("POST", "/issues/query", str(BRIDGE.project_id))) as late:
        choose(page, BRIDGE.project_id)
        late.await_answer(page)
        turn_at_once(page, "next")
        page.locator(".grid").press("PageDown")
        late.come(page)
    at_rest(page)
    expect(page.get_by_role("alert")).to_have_count(0)
    expect(page.get_by_role("status")).to_contain_text(re.compile(r"page 1 · \d records"))


def test_pages_are_those_of_the_list_that_is_shown_whatever_is_written_meanwhile(page: Page) -> None:
    at_rest(page)
    choose(page, TUNNEL.project_id)
    expect(page.get_by_role("status")).to_contain_text("25 records")
    page.get_by_role("textbox", name="assignee").fill("nob")
    turn_at_once(page, "next")
    expect(page.get_by_role("status")).to_contain_text("page 2 · 25 records")
    expect(page.get_by_role("alert")).to_have_count(0)
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("status")).to_contain_text("page 1 · 0 records")


def test_two_clicks_on_next_show_the_next_page(page: Page) -> None:
    at_rest(page)
    choose(page, TUNNEL.project_id)
    expect(page.get_by_role("status")).to_contain_text("25 records")
    page.locator("button[data-way=next]").evaluate("button => { button.click(); button.click(); }")
    at_rest(page)
    expect(page.get_by_role("status")).to_contain_text("page 2")
    expect(page.locator(".grid tbody th").first).to_have_text("26")


def second_click(page: Page, button: str) -> None:
    """The second of two clicks, of which the first has brought a button to where both are made."""
    page.locator(button).dispatch_event("click", {"detail": 2, "bubbles": True, "cancelable": True})


def test_two_clicks_remove_one_filter(page: Page) -> None:
    go(page, "entity/issue")
    for _ in range(3):
        page.locator("#add-filter").click()
    page.get_by_role("button", name="Remove filter 1").dblclick()
    at_rest(page)
    expect(page.get_by_role("button", name=re.compile("Remove filter"))).to_have_count(2)


def test_what_can_not_be_read_is_said_as_long_as_it_stands_there(page: Page) -> None:
    go(page, "entity/issue")
    page.locator("#add-filter").click()
    page.get_by_label("Property", exact=True).select_option("num")
    page.get_by_label("Value", exact=True).fill("many")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("alert")).to_contain_text("must be a whole number")
    page.get_by_role("button", name="Remove filter 1").click()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_choice_shows_what_is_asked_after_other_parts_were_opened(page: Page) -> None:
    go(page, "entity/issue")
    rows, index = page.get_by_label("Rows"), page.locator("#index")
    for limit in ("10", "25", "10"):
        rows.select_option(limit)
        expect(page.get_by_role("status")).to_contain_text(f"{limit} records")
    names = index.locator("option").all_inner_texts()
    first = index.input_value()
    for name in (names[1], names[0], names[1]):
        index.select_option(name)
        at_rest(page)
    go(page, "entity/project")
    go(page, "entity/issue")
    expect(rows).to_have_value("25")
    expect(index).to_have_value(first)


def test_a_page_that_was_left_shows_nothing_on_the_next_one(page: Page) -> None:
    at_rest(page)
    with held_back(page, asks("POST", "/issues/query")) as late:
        page.evaluate("location.hash = '#/entity/issue'")
        late.await_answer(page)
        go(page, "entity/project")
        expect(page.locator(".grid tbody tr")).to_have_count(2)
        late.come(page)
        expect(page.locator(".grid tbody tr")).to_have_count(2)
        at_rest(page)
    page.go_back()
    expect(page.get_by_role("heading", level=1)).to_have_text("Issue")
    at_rest(page)
    expect(page.get_by_role("status")).to_contain_text("25 records")


def test_a_page_of_the_token_before_is_not_shown(browser: Browser, tracker: Tracker) -> None:
    with opened(browser, tracker.server.address) as page:
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        go(page, "entity/issue")
        with held_back(page, asks("POST", "/issues/query")) as late:
            turn_at_once(page, "next")
            late.await_answer(page)
            page.get_by_label("Token").fill("nobody")
            page.get_by_role("button", name="Use").click()
            expect(page.get_by_role("alert")).to_contain_text("The caller is not known")
            late.come(page)
        expect(page.locator(".grid")).to_have_count(0)
        expect(page.get_by_role("alert")).to_contain_text("The caller is not known")


# -- records ----------------------------------------------------------------------------------------------------------


def test_what_is_on_its_way_is_sent_once_and_stays_as_it_was_sent(page: Page, tracker: Tracker) -> None:
    issue = made(tracker, "Saved in a hurry")
    page.reload()
    sent: list[Request] = []
    page.on("request", lambda request: sent.append(request) if request.method == "PATCH" else None)
    with held_back(page, asks("PATCH", path(issue))) as late:
        open_row(page, "Saved in a hurry")
        page.locator("#edit").click()
        title = page.locator("#field-title")
        title.fill("Saved once")
        title.press("Enter")
        title.press("Enter")
        title.press("x")
        page.locator("#field-priority").select_option("high")
        expect(title).to_have_value("Saved once")
        expect(page.locator("#field-priority")).not_to_have_value("high")
        late.await_answer(page)
        late.come(page)
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert [request.post_data_json for request in sent] == [{"title": "Saved once"}]
    expect(page.locator(".grid tbody tr", has_text="Saved once")).to_have_count(1)
    tracker.request("DELETE", path(issue))


def test_an_edit_whose_answer_was_lost_is_sent_again_as_the_same(browser: Browser, tracker: Tracker) -> None:
    issue = made(tracker, "Answered to nobody")
    with opened(browser, tracker.server.address, complaints=("net::ERR_",)) as page:
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        open_row(page, "Answered to nobody")
        page.locator("#edit").click()
        page.locator("#field-assignee").fill("ann")
        with held_back(page, asks("PATCH", path(issue))) as late:
            page.get_by_role("button", name="Save").click()
            late.await_answer(page)
            late.answers[0][0].abort()
            expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("does not answer")
        page.get_by_role("button", name="Save").click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(page.locator(".grid tbody tr", has_text="Answered to nobody")).to_contain_text("ann")
    tracker.request("DELETE", path(issue))


def test_two_clicks_on_create_make_one_record(page: Page, tracker: Tracker) -> None:
    at_rest(page)
    page.locator("#create").click()
    page.locator("#field-projectId").fill(str(BRIDGE.project_id))
    page.locator("#field-title").fill("Made once")
    create = page.get_by_role("dialog").get_by_role("button", name="Create")
    create.evaluate("button => { button.click(); button.click(); }")
    expect(page.get_by_role("dialog")).to_be_hidden()
    row = page.locator(".grid tbody tr", has_text="Made once")
    expect(row).to_have_count(1)
    at_rest(page)
    expect(row).to_have_count(1)
    listed = tracker.request("GET", f"/v1/issue-grid?projectId={BRIDGE.project_id}&sort=-num&limit=2")["items"]
    assert [each["title"] for each in listed].count("Made once") == 1
    tracker.request("DELETE", f"/v1/issues/{listed[0]['tenantId']}/{listed[0]['issueId']}")


def test_two_presses_of_enter_open_a_record(page: Page) -> None:
    at_rest(page)
    page.locator(".grid").focus()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_contain_text("Revision")
    page.keyboard.press("Enter")
    expect(page.locator("dl.record")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_two_clicks_where_a_deletion_is_asked_for_delete_nothing(page: Page, tracker: Tracker) -> None:
    issue = made(tracker, "Not to be deleted")
    page.reload()
    open_row(page, "Not to be deleted")
    page.get_by_role("button", name="Delete …").dblclick()
    expect(page.locator("#delete")).to_be_visible()
    second_click(page, "#delete")
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("#edit")).to_be_visible()
    page.keyboard.press("Escape")
    assert tracker.request("GET", path(issue))["title"] == "Not to be deleted"
    tracker.request("DELETE", path(issue))


# -- re-shards --------------------------------------------------------------------------------------------------------


@pytest.fixture
def shards(browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The shards of a service that asks for no token."""
    server = LocalServer.start(tmp_path / "data", "--service", "user_service", "--empty")
    try:
        with opened(browser, server.address) as page:
            page.goto(f"{server.address}/explorer#/shards/user")
            at_rest(page)
            yield page
    finally:
        server.stop()


def test_a_re_shard_is_started_while_its_estimate_is_on_its_way(shards: Page) -> None:
    with held_back(shards, asks("POST", "/estimate")) as late:
        shards.locator("#estimate").click()
        late.await_answer(shards)
        shards.locator("#start").click()
        expect(shards.locator("#state")).to_contain_text("from")
        late.come(shards)
    shards.locator("#abort").click()
    expect(shards.locator("#state")).to_contain_text("Taking back")
    expect(shards.locator("dl.estimate")).to_have_count(0)


def test_a_re_shard_is_taken_back_as_soon_as_its_start_is_answered(shards: Page) -> None:
    with held_back(shards, is_start) as late:
        shards.locator("#start").click()
        late.await_answer(shards)
        expect(shards.locator("#abort")).to_be_disabled()
        late.come(shards)
        shards.locator("#abort").click()
        expect(shards.locator("#state")).to_contain_text("Taking back")


def test_two_clicks_start_a_re_shard_and_do_not_take_it_back(shards: Page) -> None:
    shards.locator("#start").dblclick()
    expect(shards.locator("#state")).to_contain_text("from")
    second_click(shards, "#abort")
    expect(shards.locator("#abort")).to_be_enabled()
    expect(shards.locator("#state")).not_to_contain_text("Taking back")
