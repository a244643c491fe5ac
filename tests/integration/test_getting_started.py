"""docs/getting-started.md is followed in an empty folder, as it stands: its files are written, its commands are run."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from shardweave.database.project import PROJECT_VARIABLE
from tests.integration.documented import check_document
from tests.integration.local_server import ROOT, START_SECONDS, LocalServer

GUIDE = ROOT / "docs" / "getting-started.md"
TEXT = GUIDE.read_text(encoding="utf-8")
FILES = re.findall(r"^`([a-z_]+\.py)`[^\n]*:\n\n```python\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
COMMANDS = [
    line
    for block in re.findall(r"^```sh\n((?!curl).*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    for line in re.split(r"\n|&&", block)
]
MOST_LINES = 25


def test_there_are_at_most_25_lines_to_write() -> None:
    assert [name for name, _ in FILES] == ["orders.py", "test_orders.py"]
    assert sum(bool(line.strip()) for _, text in FILES for line in text.splitlines()) <= MOST_LINES


def test_following_the_page_gives_what_it_says(tmp_path: Path) -> None:
    assert [line.strip() for line in COMMANDS if "shardweave " in line and "pip" not in line] == [
        "shardweave init orders",
        "shardweave test",
        "shardweave serve",
    ]
    run("init", "orders", "--no-hashes", folder=tmp_path)
    project = tmp_path / "orders"
    run("test", folder=project)
    for name, text in FILES:
        assert (project / name).is_file(), f"init made no {name}"
        (project / name).write_text(text, encoding="utf-8")
    run("test", folder=project)
    server = serve(project)
    try:
        assert check_document(GUIDE, server) == 4
    finally:
        assert server.stop() == 0
    assert (project / ".data").is_dir()


def run(*arguments: str, folder: Path) -> None:
    """Run a command in a folder. What it writes is shown where it fails."""
    command = [sys.executable, "-P", "-m", "shardweave.cli", *arguments]
    done = subprocess.run(
        command, cwd=folder, env=environment(), capture_output=True, text=True, check=False, timeout=START_SECONDS
    )
    assert done.returncode == 0, done.stdout + done.stderr


def serve(project: Path) -> LocalServer:
    """`shardweave serve`, on a free port."""
    log = project / "serve.log"
    with log.open("wb") as errors:
        process = subprocess.Popen(
            [sys.executable, "-P", "-m", "shardweave.cli", "serve", "--port", "0"],
            cwd=project,
            env=environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    server = LocalServer(process, log)
    server.wait_until_ready()
    return server


def environment() -> Mapping[str, str]:
    """The library of this checkout, and nothing else of it."""
    kept = {name: value for name, value in os.environ.items() if name != PROJECT_VARIABLE}
    return {**kept, "PYTHONPATH": str(ROOT / "shared")}
