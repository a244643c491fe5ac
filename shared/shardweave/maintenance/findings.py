"""The findings of the doctor: faults with their places, counted by kind, and whether they were repaired.

A finding names keys and properties, never a value of a property that is no part of a key. Of each kind at most 25 are
named, the first by their keys, so that a report is the same in whatever order the table was gone over; all are counted.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from .fault_kinds import KINDS, Severity

MAX_NAMED = 25

StoredKey = tuple[str, str]
"""A hash and a range key."""


@dataclass(frozen=True, order=True)
class Finding:
    """One fault: its kind, the key that it is about, and where two items are concerned the other's; `about` names the
    entity, and the property, lookup, relation or index."""

    kind: str
    key: StoredKey
    about: str = ""
    other: StoredKey | None = None

    @property
    def severity(self) -> Severity:
        return KINDS[self.kind].severity

    def encode(self) -> list[Any]:
        return [self.kind, list(self.key), self.about, None if self.other is None else list(self.other)]

    @classmethod
    def decode(cls, saved: Any) -> Finding:
        """The inverse of `encode`."""
        kind, key, about, other = saved
        return cls(kind, (key[0], key[1]), about, None if other is None else (other[0], other[1]))

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        shown: dict[str, Any] = {"kind": self.kind, "severity": self.severity.value, "about": self.about}
        shown["key"] = list(self.key)
        return shown if self.other is None else shown | {"other": list(self.other)}

    def __str__(self) -> str:
        both = "" if self.other is None else f" and {' '.join(self.other)}"
        return f"{self.kind}: {self.about}: {' '.join(self.key)}{both}"


@dataclass
class Findings:
    """Faults of one examination. `repaired` counts those that were put right, by kind."""

    named: dict[str, list[Finding]] = field(default_factory=dict)
    counts: dict[str, int] = field(default_factory=dict)
    repaired: dict[str, int] = field(default_factory=dict)

    def add(self, finding: Finding) -> None:
        """Take one in. One that many records tell of, and is named, counts once."""
        named = self.named.setdefault(finding.kind, [])
        if finding in named:
            return
        named.append(finding)
        named.sort(key=_order)
        del named[MAX_NAMED:]
        self.counts[finding.kind] = self.counts.get(finding.kind, 0) + 1

    def note_repaired(self, finding: Finding) -> None:
        """One that was taken in has been put right."""
        self.repaired[finding.kind] = self.repaired.get(finding.kind, 0) + 1

    def note_wrong_again(self, finding: Finding) -> None:
        """One that was put right is wrong all the same."""
        self.repaired[finding.kind] = max(0, self.repaired.get(finding.kind, 0) - 1)

    @property
    def all_named(self) -> list[Finding]:
        return [each for kind in sorted(self.named) for each in self.named[kind]]

    def left(self, severity: Severity) -> int:
        """How many of a severity were found and not put right."""
        left = {kind: max(0, count - self.repaired.get(kind, 0)) for kind, count in self.counts.items()}
        return sum(count for kind, count in left.items() if KINDS[kind].severity is severity)

    def encode(self) -> dict[str, Any]:
        return {
            "named": [each.encode() for each in self.all_named],
            "counts": dict(self.counts),
            "repaired": dict(self.repaired),
        }

    @classmethod
    def decode(cls, saved: Mapping[str, Any]) -> Findings:
        """The inverse of `encode`."""
        found = cls(counts=dict(saved["counts"]), repaired=dict(saved["repaired"]))
        for each in map(Finding.decode, saved["named"]):
            found.named.setdefault(each.kind, []).append(each)
        return found


def _order(finding: Finding) -> tuple[Any, ...]:
    return finding.key, finding.about, finding.other or ("", "")
