"""The Python environments of this repository, which `./run` makes the first time that one is needed, and again when a
requirements file changes.

An environment has the packages of a group's hashed file in this folder, and of the groups before it. The stamp in it
(`made-by-run.json`) says what made it. Needs the standard library alone.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

REQUIREMENTS = Path(__file__).resolve().parent
ROOT = REQUIREMENTS.parent
TOOLS = ROOT / ".tools"


class Failure(Exception):
    """Something that the user has to know or mend; its text is shown as it is."""


def say(text: str) -> None:
    """Progress goes to standard error: standard output belongs to the command."""
    print(text, file=sys.stderr, flush=True)


@dataclass(frozen=True)
class Environment:
    """A Python environment. Each of `groups` names a requirements file that contains all of those before it.

    The stamp in it records what made it: the interpreter, and the hash of each group's file as installed. It is
    written last, so an environment whose making was cut short has none, or an old one, and is brought up again.
    """

    path: Path
    groups: tuple[str, ...]
    has_pip: bool = False
    sees_repository: bool = False

    @property
    def python(self) -> Path:
        return self.path / "bin" / "python"

    @property
    def packages(self) -> Path:
        (folder,) = self.path.glob("lib/python3*/site-packages")
        return folder

    def ensure(self, group: str) -> Path:
        """The interpreter of this environment, with `group` installed."""
        if not self.holds(group):
            with only_one_at_a_time():
                self.ensure_alone(group)
        return self.python

    def holds(self, group: str) -> bool:
        return self._usable() and self._read_stamp().get(group) == file_hash(requirements_file(group))

    def ensure_alone(self, group: str) -> None:
        """The same, for a caller that holds the lock."""
        if self.holds(group):
            return
        if not self._usable():
            self._make()
        install(group, into=self)
        held = self._read_stamp()
        for contained in self.groups[: self.groups.index(group) + 1]:
            held[contained] = file_hash(requirements_file(contained))
        self._write_stamp(held)

    def _usable(self) -> bool:
        """False also when the interpreter that it was made from is gone, or has become another version."""
        made_from = self._read_stamp().get("python")
        return made_from is not None and self.python.exists() and made_from == os.path.realpath(self.python)

    def _make(self) -> None:
        if not all(importlib.util.find_spec(module) for module in ("venv", "ensurepip")):
            raise Failure(
                f"{sys.executable} comes without the modules venv and ensurepip, so no environment can be made.\n"
                "Fix: install them (Debian and Ubuntu: apt-get install python3-venv), or use another python3."
            )
        say(f"Making {self.path.relative_to(ROOT)} with Python {sys.version.split()[0]}, the first time only ...")
        options = ["--clear"] if self.has_pip else ["--clear", "--without-pip"]
        made = captured([sys.executable, "-m", "venv", *options, self.path])
        if made.returncode:
            raise Failure(
                f"python -m venv failed:\n{made.stdout}\nFix: see above; is the folder writable, is there space?"
            )
        if self.sees_repository:
            up = Path(os.path.relpath(ROOT, self.packages))
            (self.packages / "repository.pth").write_text(f"{up / 'shared'}\n{up}\n")
        self._write_stamp({"python": os.path.realpath(self.python)})

    def _read_stamp(self) -> dict[str, str]:
        try:
            return dict(json.loads(self._stamp.read_text()))
        except (OSError, ValueError):
            return {}

    def _write_stamp(self, content: dict[str, str]) -> None:
        new = self._stamp.with_suffix(".new")
        new.write_text(json.dumps(content, indent=1))
        new.replace(self._stamp)

    @property
    def _stamp(self) -> Path:
        return self.path / "made-by-run.json"


MAIN = Environment(ROOT / ".venv", ("installer", "runtime", "dev", "cdk"), has_pip=True, sees_repository=True)


def requirements_file(group: str) -> Path:
    return REQUIREMENTS / f"{group}.txt"


def file_hash(*files: Path) -> str:
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()


def install(group: str, into: Environment) -> None:
    """With uv, which takes seconds where pip takes minutes; with pip where uv can't (uv does not read pip.conf)."""
    file = requirements_file(group)
    tools: list[list[str | Path]] = [
        [MAIN.python, "-m", "pip", "--python", into.python, "install", "--disable-pip-version-check"]
    ]
    if group != "installer":
        MAIN.ensure_alone("installer")
        compiled = ["--compile-bytecode"] if group == "runtime" else []
        tools.insert(0, [MAIN.path / "bin" / "uv", "pip", "install", "--python", into.python, *compiled])
    say(f"Installing what {group} needs: {file.read_text().count('==')} package(s) ...")
    began = time.monotonic()
    for tool in tools:
        if shown([*tool, "--require-hashes", "--no-deps", "--only-binary", ":all:", "-r", file]):
            say(f"Installed in {time.monotonic() - began:.0f} s")
            return
    raise Failure(
        f"{file.relative_to(ROOT)} could not be installed.\n"
        "Fix: see above; the first start has to reach a Python package index (pip's own settings apply)."
    )


def shown(command: Sequence[str | Path]) -> bool:
    """Run an installer: with its own progress bars on a terminal; elsewhere it is silent unless it fails."""
    if sys.stderr.isatty():
        return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, check=False).returncode == 0
    done = captured(command)
    if done.returncode:
        say(done.stdout[-3000:])
    return done.returncode == 0


def captured(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run to the end, silently; `stdout` holds all that was printed."""
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    return subprocess.run(command, text=True, errors="replace", check=False, **streams, **options)


@contextlib.contextmanager
def only_one_at_a_time() -> Iterator[None]:
    """Held while something is made beside this file. The system lets go of it when the process ends, however."""
    try:
        import fcntl
    except ImportError:
        raise Failure("this script needs Linux or macOS.\nFix: on Windows, use its Subsystem for Linux.") from None
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("Another ./run is making the environment; waiting for it ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
