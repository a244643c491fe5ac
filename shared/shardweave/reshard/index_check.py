"""The index check: whether the indexes show exactly the records of N, which readers will query after the flip.

For each hash key of N and each index that shares the table's hash key, two passes: over the index's entries, and over
the records, which both are divided into buckets by their key. If the checksum over a bucket's entries equals the
checksum over its records, each record has its correct entry and there are no other entries. If not, for which one
concurrent write suffices, each entry of the bucket is compared with its record, and each record's entry is looked up.
In indexes with their own hash key, and if hash keys can't be listed, all records are looked up: every record of N must
be in each index at exactly its keys.

An entry is correct if it shows the record as it is, or as it was at an earlier read of this call: then the index lags
no more than indexes always do. The check assumes nothing else about an index, such as the order in which writes of
different keys appear. If an entry is still outdated after a few reads, this counts as repairable, and the rest of the
hash key is skipped: all of it is checked again later. The keys and the revision are compared; if an index does not
project the revision, everything that it projects.

Guarantees: nothing is written. In indexes with their own hash key, entries of deleted records are not detected: they
may remain there for a while, like the entries of O's records, which have the same hash key. Each call reads one page,
and goes on from its cursor; n counts the entity's indexes:

    {"index": n, "part": part, "sums": bytes, "buckets": [b, ...], "start": key}

    shown      summing entries up, into `sums`: 8 bytes for each bucket
    records    summing records up, into the same
    entries    comparing the entries of `buckets`
    each       looking for the entry of each record of `buckets`, or of all where they are none

Costs, in read units, for a record of 1 KB that an index projects: 0.75 in an index with a hash key of its own; 0.4 in
one that shares the table's; 2 more for a record that shares a bucket with one that is written meanwhile, of which there
are so many that these are few. Entries at one place of an index,
hash and range key both equal, are read together for a page of records.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..schema.entity_type import REVISION, IndexView
from ..store.attempts import PrimaryKey
from ..store.writing.write_actions import key_of, primary_key
from ..table.concurrency import run_concurrently
from ..table.operations import Interval, PageAnswer, Query
from ..table.values import Item
from .tasks import Advance, TaskContext
from .work_items import Counts, Source

LOOKS = 3
LOOK_PAUSE = 0.2
"""Seconds."""
SHOWN, RECORDS, ENTRIES, EACH = "shown", "records", "entries", "each"
SUM_BYTES = 8
BUCKETS = 1024
"""More buckets make the cursor and its work item larger; with fewer, one concurrent write causes more lookups of
records."""
BEHIND = Counts(repairable=1)


@dataclass(frozen=True)
class Suspect:
    """A record whose entry has not been correct yet: the record at each read, and a wrong entry."""

    key: Item
    seen: tuple[Item, ...] = ()
    entry: Item | None = None


@dataclass(frozen=True)
class CheckingIndexes:
    """INDEXES."""

    hands: TaskContext

    def advance(self, source: Source, cursor: Item | None) -> Advance:
        if cursor is None or not isinstance(cursor.get("sums"), bytes):  # Earlier versions had other cursors.
            cursor = self._next_index(-1, source)
        if cursor is None:
            return Advance(Counts(), None)
        parts = {SHOWN: self._sum_shown, RECORDS: self._sum_records, ENTRIES: self._compare, EACH: self._look_for_each}
        return parts[cursor["part"]](self._views()[cursor["index"]], source, cursor)

    def _views(self) -> list[IndexView]:
        return [view for view in self.hands.entity.views.values() if view.index is not None]

    def _next_index(self, number: int, source: Source) -> Item | None:
        """The cursor at the beginning of the index after the n-th."""
        number += 1
        if number == len(self._views()):
            return None
        shares = self._views()[number].hash_name == self.hands.entity.keys.design.hash_name
        part = SHOWN if shares and source.hash_key is not None else EACH
        sums = bytes(BUCKETS * SUM_BYTES) if part == SHOWN else b""
        return {"index": number, "part": part, "sums": sums, "buckets": None, "start": None}

    # -- parts

    def _sum_shown(self, view: IndexView, source: Source, cursor: Item) -> Advance:
        """One more page of an index."""
        page = self._page(view, source, cursor)
        sums = self._sums(view, page.items, cursor["sums"], 1)
        part = SHOWN if page.last_key is not None else RECORDS
        return Advance(Counts(), {**cursor, "part": part, "sums": sums, "start": page.last_key})

    def _sum_records(self, view: IndexView, source: Source, cursor: Item) -> Advance:
        """One more page of the records of a hash key whose entries have been summed up."""
        page, records = self.hands.page(source, cursor["start"])
        indexed = [record for record in records if _place(view, record) is not None]
        sums = self._sums(view, indexed, cursor["sums"], -1)
        if page.last_key is not None:
            return Advance(Counts(), {**cursor, "sums": sums, "start": page.last_key})
        unequal = [bucket for bucket, total in enumerate(_totals(sums)) if total]
        if unequal:
            return Advance(Counts(), {**cursor, "part": ENTRIES, "sums": b"", "buckets": unequal, "start": None})
        return Advance(Counts(), self._next_index(cursor["index"], source))

    def _compare(self, view: IndexView, source: Source, cursor: Item) -> Advance:
        """The records of one more page of an index."""
        hands = self.hands
        page = self._page(view, source, cursor)
        entries = self._of_buckets(page.items, cursor)
        keys = [key_of(hands.entity, entry) for entry in entries]
        found = hands.asking.items(hands.entity, keys)
        suspects = []
        for key, entry in zip(keys, entries, strict=True):
            record = found.get(primary_key(hands.entity, key))
            if record is None or not self._shows(view, entry, record):
                suspects.append(Suspect(key, () if record is None else (record,), entry))
        if self._is_behind(view, suspects):
            return Advance(BEHIND, None)
        part = ENTRIES if page.last_key is not None else EACH
        return Advance(Counts(), {**cursor, "part": part, "start": page.last_key})

    def _look_for_each(self, view: IndexView, source: Source, cursor: Item) -> Advance:
        """The entries of one more page of records."""
        page, records = self.hands.page(source, cursor["start"])
        chosen = self._of_buckets(records, cursor)
        suspects = [Suspect(key_of(self.hands.entity, each), (each,)) for each in chosen if _place(view, each)]
        if self._is_behind(view, self._unseen(view, suspects)):
            return Advance(Counts(seen=len(records)) + BEHIND, None)
        if page.last_key is not None:
            return Advance(Counts(seen=len(records)), {**cursor, "start": page.last_key})
        return Advance(Counts(seen=len(records)), self._next_index(cursor["index"], source))

    # -- looking again

    def _is_behind(self, view: IndexView, suspects: Sequence[Suspect]) -> bool:
        """Whether any record stays suspect after a few reads."""
        for _ in range(1, LOOKS):
            if not suspects:
                return False
            self.hands.waiting.sleep(LOOK_PAUSE)
            suspects = self._unseen(view, list(self._looked_at(view, suspects)))
        return bool(suspects)

    def _looked_at(self, view: IndexView, suspects: Sequence[Suspect]) -> Iterable[Suspect]:
        """The suspects that should have an entry, or should have none, with the current record."""
        entity = self.hands.entity
        found = self.hands.asking.items(entity, (each.key for each in suspects))
        for each in suspects:
            now = found.get(primary_key(entity, each.key))
            if now is not None and _place(view, now) is not None:
                yield replace(each, seen=(now, *each.seen))
            elif each.entry is not None:
                yield replace(each, seen=())

    def _unseen(self, view: IndexView, suspects: Sequence[Suspect]) -> list[Suspect]:
        """The suspects whose entry does not match the record at any read, or exists although the record does not."""
        places = {place for each in suspects for place in _places(view, each)}
        shown = self._shown(view, list(places), {primary_key(self.hands.entity, each.key) for each in suspects})
        return [each for each in suspects if not self._is_settled(view, each, shown)]

    def _is_settled(self, view: IndexView, suspect: Suspect, shown: dict[tuple[Any, PrimaryKey], Item]) -> bool:
        key = primary_key(self.hands.entity, suspect.key)
        if not suspect.seen:
            assert suspect.entry is not None
            return (_place(view, suspect.entry), key) not in shown
        entries = [(shown.get((_place(view, record), key)), record) for record in suspect.seen]
        return any(entry is not None and self._shows(view, entry, record) for entry, record in entries)

    def _shown(
        self, view: IndexView, places: Sequence[tuple[Any, Any]], wanted: set[PrimaryKey]
    ) -> dict[tuple[Any, PrimaryKey], Item]:
        """The index entries of the wanted records at these keys."""
        found = run_concurrently(lambda place: self._at(view, place, wanted), places, self.hands.workers)
        return {(place, key): entry for place, entries in zip(places, found, strict=True) for key, entry in entries}

    def _at(self, view: IndexView, place: tuple[Any, Any], wanted: set[PrimaryKey]) -> list[tuple[PrimaryKey, Item]]:
        hash_value, range_value = place
        entries = self.hands.asking.all(self._query(view, hash_value, Interval(range_value, range_value)))
        named = ((primary_key(self.hands.entity, entry), entry) for entry in entries)
        return [(key, entry) for key, entry in named if key in wanted]

    # -- entries

    def _page(self, view: IndexView, source: Source, cursor: Item) -> PageAnswer:
        query = self._query(view, source.hash_key, Interval())
        return self.hands.asking.run(replace(query, limit=self.hands.page_size, start_key=cursor["start"]))

    def _query(self, view: IndexView, hash_value: Any, interval: Interval) -> Query:
        names = None if view.projected is not None else self._compared(view)
        return Query(view.hash_name, hash_value, view.range_name, interval, index=view.index, projection=names)

    def _compared(self, view: IndexView) -> tuple[str, ...]:
        """The attributes of a record that its entry must show."""
        design = self.hands.entity.keys.design
        keys = design.hash_name, design.range_name, view.hash_name, view.range_name
        return tuple(dict.fromkeys((*keys, *sorted(view.projected or (REVISION,)))))

    def _shows(self, view: IndexView, entry: Item, record: Item) -> bool:
        return all(entry.get(name) == record.get(name) for name in self._compared(view))

    def _sums(self, view: IndexView, items: Iterable[Item], sums: bytes, sign: int) -> bytes:
        """The checksums after adding or removing items. Equal sets of items have equal checksums, in any order."""
        names, totals = self._compared(view), _totals(sums)
        for item in items:
            shown = repr([item.get(name) for name in names])
            bucket = self._bucket(item)
            totals[bucket] = (totals[bucket] + sign * _digest(shown)) % (1 << 8 * SUM_BYTES)
        return b"".join(total.to_bytes(SUM_BYTES) for total in totals)

    def _bucket(self, item: Item) -> int:
        return _digest(repr(primary_key(self.hands.entity, item))) % BUCKETS

    def _of_buckets(self, items: Sequence[Item], cursor: Item) -> list[Item]:
        if cursor["buckets"] is None:
            return list(items)
        wanted = set(cursor["buckets"])
        return [item for item in items if self._bucket(item) in wanted]


def _totals(sums: bytes) -> list[int]:
    return [int.from_bytes(sums[start : start + SUM_BYTES]) for start in range(0, len(sums), SUM_BYTES)]


def _digest(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=SUM_BYTES).digest())


def _place(view: IndexView, item: Item) -> tuple[Any, Any] | None:
    """The key of an item's entry in the index, None if it has none."""
    found = item.get(view.hash_name), item.get(view.range_name)
    return None if None in found else found


def _places(view: IndexView, suspect: Suspect) -> Iterable[tuple[Any, Any]]:
    items = suspect.seen if suspect.seen or suspect.entry is None else (suspect.entry,)
    return (place for item in items if (place := _place(view, item)) is not None)
