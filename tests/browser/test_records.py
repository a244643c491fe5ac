"""Records in the Explorer: created, edited, met changed, deleted; and text that looks like markup."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from services._samples.issues import ACME, BRIDGE
from tests.browser.browsing import go
from tests.browser.conftest import Tracker

TRICKY = '<img src="x" onerror="document.title=1"><script>document.title=2</script>${7*7}'


def made(tracker: Tracker, title: str) -> dict[str, str]:
    body = {"projectId": str(BRIDGE.project_id), "title": title}
    found: dict[str, str] = tracker.request("POST", "/v1/issues", body)
    return found


def path(issue: dict[str, str]) -> str:
    return f"/v1/issues/{ACME.tenant_id}/{issue['issueId']}"


def open_issue(page: Page, tracker: Tracker, title: str) -> None:
    page.reload()
    row = page.locator(".grid tbody tr", has_text=title)
    row.locator("button.link").click()
    expect(page.get_by_role("dialog")).to_contain_text("Revision")


def test_an_issue_is_created_from_a_form_made_of_the_schema(page: Page, tracker: Tracker) -> None:
    page.locator("#create").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Create").click()
    assert page.locator("#field-projectId").evaluate("field => field.validity.valueMissing"), "it is required"
    page.locator("#field-projectId").fill(str(BRIDGE.project_id))
    page.locator("#field-title").fill(TRICKY)
    page.locator("#field-priority").select_option("high")
    page.locator("#field-due").fill("2025-02-03")
    page.locator("#field-customNumbers").fill('{"number1": "1.23456"}')
    dialog.get_by_role("button", name="Create").click()
    expect(dialog.get_by_role("alert")).to_contain_text("number1")
    page.locator("#field-customNumbers").fill('{"number1": "1.5"}')
    dialog.get_by_role("button", name="Create").click()
    expect(dialog).to_be_hidden()
    expect(page.locator(".grid tbody")).to_contain_text(TRICKY)
    assert page.locator(".grid img").count() == 0
    assert page.title().startswith("A project's issues"), "what a record holds is text"
    told = tracker.request("GET", f"/v1/issue-grid?projectId={BRIDGE.project_id}&sort=-num&limit=1")["items"][0]
    assert (told["title"], told["priority"], told["due"]) == (TRICKY, "high", "2025-02-03")


def test_an_edit_sends_what_was_changed_alone(page: Page, tracker: Tracker) -> None:
    issue = made(tracker, "To be edited")
    open_issue(page, tracker, "To be edited")
    page.locator("#edit").click()
    page.locator("#field-assignee").fill("ann")
    with page.expect_request(lambda request: request.method == "PATCH") as sent:
        page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert sent.value.post_data_json == {"assignee": "ann"}
    assert sent.value.headers["if-match"].startswith('"')
    expect(page.locator(".grid tbody tr", has_text="To be edited")).to_contain_text("ann")
    open_issue(page, tracker, "To be edited")
    page.locator("#edit").click()
    page.locator("#field-assignee").fill("")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert "assignee" not in tracker.request("GET", path(issue))


def test_a_conflict_shows_both_and_the_reader_decides(page: Page, tracker: Tracker) -> None:
    issue = made(tracker, "Wanted by two")
    open_issue(page, tracker, "Wanted by two")
    page.locator("#edit").click()
    page.locator("#field-title").fill("Mine")
    tracker.request("PATCH", path(issue), {"title": "Theirs", "assignee": "bob"})
    page.get_by_role("button", name="Save").click()
    rows = page.locator("#conflict tbody tr")
    expect(rows.first).to_be_visible()
    told = {row.split("\t")[0]: row.split("\t")[1:] for row in rows.all_inner_texts()}
    assert told["title"] == ["Wanted by two", "Mine", "Theirs"]
    assert told["assignee"] == ["", "", "bob"]
    assert tracker.request("GET", path(issue))["title"] == "Theirs", "nothing of mine was stored"
    page.locator("#keep-mine").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    stored = tracker.request("GET", path(issue))
    assert (stored["title"], stored["assignee"]) == ("Mine", "bob")
    open_issue(page, tracker, "Mine")
    page.locator("#edit").click()
    page.locator("#field-title").fill("Mine again")
    tracker.request("PATCH", path(issue), {"title": "Theirs again"})
    page.get_by_role("button", name="Save").click()
    page.locator("#take-theirs").click()
    expect(page.locator(".grid tbody")).to_contain_text("Theirs again")
    assert tracker.request("GET", path(issue))["title"] == "Theirs again"


def test_a_record_is_deleted_if_it_is_still_as_it_was_shown(page: Page, tracker: Tracker) -> None:
    issue = made(tracker, "To be deleted")
    open_issue(page, tracker, "To be deleted")
    tracker.request("PATCH", path(issue), {"assignee": "ann"})
    page.get_by_role("button", name="Delete …").click()
    page.locator("#delete").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("The condition does not hold")
    expect(page.get_by_role("dialog")).to_contain_text("ann")
    page.get_by_role("button", name="Delete …").click()
    page.locator("#delete").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    expect(page.locator(".grid tbody tr", has_text="To be deleted")).to_have_count(0)


def test_what_the_api_refuses_is_said_with_its_fix(page: Page) -> None:
    go(page, "entity/project")
    page.locator(".grid tbody tr", has_text="Forth Rail Bridge").locator("button.link").click()
    page.get_by_role("button", name="Delete …").click()
    page.locator("#delete").click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("Other records belong to it")


def test_a_record_that_no_list_shows_is_opened_by_its_key(page: Page) -> None:
    page.get_by_role("link", name="Tenant", exact=True).first.click()
    expect(page.locator("main")).to_contain_text("No list shows these records")
    page.get_by_label("tenantId").fill(str(ACME.tenant_id))
    page.get_by_role("button", name="Open").click()
    expect(page.get_by_role("dialog")).to_contain_text("ACME Engineering")
