"""What docs/python.md shows is what happens: its examples are run in their order, and print what stands there."""

from __future__ import annotations

import doctest
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "python.md"


def test_the_examples_print_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8").replace("```python\n", "\n").replace("```\n", "\n")
    examples = doctest.DocTestParser().get_doctest(text, {"__name__": __name__}, PAGE.name, str(PAGE), 0)
    written: list[str] = []
    found = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(examples, out=written.append)
    assert (found.failed, "".join(written)) == (0, "")
    assert found.attempted > 30
