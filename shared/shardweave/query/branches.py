"""Branches: several index queries merged in one order, each record once.

Branches agree when their range keys have the same number of elements with the same codecs. Where the elements' names
differ, sort values are compared by the stored text with the names left out (the value delimiter kept), which orders
as the text does within a branch and makes branches comparable.

Branches may be of several entities. The token in their hash keys keeps their lanes apart, so that only branches of
one entity can hold the same record.

A record that matches several branches is returned once, at the lowest of its positions in ascending order. Its stored
attributes alone decide whether it matches a branch (its hash key is one of the branch's, its sort key is in the
interval, the branch's filter holds), so nothing has to be remembered between pages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

from ..errors import ShardweaveError, UnsupportedQuery
from ..keys.key_design import order_difference
from ..schema.entity_type import EntityType, IndexView
from ..table.operations import Interval
from ..table.values import Item, Value
from .conditions import Conditions, Match
from .filters import NO_FILTER, SplitFilter
from .intervals import contains
from .key_attributes import hidden_in, is_unclear, values_in_keys

DAMAGE = (ShardweaveError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""The exceptions that reading a stored item raises if it does not have the form of its entity."""


@dataclass(frozen=True)
class Branch:
    """One index with its conditions and filter, as one part of a query.

    `time_ordered`: records with the same fixed elements are ordered by the timestamp property. `names` are the element
    names to leave out of the sort value, empty when every branch has the same ones. `place` is the branch's place in
    the query, for errors; empty if the query has no branches. `part` is which of the plan's entities it is of.
    """

    rank: int
    view: IndexView
    conditions: Conditions
    matched: Match
    filter: SplitFilter = NO_FILTER
    time_ordered: bool = False
    names: tuple[str, ...] = ()
    element_delimiter: str = " |"
    place: str = ""
    part: int = 0

    def sort_value(self, item: Item) -> Value:
        """The sort value of an item in the merged order."""
        return self.comparable(item[self.view.range_name])

    def sort_value_getter(self) -> Callable[[Item], Value]:
        """A function that returns the sort value of an item."""
        return self.sort_value if self.names else itemgetter(self.view.range_name)

    def comparable(self, value: Value) -> Value:
        """A value of this branch's range key in the form that all branches have in common."""
        if not self.names or not isinstance(value, str):
            return value
        parts = value.split(self.element_delimiter)
        shortened = [part[len(name) :] for part, name in zip(parts, self.names, strict=False)]
        return self.element_delimiter.join(shortened)

    def key_value(self, value: Value) -> Value:
        """The inverse of `comparable`."""
        if not self.names or not isinstance(value, str):
            return value
        parts = value.split(self.element_delimiter)
        return self.element_delimiter.join(name + part for part, name in zip(parts, self.names, strict=False))


@dataclass(frozen=True)
class Overlap:
    """Decides in which of an entity's branches a record that matches several branches is returned. `lanes` has for
    each branch a mapping of its hash keys to their intervals. `possible`: two branches can hold the same record."""

    entity: EntityType[Any]
    branches: Sequence[Branch]
    lanes: Sequence[Mapping[str, Interval | None]]
    possible: bool = field(init=False, default=False)

    def __post_init__(self) -> None:
        # Branches of one index with other hash keys, such as several values of one element, share no record.
        seen: set[tuple[str | None, str]] = set()
        names = {(branch.view.hash_name, branch.view.range_name) for branch in self.branches}
        shared = len(names) > 1
        for branch, lanes in zip(self.branches, self.lanes, strict=True):
            keys = {(branch.view.index, hash_value) for hash_value in lanes}
            shared = shared or bool(keys & seen)
            seen |= keys
        object.__setattr__(self, "possible", shared)

    def is_given(self, branch: Branch, hash_value: str, item: Item) -> bool:
        """Whether no other branch has the record at a lower position, so that this branch returns it."""
        if not self.possible:
            return True
        own = (branch.sort_value(item), hash_value, branch.rank)
        for other, lanes in zip(self.branches, self.lanes, strict=True):
            if other.rank == branch.rank:
                continue
            place, value = item.get(other.view.hash_name), item.get(other.view.range_name)
            interval = lanes.get(place) if isinstance(place, str) else None
            if interval is None or value is None or not contains(interval, value):
                continue
            if (other.comparable(value), place, other.rank) < own and self._passes(other, item):
                return False
        return True

    def _passes(self, branch: Branch, item: Item) -> bool:
        """Whether a record passes a branch's filter, which may test properties that this index has only in its keys."""
        missing = branch.filter.attributes() - item.keys()
        try:
            return branch.filter.evaluate({**values_in_keys(self.entity, item, missing), **item} if missing else item)
        except DAMAGE:
            return True  # it can't be read, and is reported in that branch


def check_order(branches: Sequence[Branch], tokens: Sequence[str]) -> None:
    """Check that the branches, of entities with these tokens, can be merged into one order. Raises UnsupportedQuery."""

    def title(branch: Branch) -> str:
        return f"{branch.view.title} of {tokens[branch.part]}" if len(tokens) > 1 else branch.view.title

    first = branches[0]
    for branch in branches[1:]:
        titles, views = (title(first), title(branch)), (first.view, branch.view)
        difference = order_difference(
            titles, (views[0].range_elements, views[1].range_elements), (views[0].raw, views[1].raw)
        )
        if difference is not None:
            message, fix = difference
            raise UnsupportedQuery(message, where=branch.place or "conditions", fix=fix)


def check_projections(entity: EntityType[Any], branches: Sequence[Branch]) -> None:
    """Check that overlaps between the branches of one entity can be detected. Raises UnsupportedQuery."""
    needed = {name for branch in branches for name in (branch.view.hash_name, branch.view.range_name)}
    needed |= {name for branch in branches for name in branch.filter.attributes()}
    for branch in branches:
        hidden = hidden_in(entity, branch.view, needed)
        hidden += [name for name in sorted(needed) if is_unclear(entity, branch.view, name)]
        if hidden:
            raise UnsupportedQuery(
                f"{branch.view.title} does not project {', '.join(hidden)}, which another branch needs",
                where=branch.place or "conditions",
                fix="project ALL, or project these",
            )


def names_to_leave_out(branches: Sequence[Branch]) -> bool:
    """Whether the branches' element names differ, so that sort values are compared without them."""
    names = {tuple(element.name for element in branch.view.range_elements) for branch in branches}
    return len(names) > 1 and not branches[0].view.raw
