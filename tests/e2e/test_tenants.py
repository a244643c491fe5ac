"""Tenants, external keys and the Explorer of a deployed service, the issue tracker, whose issues have external keys.

The tenant is a claim of the caller's token, and comes through the authorizer; the keys are signed with the stack's own
secret. The tests are steps of one story, in the order of the file.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from shardweave.api.explorer.files import PAGE, POLICY, page_files
from shardweave.cdk.deployed_api import DeployedApi
from shardweave.cdk.emulator import Emulator
from shardweave.cdk.sources import ROOT
from tests.browser.browsing import launched, opened
from tests.e2e.conftest import Deployed, deployed, eventually
from tests.e2e.front import front
from tests.e2e.issuer import AUDIENCE, Issuer

DECLARED = 'class Issue(\n    Entity,\n    token="issue",\n'
ACME, RIVAL = str(uuid4()), str(uuid4())


@pytest.fixture(scope="module")
def services(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the services, where issues have an origin."""
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(ROOT / "shared" / "services", folder / "services")
    records = folder / "services" / "issue_tracker" / "records.py"
    text = records.read_text()
    assert text.count(DECLARED) == 1
    records.write_text(text.replace(DECLARED, f'{DECLARED}    origin="i",\n'))
    return folder


@pytest.fixture(scope="module")
def stack(start_emulator: Callable[..., Emulator], issuer: Issuer, services: Path) -> Deployed:
    """The service of that folder, in template and layer."""
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("PYTHONPATH", str(services), prepend=os.pathsep)
        return deployed(
            start_emulator(), "issue_tracker", issuer=issuer.url, audience=AUDIENCE, operators=f"{issuer.url} olga"
        )


class Somebody:
    """A caller of a tenant."""

    def __init__(self, stack: Deployed, issuer: Issuer, **claims: Any) -> None:
        self._api = stack.api(token=issuer.token(**claims))

    def made(self, collection: str, document: Mapping[str, Any]) -> dict[str, Any]:
        reply = self._api.call("POST", f"/v1/{collection}", dict(document))
        assert reply.status == 201, reply.body
        return dict(reply.document)

    @property
    def api(self) -> DeployedApi:
        return self._api


@pytest.fixture(scope="module")
def acme(stack: Deployed, issuer: Issuer) -> Somebody:
    return Somebody(stack, issuer, tenant=ACME)


@pytest.fixture(scope="module")
def rival(stack: Deployed, issuer: Issuer) -> Somebody:
    return Somebody(stack, issuer, tenant=RIVAL)


@pytest.fixture(scope="module")
def project(acme: Somebody, rival: Somebody) -> str:
    """A project of Acme's; the rival has none."""
    for each, name in ((acme, "Acme"), (rival, "Rival")):
        each.made("tenants", {"name": name})
    return str(acme.made("projects", {"name": "Bridge"})["projectId"])


@pytest.fixture(scope="module")
def issue(acme: Somebody, project: str) -> dict[str, Any]:
    return acme.made("issues", {"projectId": project, "title": "It sways"})


# -- tenants ----------------------------------------------------------------------------------------------------------


def test_without_the_claim_nothing_is_seen_and_nothing_made(stack: Deployed, issuer: Issuer, project: str) -> None:
    nobody = Somebody(stack, issuer).api
    assert nobody.get("/v1/projects", index="projectsByName", limit="1").status == 403
    assert nobody.call("POST", "/v1/tenants", {"name": "Nobody"}).status == 403


def test_a_record_is_its_maker_s_tenant_s_whoever_it_is_said_to_be_for(
    acme: Somebody, rival: Somebody, project: str
) -> None:
    assert acme.api.get(f"/v1/projects/{ACME}/{project}").document["tenantId"] == ACME
    refused = rival.api.call("POST", "/v1/projects", {"name": "Ours", "tenantId": ACME})
    assert refused.status == 403


def test_to_another_tenant_a_record_does_not_exist(acme: Somebody, rival: Somebody, issue: dict[str, Any]) -> None:
    ours = [f"/v1/projects/{ACME}/{issue['projectId']}", f"/v1/issues/{issue['key']}"]
    for path in ours:
        assert acme.api.get(path).status == 200
        assert rival.api.get(path).status == 404
        assert rival.api.call("DELETE", path).status == 404
        assert acme.api.get(path).status == 200
    title = {"title": "Taken over"}
    assert rival.api.call("PATCH", ours[1], title).status == 404
    assert acme.api.get(ours[1]).document["title"] == issue["title"]


def test_another_tenant_can_not_ask_for_it_by_name_nor_put_anything_into_its_project(
    rival: Somebody, issue: dict[str, Any]
) -> None:
    asked = rival.api.get("/v1/issues", index="gridNum", tenantId=ACME, projectId=issue["projectId"])
    assert asked.status == 403
    listed = rival.api.get("/v1/issues", index="gridNum", projectId=issue["projectId"])
    assert (listed.status, listed.document["items"]) == (200, [])
    smuggled = rival.api.call("POST", "/v1/issues", {"projectId": issue["projectId"], "title": "A hole"})
    assert smuggled.status == 409, smuggled.body
    assert rival.api.get("/v1/issue-grid", projectId=issue["projectId"]).status == 404


def test_a_cursor_of_one_tenant_is_nothing_to_another(acme: Somebody, rival: Somebody, issue: dict[str, Any]) -> None:
    asked = {"index": "gridNum", "projectId": issue["projectId"], "limit": "1"}
    acme.made("issues", {"projectId": issue["projectId"], "title": "And creaks"})
    token = acme.api.get("/v1/issues", **asked).document["nextToken"]
    assert acme.api.get("/v1/issues", **asked, nextToken=token).document["items"][0]["title"] == "And creaks"
    assert rival.api.get("/v1/issues", **asked, nextToken=token).status == 400


