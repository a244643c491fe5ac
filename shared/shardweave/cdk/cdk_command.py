"""Running the CDK's command line in the project."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from ..database.project import project_folder
from .tools import cdk_program, with_node

WORD_SECONDS = 15.0
"""The seconds after which a command whose output is not shown reports that it is still running."""


def cdk(arguments: Sequence[str], *, variables: Mapping[str, str] | None = None, quiet: bool = False) -> int:
    """Run `cdk` in the project, and return its exit code. With `quiet`, its output is shown only if it fails, apart
    from a sign that it is running. If this process is told to stop, it stops the command. Raises ConfigurationError."""
    command, folder = [*cdk_program(), *arguments], project_folder()
    python = str(Path(sys.executable).parent)
    own = {**(os.environ if variables is None else variables), "PATH": f"{python}{os.pathsep}{with_node()['PATH']}"}
    if quiet:
        code, written = run_quietly(command, folder, own, still=_still)
        if code:
            print(written[-6000:], flush=True)
        return code
    child = subprocess.Popen(command, cwd=folder, env=own)
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        return child.wait()
    except KeyboardInterrupt:
        child.wait()
        return 130
    finally:
        signal.signal(signal.SIGTERM, before)
        if child.poll() is None:
            child.terminate()
            child.wait()


def run_quietly(
    command: Sequence[str],
    folder: Path,
    variables: Mapping[str, str],
    *,
    still: Callable[[float], None],
    every_seconds: float = WORD_SECONDS,
) -> tuple[int, str]:
    """The exit code and the output of a program. While it runs, `still` is called from time to time with its
    duration."""
    started = time.monotonic()
    with subprocess.Popen(
        command, cwd=folder, env=variables, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as child:
        while True:
            try:
                written, _ = child.communicate(timeout=every_seconds)
            except subprocess.TimeoutExpired:
                still(time.monotonic() - started)
            except BaseException:
                child.kill()
                raise
            else:
                return child.returncode, written


def _still(seconds: float) -> None:
    print(f"  ... {seconds:.0f} s", file=sys.stderr, flush=True)
