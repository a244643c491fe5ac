"""The room that a page has: how many bytes its records may take where they are answered.

The reading stops by what is stored (as the table counts it), the page by what is answered: `sizes_of` measures records
as they are written. Neither counts what is private, since where a page ends would tell how long that is. The first
record of a page always fits, so that a walk always advances.
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
    """`bytes` in all; `sizes_of` gives those of each record of a page, or of the first ones only, and `short_of` then
    says what there was not enough of for the others. `form` is what is answered of each record. Both raise
    RecordUnreadable where a record can't be answered: `sizes_of` of the first one only. `direct` is what is answered of
    a whole stored item without a record of it, None where one has to be made."""

    bytes: int
    sizes_of: Callable[[Sequence[Any]], Iterable[int]]
    short_of: Callable[[], CutBy] = lambda: "bytes"
    form: Callable[[Any], Any] = lambda record: record
    direct: Callable[[Item], Any] = lambda item: None

    def answered(self, records: Sequence[Any]) -> tuple[int, CutBy]:
        """How many of the first records fit as they are answered, and what there was not enough of for the rest."""
        sizes = list(self.sizes_of(records))
        count = fitting(sizes, self.bytes)
        return count, "bytes" if count < len(sizes) else self.short_of()


def stored(entity: EntityType[Any], items: Iterable[Item], limit: int) -> int:
    """How many of the first items fit as they are stored, without what is private."""
    shown = {name for name, each in entity.properties.items() if not each.private}
    if len(shown) == len(entity.properties):
        return fitting(map(item_bytes, items), limit)
    # Attributes that are no property may be made of a private one, as the key of an index that is not exposed is.
    parts = ({name: value for name, value in item.items() if name in shown} for item in items)
    return fitting(map(item_bytes, parts), limit)


def fitting(sizes: Iterable[int], limit: int) -> int:
    """How many of the first sizes stay within a limit together; at least the first, if there is one."""
    total = count = 0
    for size in sizes:
        total += size
        if count and total > limit:
            break
        count += 1
    return count
