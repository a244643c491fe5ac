"""The repository's sources, as far as what is deployed is made of them."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]

_NOT_SOURCES = ("__pycache__", "*.pyc")


def source_files(sources: Iterable[Path]) -> list[Path]:
    """Every file of the sources, in order."""
    found: set[Path] = set()
    for source in sources:
        found |= {path for path in source.rglob("*") if path.is_file()} if source.is_dir() else {source}
    return sorted(path for path in found if not any(path.match(part) or part in path.parts for part in _NOT_SOURCES))


def copy_sources(folder: Path, into: Path) -> None:
    """A folder's sources, without what Python made of them."""
    shutil.copytree(folder, into / folder.name, ignore=shutil.ignore_patterns(*_NOT_SOURCES))
