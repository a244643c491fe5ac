"""docs/README.md names every guide."""

from __future__ import annotations

import re
import subprocess
import sys

from shardweave.cli.main import PROGRAMS

from .guide_page import DOCS, page_text
from .test_guides import GUIDES

RUN_BY = {
    "access.md": "unit/test_access_docs.py",
    "article-questions.md": "integration/test_http_documents.py",
    "beyond-one-transaction.md": "integration/test_beyond_one_transaction.py",
    "clients.md": "integration/test_python_client.py",
    "deploy.md": "infra/test_service_construct.py",
    "differences.md": "unit/test_differences.py",
    "getting-started.md": "integration/test_getting_started.py",
    "issue-tracker.md": "integration/test_issue_tracker_document.py",
    "own-routes.md": "unit/test_routing_docs.py",
    "reference.md": "unit/test_reference.py",
    "shard-keys.md": "unit/test_shard_key_docs.py",
    "testing.md": "unit/test_testing.py",
    "transport.md": "unit/test_transport_choice.py",
}
"""The test that runs the Python of a page, but for those of `test_guides`."""


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


def test_the_python_of_every_page_is_run_by_a_test() -> None:
    pages = {page.name for page in DOCS.glob("*.md") if "```python" in page.read_text(encoding="utf-8")}
    assert pages == {*GUIDES, *RUN_BY}
    for page, test in RUN_BY.items():
        assert page in (DOCS.parent / "tests" / test).read_text(encoding="utf-8"), test
