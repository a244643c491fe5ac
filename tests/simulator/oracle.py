"""What may be stored and seen: for each record the values that it can have, over time.

A write that is under way adds its value, one that was answered leaves only its value, one that failed takes its value
back, and one without an answer leaves both. What is read must have been possible at some moment while it was read. The
one exception is the one that the library documents: a create that arrives long after it was given up, when the record
has been deleted since, brings the record back (`arrived_late`).

A value may expire: each process takes it for none from when its own clock says so, which is wrong by at most `skew_ms`.
What is possible is kept without that, and `seen` says what a process may take it for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

Value = int | None
"""The number that a write gave the record; None is no record."""


@dataclass
class Record:
    """One record's possible values, each set from a time on. `expires` has the times at which values expire, those of
    all records."""

    expires: dict[int, int] = field(default_factory=dict)
    skew_ms: int = 0
    times: list[tuple[int, frozenset[Value]]] = field(default_factory=lambda: [(0, frozenset({None}))])

    @property
    def possible(self) -> frozenset[Value]:
        return self.times[-1][1]

    def now(self, time: int, possible: frozenset[Value]) -> None:
        assert possible, "a record has some value, or none"
        if possible != self.possible:
            self.times.append((time, possible))

    def between(self, first: int, last: int) -> frozenset[Value]:
        """Every value that was possible at some moment of a closed range of time."""
        found: frozenset[Value] = frozenset()
        for position, (begins, possible) in enumerate(self.times):
            ends = self.times[position + 1][0] if position + 1 < len(self.times) else last + 1
            if begins <= last and ends >= first:
                found |= self.seen(possible, max(begins, first), min(ends, last))
        return found

    def seen(self, values: Iterable[Value], first: int, last: int) -> frozenset[Value]:
        """What processes may take values for that are stored all the time, at some moment of a closed range of time."""
        found: set[Value] = set()
        for value in values:
            expires = None if value is None else self.expires.get(value)
            if expires is None or first <= expires + self.skew_ms:
                found.add(value)
            if expires is not None and last >= expires - self.skew_ms:
                found.add(None)
        return frozenset(found)

    def fading(self, time: int) -> frozenset[Value]:
        """The values that are none for some processes, and not for others."""
        return frozenset(value for value in self.possible if value and self.seen({value}, time, time) == {value, None})

    def steady(self, first: int, last: int) -> tuple[bool, Value]:
        """Whether it had one certain value all the time, and which."""
        found = self.between(first, last)
        return len(found) == 1, next(iter(found))


class Oracle:
    """All records of a history."""

    def __init__(self, skew_ms: int = 0) -> None:
        self.records: dict[str, Record] = {}
        self.under_way: set[str] = set()
        self.expires: dict[int, int] = {}
        self._skew_ms = skew_ms
        self._began: dict[str, int] = {}
        self.going: Callable[[str, int], bool] = lambda name, since: False
        """Whether anybody may have deleted a record at some time since then, whatever others did."""

    def of(self, name: str) -> Record:
        return self.records.setdefault(name, Record(self.expires, self._skew_ms))

    def begin(self, time: int, new: dict[str, Value]) -> dict[str, frozenset[Value]]:
        """Writes begin. Gives what was possible before, for `fail`."""
        before = {name: self.of(name).possible for name in new}
        for name, value in new.items():
            self._began[name] = time
            self.of(name).now(time, before[name] | {value})
            self.under_way.add(name)
        return before

    def has_expired(self, name: str, possible: frozenset[Value]) -> bool:
        """Whether a record was stored for certain when a write of it began, and none any more for everybody."""
        began = self._began[name]
        return None not in possible and self.of(name).seen(possible, began, began) == {None}

    def end(self, time: int, values: dict[str, Value]) -> None:
        """Writes were answered."""
        for name, value in values.items():
            record = self.of(name)
            record.now(time, frozenset({value}) | (record.fading(time) if value is None else self._gone(name, time)))
            self.under_way.discard(name)

    def fail(self, time: int, before: dict[str, frozenset[Value]]) -> None:
        """Writes did not happen."""
        for name, possible in before.items():
            self.of(name).now(time, possible | self._gone(name, time))
            self.under_way.discard(name)

    def _gone(self, name: str, time: int) -> frozenset[Value]:
        return frozenset({None}) if self.going(name, self._began.get(name, time)) else frozenset()

    def unsure(self, names: dict[str, Value]) -> None:
        """Writes may or may not have happened, or happen yet."""
        self.under_way -= set(names)

    def learn(self, since: int, time: int, name: str, *, exists: bool) -> None:
        """What an answer told of a moment since then: whether there is a record. Fails when that is not possible."""
        record = self.of(name)
        found = frozenset(each for each in record.seen(record.possible, since, time) if (each is not None) == exists)
        assert found, f"{name}: an answer says that it is there: {exists}; possible is {set(record.possible)}"
        kept = frozenset(each for each in record.possible if (each is not None) == exists)
        record.now(time, (kept | record.fading(time) | self._gone(name, since)) or found)

    def arrived_late(self, time: int, name: str, value: Value) -> None:
        """A create that nobody waits for was carried out."""
        record = self.of(name)
        record.now(time, record.possible | {value})
