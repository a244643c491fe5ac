"""The programs that type checkers are shown, in a folder of their own: the services of the README and of the guide to
routes, an example, and what uses them."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[2]
SHARED = ROOT / "shared"
HERE = Path(__file__).parent

OWN = ("uses.py", "uses_in_tests.py")
EXAMPLE = ("support_desk.py", "test_support_desk.py", "conftest.py")
DOCUMENTED = {"orders.py": "README.md", "tickets.py": "docs/own-routes.md"}
"""Each has one program, and the documents that have them."""
RIGHT = (*DOCUMENTED, *OWN, *EXAMPLE)
WRONG = "misuses.py"


def programs_in(folder: Path) -> None:
    """Write the programs into a folder."""
    for name, document in DOCUMENTED.items():
        (program,) = re.findall(r"```python\n((?:.|\n)*?)```", (ROOT / document).read_text(encoding="utf-8"))
        (folder / name).write_text(program, encoding="utf-8")
    for name in (*OWN, WRONG):
        shutil.copy(HERE / name, folder)
    for name in EXAMPLE:
        shutil.copy(ROOT / "examples" / "support_desk" / name, folder)


def check_misuses(folder: Path, reported: Iterable[int]) -> None:
    """Each line that is marked as an error was reported, and no other."""
    lines = (folder / WRONG).read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith("# error")}
    found = set(reported)
    assert len(marked) > 30
    assert [lines[number - 1] for number in sorted(marked ^ found)] == []
