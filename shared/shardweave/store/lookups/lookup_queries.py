"""Finding records by a value, with lookup records.

Guarantees: reads are consistent; a returned record is live and had the value at some moment during the call. A lookup
record alone is never trusted: the record that it leads to is read, and its value compared. If they differ, since the
value has just moved to another record or the owner has expired, the lookup record is read again.

Costs: `get_by` two reads (three if the identity has its own lookup); `find_by` a query and a batch read for each 100
records, and one more record than the page to see whether another page follows. Records that the caller may not see are
read and skipped, at first as many at a time as the page needs, then twice as many, up to 100.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
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
    use_one_of,
)
from ...query.intervals import prefix_text
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

MAX_FOLLOWED = 8
MAX_FOUND = 500


@dataclass(frozen=True)
class FoundPage:
    """Records in the order in which they were read, that of their ids or its reverse. `after` requests the next page,
    None if nothing follows. `cut`: the deadline, or the maximum number of unreadable records, ended the page, so it may
    have fewer records than the limit. `unreadable` are these, each with the number of items before it. `begins`
    requests the page before, read in the other direction: it is the first id that was returned or reported; for an
    empty page that was cut it is the same as `after`; None means the end that the page reached.

    `after` and `begins` must not be passed on to clients unencrypted: they are plain ids that never expire, and after a
    cut page `after` may be the id of a record that the caller may not see. Lists over HTTP encrypt them."""

    items: tuple[Any, ...]
    after: str | None = None
    cut: bool = False
    unreadable: tuple[Unreadable, ...] = ()
    begins: str | None = None


@dataclass(frozen=True)
class Finder:
    """Reads by lookups; safe for many threads."""

    reader: Reader
    readiness: Readiness
    monotonic: Callable[[], float]

    def one(self, entity: EntityType[Any], name: str, values: Item, visibility: Among | None = None) -> Entity | None:
        """The live record with a unique value, or None. Raises RecordUnreadable."""
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
                (found,) = self._owners(entity, lookup, key, [owner_in(entity, record)], visibility)
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
        name: str,
        values: Item,
        limit: int,
        after: str | None,
        *,
        backwards: bool = False,
        visibility: Among | None = None,
        deadline: float | None = None,
    ) -> FoundPage:
        """A page of the live records with a value that the caller may see. After `deadline` (of `monotonic`) it ends as
        soon as something has been read."""
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MAX_FOUND:
            raise LimitExceeded(f"a page has 1 to {MAX_FOUND} records", where="limit", fix="ask for fewer")
        lookup = self._ready(entity, name)
        key = value_key(entity, lookup, values)
        if key is None:
            return FoundPage(())
        if lookup.unique:
            try:
                found = self.one(entity, name, values, visibility)
            except RecordUnreadable as error:
                return FoundPage((), unreadable=(replace(error.record, position=0),) if after is None else ())
            return FoundPage(() if found is None or after is not None else (found,))
        records: list[Entity] = []
        unreadable: list[Unreadable] = []
        places: list[str] = []
        begins: str | None = None
        size = limit + 1
        while True:
            owners = self._owner_page(entity, key, size, after, backwards=backwards)
            for owner, record in zip(owners, self._of_texts(entity, lookup, key, owners, visibility), strict=True):
                if record is not None:
                    begins = begins or owner
                if isinstance(record, Unreadable):
                    unreadable.append(replace(record, position=len(records)))
                    if len(unreadable) == MAX_UNREADABLE and len(records) <= limit:
                        return FoundPage(tuple(records), owner, cut=True, unreadable=tuple(unreadable), begins=begins)
                elif record is not None:
                    records.append(record)
                    places.append(owner)
            if len(records) > limit:
                told = tuple(each for each in unreadable if each.position is not None and each.position < limit)
                return FoundPage(tuple(records[:limit]), places[limit - 1], unreadable=told, begins=begins)
            if not owners:
                return FoundPage(tuple(records), unreadable=tuple(unreadable), begins=begins)
            after = owners[-1]
            if deadline is not None and self.monotonic() >= deadline:
                return FoundPage(tuple(records), after, True, tuple(unreadable), begins or after)
            size = max(limit + 1 - len(records), min(2 * size, MAX_BATCH_GET))

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

    def _owner_page(
        self, entity: EntityType[Any], key: Item, limit: int, after: str | None, *, backwards: bool
    ) -> list[str]:
        """The ids of owners after `after`, or before it. Raises InputError for a text that can't be a record's id."""
        design = entity.keys.design
        hash_value, prefix = key[design.hash_name], key[design.range_name] + design.key_format.element_delimiter
        interval = prefix_text(prefix)
        assert interval is not None, "the value's own text is within the limit"
        if after is not None and len((prefix + after).encode(errors="replace")) > MAX_RANGE_KEY_BYTES:
            raise InputError("it is longer than any id", where="after", fix="give what the page before gave")
        start = None if after is None else {design.hash_name: hash_value, design.range_name: prefix + after}
        query = Query(
            design.hash_name,
            hash_value,
            design.range_name,
            interval,
            descending=backwards,
            limit=min(limit, MAX_BATCH_GET),
            start_key=start,
            consistent=True,
        )
        # The key itself contains the owner's id, whatever else is in the lookup record.
        return [item[design.range_name].removeprefix(prefix) for item in self.reader.page(query).items]

    def _of_texts(
        self, entity: EntityType[Any], lookup: LookupType, key: Item, owners: Sequence[str], visibility: Among | None
    ) -> list[Entity | Unreadable | None]:
        """Like `_owners`, for ids in the form of lookup records' keys."""
        identities: dict[int, Item] = {}
        damaged: list[Entity | Unreadable | None] = [None] * len(owners)
        for at, text in enumerate(owners):
            try:
                identities[at] = owner_identity(entity, text)
            except ValueRefused:
                met = Unreadable(entity.token, {}, "lookup_damaged", collection=entity.collection)
                notice(met)
                damaged[at] = met if visibility is None else None
        found = dict(
            zip(identities, self._owners(entity, lookup, key, list(identities.values()), visibility), strict=True)
        )
        return [found.get(at, each) for at, each in enumerate(damaged)]

    def _owners(
        self, entity: EntityType[Any], lookup: LookupType, key: Item, owners: Sequence[Item], visibility: Among | None
    ) -> list[Entity | Unreadable | None]:
        """The owners that are live, have the value and are visible to the caller, None for the others; unreadable
        owners are reported to callers who may see all records."""
        found: list[Entity | Unreadable | None] = []
        for sighting in self.reader.find_now([(entity, identity) for identity in owners]):
            has_it = sighting.found is None or _may_have(entity, lookup, sighting.found.item, key)
            try:
                found.append(record_among(entity, sighting, visibility) if has_it else None)
            except RecordUnreadable as error:
                found.append(error.record)
        return found


