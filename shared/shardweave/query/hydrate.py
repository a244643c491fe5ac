"""Hydration: reading the whole records for the keys that an index returned, in batches of 100.

A record that was deleted between the two reads, has expired, or belongs to another owner by now is left out, and the
walk reads on to fill its place. A changed record is returned as it is now. Every record is read once for a page,
whatever the walk reads after it.

Lanes may use only a part of a page's time, so that some is left for the whole records even if lanes are late.

Cost: a batch for each 100 records of a page, and for what is read further, as often as that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import TableUnavailable
from ..table.batch_get import Key, KeysToRead
from ..table.values import Item
from .fanout import FanOut
from .merge import Record
from .plan import Plan

MAX_ROUNDS = 8
PART_OF_LANES = 0.75
"""The part of a page's time that its lanes have, where whole records are read."""


class WholeRecords:
    """The whole records of one page. `visible` says of each of the plan's entities which records there are for whoever
    asks."""

    def __init__(
        self,
        plan: Plan,
        fanout: FanOut,
        visible: Sequence[Callable[[Item], bool] | None],
        now_seconds: float,
        deadline: float | None,
    ) -> None:
        self._plan = plan
        design = plan.parts[0].entity.keys.design
        self._names = (design.hash_name, design.range_name)
        self._fanout = fanout
        self._visible = visible
        self._now = now_seconds
        self._deadline = deadline
        self._read: dict[Key, Item | None] = {}
        self._part: dict[Key, int] = {}

    def read(self, records: Sequence[Record]) -> bool:
        """Read those that have not been read; False when the deadline left some unread. Raises TableError."""
        keys = {self._key(item): item for _, item, _ in records}
        if len(self._plan.parts) > 1:
            branches = self._plan.branches
            self._part.update((self._key(item), branches[state.lane.rank].part) for _, item, state in records)
        names = self._names
        wanted = KeysToRead(
            names, [{name: item[name] for name in names} for key, item in keys.items() if key not in self._read]
        )
        for _ in range(MAX_ROUNDS):
            if not wanted.left:
                return True
            requests, late = wanted.requests(consistent=False), False
            for request, outcome in zip(requests, self._fanout.read(requests, self._deadline), strict=True):
                if outcome.late:
                    late = True
                    continue
                if outcome.error is not None:
                    raise outcome.error
                assert outcome.answer is not None, "a read has an answer or an error"
                wanted.take(request, outcome.answer)
            self._keep(wanted.found)
            if late:
                return False
        if wanted.left:
            raise TableUnavailable(
                "the table leaves whole records unread", where="hydrate", fix="try again, with less load"
            )
        return True

    def is_read(self, item: Item) -> bool:
        """Whether it is known what became of the record."""
        return self._key(item) in self._read

    def is_given(self, item: Item) -> bool:
        """Whether the record is there, or may be, as far as it is known."""
        key = self._key(item)
        return key not in self._read or self._read[key] is not None

    def of(self, item: Item) -> Item:
        """The whole record, of one that is there."""
        whole = self._read[self._key(item)]
        assert whole is not None, "a page has only records that are there"
        return whole

    def _key(self, item: Item) -> Key:
        return item[self._names[0]], item[self._names[1]]

    def _keep(self, found: Mapping[Key, Item | None]) -> None:
        for key, item in found.items():
            self._read[key] = item if item is not None and self._is_there(key, item) else None

    def _is_there(self, key: Key, item: Item) -> bool:
        part = self._part.get(key, 0)
        visible, expired = self._visible[part], self._plan.parts[part].entity.is_expired(item, self._now)
        return not expired and (visible is None or visible(item))
