"""Comparing two versions of a deployment by what their functions logged: latency, failures, throttled, empty and
partial answers, read units.

From the documents of a function's log (see `log_documents`): those of requests (`route`, `status`, `milliseconds`), and
those of metrics (`_aws`), which have `Answers`, `Failures`, ..., `ReadUnits`. Other lines are passed over.

A figure is worse if it is so by more than the tolerance and by more than chance: the shares and means of the new
version are over 4 standard errors above the old one's. A latency is compared by route: the share of the new version's
requests that take longer than nine tenths of the old one's did. With fewer than 200 requests in one of the versions
nothing is decided, nor where no figure is in both; a route with fewer in one of them is left out.

Pure.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from .log_documents import documents

LEAST = 200
SIGMAS = 4.0
SLOWEST = 0.9
RATES = ("Failures", "ThrottledAnswers", "EmptyAnswers", "PartialAnswers", "LaneFailures", "UnreadableRecords")
OK, WORSE, UNDECIDED = "as good", "worse", "undecided"


@dataclass
class VersionFigures:
    """What was logged of one version: milliseconds by route, and the values of metrics by name."""

    milliseconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    values: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    documents: int = 0

    @property
    def requests(self) -> int:
        """The number of requests."""
        return sum(map(len, self.milliseconds.values()))


@dataclass(frozen=True)
class Figure:
    """One figure of both versions, and what is to be said of the new one."""

    name: str
    old: float
    new: float
    verdict: str


@dataclass(frozen=True)
class VersionReport:
    """All figures, and the verdict."""

    verdict: str
    requests: tuple[int, int]
    figures: tuple[Figure, ...] = ()


def figures_of(lines: Iterable[str | bytes]) -> VersionFigures:
    """What the lines of a log say."""
    found = VersionFigures()
    for document in documents(lines):
        found.documents += 1
        if "_aws" in document:
            for name in (*RATES, "ReadUnits"):
                found.values[name] += _numbers(document.get(name))
        elif isinstance(document.get("route"), str) and document["route"]:
            route = f"{document.get('method', '')} {document['route']}".strip()
            found.milliseconds[route] += _numbers(document.get("milliseconds"))
    return found


def compared(old: VersionFigures, new: VersionFigures, tolerance: float = 0.2) -> VersionReport:
    """The new version beside the old one. `tolerance` is by how much a figure may grow, as a share of it."""
    requests = (old.requests, new.requests)
    if min(requests) < LEAST:
        return VersionReport(UNDECIDED, requests)
    figures = [
        _mean(name, old.values[name], new.values[name], tolerance)
        for name in (*RATES, "ReadUnits")
        if old.values.get(name) and new.values.get(name)
    ]
    for route in sorted(set(old.milliseconds) & set(new.milliseconds)):
        one, other = old.milliseconds[route], new.milliseconds[route]
        if min(len(one), len(other)) >= LEAST:
            figures.append(_latency(route, one, other, tolerance))
    if not figures:
        return VersionReport(UNDECIDED, requests)
    worse = any(each.verdict == WORSE for each in figures)
    return VersionReport(WORSE if worse else OK, requests, tuple(figures))


def _mean(name: str, old: Sequence[float], new: Sequence[float], tolerance: float) -> Figure:
    one, other = math.fsum(old) / len(old), math.fsum(new) / len(new)
    # One more than was seen, so that a figure that was never anything but 0 has an error too.
    error = math.sqrt(
        (_variance(old, one) + 1 / len(old)) / len(old) + (_variance(new, other) + 1 / len(new)) / len(new)
    )
    worse = other > one * (1 + tolerance) and other - one > SIGMAS * error
    return Figure(name, one, other, WORSE if worse else OK)


def _latency(route: str, old: Sequence[float], new: Sequence[float], tolerance: float) -> Figure:
    limit = sorted(old)[math.ceil(SLOWEST * len(old)) - 1]
    share, usual = sum(each > limit for each in new) / len(new), 1 - SLOWEST
    error = math.sqrt(usual * SLOWEST * (1 / len(old) + 1 / len(new)))
    median = [sorted(each)[len(each) // 2] for each in (old, new)]
    worse = share > usual * (1 + tolerance) and share - usual > SIGMAS * error
    return Figure(f"milliseconds of {route}", median[0], median[1], WORSE if worse else OK)


def _variance(values: Sequence[float], mean: float) -> float:
    return math.fsum((each - mean) ** 2 for each in values) / max(1, len(values) - 1)


def _numbers(value: Any) -> list[float]:
    values = value if isinstance(value, list) else [value]
    return [float(each) for each in values if isinstance(each, (int, float)) and not isinstance(each, bool)]
