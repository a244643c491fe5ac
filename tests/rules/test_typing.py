"""mypy, strict and as a program that uses the library runs it: right programs have no error, wrong ones have each."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.typing.programs import RIGHT, ROOT, SHARED, WRONG, check_misuses, programs_in

CONFIGURATION = "[mypy]\nstrict = True\n[mypy-botocore.*]\nignore_missing_imports = True\n"
"""Where the library is installed, mypy says nothing of what is inside it; here it is read from its source."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    programs_in(tmp_path)
    (tmp_path / "mypy.ini").write_text(CONFIGURATION)
    return tmp_path


def mypy(folder: Path, *files: str) -> tuple[int, str]:
    arguments = ["--no-pretty", "--no-error-summary", "--cache-dir", str(ROOT / ".mypy_cache" / "programs"), *files]
    found = subprocess.run(
        [sys.executable, "-P", "-m", "mypy", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "MYPYPATH": str(SHARED)},
    )
    return found.returncode, found.stdout + found.stderr


def test_a_program_and_its_tests_have_no_error(folder: Path) -> None:
    assert mypy(folder, *RIGHT) == (0, "")


def test_wrong_use_is_an_error(folder: Path) -> None:
    _, said = mypy(folder, WRONG)
    check_misuses(folder, map(int, re.findall(rf"^{WRONG}:(\d+): error:", said, re.MULTILINE)))
