"""The wheel, built once a run, and empty environments that it is installed into with one extra each."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from uv import find_uv_bin

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Installed:
    """An environment that holds the wheel with one extra, and an empty folder beside it."""

    home: Path
    folder: Path

    def run(
        self, *command: str, folder: Path | None = None, code: int = 0, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment, which sees nothing else."""
        own = {"PATH": f"{self.home / 'bin'}:/usr/bin:/bin", "HOME": str(self.folder), "NO_COLOR": "1", **variables}
        program = [str(self.home / "bin" / command[0]), *command[1:]]
        done = subprocess.run(
            program, cwd=folder or self.folder, env=own, capture_output=True, text=True, check=False, timeout=600
        )
        assert done.returncode == code, done.stdout[-3000:] + done.stderr[-3000:]
        return done

    def python(self, statement: str) -> str:
        """What a program prints."""
        return self.run("python", "-c", statement).stdout.strip()


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)],
        cwd=ROOT,
        capture_output=True,
        check=True,
    )
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Installed]:
    made: dict[str, Installed] = {}

    def with_extra(extra: str) -> Installed:
        if extra not in made:
            home, folder = tmp_path_factory.mktemp("environment"), tmp_path_factory.mktemp("empty")
            uv = [find_uv_bin(), "--quiet"]
            subprocess.run([*uv, "venv", "--clear", "--python", sys.executable, str(home)], check=True)
            wanted = f"{wheel}[{extra}]" if extra else str(wheel)
            known = ["--constraint", str(ROOT / "requirements" / "cdk.txt")]
            install = [*uv, "pip", "install", "--no-config", "--python", str(home / "bin" / "python"), *known, wanted]
            subprocess.run(install, check=True)
            made[extra] = Installed(home, folder)
        return made[extra]

    return with_extra
