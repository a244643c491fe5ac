"""`./run` on a machine that has python3 and nothing else: it makes its environment once, keeps it up to date, and is
then out of the way.

A small tree stands for the repository: the script itself, a command line that tells how it was started, and
requirements that ask for the installer alone.
"""

from __future__ import annotations

import ast
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]

COMMAND_LINE = """
import json, os, sys
print(json.dumps({"pid": os.getpid(), "folder": os.getcwd(), "arguments": sys.argv[1:], "prefix": sys.prefix}))
sys.exit(7)
"""

WRONG_HASH = f"idna==3.10 --hash=sha256:{'0' * 64}\n"


class Checkout:
    """A tree with `./run` in it, on a PATH that holds python3 alone."""

    def __init__(self, root: Path) -> None:
        self.root = root / "check out"
        self.bare = root / "bin"
        self.runtime = self.root / "requirements" / "runtime.txt"
        (self.root / "requirements").mkdir(parents=True)
        (self.root / "shared" / "shardweave").mkdir(parents=True)
        (self.root / "shared" / "shardweave" / "cli.py").write_text(COMMAND_LINE)
        shutil.copy(REPOSITORY / "run", self.root / "run")
        for name in ("installer.txt", "environments.py"):
            shutil.copy(REPOSITORY / "requirements" / name, self.root / "requirements")
        self.runtime.write_text("# nothing\n")
        self.bare.mkdir()
        (self.bare / "python3").symlink_to(os.path.realpath(sys.executable))

    def start(self, *arguments: str, folder: Path | None = None) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [self.root / "run", *arguments],
            cwd=folder or self.root,
            env={**os.environ, "PATH": str(self.bare)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str, folder: Path | None = None) -> tuple[int, str, str]:
        process = self.start(*arguments, folder=folder)
        output, progress = process.communicate()
        return process.returncode, output, progress


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Checkout, list[tuple[subprocess.Popen[str], str, str]]]:
    """A checkout whose environment two commands, started at once, have made; with what they said."""
    checkout = Checkout(tmp_path_factory.mktemp("run"))
    processes = [checkout.start("shardweave", "keys"), checkout.start("shardweave", "keys")]
    return checkout, [(process, *process.communicate()) for process in processes]


@pytest.fixture
def checkout(made: tuple[Checkout, Any]) -> Checkout:
    made[0].runtime.write_text("# nothing\n")
    return made[0]


def test_a_file_of_one_s_own_runs_in_the_environment(checkout: Checkout) -> None:
    program = checkout.root.parent / "program.py"
    program.write_text("import sys; print(sys.argv[1:], sys.prefix); sys.exit(3)")
    code, output, _ = checkout.run("python", str(program), "--one", folder=checkout.root.parent)
    assert (code, output) == (3, f"['--one'] {checkout.root / '.venv'}\n")


def test_a_closed_standard_output_is_the_command_s_own_affair(checkout: Checkout) -> None:
    checkout.run("python", "-c", "")
    closed = ["/bin/sh", "-c", 'exec "$0" python -c "import sys; sys.exit(sys.stdout is None and 9)" >&-']
    done = subprocess.run([*closed, checkout.root / "run"], env={**os.environ, "PATH": str(checkout.bare)}, check=False)
    assert done.returncode == 9


def test_of_two_first_starts_one_makes_the_environment_and_both_do_their_work(made: tuple[Checkout, Any]) -> None:
    checkout, starts = made
    assert [process.returncode for process, _, _ in starts] == [7, 7]
    assert sum(progress.count("Making .venv") for _, _, progress in starts) == 1
    for _, output, _ in starts:
        assert Path(json.loads(output)["prefix"]) == checkout.root / ".venv"


def test_the_command_takes_the_scripts_place_with_its_arguments_folder_and_exit_code(
    checkout: Checkout, tmp_path: Path
) -> None:
    checkout.run("shardweave")
    process = checkout.start("shardweave", "--help", "a b", "--", "-x", folder=tmp_path)
    output, progress = process.communicate()
    told = json.loads(output)
    assert told["pid"] == process.pid
    assert told["folder"] == str(tmp_path)
    assert told["arguments"] == ["--help", "a b", "--", "-x"]
    assert (process.returncode, progress) == (7, "")


def test_a_changed_requirements_file_is_installed_into_the_same_environment(checkout: Checkout) -> None:
    checkout.runtime.write_text("# changed\n")
    code, _, progress = checkout.run("shardweave")
    assert code == 7
    assert "Installing what runtime needs" in progress
    assert "Making" not in progress


