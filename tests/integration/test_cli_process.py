"""The commands as processes: with closed streams, and interrupted while they are being loaded."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.integration.local_server import START_SECONDS

ROOT = Path(__file__).resolve().parents[2]


def shell(line: str) -> subprocess.CompletedProcess[str]:
    """What became of a line, in which `$CLI` is the command."""
    command = f'CLI="{sys.executable} -P -m shardweave.cli"; {line}'
    return subprocess.run(["sh", "-c", command], capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("$CLI keys --entity user <&-", "error: it can't be read: it is closed. Fix: give a file, or lines"),
        ("$CLI catalog >&-", "error: standard output can't be written: it is closed"),
        ("$CLI --help >&-", "error: standard output can't be written: it is closed"),
    ],
)
def test_a_closed_stream_is_an_error_like_others(line: str, error: str) -> None:
    done = shell(line)
    assert done.returncode in (1, 2)
    assert done.stderr.startswith(error)
    assert len(done.stderr.splitlines()) == 1


def test_what_can_not_be_said_is_lost_and_no_answer() -> None:
    done = shell("echo '{}' | $CLI keys --entity user 2>&-; echo $?")
    assert (done.stdout, done.stderr) == ("1\n", "")


INTERRUPTED = """
import os, runpy, sys
_, number, module, *sys.argv[1:] = sys.argv

class Interrupting:
    def find_spec(name, path=None, target=None):
        if name == "pydantic_core":
            sys.meta_path.remove(Interrupting)
            os.kill(os.getpid(), int(number))

sys.meta_path.insert(0, Interrupting)
runpy.run_module(module, run_name="__main__", alter_sys=True)
"""
"""Runs a module as a program that gets a signal when it has been loaded in part."""


@pytest.mark.parametrize(
    ("module", "arguments", "number", "code"),
    [
        ("shardweave.cli", ["catalog"], signal.SIGINT, 130),
        ("shardweave.cli", ["serve", "--port", "0", "--empty"], signal.SIGINT, 0),
        ("shardweave.cli", ["serve", "--port", "0", "--empty"], signal.SIGTERM, 0),
        ("shardweave.local", ["--port", "0", "--empty"], signal.SIGINT, 0),
        ("shardweave.local", ["--port", "0", "--empty"], signal.SIGTERM, 0),
    ],
)
def test_an_interruption_while_it_is_loaded_is_silent(
    module: str, arguments: list[str], number: signal.Signals, code: int, tmp_path: Path
) -> None:
    command = [sys.executable, "-P", "-c", INTERRUPTED, str(int(number)), module, *arguments, "--data", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=START_SECONDS)
    assert done.returncode == code
    assert "Traceback" not in done.stderr


def test_a_reader_that_goes_away_is_no_failure_to_report() -> None:
    endless = f"import sys\nwhile True: sys.stdout.write({json.dumps(json.dumps({'userId': 'u'}))} + '\\n')"
    command = '"$0" -c "$1" 2>/dev/null | "$0" -m shardweave.cli keys --entity user | head -n 1'
    done = subprocess.run(
        ["sh", "-c", command, sys.executable, endless],
        capture_output=True,
        text=True,
        check=False,
        timeout=START_SECONDS,
        env={"PYTHONPATH": "shared", "PATH": "/usr/bin:/bin", "LC_ALL": "C"},
        cwd=Path(__file__).parents[2],
    )
    assert done.stdout.startswith('{"userId": "u", "hashKey": "user!2"')
    assert done.stderr == ""
