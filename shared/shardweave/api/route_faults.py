"""Checks of the results of a route's function. An invalid result gets a 500, before anything is written if possible;
the log names the function and says what must be changed."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, get_args

from ..database.arguments import kind_of
from ..errors import ConfigurationError
from ..routing import Listed, Route, Writes
from ..schema.entity import Entity
from ..schema.entity_type import EntityType
from ..store.operations import Add, Create, Operation, Put, Reset, Update
from .route_forms import Form, ModelForm, RecordForm, RecordsForm, ViewForm

if TYPE_CHECKING:
    from ..schema.schema import Schema

_OPERATIONS = get_args(Operation)
_WRITING = (Create, Put, Update, Add, Reset)


def check_status(route: Route[..., Any], form: Form | None) -> None:
    """Refuse an answer with content for a status without content."""
    if form is not None and route.status == HTTPStatus.NO_CONTENT:
        fix = "leave status out, or return None or Writes[None]"
        raise ConfigurationError("an answer with the status 204 has no content", where=route.place, fix=fix)


def check_answer(route: Route[..., Any], form: Form, given: Any) -> None:
    """Refuse a result of another type than declared."""
    if isinstance(form, RecordsForm):
        entities = [each.entity.model for each in form.records]
        fits = isinstance(given, (list, tuple)) and [type(each) for each in given] == entities
        declared = ", ".join(each.__name__ for each in entities)
    else:
        kind: type = form.models.entity.model if isinstance(form, RecordForm) else _declared(form)
        fits, declared = isinstance(given, kind), kind.__name__
    if not fits:
        raise _wrong(route, f"its answer must be {declared}, got {kind_of(given)}", f"return {declared}")


def _declared(form: ViewForm | ModelForm) -> type:
    return form.view if isinstance(form, ViewForm) else form.declared


def check_listed(route: Route[..., Any], given: Any) -> None:
    """Refuse a result that is not a list."""
    if not isinstance(given, Listed):
        raise _wrong(route, f"must return a list of records, got {kind_of(given)}", "return listed(...)")


def check_writes(route: Route[..., Any], form: Form | None, given: Any, status: int, schema: Schema) -> None:
    """Refuse a result that is not a transaction, and one whose answer can't be made from its writes."""
    if not isinstance(given, Writes):
        raise _wrong(route, f"must return writes, got {kind_of(given)}", "return writes(...)")
    operations: Sequence[Any] = given.operations
    if not operations:
        raise _wrong(route, "its writes have no operation", "give one; what writes nothing raises, or returns a model")
    for number, each in enumerate(operations):
        if not isinstance(each, _OPERATIONS):
            fix = "give Create(...), Put(...), Update(...), Delete(...) or another operation of shardweave"
            raise _wrong(route, f"operation {number} of its writes is none, but {kind_of(each)}", fix)
    written = [_entity_of(schema, each) for each in operations if isinstance(each, _WRITING)]
    if form is None:
        if given.answer is not None:
            raise _wrong(route, "Writes[None] is answered with nothing", "leave answer out")
    elif given.answer is None:
        _check_unnamed(route, form, written)
    elif status == HTTPStatus.CREATED and not written:
        raise _wrong(route, "it answers 201, and no record is made", "give the route status=200")


def _entity_of(schema: Schema, operation: Create | Put | Update | Add | Reset) -> EntityType[Any]:
    record = operation.record if isinstance(operation, (Create, Put)) else None
    return schema[type(record) if isinstance(record, Entity) else operation.model or ""]


def _check_unnamed(route: Route[..., Any], form: Form, written: Sequence[EntityType[Any]]) -> None:
    """Refuse a default answer that does not match the written records."""
    if isinstance(form, (ViewForm, ModelForm)):
        raise _wrong(route, f"nothing makes the {_declared(form).__name__} that it answers", "give answer=lambda ...")
    expected = [each.entity for each in form.records] if isinstance(form, RecordsForm) else [form.models.entity]
    if [each.token for each in written] != [each.token for each in expected]:
        found = ", ".join(each.token for each in written) or "no record"
        said = ", ".join(each.token for each in expected)
        fix = "give answer=lambda ...: ..., or return Writes[None], or Writes[tuple[...]] with all that are written"
        raise _wrong(route, f"it answers {said} and writes {found}", fix)


def _wrong(route: Route[..., Any], message: str, fix: str) -> ConfigurationError:
    return ConfigurationError(message, where=route.place, fix=fix)
