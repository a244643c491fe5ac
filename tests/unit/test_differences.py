"""Every point of docs/differences.md is whole, and its example runs as it stands there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "differences.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## (\d\. .*?)$\n(.*?)(?=^## |\Z)", PAGE, re.DOTALL | re.MULTILINE))


def test_the_page_has_every_point_and_a_row_for_each() -> None:
    assert [title[0] for title in SECTIONS] == list("1234567")
    for title in SECTIONS:
        anchor = re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
        assert f"| [{title[0]}](#{anchor}) |" in PAGE


@pytest.mark.parametrize("title", SECTIONS)
def test_a_point_says_their_rule_ours_and_the_way_back(title: str) -> None:
    section = SECTIONS[title]
    assert re.search(r"^\*\*The (sources|article):\*\*", section, re.MULTILINE)
    assert "**Here:**" in section
    assert "**Back:**" in section


@pytest.mark.parametrize("title", SECTIONS)
def test_the_example_runs(title: str) -> None:
    (example,) = re.findall(r"^```python\n(.*?)^```$", SECTIONS[title], re.DOTALL | re.MULTILINE)
    assert "assert" in example
    exec(compile(example, f"docs/differences.md, {title}", "exec", dont_inherit=True), {"__name__": "example"})
