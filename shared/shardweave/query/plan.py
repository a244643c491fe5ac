"""The plan: pure functions from a query to its lanes.

The plan contains every lane that can hold matching records (see `lanes`), the total order of the result, and the
reasons for its choices. Planning does no I/O. The order is (sort value, hash key, branch rank, DynamoDB's own order
inside a key), or its exact reverse.

Generations are read one after another, in stages, only if the order of the plan's lanes allows it: over all lanes of
all branches, the greatest comparable text of a stage must be strictly below the least of the next stage (descending:
the least strictly above the greatest), where open bounds are infinite. Otherwise all lanes are in one stage and are
read together. `stages` checks this, and a Plan that violates it can't be created.

One plan may read records of several entities, in one order: then it has a part for each, with its branches, lanes and
shard map, and the generations of each are its own.

The query's time window narrows branches that are ordered by the timestamp property; in other branches, records outside
the window are dropped after reading.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from ..errors import InputError, LimitExceeded, UnsupportedQuery
from ..keys.sharding import ShardMap
from ..schema.entity_type import EntityType, IndexView
from ..schema.schema import Schema
from ..table.operations import Interval
from ..values.defaults import Default
from .branches import Branch, Overlap, check_order, check_projections, names_to_leave_out
from .conditions import Conditions, expanded, normalized
from .cursor import fingerprint_of
from .filters import NO_FILTER, compile_filter, signature
from .index_selection import choose
from .key_attributes import attributes_for, hidden_in, is_unclear
from .lanes import Lane, generations_of, lanes_of
from .limits import check_limits
from .spec import ANY_TIME, MAX_BRANCHES, BranchSpec, Equal, Prefix, QuerySpec, Range
from .stages import are_ordered, in_stages

MAX_LANES = 4096


@dataclass(frozen=True)
class EntityPlan:
    """The part of a plan that reads records of one entity.

    `window` is the closed range of their timestamps. `attributes` are the attributes to read of each record, as far as
    its index has them, None for all that the index projects; `shown` are the properties to return, None for whole
    records; with `hydrate` these are read from the table.
    """

    entity: EntityType[Any]
    branches: tuple[Branch, ...]
    map_id: int
    window: Range = ANY_TIME
    attributes: tuple[str, ...] | None = None
    shown: tuple[str, ...] | None = None
    hydrate: bool = False

    @cached_property
    def defaults(self) -> tuple[tuple[str, Default], ...]:
        """The defaults to show for missing properties, if not whole records are shown."""
        views = [branch.view for branch in self.branches]
        return tuple(
            (name, each.default)
            for name, each in self.entity.properties.items()
            if (self.shown is None or name in self.shown)
            and (each.default.is_constant is False or each.default.form() is not None)
            and not any(hidden_in(self.entity, view, [name]) or is_unclear(self.entity, view, name) for view in views)
        )

    @property
    def leaves_out(self) -> bool:
        """Whether records may be dropped after reading: by a filter, or by the time window."""
        filtered = any((branch.filter.by_table, branch.filter.here) != (None, None) for branch in self.branches)
        return filtered or (self.window != ANY_TIME and not all(branch.time_ordered for branch in self.branches))

    @property
    def whole(self) -> bool:
        """Whether whole records are returned, and not only chosen properties."""
        return self.hydrate or (self.shown is None and all(branch.view.projected is None for branch in self.branches))

    def projection(self, branch: Branch) -> tuple[str, ...] | None:
        """The attributes to read of each record of a branch, None for all that its index projects."""
        if self.attributes is None or branch.view.projected is None:
            return self.attributes
        return tuple(name for name in self.attributes if name in branch.view.projected)


@dataclass(frozen=True)
class Plan:
    """Everything that an executor needs. `parts` are the plans of its entities, most often of one. Cursors are bound to
    `fingerprint`. `descending` is the order in which lanes are read: the reverse of the query's, where the plan reads
    `backwards`.
    """

    parts: tuple[EntityPlan, ...]
    branches: tuple[Branch, ...]
    lanes: tuple[Lane, ...]
    stages: int
    descending: bool
    limit: int
    consistent: bool
    fingerprint: bytes
    reasons: tuple[str, ...]
    hydrate: bool = False
    backwards: bool = False

    def __post_init__(self) -> None:
        if self.stages > 1:
            proved = are_ordered(self.branches, self.lanes, descending=self.descending)
            assert proved, "a stage may hold records that stand before those of an earlier one"

    def turned(self) -> Plan:
        """The plan that reads the same result from its other end."""
        lanes = self.lanes
        if self.stages > 1:
            lanes = tuple(replace(lane, stage=self.stages - 1 - lane.stage) for lane in lanes)
        reasons = (*self.reasons, "read backwards, from the token's place on; the page is then turned")
        return replace(self, lanes=lanes, descending=not self.descending, backwards=not self.backwards, reasons=reasons)

    @property
    def map_ids(self) -> tuple[int, ...]:
        """The shard map of each entity, as cursors name it."""
        return tuple(part.map_id for part in self.parts)

    @property
    def entity_names(self) -> str:
        """The token of the entity, or several, separated by commas."""
        return ", ".join(part.entity.token for part in self.parts)

    def part_of(self, lane: Lane) -> EntityPlan:
        """The plan of the entity whose records a lane has."""
        return self.parts[self.branches[lane.rank].part]

    @cached_property
    def overlaps(self) -> tuple[Overlap, ...]:
        """For each entity what decides in which branch a record is returned."""
        lanes: list[dict[str, Interval | None]] = [{} for _ in self.branches]
        for lane in self.lanes:
            lanes[lane.rank][lane.hash_value] = lane.interval
        return tuple(
            Overlap(part.entity, part.branches, [lanes[branch.rank] for branch in part.branches]) for part in self.parts
        )

    @property
    def leaves_out(self) -> bool:
        """Whether records may be dropped after reading."""
        return any(part.leaves_out for part in self.parts)

    @property
    def whole(self) -> bool:
        """Whether whole records are returned, of all entities."""
        return all(part.whole for part in self.parts)

    def titles(self, lanes: Iterable[Lane]) -> list[str]:
        """The names of lanes for the caller: their hash keys may contain a value from the query."""
        views = [branch.view.title for branch in self.branches]
        return [f"{views[lane.rank]} {lane.hash_value}" for lane in lanes]

    def name(self, lane: Lane) -> str:
        """A lane's name for errors and logs: index and shard, without values."""
        part = self.part_of(lane)
        keys = part.entity.keys
        branch = f", branches[{lane.rank - part.branches[0].rank}]" if len(part.branches) > 1 else ""
        return f"{self.branches[lane.rank].view.title} {keys.prefix}{keys.suffix_of_key(lane.hash_value)}{branch}"


