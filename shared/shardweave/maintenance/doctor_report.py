"""The report of the doctor: what it found, what it left undecided and why, and its exit code. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import Fault
from .fault_kinds import Severity
from .findings import Findings, StoredKey

PARTS = ("layout", "records", "indexes", "counters", "sums")
CLEAN, REPAIRABLE, NEEDS_A_PERSON = 0, 1, 2
MAX_KEYS = 100
"""How many keys are listed of what is not decided."""


@dataclass(frozen=True)
class DoctorReport:
    """The results so far. `part` is the part that the doctor is working on, empty at the end; `items` is the
    approximate number of items from the table's description; `skipped` are the kinds that were not checked. Of what was
    not decided, the keys: `undecided`, of counters and sums that kept changing; `unsummed`, of records whose sums are
    not known, since the items `damaged`, which read models keep, can't be read. `not_recounted` are the read models of
    events, which are not kept; `unfinished` is what was left out, since every run was stopped before it was done."""

    part: str = PARTS[0]
    findings: Findings = field(default_factory=Findings)
    layout: tuple[Fault, ...] = ()
    read: int = 0
    units: float = 0.0
    seconds: float = 0.0
    items: int = 0
    repairing: bool = False
    skipped: tuple[str, ...] = ()
    undecided: tuple[StoredKey, ...] = ()
    unsummed: tuple[StoredKey, ...] = ()
    damaged: tuple[StoredKey, ...] = ()
    not_recounted: tuple[str, ...] = ()
    unfinished: tuple[str, ...] = ()

    @property
    def done(self) -> bool:
        return not self.part

    @property
    def code(self) -> int:
        """0 where nothing is left wrong, 1 where repair can do the rest, 2 where it takes a person, also to examine
        what was left out."""
        if self.layout or self.unfinished or self.findings.left(Severity.NEEDS_A_PERSON):
            return NEEDS_A_PERSON
        return REPAIRABLE if self.findings.left(Severity.REPAIRABLE) else CLEAN

    @property
    def estimate(self) -> tuple[float, float]:
        """About how many seconds and read units the rest of the records takes, by what the ones so far took."""
        left = max(0, self.items - self.read)
        return (self.seconds * left / self.read, self.units * left / self.read) if self.read else (0.0, 0.0)

    def document(self) -> dict[str, Any]:
        """As JSON shows it."""
        return {
            "done": self.done,
            "verdict": ("clean", "repairable", "needs a person")[self.code],
            "read": self.read,
            "units": round(self.units, 1),
            "seconds": round(self.seconds, 3),
            "repairing": self.repairing,
            "found": dict(sorted(self.findings.counts.items())),
            "repaired": dict(sorted(self.findings.repaired.items())),
            "skipped": list(self.skipped),
            "undecided": [list(key) for key in self.undecided],
            "unsummed": [list(key) for key in self.unsummed],
            "damaged": [list(key) for key in self.damaged],
            "notRecounted": list(self.not_recounted),
            "unfinished": list(self.unfinished),
            "layout": [{"where": each.where, "what": each.message, "fix": each.fix} for each in self.layout],
            "named": [each.document() for each in self.findings.all_named],
        }

    def with_keys(self, **more: Sequence[StoredKey]) -> DoctorReport:
        """The same with more keys of what is not decided, each once."""
        added = {name: tuple(dict.fromkeys((*getattr(self, name), *keys)))[:MAX_KEYS] for name, keys in more.items()}
        return replace(self, **added)  # type: ignore[arg-type]
