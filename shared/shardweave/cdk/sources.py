"""The repository's sources, as far as what is deployed is made of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

LIBRARY = Path(__file__).resolve().parents[1]
ROOT = LIBRARY.parents[1]
NOT_DEPLOYED = ("cdk", "cli", "local")
"""What of the library no function needs: folders below it."""

_NOT_SOURCES = ("__pycache__", "*.pyc")


def source_files(sources: Iterable[Path]) -> list[Path]:
    """Every file of the sources, in order."""
    found: set[Path] = set()
    for source in sources:
        found |= {path for path in source.rglob("*") if path.is_file()} if source.is_dir() else {source}
    left_out = tuple(LIBRARY / name for name in NOT_DEPLOYED)
    return sorted(
        path
        for path in found
        if not any(path.match(part) or part in path.parts for part in _NOT_SOURCES)
        and not any(path.is_relative_to(folder) for folder in left_out)
    )


def copy_sources(folder: Path, into: Path) -> None:
    """A folder's sources, without what Python made of them."""
    for file in source_files((folder,)):
        copy = into / folder.name / file.relative_to(folder)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
