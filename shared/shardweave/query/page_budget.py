"""The byte budget of a page: how many bytes the records of an answer may take.

Two sizes are limited: reading stops at a number of stored bytes (as the table counts them), and the page ends at a
number of answered bytes, for which `sizes_of` measures the written records. Neither includes private properties, since
the end of a page would reveal their length. The first record of a page always fits, so that a walk always advances.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ..schema.entity_type import EntityType
from ..table.values import Item, item_bytes
from .spec import CutBy


@dataclass(frozen=True)
class PageBudget:
    """`bytes` is the limit of the page. `sizes_of` returns the size of each record of a page, or only of the first
    ones; then `short_of` says which limit the others exceed. `form` converts a record to its form in the answer. Both
    raise RecordUnreadable if a record can't be answered; `sizes_of` only for the first one. `direct` is what is
    answered of each of an entity's whole stored items without a record of it, None where one has to be made."""

    bytes: int
    sizes_of: Callable[[Sequence[Any]], Iterable[int]]
    short_of: Callable[[], CutBy] = lambda: "bytes"
    form: Callable[[Any], Any] = lambda record: record
    direct: Callable[[EntityType[Any], Sequence[Item]], Sequence[Any]] = lambda entity, items: [None] * len(items)

    def answered(self, records: Sequence[Any]) -> tuple[int, CutBy]:
        """How many of the first records fit in their answered form, and which limit the next one exceeds."""
        sizes = list(self.sizes_of(records))
        count = fitting(sizes, self.bytes)
        return count, "bytes" if count < len(sizes) else self.short_of()


def stored(entity: EntityType[Any]) -> Callable[[Item], int]:
    """The size of an entity's items in their stored form, without private properties."""
    shown = {name for name, each in entity.properties.items() if not each.private}
    if len(shown) == len(entity.properties):
        return item_bytes
    # Attributes other than properties may contain private ones, such as the key of an index that is not exposed.
    return lambda item: item_bytes({name: value for name, value in item.items() if name in shown})


def fitting(sizes: Iterable[int], limit: int) -> int:
    """How many of the first sizes are within a limit together; at least one, if there is one."""
    total = count = 0
    for size in sizes:
        total += size
        if count and total > limit:
            break
        count += 1
    return count
