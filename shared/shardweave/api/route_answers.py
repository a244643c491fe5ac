"""What a route gives, as an answer and as it is described: records as they are shown everywhere, other models as they
are, pages, and writes that are one transaction."""

from __future__ import annotations

import types
import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, create_model

from ..access.access import ACCESS_ERRORS
from ..entity import Entity
from ..errors import ConfigurationError, NotFound, ShardweaveError
from ..query.spec import QuerySpec
from ..routing import Listed, Route, Writes
from ..store.operations import Written
from ..store.steps import not_found
from .caller_database import CallerDatabase
from .collection import PLACE, TAG, created, stored
from .messages import Response
from .models import RecordModels
from .once import ONCE, ONCE_ERRORS, carried_out, worked
from .operation import Answer, Call, Operation
from .pages import PAGING, Pages, paging
from .preconditions import CONDITIONS_OF_READING, IF_NONE_MATCH, entity_tag, tags_of
from .query_routes import QUERY_ERRORS
from .route_arguments import NOT_GIVEN, Arguments, arguments_of, path_of

if TYPE_CHECKING:
    from ..service_parts import Parts


def route_operations(routes: Sequence[Route[..., Any]], parts: Parts) -> tuple[Operation, ...]:
    """The operations of some routes. Raises ConfigurationError."""
    return tuple(_operation(each, parts) for each in routes)


def _operation(route: Route[..., Any], parts: Parts) -> Operation:
    arguments = arguments_of(route, parts)
    kind = _kind_of(route, arguments, parts)
    summary, description = route.texts
    once = () if route.method == "GET" else (ONCE,)
    refusals = ACCESS_ERRORS if parts.access.restricts else ()
    return Operation(
        route.method,
        path_of(route),
        route.name,
        summary,
        lambda call: kind.run(call, arguments),
        kind.answer,
        also=kind.also,
        description=description,
        tag=route.tag,
        path_parameters=arguments.path,
        query_parameters=(*arguments.query, *(PAGING if isinstance(kind, _Page) else ())),
        header_parameters=(*once, *kind.conditions),
        body=arguments.body,
        errors=tuple(dict.fromkeys((*route.errors, *kind.errors, *(ONCE_ERRORS if once else ()), *refusals))),
    )


def _kind_of(route: Route[..., Any], arguments: Arguments, parts: Parts) -> _Plain | _Page | _Transaction:
    given = arguments.answered
    if given is NOT_GIVEN:
        raise ConfigurationError("it must say what it gives", where=route.place, fix="write -> None, say")
    origin, members = typing.get_origin(given), typing.get_args(given)
    if origin is Listed:
        return _Page(route, parts, RecordModels(parts.schema[members[0]], parts.external_keys))
    if origin is Writes:
        return _Transaction(route, parts, _form_of(route, members[0], parts))
    if origin in (typing.Union, types.UnionType) and len(members) == 2 and type(None) in members:
        (member,) = (each for each in members if each is not type(None))
        return _Plain(route, parts, _form_of(route, member, parts))
    return _Plain(route, parts, None if given in (None, type(None)) else _form_of(route, given, parts))


def _form_of(route: Route[..., Any], given: Any, parts: Parts) -> _Record | _Model:
    if isinstance(given, type) and issubclass(given, Entity):
        return _Record(RecordModels(parts.schema[given], parts.external_keys))
    if isinstance(given, type) and issubclass(given, BaseModel):
        return _Model(given, parts)
    fix = "give an entity, a pydantic model, None, Listed[Entity] or Writes[...]"
    raise ConfigurationError(f"it can't give {given!r:.60}", where=route.place, fix=fix)


# -- forms ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Record:
    """A record, as it is shown everywhere."""

    models: RecordModels

    def model(self) -> type[BaseModel]:
        return self.models.read

    def text(self, value: Any) -> bytes:
        return self.models.json(value)


@dataclass(frozen=True)
class _Model:
    """A model, whose fields that are entities, or lists of some, are shown as records are."""

    declared: type[BaseModel]
    parts: Parts

    def model(self) -> type[BaseModel]:
        if not any(self._records.values()):
            return self.declared
        fields: dict[str, Any] = {}
        for name, info in self.declared.model_fields.items():
            models = self._records[name]
            shown: Any = info.annotation if models is None else models.read
            listed = models is not None and typing.get_origin(info.annotation) in (list, tuple)
            fields[name] = (list[shown] if listed else shown, info)
        made: type[BaseModel] = create_model(
            self.declared.__name__, __doc__=self.declared.__doc__, __config__=self.declared.model_config, **fields
        )
        return made

    def text(self, value: Any) -> bytes:
        members = []
        for name, info in self.declared.model_fields.items():
            alias, given = info.serialization_alias or info.alias or name, getattr(value, name)
            models = self._records[name]
            if models is None:
                written = self._adapters[name].dump_json(given, by_alias=True)
            elif isinstance(given, (list, tuple)):
                written = b"[" + b",".join(map(models.json, given)) + b"]"
            else:
                written = b"null" if given is None else models.json(given)
            members.append(b'"' + alias.encode() + b'":' + written)
        return b"{" + b",".join(members) + b"}"

    @cached_property
    def _records(self) -> dict[str, RecordModels | None]:
        return {name: self._models_of(info.annotation) for name, info in self.declared.model_fields.items()}

    @cached_property
    def _adapters(self) -> dict[str, TypeAdapter[Any]]:
        annotations: dict[str, Any] = {name: info.annotation for name, info in self.declared.model_fields.items()}
        return {name: TypeAdapter(annotations[name]) for name, each in self._records.items() if each is None}

    def _models_of(self, annotation: Any) -> RecordModels | None:
        inner = [annotation, *typing.get_args(annotation)]
        entity = next((each for each in inner if isinstance(each, type) and issubclass(each, Entity)), None)
        return None if entity is None else RecordModels(self.parts.schema[entity], self.parts.external_keys)


