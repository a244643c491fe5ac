"""What drives re-shards: the table's own changes, and a clock that wakes it.

    a control record changed       the coordinator's next step
    a work item opened or saved    a slice of it; when it is done, the coordinator's next step
    a record of O without a mark   in DUAL_OLD it is copied, since another program wrote it
    anything                       counted by shard; of records, for the policy (see `watch`)

Guarantees: a change is a hint only, which may come twice, late or never: what is done goes by what is in the table.
`wake` goes on with whatever nobody has gone on with, and with waits that are over; where what is kept of an entity's
re-shard can't be read, it goes on with the others, and then raises that. Between two calls of `drain` slices
take `budget_ms` together, and one page each beyond that; none begins after half as much again, so that a batch of
changes ends in time. What is left then is gone on with by a wake.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from ..errors import ReshardUnreadable
from ..schema.entity import now_ms
from ..schema.entity_type import MARK, EntityType
from ..schema.schema import Schema
from ..table.stream_operations import StreamRecord
from .change_handler import ChangeCounts, Traffic
from .control import CONTROL, partition_key
from .coordinator import Coordinator
from .leased_maps import LeasedMaps, monotonic_ms
from .load.monitor import LoadWatch
from .mover import Mover
from .phases import Phase, ReshardState
from .work_items import WORK, Side, WorkItem, decode_work, is_in, moving_generations

BUDGET_MS = 40_000
STEPS_AT_ONCE = 4
"""The coordinator is asked again, by the change that it made."""


class ReshardDriver:
    """A `ChangeHandler`. For one thread at a time."""

    def __init__(
        self,
        schema: Schema,
        coordinator: Coordinator,
        mover: Mover,
        maps: LeasedMaps,
        watch: LoadWatch | None = None,
        *,
        clock: Callable[[], int] = now_ms,
        monotonic: Callable[[], int] = monotonic_ms,
        budget_ms: int = BUDGET_MS,
    ) -> None:
        self._schema = schema
        self._coordinator = coordinator
        self._mover = mover
        self._maps = maps
        self._watch = watch
        self._clock = clock
        self._monotonic = monotonic
        self._budget_ms = budget_ms
        self._ends: int | None = None
        self._counts = ChangeCounts(schema)
        self._entities = {partition_key(entity): entity for entity in schema.entities.values()}

    def handle(self, change: StreamRecord) -> None:
        """One change. Raises what the table raises."""
        hash_key = str(change.key[self._schema.hash_key])
        entity = self._entities.get(hash_key)
        if entity is None:
            self._counts.handle(change)
            if self._watch is not None:
                self._watch.count(change)
            self._catch_up(hash_key, change)
        elif change.new is not None:
            # The change is a hint only: each wake says what can't be read, and the changes of others must come.
            with suppress(ReshardUnreadable):
                self._go_on(entity, str(change.key[self._schema.range_key]), change)

    def drain(self) -> Mapping[str, Traffic]:
        """What was seen since the last time, by shard."""
        self._ends = None
        if self._watch is not None:
            self._watch.drain()
        return self._counts.drain()

    def wake(self) -> int:
        """Go on with what nobody has gone on with, and say how many steps and slices that were. Raises what the table
        raises."""
        self._ends = None
        done, unreadable = 0, None
        for entity in self._schema.entities.values():
            try:
                done += self._woken(entity)
            except ReshardUnreadable as error:
                unreadable = unreadable or error
        if unreadable is not None:
            raise unreadable
        if self._watch is not None:
            self._watch.judge()
        return done

    def proposals(self) -> Mapping[str, str]:
        """What the policy proposes, by entity."""
        return {} if self._watch is None else self._watch.proposals()

    # -- parts

    def _go_on(self, entity: EntityType[Any], range_key: str, change: StreamRecord) -> None:
        if range_key == CONTROL:
            self._step(entity)
        elif range_key.startswith(WORK):
            assert change.new is not None
            item = decode_work(entity, change.new)
            if item.done:
                self._step(entity)
            elif item.open and item.lease_until <= self._clock():
                self._slice(entity, item)

    def _step(self, entity: EntityType[Any]) -> int:
        for taken in range(STEPS_AT_ONCE):
            if not self._coordinator.step(entity):
                return taken
        return STEPS_AT_ONCE

    def _slice(self, entity: EntityType[Any], item: WorkItem) -> bool:
        now = self._monotonic()
        if self._ends is None:
            self._ends = now + self._budget_ms
        if now >= self._ends + self._budget_ms // 2:
            return False
        return self._mover.slice(entity, item, max(0, (self._ends - now) // 2)) is not None

    def _woken(self, entity: EntityType[Any]) -> int:
        done = self._step(entity)
        seen = self._coordinator.read(entity)
        if seen is None or not seen.control.step.has_work or seen.control.attention:
            return done
        for item in self._coordinator.items(entity, seen.control):
            if item.open and item.lease_until <= self._clock():
                done += self._slice(entity, item)
        return done

    def _catch_up(self, hash_key: str, change: StreamRecord) -> None:
        """Copy what another program wrote to O: what this library writes there bears the mark of the re-shard."""
        entity = self._schema.entity_of_key(hash_key)
        if entity is None or change.new is None:
            return
        control = self._maps.control(entity)
        if control is not None and _is_stray(entity, control, change.new):
            self._mover.catch_up(entity, change.key, control, self._coordinator.items(entity, control))


def _is_stray(entity: EntityType[Any], control: ReshardState, record: Mapping[str, Any]) -> bool:
    if control.phase is not Phase.DUAL_OLD or control.aborting or record.get(MARK) == control.version:
        return False
    return is_in(entity, moving_generations(control, Side.OLD), record[entity.keys.design.hash_name])
