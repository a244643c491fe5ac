"""The answers of routes, and their description: plain answers, pages, and writes in one transaction. `route_forms` has
the JSON forms of their records and models."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, cast

from pydantic import BaseModel

from ..access.authorization import ACCESS_ERRORS
from ..database.asked_entities import time_window
from ..errors import ConfigurationError, NotFound, ShardweaveError, TableFull
from ..query.lookup_tokens import LookupTokens
from ..query.spec import QuerySpec
from ..routing import Listed, RecordView, Route, Writes
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..store.lookups.lookup_spec import lookup_of
from ..store.operations import Written
from ..store.outcomes import not_found
from ..table.values import Item
from ..wire.paging import PAGING, paging
from ..wire.record_models import RecordModels, page_model
from .caller_database import CallerDatabase
from .http import Response
from .idempotency import ONCE, ONCE_ERRORS, carried_out, worked
from .lookup_pages import LookupPages, LookupQuestion
from .operation import Answer, Call, Operation
from .pages import AnsweredPage, Pages
from .preconditions import CONDITIONS_OF_READING, IF_NONE_MATCH, entity_tag, tags_of
from .route_arguments import NOT_GIVEN, Arguments, arguments_of, path_of
from .route_faults import check_answer, check_listed, check_status, check_writes
from .route_forms import Form, ModelForm, RecordForm, RecordsForm, ViewForm, entities_of, form_of
from .routes.queries import QUERY_ERRORS
from .routes.records import PLACE, TAG, created, stored

if TYPE_CHECKING:
    from .parts import Parts


def route_operations(routes: Sequence[Route[..., Any]], parts: Parts) -> tuple[Operation, ...]:
    """The operations of some routes. Raises ConfigurationError."""
    return tuple(_operation(each, parts) for each in routes)


def _operation(route: Route[..., Any], parts: Parts) -> Operation:
    arguments = arguments_of(route, parts)
    kind = _kind_of(route, arguments, parts)
    summary, description = route.texts
    once = (ONCE,) if route.method != "GET" and route.idempotency_key else ()
    changing = () if route.method == "GET" else ONCE_ERRORS if once else (TableFull,)
    refusals = ACCESS_ERRORS if parts.access.restricts else ()
    return Operation(
        route.method,
        path_of(route),
        route.name,
        summary,
        lambda call: _run(kind, call, arguments),
        kind.answer,
        also=kind.also,
        description=description,
        tag=route.tag,
        path_parameters=arguments.path,
        query_parameters=(*arguments.query, *(PAGING if isinstance(kind, _Page) else ())),
        families=arguments.families,
        header_parameters=(*once, *kind.conditions),
        body=arguments.body,
        errors=tuple(dict.fromkeys((*route.errors, *kind.errors, *changing, *refusals))),
    )


def _run(kind: _Plain | _Page | _Transaction, call: Call, arguments: Arguments) -> Response:
    """The answer. Who may do nothing with the records that a route is for is refused before what was sent is read."""
    entities = entities_of(kind.form)
    if not entities and isinstance(kind, _Transaction):
        entities = tuple(kind.parts.schema.entities.values())
    if not arguments.of_everybody:
        kind.parts.access.check_known(entities, call.caller)
    return kind.run(call, arguments)


def _kind_of(route: Route[..., Any], arguments: Arguments, parts: Parts) -> _Plain | _Page | _Transaction:
    given = arguments.answered
    if given is NOT_GIVEN:
        raise ConfigurationError("must say what it gives", where=route.place, fix="write -> None, say")
    origin, members = typing.get_origin(given), typing.get_args(given)
    if origin is Listed:
        return _Page(route, parts, form_of(route, members[0], parts), _members(members, parts))
    if origin is Writes:
        form = None if members[0] in (None, type(None)) else form_of(route, members[0], parts)
        check_status(route, form)
        return _Transaction(route, parts, form)
    if origin in (typing.Union, types.UnionType) and len(members) == 2 and type(None) in members:
        (member,) = (each for each in members if each is not type(None))
        given, may_be_none = member, True
    else:
        may_be_none = False
    form = None if given in (None, type(None)) else form_of(route, given, parts)
    check_status(route, form)
    return _Plain(route, parts, form, may_be_none)


# -- kinds of answers -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plain:
    """The result of the function is the answer. With an idempotency key its work is done once."""

    route: Route[..., Any]
    parts: Parts
    form: Form | None
    may_be_none: bool = False

    @property
    def status(self) -> int:
        return self.route.status or (HTTPStatus.NO_CONTENT if self.form is None else HTTPStatus.OK)

    @property
    def answer(self) -> Answer:
        if self.form is None:
            return Answer(self.status, "It is done.")
        return Answer(self.status, "The answer.", self.form.model, TAG if isinstance(self.form, RecordForm) else {})

    @property
    def also(self) -> tuple[Answer, ...]:
        return (Answer(304, "The record is still the one at hand.", None, TAG),) if self.conditions else ()

    @property
    def conditions(self) -> tuple[Any, ...]:
        return CONDITIONS_OF_READING if isinstance(self.form, RecordForm) and self.route.method == "GET" else ()

    @property
    def errors(self) -> tuple[type[ShardweaveError], ...]:
        return (NotFound,) if self.may_be_none or isinstance(self.form, RecordForm) else ()

    def run(self, call: Call, arguments: Arguments) -> Response:
        given = arguments.of(call)

        def work() -> Response:
            return self._answered(call, self.route.function(**given))

        return worked(self.parts.store, call, work) if self._is_kept else work()

    @property
    def _is_kept(self) -> bool:
        return self.route.method != "GET" and self.route.idempotency_key

    def _answered(self, call: Call, found: Any) -> Response:
        if self.form is None:
            return Response(self.status)
        if found is None:
            raise self._missing(self.form)
        check_answer(self.route, self.form, found)
        if not isinstance(self.form, RecordForm):
            return Response.json(self.status, self.form.text(found))
        known = tags_of(call.headers, IF_NONE_MATCH) if self.conditions else None
        if known is not None and known.has(found.rev):
            return Response(304, headers=entity_tag(found.rev))
        answer = replace(stored(self.form.models, found), status=self.status)
        return answer if self.route.method == "GET" else replace(answer, places=(self.form.models.keys.path(found),))

    @staticmethod
    def _missing(form: Form) -> NotFound:
        if isinstance(form, (RecordForm, ViewForm)):
            return not_found(form.models.entity)
        return NotFound("there is nothing at this path", where="path", fix="check what is asked for")


def _members(given: tuple[Any, ...], parts: Parts) -> ModelForm | None:
    """The additional members of a page, from the second argument of `Listed`."""
    return ModelForm(given[1], parts) if len(given) > 1 and given[1] not in (None, type(None)) else None


class _Rows(Pages):
    """Pages of records in a route's own form."""

    def __init__(self, models: RecordModels, parts: Parts, text: Callable[[Any], bytes]) -> None:
        super().__init__(models, parts.queries, parts.access)
        self._text = text

    def text(self, record: Any) -> bytes:
        return self._text(record)

    def direct(self, entity: EntityType[Any], items: Sequence[Item]) -> list[None]:
        """None for each: a form of the route's own is made of a record."""
        return [None] * len(items)


