"""The room that a page has: how many bytes its records may take where they are answered.

The reading stops by what is stored (as the table counts it), the page by what is answered: `sizes_of` measures records
as they are written. The first record of a page always fits, so that a walk always advances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..table.values import Item, item_bytes


@dataclass(frozen=True)
class Room:
    """`bytes` in all; `sizes_of` gives those of each record of a page."""

    bytes: int
    sizes_of: Callable[[Sequence[Any]], Iterable[int]]

    def answered(self, records: Sequence[Any]) -> int:
        """How many of the first records fit as they are answered."""
        return fitting(self.sizes_of(records), self.bytes)


def stored(items: Iterable[Item], limit: int) -> int:
    """How many of the first items fit as they are stored."""
    return fitting(map(item_bytes, items), limit)


def fitting(sizes: Iterable[int], limit: int) -> int:
    """How many of the first sizes stay within a limit together; at least the first, if there is one."""
    total = count = 0
    for size in sizes:
        total += size
        if count and total > limit:
            break
        count += 1
    return count
