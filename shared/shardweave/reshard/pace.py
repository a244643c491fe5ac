"""Pace: how a mover divides its work, here and in a deployed stage. Pure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """How long a slice may take, how much longer others leave its item alone, how many records a page has, and how many
    reads are made at once where there are many."""

    slice_ms: int = 55_000
    margin_ms: int = 35_000
    page: int = 100
    workers: int = 1


DEPLOYED_PACE = Pace(workers=8)
LOCAL_PACE = Pace(slice_ms=1000, margin_ms=5000)
