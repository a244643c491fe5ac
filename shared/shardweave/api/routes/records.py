"""One entity over HTTP: its collection's operations.

    POST    /v1/{collection}         create a record (201, with its path)
    GET     /v1/{collection}         a page of records
    GET     /v1/{collection}/{key}   one record
    PATCH   /v1/{collection}/{key}   a merge patch: null removes a property; with `upsert` it may create the record
    PUT     /v1/{collection}/{key}   a whole record: 201 if there was none, else 200; with `returning=old` the replaced
                                     record
    DELETE  /v1/{collection}/{key}   204, or 404 if there is none; with `returning=old` 200 and the record

and its queries (see `queries`) and batches (see `batches`).

`{key}` is the unique property as `paths` writes it. An entity that several properties identify has a part for each, an
entity with a single record has its token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from ...access.authorization import ACCESS_ERRORS, Authorization
from ...access.grant import Grant, both_see
from ...errors import (
    AlreadyExists,
    Conflict,
    DeleteIncomplete,
    ImmutableProperty,
    InputError,
    NotFound,
    PreconditionFailed,
    RecordTooLarge,
    UnsupportedQuery,
    ValueRefused,
)
from ...keys.shard_key import ExternalKeys
from ...query.runner import QueryRunner
from ...schema.entity import Entity
from ...schema.entity_type import EntityType
from ...schema.identities import given_identity, with_identity
from ...store import Create, Delete, Put, Store, Update
from ...store.operations import Upsert, Written
from ...store.outcomes import check_number_in, not_found
from ...wire.list_filters import FILTER
from ...wire.list_parameters import ListQuery, index_table
from ...wire.paging import flag
from ...wire.parameter import Parameter
from ...wire.record_keys import ROOT, RecordKeys
from ...wire.record_models import RecordModels
from ..child_trail import ChildTrail
from ..expansion import MAX_RELATED, Expansion
from ..http import JSON, Response
from ..idempotency import ONCE, ONCE_ERRORS, carried_out
from ..operation import Answer, Body, Call, Operation
from ..pages import Pages, carried, deadline_in
from ..patches import changes_of, start_of
from ..preconditions import (
    CONDITIONS_OF_CHANGING,
    CONDITIONS_OF_PUTTING,
    CONDITIONS_OF_READING,
    IF_MATCH,
    IF_NONE_MATCH,
    entity_tag,
    required,
    tags_of,
    unmet,
)
from .additions import Additions
from .batches import Batches
from .lookups import LOOKUP, LookupList
from .queries import QUERY_ERRORS, Queries

MERGE_PATCH = "application/merge-patch+json"

TAG = {"ETag": "The record's revision."}
PLACE = {"Location": "The record's path.", **TAG}
UPSERT, RETURNING = "upsert", "returning"
UPSERTS = "True to make the record where there is none, of its key and the patch (201)."
REPLACED_OLD = "`old` for an answer with the record that was replaced; a new record is answered itself (201)."
RETURNS_OLD = "`old` for an answer with the record that was removed."
CHANGE_ERRORS = (Conflict, PreconditionFailed, *ONCE_ERRORS)


class Collection:
    """The operations of one entity on a store and a query runner; `models` are the JSON forms of its records.
    `max_related` is the maximum number of related records that one request may read."""

    def __init__(
        self,
        entity: EntityType[Any],
        store: Store,
        queries: QueryRunner,
        external: ExternalKeys | None = None,
        access: Authorization | None = None,
        *,
        max_related: int = MAX_RELATED,
    ) -> None:
        self._access = access or Authorization(store.schema.entities)
        self._visible = self._access.visible(entity)
        self.entity = entity
        self._store = store
        self.models = RecordModels(entity, external)
        self._keys = self.models.keys
        self.expansion = Expansion(self.models, store, self._access, max_related=max_related)
        self.pages = Pages(self.models, queries, self._access, self.expansion)
        self._queries = Queries(self.models, self.pages, self._access, self.expansion)
        self._batches = Batches(self.models, store, self._access, self.expansion)
        self.additions = Additions(self.models, store, self._access)
        self._trail = ChildTrail(external)
        self._list_query = ListQuery(self._visible)
        lists = self._list_query
        self.lookup_list = LookupList(self._visible, store, queries.cursors, queries.now_ms, self.pages, lists)

    # -- requests

    def create(self, call: Call) -> Response:
        grant = self.grant("create", call)
        values = grant.made(self.models.written(call.document))
        return self._write(call, Create(values, self.entity.model, grant.visibility, grant.related))

    def list(self, call: Call) -> Response:
        expand = self.expansion.of_query(call.query)
        if LOOKUP in call.query:
            return self.pages.listed(self.lookup_list.run(call, expand, self.grant("list", call)))
        if self.entity.lookups:
            self.lookup_list.refuse_alone(call.query)
        spec = self._list_query.spec(call.query)
        try:
            return self.pages.listed(self.pages.run(spec, call, expand, operation="list"))
        except UnsupportedQuery as error:
            if spec.conditions and error.where in ("conditions", "index"):
                error.fix += f"; or test what is left in a filter: {self._filters_of([*spec.conditions][-1])}"
            raise

    def _filters_of(self, name: str) -> str:
        """A hint how lists can filter by a property that no index has, or that this index does not have."""
        by_post = f"`filter` of POST {ROOT}/{self.entity.collection}/query"
        parameter = f"{FILTER}.{name}"
        known = any(each.name == parameter for each in self._list_query.parameters)
        family = next((each for each in self._list_query.families if each.prefix == f"{parameter}."), None)
        if family is not None:
            return f"{family.shown}=, or {by_post}"
        return f"{parameter}=, or {by_post}" if known else by_post

    def _of_filters(self, path: str) -> str:
        """The description of filters in lists: one plain value of a property each."""
        named = (
            *(each.name for each in self._list_query.parameters),
            *(each.shown for each in self._list_query.families),
        )
        known = [name for name in named if name.startswith(f"{FILTER}.")]
        by_post = f"`{FILTER}` of POST {path}/query, which has all tests"
        return f"use some of {', '.join(known)}, or {by_post}" if known else f"use {by_post}"

    def get(self, call: Call) -> Response:
        grant, known = self.grant("get", call), tags_of(call.headers, IF_NONE_MATCH)
        deadline = deadline_in(call.time_left_ms, self._store.monotonic)
        record = self._store.get(self.entity.model, self._keys.of_path(call.path), visibility=grant.visibility)
        if record is None:
            raise not_found(self.entity)
        expand = self.expansion.of_query(call.query)
        if expand:
            # The answer has more than the record, so the record's tag can't be its tag.
            (shown,) = self.expansion.json([record], expand, call.caller, deadline).texts
            return Response.json(200, shown.text)
        if known is not None and known.has(record.rev):
            return Response(304, headers=entity_tag(record.rev))
        text = carried(self.models, record, self.models.json(record)).text
        return Response.json(200, text, **entity_tag(record.rev))

    def patch(self, call: Call) -> Response:
        grant = self.grant("update", call)
        patch, condition, key = call.document, required(call.headers), self._keys.of_path(call.path)
        changes, asker = changes_of(self.models, grant, patch), grant.asker
        if self._keys.named(patch) not in (None, self.entity.identify(key)):
            raise self._keys.contradicted()
        start: Upsert = False
        if flag(call.query, UPSERT) and not condition.exists:
            start = start_of(self.models, self.grant("create", call), patch, key)
        update = Update(self.entity.model, key, changes, condition.rev, from_json=True, upsert=start, **asker)
        with condition.or_refuse():
            return self._write(call, update)

    def put(self, call: Call) -> Response:
        grant = self.grant("put", call)
        key, condition = self.entity.identify(self._keys.of_path(call.path)), required(call.headers)
        if not grant.names_it(key):
            raise not_found(self.entity)
        check_number_in(self.entity, key)
        document = with_identity(self.entity, to_jsonable_python(key), call.document)
        form = self.models.write if condition.absent else self.models.put
        values = self.models.written(document, form)
        for name, value in self.entity.identify(given_identity(self.entity, values)).items():
            if value != key[name]:
                raise ValueRefused("the body names another record than the path", where=name, fix="leave it out")
        keeping = frozenset() if condition.absent else self.models.kept
        values, model = grant.made(values, keeping), self.entity.model
        returning, asker = _returns_old(call.query), grant.asker
        if returning:
            asker["visibility"] = both_see(grant, self.grant("get", call))
        how: dict[str, Any] = {"keeping": keeping, "from_json": True, "returning": returning, **asker}
        put = Put(values, model, condition.rev, condition.exists, **how)
        try:
            with condition.or_refuse():
                return self._write(call, Create(values, model, **asker) if condition.absent else put)
        except NotFound:
            if not condition.exists:
                raise
            raise unmet(IF_MATCH) from None

    def delete(self, call: Call) -> Response:
        grant, condition = self.grant("delete", call), required(call.headers)
        returning, asker = _returns_old(call.query), grant.asker
        if returning:
            asker["visibility"] = both_see(grant, self.grant("get", call))
        key, rev = self._keys.of_path(call.path), condition.rev
        operation = Delete(self.entity.model, key, rev, returning=returning, **asker)

        def answer(made: Sequence[Written]) -> Response:
            before = made[0].before
            return Response(204) if before is None else stored(self.models, before)

        with condition.or_refuse():
            return carried_out(self._store, call, [operation], answer, self._trail.of(call))

    # -- parts

    def grant(self, operation: str, call: Call) -> Grant:
        """The caller's rights. Raises Unauthenticated, Forbidden."""
        return self._access.grant(self.entity, operation, call.caller)

    def _write(self, call: Call, operation: Create | Put | Update) -> Response:
        def answer(made: Sequence[Written]) -> Response:
            (written,) = made
            assert written.record is not None, "the write leaves a record"
            if written.before is not None:
                return stored(self.models, written.before)
            return (created if written.created else stored)(self.models, written.record)

        return carried_out(self._store, call, [operation], answer)

    # -- description

    def operations(self) -> tuple[Operation, ...]:
        """All operations of the collection; for a read-only one, those that write nothing."""
        path = f"{ROOT}/{self.entity.collection}"
        beside = (*self._queries.operations(path), *self._batches.operations(path), *self.additions.operations(path))
        found = (*self._of_the_collection(path), *beside, *self._of_a_record())
        if self.entity.read_only:
            # Writes may be repeated with an idempotency key, other operations take none.
            found = tuple(each for each in found if ONCE not in each.header_parameters)
        refusals = ACCESS_ERRORS if self._access.restricts else ()
        return tuple(replace(each, errors=(*each.errors, *refusals)) for each in found)

    def _of_the_collection(self, path: str) -> tuple[Operation, ...]:
        entity, models = self.entity, self.models
        listing = (*self._list_query.parameters, *self.lookup_list.parameters, *self.expansion.parameters)
        taken = {each.name for each in listing}
        return (
            Operation(
                "POST",
                path,
                f"create{models.name}",
                f"A new {entity.token}",
                self.create,
                Answer(201, "The record as it is stored.", lambda: models.read, PLACE),
                tag=entity.collection,
                header_parameters=(ONCE,),
                body=Body(lambda: models.write),
                errors=(AlreadyExists, RecordTooLarge, *ONCE_ERRORS),
            ),
            Operation(
                "GET",
                path,
                f"list{models.name}",
                f"A page of {entity.collection}",
                self.list,
                Answer(200, "The page.", lambda: models.page),
                description="Conditions fix every property that an index needs, then properties from the left: "
                "equality, and on the last one equality, a prefix or a range.\n\n" + index_table(self._visible),
                tag=entity.collection,
                query_parameters=listing,
                families=self._list_query.families,
                errors=(*QUERY_ERRORS, *self.expansion.errors),
                instead={
                    FILTER: self._of_filters(path),
                    **{
                        name: f"no index has it: test it after reading, with {self._filters_of(name)}"
                        for name in self._visible.properties
                        if name not in taken
                    },
                },
            ),
        )

    def _of_a_record(self) -> tuple[Operation, ...]:
        entity, models = self.entity, self.models
        name, token = models.name, entity.token
        answer = Answer(200, "The record as it is stored.", lambda: models.read, TAG)
        hidden = (NotFound,) if self._access.restricts else ()
        takes_along = any(link.on_delete != "restrict" for link in entity.children)
        incomplete = (DeleteIncomplete,) if takes_along else ()
        keyed: dict[str, Any] = {
            "path": self._keys.template,
            "tag": entity.collection,
            "path_parameters": self._keys.parameters,
            **short_path(self._keys, self._keys.template),
        }
        made = Answer(201, "The new record as it is stored.", lambda: models.read, PLACE)
        return (
            Operation(
                method="GET",
                name=f"get{name}",
                summary=f"One {token}",
                run=self.get,
                answer=Answer(200, "The record.", lambda: models.read, TAG),
                also=(Answer(304, "The record is still the one at hand.", None, TAG),),
                query_parameters=self.expansion.parameters,
                header_parameters=CONDITIONS_OF_READING,
                errors=(NotFound, *self.expansion.errors),
                **keyed,
            ),
            Operation(
                method="PATCH",
                name=f"patch{name}",
                summary=f"Change properties of one {token}",
                description="A merge patch (RFC 7396): what is given replaces, null removes, an object is merged. "
                "`application/json` is taken too.",
                run=self.patch,
                answer=answer,
                also=(made,),
                query_parameters=(Parameter(UPSERT, UPSERTS, bool, default=False),),
                header_parameters=(*CONDITIONS_OF_CHANGING, ONCE),
                body=Body(lambda: models.patch, (MERGE_PATCH, JSON)),
                errors=(NotFound, *CHANGE_ERRORS, ImmutableProperty, RecordTooLarge),
                **keyed,
            ),
            Operation(
                method="PUT",
                name=f"put{name}",
                summary=f"Write one whole {token}",
                description="The record is made (201), or replaces the one that is there, whose time of creation it "
                "keeps (200), as it does what its caller does not see or can't change and leaves out.",
                run=self.put,
                answer=answer,
                also=(made,),
                query_parameters=(Parameter(RETURNING, REPLACED_OLD, Literal["old"]),),
                header_parameters=(*CONDITIONS_OF_PUTTING, ONCE),
                body=Body(lambda: models.put),
                errors=(*CHANGE_ERRORS, *hidden, ImmutableProperty, RecordTooLarge),
                **keyed,
            ),
            Operation(
                method="DELETE",
                name=f"delete{name}",
                summary=f"Remove one {token}",
                run=self.delete,
                answer=Answer(204, "It is gone."),
                also=(Answer(200, "The record that was removed, where that is asked for.", lambda: models.read, TAG),),
                query_parameters=(Parameter(RETURNING, RETURNS_OLD, Literal["old"]),),
                header_parameters=(*CONDITIONS_OF_CHANGING, ONCE),
                errors=(NotFound, *CHANGE_ERRORS, *incomplete),
                **keyed,
            ),
        )


def short_path(keys: RecordKeys, template: str) -> dict[str, Any]:
    """The members of an operation on a record whose key may leave out what the token says."""
    if not keys.claims:
        return {}
    return {"short_path": template.replace(keys.template, keys.short_template), "claims": keys.claims}


def _returns_old(query: Mapping[str, str]) -> bool:
    """Whether the previous record is requested. Raises InputError."""
    if query.get(RETURNING, "old") != "old":
        raise InputError("must be old", where=RETURNING, fix="write old, or leave it out")
    return RETURNING in query


def created(models: RecordModels, record: Entity, body: bytes | None = None) -> Response:
    """The answer for a created record, with its path. `body` is given if it has more than the record."""
    place = models.keys.path(record)
    if body is not None:
        return Response.json(201, body, location=place)
    return Response.json(201, models.json(record), location=place, **entity_tag(record.rev))


def stored(models: RecordModels, record: Entity) -> Response:
    """The answer with a record as it is stored."""
    return Response.json(200, models.json(record), **entity_tag(record.rev))
