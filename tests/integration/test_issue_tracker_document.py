"""The guide to the issue tracker tells the truth: its examples are run on the service."""

from __future__ import annotations

import re
from pathlib import Path

from services._samples.issues import BRIDGE, NEWS, TUNNEL
from tests.integration.documented import DAY, check_document, examples, variables
from tests.integration.local_server import ROOT, LocalServer

DOCUMENT = ROOT / "docs" / "issue-tracker.md"
EXAMPLES = 25
"""Examples that there are at least: one that is no longer found is noticed."""


def test_the_examples_of_the_guide(tmp_path: Path) -> None:
    data = tmp_path / "data"
    server = LocalServer.start(data, "--service", "issue_tracker", "--day", DAY.isoformat())
    try:
        given = variables(DOCUMENT.read_text(encoding="utf-8"), data)
        assert check_document(DOCUMENT, server, given) >= EXAMPLES
        projects = {name: str(project.project_id) for name, project in _PROJECTS.items()}
        assert {name: given[name] for name in projects} == projects
    finally:
        assert server.stop() == 0


def test_every_block_that_looks_like_an_example_is_one() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert len(re.findall(r"^(?:curl |import )", text, re.MULTILINE)) == len(list(examples(text)))


_PROJECTS = {"BRIDGE": BRIDGE, "TUNNEL": TUNNEL, "NEWS": NEWS}
