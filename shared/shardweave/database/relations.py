"""Following relations: `expand`, and the pages of `has_many(..., via=...)`.

Costs: those of the store's `expand`; a page those of `find_by`, a query and a batch read for each 100 records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, overload

from pydantic.alias_generators import to_camel

from ..errors import RecordUnreadable, UnknownName, Unreadable, use_one_of
from ..query.runner import QueryRunner
from ..query.spec import DEFAULT_LIMIT, Page
from ..schema.declarations import BelongsTo, HasMany, T
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..schema.nested_elements import reader_of
from ..schema.property import properties_of
from ..schema.related_lists import RelatedList
from ..store import Store
from ..store.outcomes import SECONDS, Deletion
from ..store.relations.relation_loader import Related
from .arguments import check_expanded, check_seconds
from .parts import found_page

P = ParamSpec("P")
R = TypeVar("R")


def related_list_of(entity: EntityType[Any], name: str) -> RelatedList:
    """A list of related records by its stored or Python name. Raises UnknownName that lists those that exist."""
    found = entity.related_lists.get(name) or entity.related_lists.get(to_camel(name))
    if found is None:
        message = f"the entity {entity.token!r} has no list of related records {name[:80]!r}"
        fix = use_one_of(entity.related_lists, what="has_many(..., via=...)")
        if name in entity.relations or to_camel(name) in entity.relations:
            fix = "read this relation with expand"
        raise UnknownName(message, where="name", fix=fix)
    return found


def values_of(entity: EntityType[Any], related: RelatedList, record: Entity) -> dict[str, Any] | None:
    """The values of the lookup's properties for a record's list, by stored name; None if one is missing, so that the
    list is empty."""
    model: type[Entity] = entity.model
    readers = {
        each: reader_of(properties_of(model), entity.condition_property(each).name) for each in related.values.values()
    }
    found = {name: readers[each](record) for name, each in related.values.items()}
    return None if None in found.values() else found


class Relations:
    """The methods of databases that follow relations. A relation is given by its name, or as it stands in the class
    (`Issue.project`), so that type checkers know what comes."""

    if TYPE_CHECKING:

        @property
        def store(self) -> Store: ...

        @property
        def queries(self) -> QueryRunner: ...

    @overload
    def expand(self, records: Sequence[Entity], relation: BelongsTo[T], /) -> list[T | None]: ...

    @overload
    def expand(self, records: Sequence[Entity], relation: HasMany[T], /) -> list[tuple[T, ...]]: ...

    @overload
    def expand(self, records: Sequence[Entity], /, *names: str) -> list[dict[str, Related]]: ...

    def expand(self, records: Sequence[Entity], /, *names: Any) -> list[Any]:
        """The related records of each record, by the relations' names: a record or None, or a tuple. All of a page are
        read together, each once. With one relation of the class, its records alone: raises RecordUnreadable for one
        that can't be read."""
        if len(names) == 1 and isinstance(names[0], (BelongsTo, HasMany)):
            return [_readable(each[name]) for name, each in _named(names[0], records, self._expanded)]
        check_expanded(records, names)
        return self._expanded(records, names)

    @overload
    def related(
        self,
        record: Entity,
        relation: HasMany[T],
        /,
        *,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[T]: ...

    @overload
    def related(
        self,
        record: Entity,
        name: str,
        /,
        *,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[Any]: ...

    def related(
        self,
        record: Entity,
        name: Any,
        /,
        *,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[Any]:
        """A page of the records of a `has_many` with `via`: consistent, in the order of their ids. Raises UnknownName,
        LookupNotReady, LimitExceeded, InvalidCursor and other InputErrors."""
        found = name_in(type(record), name) if isinstance(name, (BelongsTo, HasMany)) else name
        check_expanded([record], [found])
        return self._listed(record, found, {"limit": limit, "next_token": next_token, "prev_token": prev_token})

    def deletions(self) -> list[Deletion]:
        """The deletions of records with many children that were begun and have not ended: which record, since when, how
        many records belonged to it then, and how many are left."""
        return list(self.store.deletions())

    def continue_deletions(self, *, seconds: float = SECONDS) -> int:
        """Continue such deletions that no process works on, for at most so many seconds, and return how many were
        continued. A deployed service and the local server do it by themselves."""
        check_seconds(seconds)
        return self.store.continue_deletions(seconds=seconds)

    def _expanded(self, records: Sequence[Entity], names: Sequence[str]) -> list[dict[str, Related]]:
        return self.store.expand(records, *names)

    def _listed(self, record: Entity, name: str, page: Mapping[str, Any]) -> Page[Any]:
        return related_page(self.store, self.queries, record, name, page)


class AsyncRelations:
    """The methods of `Relations`, for an event loop."""

    if TYPE_CHECKING:

        @property
        def _relations(self) -> Relations: ...

        async def _run(self, call: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R: ...

    @overload
    async def expand(self, records: Sequence[Entity], relation: BelongsTo[T], /) -> list[T | None]: ...

    @overload
    async def expand(self, records: Sequence[Entity], relation: HasMany[T], /) -> list[tuple[T, ...]]: ...

    @overload
    async def expand(self, records: Sequence[Entity], /, *names: str) -> list[dict[str, Related]]: ...

    async def expand(self, records: Sequence[Entity], /, *names: Any) -> list[Any]:
        """The related records of each record, by the relations' names, or those of one relation of the class."""
        return await self._run(partial(self._relations.expand, records, *names))

    async def deletions(self) -> list[Deletion]:
        """The deletions of records with many children that were begun and have not ended."""
        return await self._run(self._relations.deletions)

    async def continue_deletions(self, *, seconds: float = SECONDS) -> int:
        """Continue such deletions that no process works on, and return how many were continued."""
        return await self._run(partial(self._relations.continue_deletions, seconds=seconds))

    @overload
    async def related(
        self,
        record: Entity,
        relation: HasMany[T],
        /,
        *,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[T]: ...

    @overload
    async def related(
        self,
        record: Entity,
        name: str,
        /,
        *,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[Any]: ...

    async def related(
        self,
        record: Entity,
        name: Any,
        /,
        *,
        limit: int = DEFAULT_LIMIT,
        next_token: str | None = None,
        prev_token: str | None = None,
    ) -> Page[Any]:
        """A page of the records of a `has_many` with `via`."""
        page: dict[str, Any] = {"limit": limit, "next_token": next_token, "prev_token": prev_token}
        return await self._run(partial(self._relations.related, record, name, **page))


def name_in(model: type[Entity], relation: BelongsTo[Any] | HasMany[Any]) -> str:
    """The name that a relation has in a class. Raises UnknownName."""
    for name, each in model.declared().items():
        if each is relation:
            return name
    raise UnknownName(f"the relation is not one of {model.__name__}", where="relation", fix="give one of its class")


def _named(
    relation: BelongsTo[Any] | HasMany[Any],
    records: Sequence[Entity],
    expanded: Callable[[Sequence[Entity], Sequence[str]], list[dict[str, Related]]],
) -> Iterator[tuple[str, dict[str, Related]]]:
    """The related records of each record by one relation, with its name in the record's class."""
    check_expanded(records, [])
    names = {model: name_in(model, relation) for model in dict.fromkeys(map(type, records))}
    name = next(iter(names.values()), "")
    for record, each in zip(records, expanded(records, [name]), strict=True):
        yield names[type(record)], each


def _readable(related: Related) -> Entity | tuple[Entity, ...] | None:
    """Related records that can all be read. Raises RecordUnreadable."""
    found: list[Entity] = []
    for each in related if isinstance(related, tuple) else (related,):
        if isinstance(each, Unreadable):
            raise RecordUnreadable(each)
        found += [] if each is None else [each]
    if isinstance(related, tuple):
        return tuple(found)
    return found[0] if found else None


def related_page(
    store: Store, queries: QueryRunner, record: Entity, name: str, page: Mapping[str, Any], **seen: Any
) -> Page[Any]:
    """A page of a list of related records; `seen` says which records the caller may see, as for `found_page`."""
    entity = store.schema[type(record)]
    related = related_list_of(entity, name)
    target = store.schema.entity(related.target)
    values = values_of(entity, related, record)
    if values is None:
        return Page((), None)
    value = values.pop(target.lookups[related.lookup].property_name)
    return found_page(store, queries, target, related.lookup, value, values, **page, **seen)
