"""Explanations: the plan of a query and the reasons for it, before and after it runs.

An explanation is plain data; filters are in their JSON form. It contains the conditions' property names and key texts,
which the caller of the query knows, but nothing of other records. If a filter hides other callers' records, a lane that
resumes does not show the position, since it may be that of a hidden record.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..table.conditions import Condition
from ..table.operations import Interval
from ..table.values import Value
from .filters import filter_as_json
from .lanes import Lane
from .plan import Plan
from .resume import Start
from .sizes import RECORDS_PER_UNIT, fetch_size, group_of, sharing
from .spec import QueryStats

_FILLING = re.compile("\U0010ffff+[\uffff\u07ff\x7f]?$")


@dataclass(frozen=True)
class LanePlan:
    """One lane: its entity and interval, the position where it starts, and the size of its first read."""

    lane: str
    entity: str
    index: str | None
    hash_key: str
    generation: str
    stage: int
    low: str | None
    high: str | None
    empty: bool
    resumes: bool
    first_fetch: int


@dataclass(frozen=True)
class Explanation:
    """The entity (several, separated by commas), the index and the reasons for it, every lane, the estimate, and, after
    a run, the cost.

    `filter_by_table` and `filter_here` are the parts of filters, each once, that the table evaluates and that are
    evaluated after reading. `estimate_is_least`: the estimate is a lower bound, since dropped records are read too, in
    the worst case all records of the lanes."""

    entity: str
    indexes: tuple[str | None, ...]
    reasons: tuple[str, ...]
    order: str
    limit: int
    stages: int
    lanes: tuple[LanePlan, ...]
    estimated_reads: int
    estimated_units: float
    estimate_is_least: bool
    filter_by_table: tuple[Mapping[str, Any], ...]
    filter_here: tuple[Mapping[str, Any], ...]
    stats: QueryStats | None

    def plan_text(self) -> str:
        """The parts of the plan that are the same in every run, as text for the tests."""
        where = ", ".join(index or "the table" for index in self.indexes)
        lines = [f"{self.entity} by {where}, {self.order}, {self.limit} a page"]
        lines += [f"  because {reason}" for reason in self.reasons]
        lines += [
            f"  stage {lane.stage}: {lane.lane} [{lane.low or ''} .. {lane.high or ''}]"
            + (" empty" if lane.empty else f" first {lane.first_fetch}")
            for lane in self.lanes
        ]
        return "\n".join(lines)


def explain(plan: Plan, begins: Sequence[Start], stats: QueryStats | None, *, places: bool = True) -> Explanation:
    """The explanation of a plan whose lanes start at `begins`. Without `places`, lanes show the bounds of the query."""
    open_lanes = [lane for lane, start in zip(plan.lanes, begins, strict=True) if start.interval is not None]
    stages = sorted({lane.stage for lane in open_lanes})
    shares = {stage: sharing(lane for lane in open_lanes if lane.stage == stage) for stage in stages}
    lanes = tuple(
        _lane_plan(plan, lane, start, shares.get(lane.stage, {}).get(group_of(lane), 1), places=places)
        for lane, start in zip(plan.lanes, begins, strict=True)
    )
    first_stage = stages[0] if stages else 0
    read = [lane for lane in lanes if lane.stage == first_stage and not lane.empty]
    half = 1.0 if plan.consistent else 0.5
    units = sum(half * -(-lane.first_fetch // RECORDS_PER_UNIT) for lane in read)
    return Explanation(
        entity=plan.entity_names,
        indexes=tuple(branch.view.index for branch in plan.branches),
        reasons=plan.reasons,
        order="descending" if plan.descending != plan.backwards else "ascending",
        limit=plan.limit,
        stages=len(stages),
        lanes=lanes,
        estimated_reads=len(read),
        estimated_units=units,
        estimate_is_least=plan.leaves_out,
        filter_by_table=_filters(branch.filter.by_table for branch in plan.branches),
        filter_here=_filters(branch.filter.here for branch in plan.branches),
        stats=stats,
    )


def _lane_plan(plan: Plan, lane: Lane, start: Start, shared: int, *, places: bool) -> LanePlan:
    view = plan.branches[lane.rank].view
    interval = (start.interval if places else lane.interval) or Interval()
    generation, shards = lane.generation, lane.generation.space.shards
    own = lane.generation.space.shards_within(view.shards)
    within = f", {own} in this index" if own < shards else ""
    return LanePlan(
        lane=plan.titles([lane])[0],
        entity=plan.part_of(lane).entity.token,
        index=view.index,
        hash_key=lane.hash_value,
        generation=f"{shards} shard{'' if shards == 1 else 's'} from {generation.begins}{within}",
        stage=lane.stage,
        low=_bound(interval.low),
        high=_bound(interval.high),
        empty=start.interval is None,
        resumes=start.start_key is not None or start.interval != lane.interval,
        first_fetch=fetch_size(shared, plan.limit + 1),
    )


def _bound(value: Value) -> str | None:
    """A bound as text; the filling at the end of an upper bound is shown as an ellipsis."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return base64.urlsafe_b64encode(value).decode()
    return _FILLING.sub("…", str(value))


def _filters(conditions: Iterable[Condition | None]) -> tuple[Mapping[str, Any], ...]:
    found: list[Mapping[str, Any]] = []
    for condition in conditions:
        shown = None if condition is None else filter_as_json(condition)
        if shown is not None and shown not in found:
            found.append(shown)
    return tuple(found)
