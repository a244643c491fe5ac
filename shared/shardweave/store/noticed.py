"""Stored records that a piece of work met and that can't be read, whether its caller is told of them or not.

What is met inside `noticing()` is kept once, also from threads that run in a copy of the context, as those of
`concurrency` do. Outside of it nobody asks, and nothing is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from ..errors import Unreadable

Noticed = dict[tuple[Any, ...], Unreadable]
_NOTICED: ContextVar[Noticed | None] = ContextVar("noticed", default=None)


@contextmanager
def noticing() -> Iterator[Noticed]:
    """What the work inside meets."""
    noticed: Noticed = {}
    before = _NOTICED.set(noticed)
    try:
        yield noticed
    finally:
        _NOTICED.reset(before)


def notice(met: Unreadable) -> None:
    """Keep a record that can't be read for whoever asks."""
    noticed = _NOTICED.get()
    if noticed is not None:
        noticed.setdefault(identity_of(met), met)


def identity_of(met: Unreadable) -> tuple[Any, ...]:
    """What two sightings of one damage have in common."""
    return met.entity, met.name, met.code
