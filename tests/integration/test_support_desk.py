"""examples/support_desk: a project of one's own, tested and served by its commands in a copy of its folder."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from shardweave.cli.project_files import project_files
from shardweave.database.project import PROJECT_VARIABLE
from tests.integration.local_server import ROOT, START_SECONDS, Answer, LocalServer

EXAMPLE = ROOT / "examples" / "support_desk"
WRITTEN = ("support_desk.py", "test_support_desk.py", "README.md")
MOST_LINES = 195
ENTITIES = 7


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "support_desk"
    shutil.copytree(EXAMPLE, folder, ignore=shutil.ignore_patterns(".*", "__pycache__", "cdk.out"))
    return folder


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-P", "-m", "shardweave.cli", *arguments]


def variables() -> dict[str, str]:
    """Those of a process that finds its project by its folder."""
    kept = {name: value for name, value in os.environ.items() if name != PROJECT_VARIABLE}
    return {**kept, "PYTHONPATH": os.pathsep.join(filter(None, (str(ROOT / "shared"), kept.get("PYTHONPATH"))))}


def output(project: Path, *arguments: str) -> str:
    """What a command writes."""
    done = subprocess.run(
        command(*arguments), cwd=project, env=variables(), capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def ask(server: LocalServer, token: str, method: str, path: str, document: object = None) -> Answer:
    """The answer to a caller with a token, if there is one."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    if document is None:
        return server.request(method, path, headers=headers)
    return server.request(method, path, json.dumps(document).encode(), {**headers, "content-type": "application/json"})


def unread(server: LocalServer, token: str) -> dict[str, int]:
    """How many messages each member has not read, as far as the stream has told."""
    return {each["memberId"]: each["messages"] for each in ask(server, token, "GET", "/v1/unreads").json["items"]}


def eventually(asked: Callable[[], dict[str, int]]) -> dict[str, int]:
    """What is there once there is something, which is soon after."""
    ends = time.monotonic() + START_SECONDS
    while not (found := asked()) and time.monotonic() < ends:
        time.sleep(0.1)
    return found


def test_the_service_is_short_and_the_rest_is_as_init_makes_it() -> None:
    service = (EXAMPLE / "support_desk.py").read_text(encoding="utf-8")
    assert len(service.splitlines()) <= MOST_LINES
    assert len(re.findall(r"^class \w+\(\s*Entity\b", service, re.MULTILINE)) == ENTITIES
    made = project_files("support_desk")
    assert set(WRITTEN) < set(made)
    for name, text in made.items():
        if name not in WRITTEN:
            assert (EXAMPLE / name).read_text(encoding="utf-8") == text, f"{name} is not what `shardweave init` makes"
    for each in made["README.md"].split("\n\n")[1:]:
        assert each.strip() in (EXAMPLE / "README.md").read_text(encoding="utf-8")


def test_its_lock_pins_what_the_library_is_locked_with() -> None:
    pinned = re.findall(r"^[\w.-]+==\S+", (EXAMPLE / "requirements.txt").read_text(), re.MULTILINE)
    locks = "".join(path.read_text() for path in (ROOT / "requirements").glob("*.txt"))
    assert len(pinned) > 30
    assert [each for each in pinned if f"\n{each} " not in locks] == [], "make it anew: `shardweave init --no-hashes`"


def test_its_own_tests_pass(project: Path) -> None:
    passed = re.search(r"(\d+) passed", output(project, "test", "-p", "no:cacheprovider"))
    assert passed is not None
    assert int(passed[1]) == len(
        re.findall(r"^def test_", (EXAMPLE / "test_support_desk.py").read_text(), re.MULTILINE)
    )


def test_it_is_served_to_callers_with_a_token(project: Path) -> None:
    log = project / "serve.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            command("serve", "--port", "0"),
            cwd=project,
            env=variables(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    server = LocalServer(process, log)
    server.wait_until_ready()
    try:
        token = output(project, "token", "--claim", "tenant=acme", "--subject", "ann", "--group", "operators").strip()
        assert ask(server, "", "POST", "/v1/tenants", {"name": "Acme"}).status == 401
        assert ask(server, token, "POST", "/v1/tenants", {"name": "Acme"}).status == 201
        made = ask(server, token, "POST", "/v1/conversations", {"subject": "It hums", "memberIds": ["bob"]})
        assert (made.status, made.json["num"]) == (201, 1)
        reply = {"text": "Unplug it.", "state": "closed"}
        said = ask(server, token, "POST", f"/v1/replies/{made.json['conversationId']}", reply)
        assert (said.status, said.json["author"]) == (201, "ann")
        found = ask(server, token, "GET", "/v1/conversations?lookup=num&num=1")
        assert (found.status, found.json["items"][0]["state"]) == (200, "closed")
        assert eventually(lambda: unread(server, token)) == {"bob": 1}
    finally:
        assert server.stop() == 0
