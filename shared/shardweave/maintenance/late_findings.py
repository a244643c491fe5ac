"""Findings about what follows the table a little later: they are faults only if they stay.

A read model follows its records by the table's stream. So a record that is not counted as it is now is kept here, and
looked at again once it is so old that the stream must have told of it: it is a fault if it still has the same revision
and the same is wrong with it. What is kept is saved with the progress of the doctor, as far as it is small; where a
great many are kept, they are waited for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..schema.entity_type import REVISION
from ..table.concurrency import run_concurrently
from ..table.retry import RetryClock
from ..table.values import Item
from .examination import Confirmed
from .findings import Finding

LATE_SECONDS = 15.0
"""A stream tells of a change within a second or two; the doctor's function has this long before its time is over."""
MAX_KEPT = 10_000
MAX_SAVED = 200
"""More are settled before progress is saved."""


@dataclass(frozen=True)
class LateFinding:
    """What seemed wrong with an item in one revision, and when."""

    finding: Finding
    key: Item
    rev: Any
    since: float


class LateFindings:
    """Those of one examination, each once. `confirm` says what is wrong with an item at one moment."""

    def __init__(
        self, confirm: Callable[[Item], Confirmed | None], waiting: RetryClock, names: tuple[str, str]
    ) -> None:
        self._confirm = confirm
        self._waiting = waiting
        self._names = names
        self._kept: dict[Finding, LateFinding] = {}

    @property
    def is_small(self) -> bool:
        """Whether what is kept can be saved."""
        return len(self._kept) <= MAX_SAVED

    def add(self, finding: Finding, item: Item) -> None:
        key = {name: item[name] for name in self._names}
        self._kept[finding] = LateFinding(finding, key, item.get(REVISION), self._waiting.monotonic())

    def settled(self, *, all_of_them: bool = False) -> Iterator[Confirmed]:
        """The faults among those that are old enough; `all_of_them` waits until all are."""
        past = self._waiting.monotonic() - LATE_SECONDS
        if self._kept and (all_of_them or len(self._kept) > MAX_KEPT):
            youngest = max(each.since for each in self._kept.values())
            if youngest > past:
                self._waiting.sleep(youngest - past)
            past = youngest
        old = [each for each in self._kept.values() if each.since <= past]
        for each in old:
            del self._kept[each.finding]
        return (each for each in run_concurrently(self._still, old) if each is not None)

    def encode(self) -> list[Any]:
        return [[each.finding.encode(), dict(each.key), each.rev] for each in self._kept.values()]

    @staticmethod
    def check(saved: Sequence[Any]) -> None:
        """Raise LookupError, TypeError or ValueError for what can't be taken up."""
        for found, key, _ in saved:
            Finding.decode(found)
            dict(key)

    def restore(self, saved: Sequence[Any]) -> None:
        """Take up what was saved, as if it had been found now."""
        now = self._waiting.monotonic()
        found = [LateFinding(Finding.decode(each), key, rev, now) for each, key, rev in saved]
        self._kept = {each.finding: each for each in found}

    # -- parts

    def _still(self, late: LateFinding) -> Confirmed | None:
        now = self._confirm(late.key)
        if now is None or late.finding not in now.findings or now.item.get(REVISION) != late.rev:
            return None
        return Confirmed(now.item, (late.finding,))
