"""Random choices that are the same on every machine and in every version of Python."""

from __future__ import annotations

import random
import string
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

_ID_CHARACTERS = string.ascii_letters + string.digits + "-_"


class Chance:
    """Made from `random()` alone, whose sequence never changes for a seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)

    def below(self, limit: int) -> int:
        return int(self._random.random() * limit)

    def skewed(self, limit: int) -> int:
        """Small numbers more often than large ones."""
        return int(self._random.random() ** 2 * limit)

    def one_of(self, items: Sequence[T]) -> T:
        return items[self.below(len(items))]

    def identifier(self) -> str:
        return "".join(self.one_of(_ID_CHARACTERS) for _ in range(21))
