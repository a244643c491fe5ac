"""The waits of a re-shard as a setting: a name, or JSON with any of their fields.

    normal    those of a deployed table
    local     for a table on this machine: the control record is read in each write's own transaction, no signed
              request can be under way, and there is one clock
    fast      for trying it out, and for tests: a cursor lives for a few seconds only

    {"leaseMs": 1000, "acceptedMs": 2000, "requestMs": 500, "clocksMs": 100, "cursorLifeMs": 60000, "quietMs": 1000,
     "recheckMs": [60000, 120000]}

Short waits are only for temporary stages. No lease is shorter than `SHORTEST_LEASE_MS`, which the command line uses for
every deployed stage, since it does not know the stage's waits. Pure.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from typing import Any

from ..errors import ConfigurationError
from .phases import Waits

SHORTEST_LEASE_MS = 250
LOCAL = Waits(lease_ms=2000, accepted_ms=0, request_ms=30_000, clocks_ms=0, quiet_ms=10_000)
FAST = Waits(500, 0, 2000, clocks_ms=0, cursor_life_ms=5000, quiet_ms=1000, recheck_ms=(10_000,))
NAMED = {"normal": Waits(), "local": LOCAL, "fast": FAST}


def decode_waits(text: str, where: str) -> Waits:
    """The waits of a setting. Raises ConfigurationError."""
    if text in NAMED:
        return NAMED[text]
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise ConfigurationError("must be a JSON object or a name", where=where, fix=f"use {', '.join(NAMED)}, or JSON")
    names = {_camel(each.name): each.name for each in fields(Waits)}
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise ConfigurationError(
            f"it has other fields: {', '.join(unknown)[:80]}", where=where, fix=f"use {', '.join(names)}"
        )
    waits = replace(Waits(), **{names[name]: _checked(name, value, where) for name, value in given.items()})
    if waits.lease_ms < SHORTEST_LEASE_MS:
        fix = "let it be longer: the command line goes by so long a lease"
        raise ConfigurationError(f"leaseMs is below {SHORTEST_LEASE_MS}", where=where, fix=fix)
    return waits


def encode_waits(waits: Waits) -> str:
    """The JSON of waits."""
    return json.dumps({_camel(each.name): getattr(waits, each.name) for each in fields(waits)})


def _checked(name: str, value: Any, where: str) -> Any:
    several = name == "recheckMs"
    values = value if isinstance(value, list) else [value]
    if several is not isinstance(value, list) or not all(type(each) is int and 0 <= each <= 10**11 for each in values):
        kind = "a list of milliseconds" if several else "milliseconds"
        raise ConfigurationError(f"{name} is not {kind}", where=where, fix="give whole numbers from 0")
    return tuple(values) if several else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(each.capitalize() for each in rest)


@dataclass(frozen=True)
class Pace:
    """The duration of a slice, the additional time for which other movers don't take its item, the number of records of
    a page, and the number of parallel reads. `into_key` is the number of records a second that all movers together
    write into a hash key that several of them write to, if no rate is set; 0 is no limit."""

    slice_ms: int = 55_000
    margin_ms: int = 35_000
    page: int = 100
    workers: int = 1
    into_key: int = 0


DEPLOYED_PACE = Pace(workers=8, into_key=500)


LOCAL_PACE = Pace(slice_ms=1000, margin_ms=5000)
