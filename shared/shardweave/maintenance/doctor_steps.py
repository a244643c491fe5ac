"""The steps of the doctor's examination after the records: of indexes, of counters, and of sums.

A step is begun again by the next run if it is stopped, and otherwise done; a place says, in plain values that can be
kept, which step comes next. Of an index each round of pages is a step, and then each part of what differs; of counters
and of sums each slice (see `recount` and `sum_recount`) is one.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from ..table.layout import IndexLayout
from .findings import Finding, StoredKey
from .index_examination import IndexExaminer
from .recount import Recount
from .repairs import Repairs
from .sum_recount import SumRecount
from .sums import END, Sums

Place = Mapping[str, Any]
Tick = Callable[[], object]
Repair = Callable[[Repairs], bool]


@dataclass(frozen=True)
class Step:
    """What a step has found, each with its repair if there may be one; `keys` of what is not decided (see
    `DoctorReport`); and which step comes next, None after the last."""

    following: Place | None
    found: Sequence[tuple[Finding, Repair | None]] = ()
    keys: Mapping[str, Sequence[StoredKey]] = field(default_factory=dict)


class Steps(Protocol):
    """Those of one part of the examination."""

    def first(self, before: Sequence[str]) -> Place | None:
        """The place of the first, None where there is none. What was not examined `before` comes first."""
        ...

    def check(self, place: Place) -> None:
        """Raise LookupError, TypeError or ValueError for what is no place."""
        ...

    def name(self, place: Place) -> str:
        """What is examined there, for a report."""
        ...

    def without(self, place: Place) -> Place | None:
        """The place of what is examined after it."""
        ...

    def take(self, place: Place, tick: Tick) -> Step:
        """The step at a place. `tick` is called after each round of reads; what it raises stops the step."""
        ...


def ordered(names: Sequence[str], kind: str, before: Sequence[str]) -> Place | None:
    """The place of the first of several of a kind, those first that were not examined before."""
    left = sorted(names, key=lambda name: f"{kind} {name}" not in before)
    return {"left": left} if left else None


def _rest(place: Place) -> Place | None:
    return {"left": list(place["left"][1:])} if len(place["left"]) > 1 else None


def _check_names(place: Place, names: Sequence[str]) -> None:
    if not place["left"] or not all(name in names for name in place["left"]):
        raise ValueError(place)


@dataclass(frozen=True)
class IndexSteps:
    """The indexes, each against the `sums` that the records of the table have added to; entries take away from them.

    Place: the names that are `left`; of the first one the `starts` of its segments, then the `bucket` among those that
    are uneven."""

    examiner: IndexExaminer
    layouts: Sequence[IndexLayout]
    sums: dict[str, Sums]
    items: Callable[[], int]
    """How many items the table has."""

    def first(self, before: Sequence[str]) -> Place | None:
        return ordered([each.name for each in self.layouts], "index", before)

    def check(self, place: Place) -> None:
        _check_names(place, [each.name for each in self.layouts])
        int(place.get("bucket", 0))
        index = self._index(place)
        names = {*self.examiner.names, index.hash_key.name, index.range_key.name}
        for number, start in place.get("starts", ()):
            if not 0 <= int(number) < self.examiner.segments or (start is not None and set(start) != names):
                raise ValueError(number)

    def name(self, place: Place) -> str:
        return f"index {place['left'][0]}"

    def without(self, place: Place) -> Place | None:
        return _rest(place)

    def take(self, place: Place, tick: Tick) -> Step:
        index = self._index(place)
        if "bucket" not in place:
            starts = {int(number): start for number, start in place["starts"]} if "starts" in place else None
            sums = Sums(self.sums[index.name].encode())
            left = self.examiner.subtract(index, sums, starts)
            tick()
            self.sums[index.name] = sums
            own = {"starts": [[number, start] for number, start in left.items()]} if left else {"bucket": 0}
            return Step({"left": place["left"], **own})
        uneven, start = sorted(self.sums[index.name].unequal), int(place["bucket"])
        end = start + self.examiner.buckets_at_once(self.items())
        found = list(self.examiner.one_by_one(index, frozenset(uneven[start:end]), tick)) if uneven[start:end] else []
        following = {"left": place["left"], "bucket": end} if end < len(uneven) else _rest(place)
        return Step(following, [(each, None) for each in found])

    def _index(self, place: Place) -> IndexLayout:
        return next(each for each in self.layouts if each.name == place["left"][0])


@dataclass(frozen=True)
class CounterSteps:
    """The counters of children whose sums are uneven. Place: `low`, the number of a counter from which on they are
    left."""

    recount: Recount
    sums: Callable[[], Sums]

    def first(self, before: Sequence[str]) -> Place | None:
        return {"low": "0"} if self.sums().unequal else None

    def check(self, place: Place) -> None:
        int(place["low"])

    def name(self, place: Place) -> str:
        return "counters"

    def without(self, place: Place) -> Place | None:
        return None

    def take(self, place: Place, tick: Tick) -> Step:
        found = self.recount.slice(self.sums().unequal, int(place["low"]), tick)
        return Step(
            {"low": str(found.high)} if found.high < END else None,
            [(each.finding, partial(Repairs.recounted, wrong=each)) for each in found.wrong],
            {"undecided": [each[:2] for each in found.undecided]},
        )


@dataclass(frozen=True)
class SumSteps:
    """The sums of read models of records. Place: the names of those that are `left`, and of the first one `low`, the
    number of an id from which on its records are left."""

    recount: SumRecount

    @property
    def _names(self) -> list[str]:
        return [each.name for each in self.recount.read_models]

    def first(self, before: Sequence[str]) -> Place | None:
        return ordered(self._names, "read model", before)

    def check(self, place: Place) -> None:
        _check_names(place, self._names)
        int(place.get("low", 0))

    def name(self, place: Place) -> str:
        return f"read model {place['left'][0]}"

    def without(self, place: Place) -> Place | None:
        return _rest(place)

    def take(self, place: Place, tick: Tick) -> Step:
        found = self.recount.slice(self._names.index(place["left"][0]), int(place.get("low", 0)), tick)
        return Step(
            {"left": place["left"], "low": str(found.high)} if found.high < END else _rest(place),
            [(each.finding, partial(Repairs.summed, wrong=each)) for each in found.wrong],
            {"undecided": found.undecided, "unsummed": found.unsummed, "damaged": found.damaged},
        )
