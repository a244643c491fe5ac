"""Whether the indexes show what N holds: what readers will ask once N decides.

For each hash key of N and each index that shares the table's hash key: the index has as many entries as the table has
records with its range key. Writes go on meanwhile, so the table is counted before and after, and what lies between the
two is right. For indexes with a hash key of their own: of each page of records, the one that was written last is found
in the index at exactly its keys; an index is updated in the order of writes, so what was written before is there too.

Guarantees: nothing is written. An index that stays behind through a few looks counts as repairable: it is looked at
again later. Entities whose hash keys can't be listed are judged by the records written last alone. Each call reads one
page, and goes on from its cursor:

    {"index": n, "look": n, "counts": [before, shown, after], "start": key}      counting the n-th index
    {"records": true, "start": key}                                              reading records

Costs: N is counted twice and each such index once; where an index has a hash key of its own, N is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..entity_type import REVISION, IndexView
from ..store.planned import key_of
from ..table.conditions import Exists
from ..table.operations import Interval, PageAnswer, Query
from ..table.values import Item
from .tasks import Advance, Hands
from .work import Counts, Source

LOOKS = 3
LOOK_PAUSE = 0.2
"""Seconds."""
BEFORE, SHOWN, AFTER = range(3)


@dataclass(frozen=True)
class CheckingIndexes:
    """INDEXES."""

    hands: Hands

    def advance(self, source: Source, cursor: Item | None) -> Advance:
        if cursor is None:
            cursor = self._after_index(-1, source)
        if cursor is None:
            return Advance(Counts(), None)
        if "records" in cursor:
            return self._read(source, cursor)
        return self._counted(source, cursor)

    def _after_index(self, number: int, source: Source) -> Item | None:
        """What is to be done when the n-th index has been counted."""
        if source.hash_key is not None and number + 1 < len(self._views(own_hash=False)):
            return {"index": number + 1, "look": 0, "counts": [0], "start": None}
        return {"records": True, "start": None} if self._views(own_hash=True) else None

    def _views(self, *, own_hash: bool) -> list[IndexView]:
        entity = self.hands.entity
        indexes = (view for view in entity.views.values() if view.index is not None)
        return [view for view in indexes if (view.hash_name != entity.keys.design.hash_name) == own_hash]

    # -- counts

    def _counted(self, source: Source, cursor: Item) -> Advance:
        """One more page of one count."""
        view = self._views(own_hash=False)[cursor["index"]]
        *whole, counting = cursor["counts"]
        answer = self._count(view, source, cursor["start"], in_index=len(whole) == SHOWN)
        counts = [*whole, counting + answer.count]
        if answer.last_key is not None:
            return Advance(Counts(), {**cursor, "counts": counts, "start": answer.last_key})
        if len(counts) <= SHOWN or (len(counts) == AFTER and counts[BEFORE] != counts[SHOWN]):
            return Advance(Counts(), {**cursor, "counts": [*counts, 0], "start": None})
        if min(counts[BEFORE], counts[-1]) <= counts[SHOWN] <= max(counts[BEFORE], counts[-1]):
            return Advance(Counts(), self._after_index(cursor["index"], source))
        if cursor["look"] + 1 < LOOKS:
            self.hands.waiting.sleep(LOOK_PAUSE)
            return Advance(Counts(), {**cursor, "look": cursor["look"] + 1, "counts": [0], "start": None})
        return Advance(Counts(repairable=1), self._after_index(cursor["index"], source))

    def _count(self, view: IndexView, source: Source, start: Item | None, *, in_index: bool) -> PageAnswer:
        range_name = self.hands.entity.keys.design.range_name
        sparse = not in_index and view.range_name != range_name
        return self.hands.asking.run(
            Query(
                view.hash_name,
                source.hash_key,
                view.range_name if in_index else range_name,
                index=view.index if in_index else None,
                filter=Exists(view.range_name) if sparse else None,
                start_key=start,
                consistent=not in_index,
                count_only=True,
            )
        )

    # -- records written last

    def _read(self, source: Source, cursor: Item) -> Advance:
        """One more page of records."""
        page, records = self.hands.page(source, cursor["start"])
        behind = 0
        if records:
            latest = max(records, key=self._time)
            behind = sum(not self._is_seen(view, latest) for view in self._views(own_hash=True))
        after = None if page.last_key is None else {"records": True, "start": page.last_key}
        return Advance(Counts(seen=len(records), repairable=behind), after)

    def _time(self, record: Item) -> int:
        entity = self.hands.entity
        times = [record.get(name) for name in (entity.updated, entity.timestamp) if name]
        return max((time for time in times if isinstance(time, int)), default=0)

    def _is_seen(self, view: IndexView, record: Item) -> bool:
        if view.hash_name not in record or view.range_name not in record:
            return True
        for look in range(LOOKS):
            if look:
                self.hands.waiting.sleep(LOOK_PAUSE)
            if self._shows(view, record):
                return True
            now = self.hands.asking.item(key_of(self.hands.entity, record))
            if now is None or now.get(REVISION) != record.get(REVISION):
                return True
        return False

    def _shows(self, view: IndexView, record: Item) -> bool:
        key = key_of(self.hands.entity, record)
        point = Interval(record[view.range_name], record[view.range_name])
        start: Item | None = None
        while True:
            answer = self.hands.asking.run(
                Query(
                    view.hash_name,
                    record[view.hash_name],
                    view.range_name,
                    point,
                    index=view.index,
                    projection=tuple(key),
                    start_key=start,
                )
            )
            if _holds(answer.items, key):
                return True
            start = answer.last_key
            if start is None:
                return False


def _holds(items: Sequence[Item], key: dict[str, Any]) -> bool:
    return any(all(item.get(name) == value for name, value in key.items()) for item in items)
