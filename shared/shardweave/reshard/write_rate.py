"""How fast a mover may write: so many records a second from each source, and into each hash key, over all work items.

A record that moves is written where it was (the mark) and where it goes (the copy), and in each index under one hash
key of either. From a source comes no more than its own item reads, so those of the source itself take care of
themselves. But several sources may write to one hash key: of an index with fewer shards than the table (with one shard
of its own, all of them do), and of a smaller shard space. Such a hash key takes 1,000 write units a second like any
other, and while an index throttles, the table's own writes wait. So each item has its share of it: the rate, divided by
the number of items that may write to it, which the maps say.

Guarantees: over all items no hash key gets more records a second than the rate, beyond the transaction that each item
may be ahead. Nothing is written down for it: items need not know of each other.

Cost: a number for each such hash key that a slice writes to.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ..keys.sharding import Generation
from ..schema.entity_type import EntityType
from ..table.operations import PutItem
from ..table.retry import RetryClock
from ..table.values import Item
from .copy_actions import CopyUnit
from .phases import ReshardState
from .work_items import Side, WorkItem, moving_generations


class WriteRate:
    """Keeps one slice to a number of records a second, and to its share of a number of records a second into each hash
    key; 0 is no limit. `sharers` says of each attribute with such keys how many items write to one of them."""

    def __init__(self, a_second: int, into_key: int, sharers: Mapping[str, int], waiting: RetryClock) -> None:
        self._a_second = a_second
        self._into_key = into_key
        self._sharers = sharers
        self._waiting = waiting
        self._begun = waiting.monotonic()
        self._written = 0
        self._into: Counter[tuple[str, Any]] = Counter()

    @property
    def least_a_second(self) -> float:
        """What it comes down to where all records go into one hash key; 0 is no limit."""
        limits = [self._into_key / sharers for sharers in self._sharers.values() if self._into_key]
        return min([*limits, *([self._a_second] if self._a_second else [])], default=0)

    def written(self, units: Sequence[CopyUnit]) -> None:
        """These were written: wait until that is not too many."""
        self._written += len(units)
        due = self._written / self._a_second if self._a_second else 0.0
        if self._into_key:
            for unit in units:
                for place in set(self._places(unit)):
                    self._into[place] += 1
                    due = max(due, self._into[place] * self._sharers[place[0]] / self._into_key)
        early = self._begun + due - self._waiting.monotonic()
        if early > 0:
            self._waiting.sleep(early)

    def _places(self, unit: CopyUnit) -> Iterator[tuple[str, Any]]:
        """The shared hash keys that are written to."""
        items: list[Item] = [unit.source, *(each.item for each in unit.actions if isinstance(each, PutItem))]
        for name in self._sharers:
            yield from ((name, item[name]) for item in items if name in item)


def sharers_of(entity: EntityType[Any], control: ReshardState, item: WorkItem) -> dict[str, int]:
    """How many items of a step may write to one hash key, for each attribute of which that is more than one."""
    design = entity.keys.design
    attributes = {design.hash_name: None} | {each.name: each.shards for each in design.generated if each.sharded}
    if design.partition:
        # Sources are segments then, each of which holds records of every shard.
        found = dict.fromkeys(attributes, item.total)
    else:
        own = moving_generations(control, item.side)
        others = moving_generations(control, Side.NEW if item.side is Side.OLD else Side.OLD)
        fewest = min((each.space.shards for each in others), default=None)
        found = {name: min(item.total, _sources_of_a_key(own, most, fewest)) for name, most in attributes.items()}
    return {name: sharers for name, sharers in found.items() if sharers > 1}


def _sources_of_a_key(generations: Sequence[Generation], most: int | None, fewest: int | None) -> int:
    """From how many sources records come into one hash key, here or where they go, that an index has at most so many
    of; `fewest` is how many shards they go to at least."""
    return sum(
        each.space.shards // min(each.space.shards_within(most), fewest or each.space.shards) for each in generations
    )
