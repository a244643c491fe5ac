"""The plan: from a query to lanes, purely.

A lane is one shard query: one branch (index and conditions), one hash key value, one interval. The plan holds every
lane that can hold an answer, the total order of the answer, and the reasons for its choices; it sends nothing.

The order is (sort value, hash key, branch rank, DynamoDB's own order inside a key), or its exact reverse. Where an
index is ordered by the timestamp property, generations are disjoint ranges of that order: their lanes are put in
stages, read one after another in query order, each narrowed to its generation's time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..entity_type import EntityType, IndexView
from ..errors import KeyTooLong, LimitExceeded, UnsupportedQuery
from ..schema import Schema
from ..sharding import READ_AHEAD_MS, Generation, ShardMap, placements
from ..table.operations import Interval
from ..table.values import Item, Value
from .conditions import Conditions, Match, match, normalized, range_interval
from .cursor import fingerprint_of
from .spec import MAX_LIMIT, Constraint, Equal, Prefix, QuerySpec, Range

MAX_LANES = 4096


@dataclass(frozen=True)
class Branch:
    """One index with conditions. `time_ordered` says that its order is that of the timestamp property, `time_reversed`
    that it runs against it."""

    rank: int
    view: IndexView
    conditions: Conditions
    matched: Match
    time_ordered: bool
    time_reversed: bool

    def sort_value(self, item: Item) -> Value:
        """Where an item stands in the merged order."""
        return item[self.view.range_name]


@dataclass(frozen=True)
class Lane:
    """One shard query. `number` is its place in the plan, stable when a later bump adds lanes; `interval` None sends
    nothing; lanes of a lower `stage` are exhausted before those of the next are read."""

    number: int
    rank: int
    hash_value: str
    interval: Interval | None
    generation: Generation
    stage: int

    @property
    def order(self) -> tuple[str, int]:
        """What orders records of equal sort value."""
        return self.hash_value, self.rank


@dataclass(frozen=True)
class Plan:
    """All that an executor needs. `window` is the closed range of record timestamps that were asked for, None sides
    open. `fingerprint` binds cursors."""

    entity: EntityType[Any]
    branches: tuple[Branch, ...]
    lanes: tuple[Lane, ...]
    stages: int
    descending: bool
    limit: int
    consistent: bool
    map_id: int
    fingerprint: bytes
    reasons: tuple[str, ...]
    window: Range = Range()


def plan_query(schema: Schema, spec: QuerySpec, shard_map: ShardMap, now_ms: int) -> Plan:
    """The plan of a query under a shard map. Raises UnknownName, UnsupportedQuery, LimitExceeded, ValueRefused or
    ValidationFailed."""
    if isinstance(spec.limit, bool) or not 1 <= spec.limit <= MAX_LIMIT:
        raise LimitExceeded(f"a page has 1 to {MAX_LIMIT} records", where="limit", fix="ask for fewer, and page")
    entity = schema.entity(spec.entity)
    conditions = normalized(entity, spec.conditions)
    view, matched, reasons = _choose(entity, spec, conditions)
    branch = _branch(entity, 0, view, conditions, matched)
    branches = (branch,)
    generations = _generations(entity, spec, branches, shard_map, now_ms)
    lanes, stages = _lanes(entity, branches, generations, spec.reverse)
    if len(lanes) > MAX_LANES:
        raise LimitExceeded(
            f"the query needs {len(lanes)} lanes, {MAX_LANES} are possible",
            where="conditions",
            fix="fix the property that decides the shard, or narrow the time window",
        )
    reasons.append(f"{len(lanes)} lanes in {len(generations)} generations")
    return Plan(
        entity=entity,
        branches=branches,
        lanes=lanes,
        stages=stages,
        descending=spec.reverse,
        limit=spec.limit,
        consistent=spec.consistent,
        map_id=shard_map.id,
        fingerprint=_fingerprint(schema, spec, branches),
        reasons=tuple(reasons),
        window=_window(entity, spec, branches),
    )


# -- the index --------------------------------------------------------------------------------------------------------


def _choose(entity: EntityType[Any], spec: QuerySpec, conditions: Conditions) -> tuple[IndexView, Match, list[str]]:
    if spec.index is not None:
        view = entity.view(spec.index)
        if spec.consistent:
            raise _no_consistent(spec.index)
        matched = match(view, conditions)
        if isinstance(matched, str):
            raise UnsupportedQuery(
                f"the index {spec.index!r} can't answer this: {matched}",
                where="index",
                fix=f"it supports {_support(view)}",
            )
        return view, matched, [f"index {spec.index} was named"]
    candidates = [
        (view, matched) for view in entity.views.values() if isinstance(matched := match(view, conditions), Match)
    ]
    if spec.consistent:
        candidates = [(view, matched) for view, matched in candidates if view.index is None]
        if not candidates:
            raise _no_consistent("chosen")
    if not candidates:
        supported = "; ".join(f"{view.title}: {_support(view)}" for view in entity.views.values())
        raise UnsupportedQuery(
            f"no index of {entity.token!r} answers conditions on {', '.join(conditions) or 'nothing'}",
            where="conditions",
            fix=f"use what one index supports ({supported})",
        )
    view, matched = min(candidates, key=lambda candidate: _rank(entity, conditions, *candidate))
    return view, matched, [f"{view.title} uses every condition" if conditions else f"{view.title} holds every record"]


def _no_consistent(index: str) -> UnsupportedQuery:
    return UnsupportedQuery(
        f"the index ({index}) can't be read consistently",
        where="consistent",
        fix="query the table's own key, or drop it",
    )


def _rank(
    entity: EntityType[Any], conditions: Conditions, view: IndexView, matched: Match
) -> tuple[bool, bool, bool, int, bool, int]:
    """Better is lower: a whole key; no record left out for want of the range key; one shard; a longer hash key;
    everything projected; fewer elements that no condition speaks of."""
    whole = bool(view.range_elements) and matched.fixed == len(view.range_elements)
    unsaid = len(view.range_elements) - matched.fixed - (matched.last is not None)
    return (
        not whole,
        _is_sparse(entity, view) and not (matched.fixed or matched.last),
        _shard_text(entity, conditions) is None,
        -len(view.hash_elements),
        view.projected is not None,
        unsaid,
    )


def _is_sparse(entity: EntityType[Any], view: IndexView) -> bool:
    """Whether a record may be missing from the view for want of its range key."""
    if not view.raw:
        return False
    each = entity.properties[view.range_elements[0].name]
    return not each.required and each.role is None


def _support(view: IndexView) -> str:
    parts = [f"{element.name} fixed" for element in view.hash_elements]
    names = ", ".join(element.name for element in view.range_elements)
    return " and ".join([*parts, f"then {names} from the left" if parts else f"{names} from the left"])


def _branch(entity: EntityType[Any], rank: int, view: IndexView, conditions: Conditions, matched: Match) -> Branch:
    following = view.range_elements[matched.fixed : matched.fixed + 1]
    ordered = bool(following) and following[0].name == entity.timestamp and not isinstance(matched.last, Prefix)
    if not view.raw and entity.keys.format.raw_timestamps:
        ordered = False
    return Branch(
        rank=rank,
        view=view,
        conditions=conditions,
        matched=matched,
        time_ordered=ordered,
        time_reversed=ordered and following[0].descending,
    )


# -- lanes ------------------------------------------------------------------------------------------------------------


def _generations(
    entity: EntityType[Any], spec: QuerySpec, branches: Sequence[Branch], shard_map: ShardMap, now_ms: int
) -> tuple[Generation, ...]:
    """The generations that can hold an answer: begun, and meeting the time window of the query and its conditions."""
    windows = [_time_window(entity, branch.conditions) for branch in branches]
    lows = [window.low for window in windows]
    highs = [window.high for window in windows]
    earliest = _latest_of([spec.earliest, None if None in lows else min(lows)])
    latest = _earliest_of([spec.latest, None if None in highs else max(highs)])
    soon = entity.in_unit(now_ms + READ_AHEAD_MS)
    return shard_map.between(earliest, soon if latest is None else min(latest, soon))


def _window(entity: EntityType[Any], spec: QuerySpec, branches: Sequence[Branch]) -> Range:
    """The asked time window, checked: the timestamp decides what is returned, so that every index must show it."""
    window = Range(spec.earliest, spec.latest)
    if window == Range():
        return window
    if entity.timestamp is None:
        raise UnsupportedQuery("the entity has no timestamp property", where="earliest", fix="drop the time window")
    for branch in branches:
        if branch.view.projected is not None and entity.timestamp not in branch.view.projected:
            raise UnsupportedQuery(
                f"the index {branch.view.index!r} does not project {entity.timestamp}",
                where="earliest",
                fix="project it, or drop the time window",
            )
    return window


def _time_window(entity: EntityType[Any], conditions: Conditions) -> Range:
    constraint: Constraint | None = conditions.get(entity.timestamp) if entity.timestamp else None
    if isinstance(constraint, Equal):
        return Range(constraint.value, constraint.value)
    return constraint if isinstance(constraint, Range) else Range()


def _latest_of(values: list[Value]) -> Value:
    return max((value for value in values if value is not None), default=None)


def _earliest_of(values: list[Value]) -> Value:
    return min((value for value in values if value is not None), default=None)


def _lanes(
    entity: EntityType[Any], branches: Sequence[Branch], generations: Sequence[Generation], descending: bool
) -> tuple[tuple[Lane, ...], int]:
    directions = {branch.time_reversed for branch in branches}
    staged = len(generations) > 1 and all(branch.time_ordered for branch in branches) and len(directions) == 1
    newest_first = staged and (descending != directions.pop())
    lanes: list[Lane] = []
    seen: set[tuple[str | None, str, Interval | None]] = set()
    for place, generation in enumerate(generations):
        stage = 0 if not staged else len(generations) - 1 - place if newest_first else place
        for branch in branches:
            interval = _interval(entity, branch, generation if branch.time_ordered and staged else None)
            for hash_value in _hash_values(entity, branch, generation):
                lane = (branch.view.index, hash_value, interval)
                if lane not in seen:
                    seen.add(lane)
                    lanes.append(Lane(len(lanes), branch.rank, hash_value, interval, generation, stage))
    return tuple(lanes), len(generations) if staged else 1


def _interval(entity: EntityType[Any], branch: Branch, generation: Generation | None) -> Interval | None:
    window = None
    if generation is not None:
        window = Range(generation.begins or None, None if generation.ends is None else generation.ends - 1)
        if window == Range():
            window = None
    return range_interval(entity.keys, branch.view, branch.conditions, branch.matched, window)


def _hash_values(entity: EntityType[Any], branch: Branch, generation: Generation) -> list[str]:
    keys = entity.keys
    text = _shard_text(entity, branch.conditions)
    try:
        return [
            keys.hash_key(placement.suffix, branch.view.hash_elements, branch.matched.hash_values)
            for placement in placements((generation,), keys.format.hash, text)
        ]
    except KeyTooLong:
        # No record can have such a key, so that the answer is known to be empty.
        return []


def _shard_text(entity: EntityType[Any], conditions: Conditions) -> str | None:
    """The text that decides the shard, when the conditions fix it."""
    fixed = {name: each.value for name, each in conditions.items() if isinstance(each, Equal)}
    if not all(element.name in fixed for element in entity.keys.design.shard_by):
        return None
    return entity.keys.shard_text(fixed)


def _fingerprint(schema: Schema, spec: QuerySpec, branches: Sequence[Branch]) -> bytes:
    return fingerprint_of(
        [
            schema.key_format.name,
            spec.entity,
            spec.scope,
            spec.reverse,
            spec.earliest,
            spec.latest,
            [[branch.view.index, _condition_parts(branch.conditions)] for branch in branches],
        ]
    )


def _condition_parts(conditions: Conditions) -> list[list[Any]]:
    parts: list[list[Any]] = []
    for name, constraint in sorted(conditions.items()):
        if isinstance(constraint, Equal):
            parts.append([name, "eq", constraint.value])
        elif isinstance(constraint, Prefix):
            parts.append([name, "prefix", constraint.text])
        else:
            parts.append([name, "range", constraint.low, constraint.high])
    return parts
