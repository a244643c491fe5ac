"""Which changes of the stream are changes of records: what other consumers of the stream are to be given.

While an entity moves, a record is written twice, copied, marked and in the end removed from where it was; none of that
is news. Of the two spaces, O's changes count until NEW_ONLY is entered, since every write until then changes O too, and
N's from then on, since every write from then on changes N. A change of the mark alone counts never, nor does anything
that this library keeps beside records: lookups, counters, control records.

Guarantees: every change of a record is let through. Times of changes are approximate to a second or two, and processes
learn of NEW_ONLY within a lease; around that moment a change may be let through as both copies', which have one `rev`.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..schema.entity_type import MARK, REVISION, EntityType
from ..schema.schema import Schema
from ..table.operations import StreamRecord
from .phases import ReshardState, map_in_force
from .work_items import Side, is_in, moving_generations

OVERLAP_MS = 5_000
"""By how much times of changes may be wrong."""


@dataclass(frozen=True)
class Authoritative:
    """The filter. `control_of` gives an entity's control value as it is known, None before the first re-shard;
    `lease_ms` is how late a process may learn of a phase."""

    schema: Schema
    control_of: Callable[[EntityType[Any]], ReshardState | None]
    lease_ms: int

    def lets_through(self, change: StreamRecord) -> bool:
        """Whether it is the change of a record."""
        hash_key = str(change.key[self.schema.hash_key])
        entity = self.schema.entity_of_key(hash_key)
        if entity is None:
            return False
        return not _only_the_mark(change) and self._is_of_the_record(entity, hash_key, change)

    def _is_of_the_record(self, entity: EntityType[Any], hash_key: str, change: StreamRecord) -> bool:
        control = self.control_of(entity)
        if control is None:
            return is_in(entity, entity.shard_map.generations, hash_key)
        if control.new is None and control.former is not None:
            control = replace(control, old=control.former, new=map_in_force(entity.shard_map, control))
        if control.new is None:
            return is_in(entity, map_in_force(entity.shard_map, control).generations, hash_key)
        changed_ms = change.created * 1000
        since = control.only_ms
        if is_in(entity, moving_generations(control, Side.OLD), hash_key):
            return since is None or changed_ms < since + self.lease_ms + OVERLAP_MS
        if is_in(entity, moving_generations(control, Side.NEW), hash_key):
            return since is not None and changed_ms >= since - OVERLAP_MS
        return is_in(entity, control.new.generations, hash_key)


def _only_the_mark(change: StreamRecord) -> bool:
    """Whether nothing but the mark differs, as when a record is copied."""
    old, new = change.old, change.new
    if old is None or new is None or old.get(REVISION) != new.get(REVISION):
        return False
    return all(old.get(name) == new.get(name) for name in {*old, *new} - {MARK})
