"""The CDK's command line in the project, run to its end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..project import project_folder
from .tools import cdk_program, with_node


def cdk(arguments: Sequence[str], *, variables: Mapping[str, str] | None = None, quiet: bool = False) -> int:
    """Run `cdk` in the project, and give its exit code. `quiet` shows nothing of it unless it fails. When this process
    is told to stop, so is that one. Raises ConfigurationError."""
    command, folder = [*cdk_program(), *arguments], project_folder()
    python = str(Path(sys.executable).parent)
    own = {**(os.environ if variables is None else variables), "PATH": f"{python}{os.pathsep}{with_node()['PATH']}"}
    if quiet:
        done = subprocess.run(
            command, cwd=folder, env=own, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        if done.returncode:
            print(done.stdout[-6000:], flush=True)
        return done.returncode
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
