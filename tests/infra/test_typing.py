"""pyright: right programs have no error, wrong ones have each. It needs Node, which this stage has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.typing.programs import RIGHT, SHARED, WRONG, check_misuses, programs_in


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    programs_in(tmp_path)
    settings = {"extraPaths": [str(SHARED)], "pythonVersion": "3.11"}
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    return tmp_path


def pyright(folder: Path, *files: str) -> list[dict[str, Any]]:
    """The errors and warnings that it finds, by the copy of it that the package brings."""
    found = subprocess.run(
        [sys.executable, "-P", "-m", "pyright", "--pythonpath", sys.executable, "--outputjson", *files],
        check=False,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"},
    )
    said: list[dict[str, Any]] = json.loads(found.stdout)["generalDiagnostics"]
    return said


def test_a_program_and_its_tests_have_no_error(folder: Path) -> None:
    assert [
        (each["file"], each["range"]["start"]["line"] + 1, each["message"]) for each in pyright(folder, *RIGHT)
    ] == []


def test_wrong_use_is_an_error(folder: Path) -> None:
    errors = [each for each in pyright(folder, WRONG) if each["severity"] == "error"]
    check_misuses(folder, (each["range"]["start"]["line"] + 1 for each in errors))
