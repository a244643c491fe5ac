"""An entity's queries over HTTP, in their JSON form (`wire.query_json`).

    POST  /v1/{collection}/query    a page: branches, filters, chosen properties, everything that lists can't express
    POST  /v1/{collection}/count    the number of records, on all pages
    POST  /v1/{collection}/explain  the plan and the reasons; with `run`, also the cost

All three take the same query. `stats` adds the cost to the answer.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from ...access.authorization import Authorization
from ...errors import (
    CursorExpired,
    CursorMismatch,
    DeadlineTooShort,
    FieldFault,
    InvalidCursor,
    LaneFailed,
    LimitExceeded,
    ShardweaveError,
    TimeLimitTooShort,
    TooManyLaggingLanes,
    TooManyReads,
    UnsupportedQuery,
    ValidationFailed,
)
from ...query.spec import QuerySpec
from ...values.json_types import json_bytes
from ...wire.query_json import spec_from_json
from ...wire.record_models import RecordModels
from ..expansion import Expansion
from ..http import Response
from ..operation import Answer, Body, Call, Operation
from ..pages import Pages, limit_named, token_named

if TYPE_CHECKING:
    from pydantic import BaseModel

    from ...query.spec import QueryStats
    from ..query_bodies import QueryBodies

QUERY_ERRORS: tuple[type[ShardweaveError], ...] = (
    UnsupportedQuery,
    LimitExceeded,
    InvalidCursor,
    CursorMismatch,
    CursorExpired,
    LaneFailed,
    DeadlineTooShort,
    TimeLimitTooShort,
    TooManyLaggingLanes,
)


class Queries:
    """The query operations of one entity."""

    def __init__(self, models: RecordModels, pages: Pages, access: Authorization, expansion: Expansion) -> None:
        self._entity = access.visible(models.entity)
        self._expansion = expansion
        self._pages = pages
        self._models = models

    def query(self, call: Call) -> Response:
        expand = self._expansion.of_body(call.document)
        found = self._pages.run(self._spec(call), call, expand, operation="query", stats=_says(call, "stats"))
        page = found.page
        more: dict[str, Any] = {"failed": page.failed, "late": page.late}
        if _says(call, "stats"):
            more["stats"] = _costs(page.stats)
        return self._pages.answer(found, more)

    def count(self, call: Call) -> Response:
        given = self._spec(call)
        queries, spec = self._pages.asked(given, call, "count", stats=_says(call, "stats"))
        with limit_named(given, call):
            answer = queries.count(spec)
        found: dict[str, Any] = {"count": answer.count}
        if _says(call, "stats"):
            found["stats"] = _costs(answer.stats)
        return Response.json(200, json_bytes(found))

    def explain(self, call: Call) -> Response:
        from ...wire.query_reports import explained

        run = _says(call, "run")
        given = self._spec(call, "run")
        queries, spec = self._pages.asked(given, call, "explain", run=run)
        with token_named(call.document), limit_named(given, call):
            return Response.json(200, explained(queries.explain(spec, run=run)))

    def operations(self, path: str) -> tuple[Operation, ...]:
        """The operations, below the path of the collection."""
        name, collection = self._models.name, self._entity.collection
        shared: dict[str, Any] = {"method": "POST", "tag": collection, "errors": QUERY_ERRORS, "audited": False}
        return (
            Operation(
                path=f"{path}/query",
                name=f"query{name}",
                summary=f"A page of {collection}, of any query",
                description="Several indexes at once, filters, chosen properties. The next page is asked for with the "
                "same body and its token, and so is the page before; only `limit`, `timeLimitMs`, `budget`, "
                "`onShardError` and what is shown (`properties`, `hydrate`, `stats`) may change.",
                run=self.query,
                answer=Answer(200, "The page.", self._page_model),
                body=Body(lambda: self._bodies.query),
                **{**shared, "errors": (*QUERY_ERRORS, *self._expansion.errors)},
            ),
            Operation(
                path=f"{path}/count",
                name=f"count{name}",
                summary=f"How many {collection} answer a query",
                description="Exact, on all pages: `limit`, tokens, `budget`, `onShardError` and what would be shown "
                "do not matter, but numbers have to be in their limits. `timeLimitMs` does: no part is counted.",
                run=self.count,
                answer=Answer(200, "The number.", _counted),
                body=Body(lambda: self._bodies.query),
                **{**shared, "errors": (*QUERY_ERRORS, TooManyReads)},
            ),
            Operation(
                path=f"{path}/explain",
                name=f"explain{name}",
                summary="What a query does, and why",
                description="Nothing is read, unless `run` is true: then the page is read, and what that cost is said.",
                run=self.explain,
                answer=Answer(200, "The plan.", _explained),
                body=Body(lambda: self._bodies.explain),
                **shared,
            ),
        )

    @cached_property
    def _bodies(self) -> QueryBodies:
        from ..query_bodies import QueryBodies  # for the OpenAPI document alone

        return QueryBodies(self._entity, self._expansion.member)

    def _page_model(self) -> type[BaseModel]:
        from ...wire.query_reports import page_model

        return page_model(self._models)

    def _spec(self, call: Call, *beside: str) -> QuerySpec:
        """The query in a body, which may also have `stats` and the members in `beside`."""
        json_bytes(call.document)  # refuses text that has no UTF-8, which no key has either
        words = {"stats", *beside}
        for word in words:
            _says(call, word)
        self._expansion.of_body(call.document)
        words.update(self._expansion.member)
        query = {name: value for name, value in call.document.items() if name not in words}
        try:
            return spec_from_json(self._entity, query, beside=sorted(words))
        except ValidationFailed as error:
            error.where = error.where or "body"
            raise


def _says(call: Call, word: str) -> bool:
    said = call.document.get(word)
    if said is not None and not isinstance(said, bool):
        raise ValidationFailed([FieldFault((word,), "must be true or false", "bool_type")], where="body")
    return bool(said)


# -- the models of answers, which most requests need none of: they are imported when one does


def _costs(stats: QueryStats) -> dict[str, Any]:
    from ...wire.query_reports import costs

    return costs(stats)


def _counted() -> type[BaseModel]:
    from ...wire.query_reports import Counted

    return Counted


def _explained() -> type[BaseModel]:
    from ...wire.query_reports import Explained

    return Explained
