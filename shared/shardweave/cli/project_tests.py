"""`shardweave test`: runs the project's tests. Further arguments are passed to pytest, whose exit code is returned."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence

from ..database.project import TEMPLATES, command_name, project_folder

HELP = """usage: {name} [pytest's arguments]

The project's tests, with pytest: the files test_*.py in the project's folder and below it.

  {name} -k owner               the tests whose names have `owner`
  {name} test_orders.py -x      those of a file, until the first that fails
  python -m pytest --help       all that pytest takes

Exit codes are pytest's: 0 all passed; 1 a test failed; 2 it was stopped; 4 the arguments are wrong; 5 no test found.
"""


def main(arguments: Sequence[str]) -> int:
    """pytest's exit code: 1 if a test failed, 5 if there are no tests."""
    if arguments and arguments[0] in ("-h", "--help"):
        print(HELP.format(name=command_name("test")), end="")
        return 0
    folder = project_folder()
    # A folder that is named here precedes installed packages on Python's path; pytest finds the tests.
    variables = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, [str(folder), os.environ.get("PYTHONPATH")]))}
    # The output of `synth` contains packages for another machine, which are not part of the project.
    command = [sys.executable, "-m", "pytest", f"--ignore={folder / TEMPLATES}", *arguments]
    return subprocess.run(command, cwd=folder, env=variables, check=False).returncode