def plan_query(schema: Schema, spec: QuerySpec, shard_maps: Sequence[ShardMap], now_ms: int) -> Plan:
    """The plan of a query under the shard map of each of its entities. Raises InputError's kinds: UnknownName,
    UnsupportedQuery, LimitExceeded, ValueRefused, ValidationFailed."""
    check_limits(spec)
    asked = [(schema.entity(part.entity), part) for part in spec.parts]
    branches, reasons = _branches(schema, asked)
    descending = _descends(spec, branches)
    owned = [tuple(branch for branch in branches if branch.part == number) for number in range(len(asked))]
    hydrate = _hydrates(spec, [(entity, part, own) for (entity, part), own in zip(asked, owned, strict=True)])
    parts: list[EntityPlan] = []
    every: list[Lane] = []
    generations = 0
    for number, ((entity, part), shard_map) in enumerate(zip(asked, shard_maps, strict=True)):
        own = owned[number]
        found = _part(entity, part, own, shard_map.id, hydrate=hydrate)
        spaces = generations_of(entity, part, own, shard_map, now_ms)
        generations += len(spaces)
        every += lanes_of(entity, own, spaces, found.window, number * MAX_LANES)
        parts.append(found)
    if len(every) > MAX_LANES:
        raise LimitExceeded(
            f"the query needs {len(every)} lanes, {MAX_LANES} are possible",
            where="conditions",
            fix="fix the property that decides the shard, or narrow the time window",
        )
    lanes, stages = in_stages(branches, tuple(every), descending=descending)
    reasons += dict.fromkeys(_shards_reason(branch.view) for branch in branches if branch.view.shards is not None)
    reasons.append(_counts_reason(len(lanes), len(parts), generations, stages))
    windows = {part.window: part for part in parts if part.window != ANY_TIME}
    reasons += [_window_reason(part.window, part.branches) for part in windows.values()]
    return Plan(
        parts=tuple(parts),
        branches=branches,
        lanes=lanes,
        stages=stages,
        descending=descending,
        limit=spec.limit,
        consistent=spec.consistent,
        fingerprint=_fingerprint(schema, spec, parts, descending=descending),
        reasons=tuple(reasons),
        hydrate=hydrate,
    )