# -- external keys ----------------------------------------------------------------------------------------------------


def test_a_record_is_found_by_the_key_that_it_was_answered_with(acme: Somebody, issue: dict[str, Any]) -> None:
    path = f"/v1/issues/{issue['key']}"
    changed = acme.api.call("PATCH", path, {"priority": "high"})
    assert changed.status == 200, changed.body
    assert changed.document["key"] == issue["key"]
    found = acme.api.call("POST", "/v1/issues/batch-get", {"keys": [issue["key"]]})
    assert [each["issueId"] for each in found.document["items"]] == [issue["issueId"]]


def test_a_key_with_one_character_changed_is_refused_wherever_it_is(acme: Somebody, issue: dict[str, Any]) -> None:
    key = str(issue["key"])
    for place in range(0, len(key), 7):
        altered = key[:place] + ("A" if key[place] != "A" else "B") + key[place + 1 :]
        refused = acme.api.get(f"/v1/issues/{altered}")
        assert refused.status == 400, altered
        assert refused.document["type"].endswith("invalid_shard_key")


def test_a_key_stays_good_when_the_ring_of_its_secrets_has_been_turned(
    stack: Deployed, acme: Somebody, issue: dict[str, Any]
) -> None:
    secret = stack.resource("AWS::SecretsManager::Secret", "ExternalKeys")
    for turn in ("one", "two"):
        assert stack.invoke("Rotator", {"secret": secret, "keep": None, "turn": turn})["turn"] == turn
    stack.renew("ApiHandler")
    assert acme.api.get(f"/v1/issues/{issue['key']}").document["issueId"] == issue["issueId"]
    later = acme.made("issues", {"projectId": issue["projectId"], "title": "Later"})
    assert acme.api.get(f"/v1/issues/{later['key']}").document["issueId"] == later["issueId"]


# -- the Explorer -----------------------------------------------------------------------------------------------------

EXPLORER = ("/explorer", "/explorer/main.js", "/explorer/explorer.css", "/v1/_explorer", "/v1/_shards/issue")


def test_the_explorer_is_nothing_to_strangers(stack: Deployed, issuer: Issuer) -> None:
    forger = Issuer()
    forged = forger.token("olga", tenant=ACME, iss=issuer.url)
    expired = issuer.token("olga", tenant=ACME, exp=1_700_000_000)
    for who in ({}, {"token": "guessed"}, {"token": forged}, {"token": expired}):
        for path in EXPLORER:
            refused = stack.api(**who).get(path)
            assert refused.status == 401, (who, path)
            assert b"lit-html" not in refused.body
    forger.close()


def test_the_explorer_does_not_exist_for_callers_who_are_no_operators(acme: Somebody, rival: Somebody) -> None:
    for somebody in (acme, rival):
        for path in EXPLORER:
            refused = somebody.api.get(path)
            assert refused.status == 404, path
            assert refused.document["type"].endswith(":route_not_found"), path


def test_an_operator_gets_the_page_and_its_files_with_the_strict_policy(operator: DeployedApi) -> None:
    for name, file in page_files().items():
        answer = operator.get("/explorer" if name == PAGE else f"/explorer/{name}")
        assert answer.status == 200, name
        assert answer.body == file.body, name
        assert {**file.headers, **answer.headers} == dict(answer.headers), name
        assert answer.headers["content-security-policy"] == POLICY
    assert operator.get("/explorer/none.js").status == 404


def is_shown(page: Page, row: Locator) -> bool:
    """Whether a row is there. If not, the page is asked for again: a function that has only begun to start may have
    refused its request."""
    try:
        expect(row).to_be_visible()
    except AssertionError:
        page.reload()
        return False
    return True


def test_an_operator_reads_and_writes_in_the_explorer(
    operator: DeployedApi, issue: dict[str, Any], browser: Browser, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text(str(operator.token))
    with front(operator) as address, explorer(address, token) as opened_at, opened(browser, opened_at) as page:
        page.goto(opened_at)
        row = page.locator(".grid tbody tr", has_text=issue["title"])
        assert eventually(lambda: is_shown(page, row)), page.locator("body").inner_text()
        row.locator("button.link").click()
        page.locator("#edit").click()
        page.locator("#field-assignee").fill("olga")
        page.get_by_role("button", name="Save").click()
        expect(row).to_contain_text("olga")
        page.goto(f"{opened_at}#/entity/issue")
        page.locator("#index").select_option("gridNum")
        page.locator("#explain summary").click()
        expect(page.locator("table.lanes tbody tr")).to_have_count(4)
        page.goto(f"{opened_at}#/shards/issue")
        expect(page.locator("#shards tbody tr")).to_have_count(4)
        expect(page.locator("#state")).to_contain_text("4 shards are read")
    assert operator.get(f"/v1/issues/{issue['key']}").document["assignee"] == "olga"


@pytest.fixture(scope="module")
def operator(stack: Deployed, issuer: Issuer) -> DeployedApi:
    return stack.api(token=issuer.token("olga", tenant=ACME))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with launched() as found:
        yield found


@contextmanager
def explorer(address: str, token: Path) -> Iterator[str]:
    """The command of an operator's own machine; the address that it opens."""
    command = [sys.executable, "-P", "-m", "shardweave.cli", "explorer", address]
    process = subprocess.Popen(
        [*command, "--token-file", str(token), "--no-browser"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    line = process.stdout.readline()
    try:
        assert line.startswith("ready "), line
        yield line.split()[1]
    finally:
        process.send_signal(signal.SIGINT)
        assert process.wait() == 0
