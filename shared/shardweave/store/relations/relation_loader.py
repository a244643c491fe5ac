"""Loading the related records of many records together: `expand`.

Guarantees: each related record is read once, however many records refer to it; all relations by identity are read
together, consistently; a record that does not exist or is not live is None (or left out of a list), and so is the
target of a value that no record can have: too long for a key, or invalid for the property. Records related by a lookup
are read consistently too; those by an index are as current as the index. A relation by an index from a record that is
bound to a claim finds only records with the same value of the claim, since the first record in the index may be another
tenant's. Records that the caller may not see are skipped.

Related records are read in the order of the records that refer to them, some hundreds at a time. After the deadline
only the first of these reads is started; the records whose related records were all read by then are returned. With
`Limits` the first step reads a hundred related records, and each later step as many as an answer could contain, by the
sizes read so far; the records before the one that exceeds a limit are returned.

Costs for a page, whatever its length: one BatchGet for each 100 related records and generation; relations by a lookup
one more for each 100 lookup records; relations by an index one query for each value, several at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic.alias_generators import to_camel

from ...errors import (
    AnswerTooLarge,
    ConfigurationError,
    DeadlineTooShort,
    KeyTooLong,
    RecordUnreadable,
    TooManyReads,
    UnknownName,
    Unreadable,
    ValidationFailed,
    ValueRefused,
    use_one_of,
)
from ...query.spec import MAX_TIME_LIMIT_MS, Equal, QuerySpec
from ...schema.entity import Entity
from ...schema.entity_type import EntityType
from ...schema.relations import RelationType
from ...schema.schema import Schema
from ...table.concurrency import MAX_WORKERS, run_concurrently
from ...table.conditions import And, Compare, Condition
from ...table.operations import MAX_BATCH_GET
from ...table.values import Item, Value, item_bytes
from ..attempts import AttemptContext
from ..locations import ReadResult, locations
from ..lookups.lookup_queries import Finder
from ..lookups.lookup_records import identity_lookup_key, value_key
from ..noticed import notice
from ..operations import Related as RelatedRecords
from ..operations import Visible
from ..reader import Reader, record_among

MAX_LINKS_AT_ONCE = MAX_WORKERS * MAX_BATCH_GET
"""The number of links that are followed together: batch reads for every thread."""

MIN_LINKS_AT_ONCE = 10

Related = Entity | Unreadable | tuple[Entity | Unreadable, ...] | None
"""The target of a relation: a record, or the description of an unreadable one."""
_NOBODYS = (KeyTooLong, ValidationFailed, ValueRefused)
"""The errors of a value that no record of the target can have."""

First = Callable[[QuerySpec], Any]
"""A function that returns the first record that matches a query, or None."""


@dataclass(frozen=True)
class _Link:
    """One value of one record's relation, and its target entity. `bound` are properties that the target must have in
    common with the record, for a query of an index."""

    relation: RelationType
    target: EntityType[Any]
    values: tuple[Value, ...]
    bound: tuple[tuple[str, Value], ...] = ()
    visible: Visible = field(default=Visible(), compare=False)

    @property
    def name(self) -> tuple[Any, ...]:
        found = self.relation
        return found.target, found.lookup, found.index, found.on, *self.values, *self.bound

    @property
    def identity(self) -> Item:
        return dict(zip(self.target.identity, self.values, strict=True))

    @property
    def by_lookup(self) -> Item:
        assert self.relation.lookup is not None
        elements = self.target.lookups[self.relation.lookup].elements
        return dict(zip((element.name for element in elements), self.values, strict=True))


@dataclass(frozen=True)
class Limits:
    """The limits of an answer: `reads` of related records in all, and `bytes` for the related records of one record,
    whose sizes `size_of` returns."""

    reads: int
    bytes: int
    size_of: Callable[[Entity], int]


@dataclass
class _Page:
    """The distinct links of a page of records: the links not read yet, and the targets of the others. `visible` says
    which targets the caller may see, by the target's token; `stored` are the bytes that were read for `records` of
    them, `sizes` the size of each in the answer."""

    visible: RelatedRecords
    limits: Limits | None = None
    known: set[tuple[Any, ...]] = field(default_factory=set)
    waiting: list[_Link] = field(default_factory=list)
    found: dict[tuple[Any, ...], Entity | Unreadable | None] = field(default_factory=dict)
    sizes: dict[tuple[Any, ...], int] = field(default_factory=dict)
    stored: int = 0
    records: int = 0

    @property
    def step(self) -> int:
        """How many links to follow next. Properties that are not shown count too, since they need memory."""
        if self.limits is None:
            return MAX_LINKS_AT_ONCE
        if not self.found:
            return MAX_BATCH_GET
        fitting = self.limits.bytes * self.records // self.stored if self.stored else MAX_LINKS_AT_ONCE
        return max(MIN_LINKS_AT_ONCE, min(fitting, MAX_LINKS_AT_ONCE - self.records % MAX_LINKS_AT_ONCE))

    def take(self, link: _Link, seen: ReadResult) -> None:
        """Take over the location in which a link's target was read."""
        record: Entity | Unreadable | None
        try:
            record = record_among(link.target, seen, link.visible.visibility)
        except RecordUnreadable as error:
            notice(error.record)
            record = error.record
        self.keep(link, record, None if seen.found is None else seen.found.item)

    def keep(self, link: _Link, record: Entity | Unreadable | None, item: Item | None) -> None:
        """Record a link's target, and the bytes read for it."""
        self.records += 1
        self.stored += item_bytes(item or {})
        if isinstance(record, Entity) and self.limits is not None:
            try:
                self.sizes[link.name] = self.limits.size_of(record)
            except RecordUnreadable as error:
                notice(error.record)
                record = error.record if link.visible.visibility is None else None
        self.found[link.name] = record


