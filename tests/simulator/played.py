"""Histories of one run of tests. Several tests look at the same ones: each is played once, by whichever process of the
run asks for it first, and what it told is kept in a folder of the run for the others."""

from __future__ import annotations

import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import pytest

T = TypeVar("T")


class Played(Generic[T]):
    """What the histories of some seeds told. A history that goes wrong raises for everybody who asks."""

    def __init__(self, folder: Path, play: Callable[[int], T]) -> None:
        folder.mkdir(exist_ok=True)
        self._folder = folder
        self._play = play

    def __call__(self, seed: int) -> T:
        kept = self._folder / str(seed)
        if kept.exists():
            found: T = pickle.loads(kept.read_bytes())
            return found
        told = self._play(seed)
        written = kept.with_suffix(f".{os.getpid()}")
        written.write_bytes(pickle.dumps(told))
        written.replace(kept)
        return told


def folder_of_run(factory: pytest.TempPathFactory) -> Path:
    """A folder that all processes of this run of tests share."""
    own = factory.getbasetemp()
    return own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
