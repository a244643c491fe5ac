"""Stages: the groups of lanes of a plan that are read one after another, each only when the one before is exhausted.

The requirement: let the span of a lane be the values from the least to the greatest comparable text
(`Branch.comparable`) in its interval, where an open bound is infinite. For every stage and the next one that reads
anything, over all lanes of all branches: ascending, the greatest value of the stage lies strictly below the least of
the next; descending, the least lies strictly above the greatest of the next. Then no record of a later stage is before
a record of an earlier stage, and the first value of a stage is a complete position of a walk: lanes of earlier stages
are exhausted, and lanes of later stages have not been read.

Generations become stages if their lanes meet this requirement, in ascending or descending order of time. Otherwise all
of them are read together in one stage. A plan whose stages don't meet the requirement can't be created.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

from ..table.values import Value
from .branches import Branch
from .lanes import Lane

G = TypeVar("G")


@dataclass(frozen=True)
class Span:
    """The sort values from `least` to `greatest`, both included; None is infinite."""

    least: Value
    greatest: Value

    def is_before(self, other: Span, *, descending: bool) -> bool:
        """Whether the whole span comes before another one."""
        first, second = (other, self) if descending else (self, other)
        end: Any = first.greatest
        return end is not None and second.least is not None and end < second.least


def in_stages(branches: Sequence[Branch], lanes: tuple[Lane, ...], *, descending: bool) -> tuple[tuple[Lane, ...], int]:
    """The lanes with a stage for each generation, and the number of stages, if they meet the requirement; else all
    lanes in one stage."""
    generations = list(dict.fromkeys(lane.generation for lane in lanes))
    if len(generations) > 1:
        spans = _spans(branches, ((lane.generation, lane) for lane in lanes))
        for ordered in (generations, generations[::-1]):
            if _follow([spans[each] for each in ordered if each in spans], descending=descending):
                places = {generation: place for place, generation in enumerate(ordered)}
                return tuple(replace(lane, stage=places[lane.generation]) for lane in lanes), len(generations)
    return lanes, 1


def are_ordered(branches: Sequence[Branch], lanes: Iterable[Lane], *, descending: bool) -> bool:
    """Whether the stages of some lanes meet the requirement."""
    spans = _spans(branches, ((lane.stage, lane) for lane in lanes))
    return _follow([spans[stage] for stage in sorted(spans)], descending=descending)


def _follow(spans: Sequence[Span], *, descending: bool) -> bool:
    return all(first.is_before(second, descending=descending) for first, second in pairwise(spans))


def _spans(branches: Sequence[Branch], lanes: Iterable[tuple[G, Lane]]) -> Mapping[G, Span]:
    """The span of all lanes of each group that has something to read."""
    found: dict[G, list[Span]] = {}
    for group, rank, interval in dict.fromkeys((group, lane.rank, lane.interval) for group, lane in lanes):
        if interval is not None:
            branch = branches[rank]
            found.setdefault(group, []).append(Span(_value(branch, interval.low), _value(branch, interval.high)))
    return {group: _union(spans) for group, spans in found.items()}


def _value(branch: Branch, bound: Value) -> Value:
    """A bound as a sort value, infinite if it is not a key of the branch: a text cut at the maximum key length may end
    within an element's name, and does not compare as keys do."""
    if bound is None or branch.key_value(value := branch.comparable(bound)) != bound:
        return None
    return value


def _union(spans: Sequence[Span]) -> Span:
    lows, highs = [span.least for span in spans], [span.greatest for span in spans]
    return Span(None if None in lows else min(lows), None if None in highs else max(highs))
