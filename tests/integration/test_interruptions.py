"""Ctrl+C ends a command at any moment with its exit code and at most one line, and never with a traceback.

A child sends the signal to itself at a moment that the test names: at the Nth import, in the middle of its work, where
Python can raise nothing, while it becomes another program, or when it has ended.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.local_server import START_SECONDS

ROOT = Path(__file__).resolve().parents[2]

CHILD = """
import atexit, os, runpy, signal, sys, weakref

moment, since, kind, name = sys.argv[1:5]
sys.argv[:] = sys.argv[4:]
counted = None

def interrupt(*_):
    os.kill(os.getpid(), signal.SIGINT)

class Collected:
    pass

def collect():
    one = Collected()
    kept = weakref.ref(one, interrupt)
    del one

def watch(event, arguments):
    global counted
    if event == "import":
        if arguments[0] == since:
            counted = 0
        if counted is not None:
            counted += 1
            if str(counted) == moment:
                interrupt()
    elif event == moment:
        interrupt()
    elif moment == "collection" and event == "sqlite3.connect":
        collect()

sys.addaudithook(watch)
if moment == "end":
    atexit.register(interrupt)
if moment == "none":
    atexit.register(lambda: print(counted, file=sys.stderr))
if kind == "module":
    runpy.run_module(name, run_name="__main__", alter_sys=True)
else:
    runpy.run_path(name, run_name="__main__")
"""


def interrupted(moment: str | int, since: str, kind: str, *command: str) -> subprocess.CompletedProcess[str]:
    """What became of a command that was interrupted at a moment: imports are counted `since` one of a module."""
    return subprocess.run(
        [sys.executable, "-P", "-c", CHILD, str(moment), since, kind, *command],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
    )


def imports(since: str, kind: str, *command: str) -> int:
    """How many imports a command makes."""
    return int(interrupted("none", since, kind, *command).stderr.split()[-1])


MODULES = ("shardweave", "shardweave.cli")
MAIN = "shardweave.cli.main"


@pytest.mark.parametrize("module", MODULES)
def test_at_every_stage_of_loading_it_ends_silently(module: str) -> None:
    count = imports(MAIN, "module", module, "catalog")
    assert count > 200
    for moment in (1, 2, *range(5, count, count // 6)):
        done = interrupted(moment, MAIN, "module", module, "catalog")
        assert (done.returncode, done.stderr) == (130, ""), moment


def test_so_does_a_server_with_its_own_exit_code(tmp_path: Path) -> None:
    command = ("--port", "0", "--empty", "--data", str(tmp_path))
    for moment in (1, 2, 50, 200):
        by_name = interrupted(moment, MAIN, "module", "shardweave", "serve", *command)
        itself = interrupted(moment, "shardweave.local.serve", "module", "shardweave.local", *command)
        assert (by_name.returncode, by_name.stderr, itself.returncode, itself.stderr) == (0, "", 0, ""), moment


def test_the_script_of_the_repository_too() -> None:
    count = imports("argparse", "path", "run", "--help")
    assert count > 20
    for moment in (1, 2, *range(5, count, count // 4)):
        done = interrupted(moment, "argparse", "path", "run", "--help")
        assert (done.returncode, done.stderr) == (130, ""), moment


def test_one_that_comes_while_the_script_becomes_the_command_is_not_lost() -> None:
    done = interrupted("os.exec", "", "path", "run", "shardweave", "catalog")
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_after_the_work_it_ends_silently_too() -> None:
    done = interrupted("end", "", "module", "shardweave", "catalog")
    assert (done.returncode, done.stderr) == (130, "")
    assert done.stdout, "what was done is told"


@pytest.mark.parametrize("moment", ["sqlite3.connect", "collection"])
def test_long_work_says_how_it_goes_on(moment: str, tmp_path: Path) -> None:
    """Where Python can raise nothing, as while an object is collected, the interruption comes a little later: in the
    work, or when it has ended."""
    data = ("--data", str(tmp_path))
    made = subprocess.run(
        [sys.executable, "-P", "-m", "shardweave", "load", "-", *data],
        cwd=ROOT,
        input="",
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
    )
    assert made.returncode == 0, made.stderr
    done = interrupted(moment, "", "module", "shardweave", "rewrite", *data)
    assert done.returncode == 130
    assert "Traceback" not in done.stderr
    if moment == "sqlite3.connect":
        assert done.stderr == "stopped; the same command goes on where this one came to\n"
