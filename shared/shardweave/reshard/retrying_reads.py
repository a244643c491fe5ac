"""Reads of a re-shard, which are repeated if the table throttles, does not answer, or reports a conflict with a
transaction.

Guarantees: reads are consistent, except for reads of an index; every requested key is answered. Raises the last error
of the table after the last retry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from ..errors import ShardweaveError, TableUnavailable, Throttled, TransactionCanceled, TransactionConflict
from ..schema.entity_type import EntityType
from ..store.attempts import PrimaryKey
from ..table import Table
from ..table.batch_get import KeysToRead, read_in_turn
from ..table.operations import GetItem, Operation, PageAnswer, Query, Scan, TransactGet
from ..table.retry import IN_CONFLICT, UNANSWERED, RetryClock
from ..table.values import Item
from .work_items import Source

R = TypeVar("R")


class Asking:
    """Reads for one mover or coordinator."""

    def __init__(self, table: Table, waiting: RetryClock) -> None:
        self._table = table
        self._waiting = waiting

    def run(self, operation: Operation[R]) -> R:
        """The answer of one read."""
        pauses, conflict_pauses = self._waiting.pauses(UNANSWERED), self._waiting.pauses(IN_CONFLICT)
        while True:
            try:
                return self._table.run(operation)
            except (Throttled, TableUnavailable) as error:
                cause: ShardweaveError = error
                waited = pauses.pause()
            except (TransactionConflict, TransactionCanceled) as error:
                cause = error
                waited = conflict_pauses.pause()
            if not waited:
                raise cause

    def item(self, key: Item) -> Item | None:
        """One item."""
        return self.run(GetItem(key, consistent=True)).item

    def items(self, entity: EntityType[Any], keys: Iterable[Item]) -> Mapping[PrimaryKey, Item]:
        """Those of the items that exist, by primary key."""
        wanted = KeysToRead((entity.keys.design.hash_name, entity.keys.design.range_name), keys)
        if not read_in_turn(wanted, self.run, self._waiting.pauses(UNANSWERED)):
            raise Throttled
        return {key: item for key, item in wanted.found.items() if item is not None}

    def snapshot(self, keys: Iterable[Item]) -> tuple[Item | None, ...]:
        """The items at one moment (in a transaction), in the order of their keys."""
        return self.run(TransactGet(tuple(keys))).items

    def all(self, query: Query) -> list[Item]:
        """Every item of a query, page by page."""
        found: list[Item] = []
        while True:
            page = self.run(query)
            found += page.items
            if page.last_key is None:
                return found
            query = replace(query, start_key=page.last_key)

    def page(self, entity: EntityType[Any], source: Source, start_key: Item | None, limit: int) -> PageAnswer:
        """The next records of a source."""
        if source.hash_key is None:
            segment, segments = source.segment, source.segments
            return self.run(Scan(segment, segments, limit=limit, start_key=start_key, consistent=True))
        design = entity.keys.design
        names = design.hash_name, source.hash_key, design.range_name
        return self.run(Query(*names, limit=limit, start_key=start_key, consistent=True))
