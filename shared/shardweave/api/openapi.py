"""The OpenAPI 3.1 document, made from the operations.

It can't drift from the routes: every path, parameter, media type and model in it is the value that a request is
checked against. Errors are described once, as the problem document.

Costs some 10 ms and the import of this module, so it is made when it is first asked for.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema

from ..errors import (
    BodyTooLarge,
    InputError,
    MalformedRequest,
    ShardweaveError,
    TableUnavailable,
    UnsupportedMediaType,
    ValidationFailed,
)
from .operation import Answer, Body, Operation, Parameter
from .problems import MEDIA_TYPE, STATUSES, TYPE_PREFIX, status_of

VERSION = "3.1.0"
_REFERENCE = "#/components/schemas/{model}"


class Fault(BaseModel):
    """One value that does not fit."""

    where: str = Field(description="The property's path, or the parameter.")
    detail: str = Field(description="What is wrong with it.")
    type: str = Field(description="A stable word for what is wrong.")


class Problem(BaseModel):
    """An error (RFC 9457)."""

    type: str = Field(description="The stable name of this kind of error, a URI.")
    title: str = Field(description="What this kind of error is.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What was wrong this time.")
    where: str | None = Field(None, description="The property or parameter at fault.")
    fix: str | None = Field(None, description="What to do.")
    errors: list[Fault] | None = Field(None, description="Every value that does not fit.")


def openapi_document(operations: Sequence[Operation], *, title: str, version: str, description: str) -> dict[str, Any]:
    """The document of these operations."""
    paths: dict[str, dict[str, Any]] = defaultdict(dict)
    for operation in operations:
        paths[operation.path][operation.method.lower()] = _operation(operation)
    return {
        "openapi": VERSION,
        "info": {"title": title, "version": version, "description": description},
        "servers": [{"url": "/"}],
        "tags": [{"name": tag} for tag in dict.fromkeys(each.tag for each in operations if each.tag)],
        "paths": dict(paths),
        "components": {
            "schemas": _schemas(operations),
            "responses": {"Problem": _problem_response("Any other error.")},
        },
    }


def _operation(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = {
        "operationId": operation.name,
        "summary": operation.summary,
        "responses": {str(operation.answer.status): _answer(operation.answer), **_errors(operation)},
    }
    if operation.description:
        found["description"] = operation.description
    if operation.tag:
        found["tags"] = [operation.tag]
    parameters = [
        *(_parameter(each, "path") for each in operation.path_parameters),
        *(_parameter(each, "query") for each in operation.query_parameters),
    ]
    if parameters:
        found["parameters"] = parameters
    if operation.body is not None:
        found["requestBody"] = _body(operation.body)
    return found


def _parameter(parameter: Parameter, location: str) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": location,
        "required": parameter.required,
        "description": parameter.description,
        "schema": dict(parameter.schema),
    }


def _body(body: Body) -> dict[str, Any]:
    return {"required": True, "content": {kind: {"schema": _reference(body.model)} for kind in body.media_types}}


def _answer(answer: Answer) -> dict[str, Any]:
    found: dict[str, Any] = {"description": answer.description}
    if answer.model is not None:
        found["content"] = {"application/json": {"schema": _reference(answer.model)}}
    if answer.headers:
        found["headers"] = {
            name: {"description": text, "schema": {"type": "string"}} for name, text in answer.headers.items()
        }
    return found


def _errors(operation: Operation) -> dict[str, Any]:
    kinds: list[type[ShardweaveError]] = [InputError, *operation.errors, TableUnavailable]
    if operation.body is not None:
        kinds += [MalformedRequest, ValidationFailed, BodyTooLarge, UnsupportedMediaType]
    by_status: dict[int, list[type[ShardweaveError]]] = defaultdict(list)
    for kind in dict.fromkeys(kinds):
        by_status[status_of(kind)].append(kind)
    responses: dict[str, Any] = {
        str(status): _problem_response(_described(status, found)) for status, found in sorted(by_status.items())
    }
    return {**responses, "default": {"$ref": "#/components/responses/Problem"}}


def _described(status: int, kinds: Iterable[type[ShardweaveError]]) -> str:
    listed = ", ".join(f"`{kind.code}`" for kind in kinds)
    return f"{HTTPStatus(status).phrase}: {listed}."


def _problem_response(description: str) -> dict[str, Any]:
    return {"description": description, "content": {MEDIA_TYPE: {"schema": _reference(Problem)}}}


def _schemas(operations: Sequence[Operation]) -> dict[str, Any]:
    models: list[type[BaseModel]] = [Problem]
    for operation in operations:
        models += [each for each in (operation.body and operation.body.model, operation.answer.model) if each]
    _, found = models_json_schema([(model, "validation") for model in dict.fromkeys(models)], ref_template=_REFERENCE)
    schemas: dict[str, Any] = found["$defs"]
    schemas["Problem"]["properties"]["type"]["examples"] = sorted(
        {TYPE_PREFIX + kind.code for kind, (status, _) in STATUSES.items() if status < 500}
    )
    return schemas


def _reference(model: type[BaseModel]) -> dict[str, Any]:
    return {"$ref": _REFERENCE.format(model=model.__name__)}