# -- kinds of answers -----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Plain:
    """What a function gives is the answer. One that may be repeated with a key does its work once."""

    route: Route[..., Any]
    parts: Parts
    form: _Record | _Model | None

    @property
    def status(self) -> int:
        return self.route.status or (HTTPStatus.NO_CONTENT if self.form is None else HTTPStatus.OK)

    @property
    def answer(self) -> Answer:
        if self.form is None:
            return Answer(self.status, "It is done.")
        return Answer(self.status, "The answer.", self.form.model, TAG if isinstance(self.form, _Record) else {})

    @property
    def also(self) -> tuple[Answer, ...]:
        return (Answer(304, "The record is still the one at hand.", None, TAG),) if self.conditions else ()

    @property
    def conditions(self) -> tuple[Any, ...]:
        return CONDITIONS_OF_READING if isinstance(self.form, _Record) and self.route.method == "GET" else ()

    @property
    def errors(self) -> tuple[type[ShardweaveError], ...]:
        return (NotFound,) if isinstance(self.form, _Record) else ()

    def run(self, call: Call, arguments: Arguments) -> Response:
        given = arguments.of(call)

        def work() -> Response:
            return self._answered(call, self.route.function(**given))

        return work() if self.route.method == "GET" else worked(self.parts.store, call, work)

    def _answered(self, call: Call, found: Any) -> Response:
        if self.form is None:
            return Response(self.status)
        if isinstance(self.form, _Model):
            return Response.json(self.status, self.form.text(found))
        if found is None:
            raise not_found(self.form.models.entity)
        known = tags_of(call.headers, IF_NONE_MATCH) if self.conditions else None
        if known is not None and known.has(found.rev):
            return Response(304, headers=entity_tag(found.rev))
        answer = replace(stored(self.form.models, found), status=self.status)
        return answer if self.route.method == "GET" else replace(answer, places=(self.form.models.keys.path(found),))


@dataclass(frozen=True)
class _Page:
    """A page of the caller's records."""

    route: Route[..., Any]
    parts: Parts
    models: RecordModels
    also: tuple[Answer, ...] = ()
    conditions: tuple[Any, ...] = ()
    errors: tuple[type[ShardweaveError], ...] = QUERY_ERRORS

    @property
    def answer(self) -> Answer:
        return Answer(200, "The page, each record once.", lambda: self.models.page)

    def run(self, call: Call, arguments: Arguments) -> Response:
        listed: Listed[Any] = self.route.function(**arguments.of(call))
        asked = paging(call.query)
        spec = QuerySpec(
            entity=self.parts.schema[listed.entity].token,
            conditions=listed.conditions,
            index=listed.index,
            filter=listed.filter,
            branches=None if listed.branches is None else tuple(listed.branches),
            earliest=listed.earliest,
            latest=listed.latest,
            **{**asked, "reverse": asked["reverse"] != listed.reverse},
        )
        pages = Pages(self.models, self.parts.queries, self.parts.access)
        return pages.listed(pages.run(spec, call, operation="query"))


@dataclass(frozen=True)
class _Transaction:
    """Writes of the caller's records, and the answer to them, in one transaction."""

    route: Route[..., Any]
    parts: Parts
    form: _Record | _Model
    also: tuple[Answer, ...] = ()
    conditions: tuple[Any, ...] = ()
    errors: tuple[type[ShardweaveError], ...] = ()

    @property
    def status(self) -> int:
        return self.route.status or (HTTPStatus.CREATED if self.route.method == "POST" else HTTPStatus.OK)

    @property
    def answer(self) -> Answer:
        place = PLACE if isinstance(self.form, _Record) else {"Location": "The first record's path."}
        headers = place if self.status == HTTPStatus.CREATED else {}
        return Answer(self.status, "What was written, as it is stored.", self.form.model, headers)

    def run(self, call: Call, arguments: Arguments) -> Response:
        given: Writes[Any] = self.route.function(**arguments.of(call))
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
            found = records[0] if answer is None else answer(*records)
            places = tuple(self._models(each).keys.path(each) for each in records)
            if isinstance(self.form, _Record):
                shown = created if self.status == HTTPStatus.CREATED else stored
                response = shown(self.form.models, found)
            elif self.status == HTTPStatus.CREATED:
                response = created(self._models(records[0]), records[0], self.form.text(found))
            else:
                response = Response.json(self.status, self.form.text(found))
            return replace(response, status=self.status, places=places)

        return answered

    def _models(self, record: Entity) -> RecordModels:
        return RecordModels(self.parts.schema[type(record)], self.parts.external_keys)
