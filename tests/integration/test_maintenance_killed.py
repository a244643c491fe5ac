"""Exports, imports and doctors are killed (kill -9) at random moments, and started again: the end is the same."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from shardweave.keys.key_format import ORDERED
from shardweave.service.loader import service_schema
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.operations import Scan
from tests.integration.local_server import LocalServer
from tests.unit.cli_world import shardweave

KILLS = int(os.environ.get("SHARDWEAVE_KILLS", "1"))
USERS = 120 * KILLS
ROOT = Path(__file__).parents[2]


def start(*arguments: str) -> subprocess.Popen[bytes]:
    """A command as a process of its own."""
    command = [sys.executable, "-m", "shardweave.cli", *arguments]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def killed_until_it_ends(drawn: random.Random, *arguments: str) -> tuple[int, bytes, int]:
    """Start a command, kill it at a random moment, a few times; then let it end: its code, output, and the kills."""
    kills = 0
    for _ in range(KILLS):
        process = start(*arguments)
        try:
            process.communicate(timeout=drawn.uniform(0.4, 1.2))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.communicate()
            kills += 1
    process = start(*arguments)
    output, errors = process.communicate()
    return process.returncode, output or errors, kills


def user(number: int) -> dict[str, str]:
    return {"userId": f"u{number}", "firstName": "Ann", "lastName": f"Lee {number}", "beneficiaryId": "b"}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder with users."""
    made = tmp_path_factory.mktemp("killed") / "data"
    lines = "".join(json.dumps(user(number)) + "\n" for number in range(USERS))
    assert shardweave("load", "--entity", "user", "--data", str(made), "-", given=lines).code == 0
    return made


def records(folder: Path) -> list[dict[str, Any]]:
    table = EmbeddedTable(service_schema("user_service", ORDERED).layout, folder / "user_service-ordered.sqlite")
    found: list[dict[str, Any]] = []
    scan = Scan(consistent=True)
    while True:
        page = table.run(scan)
        found += [dict(item) for item in page.items if str(item["hashKey"]).startswith("user!")]
        if page.last_key is None:
            table.close()
            return sorted(found, key=lambda item: (item["hashKey"], item["rangeKey"]))
        scan = Scan(consistent=True, start_key=page.last_key)


def test_an_export_and_an_import_that_are_killed_end_as_others_do(folder: Path, tmp_path: Path) -> None:
    drawn = random.Random(os.environ.get("SHARDWEAVE_SEED", "1"))
    whole, parts, other = tmp_path / "whole", tmp_path / "parts", tmp_path / "other"
    assert shardweave("export", str(whole), "--data", str(folder)).code == 0
    code, said, _ = killed_until_it_ends(drawn, "export", str(parts), "--rate", str(4 * USERS), "--data", str(folder))
    # An export that had ended before it was killed is refused, since it is complete.
    assert code == 0 or (code == 2 and b"holds a finished export" in said)
    lines = [sorted((each / "user.jsonl").read_bytes().splitlines()) for each in (whole, parts)]
    assert lines[0] == lines[1]
    code, _, _ = killed_until_it_ends(drawn, "import", str(parts), "--data", str(other))
    assert code == 0
    assert records(other) == records(folder)
    assert shardweave("doctor", "--data", str(other)).code == 0


def test_a_doctor_that_is_killed_says_the_same_in_the_end(folder: Path) -> None:
    drawn = random.Random(os.environ.get("SHARDWEAVE_SEED", "2"))
    whole = json.loads(shardweave("doctor", "--json", "--data", str(folder)).output)
    code, output, _ = killed_until_it_ends(drawn, "doctor", "--json", "--rate", str(4 * USERS), "--data", str(folder))
    again = json.loads(output)
    assert code == 0
    for name in ("verdict", "found", "named", "done"):
        assert again[name] == whole[name]


def test_a_table_is_copied_and_put_back_while_it_is_served(tmp_path: Path) -> None:
    data, copy = tmp_path / "data", tmp_path / "copy"
    server = LocalServer.start(data, "--empty")
    try:
        client = server
        one, two = (json.dumps(user(number)).encode() for number in (1, 2))
        assert client.post("/v1/users", json.loads(one)).status == 201
        assert shardweave("backup", str(copy), "--data", str(data)).code == 0
        assert client.post("/v1/users", json.loads(two)).status == 201
        assert client.get("/v1/users/u2").status == 200
        assert shardweave("restore", str(copy), "--data", str(data), "--yes").code == 0
        assert client.get("/v1/users/u1").status == 200
        assert client.get("/v1/users/u2").status == 404
        assert client.post("/v1/users", json.loads(two)).status == 201
    finally:
        server.stop()
