"""The programs that type checkers are shown, in a folder of their own, beside the service of the README
and an example."""

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
RIGHT = ("orders.py", *OWN, *EXAMPLE)
WRONG = "misuses.py"


def programs_in(folder: Path) -> None:
    """Write the programs into a folder."""
    (program,) = re.findall(r"```python\n((?:.|\n)*?)```", (ROOT / "README.md").read_text(encoding="utf-8"))
    (folder / "orders.py").write_text(program, encoding="utf-8")
    for name in (*OWN, WRONG):
        shutil.copy(HERE / name, folder)
    for name in EXAMPLE:
        shutil.copy(ROOT / "examples" / "support_desk" / name, folder)


def check_misuses(folder: Path, checker: str, reported: Iterable[int]) -> None:
    """Each line that is marked as an error, of both or of this checker alone, was reported, and no other."""
    lines = (folder / WRONG).read_text(encoding="utf-8").splitlines()
    marked = {number for number, line in enumerate(lines, 1) if line.endswith(("# error", f"# error to {checker}"))}
    found = set(reported)
    assert len(marked) > 28
    assert [lines[number - 1] for number in sorted(marked ^ found)] == []