def _may_have(entity: EntityType[Any], lookup: LookupType, item: Item, key: Item | None) -> bool:
    """Whether a stored record has the value of a key, or may have had it, since its present value is invalid."""
    try:
        return key in value_keys(entity, lookup, item)
    except (ShardweaveError, TypeError):
        return True


def lookup_of(entity: EntityType[Any], name: str, beside: Sequence[str] = ()) -> LookupType:
    """A lookup by its own name or the name of its property. Raises UnknownName that lists the lookups, and the
    relations `beside` them."""
    stored = entity.stored_name(name)
    found = entity.lookups.get(name) or next(
        (each for each in entity.lookups.values() if each.property_name == stored), None
    )
    if found is None:
        what = "lookup or enforced relation" if beside else "lookup"
        message = f"the entity {entity.token!r} has no {what} {name!r}"
        raise UnknownName(message, where=name[:80], fix=use_one_of((*entity.lookups, *beside), what=what))
    return found


def lookup_values(entity: EntityType[Any], name: str, value: Any, within: Mapping[str, Any]) -> Item:
    """The values of a lookup's properties, in stored form. Raises UnknownName, ValidationFailed."""
    lookup = lookup_of(entity, name)
    for one in within:
        entity.property_of(one)
    given = entity.by_stored_name(within)
    names = {element.name for element in lookup.within}
    if given.keys() != names:
        listed = ", ".join(sorted(names)) or "nothing"
        raise UnknownName(f"{lookup.name!r} is asked within {listed}", where="within", fix=f"give {listed}")
    given[lookup.property_name] = value
    return {one: lookup.property_in(entity.properties, one).parse(each) for one, each in given.items()}
