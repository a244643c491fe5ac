"""Leased maps: each process's copy of the control records, with the shard maps to use and the time for which they are
valid.

Guarantees: no view is returned, and no lease is valid, if the control record was read more than `lease_ms` ago; this
includes the case that there is no control record. The age is measured from before the consistent read was sent, as the
larger of the ages by wall clock and by monotonic clock (one may be set, the other may stop while a machine sleeps). An
`exact` lease reads the control record inside the check; this is used if the check is inside the write's own
transaction, as on the embedded table, so that no wait for writers is needed.

By default a table uses `maps_in_force`: one copy for all readers and writers of a table in a process. The table does
not say which waits its stage has, so the copy is never older than the shortest possible lease; on an embedded table it
is read each time, which takes microseconds.

Costs: one consistent read of one item for each entity that is in use, every half lease.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any
from weakref import WeakValueDictionary

from ..errors import ReshardRefused, ShardMapChanged, TableUnavailable, Throttled
from ..keys.sharding import ShardMap
from ..schema.entity import now_ms
from ..schema.entity_type import EntityType
from ..schema.shard_maps import MapView, map_expired
from ..table import Table
from ..table.operations import GetItem
from ..table.retry import UNANSWERED, RetryClock
from ..table.waiting import Lock
from .control import control_key, decode_control
from .declaration_guard import MOVING_FIX, placement_of
from .phases import ReshardState, Waits, map_in_force
from .timings import SHORTEST_LEASE_MS

if TYPE_CHECKING:
    from ..schema.old_forms import OldForm

NO_FORMS: Mapping[str, OldForm] = MappingProxyType({})


def monotonic_ms() -> int:
    """Milliseconds of the monotonic clock."""
    return time.monotonic_ns() // 1_000_000


@dataclass(frozen=True)
class _Copy:
    """A state of a re-shard, and when it was requested by both clocks."""

    declared: ShardMap
    control: ReshardState | None
    wall_ms: int
    monotonic_ms: int

    @cached_property
    def current(self) -> ShardMap:
        """The map in force. Raises ConfigurationError."""
        return map_in_force(self.declared, self.control)

    @property
    def epoch(self) -> tuple[int, int, int, str]:
        """A value that changes each time another map comes into force."""
        control = self.control
        if control is None:
            return 0, 0, 0, ""
        return control.version, int(control.phase), control.entered_ms, control.rekey


@dataclass
class _Known:
    """The copies of one entity's control record."""

    entity: EntityType[Any]
    reading: Lock = field(default_factory=Lock)
    copy: _Copy | None = None
    placement: str | None = None


class LeasedMaps:
    """The shard maps of one process for one table, also for entities of several schemas. Safe for many threads. Both
    clocks return milliseconds. By default `exact` is used if the table allows it. `forms` are the old forms of entities
    whose records are brought in, by token; `bringing`: this process brings them in."""

    def __init__(
        self,
        table: Table,
        waits: Waits,
        *,
        clock: Callable[[], int] = now_ms,
        monotonic: Callable[[], int] = monotonic_ms,
        exact: bool | None = None,
        waiting: RetryClock | None = None,
        forms: Mapping[str, OldForm] = NO_FORMS,
        bringing: bool = False,
    ) -> None:
        self.table = table
        self.forms = forms
        self._bringing = bringing
        self.clock = clock
        self._lease_ms = waits.lease_ms
        self._monotonic = monotonic
        self._exact = guards_inside_writes(table) if exact is None else exact
        self._waiting = waiting or RetryClock()
        self._known: dict[int, _Known] = {}
        self._lock = threading.Lock()

    def view(self, entity: EntityType[Any]) -> MapView:
        """The maps for reads and writes. Raises ReshardRefused if the declaration differs from that of the current
        re-shard, and the table's error if no control record could be read for a whole lease."""
        copy = self._recent(entity)
        control = copy.control
        lease = _Lease(self, entity, copy)
        if control is None:
            return MapView(entity.shard_map, lease=lease)
        if control.moving:
            self._check_placement(entity, control)
        if control.rekey:
            from .rekey_states import form_in_use  # only loaded while a table is brought in

            form = form_in_use(entity, control, self.forms.get(entity.token), bringing=self._bringing)
            return MapView(copy.current, lease=lease, old_form=form)
        return MapView(copy.current, control.mirror, control.marked, lease)

    def readable(self, entity: EntityType[Any], map_id: int, *, now: bool = False) -> ShardMap:
        """The map named by a cursor. Raises CursorExpired if the map is no longer kept, also `now`, by a read of its
        own."""
        copy = self._current(entity) if now else self._recent(entity)
        control = copy.control
        found = copy.current if copy.current.id == map_id else None
        if found is None and control is not None:
            found = control.readable(map_id)
        if found is None:
            raise map_expired()
        return found

    def has_evolved(self, entity: EntityType[Any]) -> bool:
        """See `ShardMaps`: a rekey of the records has ended, or was taken back. In the latter case what is kept for the
        old entity is there already."""
        controls = (self.control(form.entity) for form in self.forms.values() if form.old is entity)
        return any(each is not None and each.rekey_ms > 0 and not each.rekey for each in controls)

    def control(self, entity: EntityType[Any]) -> ReshardState | None:
        """The state that was read last, at most a lease ago."""
        return self._recent(entity).control

    # -- parts

    def _current(self, entity: EntityType[Any]) -> _Copy:
        """A copy that is requested now."""
        pauses = self._waiting.pauses(UNANSWERED)
        while True:
            try:
                return self._read(self._of(entity))
            except (Throttled, TableUnavailable):
                if not pauses.pause():
                    raise

    def _recent(self, entity: EntityType[Any]) -> _Copy:
        """A recent copy; or the last one, if it is not too old and no other can be read."""
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
    """The validity of one view."""

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
    """Whether a table runs guards inside its writes. A table that does not say so, such as a custom wrapper, is assumed
    not to."""
    return getattr(table, "guards_inside_writes", False)


def maps_in_force(
    table: Table, clock: Callable[[], int] = now_ms, monotonic: Callable[[], int] = monotonic_ms
) -> LeasedMaps:
    """The shard maps in force in a table, for a stage with any waits; the same object for all callers in this process
    with the same table and clock. `monotonic` is used only by the first call."""
    with _making:
        found = _in_force.get(id(table))
        if found is None or found.clock != clock:
            waits = EMBEDDED if guards_inside_writes(table) else ANY_STAGE
            found = _in_force[id(table)] = LeasedMaps(table, waits, clock=clock, monotonic=monotonic)
        return found
