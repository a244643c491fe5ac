"""The environment of pydynox, in `.tools/bench`: made by the benchmark that compares with it, when it first runs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PACKAGE = "pydynox"
_ENVIRONMENT = Path(__file__).parents[2] / ".tools" / "bench" / PACKAGE
_PYTHON = _ENVIRONMENT / "bin" / "python"


def python() -> Path | None:
    """The interpreter that has the peer, or None where it can't be installed."""
    if not _PYTHON.exists():
        subprocess.run([sys.executable, "-m", "venv", _ENVIRONMENT], check=True)
    if _version() is None:
        print(f"Installing {PACKAGE} ...", file=sys.stderr, flush=True)
        subprocess.run([_PYTHON, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", PACKAGE], check=False)
    return _PYTHON if _version() is not None else None


def version() -> str:
    """Of the installed peer."""
    return _version() or "not installed"


def _version() -> str | None:
    code = f"from importlib.metadata import version; print(version('{PACKAGE}'))"
    done = subprocess.run([_PYTHON, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
