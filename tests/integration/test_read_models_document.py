"""The guide to read models tells the truth: its examples are run on the order tracking service."""

from __future__ import annotations

import re
from pathlib import Path

from tests.integration.documented import DAY, check_document, examples
from tests.integration.local_server import ROOT, LocalServer

DOCUMENT = ROOT / "docs" / "read-models.md"
QUESTIONS = 23
"""Examples that there are at least: one that is no longer found is noticed."""


def test_the_examples_of_the_guide(tmp_path: Path) -> None:
    server = LocalServer.start(tmp_path / "data", "--service", "order_tracking", "--day", DAY.isoformat())
    try:
        assert check_document(DOCUMENT, server) >= QUESTIONS
    finally:
        assert server.stop() == 0


def test_every_block_that_looks_like_an_example_is_one() -> None:
    text = DOCUMENT.read_text(encoding="utf-8")
    assert len(re.findall(r"^curl ", text, re.MULTILINE)) == len(list(examples(text)))
