"""Consistent reads of records by identity.

Guarantees: a returned record was the live record at some moment during the call; expired records are never returned; if
two generations have a record, the newer one is returned. Each key is read once, even if it is given several times.

Costs: one GetItem for one key, else one BatchGet for each 100, several at a time; an entity with an identity lookup
needs a round for the lookups first. Reads that the table leaves unprocessed, throttles or does not answer are repeated,
with full jitter, until the deadline; the error names the positions that are missing then.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from ..errors import (
    BatchIncomplete,
    RecordUnreadable,
    ShardMapChanged,
    TableUnavailable,
    Throttled,
    Unreadable,
    ValueRefused,
)
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..schema.shard_maps import confirm
from ..table import Table
from ..table.batch_get import KeysToRead, read_in_turn
from ..table.concurrency import MAX_WORKERS, run_concurrently
from ..table.operations import MAX_BATCH_GET, BatchGet, BatchGetAnswer, GetItem, PageAnswer, Query, Scan
from ..table.retry import CONTENDED, UNANSWERED, Backoff, RetryClock
from ..table.values import Item
from .attempts import AttemptContext, PrimaryKey
from .locations import Location, ReadResult, StoredItem, location_of, locations
from .lookups.lookup_records import identity_lookup_key, placed
from .noticed import notice
from .operations import Among, shard_of

E = TypeVar("E", bound=Entity)


@dataclass(frozen=True)
class Wanted:
    """A record to read: its identity in stored form."""

    entity: EntityType[Any]
    identity: Item
    moment: AttemptContext


class Reader:
    """Reads records; safe for many threads."""

    def __init__(
        self,
        table: Table,
        waiting: RetryClock,
        moment_of: Callable[[EntityType[Any]], AttemptContext],
        workers: int = MAX_WORKERS,
    ) -> None:
        self._table = table
        self._waiting = waiting
        self._moment_of = moment_of
        self._workers = workers
        self._names = table.layout.key_names

    def find_now(self, asked: Sequence[tuple[EntityType[Any], Item]], seconds: float | None = None) -> list[ReadResult]:
        """The read result for each entity and identity, in order; works also while records are moved. Raises as `find`
        does."""
        pauses = self._waiting.pauses(CONTENDED, seconds)
        while True:
            moments = self._moments(entity for entity, _ in asked)
            try:
                return self.find([Wanted(entity, each, moments[entity.token]) for entity, each in asked], seconds)
            except ShardMapChanged:
                if not pauses.pause():
                    raise

    def _moments(self, entities: Iterable[EntityType[Any]]) -> dict[str, AttemptContext]:
        """The clock time and shard map for the records of each entity, by its token."""
        return {token: self._moment_of(entity) for token, entity in {each.token: each for each in entities}.items()}

    def find_at(
        self, asked: Sequence[tuple[EntityType[Any], Item, str | None]], seconds: float | None = None
    ) -> list[ReadResult]:
        """Like `find_now`, but if a shard is given, only this shard is read first: an item that is found there and
        belongs there is the record. All other records are read without the shard."""
        if all(shard is None for _, _, shard in asked):
            return self.find_now([(entity, identity) for entity, identity, _ in asked], seconds)
        moments = self._moments(entity for entity, _, _ in asked)
        keys = {
            position: entity.keys.primary_key(identity, shard)
            for position, (entity, identity, shard) in enumerate(asked)
            if shard is not None
        }
        items = self._fetch(keys.values(), self._waiting.pauses(UNANSWERED, seconds))
        found: dict[int, ReadResult] = {}
        for position, key in keys.items():
            entity, item = asked[position][0], items.get(self._tuple(key))
            moment = moments[entity.token]
            if item is None or entity.is_expired(item, moment.seconds):
                continue
            try:
                place = location_of(entity, item, moment.shard_map)
            except ValueRefused:
                continue  # the properties that say where it belongs can't be read, so it is looked for everywhere
            if place.key == key:
                found[position] = ReadResult(StoredItem(place.generation, item))
        try:
            confirm(moments[token].lease for token in dict.fromkeys(asked[position][0].token for position in found))
        except ShardMapChanged:
            found = {}
        others = [position for position in range(len(asked)) if position not in found]
        if not others:
            return [found[position] for position in range(len(asked))]
        try:
            found |= zip(others, self.find_now([asked[position][:2] for position in others], seconds), strict=True)
        except BatchIncomplete as error:
            found |= zip(others, error.found, strict=True)
            unread = [others[position] for position in error.unprocessed]
            every = [found[position] for position in range(len(asked))]
            raise BatchIncomplete(unread, total=len(asked), found=every) from None
        return [found[position] for position in range(len(asked))]

    def records(
        self,
        entity: EntityType[Any],
        keys: Sequence[Any],
        seconds: float | None,
        visibility: Among | None,
        unreadable: Callable[[Unreadable], object] | None = None,
    ) -> list[Entity | None]:
        """The live records of the keys, None for a record that does not exist. `unreadable` is called for records that
        can't be read, which are then None too; without it they raise RecordUnreadable. Raises BatchIncomplete with the
        positions that could not be read."""
        wanted = [(entity, entity.identify(key), shard_of(key)) for key in keys]
        try:
            return records_among(entity, self.find_at(wanted, seconds), visibility, unreadable)
        except BatchIncomplete as error:
            error.found = tuple(records_among(entity, error.found, visibility, unreadable))
            raise

    def find(self, wanted: Sequence[Wanted], seconds: float | None = None) -> list[ReadResult]:
        """The read result for each, in order. Raises BatchIncomplete with the positions that could not be read, and
        ShardMapChanged if a record may have been moved meanwhile."""
        pauses = self._waiting.pauses(UNANSWERED, seconds)
        lookup_keys = {
            position: identity_lookup_key(each.entity, each.identity)
            for position, each in enumerate(wanted)
            if each.entity.lookup_placed
        }
        lookups = self._fetch(lookup_keys.values(), pauses)
        unread = {position for position, key in lookup_keys.items() if self._tuple(key) not in lookups}
        seen = {position: lookups[self._tuple(key)] for position, key in lookup_keys.items() if position not in unread}
        candidates: list[tuple[Location, ...]] = []
        damaged: dict[int, Unreadable] = {}
        for position, each in enumerate(wanted):
            try:
                candidates.append(() if position in unread else self._places(each, seen.get(position)))
            except RecordUnreadable as error:
                candidates.append(())
                damaged[position] = error.record
        items = self._fetch((place.key for each in candidates for place in each), pauses)
        unread |= {
            position
            for position, each in enumerate(candidates)
            if any(self._tuple(place.key) not in items for place in each)
        }
        confirm({id(each.moment): each.moment.lease for each in wanted}.values())
        sightings = {
            position: ReadResult(
                self._newest(each, candidates[position], items),
                seen.get(position),
                unreadable=damaged.get(position),
            )
            for position, each in enumerate(wanted)
            if position not in unread
        }
        if unread:
            found = [sightings.get(position) for position in range(len(wanted))]
            raise BatchIncomplete(sorted(unread), total=len(wanted), found=found)
        return list(sightings.values())

    def items(self, keys: Sequence[Item], seconds: float | None = None) -> list[Item | None]:
        """The items of primary keys, in order. Raises BatchIncomplete."""
        items = self._fetch(keys, self._waiting.pauses(UNANSWERED, seconds))
        unread = [position for position, key in enumerate(keys) if self._tuple(key) not in items]
        if unread:
            raise BatchIncomplete(unread, total=len(keys))
        return [items[self._tuple(key)] for key in keys]

    def page(self, operation: Query | Scan) -> PageAnswer:
        """One page of several items."""
        pauses = self._waiting.pauses(UNANSWERED)
        while True:
            try:
                return self._table.run(operation)
            except (Throttled, TableUnavailable):
                if not pauses.pause():
                    raise

    @staticmethod
    def _places(wanted: Wanted, lookup: Item | None) -> tuple[Location, ...]:
        entity, moment = wanted.entity, wanted.moment
        if not entity.lookup_placed:
            return locations(entity, wanted.identity, moment.shard_map, moment.now_ms)
        if lookup is None:
            return ()
        try:
            return (location_of(entity, placed(wanted.identity, lookup), moment.shard_map),)
        except (ValueRefused, KeyError, TypeError):
            key = {name: each.python(wanted.identity[name]) for name, each in entity.identifying.items()}
            damaged = Unreadable(entity.token, key, "lookup_damaged", collection=entity.collection)
            raise RecordUnreadable(damaged) from None

    def _newest(
        self, wanted: Wanted, candidates: tuple[Location, ...], items: Mapping[PrimaryKey, Item | None]
    ) -> StoredItem | None:
        for place in reversed(candidates):
            item = items[self._tuple(place.key)]
            if item is not None and not wanted.entity.is_expired(item, wanted.moment.seconds):
                return StoredItem(place.generation, item)
        return None

    def _fetch(self, keys: Iterable[Item], pauses: Backoff) -> dict[PrimaryKey, Item | None]:
        """The items of the keys, None for an item that does not exist; keys that could not be read are left out."""
        distinct = {self._tuple(key): key for key in keys}
        if not distinct:
            return {}
        if len(distinct) == 1:
            ((identity, key),) = distinct.items()
            return {identity: self._get(key, pauses)}
        waiting = list(distinct.values())
        chunks = [waiting[start : start + MAX_BATCH_GET] for start in range(0, len(waiting), MAX_BATCH_GET)]
        items: dict[PrimaryKey, Item | None] = {}
        for found in run_concurrently(lambda chunk: self._batch(chunk, pauses.again()), chunks, self._workers):
            items |= found
        return items

    def _get(self, key: Item, pauses: Backoff) -> Item | None:
        while True:
            try:
                return self._table.run(GetItem(key, consistent=True)).item
            except (Throttled, TableUnavailable):
                if not pauses.pause():
                    raise

    def _batch(self, keys: Sequence[Item], pauses: Backoff) -> dict[PrimaryKey, Item | None]:
        """Up to 100 items, with retries until the deadline."""
        wanted = KeysToRead(self._names, keys)
        read_in_turn(wanted, self._answer, pauses)
        return wanted.found

    def _answer(self, request: BatchGet) -> BatchGetAnswer | None:
        try:
            return self._table.run(request)
        except (Throttled, TableUnavailable):
            return None

    def _tuple(self, item: Item) -> PrimaryKey:
        return item[self._names[0]], item[self._names[1]]


def record_among(entity: EntityType[E], sighting: ReadResult, visibility: Among | None) -> E | None:
    """The live record that was read, None if the caller may not see one. Raises RecordUnreadable, except for callers
    who see only some records: since the owner of an unreadable record is unknown, the result is None for them, and the
    record is `noticed`."""
    if sighting.unreadable is not None:
        if visibility is None:
            raise RecordUnreadable(sighting.unreadable)
        notice(sighting.unreadable)
    if sighting.found is None:
        return None
    try:
        record = entity.load(sighting.found.item)
    except RecordUnreadable as error:
        if visibility is None:
            raise
        notice(error.record)
        return None
    return record if visibility is None or visibility(sighting.found.item) else None


def records_among(
    entity: EntityType[Any],
    sightings: Sequence[ReadResult | None],
    visibility: Among | None,
    unreadable: Callable[[Unreadable], object] | None,
) -> list[Entity | None]:
    """The live records that were read, None for a record that does not exist or could not be read."""
    records: list[Entity | None] = []
    for position, sighting in enumerate(sightings):
        try:
            records.append(None if sighting is None else record_among(entity, sighting, visibility))
        except RecordUnreadable as error:
            if unreadable is None:
                raise
            unreadable(replace(error.record, position=position))
            records.append(None)
    return records