@dataclass(frozen=True)
class _Page:
    """A page of the caller's records, in their usual or another form."""

    route: Route[..., Any]
    parts: Parts
    form: Form
    members: ModelForm | None = None
    also: tuple[Answer, ...] = ()
    conditions: tuple[Any, ...] = ()
    errors: tuple[type[ShardweaveError], ...] = QUERY_ERRORS

    @property
    def answer(self) -> Answer:
        return Answer(200, "The page, each record once.", self._model)

    def run(self, call: Call, arguments: Arguments) -> Response:
        listed: Listed[Any, Any] = self.route.function(**arguments.of(call))
        check_listed(self.route, listed)
        asked = paging(call.query)
        more = {} if self.members is None else self.members.document(cast("BaseModel", listed.members))
        pages = self._pages(listed)
        if listed.lookup is not None:
            return pages.listed(self._by_lookup(call, listed, asked, pages), more)
        entity = self.parts.schema[listed.entity]
        spec = QuerySpec(
            entity=entity.token,
            conditions=listed.conditions,
            index=listed.index,
            filter=listed.filter,
            branches=None if listed.branches is None else tuple(listed.branches),
            **time_window(entity, listed.earliest, listed.latest),
            **{**asked, "reverse": asked["reverse"] != listed.reverse},
        )
        return pages.listed(pages.run(spec, call, operation="query"), more)

    def _by_lookup(self, call: Call, listed: Listed[Any, Any], asked: Mapping[str, Any], pages: Pages) -> AnsweredPage:
        """A page of a list by a lookup."""
        assert listed.lookup is not None
        entity, queries = self.parts.schema[listed.entity], self.parts.queries
        grant = self.parts.access.grant(entity, "list", call.caller)
        grant.check_filter(listed.filter)
        reverse = asked["reverse"] != listed.reverse
        within = grant.scope(lookup_of(entity, listed.lookup), listed.within)
        question = LookupQuestion(listed.lookup, listed.value, within, reverse, listed.filter)
        tokens = LookupTokens(queries.cursors, queries.now_ms)
        return LookupPages(entity, self.parts.store, tokens, pages).page(call, question, asked, (), grant)

    def _pages(self, listed: Listed[Any, Any]) -> Pages:
        row = listed.row
        if isinstance(self.form, RecordForm) and row is None:
            return Pages(self.form.models, self.parts.queries, self.parts.access)
        models = RecordModels(self.parts.schema[listed.entity], self.parts.external_keys)

        def text(record: Any) -> bytes:
            shown = record if row is None else row(record)
            check_answer(self.route, self.form, shown)
            return self.form.text(shown)

        return _Rows(models, self.parts, text)

    def _model(self) -> type[BaseModel]:
        if isinstance(self.form, RecordForm) and self.members is None:
            return self.form.models.page
        item = self.form.model()
        beside = {} if self.members is None else self.members.model().model_fields
        members = {info.alias or name: (info.annotation, info) for name, info in beside.items()}
        return page_model(item.__name__, item, members)


