"""`shardweave test`: the project's tests. What stands behind it goes to pytest, whose exit code it has."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from ..project import TEMPLATES, project_folder


def main(arguments: Sequence[str]) -> int:
    """pytest's exit code: 1 a test failed, 5 there was none."""
    folder = project_folder()
    # Python looks in a folder that it is told of before it looks among what is installed; pytest finds the tests.
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}
    # What was synthesized holds packages, for another machine: none of them is the project's.
    command = [sys.executable, "-m", "pytest", f"--ignore={folder / TEMPLATES}", *arguments]
    return subprocess.run(command, cwd=folder, env=variables, check=False).returncode
