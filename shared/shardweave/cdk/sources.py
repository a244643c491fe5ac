"""The source files of deployments."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from pathlib import Path

from ..database.project import LIBRARY, project_folder

ROOT = project_folder()
NOT_DEPLOYED = ("__main__.py", "cdk", "cli", "local")
"""Parts of the library that no function needs."""

_NOT_SOURCES = ("__pycache__", "*.pyc", "_samples")
"""Files that Python makes from sources, and sample data, which only the local server uses."""


def source_files(sources: Collection[Path]) -> list[Path]:
    """Every file of the sources, sorted."""
    found: set[Path] = set()
    for source in sources:
        found |= {path for path in source.rglob("*") if path.is_file()} if source.is_dir() else {source}
    # In an installed library, the functions' sources are in a folder of the library, but are not part of it.
    left_out = tuple(LIBRARY / name for name in NOT_DEPLOYED) if LIBRARY in sources else ()
    return sorted(
        path
        for path in found
        if not any(path.match(part) or part in path.parts for part in _NOT_SOURCES)
        and not any(path.is_relative_to(folder) for folder in left_out)
    )


def copy_sources(source: Path, into: Path) -> None:
    """Copy a folder's sources, or a file, without files that Python makes from sources."""
    for file in source_files((source,)):
        copy = into / file.relative_to(source.parent)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
