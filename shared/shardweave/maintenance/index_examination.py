"""Checking that the indexes show exactly the records of the table.

While the table is gone over, each record adds its place in each index to that index's sums (see `sums`); going over the
index takes the places that it shows away. Where all is even, the index is right, at the cost of reading it once. Where
it is not, since something is wrong or was written meanwhile, the places of the uneven buckets are compared one by one,
so many buckets at a time that no more than 200,000 places are in memory. A place that only one side has is looked at
again, a few times, since an index follows the table: only what stays so counts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..reshard.retrying_reads import Asking
from ..table.concurrency import run_concurrently
from ..table.layout import IndexLayout
from ..table.operations import GetItem, Interval, Query, Scan
from ..table.retry import RetryClock
from ..table.values import Item, Value
from .findings import Finding
from .sums import BUCKETS, Sums, digests

MAX_PLACES = 200_000
PAGE = 500
AT_ONCE = 200
LOOKS = 5
LOOK_SECONDS = 0.5

Starts = dict[int, Any]
"""The last key that was read of each segment, None where nothing was."""
Place = tuple[tuple[Value, Value], tuple[Value, Value]]
"""The primary key of a record, and its hash and range key in an index."""


@dataclass(frozen=True)
class IndexExaminer:
    """Examines the indexes of one table. `names` are those of the table's key; `segments` are read at once, a `page` of
    each."""

    asking: Asking
    waiting: RetryClock
    names: tuple[str, str]
    segments: int = 8
    page: int = PAGE

    def place(self, index: IndexLayout, item: Item) -> Place | None:
        """Where the index has to show an item; None where it does not."""
        hash_value, range_value = item.get(index.hash_key.name), item.get(index.range_key.name)
        if not _fits(index.hash_key.type, hash_value) or not _fits(index.range_key.type, range_value):
            return None
        return (item[self.names[0]], item[self.names[1]]), (hash_value, range_value)

    def add(self, sums: Mapping[str, Sums], indexes: Sequence[IndexLayout], items: Sequence[Item]) -> None:
        """What a page of the table adds to the sums of each index."""
        for index in indexes:
            for item in items:
                place = self.place(index, item)
                if place is not None:
                    sums[index.name].add(repr(place), 1)

    def subtract(self, index: IndexLayout, sums: Sums, starts: Starts | None = None) -> Starts:
        """Take what one round of pages of an index shows away from the sums, from the beginning or from where it came
        to: where its segments go on, empty at their ends."""
        left = dict(starts) if starts is not None else dict.fromkeys(range(self.segments))
        for items in self._round(index.name, left):
            for place in self._places(index, items):
                sums.add(repr(place), -1)
        return left

    def buckets_at_once(self, items: int) -> int:
        """How many buckets of a table of so many items are compared together."""
        return max(1, BUCKETS * MAX_PLACES // max(1, items))

    def one_by_one(self, index: IndexLayout, buckets: frozenset[int], tick: Callable[[], object]) -> Iterator[Finding]:
        """The wrong entries of an index in some buckets. `tick` is called after each round of pages."""

        def chosen(pages: Iterator[Sequence[Item]]) -> set[Place]:
            places = (place for page in pages for place in self._places(index, page))
            return {place for place in places if digests(repr(place))[0] in buckets}

        held, shown = chosen(self._pages(None, tick)), chosen(self._pages(index.name, tick))
        suspects = sorted(held ^ shown, key=repr)
        for start in range(0, len(suspects), AT_ONCE):
            outcomes = run_concurrently(lambda place: self._finding(index, place), suspects[start : start + AT_ONCE])
            yield from (each for each in outcomes if each is not None)
            tick()

    # -- parts

    def _finding(self, index: IndexLayout, place: Place) -> Finding | None:
        """What is wrong at a place, and stays so."""
        kind: str | None = None
        for look in range(LOOKS):
            if look:
                self.waiting.sleep(LOOK_SECONDS)
            # The table is read before and after: what is written in between is looked at again.
            before = self._is_held(index, place)
            shown = self._is_shown(index, place)
            if before != self._is_held(index, place):
                kind = None
                continue
            if before == shown:
                return None
            kind = "index_entry_missing" if before else "index_entry_left"
        if kind is None:
            return None
        return Finding(kind, (str(place[0][0]), str(place[0][1])), f"index {index.name}")

    def _is_held(self, index: IndexLayout, place: Place) -> bool:
        item = self.asking.run(GetItem(dict(zip(self.names, place[0], strict=True)), consistent=True)).item
        return item is not None and self.place(index, item) == place

    def _is_shown(self, index: IndexLayout, place: Place) -> bool:
        hash_value, range_value = place[1]
        interval = Interval(range_value, range_value)
        query = Query(index.hash_key.name, hash_value, index.range_key.name, interval, index=index.name)
        return any(self.place(index, entry) == place for entry in self.asking.all(query))

    def _places(self, index: IndexLayout, items: Sequence[Item]) -> Iterator[Place]:
        return (place for item in items if (place := self.place(index, item)) is not None)

    def _pages(self, index: str | None, tick: Callable[[], object]) -> Iterator[Sequence[Item]]:
        """The items of the table, or of an index, a page of several segments at a time."""
        starts: Starts = dict.fromkeys(range(self.segments))
        while starts:
            yield from self._round(index, starts)
            tick()

    def _round(self, index: str | None, starts: Starts) -> Iterator[Sequence[Item]]:
        """A page of each segment that is not at its end, after which `starts` are where they go on."""
        read: Callable[[int], Any] = lambda number: self.asking.run(  # noqa: E731
            Scan(
                number, self.segments, index=index, limit=self.page, start_key=starts[number], consistent=index is None
            )
        )
        numbers = list(starts)
        for number, page in zip(numbers, run_concurrently(read, numbers), strict=True):
            yield page.items
            if page.last_key is None:
                del starts[number]
            else:
                starts[number] = page.last_key


def _fits(kind: str, value: Value) -> bool:
    """Whether a value can be in a key of a type."""
    if kind == "S":
        return isinstance(value, str) and bool(value)
    if kind == "B":
        return isinstance(value, bytes) and bool(value)
    return value is not None and not isinstance(value, (str, bytes, bool, list, dict, set))
