"""Load counters: the size and the load of each shard, from the stream and from throttled requests, for the policy.

Format, beside the control record:
    rangeKey   load#<suffix>      one for each shard that was written
    items, bytes                  what was added and removed since counting began; approximate
    writes, hot                   changes, and how many of them were of the record with the most changes in its batch
    throttled                     requests that the table refused for this shard, see `throttle_recorder`

    rangeKey   load#<attribute>!<suffix>      one for each shard of a generated hash key that has fewer shards
    writes, hot                   changes of the hash key (including its values) with the most changes in its batch, and
                                  how many of them were of one record
    throttled                     requests that an index by this hash key refused; the suffix may be missing

Values in hash keys are not stored. Only changes of records count (see `stream_filter`), not the writes of movers; for
an index, only changes that it shows. Numbers are added without conditions, so a batch that is delivered again is
counted again.

Costs: one write for each shard and batch of changes, for the table and for each such hash key.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...schema.entity_type import EntityType, IndexView
from ...table.operations import Interval, Query, UpdateItem
from ...table.stream_operations import StreamRecord
from ...table.values import Item, item_bytes
from ..control import partition_key

LOAD = "load#"


@dataclass(frozen=True)
class Load:
    """One shard's numbers since counting began. `suffix` is `attribute!suffix` where it is a shard of an index."""

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
        self._keys: dict[tuple[str, str], dict[Any, Counter[tuple[Any, ...]]]] = {}
        self._entities: dict[str, EntityType[Any]] = {}

    def count(self, entity: EntityType[Any], change: StreamRecord, shards: int = 1) -> None:
        """One change of a record, of an entity whose records are in at most so many shards."""
        suffix = entity.keys.suffix_of_key(str(change.key[entity.keys.design.hash_name]))
        place = entity.token, suffix
        self._entities[entity.token] = entity
        batch = self._batches.setdefault(place, _Batch())
        batch.items += (change.new is not None) - (change.old is not None)
        batch.bytes += item_bytes(change.new or {}) - item_bytes(change.old or {})
        batch.writes += 1
        record = tuple(change.key.values())
        self._records.setdefault(place, Counter())[record] += 1
        for name, hash_key in index_keys_written(entity, change, shards):
            place = entity.token, index_load(entity, name, hash_key)
            self._keys.setdefault(place, {}).setdefault(hash_key, Counter())[record] += 1

    def drain(self) -> Iterator[UpdateItem]:
        """The updates that add the numbers in the table; the counter is reset."""
        batches, records, keys = self._batches, self._records, self._keys
        self._batches, self._records, self._keys = {}, {}, {}
        for (token, suffix), batch in batches.items():
            hot = max(records[token, suffix].values())
            added = {"items": batch.items, "bytes": batch.bytes, "writes": batch.writes, "hot": hot}
            key = load_key(self._entities[token], suffix)
            yield UpdateItem(key, add={name: number for name, number in added.items() if number})
        for (token, name), written in keys.items():
            busiest = max(written.values(), key=Counter.total)
            key = load_key(self._entities[token], name)
            yield UpdateItem(key, add={"writes": busiest.total(), "hot": max(busiest.values())})


def index_keys_written(entity: EntityType[Any], change: StreamRecord, shards: int) -> Iterator[tuple[str, Any]]:
    """The generated hash keys with fewer shards than so many that a change wrote to in some index, each with its
    attribute."""
    old, new = change.old or {}, change.new or {}
    found: set[tuple[str, Any]] = set()
    for view in entity.views.values():
        if view.shards is None or view.shards >= shards:
            continue
        shown = old.keys() | new.keys() if view.projected is None else {*view.page_key, *view.projected}
        if any(old.get(name) != new.get(name) for name in shown):
            found |= {(view.hash_name, each[view.hash_name]) for each in (old, new) if _is_in(view, each)}
    yield from sorted(found)


def _is_in(view: IndexView, item: Item) -> bool:
    return view.hash_name in item and view.range_name in item


def index_load(entity: EntityType[Any], attribute: str, hash_key: Any) -> str:
    """The name of the numbers of an index's shard, without the values in its hash key."""
    return f"{attribute}!{entity.keys.suffix_of_key(str(hash_key))}"


def load_key(entity: EntityType[Any], suffix: str) -> dict[str, Any]:
    """The key of a shard's numbers."""
    design = entity.keys.design
    return {design.hash_name: partition_key(entity), design.range_name: LOAD + suffix}


def throttled_update(entity: EntityType[Any], suffix: str, count: int) -> UpdateItem:
    """The update that adds the number of throttled requests of a shard, of the table or of an index."""
    return UpdateItem(load_key(entity, suffix), add={"throttled": count})


def loads_query(entity: EntityType[Any]) -> Query:
    """The query for the numbers of all shards, of the table and of indexes."""
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
