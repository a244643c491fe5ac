"""The stream filter: which changes of the stream are changes of records, for other consumers of the stream.

During a re-shard a record is written twice, copied, marked and finally removed from the old space; none of these is a
change of the record. Until NEW_ONLY, changes in O count, since every write changes O; from then on changes in N count,
since every write changes N. Changes of only the mark, and changes of other items of the library (lookups, counters,
control records), never count.

Guarantees: every change of a record passes. The times of changes are accurate to a second or two, and processes learn
of NEW_ONLY within a lease; around that time a change may pass twice, once for each copy, with the same `rev`.

Pure.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ..schema.entity_type import MARK, REVISION, EntityType
from ..schema.schema import Schema
from ..table.stream_operations import StreamRecord
from .phases import ReshardState, map_in_force
from .work_items import Side, is_in, moving_generations

OVERLAP_MS = 5_000
"""The maximum error of the times of changes."""


@dataclass(frozen=True)
class Authoritative:
    """The filter. `control_of` returns an entity's state as far as it is known, None before the first re-shard;
    `lease_ms` is the maximum delay until a process learns of a phase."""

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
    """Whether only the mark differs, as after a copy."""
    old, new = change.old, change.new
    if old is None or new is None or old.get(REVISION) != new.get(REVISION):
        return False
    return all(old.get(name) == new.get(name) for name in {*old, *new} - {MARK})
