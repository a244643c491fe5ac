"""Merging events into one record, in any order of arrival.

Each property of a record is a register with the value of the latest event that sets it: events are ordered by
(position, event id), and an older event does not change a property that a newer event has set. A Set or a Delete sets
every property, including those that it leaves out. Additions are summed separately, since sums don't depend on the
order. This is the last-writer-wins register and the counter of Shapiro et al., "Conflict-free Replicated Data Types"
(2011), so every order gives the same result, also with repetitions of everything except sums. Sums are exact; a sum
that the table could not store is refused.

Format of the marks, an attribute `_projected` of the record, or of its remnant where there is no record:
    whole     [position, event id] of the latest Set or Delete; absent before any
    gone      true when that was a Delete
    latest    of the latest Update behind `whole`; absent when there is none
    at        of the latest Update of each property behind `whole`
    added     the sum of what was ever added to each property

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ...errors import ValueRefused
from ...table.values import Value, number_sum

PROJECTED = "_projected"

When = tuple[int, str]
"""The position of an event, and its id, which decides between events with the same position."""


@dataclass(frozen=True)
class Marks:
    """The marks of a record: which event set which property last."""

    whole: When | None = None
    gone: bool = False
    latest: When | None = None
    at: Mapping[str, When] = field(default_factory=dict)
    added: Mapping[str, Any] = field(default_factory=dict)

    def encode(self) -> dict[str, Value]:
        """The stored form."""
        encoded: dict[str, Value] = {}
        if self.whole is not None:
            encoded["whole"] = list(self.whole)
        if self.gone:
            encoded["gone"] = True
        if self.latest is not None:
            encoded["latest"] = list(self.latest)
        if self.at:
            encoded["at"] = {name: list(when) for name, when in self.at.items()}
        if self.added:
            encoded["added"] = dict(self.added)
        return encoded

    @classmethod
    def decode(cls, encoded: Any) -> Marks:
        """The inverse of `encode`; None for a record that no event has changed."""
        given = encoded or {}
        return cls(
            whole=_when(given.get("whole")),
            gone=bool(given.get("gone")),
            latest=_when(given.get("latest")),
            at={name: (int(when[0]), when[1]) for name, when in given.get("at", {}).items()},
            added=dict(given.get("added", {})),
        )

    @property
    def spoken_for(self) -> bool:
        """Whether the record should exist: an event has set something since it was last deleted."""
        return self.latest is not None or (self.whole is not None and not self.gone)


@dataclass(frozen=True)
class Known:
    """The merged state of a record: its properties in stored form without the identity, and the marks."""

    values: Mapping[str, Value] = field(default_factory=dict)
    marks: Marks = Marks()


@dataclass(frozen=True)
class Whole:
    """A Set, or, with `values` None, a Delete."""

    values: Mapping[str, Value] | None

    def applied_to(self, known: Known, when: When) -> Known:
        """The state after this change at `when`."""
        marks = known.marks
        if marks.whole is not None and marks.whole >= when:
            return known
        given = self.values or {}
        newer = {name: said for name, said in marks.at.items() if said > when}
        values = {name: value for name, value in given.items() if name not in newer}
        values |= {name: known.values[name] for name in newer if name in known.values}
        for name, total in marks.added.items():
            if name not in newer:
                values[name] = _sum(name, given.get(name), total)
        latest = marks.latest if marks.latest is not None and marks.latest > when else None
        return Known(values, Marks(when, self.values is None, latest, newer, marks.added))


@dataclass(frozen=True)
class RegisterPart:
    """An Update. `values` has None for a removed property; `added` are the additions."""

    values: Mapping[str, Value]
    added: Mapping[str, Any] = field(default_factory=dict)
    nulls: frozenset[str] = frozenset()

    def applied_to(self, known: Known, when: When) -> Known:
        """The state after this change at `when`."""
        marks = known.marks
        values, at = dict(known.values), dict(marks.at)
        late = marks.whole is not None and marks.whole >= when
        for name, value in self.values.items():
            if late or (name in at and at[name] >= when):
                continue
            at[name] = when
            if value is None and name not in self.nulls and name not in marks.added:
                values.pop(name, None)
            else:
                values[name] = _sum(name, value, marks.added[name]) if name in marks.added else value
        sums = dict(marks.added)
        for name, amount in self.added.items():
            sums[name] = _sum(name, sums.get(name), amount)
            values[name] = _sum(name, values.get(name), amount)
        latest = marks.latest if late or (marks.latest is not None and marks.latest >= when) else when
        return Known(values, replace(marks, latest=latest, at=at, added=sums))


def _when(encoded: Any) -> When | None:
    return None if encoded is None else (int(encoded[0]), str(encoded[1]))


def _sum(name: str, one: Any, other: Any) -> Any:
    """The exact sum of two numbers of a property, either of which may be missing. Raises ValueRefused."""
    try:
        return number_sum(0 if one is None else one, other)
    except ValueRefused as refused:
        raise ValueRefused(f"the sum can't be kept: {refused.message}", where=name, fix="add less") from None
