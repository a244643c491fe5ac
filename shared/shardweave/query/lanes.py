"""Lanes: the shard queries of a plan.

A lane is one branch (index and conditions), one hash key value, one interval. If the timestamp property is the next
element of a branch after its fixed elements, its lanes are narrowed to their generation's time range and to the query's
time window. No record is lost, since the shards of a generation contain only records of its time range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..errors import KeyTooLong, ValueRefused
from ..keys.sharding import READ_AHEAD_MS, Generation, ShardMap, placements
from ..schema.entity_type import EntityType
from ..table.operations import Interval
from ..table.values import Value
from ..values.codecs import Codec
from .branches import Branch
from .conditions import Conditions, range_interval
from .index_selection import shard_text
from .intervals import intersection
from .spec import ANY_TIME, Constraint, Equal, QuerySpec, Range


@dataclass(frozen=True)
class Lane:
    """One shard query. `number` names it in cursors: it is counted within its entity, so that it stays the same when a
    later bump adds lanes, to this entity or to another; `interval` None sends nothing; lanes of a lower `stage` are
    exhausted before those of the next are read."""

    number: int
    rank: int
    hash_value: str
    interval: Interval | None
    generation: Generation
    stage: int

    @property
    def order(self) -> tuple[str, int]:
        """The order of lanes among records with equal sort values."""
        return self.hash_value, self.rank


def generations_of(
    entity: EntityType[Any], spec: QuerySpec, branches: Sequence[Branch], shard_map: ShardMap, now_ms: int
) -> tuple[Generation, ...]:
    """The generations that can hold matching records: they have begun, and overlap the time window of the query and its
    conditions."""
    windows = [_time_window(entity, branch.conditions) for branch in branches]
    lows = [window.low for window in windows]
    highs = [window.high for window in windows]
    earliest = _strictest(max, [spec.earliest, None if None in lows else min(lows)])
    latest = _strictest(min, [spec.latest, None if None in highs else max(highs)])
    soon = entity.in_unit(now_ms + READ_AHEAD_MS)
    return shard_map.between(earliest, soon if latest is None else min(latest, soon))


def _time_window(entity: EntityType[Any], conditions: Conditions) -> Range:
    constraint: Constraint | None = conditions.get(entity.timestamp) if entity.timestamp else None
    if isinstance(constraint, Equal):
        return Range(constraint.value, constraint.value)
    return constraint if isinstance(constraint, Range) else ANY_TIME


def _strictest(choose_from: Any, values: list[Value]) -> Value:
    return choose_from((value for value in values if value is not None), default=None)


def lanes_of(
    entity: EntityType[Any],
    branches: Sequence[Branch],
    generations: Sequence[Generation],
    window: Range,
    first: int = 0,
) -> tuple[Lane, ...]:
    """Every lane that can hold matching records of one entity, grouped by generation, the oldest first; all in one
    stage, numbered from `first` on."""
    lanes: list[Lane] = []
    seen: set[tuple[str | None, str, Interval | None, object]] = set()
    for generation in generations:
        for branch in branches:
            interval = _interval(entity, branch, window, generation)
            for hash_value in _hash_values(entity, branch, generation):
                lane = (branch.view.index, hash_value, interval, repr(branch.filter))
                if lane not in seen:
                    seen.add(lane)
                    lanes.append(Lane(first + len(lanes), branch.rank, hash_value, interval, generation, stage=0))
    return tuple(lanes)


def _interval(entity: EntityType[Any], branch: Branch, window: Range, generation: Generation) -> Interval | None:
    """The interval of a lane: from the conditions and, if the index is ordered by time, from the time window."""
    narrower = None
    if branch.time_ordered:
        codec = branch.view.range_elements[branch.matched.fixed].codec
        asked = Interval(_holdable(codec, window.low), _holdable(codec, window.high))
        last = None if generation.ends is None else generation.ends - 1
        made = intersection(asked, Interval(_holdable(codec, generation.begins or None), _holdable(codec, last)))
        if made is None:
            return None
        narrower = None if made == Interval() else Range(made.low, made.high)
    return range_interval(entity.keys, branch.view, branch.conditions, branch.matched, narrower)


def _holdable(codec: Codec, bound: Value) -> Value:
    """The bound, or None if a key can't contain it: then records are dropped after reading."""
    if bound is None:
        return None
    try:
        codec.encode(bound)
    except ValueRefused:
        return None
    return bound


def _hash_values(entity: EntityType[Any], branch: Branch, generation: Generation) -> list[str]:
    keys = entity.keys
    text = shard_text(entity, branch.conditions)
    try:
        found = placements((generation,), keys.format.hash, text, branch.view.shards)
        suffixes = [placement.suffix for placement in found]
        return keys.hash_keys(suffixes, branch.view.hash_elements, branch.matched.hash_values)
    except KeyTooLong:
        # No record can have such a key, so the lane is empty.
        return []