def test_a_package_whose_content_is_not_the_locked_one_is_refused(checkout: Checkout) -> None:
    checkout.runtime.write_text(WRONG_HASH)
    code, output, progress = checkout.run("shardweave")
    assert (code, output) == (1, "")
    assert "error: requirements/runtime.txt could not be installed." in progress
    assert "Fix:" in progress
    checkout.runtime.write_text("# mended\n")
    assert checkout.run("shardweave")[0] == 7


def test_an_environment_whose_interpreter_is_gone_is_made_again(checkout: Checkout) -> None:
    python = checkout.root / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(checkout.root / "gone")
    code, _, progress = checkout.run("shardweave")
    assert code == 7
    assert "Making .venv" in progress


COMMANDS = re.findall('^    "([a-z-]+)":', (REPOSITORY / "run").read_text(), re.MULTILINE)


def test_help_needs_no_environment(tmp_path: Path) -> None:
    checkout = Checkout(tmp_path)
    asked = [["--help"], ["deploy", "--stage", "prod", "-h"], *([command, "--help"] for command in COMMANDS)]
    for arguments in asked:
        code, output, progress = checkout.run(*arguments)
        assert (code, progress) == (0, ""), arguments
        assert output.startswith("usage: ./run")
    assert "Exit codes: 0 done; 1 it failed" in " ".join(checkout.run("--help")[1].split())
    assert len(COMMANDS) > 10
    assert not (checkout.root / ".venv").exists()
    assert not (checkout.root / ".tools").exists()


def test_an_unknown_command_is_refused_with_those_that_there_are(tmp_path: Path) -> None:
    code, _, progress = Checkout(tmp_path).run("sreve")
    assert code == 2
    assert "'sreve'" in progress
    assert "serve" in progress


FAKE_PYTEST = """
import sys, time
from pathlib import Path
stage = next(Path(each).name for each in sys.argv if Path(each).parent.name == "tests")
behind = Path("began-e2e"), Path("began-browser")
if stage in ("e2e", "browser"):
    began = Path(f"began-{stage}")
    began.touch()
    while began.exists():
        time.sleep(0.01)
elif stage == "package":
    while not all(each.exists() for each in behind):
        time.sleep(0.01)
    for each in behind:
        each.unlink()
print("found by", stage, flush=True)
sys.exit({"e2e": 3, "browser": 0, "infra": 0, "package": 4}[stage])
"""

RUN_STAGES = """
import runpy
run = runpy.run_path("run")
stage = run["Stage"]
behind = [stage(name, group="runtime", spread="", behind=True) for name in ("e2e", "browser")]
others = [stage(name, group="runtime", spread="") for name in ("infra", "package")]
print(run["run_stages"]([*behind, *others], [], None))
print(run["run_stages"]([others[0]], [], None))
"""


def test_stages_run_behind_the_others_and_tell_what_they_found_after_them(checkout: Checkout) -> None:
    (checkout.root / "shared" / "pytest.py").write_text(FAKE_PYTEST)
    command = [sys.executable, "-c", RUN_STAGES]
    done = subprocess.run(command, check=True, cwd=checkout.root, capture_output=True, text=True)
    assert done.stdout.splitlines() == [
        "found by infra",
        "found by package",
        "found by e2e",
        "found by browser",
        "{'infra': 0, 'package': 4, 'e2e': 3, 'browser': 0}",
        "found by infra",
        "{'infra': 0}",
    ]
    for stage in ("e2e", "browser"):
        assert f"== {stage} tests, which ran while the others did ==" in done.stderr


RUN_ONE_STAGE = """
import runpy
run = runpy.run_path("run")
run["run_stages"]([run["Stage"]("package", group="runtime", spread="")], [], None)
"""
WRITES_BYTECODE = """
import subprocess, sys
subprocess.run([sys.executable, "-c", "import sys; print(sys.dont_write_bytecode, sys.pycache_prefix)"], check=True)
"""


@pytest.mark.parametrize("given", ["", "1"])
def test_where_bytecode_may_not_be_beside_its_source_that_of_tests_is_in_a_folder_of_ours(
    checkout: Checkout, given: str
) -> None:
    (checkout.root / "shared" / "pytest.py").write_text(WRITES_BYTECODE)
    done = subprocess.run(
        [sys.executable, "-c", RUN_ONE_STAGE],
        check=True,
        cwd=checkout.root,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": given, "PYTHONPYCACHEPREFIX": ""},
        capture_output=True,
        text=True,
    )
    assert done.stdout == f"False {checkout.root / '.tools' / 'bytecode' if given else None}\n"


def test_an_old_python_can_read_the_script_far_enough_to_refuse_itself() -> None:
    ast.parse((REPOSITORY / "run").read_text(), feature_version=(3, 6))
