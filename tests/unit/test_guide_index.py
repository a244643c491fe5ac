"""docs/README.md names every guide."""

from __future__ import annotations

import re
import subprocess
import sys

from shardweave.cli.main import PROGRAMS

from .guide_page import DOCS, page_text


def test_the_index_names_every_page() -> None:
    linked = set(re.findall(r"\]\(([\w/-]+\.md)\)", page_text("README.md")))
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} <= linked


def test_the_path_is_numbered_in_its_order() -> None:
    numbers = [int(number) for number in re.findall(r"^\| (\d+) \|", page_text("README.md"), re.MULTILINE)]
    assert numbers == list(range(1, len(numbers) + 1))
    assert len(numbers) > 8


def test_a_project_of_ones_own_has_commands_that_the_repository_has() -> None:
    script = [sys.executable, str(DOCS.parent / "run"), "--help"]
    told = subprocess.run(script, capture_output=True, text=True, check=True).stdout
    assert [each.name for each in PROGRAMS if not re.search(rf"^ +{each.name}\b", told, re.MULTILINE)] == []
