"""Readiness: whether a lookup or an enforced relation contains all records of its entity, so that it can be used.

Format, one marker for each:
    hashKey    user.phone!         as of its lookup records, without a shard
    rangeKey   _state
    _state     ready, or filling with how far a backfill has come (`backfill`)

Every process writes lookups and counts children from its first write on. Records written before, by programs that did
not know them, must be added by a backfill; until then, operations that need the lookup or relation raise
LookupNotReady, which names the command. If no records were stored before, no backfill is needed: the program that
creates a table (with `decide`), and every process before its first write, check this and set the markers. A table
without records of any entity is new, even if it has items of the library itself, and a small table is read completely;
otherwise each shard of the entity is checked, for entities with at most 256 shards and without a partition. A process
that may not scan only checks shards.

No marker is set for an entity whose records have become those of another one (see `maintenance.rekeying`) and which is
declared still: its markers went with its last record, and nobody would remove them when the declaration goes. Without
records its lookups can be used all the same.

A process does not read a marker again once it was ready. Costs: a read of the markers at a process's first write, and
whenever one is needed that was not ready before; if a marker is missing, a scan of 100 items, and the check of the
shards.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import AccessDenied, LookupNotReady
from ...keys.sharding import placements
from ...schema.entity_type import REVISION, EntityType
from ...schema.schema import Schema
from ...table.conditions import Missing
from ...table.operations import MAX_TRANSACTION_ACTIONS, PutItem, Query, Scan
from ...table.values import Value
from ..attempts import AttemptContext
from ..reader import Reader

STATE = "_state"
READY = "ready"
NEVER_FILLED = "new"
"""The revision of a marker that was not written by a backfill."""
MAX_PROBED = 256
PAGE = 100
MAX_PAGES = 10
"""How many pages of a table are read that contain only items of the library itself."""


Send = Callable[[Sequence[PutItem]], object]
"""Writes items, all or none. Markers are written only if one is missing, so a read needs it rarely."""


@dataclass(frozen=True)
class _Named:
    """A lookup or an enforced relation of an entity, by name."""

    entity: EntityType[Any]
    name: str

    @property
    def marker_key(self) -> dict[str, Value]:
        return marker_key(self.entity, self.name)


class Readiness:
    """The markers that one process knows. Safe for many threads."""

    def __init__(
        self,
        schema: Schema,
        reader: Reader,
        send: Send,
        moment_of: Callable[[EntityType[Any]], AttemptContext],
        has_evolved: Callable[[EntityType[Any]], bool],
    ) -> None:
        self._schema = schema
        self._all = [_Named(entity, name) for entity in schema.entities.values() for name in kept_names(entity)]
        self._reader = reader
        self._send = send
        self._moment_of = moment_of
        self._has_evolved = has_evolved
        self._ready: set[tuple[str, str]] = set()
        self.announced = not self._all

    def require(self, entity: EntityType[Any], name: str) -> None:
        """Raise LookupNotReady unless the lookup or relation is ready."""
        if (entity.token, name) in self._ready:
            return
        if self._learn([_Named(entity, name)]):
            self._look()
        if (entity.token, name) not in self._ready:
            raise LookupNotReady(
                "it was added to a filled table and does not hold all records yet",
                where=f"{entity.token}.{name}",
                fix=f"run `shardweave backfill --entity {entity.token} --lookup {name}` once no older version writes",
            )

    def before_writing(self) -> None:
        """Called before a record is created: the first call in a process sets the markers of entities without stored
        records."""
        if not self.announced:
            self._look(also_evolved=False)
            self.announced = True

    def decide(self) -> tuple[str, ...]:
        """Set every marker that can be set, and return the names of lookups and relations that need a backfill, such as
        `user.phone`."""
        self._look()
        return tuple(
            f"{each.entity.token}.{each.name}"
            for each in self._all
            if (each.entity.token, each.name) not in self._ready
        )

    def _look(self, *, also_evolved: bool = True) -> None:
        """Set every marker that can be set. Entities that have evolved are looked at only where it has to be known
        whether they have records."""
        missing = self._learn(self._all)
        entities = {each.entity.token: each.entity for each in missing}
        evolved = {token for token, entity in entities.items() if self._has_evolved(entity)}
        if not also_evolved:
            missing = [each for each in missing if each.entity.token not in evolved]
        if not missing:
            return
        empty = self._without_records()
        for token in dict.fromkeys(each.entity.token for each in missing):
            if token not in empty and self._has_no_record(entities[token]):
                empty.add(token)
        found = [each for each in missing if each.entity.token in empty]
        self._ready.update((each.entity.token, each.name) for each in found if each.entity.token in evolved)
        self._set_ready([each for each in found if each.entity.token not in evolved])

    def _learn(self, names: list[_Named]) -> list[_Named]:
        """Read markers, remember which are ready, and return the names of those that are missing."""
        markers = self._reader.items([each.marker_key for each in names])
        for each, marker in zip(names, markers, strict=True):
            if marker is not None and marker.get(STATE) == READY:
                self._ready.add((each.entity.token, each.name))
        return [each for each, marker in zip(names, markers, strict=True) if marker is None]

    def _set_ready(self, names: list[_Named]) -> None:
        """Set markers, all or none."""
        for start in range(0, len(names), MAX_TRANSACTION_ACTIONS):
            chunk = names[start : start + MAX_TRANSACTION_ACTIONS]
            markers = [{**each.marker_key, STATE: READY, REVISION: NEVER_FILLED} for each in chunk]
            puts = [
                PutItem(marker, Missing(each.entity.keys.design.hash_name))
                for each, marker in zip(chunk, markers, strict=True)
            ]
            self._send(puts)
            self._learn(chunk)

    def _without_records(self) -> set[str]:
        """The tokens of the entities without records in a new or a small table. None for any other table."""
        met: set[str] = set()
        start_key = None
        for _ in range(MAX_PAGES):
            try:
                page = self._reader.page(Scan(limit=PAGE, start_key=start_key, consistent=True))
            except AccessDenied:
                return set()
            owners = (self._schema.entity_of_key(str(item[self._schema.hash_key])) for item in page.items)
            met |= {owner.token for owner in owners if owner is not None}
            start_key = page.last_key
            if start_key is None:
                return set(self._schema.entities) - met
            if met:
                break
        return set()

    def _has_no_record(self, entity: EntityType[Any]) -> bool:
        """Whether no record of the entity is stored; False also if the check would need too many reads."""
        moment = self._moment_of(entity)
        if not can_be_asked(entity, moment, MAX_PROBED):
            return False
        return not any(self._reader.page(replace(query, limit=1)).items for query in record_queries(entity, moment))


def kept_names(entity: EntityType[Any]) -> Iterator[str]:
    """The names of all lookups and enforced relations."""
    yield from entity.lookups
    yield from (relation.name for relation in entity.relations.values() if relation.enforced)


def marker_key(entity: EntityType[Any], name: str) -> dict[str, Value]:
    """The key of a marker."""
    design = entity.keys.design
    return {design.hash_name: f"{entity.token}.{name}{design.key_format.shard_delimiter}", design.range_name: STATE}


def can_be_asked(entity: EntityType[Any], moment: AttemptContext, most: int) -> bool:
    """Whether all records of an entity are under known hash keys, of which there are at most a given number."""
    generations = moment.shard_map.begun(entity.in_unit(moment.now_ms), entity.time_unit)
    return not entity.keys.design.partition and sum(each.space.shards for each in generations) <= most


def record_queries(entity: EntityType[Any], moment: AttemptContext) -> Iterator[Query]:
    """A query for each hash key that can hold records of an entity that is not partitioned."""
    design = entity.keys.design
    generations = moment.shard_map.begun(entity.in_unit(moment.now_ms), entity.time_unit)
    for place in placements(generations, design.key_format.hash, None):
        hash_key = entity.keys.hash_key(place.suffix, (), {})
        yield Query(design.hash_name, hash_key, design.range_name, consistent=True)
