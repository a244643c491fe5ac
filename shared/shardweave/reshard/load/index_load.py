"""When an index needs more shards of its own, judged window by window as the table's shards are.

What counts is the one hash key, its values included, that is written most, since that is what a partition of the index
holds: more shards of the table do not help it, nor do they help one record that takes most of the writes by itself.
Nothing is started for it: the number of shards can't change under one name, so that a hash key with more is declared
beside it, filled, and asked in its place. What is said names the attribute, the indexes and a number of shards that
would do, and no value of a record. It is said after as many windows in a row as a proposal needs, and until as many in
a row are below half of the limits.

Pure.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...keys.sharding import MAX_SHARDS, ShardMap
from ...schema.entity_type import EntityType
from .counters import Load
from .policy import OF_INDEX, Policy, Standing, Verdict, Window


@dataclass(frozen=True)
class OwnShards:
    """A generated hash key with shards of its own, and the indexes by it."""

    attribute: str
    shards: int
    indexes: tuple[str, ...]


def own_shards(entity: EntityType[Any]) -> list[OwnShards]:
    """The generated hash keys of an entity that have shards of their own, and indexes."""
    found: dict[tuple[str, int], list[str]] = {}
    for view in entity.views.values():
        if view.index is not None and view.shards is not None:
            found.setdefault((view.hash_name, view.shards), []).append(view.index)
    return [OwnShards(attribute, shards, tuple(indexes)) for (attribute, shards), indexes in found.items()]


def judged_indexes(
    policy: Policy,
    before: Verdict | None,
    loads: Mapping[str, Load],
    current: ShardMap,
    now_ms: int,
    keys: list[OwnShards],
) -> dict[str, Standing]:
    """What stands of each hash key after one more window; nothing after the first one, which only notes numbers."""
    if before is None:
        return {}
    seconds = before.seconds_to(now_ms)
    table = max(generation.space.shards for generation in current.generations)
    found: dict[str, Standing] = {}
    for key in keys:
        windows = [
            Window.of(load, before, seconds)
            for name, load in loads.items()
            if name.startswith(key.attribute + OF_INDEX)
        ]
        busiest = max(windows, key=lambda window: window.use(policy), default=None)
        use = 0.0 if busiest is None or key.shards >= table else busiest.use(policy)
        then = before.indexes.get(key.attribute, Standing())
        high, low = then.high + 1 if use > 1 else 0, then.low + 1 if use < 0.5 else 0
        advice = then.advice if low < policy.windows else ""
        if high >= policy.windows and busiest is not None:
            advice = _advice(policy, key, busiest, use, table)
        found[key.attribute] = Standing(high, low, advice)
    return found


def _advice(policy: Policy, key: OwnShards, busiest: Window, use: float, table: int) -> str:
    needed = key.shards
    while needed < min(table, MAX_SHARDS) and needed < 2 * use * key.shards:
        needed *= 2
    instead = f"with shards={needed}" if needed < table else "without shards"
    number = f"{key.shards} shard{'' if key.shards == 1 else 's'}"
    return (
        f"a hash key of {key.attribute}, which has {number} in {', '.join(key.indexes)}, {busiest.reason(policy)}: "
        f"it is the index that needs more, not the table; declare a HashKey {instead} beside it"
    )