@dataclass(frozen=True)
class Expander:
    """Loads related records; safe for many threads. `first` runs queries, for relations by an index, at most `workers`
    of them at a time."""

    schema: Schema
    reader: Reader
    finder: Finder
    moment_of: Callable[[EntityType[Any]], AttemptContext]
    first: First | None
    monotonic: Callable[[], float]
    workers: int

    def expand(
        self,
        records: Sequence[Entity],
        names: Sequence[str],
        deadline: float | None = None,
        visible: RelatedRecords | None = None,
        limits: Limits | None = None,
    ) -> Iterator[dict[str, Related]]:
        """The related records of each record, by the names of the relations; only for the first records, as far as they
        were read by the deadline (of `monotonic`), and before the first one that exceeds a limit. If the iterator is
        not consumed, nothing more is read; records that are not `visible` don't exist. Raises UnknownName, and
        AnswerTooLarge or TooManyReads if the first record exceeds a limit."""
        return self.expand_each([(record, names) for record in records], deadline, visible, limits)

    def expand_each(
        self,
        records: Sequence[tuple[Entity, Sequence[str]]],
        deadline: float | None = None,
        visible: RelatedRecords | None = None,
        limits: Limits | None = None,
    ) -> Iterator[dict[str, Related]]:
        """Like `expand`, for records of any entities, each with its own relations, which are read together."""
        page, place, coming = _Page(visible or (lambda token: Visible()), limits), 0, iter(records)
        led: list[dict[str, list[_Link]]] = []
        while place < len(records):
            while len(page.waiting) < MAX_LINKS_AT_ONCE and (asked := next(coming, None)) is not None:
                record, names = asked
                entity, before = self.schema[type(record)], len(page.waiting)
                led.append({name: self._links(record, relation_of(entity, name), page) for name in names})
                if limits is not None and len(page.known) > limits.reads:
                    if len(led) == 1:
                        raise _too_many(limits)
                    led.pop()
                    del page.waiting[before:]
                    records, coming = records[: len(led)], iter(())
            if page.found and self._is_over(deadline):
                return
            self._follow(page, deadline)
            while place < len(led) and _is_read(led[place], page):
                entity = self.schema[type(records[place][0])]
                yield {name: self._related(entity, name, links, page) for name, links in led[place].items()}
                place += 1
            if limits is not None and place < len(led) and _bytes_of(led[place], page) > limits.bytes:
                if place:
                    return
                raise _too_long()
            if not page.waiting and place < len(led):
                return

    # -- what leads where

    def _links(self, record: Entity, relation: RelationType, page: _Page) -> list[_Link]:
        entity, target = self.schema[type(record)], self.schema.entity(relation.target)
        item = entity.dump(record)
        given = [item.get(name) for name in relation.by]
        if any(value is None for value in given):
            return []
        many = [tuple(given)]
        if relation.many:
            at = relation.listed
            many = [(*given[:at], value, *given[at + 1 :]) for value in _listed(given[at])]
        bound = () if relation.index is None else _bound(entity, target, item)
        links = []
        for values in many:
            try:
                parsed = self._parsed(relation, target, values)
                link = _Link(relation, target, parsed, bound, page.visible(target.token))
            except _NOBODYS:
                continue
            if link.name not in page.known:
                page.known.add(link.name)
                page.waiting.append(link)
            links.append(link)
        return links

    @staticmethod
    def _parsed(relation: RelationType, target: EntityType[Any], values: tuple[Value, ...]) -> tuple[Value, ...]:
        """The values in the stored form of the target. Raises ValidationFailed, ValueRefused."""
        if relation.index is not None:
            return values
        given = list(target.identifying.values())
        if relation.lookup is not None:
            lookup = target.lookups[relation.lookup]
            given = [lookup.property_in(target.properties, element.name) for element in lookup.elements]
        return tuple(each.parse(value) for each, value in zip(given, values, strict=True))

    def _is_somebodys(self, link: _Link) -> bool:
        """Whether a record of the target, or a lookup record, can have the values in its key."""
        target = link.target
        try:
            if link.relation.lookup is not None:
                value_key(target, target.lookups[link.relation.lookup], link.by_lookup)
            elif target.lookup_placed:
                identity_lookup_key(target, link.identity)
            else:
                moment = self.moment_of(target)
                locations(target, link.identity, moment.shard_map, moment.now_ms)
        except _NOBODYS:
            return False
        return True

    @staticmethod
    def _related(entity: EntityType[Any], name: str, links: Sequence[_Link], page: _Page) -> Related:
        found = [page.found.get(link.name) for link in links]
        if relation_of(entity, name).many:
            return tuple(each for each in found if each is not None)
        return found[0] if found else None

    # -- how it is read

    def _follow(self, page: _Page, deadline: float | None) -> None:
        """Follow some hundreds of the links that are not read yet."""
        step = page.step
        links, page.waiting = page.waiting[:step], page.waiting[step:]
        by_key = [each for each in links if each.relation.index is None]
        page.found |= {each.name: None for each in by_key}
        somebodys = [each for each in by_key if self._is_somebodys(each)]
        self._by_identity([each for each in somebodys if each.relation.lookup is None], page, deadline)
        self._by_lookup([each for each in somebodys if each.relation.lookup is not None], page, deadline)
        self._by_index([each for each in links if each.relation.index is not None], page, deadline)

    def _by_identity(self, links: Sequence[_Link], page: _Page, deadline: float | None) -> None:
        wanted = [(each.target, each.identity) for each in links]
        for link, seen in zip(links, self.reader.find_now(wanted, self._seconds_to(deadline)), strict=True):
            page.take(link, seen)

    def _by_lookup(self, links: Sequence[_Link], page: _Page, deadline: float | None) -> None:
        groups: dict[tuple[str, str], list[_Link]] = {}
        for link in links:
            assert link.relation.lookup is not None
            groups.setdefault((link.target.token, link.relation.lookup), []).append(link)
        for (_, lookup), grouped in groups.items():
            values = [link.by_lookup for link in grouped]
            sightings = self.finder.resolve(grouped[0].target, lookup, values, self._seconds_to(deadline))
            for link, seen in zip(grouped, sightings, strict=True):
                page.take(link, seen)

    def _by_index(self, links: Sequence[_Link], page: _Page, deadline: float | None) -> None:
        if links and self.first is None:
            raise ConfigurationError("no queries are given to the store", where="first", fix="give Store(first=...)")

        def follow(link: _Link) -> tuple[bool, Any]:
            if not self._is_over(deadline):
                with suppress(DeadlineTooShort):
                    return True, self._first_of(link, deadline)
            return False, None

        for link, (is_read, record) in zip(links, run_concurrently(follow, links, self.workers), strict=True):
            if is_read:
                page.keep(link, record, link.target.dump(record) if isinstance(record, Entity) else None)

    def _first_of(self, link: _Link, deadline: float | None) -> Any:
        assert self.first is not None
        relation = link.relation
        assert relation.on is not None
        view = link.target.view(relation.index)
        hashed = {element.name for element in view.hash_elements}
        asked = {
            name: Equal(link.target.properties[name].python(value)) for name, value in link.bound if name in hashed
        }
        seen = [(name, value) for name, value in link.bound if view.projected is None or name in view.projected]
        others: list[Condition] = [Compare(name, "=", value) for name, value in seen if name not in hashed]
        owned = link.visible.owned
        if owned is not None and (view.projected is None or set(owned.attributes()) <= set(view.projected)):
            others.append(owned)
        spec = QuerySpec(
            link.target.token,
            {**asked, relation.on: Equal(link.values[0])},
            index=relation.index,
            filter=And(tuple(others)) if others else None,
            hydrate=view.projected is not None,
            visibility=link.visible.visibility,
            tells_unreadable=link.visible.visibility is None,
            time_limit_ms=None if deadline is None else self._milliseconds_to(deadline),
        )
        try:
            return self.first(spec)
        except RecordUnreadable as error:
            notice(error.record)
            return error.record
        except _NOBODYS:
            return None

    # -- the time that is left

    def _is_over(self, deadline: float | None) -> bool:
        return deadline is not None and self.monotonic() >= deadline

    def _seconds_to(self, deadline: float | None) -> float | None:
        return None if deadline is None else max(0.0, deadline - self.monotonic())

    def _milliseconds_to(self, deadline: float) -> int:
        return min(MAX_TIME_LIMIT_MS, max(1, round(1000 * (deadline - self.monotonic()))))


