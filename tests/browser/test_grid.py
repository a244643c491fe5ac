"""The grids of the Explorer in a browser: pages, sorting, filters, columns, relations, explain, keys."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from services._samples.issues import TUNNEL
from tests.browser.browsing import at_rest, go
from tests.browser.conftest import ISSUES, Tracker
from tests.browser.issue_pages import choose_the_big_project, turn
from tests.browser.waiting_times import first_paint, until_shown


def numbers(page: Page) -> list[int]:
    """The first column of the grid, once it has come to rest."""
    at_rest(page)
    return [int(text) for text in page.locator(".grid tbody th").all_inner_texts()]


def column(page: Page, name: str) -> list[str]:
    """A column of the grid, once it has come to rest."""
    at_rest(page)
    names = [text.strip() for text in page.locator(".grid thead th").all_inner_texts()]
    cells = page.locator(f".grid tbody tr > :nth-child({names.index(name) + 1})")
    return cells.all_inner_texts()


@pytest.fixture
def big(page: Page) -> Page:
    """The grid of the big project."""
    choose_the_big_project(page)
    return page


def test_the_first_thing_shown_is_a_grid_and_the_token_is_out_of_the_address(page: Page) -> None:
    expect(page.locator(".grid tbody tr")).to_have_count(3)
    assert "token" not in page.url
    assert page.title() == "A project's issues, sorted by a column – Issue tracker"


def test_pages_forwards_and_backwards_and_from_the_end(big: Page) -> None:
    assert numbers(big) == list(range(1, 26))
    turn(big, "next")
    expect(big.get_by_role("status")).to_contain_text("page 2")
    assert numbers(big) == list(range(26, 51))
    turn(big, "prev")
    expect(big.get_by_role("status")).to_contain_text("page 1")
    assert numbers(big) == list(range(1, 26))
    turn(big, "last")
    expect(big.get_by_role("status")).to_contain_text("last page")
    assert numbers(big) == list(range(ISSUES - 24, ISSUES + 1))
    expect(big.locator("button[data-way=next]")).to_be_disabled()
    turn(big, "prev")
    expect(big.get_by_role("status")).to_contain_text("2. page from the end")
    assert numbers(big) == list(range(ISSUES - 49, ISSUES - 24))
    turn(big, "next")
    expect(big.get_by_role("status")).to_contain_text("last page")
    assert numbers(big) == list(range(ISSUES - 24, ISSUES + 1))


@pytest.mark.parametrize("name", ["title", "priority", "due", "depth"])
def test_sorted_by_any_column_either_way(big: Page, name: str) -> None:
    ranks = {each: rank for rank, each in enumerate(["urgent", "high", "normal", "low"])}

    def values() -> list[float | str]:
        texts = column(big, name)
        if name == "priority":
            return [ranks[text] for text in texts]
        return [float(text) for text in texts] if name == "depth" else list(texts)

    if name == "depth":
        big.locator(".menu summary").click()
        big.get_by_role("checkbox", name="depth").check()
        big.locator(".menu summary").click()
    heading = big.get_by_role("columnheader", name=re.compile(f"^{name}"))
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "ascending")
    ascending = values()
    assert ascending == sorted(ascending)
    heading.get_by_role("button").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    descending = values()
    assert descending == sorted(descending, reverse=True)
    turn(big, "last")
    expect(big.get_by_role("status")).to_contain_text("last page")
    assert sorted(values()) == ascending, "the last page is the first one of the other way"


def test_how_long_a_reader_waits_is_reported(page: Page, tracker: Tracker, report: Callable[[str], None]) -> None:
    """Measured and not judged: a machine may be as slow as it likes."""
    expect(page.locator(".grid tbody tr")).not_to_have_count(0)
    paint = first_paint(page)
    choose_the_big_project(page)
    ways = ("next", "prev", "last", "first")
    took = {way: sorted(until_shown(page, f"button[data-way={way}]") for _ in range(3))[1] for way in ways}
    assert paint > 0
    assert min(took.values()) > 0
    assert numbers(page) == list(range(1, 26))
    pages = ", ".join(f"{way} {milliseconds:.0f} ms" for way, milliseconds in took.items())
    report(f"first paint {paint:.0f} ms; a page of 25 of {ISSUES:,} issues: {pages}")


def test_a_filter_of_the_services_own_grid(big: Page) -> None:
    big.locator("form.tools label", has_text="priority").locator("select").select_option("urgent")
    assert set(column(big, "priority")) == {"urgent"}
    assert len(column(big, "priority")) == 25


def test_an_entity_by_its_indexes_with_conditions_and_filters(page: Page, tracker: Tracker) -> None:
    page.get_by_role("navigation").get_by_role("link", name="Issue", exact=True).first.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Issue")
    at_rest(page)
    page.locator("#index").select_option("gridTitle")
    page.locator("form.tools label", has_text="projectId").locator("select").select_option(str(TUNNEL.project_id))
    page.get_by_label("title: test").select_option("prefix")
    page.get_by_label("title: value").fill("Cable")
    page.locator("#add-filter").click()
    page.get_by_label("Property", exact=True).select_option("state")
    page.get_by_label("Value", exact=True).select_option("open")
    page.get_by_role("button", name="Show").click()
    at_rest(page)
    expect(page.get_by_role("status")).to_contain_text("25 records")
    assert all(text.startswith("Cable") for text in column(page, "title"))
    assert set(column(page, "state")) == {"open"}
    body = {
        "conditions": {"projectId": str(TUNNEL.project_id), "title": {"prefix": "Cable"}},
        "index": "gridTitle",
        "filter": {"property": "state", "eq": "open"},
        "limit": 25,
    }
    told = tracker.request("POST", "/v1/issues/query", body)
    assert [each["issueId"] for each in told["items"]] == column(page, "issueId")
    page.get_by_role("columnheader", name=re.compile("^num")).get_by_role("button").click()
    expect(page.locator("#index")).to_have_value("gridNum")
    assert column(page, "num") == sorted(column(page, "num"), key=int)


def test_each_answer_is_explained_lane_by_lane(page: Page) -> None:
    go(page, "entity/issue")
    page.locator("#index").select_option("gridNum")
    choose_the_big_project(page)
    expect(page.get_by_role("status")).to_contain_text("4 reads")
    page.locator("#explain summary").click()
    rows = page.locator("table.lanes tbody tr")
    expect(rows).to_have_count(4)
    assert [text.split()[1] for text in rows.locator("th").all_inner_texts()] == [f"issue!{n}" for n in range(4)]
    read = [int(text) for text in rows.locator("td:nth-child(5)").all_inner_texts()]
    widths = [
        float(each)
        for each in rows.locator("td:nth-child(5) rect").evaluate_all("all => all.map(e => e.getAttribute('width'))")
    ]
    assert min(read) > 0
    assert widths == pytest.approx([100 * each / max(read) for each in read])
    expect(page.locator("#explain")).to_contain_text("gridNum was named")
    turn(page, "next")
    expect(page.get_by_role("status")).to_contain_text("page 2")
    expect(page.locator("#explain")).to_contain_text("resumes")
    go(page, "view/issueGrid")
    page.locator("#explain summary").click()
    expect(page.locator("#explain dd").first).to_have_text("gridNum")
    expect(page.locator("#explain table.lanes tbody tr")).to_have_count(4)
    expect(page.locator("#explain table.lanes rect").first).to_have_attribute("width", "100")


def test_relations_are_shown_in_their_rows(page: Page) -> None:
    go(page, "entity/issue")
    page.locator("label.check", has_text="project").locator("input").first.check()
    cell = page.locator(".grid tbody tr").first.locator("details")
    expect(cell.locator("summary")).to_have_text(re.compile("Long Tunnel|Forth Rail Bridge"))
    cell.locator("summary").click()
    expect(cell).to_contain_text("customFields")


def test_columns_are_chosen_and_kept(page: Page) -> None:
    choose_the_big_project(page)
    page.locator(".menu summary").click()
    page.get_by_role("checkbox", name="num").uncheck()
    page.get_by_role("button", name="Move state to the left").click()
    expect(page.get_by_role("button", name="Move state to the left")).to_be_focused()
    page.get_by_role("checkbox", name="depth").check()
    expect(page.get_by_role("checkbox", name="depth")).to_be_focused()
    boxes = page.locator(".menu label.check")
    ticked = [each.inner_text().strip() for each in boxes.all() if each.locator("input").is_checked()]
    assert ticked == [text.strip() for text in page.locator(".grid thead th").all_inner_texts()]
    assert [text.strip() for text in page.locator(".grid thead th").all_inner_texts()][:2] == ["state", "title"]
    page.reload()
    expect(page.locator(".grid thead th").first).to_have_text("state")


def test_a_grid_is_read_with_keys_alone(big: Page) -> None:
    big.locator(".grid").focus()
    big.keyboard.press("PageDown")
    expect(big.get_by_role("status")).to_contain_text("page 2")
    big.keyboard.press("End")
    expect(big.get_by_role("status")).to_contain_text("last page")
    big.keyboard.press("Home")
    expect(big.get_by_role("status")).to_contain_text("page 1")
    big.keyboard.press("ArrowDown")
    big.keyboard.press("ArrowDown")
    big.keyboard.press("Enter")
    dialog = big.get_by_role("dialog")
    expect(dialog).to_contain_text("issueId")
    expect(dialog.locator("dd").nth(3)).to_have_text("2")
    big.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    assert big.evaluate("document.activeElement.tagName") == "TR", "the focus is back in its row"
