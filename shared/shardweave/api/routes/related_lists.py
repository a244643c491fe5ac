"""Lists of related records: `has_many(..., via=...)`.

    GET  /v1/{collection}.{relation}/{key}    a page of the records that lead to the record of this key

Like lists by a lookup they are consistent, in the order of the records' ids, with the same kind of tokens. The caller
must be allowed to `get` the record itself, and the list has the records that the caller may `list`. No collection's
name contains the dot, so these paths never collide with those of a collection.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from ...access.authorization import ACCESS_ERRORS, Authorization
from ...database.relations import values_of
from ...errors import NotFound
from ...query.spec import Page
from ...schema.related_lists import RelatedList
from ...store import Store
from ...store.outcomes import not_found
from ...wire.paging import PAGING
from ...wire.record_keys import ROOT
from ..http import Response
from ..operation import Answer, Call, Operation
from ..pages import AnsweredPage
from .queries import QUERY_ERRORS
from .records import Collection

_PAGING = ("limit", "nextToken", "prevToken")


@dataclass(frozen=True)
class RelatedLists:
    """The lists of related records of all entities; `collections` are those of a service, by token."""

    collections: Mapping[str, Collection]
    store: Store
    access: Authorization

    def operations(self) -> tuple[Operation, ...]:
        """An operation for each list that uses no private property."""
        found: Sequence[Operation] = [
            self._operation(source, related)
            for source in self.collections.values()
            for related in source.entity.related_lists.values()
            if not related.private
        ]
        refusals = ACCESS_ERRORS if self.access.restricts else ()
        return tuple(replace(each, errors=(*each.errors, *refusals)) for each in found)

    def _operation(self, source: Collection, related: RelatedList) -> Operation:
        target, models = self.collections[related.target], source.models
        name = related.name[:1].upper() + related.name[1:]
        begin, listed = f"{ROOT}/{source.entity.collection}", f"{ROOT}/{source.entity.collection}.{related.name}"
        keys = models.keys
        short = keys.short_template.replace(begin, listed, 1) if keys.claims else ""
        paging = [each for each in PAGING if each.name in _PAGING]
        return Operation(
            "GET",
            keys.template.replace(begin, listed, 1),
            f"list{models.name}{name}",
            f"A page of the {target.entity.collection} of one {source.entity.token}",
            self._run(source, target, related),
            Answer(200, "The page, in the order of the ids.", lambda: target.models.page),
            tag=source.entity.collection,
            path_parameters=keys.parameters,
            short_path=short,
            claims=keys.claims,
            query_parameters=(*paging, *target.expansion.parameters),
            errors=(NotFound, *QUERY_ERRORS, *target.expansion.errors),
        )

    def _run(self, source: Collection, target: Collection, related: RelatedList) -> Callable[[Call], Response]:
        def run(call: Call) -> Response:
            expand = target.expansion.of_query(call.query)
            own, grant = source.grant("get", call), target.grant("list", call)
            key = source.models.keys.of_path(call.path)
            record = self.store.get(source.entity.model, key, visibility=own.visibility)
            if record is None:
                raise not_found(source.entity)
            values = values_of(source.entity, related, record)
            if values is None:
                return target.pages.listed(AnsweredPage(Page((), None), fell_short=False))
            found = {name: grant.within(name, value) for name, value in values.items()}
            lookup = target.entity.lookups[related.lookup]
            return target.pages.listed(target.lookup_list.page(call, lookup, found, expand, grant))

        return run
