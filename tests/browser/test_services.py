"""Every page of every service that ships opens in the Explorer, and complains of nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from shardweave.access.tokens import GROUPS, encode_token
from shardweave.database.data_folder import DataFolder
from shardweave.schema.entity import now_ms
from tests.browser.browsing import at_rest, opened
from tests.integration.local_server import ROOT, LocalServer

SERVICES = (
    "issue_tracker",
    "order_tracking",
    "user_service_lean",
    str(ROOT / "examples" / "support_desk" / "support_desk.py"),
)


@pytest.mark.parametrize("service", SERVICES, ids=[Path(each).stem for each in SERVICES])
def test_every_page_opens(browser: Browser, tmp_path: Path, service: str) -> None:
    server = LocalServer.start(tmp_path / "data", "--service", service, "--empty")
    try:
        claims = {"sub": "tester", "tenant": "7f0c0c7e-5b0f-4a53-8f5a-0b1d3f6f7a10", GROUPS: ["operators"]}
        secret = DataFolder(tmp_path / "data").token_secret()
        token = encode_token(claims, secret, now=now_ms() // 1000, seconds=3600)
        with opened(browser, server.address) as page:
            page.goto(f"{server.address}/explorer#token={token}")
            links = page.locator("nav a")
            expect(links).not_to_have_count(0)
            for place in [link.get_attribute("href") for link in links.all()]:
                page.locator(f'nav a[href="{place}"]').click()
                expect(page.locator(f'nav a[href="{place}"]')).to_have_attribute("aria-current", "page")
                expect(page.locator("main h1")).to_be_visible()
                at_rest(page)
    finally:
        server.stop()
