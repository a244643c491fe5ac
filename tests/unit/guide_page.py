"""Runs the Python of a guide, in the page's order and with names shared by the whole page.

A block of `python` that begins with `>>>` is compared with what it shows; `...` there stands for anything. Any other
is run as it is, and where a block of `text` follows, that is what it prints.
"""

from __future__ import annotations

import contextlib
import doctest
import io
import re
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"
_BLOCK = re.compile(r"^```python\n(?P<code>.*?)^```$(?:\n\n```text\n(?P<printed>.*?)^```$)?", re.MULTILINE | re.DOTALL)


def page_text(name: str) -> str:
    """The text of a page below docs/."""
    return (DOCS / name).read_text(encoding="utf-8")


def run_page(name: str) -> tuple[int, dict[str, Any]]:
    """Run a page. How many examples it has, a prompt or a block being one, and the names that they defined."""
    text, names, count = page_text(name), {"__name__": "guide"}, 0
    for block in _BLOCK.finditer(text):
        line = text.count("\n", 0, block.start("code"))
        if block["code"].startswith(">>>"):
            count += _run_prompts(block["code"], names, name, line)
            continue
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            exec(compile("\n" * line + block["code"], f"docs/{name}", "exec", dont_inherit=True), names)
        assert output.getvalue() == (block["printed"] or ""), f"docs/{name}:{line + 1} prints something else"
        count += 1
    return count, names


def _run_prompts(code: str, names: dict[str, Any], page: str, line: int) -> int:
    examples = doctest.DocTestParser().get_doctest(code, names, page, f"docs/{page}", line)
    written: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS)
    found = runner.run(examples, out=written.append, clear_globs=False)
    assert found.failed == 0, "".join(written)
    names.update(examples.globs)
    return found.attempted