def _is_read(led: Mapping[str, Sequence[_Link]], page: _Page) -> bool:
    return all(link.name in page.found for links in led.values() for link in links)


def _bytes_of(led: Mapping[str, Sequence[_Link]], page: _Page) -> int:
    """The size of one record's related records in the answer, as far as they were read."""
    return sum(page.sizes.get(link.name, 0) for links in led.values() for link in links)


def _too_many(limits: Limits) -> TooManyReads:
    message = f"a record leads to more than the {limits.reads:,} related records that one request may read"
    return TooManyReads(message, where="expand", fix="expand fewer relations, or read what it leads to by key")


def _too_long() -> AnswerTooLarge:
    fix = "expand fewer relations, or read what it leads to by key, some at a time"
    return AnswerTooLarge("one record with its related records fills more than an answer", where="expand", fix=fix)


def _bound(entity: EntityType[Any], target: EntityType[Any], item: Item) -> tuple[tuple[str, Value], ...]:
    """The properties of a target that are bound to the same claims as the record, with the record's values."""
    own = {claim: name for name, claim in entity.claims.items()}
    return tuple((name, item[own[claim]]) for name, claim in sorted(target.claims.items()) if claim in own)


def _listed(values: Value) -> list[Value]:
    return sorted(values) if isinstance(values, Set) else [value for value in values if value is not None]


def relation_of(entity: EntityType[Any], name: str) -> RelationType:
    """A relation by its name. Raises UnknownName that lists the relations."""
    found = entity.relations.get(name) or entity.relations.get(to_camel(name))
    if found is None:
        fix = use_one_of(entity.relations, what="relation")
        if name in entity.related_lists or to_camel(name) in entity.related_lists:
            fix = "read this list in pages, with related"
        raise UnknownName(f"the entity {entity.token!r} has no relation {name!r}", where=name[:80], fix=fix)
    return found
