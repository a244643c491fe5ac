"""The records of one page as their reader gets them, and those that can't be read.

Each is made once, when the walk comes to it, in the form that it is answered in. One that can't be made is no record of
the page: the walk goes on behind it, and it is told in its place, where it may be told at all. At most `MAX_UNREADABLE`
are told on a page, which ends behind the last of them. Whose a record is that can't be read is not known, so to whoever
sees some records alone it looks like none.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from ..errors import RecordUnreadable, Unreadable
from ..table.values import Item
from .hydrate import WholeRecords
from .plan import Plan
from .results import shown


class PageRecords:
    """The records of one page by the items that its lanes read. `whole` are its whole records, where those are read;
    `form` is what is answered of a record, and raises RecordUnreadable where nothing can be; `direct` is the same of
    a whole item, None where a record of it has to be made."""

    def __init__(
        self,
        plan: Plan,
        whole: WholeRecords | None,
        form: Callable[[Any], Any],
        direct: Callable[[Item], Any],
        *,
        tells_unreadable: bool,
    ) -> None:
        self._plan = plan
        self._whole = whole
        self._form = form
        self._direct = direct
        self._tells = tells_unreadable
        self._made: dict[int, tuple[Item, Any]] = {}
        self._refused: dict[int, tuple[Item, Unreadable]] = {}

    def refuse(self, item: Item, record: Unreadable) -> None:
        """Note an item that can't be read."""
        self._refused[id(item)] = (item, record)

    def make(self, items: Iterable[Item]) -> None:
        """Make the records of items, where that was not tried before."""
        for item in items:
            if id(item) in self._made or id(item) in self._refused:
                continue
            try:
                made = self._answer(item if self._whole is None else self._whole.of(item))
            except RecordUnreadable as error:
                self.refuse(item, error.record)
            else:
                self._made[id(item)] = (item, made)

    def _answer(self, item: Item) -> Any:
        made = self._direct(item) if self._plan.whole else None
        return self._form(shown(self._plan, item)) if made is None else made

    def is_given(self, item: Item) -> bool:
        """Whether a record is one of the page, as far as it is known."""
        return id(item) not in self._refused

    def of(self, item: Item) -> Any:
        """What is answered of a record that was made."""
        return self._made[id(item)][1]

    def unreadable(self, item: Item) -> Unreadable | None:
        """What is wrong with an item that can't be read; None of one that can."""
        found = self._refused.get(id(item))
        return None if found is None else found[1]

    @property
    def tells(self) -> bool:
        """Whether what can't be read is told."""
        return self._tells

    @property
    def refused(self) -> int:
        """How many items can't be read."""
        return len(self._refused)