def _hydrates(spec: QuerySpec, read: Sequence[tuple[EntityType[Any], QuerySpec, Sequence[Branch]]]) -> bool:
    """Whether whole records are read from the table: if the query says so, or has to."""
    upgraded = any(_is_upgraded_in_parts(entity, branches) for entity, _, branches in read)
    if any(part.properties is not None for _, part, _ in read):
        if spec.hydrate:
            raise InputError("properties and hydrate exclude one another", where="hydrate", fix="give one")
        if upgraded:
            raise UnsupportedQuery(
                "the index has only a part of each record, which can't be upgraded to the current form",
                where="properties",
                fix="leave properties out, or use an index that projects ALL",
            )
    return spec.hydrate or upgraded


def _part(
    entity: EntityType[Any], spec: QuerySpec, branches: tuple[Branch, ...], map_id: int, *, hydrate: bool
) -> EntityPlan:
    """The part of the plan for one entity."""
    window = _window(entity, spec, branches)
    shown = (
        None
        if spec.properties is None
        else tuple(entity.property_of(name, "properties").stored for name in spec.properties)
    )
    attributes = _attributes(entity, window, branches, shown, hydrate=hydrate)
    return EntityPlan(entity, branches, map_id, window, attributes, shown, hydrate)


def _is_upgraded_in_parts(entity: EntityType[Any], branches: Sequence[Branch]) -> bool:
    """Whether an index has only a part of records that may have an earlier form, so that they have to be read whole."""
    return bool(entity.upgrades.functions) and any(branch.view.projected is not None for branch in branches)


def _descends(spec: QuerySpec, branches: Sequence[Branch]) -> bool:
    """Whether lanes are read from their end. Raises UnsupportedQuery where branches have no common order."""
    if len({branch.view.reversed for branch in branches}) > 1:
        raise UnsupportedQuery(
            "the indexes of the branches have opposite orders",
            where="branches",
            fix="use indexes with desc() around their range keys, or such without",
        )
    return spec.reverse != any(branch.view.reversed for branch in branches)


# -- branches ---------------------------------------------------------------------------------------------------------


def _branches(
    schema: Schema, asked: Sequence[tuple[EntityType[Any], QuerySpec]]
) -> tuple[tuple[Branch, ...], list[str]]:
    """The branches of all entities, and the reasons for their indexes."""
    branches: list[Branch] = []
    reasons: list[str] = []
    for part, (entity, spec) in enumerate(asked):
        own = list(_branches_of(schema, entity, spec, asked[0][1].consistent))
        branches += [replace(each, rank=len(branches) + place, part=part) for place, (each, _) in enumerate(own)]
        reasons += [reason for _, reason in own]
        if len(branches) > MAX_BRANCHES:
            raise LimitExceeded(f"a query has at most {MAX_BRANCHES} branches", where="branches", fix="ask in several")
    if len(branches) > 1:
        check_order(branches, [entity.token for entity, _ in asked])
        for part, (entity, _) in enumerate(asked):
            check_projections(entity, [branch for branch in branches if branch.part == part])
        if names_to_leave_out(branches):
            branches = [
                replace(branch, names=tuple(element.name for element in branch.view.range_elements))
                for branch in branches
            ]
    return tuple(branches), list(dict.fromkeys(reasons))


def _branches_of(
    schema: Schema, entity: EntityType[Any], spec: QuerySpec, consistent: bool
) -> Iterator[tuple[Branch, str]]:
    """The branches of one entity, each with the reason for its index."""
    for number, asked in enumerate(spec.branches or (BranchSpec(spec.conditions, spec.index),)):
        place = "" if spec.branches is None else f"branches[{number}]."
        named = ((spec.filter, "filter"), (asked.filter, f"{place}filter"))
        filters = [(each, where) for each, where in named if each is not None]
        for conditions in expanded(asked.conditions):
            found = normalized(entity, conditions, place)
            view, matched, reason = choose(entity, found, asked.index, consistent=consistent, place=place)
            chosen = Branch(
                rank=0,
                view=view,
                conditions=found,
                matched=matched,
                filter=compile_filter(entity, view, filters) if filters else NO_FILTER,
                element_delimiter=schema.key_format.element_delimiter,
                place=place.removesuffix("."),
            )
            yield _with_time_order(entity, chosen), reason


