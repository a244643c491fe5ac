"""Finding records by a value, with lookup records.

Guarantees: reads are consistent; a returned record is live and had the value at some moment during the call. A lookup
record alone is never trusted: the record that it leads to is read, and its value compared. If they differ, since the
value has just moved to another record or the owner has expired, the lookup record is read again.

Costs: `get_by` two reads (three if the identity has its own lookup); `find_by` a query and a batch read for each 100
records, and one more record than the page to see whether another page follows. Where records are skipped, since the
caller may not see them or they don't pass a filter, twice as many are read at a time, up to 100.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ...errors import (
    Conflict,
    InputError,
    LimitExceeded,
    RecordUnreadable,
    ShardweaveError,
    UnknownName,
    Unreadable,
    ValueRefused,
)
from ...query.intervals import contains
from ...query.spec import MAX_UNREADABLE
from ...schema.entity import Entity
from ...schema.entity_type import EntityType
from ...schema.relations import LookupType
from ...table.operations import MAX_BATCH_GET, Query
from ...table.values import MAX_RANGE_KEY_BYTES, Item
from ..locations import ReadResult
from ..noticed import notice
from ..operations import Among
from ..reader import Reader, record_among
from .backfill_state import Readiness
from .lookup_records import owner_identity, owner_in, value_key, value_keys
from .lookup_spec import Listed, LookupSpec, listed, lookup_of

MAX_FOLLOWED = 8
MAX_FOUND = 500


@dataclass(frozen=True)
class FoundPage:
    """Records in the order in which they were read: of their ids, or of their values in an ordered lookup, or its
    reverse. `places` are their ids, or places in the list, in the same order. `after` requests the next page,
    None if nothing follows. `cut`: the deadline, or the maximum number of unreadable records, ended the page, so it may
    have fewer records than the limit. `unreadable` are these, each with the number of items before it. `begins`
    requests the page before, read in the other direction: it is the first id that was returned or reported; for an
    empty page that was cut it is the same as `after`; None means the end that the page reached.

    `after` and `begins` must not be passed on to clients unencrypted: they are plain ids or places that never expire,
    and after a cut page `after` may be that of a record that the caller may not see. Lists over HTTP encrypt them."""

    items: tuple[Any, ...]
    after: str | None = None
    cut: bool = False
    unreadable: tuple[Unreadable, ...] = ()
    begins: str | None = None
    places: tuple[str, ...] = ()


@dataclass(frozen=True)
class Finder:
    """Reads by lookups; safe for many threads."""

    reader: Reader
    readiness: Readiness
    monotonic: Callable[[], float]

    def one(
        self,
        entity: EntityType[Any],
        name: str,
        values: Item,
        visibility: Among | None = None,
        passes: Among = lambda item: True,
    ) -> Entity | None:
        """The live record with a unique value that passes a filter, or None. Raises RecordUnreadable."""
        lookup = self._ready(entity, name)
        if not lookup.unique:
            raise UnknownName(f"{name!r} is not unique", where=name[:80], fix="use find_by")
        key = value_key(entity, lookup, values)
        if key is None:
            return None
        before: Item | None = None
        for _ in range(MAX_FOLLOWED):
            (record,) = self.reader.items([key])
            if record is None or record == before:
                return None
            try:
                (seen,) = self.reader.find_now([(entity, owner_in(entity, record))])
                found = self._owner(entity, seen, visibility, lambda item: _may_have(entity, lookup, item, key), passes)
            except RecordUnreadable as error:
                if visibility is None:
                    raise
                notice(error.record)
                return None
            if isinstance(found, Unreadable):
                raise RecordUnreadable(found)
            if found is not None:
                return found
            before = record
        raise Conflict("the value kept changing hands", where=lookup.property_name, fix="try again")

    def page(
        self,
        entity: EntityType[Any],
        spec: LookupSpec,
        limit: int,
        after: str | None = None,
        *,
        backwards: bool = False,
        visibility: Among | None = None,
        deadline: float | None = None,
    ) -> FoundPage:
        """A page of the live records that are asked for and that the caller may see. After `deadline` (of `monotonic`)
        it ends as soon as something has been read."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_FOUND:
            raise LimitExceeded(f"a page has 1 to {MAX_FOUND} records", where="limit", fix="ask for fewer")
        lookup = self._ready(entity, spec.lookup.name)
        if lookup.unique:
            return self._only(entity, spec, visibility) if after is None else FoundPage(())
        at = listed(entity, spec)
        if at is None:
            return FoundPage(())
        records: list[Entity] = []
        unreadable: list[Unreadable] = []
        places: list[str] = []
        begins: str | None = None
        size, read = limit + 1, 0
        while True:
            owners = self._places_after(at, size, after, backwards=backwards != spec.reverse)
            read += len(owners)
            for owner, record in zip(owners, self._records(entity, spec, at, owners, visibility), strict=True):
                if record is not None:
                    begins = begins or owner
                if isinstance(record, Unreadable):
                    unreadable.append(replace(record, position=len(records)))
                    if len(unreadable) == MAX_UNREADABLE and len(records) <= limit:
                        return FoundPage(tuple(records), owner, True, tuple(unreadable), begins, tuple(places))
                elif record is not None:
                    records.append(record)
                    places.append(owner)
            if len(records) > limit:
                told = tuple(each for each in unreadable if each.position is not None and each.position < limit)
                return FoundPage(tuple(records[:limit]), places[limit - 1], False, told, begins, tuple(places[:limit]))
            if not owners:
                return FoundPage(tuple(records), None, False, tuple(unreadable), begins, tuple(places))
            after = owners[-1]
            if deadline is not None and self.monotonic() >= deadline:
                return FoundPage(tuple(records), after, True, tuple(unreadable), begins or after, tuple(places))
            needed = limit + 1 - len(records)
            skipped = len(places) < read
            size = max(needed, min(2 * size, MAX_BATCH_GET)) if skipped else needed

    def resolve(
        self, entity: EntityType[Any], name: str, many: Sequence[Item], seconds: float | None = None
    ) -> list[ReadResult]:
        """The location of the live record of each of several unique values, read together. A value that moves to
        another record meanwhile may find none. It takes at most `seconds`. Raises BatchIncomplete."""
        lookup = self._ready(entity, name)
        keys = [value_key(entity, lookup, values) for values in many]
        given = [key for key in keys if key is not None]
        lookups = iter(self.reader.items(given, seconds))
        records = [None if key is None else next(lookups) for key in keys]
        found, wanted = [ReadResult()] * len(many), dict[int, Item]()
        for at, record in enumerate(records):
            try:
                wanted |= {} if record is None else {at: owner_in(entity, record)}
            except RecordUnreadable as error:
                found[at] = ReadResult(unreadable=error.record)
        seen = self.reader.find_now([(entity, identity) for identity in wanted.values()], seconds)
        for at, sighting in zip(wanted, seen, strict=True):
            if sighting.found is None or _may_have(entity, lookup, sighting.found.item, keys[at]):
                found[at] = sighting
        return found

    # -- parts

    def _ready(self, entity: EntityType[Any], name: str) -> LookupType:
        lookup = lookup_of(entity, name)
        self.readiness.require(entity, lookup.name)
        return lookup

    def _only(self, entity: EntityType[Any], spec: LookupSpec, visibility: Among | None) -> FoundPage:
        """The page of a unique value."""
        try:
            found = self.one(entity, spec.lookup.name, spec.values, visibility, spec.filter.evaluate)
        except RecordUnreadable as error:
            return FoundPage((), unreadable=(replace(error.record, position=0),))
        return FoundPage(()) if found is None else FoundPage((found,), places=("",))

    def _places_after(self, at: Listed, limit: int, after: str | None, *, backwards: bool) -> list[str]:
        """The texts of lookup records after `after`, or before it. Raises InputError for one that can't be in the
        list."""
        if after is not None and len((at.prefix + after).encode(errors="replace")) > MAX_RANGE_KEY_BYTES:
            raise InputError("it is longer than any id", where="after", fix="give what the page before gave")
        if after is not None and not contains(at.interval, at.prefix + after):
            raise InputError("it is no place of what is asked for", where="after", fix="give what the page before gave")
        query = Query(
            at.hash_name,
            at.hash_value,
            at.range_name,
            at.interval,
            descending=backwards,
            limit=min(limit, MAX_BATCH_GET),
            start_key=None if after is None else at.key(after),
            consistent=True,
        )
        # The key itself contains the owner's id, whatever else is in the lookup record.
        return [item[at.range_name].removeprefix(at.prefix) for item in self.reader.page(query).items]

    def _records(
        self, entity: EntityType[Any], spec: LookupSpec, at: Listed, texts: Sequence[str], visibility: Among | None
    ) -> list[Entity | Unreadable | None]:
        """The records that lookup records with these texts lead to, as in `_owner`."""
        identities: dict[int, Item] = {}
        found: list[Entity | Unreadable | None] = [None] * len(texts)
        for position, text in enumerate(texts):
            try:
                identities[position] = owner_identity(entity, at.owner(text))
            except ValueRefused:
                met = Unreadable(entity.token, {}, "lookup_damaged", collection=entity.collection)
                notice(met)
                found[position] = met if visibility is None else None
        seen = self.reader.find_now([(entity, identity) for identity in identities.values()])
        for position, sighting in zip(identities, seen, strict=True):

            def is_there(item: Item, text: str = texts[position]) -> bool:
                return at.may_have(entity, spec.lookup, item, text)

            found[position] = self._owner(entity, sighting, visibility, is_there, spec.filter.evaluate)
        return found

    @staticmethod
    def _owner(
        entity: EntityType[Any],
        sighting: ReadResult,
        visibility: Among | None,
        has_it: Among,
        passes: Among = lambda item: True,
    ) -> Entity | Unreadable | None:
        """The owner if it is live, has the value, is visible to the caller and passes the filter, else None; an
        unreadable one is reported to callers who may see all records."""
        if sighting.found is not None and not has_it(sighting.found.item):
            return None
        try:
            record = record_among(entity, sighting, visibility)
        except RecordUnreadable as error:
            return error.record
        return record if record is None or sighting.found is None or passes(sighting.found.item) else None


def _may_have(entity: EntityType[Any], lookup: LookupType, item: Item, key: Item | None) -> bool:
    """Whether a stored record has the value of a key, or may have had it, since its present value is invalid."""
    try:
        return key in value_keys(entity, lookup, item)
    except (ShardweaveError, TypeError):
        return True
