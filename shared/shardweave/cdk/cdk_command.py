"""The CDK command line of this repository, run to its end."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence

from .sources import ROOT


def cdk(arguments: Sequence[str], *, variables: Mapping[str, str] | None = None, quiet: bool = False) -> int:
    """Run `cdk` in the repository, and give its exit code. `quiet` shows nothing of it unless it fails."""
    command = [str(ROOT / "run"), "cdk", *arguments]
    if not quiet:
        return subprocess.run(command, cwd=ROOT, env=variables, check=False).returncode
    done = subprocess.run(
        command, cwd=ROOT, env=variables, check=False, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    if done.returncode:
        print(done.stdout[-6000:], flush=True)
    return done.returncode
