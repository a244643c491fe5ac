"""Each process's copy of the control records: which shard maps to read and write by, and for how long that holds.

Guarantees: no view is given out, and no lease passes its check, that rests on a control record read more than
`lease_ms` ago; that holds for "there is no control record" as well. The age counts from before the consistent read was
sent, as the larger of what wall clock and monotonic clock say (one stops while a machine sleeps, the other is set).
With `exact` a lease also reads the control record inside the check: for tables where the check stands inside the
write's own transaction, as on the embedded one.

Costs: one consistent read of one item for each entity that is in use, every half lease.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from ..entity import now_ms
from ..entity_type import EntityType
from ..errors import ReshardRefused, ShardMapChanged, TableUnavailable, Throttled
from ..shard_maps import MapView, map_expired
from ..sharding import ShardMap
from ..store.retries import UNANSWERED, Waiting
from ..table import Table
from ..table.operations import GetItem
from .control import control_key, decode_control
from .phases import Control, Waits, map_in_force
from .placement import MOVING_FIX, placement_of


def monotonic_ms() -> int:
    """Milliseconds of the monotonic clock."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class _Copy:
    """A control value, and when it was asked for by both clocks."""

    declared: ShardMap
    control: Control | None
    wall_ms: int
    monotonic_ms: int

    @cached_property
    def current(self) -> ShardMap:
        """The map that decides. Raises ConfigurationError."""
        return map_in_force(self.declared, self.control)

    @property
    def epoch(self) -> tuple[int, int, int]:
        """What tells one time of being in force from another."""
        control = self.control
        return (0, 0, 0) if control is None else (control.version, int(control.phase), control.entered_ms)


class LeasedMaps:
    """The shard maps of one process. Safe for use by many threads. Both clocks give milliseconds."""

    def __init__(
        self,
        table: Table,
        waits: Waits,
        *,
        clock: Callable[[], int] = now_ms,
        monotonic: Callable[[], int] = monotonic_ms,
        exact: bool = False,
        waiting: Waiting | None = None,
    ) -> None:
        self._table = table
        self._lease_ms = waits.lease_ms
        self._clock = clock
        self._monotonic = monotonic
        self._exact = exact
        self._waiting = waiting or Waiting()
        self._copies: dict[str, _Copy] = {}
        self._locks: dict[str, threading.Lock] = {}
        self._placements: dict[str, str] = {}
        self._lock = threading.Lock()

    def view(self, entity: EntityType[Any]) -> MapView:
        """What reads and writes go by. Raises ReshardRefused where the declaration is not the one that records are
        moved by, and what the table raises when no control record could be read for a whole lease."""
        copy = self._recent(entity)
        control = copy.control
        lease = _Lease(self, entity, copy)
        if control is None:
            return MapView(entity.shard_map, lease=lease)
        if control.moving:
            self._check_placement(entity, control)
        return MapView(copy.current, control.mirror, control.marked, lease)

    def readable(self, entity: EntityType[Any], map_id: int) -> ShardMap:
        """A map that a cursor names. Raises CursorExpired when it is no longer kept."""
        copy = self._recent(entity)
        control = copy.control
        found = copy.current if copy.current.id == map_id else None
        if found is None and control is not None:
            found = control.readable(map_id)
        if found is None:
            raise map_expired()
        return found

    def control(self, entity: EntityType[Any]) -> Control | None:
        """The control value as it was read last, at most a lease ago."""
        return self._recent(entity).control

    # -- parts

    def _recent(self, entity: EntityType[Any]) -> _Copy:
        """A copy that is young, or the last one while it is not too old and no other can be had."""
        copy = self._copies.get(entity.token)
        if copy is not None and self._age(copy) * 2 < self._lease_ms:
            return copy
        with self._lock_of(entity):
            copy = self._copies.get(entity.token)
            if copy is not None and self._age(copy) * 2 < self._lease_ms:
                return copy
            pauses = self._waiting.pauses(UNANSWERED)
            while True:
                try:
                    return self._read(entity)
                except (Throttled, TableUnavailable):
                    if copy is not None and self._age(copy) <= self._lease_ms:
                        return copy
                    if not pauses.pause():
                        raise

    def _read(self, entity: EntityType[Any]) -> _Copy:
        wall, monotonic = self._clock(), self._monotonic()
        item = self._table.run(GetItem(control_key(entity), consistent=True)).item
        copy = _Copy(entity.shard_map, None if item is None else decode_control(entity, item), wall, monotonic)
        with self._lock:
            newest = self._copies.get(entity.token)
            if newest is None or newest.monotonic_ms <= monotonic:
                self._copies[entity.token] = copy
        return copy

    def _forget(self, entity: EntityType[Any], copy: _Copy) -> None:
        with self._lock:
            if self._copies.get(entity.token) is copy:
                del self._copies[entity.token]

    def _age(self, copy: _Copy) -> int:
        return max(abs(self._clock() - copy.wall_ms), self._monotonic() - copy.monotonic_ms)

    def _lock_of(self, entity: EntityType[Any]) -> threading.Lock:
        with self._lock:
            return self._locks.setdefault(entity.token, threading.Lock())

    def _check_placement(self, entity: EntityType[Any], control: Control) -> None:
        placement = self._placements.setdefault(entity.token, placement_of(entity))
        if control.placement != placement:
            raise ReshardRefused(
                "what places its records was changed while they move",
                where=entity.token,
                fix=MOVING_FIX,
            )


@dataclass
class _Lease:
    """How long one view holds."""

    maps: LeasedMaps
    entity: EntityType[Any]
    copy: _Copy

    def check(self) -> None:
        if self.maps._exact:
            fresh = self.maps._read(self.entity)
            if fresh.epoch != self.copy.epoch:
                raise _changed(self.entity)
            return
        if self.maps._age(self.copy) > self.maps._lease_ms:
            raise _changed(self.entity)

    def renew(self) -> bool:
        recent = self.maps._recent(self.entity)
        if recent.epoch != self.copy.epoch:
            return False
        if recent is not self.copy:
            self.copy = recent
        return True

    def outdated(self) -> None:
        self.maps._forget(self.entity, self.copy)


def _changed(entity: EntityType[Any]) -> ShardMapChanged:
    return ShardMapChanged("the shard map may have changed", where=entity.token, fix="try again")
