"""Each process's copy of the control records: which shard maps to read and write by, and for how long that holds.

Guarantees: no view is given out, and no lease passes its check, that rests on a control record read more than
`lease_ms` ago; that holds for "there is no control record" as well. The age counts from before the consistent read was
sent, as the larger of what wall clock and monotonic clock say (one stops while a machine sleeps, the other is set).
An `exact` lease reads the control record inside the check: where the check stands inside the write's own transaction,
as on the embedded table, so that no wait is needed for writers.

Whoever opens a table without saying how shard maps are had gets those of `maps_in_force`: one copy for all that reads
and writes one table in one process. Nothing in a table says which waits its stage has, so that copy is never older than
the shortest lease that there is; on an embedded table it is read anew each time, which costs microseconds.

Costs: one consistent read of one item for each entity that is in use, every half lease.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

from ..errors import ReshardRefused, ShardMapChanged, TableUnavailable, Throttled
from ..keys.sharding import ShardMap
from ..schema.entity import now_ms
from ..schema.entity_type import EntityType
from ..schema.shard_maps import MapView, map_expired
from ..table import Table
from ..table.operations import GetItem
from ..table.retry import UNANSWERED, RetryClock
from .control import control_key, decode_control
from .declaration_guard import MOVING_FIX, placement_of
from .phases import ReshardState, Waits, map_in_force
from .timings import SHORTEST_LEASE_MS


def monotonic_ms() -> int:
    """Milliseconds of the monotonic clock."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class _Copy:
    """A control value, and when it was asked for by both clocks."""

    declared: ShardMap
    control: ReshardState | None
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


@dataclass
class _Known:
    """What is known of one entity."""

    entity: EntityType[Any]
    reading: threading.Lock = field(default_factory=threading.Lock)
    copy: _Copy | None = None
    placement: str | None = None


class LeasedMaps:
    """The shard maps of one process, for one table; entities of several schemas may be asked for. Safe for use by many
    threads. Both clocks give milliseconds. `exact` is what the table allows, unless it is given."""

    def __init__(
        self,
        table: Table,
        waits: Waits,
        *,
        clock: Callable[[], int] = now_ms,
        monotonic: Callable[[], int] = monotonic_ms,
        exact: bool | None = None,
        waiting: RetryClock | None = None,
    ) -> None:
        self.table = table
        self.clock = clock
        self._lease_ms = waits.lease_ms
        self._monotonic = monotonic
        self._exact = guards_inside_writes(table) if exact is None else exact
        self._waiting = waiting or RetryClock()
        self._known: dict[int, _Known] = {}
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

    def control(self, entity: EntityType[Any]) -> ReshardState | None:
        """The control value as it was read last, at most a lease ago."""
        return self._recent(entity).control

    # -- parts

    def _recent(self, entity: EntityType[Any]) -> _Copy:
        """A copy that is young, or the last one while it is not too old and no other can be had."""
        known = self._of(entity)
        copy = known.copy
        if copy is not None and self._age(copy) * 2 < self._lease_ms:
            return copy
        with known.reading:
            copy = known.copy
            if copy is not None and self._age(copy) * 2 < self._lease_ms:
                return copy
            pauses = self._waiting.pauses(UNANSWERED)
            while True:
                try:
                    return self._read(known)
                except (Throttled, TableUnavailable):
                    if copy is not None and self._age(copy) <= self._lease_ms:
                        return copy
                    if not pauses.pause():
                        raise

    def _read(self, known: _Known) -> _Copy:
        entity, wall, monotonic = known.entity, self.clock(), self._monotonic()
        item = self.table.run(GetItem(control_key(entity), consistent=True)).item
        copy = _Copy(entity.shard_map, None if item is None else decode_control(entity, item), wall, monotonic)
        with self._lock:
            if known.copy is None or known.copy.monotonic_ms <= monotonic:
                known.copy = copy
        return copy

    def _forget(self, entity: EntityType[Any], copy: _Copy) -> None:
        known = self._of(entity)
        with self._lock:
            if known.copy is copy:
                known.copy = None

    def _of(self, entity: EntityType[Any]) -> _Known:
        known = self._known.get(id(entity))
        if known is None:
            with self._lock:
                known = self._known.setdefault(id(entity), _Known(entity))
        return known

    def _age(self, copy: _Copy) -> int:
        return max(abs(self.clock() - copy.wall_ms), self._monotonic() - copy.monotonic_ms)

    def _check_placement(self, entity: EntityType[Any], control: ReshardState) -> None:
        known = self._of(entity)
        if known.placement is None:
            known.placement = placement_of(entity)
        if control.placement != known.placement:
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
            fresh = self.maps._read(self.maps._of(self.entity))
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


# -- one for all that use a table ------------------------------------------------------------------------------------

EMBEDDED = Waits(lease_ms=0)
ANY_STAGE = Waits(lease_ms=SHORTEST_LEASE_MS)

_in_force: WeakValueDictionary[int, LeasedMaps] = WeakValueDictionary()
_making = threading.Lock()


def guards_inside_writes(table: Table) -> bool:
    """What a table says of its guards. One that says nothing, such as a wrapper for a purpose of its own, is taken to
    be of the weaker kind."""
    return getattr(table, "guards_inside_writes", False)


def maps_in_force(
    table: Table, clock: Callable[[], int] = now_ms, monotonic: Callable[[], int] = monotonic_ms
) -> LeasedMaps:
    """The shard maps in force in a table, right for a stage of any waits; the same for all in this process that name
    the table and the clock. `monotonic` is of use to whoever asks first."""
    with _making:
        found = _in_force.get(id(table))
        if found is None or found.clock != clock:
            waits = EMBEDDED if guards_inside_writes(table) else ANY_STAGE
            found = _in_force[id(table)] = LeasedMaps(table, waits, clock=clock, monotonic=monotonic)
        return found