@dataclass(frozen=True)
class _Transaction:
    """Writes of the caller's records and their stored answer, in one transaction."""

    route: Route[..., Any]
    parts: Parts
    form: Form | None
    also: tuple[Answer, ...] = ()
    conditions: tuple[Any, ...] = ()
    errors: tuple[type[ShardweaveError], ...] = ()

    @property
    def status(self) -> int:
        if self.form is None:
            return self.route.status or HTTPStatus.NO_CONTENT
        return self.route.status or (HTTPStatus.CREATED if self.route.method == "POST" else HTTPStatus.OK)

    @property
    def answer(self) -> Answer:
        if self.form is None:
            return Answer(self.status, "It is done.")
        place = PLACE if isinstance(self.form, RecordForm) else {"Location": "The first record's path."}
        headers = place if self.status == HTTPStatus.CREATED else TAG if isinstance(self.form, ViewForm) else {}
        return Answer(self.status, "What was written, as it is stored.", self.form.model, headers)

    def run(self, call: Call, arguments: Arguments) -> Response:
        given: Writes[Any] = self.route.function(**arguments.of(call))
        check_writes(self.route, self.form, given, self.status, self.parts.schema)
        database = CallerDatabase(self.parts.store, self.parts.queries, self.parts.access, call.caller)
        operations = [database.granted(each) for each in given.operations]
        try:
            return carried_out(self.parts.store, call, operations, self._answer(given.answer))
        except ShardweaveError as error:
            instead = given.refusals.get(type(error))
            if instead is None:
                raise
            raise instead from None

    def _answer(self, answer: Callable[..., Any] | None) -> Callable[[Sequence[Written]], Response]:
        def answered(made: Sequence[Written]) -> Response:
            records = [each.record for each in made if each.record is not None]
            places = tuple(self._models(each).keys.path(each) for each in records)
            if self.form is None:
                return Response(self.status, places=places)
            found = self._unnamed(records) if answer is None else answer(*records)
            check_answer(self.route, self.form, found)
            if isinstance(self.form, RecordForm):
                shown = created if self.status == HTTPStatus.CREATED else stored
                response = shown(self.form.models, found)
            elif self.status == HTTPStatus.CREATED:
                response = created(self._models(records[0]), records[0], self.form.text(found))
            else:
                response = Response.json(self.status, self.form.text(found))
            headers = {**response.headers, **(entity_tag(found.record.rev) if isinstance(found, RecordView) else {})}
            return replace(response, status=self.status, headers=headers, places=places)

        return answered

    def _unnamed(self, records: list[Entity]) -> Any:
        """The default answer: the written record or records."""
        return records if isinstance(self.form, RecordsForm) else records[0]

    def _models(self, record: Entity) -> RecordModels:
        return RecordModels(self.parts.schema[type(record)], self.parts.external_keys)