def _with_time_order(entity: EntityType[Any], branch: Branch) -> Branch:
    following = branch.view.range_elements[branch.matched.fixed : branch.matched.fixed + 1]
    ordered = bool(following) and following[0].name == entity.timestamp and not isinstance(branch.matched.last, Prefix)
    if not branch.view.raw and (entity.keys.format.raw_timestamps or not entity.keys.format.ordered):
        ordered = False
    return replace(branch, time_ordered=ordered)


# -- what is read and shown -------------------------------------------------------------------------------------------


def _window(entity: EntityType[Any], spec: QuerySpec, branches: Sequence[Branch]) -> Range:
    """The query's time window, checked: every index must contain the timestamp, since it decides which records are
    returned."""
    window = Range(spec.earliest, spec.latest)
    if window == ANY_TIME:
        return window
    if entity.timestamp is None:
        raise UnsupportedQuery("the entity has no timestamp property", where="earliest", fix="drop the time window")
    for branch in branches:
        if hidden_in(entity, branch.view, [entity.timestamp]):
            raise UnsupportedQuery(
                f"the index {branch.view.index!r} does not project {entity.timestamp}",
                where="earliest",
                fix="project it, or drop the time window",
            )
    return window


def _shards_reason(view: IndexView) -> str:
    return f"{view.title} has at most {view.shards} shard{'' if view.shards == 1 else 's'} of its own"


def _counts_reason(lanes: int, entities: int, generations: int, stages: int) -> str:
    counts = ((lanes, "lane"), (generations, "generation"), (stages, "stage"))
    lane_count, generation_count, stage_count = (f"{n} {word}{'' if n == 1 else 's'}" for n, word in counts)
    within = f" of {entities} entities" if entities > 1 else ""
    return f"{lane_count}{within} in {generation_count}, {stage_count}"


def _window_reason(window: Range, branches: Sequence[Branch]) -> str:
    bounds = ((window.low, "from"), (window.high, "to"))
    asked = " ".join(f"{word} {bound}" for bound, word in bounds if bound is not None)
    if all(branch.time_ordered for branch in branches):
        return f"records made {asked} alone are read, since the index is ordered by time"
    return f"records made {asked} alone are given: it chooses generations, and records after reading"


def _attributes(
    entity: EntityType[Any],
    window: Range,
    branches: Sequence[Branch],
    shown: tuple[str, ...] | None,
    *,
    hydrate: bool,
) -> tuple[str, ...] | None:
    """The attributes to read of each record: those that are shown, and those that the merge, the filters and the TTL
    need. All of them if they may have to be upgraded."""
    if entity.upgrades.functions:
        return None
    if hydrate:
        wanted: tuple[str, ...] = ()
    elif shown is None:
        return None
    else:
        wanted = shown
    for branch in branches:
        hidden = hidden_in(entity, branch.view, wanted)
        if hidden:
            raise UnsupportedQuery(
                f"{branch.view.title} does not project {', '.join(hidden)}",
                where="properties",
                fix="ask for what it projects, or hydrate",
            )
    windowed = [entity.timestamp] if entity.timestamp and window != ANY_TIME else []
    needed: list[str] = []
    for branch in branches:
        needed += attributes_for(entity, branch.view, [*wanted, *windowed])
        needed += [*branch.view.page_key, branch.view.hash_name, branch.view.range_name]
        needed += attributes_for(entity, branch.view, _looked_at(branches))
    needed += [name for name in (entity.ttl,) if name]
    return tuple(dict.fromkeys(needed))


def _looked_at(branches: Sequence[Branch]) -> list[str]:
    """The attributes that the filters of all branches test after reading."""
    if len(branches) == 1:
        return sorted(branches[0].filter.attributes_here())
    return sorted({name for branch in branches for name in branch.filter.attributes()})


def _fingerprint(schema: Schema, spec: QuerySpec, parts: Sequence[EntityPlan], *, descending: bool) -> bytes:
    first, *others = (
        [
            part.entity.token,
            part.window.low,
            part.window.high,
            [
                [branch.view.index, _condition_parts(branch.conditions), *_filter_parts(branch)]
                for branch in part.branches
            ],
        ]
        for part in parts
    )
    token, low, high, branches = first
    return fingerprint_of([schema.key_format.name, token, spec.scope, descending, low, high, branches, *others])


def _filter_parts(branch: Branch) -> tuple[Any, Any]:
    whole = branch.filter
    return (None, None) if whole is NO_FILTER else (signature(whole.by_table), signature(whole.here))


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
