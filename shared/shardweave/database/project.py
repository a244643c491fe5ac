"""Where things are: the project that commands work in, and what the library brings along.

A project is the folder of a `cdk.json`: the current one, or the nearest above it; without one it is the current folder.
`SHARDWEAVE_PROJECT` names it whatever the current folder is. Its data folder, its templates and its tools lie in it.
In a checkout of the library's own repository, functions and locks stand at its top; installed, they lie in `cdk/`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1]
PROJECT_VARIABLE = "SHARDWEAVE_PROJECT"
CDK_FILE = "cdk.json"
TEMPLATES = "cdk.out"
"""Where the CDK puts templates and assets, in the project."""


def project_folder() -> Path:
    """The folder of the project."""
    named = os.environ.get(PROJECT_VARIABLE)
    if named:
        return Path(named).resolve()
    here = Path.cwd()
    return next((folder for folder in (here, *here.parents) if (folder / CDK_FILE).is_file()), here)


def data_folder() -> Path:
    """The folder of the local server's tables, unless another one is named."""
    return project_folder() / ".data"


def tools_folder() -> Path:
    """The folder of what commands make for themselves: the CDK's command line, the emulator, the layer's packages."""
    return project_folder() / ".tools"


def checkout() -> Path | None:
    """The library's own repository, where it is run from there."""
    root = LIBRARY.parents[1] if len(LIBRARY.parents) > 1 else LIBRARY
    return root if (root / "run").is_file() and (root / "functions").is_dir() else None


def brought(name: str) -> Path:
    """What comes with the library: `functions`, or `requirements`."""
    root = checkout()
    return LIBRARY / "cdk" / name if root is None else root / name


def guide(page: str) -> str:
    """Where a page of the guides is: `docs/` in the library's own repository, else the copy that the wheel brings."""
    root = checkout()
    return str(LIBRARY / "cli" / "guides" / page) if root is None else f"docs/{page}"


def command_name(name: str) -> str:
    """How a command is called here: `./run deploy` in the library's own repository, else `shardweave deploy`."""
    root = checkout()
    return f"./run {name}" if root is not None and root == project_folder() else f"shardweave {name}"


def shown_path(path: Path) -> str:
    """A path as it is named in the project."""
    folder = project_folder()
    return path.relative_to(folder).as_posix() if path.is_relative_to(folder) else str(path)


def committed_context(file: Path | None = None) -> dict[str, object]:
    """What the project's `cdk.json` chooses; nothing where there is none."""
    file = file or project_folder() / CDK_FILE
    if not file.is_file():
        return {}
    context = json.loads(file.read_text()).get("context", {})
    return dict(context) if isinstance(context, dict) else {}
