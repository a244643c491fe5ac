"""Collecting the unreadable records that a request met, whether its caller is told about them or not.

Records met inside `noticing()` are collected once each, also from threads that run in a copy of the context, such as
those of `concurrency`. Outside of it nothing is collected.
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
    """The unreadable records that the code inside the block meets."""
    noticed: Noticed = {}
    before = _NOTICED.set(noticed)
    try:
        yield noticed
    finally:
        _NOTICED.reset(before)


def notice(met: Unreadable) -> None:
    """Add an unreadable record to the current collection, if any."""
    noticed = _NOTICED.get()
    if noticed is not None:
        noticed.setdefault(identity_of(met), met)


def identity_of(met: Unreadable) -> tuple[Any, ...]:
    """The identity of a fault: the same for two encounters with the same record."""
    return met.entity, met.name, met.code
