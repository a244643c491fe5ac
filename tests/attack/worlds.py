"""The services under attack, each at a gate of its own."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from shardweave.service.build import Settings, build
from shardweave.table.embedded import EmbeddedTable
from tests.attack.fortress import OPERATORS, fortress
from tests.attack.gate import Gate
from tests.unit.api_world import CURSOR_KEYS, EXTERNAL_KEYS, Clock

SHIPPED = ("user_service", "user_service_lean", "order_tracking", "issue_tracker")
CLAIMS: Mapping[str, Mapping[str, Any]] = {
    "fortress": {"sub": "eve", "tenant": "acme"},
    "issue_tracker": {"sub": "eve", "tenant": "00000000-0000-4000-8000-000000000001"},
}
"""Somebody of each service without any group; where nobody is told apart a name will do."""


def claims_of(name: str) -> Mapping[str, Any]:
    return CLAIMS.get(name, {"sub": "eve"})


def shipped(name: str, **settings: Any) -> Gate:
    """A service that ships, with operators."""
    clock = Clock()
    given = {"cursor_keys": CURSOR_KEYS, "operators": OPERATORS, "external_keys": lambda: EXTERNAL_KEYS, **settings}
    service = build(
        Settings(service=name, **given),
        open_table=lambda layout: EmbeddedTable(layout, clock=lambda: clock() / 1000),
        clock=clock,
    )
    return Gate(service.api, service.parts, clock, made_of=(name, *sorted(settings)))


WORLDS: Mapping[str, Callable[[], Gate]] = {
    "fortress": functools.partial(fortress, with_bobs=True),
    **{name: functools.partial(shipped, name) for name in SHIPPED},
}


@contextmanager
def opened(name: str) -> Iterator[Gate]:
    gate = WORLDS[name]()
    try:
        yield gate
    finally:
        gate.close()
