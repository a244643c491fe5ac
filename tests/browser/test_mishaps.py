"""What goes wrong while somebody uses the Explorer: hostile and huge texts, records that go away, tokens that end, a
server that stops, two who start a re-shard, addresses that are cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, Request, expect

from services._samples.issues import ACME, BRIDGE
from shardweave.access.tokens import GROUPS, encode_token
from shardweave.database.data_folder import DataFolder
from shardweave.schema.entity import now_ms
from tests.browser.browsing import go, opened
from tests.browser.conftest import Tracker
from tests.browser.test_records import made, open_issue, path
from tests.integration.local_server import LocalServer

HOSTILE = (
    '"><svg onload=document.title=1>',
    "<style>*{display:none}</style>",
    "javascript:document.title=1//{{7*7}}${7*7}",
    "</script><script>document.title=1</script>",
    "left \u202egpj.exe\u2066 right",
    "e\u0301\u0301\u0301 \U0001f469\u200d\U0001f680 \u0000".replace("\u0000", "\ufffd"),
    "x" * 119 + "\U0001f469",
    "_$lit$_ <!--?lit$--> ${nothing}",
)


def token_of(tracker: Tracker, *, seconds: int, subject: str = "tester") -> str:
    """A token of an operator that is good for so long from now; of one that has ended, a negative number."""
    claims = {"sub": subject, "tenant": str(ACME.tenant_id), GROUPS: ["operators"]}
    secret = DataFolder(tracker.server.log.with_name("data")).token_secret()
    return encode_token(claims, secret, now=now_ms() // 1000 - 7200, seconds=7200 + seconds)


# -- texts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", HOSTILE)
def test_a_hostile_text_is_shown_as_it_is_wherever_it_stands(page: Page, tracker: Tracker, text: str) -> None:
    issue = made(tracker, text)
    tracker.request("PATCH", path(issue), {"assignee": text[:100], "text": f"{text}\n{text}"})
    page.reload()
    page.locator(".grid button.link").get_by_text(str(issue["num"]), exact=True).click()
    title = page.locator("dl.record dt", has_text="title").locator("xpath=following-sibling::dd[1]")
    assert title.evaluate("cell => cell.textContent") == text
    page.locator("#edit").click()
    expect(page.locator("#field-title")).to_have_value(text)
    expect(page.locator("#field-text")).to_have_value(f"{text}\n{text}")
    page.keyboard.press("Escape")
    assert page.locator("main svg[onload], main style, main script, dialog script").count() == 0
    assert page.title().startswith("A project's issues")
    tracker.request("DELETE", path(issue))


def test_a_huge_text_is_short_in_the_grid_and_whole_in_its_record_and_in_a_conflict(
    page: Page, tracker: Tracker
) -> None:
    long = "word " * 3_900
    issue = made(tracker, "Has a huge text")
    tracker.request("PATCH", path(issue), {"text": f"{long}end"})
    go(page, "entity/issue")
    page.locator("#index").select_option("gridNum")
    page.locator("form.tools label", has_text="projectId").locator("select").select_option(str(BRIDGE.project_id))
    page.locator(".menu summary").click()
    page.get_by_role("checkbox", name="text", exact=True).check()
    page.locator(".menu summary").click()
    row = page.locator(".grid tbody tr", has_text="Has a huge text")
    expect(row).to_contain_text("word word")
    assert len(row.inner_text()) < 1_000
    row.locator("button.link").click()
    expect(page.locator("dl.record")).to_contain_text("word end")
    page.locator("#edit").click()
    page.locator("#field-text").fill(f"{long}mine")
    tracker.request("PATCH", path(issue), {"text": f"{long}theirs"})
    page.get_by_role("button", name="Save").click()
    expect(page.locator("#conflict")).to_contain_text("word mine")
    expect(page.locator("#conflict")).to_contain_text("word theirs")
    page.keyboard.press("Escape")
    tracker.request("DELETE", path(issue))


def test_the_lines_of_a_short_text_survive_an_edit(page: Page, tracker: Tracker) -> None:
    issue = made(tracker, "One\nTwo")
    page.reload()
    page.locator(".grid tbody tr", has_text="Two").locator("button.link").click()
    page.locator("#edit").click()
    page.locator("#field-title").press("Control+End")
    page.locator("#field-title").press_sequentially(" more")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("dialog")).to_be_hidden()
    assert tracker.request("GET", path(issue))["title"] == "One\nTwo more"
    tracker.request("DELETE", path(issue))


# -- records and tokens -----------------------------------------------------------------------------------------------


def test_a_record_that_was_deleted_while_it_was_shown_is_said_to_be_gone_and_leaves_the_grid(
    page: Page, tracker: Tracker
) -> None:
    for title, step in {"Gone before it is opened": "open", "Gone": "edit", "Gone as well": "delete"}.items():
        issue = made(tracker, title)
        page.reload()
        row = page.locator(".grid tbody tr", has_text=title)
        expect(row).to_have_count(1)
        if step == "open":
            tracker.request("DELETE", path(issue))
            row.locator("button.link").click()
        else:
            row.locator("button.link").click()
            expect(page.get_by_role("dialog")).to_contain_text("Revision")
            tracker.request("DELETE", path(issue))
        if step == "edit":
            page.locator("#edit").click()
            page.locator("#field-assignee").fill("ann")
            page.get_by_role("button", name="Save").click()
        if step == "delete":
            page.get_by_role("button", name="Delete …").click()
            page.locator("#delete").click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("no such")
        page.keyboard.press("Escape")
        expect(row).to_have_count(0)


def test_an_edit_outlives_the_token_that_it_was_begun_with(browser: Browser, tracker: Tracker) -> None:
    issue = made(tracker, "Edited for a long time")
    with opened(browser, tracker.server.address) as page:
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        open_issue(page, tracker, "Edited for a long time")
        page.locator("#edit").click()
        page.locator("#field-assignee").fill("ann")
        page.evaluate("token => import('./explorer/api.js').then((api) => api.useToken(token))", ended(tracker))
        page.get_by_role("button", name="Save").click()
        dialog = page.get_by_role("dialog")
        expect(dialog.get_by_role("alert")).to_contain_text("caller is not known")
        dialog.get_by_label("Token").fill(tracker.token)
        dialog.get_by_role("button", name="Use").click()
        expect(dialog.get_by_role("alert")).to_have_count(0)
        expect(page.locator("#field-assignee")).to_have_value("ann")
        page.get_by_role("button", name="Save").click()
        expect(dialog).to_be_hidden()
        expect(page.locator(".grid tbody tr", has_text="Edited for a long time")).to_contain_text("ann")
    tracker.request("DELETE", path(issue))


def ended(tracker: Tracker) -> str:
    return token_of(tracker, seconds=-3600)


def test_a_token_in_the_address_of_an_open_page_is_taken_too(browser: Browser, tracker: Tracker) -> None:
    with opened(browser, tracker.server.address) as page:
        page.goto(f"{tracker.server.address}/explorer#token={ended(tracker)}")
        expect(page.get_by_role("alert")).to_contain_text("caller is not known")
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        expect(page.locator(".grid tbody tr")).not_to_have_count(0)
        assert "token" not in page.url


def test_what_can_be_no_token_is_not_sent_and_said_to_be_none(page: Page, tracker: Tracker) -> None:
    page.get_by_label("Token").fill("a“b”")
    page.get_by_role("button", name="Use").click()
    expect(page.get_by_role("alert")).to_contain_text("characters that no token has")


@pytest.mark.parametrize("place", ["%", "/entity/%E0%A4%A", "/entity/nothing", "/shards/", "//", "/view/%2F"])
def test_an_address_that_names_nothing_shows_something_else(page: Page, tracker: Tracker, place: str) -> None:
    page.goto(f"{tracker.server.address}/explorer#{place}")
    page.reload()
    expect(page.get_by_role("heading", level=1)).to_be_visible()


# -- the server and re-shards -----------------------------------------------------------------------------------------


def test_a_server_that_stops_is_noticed_and_one_that_is_back_is_used(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    options = ("--service", "user_service", "--empty")
    server = LocalServer.start(data, *options)
    port = server.address.rsplit(":", 1)[1]
    try:
        with opened(browser, server.address, complaints=("net::ERR_",)) as page:
            page.goto(f"{server.address}/explorer#/shards/user")
            expect(page.locator("#state")).to_contain_text("Stable")
            assert server.stop() == 0
            expect(page.get_by_role("alert")).to_contain_text("does not answer")
            page.get_by_role("link", name="User", exact=True).first.click()
            expect(page.get_by_role("alert")).to_contain_text("does not answer")
            server = LocalServer.start(data, *options, "--port", port)
            page.get_by_role("button", name="Show").click()
            expect(page.get_by_role("alert")).to_have_count(0)
    finally:
        server.stop()


def test_a_re_shard_that_is_started_twice_is_started_once(browser: Browser, tmp_path: Path) -> None:
    server = LocalServer.start(tmp_path / "data", "--service", "user_service", "--empty")
    try:
        with opened(browser, server.address) as page, opened(browser, server.address) as other:
            starts: list[Request] = []
            page.on("request", lambda request: starts.append(request) if is_start(request) else None)
            for each in (page, other):
                each.goto(f"{server.address}/explorer#/shards/user")
                expect(each.locator("#start")).to_be_visible()
            # Two clicks before the first has been answered; and another reader, whose page finds out by itself.
            page.locator("#start").evaluate("button => { button.click(); button.click(); }")
            expect(page.locator("#state")).to_contain_text("from")
            assert len(starts) == 1
            expect(page.get_by_role("alert")).to_have_count(0)
            again = server.post("/v1/_reshard/user", {"charBits": 2, "chars": 2})
            assert again.status == 409
            expect(other.locator("#state")).to_contain_text("from")
            expect(other.locator("#start")).to_have_count(0)
    finally:
        server.stop()


def is_start(request: Request) -> bool:
    return request.method == "POST" and request.url.endswith("/v1/_reshard/user")


# -- keys -------------------------------------------------------------------------------------------------------------


def test_pages_are_turned_by_keys_from_a_row_too(page: Page) -> None:
    go(page, "entity/issue")
    page.get_by_label("Rows").select_option("10")
    expect(page.get_by_role("status")).to_contain_text("10 records")
    page.locator(".grid").focus()
    for number in (2, 3):
        page.keyboard.press("ArrowDown")
        assert page.evaluate("document.activeElement.tagName") == "TR"
        page.keyboard.press("PageDown")
        expect(page.get_by_role("status")).to_contain_text(f"page {number}")
    assert page.evaluate("document.activeElement.className") == "grid"
