"""Load counters: the size and the load of each shard, from the stream and from throttled requests, for the policy.

Format, beside the control record:
    rangeKey   load#<suffix>      one for each shard that was written
    items, bytes                  what was added and removed since counting began; approximate
    writes, hot                   changes, and how many of them were of the record with the most changes in its batch
    throttled                     requests that the table refused for this shard, see `throttle_recorder`

Only changes of records count (see `stream_filter`), not the writes of movers. Numbers are added without conditions, so
a batch that is delivered again is counted again.

Costs: one write for each shard and batch of changes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...schema.entity_type import EntityType
from ...table.operations import Interval, Query, StreamRecord, UpdateItem
from ...table.values import Item, item_bytes
from ..control import partition_key

LOAD = "load#"


@dataclass(frozen=True)
class Load:
    """One shard's numbers since counting began."""

    suffix: str
    items: int
    bytes: int
    writes: int
    hot: int
    throttled: int = 0


@dataclass
class _Batch:
    items: int = 0
    bytes: int = 0
    writes: int = 0


class LoadCounter:
    """Counts the changes of one batch. For one thread."""

    def __init__(self) -> None:
        self._batches: dict[tuple[str, str], _Batch] = {}
        self._records: dict[tuple[str, str], Counter[tuple[Any, ...]]] = {}
        self._entities: dict[str, EntityType[Any]] = {}

    def count(self, entity: EntityType[Any], change: StreamRecord) -> None:
        """One change of a record."""
        suffix = entity.keys.suffix_of_key(str(change.key[entity.keys.design.hash_name]))
        place = entity.token, suffix
        self._entities[entity.token] = entity
        batch = self._batches.setdefault(place, _Batch())
        batch.items += (change.new is not None) - (change.old is not None)
        batch.bytes += item_bytes(change.new or {}) - item_bytes(change.old or {})
        batch.writes += 1
        self._records.setdefault(place, Counter())[tuple(change.key.values())] += 1

    def drain(self) -> Iterator[UpdateItem]:
        """The updates that add the numbers in the table; the counter is reset."""
        batches, records = self._batches, self._records
        self._batches, self._records = {}, {}
        for (token, suffix), batch in batches.items():
            hot = max(records[token, suffix].values())
            added = {"items": batch.items, "bytes": batch.bytes, "writes": batch.writes, "hot": hot}
            key = load_key(self._entities[token], suffix)
            yield UpdateItem(key, add={name: number for name, number in added.items() if number})


def load_key(entity: EntityType[Any], suffix: str) -> dict[str, Any]:
    """The key of a shard's numbers."""
    design = entity.keys.design
    return {design.hash_name: partition_key(entity), design.range_name: LOAD + suffix}


def throttled_update(entity: EntityType[Any], suffix: str, count: int) -> UpdateItem:
    """The update that adds the number of throttled requests of a shard."""
    return UpdateItem(load_key(entity, suffix), add={"throttled": count})


def loads_query(entity: EntityType[Any]) -> Query:
    """The query for the numbers of all shards."""
    design = entity.keys.design
    names = design.hash_name, partition_key(entity), design.range_name
    return Query(*names, Interval(LOAD, LOAD + "~"), consistent=True)


def decode_loads(entity: EntityType[Any], records: Iterable[Item]) -> dict[str, Load]:
    """The numbers by suffix."""
    range_name = entity.keys.design.range_name
    loads = [_load(str(record[range_name]).removeprefix(LOAD), record) for record in records]
    return {load.suffix: load for load in loads}


def _load(suffix: str, record: Mapping[str, Any]) -> Load:
    counted = (record.get(name) for name in ("items", "bytes", "writes", "hot", "throttled"))
    # Anything that is not a number counts as zero, since only differences are used.
    return Load(suffix, *(number if type(number) is int else 0 for number in counted))
