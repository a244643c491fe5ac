"""The sequences whose counters are known to be behind, each with the highest number of a record that was above it.

All records above a counter tell of one fault, which is the counter's. So after the first of them only one with a higher
number than those before is worth another reading, of thousands in any order about ten. What is known is saved with the
progress of the doctor.

Pure.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from typing import Any

from ..table.values import Item
from .findings import Finding

BEHIND = "sequence_behind"
MAX_KNOWN = 1_000
"""Of more counters each record tells by itself."""


class SequencesBehind:
    """Those that one examination knows of."""

    def __init__(self) -> None:
        self._highest: dict[bytes, int] = {}

    def knows(self, finding: Finding) -> bool:
        """Whether a sequence is known to be behind."""
        return _digest(finding) in self._highest

    def covers(self, finding: Finding, item: Item) -> bool:
        """Whether a record tells nothing new of a sequence that is known to be behind: others have higher numbers."""
        return finding.kind == BEHIND and number_of(finding, item) <= self._highest.get(_digest(finding), -1)

    def note(self, finding: Finding, item: Item) -> None:
        """A record's number is above the counter."""
        digest, number = _digest(finding), number_of(finding, item)
        if digest in self._highest or len(self._highest) < MAX_KNOWN:
            self._highest[digest] = max(number, self._highest.get(digest, -1))

    def encode(self) -> list[Any]:
        return [[digest, highest] for digest, highest in self._highest.items()]

    @staticmethod
    def decode(saved: Iterable[Any]) -> SequencesBehind:
        """The inverse of `encode`. Raises LookupError, TypeError or ValueError for what it has not made."""
        found = SequencesBehind()
        found._highest = {bytes(digest): int(highest) for digest, highest in saved}
        return found


def number_of(finding: Finding, item: Item) -> int:
    """The number of a record that is above its sequence's counter."""
    return int(item[finding.about.partition(".")[2]])


def by_number(suspect: tuple[Item, Sequence[Finding]]) -> int:
    """What suspects are sorted by, so that the one comes first that covers the others."""
    item, found = suspect
    return -max((number_of(each, item) for each in found if each.kind == BEHIND), default=0)


def _digest(finding: Finding) -> bytes:
    """Short, as keys may be long."""
    text = "\0".join((finding.about, *finding.key))
    return hashlib.blake2b(text.encode(), digest_size=12).digest()
