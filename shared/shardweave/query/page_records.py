"""The records of one page in their answered form, and the records that can't be read.

Each record is converted once, when the walk reaches it, to the form of the answer. A record that can't be converted is
left out: the walk continues after it, and it is reported as unreadable in its place, if the caller may know about it.
At most `MAX_UNREADABLE` are reported on a page, which ends after the last of them. The owner of an unreadable record is
unknown, so it is hidden from callers who see only some records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..errors import RecordUnreadable, Unreadable
from ..schema.entity_type import EntityType
from ..table.values import Item
from .hydrate import WholeRecords
from .merge import Record
from .plan import EntityPlan, Plan
from .results import shown


class PageRecords:
    """The records of one page by the items that its lanes read. `whole` are its whole records, where those are read;
    `form` is what is answered of a record, and raises RecordUnreadable where nothing can be; `direct` is the same of
    each of an entity's whole items, None where a record of it has to be made. `tells`: unreadable records are reported
    to the caller; `refused` are the items that can't be read, by their `id`."""

    def __init__(
        self,
        plan: Plan,
        whole: WholeRecords | None,
        form: Callable[[Any], Any],
        direct: Callable[[EntityType[Any], Sequence[Item]], Sequence[Any]],
        *,
        tells_unreadable: bool,
    ) -> None:
        self._parts = [plan.parts[branch.part] for branch in plan.branches]
        self._are_whole = [part.whole for part in self._parts]
        self._whole = whole
        self._form = form
        self._direct = direct
        self.tells = tells_unreadable
        self.refused: dict[int, tuple[Item, Unreadable]] = {}
        self._made: dict[int, tuple[Item, Any]] = {}

    def refuse(self, item: Item, record: Unreadable) -> None:
        """Record that an item can't be read."""
        self.refused[id(item)] = (item, record)

    def make(self, read: Iterable[Record]) -> None:
        """Convert what was read to records, if that was not tried before."""
        by_branch: dict[int, list[Item]] = {}
        for _, item, state in read:
            if id(item) not in self._made and id(item) not in self.refused:
                by_branch.setdefault(state.lane.rank, []).append(item)
        for rank, items in by_branch.items():
            part = self._parts[rank]
            whole = items if self._whole is None else [self._whole.of(item) for item in items]
            direct = self._direct(part.entity, whole) if self._are_whole[rank] else [None] * len(whole)
            for item, stored, made in zip(items, whole, direct, strict=True):
                if made is not None:
                    self._made[id(item)] = (item, made)
                else:
                    self._make_record(item, stored, part)

    def _make_record(self, item: Item, stored: Item, part: EntityPlan) -> None:
        try:
            self._made[id(item)] = (item, self._form(shown(part, stored)))
        except RecordUnreadable as error:
            self.refuse(item, error.record)

    def is_given(self, item: Item) -> bool:
        """Whether a record belongs to the page, as far as is known."""
        return id(item) not in self.refused

    def of(self, item: Item) -> Any:
        """The answered form of a converted record."""
        return self._made[id(item)][1]

    def unreadable(self, item: Item) -> Unreadable | None:
        """The fault of an item that can't be read; None for other items."""
        found = self.refused.get(id(item))
        return None if found is None else found[1]
