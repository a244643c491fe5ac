"""The load monitor: counts changes of shards, adds the numbers in the table, and applies the policy window by window.

Guarantees: only one of several processes evaluates a window, by a put on condition of the verdict that it read. A count
that can't be written is lost, and does not prevent the processing of changes. With the policy `apply` a proposed
re-shard is started once, like an operator's start; if the start is refused, the proposal remains.

Costs: a write for each shard and batch of changes, and in each window a query, a read and a put for each entity. With
the policy `off` nothing is counted.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from ...errors import Conflict, ReshardRefused, TableError
from ...schema.entity import now_ms
from ...schema.entity_type import EntityType
from ...schema.schema import Schema
from ...store.writing.sender import Sender
from ...store.writing.write_actions import absent, as_read
from ...table import Table
from ...table.operations import PutItem
from ...table.retry import RetryClock
from ...table.stream_operations import StreamRecord
from ..admin import ReshardAdmin
from ..leased_maps import LeasedMaps
from ..phases import Waits, map_in_force
from ..retrying_reads import Asking
from ..stream_filter import Authoritative
from .counters import Load, LoadCounter, decode_loads, loads_query
from .index_load import judged_indexes, own_shards
from .policy import Policy, Verdict, decode_verdict, encode_verdict, judged, verdict_key


class LoadWatch:
    """Monitors every entity of a schema. For one thread at a time."""

    def __init__(
        self,
        schema: Schema,
        table: Table,
        maps: LeasedMaps,
        operator: ReshardAdmin,
        policy: Policy,
        waits: Waits,
        *,
        new_token: Callable[[], str],
        clock: Callable[[], int] = now_ms,
        waiting: RetryClock | None = None,
    ) -> None:
        waiting = waiting or RetryClock()
        self._schema = schema
        self._table = table
        self._maps = maps
        self._operator = operator
        self._policy = policy
        self._clock = clock
        self._new_token = new_token
        self._asking = Asking(table, waiting)
        self._sender = Sender(table, waiting, new_token)
        self._counter = LoadCounter()
        self._filter = Authoritative(schema, maps.control, waits.lease_ms)
        self._due: dict[str, int] = {}
        self._verdicts: dict[str, Verdict] = {}

    def count(self, change: StreamRecord) -> None:
        """One change of the table."""
        if self._policy.mode == "off" or not self._filter.lets_through(change):
            return
        entity = self._schema.entity_of_key(str(change.key[self._schema.hash_key]))
        if entity is not None:
            current = map_in_force(entity.shard_map, self._maps.control(entity))
            self._counter.count(entity, change, max(each.space.shards for each in current.generations))

    def drain(self) -> None:
        """Add the counted numbers in the table."""
        for update in self._counter.drain():
            with contextlib.suppress(TableError):
                self._table.run(update)

    def judge(self) -> None:
        """Evaluate each entity whose window is over. Raises the errors of the table."""
        if self._policy.mode == "off":
            return
        for entity in self._schema.entities.values():
            if self._clock() >= self._due.get(entity.token, 0):
                self._judge(entity)

    def proposals(self) -> Mapping[str, str]:
        """The proposals and advice by entity, as far as this process knows them."""
        said = {token: verdict.said for token, verdict in self._verdicts.items()}
        return {token: text for token, text in said.items() if text}

    # -- parts

    def _judge(self, entity: EntityType[Any]) -> None:
        record = self._asking.item(verdict_key(entity))
        before = None if record is None else decode_verdict(record)
        now = self._clock()
        if before is not None and now < before.at_ms + self._policy.window_ms:
            self._note(entity, before)
            return
        control = self._maps.control(entity)
        if control is not None and control.moving:
            self._due[entity.token] = now + self._policy.window_ms
            return
        current = map_in_force(entity.shard_map, control)
        loads = self._loads(entity)
        indexes = judged_indexes(self._policy, before, loads, current, now, own_shards(entity))
        verdict = replace(judged(self._policy, before, loads, current, now), indexes=indexes)
        condition = absent(entity) if record is None else as_read(record)
        put = PutItem(encode_verdict(entity, verdict, self._new_token()), condition)
        if self._sender.send([put]) is not None:
            return
        self._note(entity, verdict)
        if self._policy.mode == "apply" and verdict.target is not None:
            with contextlib.suppress(Conflict, ReshardRefused):
                self._operator.start(entity, verdict.target)

    def _note(self, entity: EntityType[Any], verdict: Verdict) -> None:
        self._verdicts[entity.token] = verdict
        self._due[entity.token] = verdict.at_ms + self._policy.window_ms

    def _loads(self, entity: EntityType[Any]) -> Mapping[str, Load]:
        return decode_loads(entity, self._asking.all(loads_query(entity)))
