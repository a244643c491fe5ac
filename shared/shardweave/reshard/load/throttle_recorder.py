"""The throttle recorder: counts throttled requests by shard, since the stream contains only successful writes.

A request counts if DynamoDB names a key range as the reason, since more shards help then; throttling by limits of the
account or the table does not count. If DynamoDB names an index with shards of its own, the request counts for the shard
of that index, since more shards of the table would not help. For a transaction, the throttled actions count, since
DynamoDB gives no further reason for them. A request on several shards does not count if the answer does not say which
of them was throttled.

Guarantees: what a request answers or raises is not changed; a count that can't be written is lost.

Costs: nothing while nothing is throttled; then at most one write for each shard every `FLUSH_MS`.
"""

from __future__ import annotations

import contextlib
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, TypeVar

from ...errors import ShardweaveError, TableError, Throttled, TransactionCanceled
from ...schema.entity import now_ms
from ...schema.entity_type import EntityType, IndexView
from ...schema.schema import Schema
from ...table import Guard, Table
from ...table.layout import TableLayout
from ...table.many import Lanes, Outcome, RunMany, answers_in_process, run_many_of
from ...table.operations import (
    THROTTLED_CODES,
    DeleteItem,
    GetItem,
    Operation,
    PutItem,
    Query,
    TransactWrite,
    UpdateItem,
    key_or_item,
)
from .counters import index_load, throttled_update

R = TypeVar("R")

FLUSH_MS = 10_000
KEY_RANGE = "KeyRange"
"""In DynamoDB's reasons, as in `TableWriteKeyRangeThroughputExceeded`."""
INDEX = "/index/"
"""In the ARN of an index."""


class ThrottleNotes:
    """A `Table` that records the throttling of `table`. Safe for many threads. `clock` returns epoch milliseconds."""

    def __init__(self, table: Table, schema: Schema, *, clock: Callable[[], int] = now_ms) -> None:
        self._table = table
        self._schema = schema
        self._clock = clock
        self._lock = threading.Lock()
        self._noted: Counter[tuple[str, str]] = Counter()
        self._flushed = 0

    @property
    def layout(self) -> TableLayout:
        return self._table.layout

    @property
    def guards_inside_writes(self) -> bool:
        return self._table.guards_inside_writes

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        """See `Table`."""
        try:
            return self._table.run(operation, guard=guard)
        except (Throttled, TransactionCanceled) as error:
            self._note(operation, error)
            raise
        finally:
            if self._noted:
                self._flush()

    @property
    def answers_in_process(self) -> bool:
        """See `many`."""
        return answers_in_process(self._table)

    @property
    def run_many(self) -> RunMany | None:
        """The method of the table, if it has one. The throttling of each attempt is recorded."""
        run_many = run_many_of(self._table)
        return None if run_many is None else partial(self._run_many, run_many)

    def close(self) -> None:
        self._table.close()

    # -- parts

    def _run_many(self, run_many: RunMany, lanes: Lanes[R]) -> Sequence[Outcome[R]]:
        def pause_after(number: int, error: ShardweaveError, attempts: int) -> float | None:
            if isinstance(error, Throttled | TransactionCanceled):
                self._note(lanes.operations[number], error)
            return lanes.pause_after(number, error, attempts)

        try:
            return run_many(replace(lanes, pause_after=pause_after))
        finally:
            if self._noted:
                self._flush()

    def _note(self, operation: Operation[Any], error: Throttled | TransactionCanceled) -> None:
        indexes = _named_indexes(operation, error)
        for hash_key in _throttled_keys(operation, error, self._schema.hash_key):
            entity = self._schema.entity_of_key(str(hash_key))
            if entity is not None:
                views = [entity.views[name] for name in indexes if name in entity.views]
                own = [_index_load(entity, view, operation) for view in views if view.shards is not None]
                with self._lock:
                    for place in own or [entity.keys.suffix_of_key(str(hash_key))]:
                        self._noted[entity.token, place] += 1

    def _flush(self) -> None:
        now = self._clock()
        with self._lock:
            if now < self._flushed + FLUSH_MS:
                return
            noted, self._noted, self._flushed = self._noted, Counter(), now
        for (token, place), count in noted.items():
            with contextlib.suppress(TableError):
                self._table.run(throttled_update(self._schema.entities[token], place, count))


def _named_indexes(operation: Operation[Any], error: Throttled | TransactionCanceled) -> list[str]:
    """The indexes that were too busy: the one that was asked, or those that DynamoDB names by their ARN."""
    if isinstance(operation, Query) and operation.index is not None:
        return [operation.index]
    if isinstance(error, TransactionCanceled):
        return []
    return [reason.rpartition(INDEX)[2] for reason in error.reasons if KEY_RANGE in reason and INDEX in reason]


def _index_load(entity: EntityType[Any], view: IndexView, operation: Operation[Any]) -> str:
    """The shard of an index, as far as the request says."""
    hash_key: Any = ""
    if isinstance(operation, Query):
        hash_key = operation.hash_value
    elif isinstance(operation, PutItem):
        hash_key = operation.item.get(view.hash_name, "")
    elif isinstance(operation, UpdateItem):
        hash_key = operation.set.get(view.hash_name, "")
    return index_load(entity, view.hash_name, hash_key)


def _throttled_keys(operation: Operation[Any], error: Throttled | TransactionCanceled, name: str) -> Iterator[Any]:
    """The hash keys that were throttled."""
    if isinstance(error, TransactionCanceled):
        if isinstance(operation, TransactWrite):
            for action, reason in zip(operation.actions, error.reasons, strict=False):
                if reason.code in THROTTLED_CODES:
                    yield key_or_item(action)[name]
        return
    if not any(KEY_RANGE in reason for reason in error.reasons):
        return
    if isinstance(operation, Query):
        yield operation.hash_value
    elif isinstance(operation, PutItem):
        yield operation.item[name]
    elif isinstance(operation, GetItem | UpdateItem | DeleteItem):
        yield operation.key[name]
