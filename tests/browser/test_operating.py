"""Shards, a re-shard from start to end and one taken back, the doctor's report; strangers; colours; small screens."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from services._samples.issues import ACME
from shardweave.access.tokens import encode_token
from shardweave.cli.explorer import token_in, upstream_of
from shardweave.cli.forwarding import Forwarder
from shardweave.database.data_folder import DataFolder
from shardweave.schema.entity import now_ms
from tests.browser.browsing import PATIENCE_MS, go, opened
from tests.browser.conftest import WAITS, Tracker, tracker_of
from tests.integration.local_server import LocalServer

PLACES = ("view/issueGrid", "entity/issue", "shards/issue", "doctor")
TOO_WIDE = """() => [...document.querySelectorAll("body *")]
  .filter((each) => each.getBoundingClientRect().right > 360 && !each.closest(".grid table, .scroll table"))
  .map((each) => `${each.tagName} ${each.className} ${each.id} ${each.getBoundingClientRect().right}`)"""
CONTRASTS = """() => {
  const parts = (text) => text.match(/[\\d.]+/g).map(Number);
  const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
    .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
    .reduce((sum, c, place) => sum + c * [0.2126, 0.7152, 0.0722][place], 0);
  const ground = (element) => {
    for (let each = element; each; each = each.parentElement) {
      const color = parts(getComputedStyle(each).backgroundColor);
      if (color.length === 3 || color[3] > 0) return color;
    }
    return [255, 255, 255];
  };
  const found = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    const silent = !walker.currentNode.data.trim() || element.closest(":disabled, noscript");
    if (silent || !element.checkVisibility()) continue;
    const [high, low] = [light(parts(getComputedStyle(element).color)), light(ground(element))].sort((a, b) => b - a);
    found.push([(high + 0.05) / (low + 0.05), walker.currentNode.data.trim().slice(0, 40)]);
  }
  return found;
}"""


PHASES = {
    "stable": "Stable",
    "dual_old": "Copying",
    "dual_new": "Trying",
    "new_only": "Switching",
    "purge": "Emptying",
}
WATCH = """() => {
  window.seen = [];
  const look = () => {
    const here = document.querySelector(".phases [aria-current]").textContent;
    if (window.seen.at(-1) !== here) window.seen.push(here);
  };
  look();
  const all = { subtree: true, childList: true, attributes: true, characterData: true };
  new MutationObserver(look).observe(document.body, all);
}"""
"""Writes down each phase that is shown, however short."""
SHORT = WAITS | {"cursorLifeMs": 300}


def test_a_re_shard_is_estimated_started_watched_and_ends(browser: Browser, tmp_path: Path) -> None:
    with tracker_of(tmp_path / "data", SHORT, "--empty") as tracker, opened(browser, tracker.server.address) as page:
        tracker.request("POST", "/v1/tenants", {"name": "ACME Engineering"})
        for name in ("Bridge", "Tunnel"):
            tracker.request("POST", "/v1/projects", {"name": name})
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        go(page, "shards/project")
        expect(page.locator("#shards tbody tr")).to_have_count(4)
        page.get_by_role("button", name="Count all records").click()
        expect(page.locator("#fill + p")).to_contain_text("counted just now")
        page.locator("#charBits").fill("3")
        expect(page.locator("#shards-to")).to_have_text("64 shards")
        page.locator("#chars").fill("2")
        page.get_by_role("button", name="Estimate").click()
        expect(page.locator("dl.estimate")).to_contain_text("shards to")
        page.evaluate(WATCH)
        page.get_by_role("button", name="Start").click()
        expect(page.locator("#state")).to_contain_text("64 shards are read", timeout=5 * PATIENCE_MS)
        expect(page.locator("#state")).to_contain_text("Stable", timeout=5 * PATIENCE_MS)
        expect(page.locator("#shards tbody tr")).to_have_count(64)
        expect(page.locator("#fill + p")).not_to_contain_text("counted just now")
        seen = page.evaluate("seen")
        assert seen[:2] == ["Stable", "Copying"]
        assert seen == [*(name for name in PHASES.values() if name in seen), "Stable"]
        assert len(tracker.request("GET", "/v1/projects?index=projectsByName")["items"]) == 2


def test_each_phase_of_a_re_shard_has_its_name(page: Page, tracker: Tracker) -> None:
    told = tracker.request("GET", "/v1/_reshard/project")
    for phase, name in PHASES.items():
        answer = {**told, "phase": phase, "moving": phase != "stable", "shardsFrom": 4, "shardsTo": 16}
        page.route("**/v1/_reshard/project", answering(answer))
        go(page, "shards/project")
        expect(page.locator(".phases [aria-current=step]")).to_have_text(name)
        expect(page.locator("#abort")).to_have_count(0 if phase == "stable" else 1)


def answering(document: dict[str, Any]) -> Callable[[Route], None]:
    return lambda route: route.fulfill(json=document)


def test_a_re_shard_is_taken_back(page: Page) -> None:
    go(page, "shards/issue")
    page.locator("#rate").fill("50")
    page.get_by_role("button", name="Start").click()
    expect(page.locator("#state")).to_contain_text("from 4 to 16 shards")
    page.locator("#abort").click()
    expect(page.locator("#state")).to_contain_text("Stable", timeout=5 * PATIENCE_MS)
    expect(page.locator("#state")).to_contain_text(re.compile(r"\b4 shards\s+are read"))
    expect(page.locator("#shards tbody tr")).to_have_count(4)


def test_the_doctors_report_of_a_service_that_asks_for_no_token(browser: Browser, tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = LocalServer.start(data, "--service", "user_service", "--empty")
    try:
        with opened(browser, server.address) as page:
            page.goto(f"{server.address}/explorer#/doctor")
            expect(page.get_by_role("alert")).to_contain_text("run `shardweave doctor`")
            command = ("doctor", "--service", "user_service", "--data", str(data))
            done = subprocess.run([sys.executable, "-P", "-m", "shardweave.cli", *command], check=False)
            assert done.returncode == 0
            page.reload()
            expect(page.locator("#verdict")).to_have_text("clean")
    finally:
        assert server.stop() == 0


def test_who_is_no_operator_is_told_so(browser: Browser, tracker: Tracker) -> None:
    data = tracker.server.log.with_name("data")
    claims = {"sub": "eve", "tenant": str(ACME.tenant_id)}
    token = encode_token(claims, DataFolder(data).token_secret(), now=now_ms() // 1000, seconds=3600)
    with opened(browser, tracker.server.address) as page:
        page.goto(f"{tracker.server.address}/explorer")
        expect(page.get_by_role("alert")).to_contain_text("The caller is not known")
        page.get_by_label("Token").fill(token)
        page.get_by_role("button", name="Use").click()
        expect(page.get_by_role("alert")).to_contain_text("There is no such path")
        page.get_by_label("Token").fill(f"Bearer {tracker.token}")
        page.get_by_role("button", name="Use").click()
        expect(page.locator(".grid tbody tr")).not_to_have_count(0)


def test_a_stage_is_opened_through_what_passes_requests_on(browser: Browser, tracker: Tracker, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text(tracker.token)
    with Forwarder(upstream_of(tracker.server.address), token_in(token)) as forwarder:
        waiting = threading.Thread(target=forwarder.wait)
        waiting.start()
        try:
            with opened(browser, forwarder.address) as page:
                page.goto(f"{forwarder.address}/explorer")
                expect(page.locator(".grid tbody tr")).not_to_have_count(0)
                page.locator(".grid button.link").first.click()
                expect(page.get_by_role("dialog")).to_contain_text("Revision")
        finally:
            forwarder.stop()
            waiting.join()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_contrast_enough(browser: Browser, tracker: Tracker, scheme: str) -> None:
    with opened(browser, tracker.server.address, color_scheme=scheme) as page:
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        for place in PLACES:
            go(page, place)
            found = page.evaluate(CONTRASTS)
            assert len(found) > 20
            assert [each for each in found if each[0] < 4.5] == [], json.dumps(place)


@pytest.mark.parametrize("font", ["16px sans-serif", "20px monospace"])
def test_a_narrow_screen_scrolls_in_one_direction_whatever_the_letters(
    browser: Browser, tracker: Tracker, font: str
) -> None:
    with opened(browser, tracker.server.address, viewport={"width": 360, "height": 740}) as page:
        page.goto(f"{tracker.server.address}/explorer#token={tracker.token}")
        for place in (*PLACES, "entity/tenant"):
            go(page, place)
            page.evaluate("font => { document.body.style.font = font; }", font)
            for part in page.locator(".menu summary, #add-filter").all():
                part.click()
            wide = page.evaluate(TOO_WIDE)
            assert page.evaluate("document.documentElement.scrollWidth") <= 360, (place, wide)
