"""Operations as routes of Powertools: one module knows the framework.

Powertools matches paths, calls handlers, turns errors into answers and makes the OpenAPI document, which it reads from
the signatures that are made here. A handler checks the query and the body itself: Powertools would validate in Python's
lax mode, where `"1"` is a number, and its errors are no problem documents.

A resolver keeps the request that it is at work on, so there is one for each thread. See
docs/decisions/0015-powertools-serves-the-api.md.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import Annotated, Any

from aws_lambda_powertools.event_handler import APIGatewayHttpResolver
from aws_lambda_powertools.event_handler import Response as RouterResponse
from aws_lambda_powertools.event_handler.exceptions import NotFoundError
from aws_lambda_powertools.event_handler.openapi import params
from aws_lambda_powertools.event_handler.openapi.types import OpenAPIResponse

from ..errors import (
    BodyTooLarge,
    InputError,
    LimitExceeded,
    MalformedRequest,
    MethodNotAllowed,
    NotFound,
    RateExceeded,
    ReshardUnreadable,
    RouteNotFound,
    ShardMapChanged,
    ShardweaveError,
    TableUnavailable,
    UnknownName,
    Unreadable,
    UnsupportedMediaType,
    ValidationFailed,
)
from ..store.noticed import Noticed, noticing
from ..wire.key_paths import key_of_part
from ..wire.parameter import Parameter
from .audit import AuditEntry, audit_entry
from .authorizer_claims import Caller, caller_of
from .bodies import read_document
from .http import JSON, PageFacts, Response, decode_query
from .operation import Answer, Beside, Call, Operation, model_of
from .paths import Paths, router_rule, unseal
from .preconditions import IF_MATCH, IF_NONE_MATCH
from .problems import INTERNAL, MEDIA_TYPE, Problem, internal_problem, is_failure, problem, status_of
from .rate_limit import RateLimit


@dataclass
class Exchange:
    """The facts about one request that become known while it is answered, and its time limit."""

    time_left_ms: int | None = None
    request_id: str = ""
    route: str = ""
    problem: str = ""
    failure: BaseException | None = None
    page: PageFacts | None = None
    failing: bool = False
    audit: AuditEntry | None = None
    unreadable: tuple[Unreadable, ...] = ()
    noticed: Noticed = field(default_factory=dict)
    beside: list[Beside] = field(default_factory=list)

    def says(self, error: ShardweaveError) -> None:
        """An error is answered, alone or beside what went well: the first is named, and what fails is no less so for
        it."""
        self.problem = self.problem or error.code
        self.failing = self.failing or is_failure(error)
        if problem(error).status == HTTPStatus.INTERNAL_SERVER_ERROR:
            self.failure = self.failure or error


EXCHANGE = "exchange"
"""The name of the Exchange in a resolver's context."""
UNAVAILABLE = (TableUnavailable, ShardMapChanged, ReshardUnreadable)
"""The errors of every operation that uses the table."""


def build_router(
    operations: Sequence[Operation],
    paths: Paths,
    max_body_bytes: int,
    claims: Sequence[str] = (),
    limit: RateLimit | None = None,
) -> APIGatewayHttpResolver:
    """A resolver for the events of an HTTP API, for one thread. `claims` together are a caller's tenant, `limit` is
    what one may ask for."""
    router = APIGatewayHttpResolver(enable_validation=False, debug=False)
    posted = frozenset(each.path for each in operations if each.method == "POST")
    for operation in operations:
        handler = _handler(router, operation, max_body_bytes, claims, limit if operation.counted else None, posted)
        for method in (operation.method, "HEAD") if operation.method == "GET" else (operation.method,):
            for path in operation.paths:
                router.route(router_rule(path), method=method)(handler)
    _answer_errors(router, paths)
    return router


def describing_router(operations: Sequence[Operation], *, limited: bool = False) -> APIGatewayHttpResolver:
    """A resolver that answers nothing and can be asked for the OpenAPI document. It needs the forms of all bodies and
    answers, which take longer to make than most requests to answer. `limited`: a tenant may ask for so much."""
    router = APIGatewayHttpResolver(enable_validation=False, debug=False)
    for operation in operations:
        router.route(
            router_rule(operation.described_path),
            method=operation.method,
            summary=operation.summary,
            description=operation.full_description,
            tags=[operation.tag] if operation.tag else None,
            operation_id=operation.name,
            responses=_responses(operation, limited=limited and operation.counted),
        )(_described_handler(operation))
    return router


def _handler(
    router: APIGatewayHttpResolver,
    operation: Operation,
    max_body_bytes: int,
    claims: Sequence[str],
    limit: RateLimit | None,
    posted: frozenset[str],
) -> Callable[..., Any]:
    audited = operation.is_audited

    def handle(**keys: str) -> RouterResponse[str]:
        event, exchange = router.current_event, router.context[EXCHANGE]
        exchange.route = operation.path
        caller = caller_of(event.raw_event)
        if claims:
            caller = caller.acting_for(claims)
        who = Call(
            path=_path_values(operation, {name: key_of_part(unseal(key)) for name, key in keys.items()}, caller),
            time_left_ms=exchange.time_left_ms,
            caller=caller,
            operation=operation.name,
        )
        exchange.beside = who.beside
        if audited:
            exchange.audit = audit_entry(operation, who, None)
        raw, posts = event.raw_query_string, bool(keys) and event.path in posted
        with nullcontext() if limit is None else limit.spending(who.caller), noticing() as exchange.noticed:
            call = replace(
                who,
                query=_checked_query(operation, decode_query(raw) if raw else (), posts=posts),
                document={} if operation.body is None else read_document(event, operation.body, max_body_bytes),
                headers=_headers(operation, event.headers),
            )
            response = _run(operation, call, posts=posts)
        exchange.page, exchange.unreadable = response.page, response.unreadable
        if audited:
            exchange.audit = audit_entry(operation, call, response)
        for error in response.failures:
            exchange.says(error)
        return _answered(response)

    return handle


def _path_values(operation: Operation, given: Mapping[str, str], caller: Caller) -> Mapping[str, str]:
    """The values of all path parameters: of a short path, also what the caller's claims say. (A caller without the
    claim is refused by the operation.)"""
    if operation.claims.keys() <= given.keys():
        return given
    said = {name: caller.claims.get(claim, "") for name, claim in operation.claims.items()}
    return {each.name: given.get(each.name, said.get(each.name, "")) for each in operation.path_parameters}


def _run(operation: Operation, call: Call, *, posts: bool) -> Response:
    """The operation's answer. `posts`: as in `_checked_query`."""
    try:
        return operation.run(call)
    except NotFound as error:
        if posts:
            error.fix += _is_posted(operation)
        raise


def _is_posted(operation: Operation) -> str:
    return f"; {operation.method} takes the path's end for a record's key, POST asks what it names"


def _answered(response: Response) -> RouterResponse[str]:
    return RouterResponse(response.status, body=response.body.decode(), headers=dict(response.all_headers))


def _headers(operation: Operation, given: Mapping[str, str]) -> dict[str, str]:
    """The headers that an operation takes, names in lower case. Raises MalformedRequest for a condition that it does
    not have, which must not be taken for none."""
    names = [parameter.name.lower() for parameter in operation.header_parameters]
    for name in (IF_MATCH, IF_NONE_MATCH):
        if name not in names and given.get(name) is not None:
            raise MalformedRequest("this request has no such condition", where=name, fix="leave it out")
    return {name: given[name] for name in names if given.get(name) is not None}


def _checked_query(operation: Operation, pairs: Sequence[tuple[str, str]], *, posts: bool) -> dict[str, str]:
    """The query parameters that say something: one that is given at its default is as one that is not given. `posts`:
    the path, here that of a record, is that of another operation by POST. Raises UnknownName, InputError."""
    allowed = [parameter.name for parameter in operation.query_parameters]
    found: dict[str, str] = {}
    for name, value in pairs:
        if name not in allowed and not any(each.has(name) for each in operation.families):
            fix = operation.instead.get(name.partition(".")[0], "")
            named = [*allowed, *(each.shown for each in operation.families)]
            fix = fix or (f"use some of {', '.join(named)}" if named else "leave it out, there are none here")
            if posts:
                fix += _is_posted(operation)
            raise UnknownName("there is no such query parameter", where=name[:80], fix=fix)
        if name in found:
            raise InputError("the query parameter is given more than once", where=name, fix="give it once")
        found[name] = value
    for parameter in operation.query_parameters:
        if parameter.required and parameter.name not in found:
            raise InputError("the query parameter is missing", where=parameter.name, fix="give it")
        if parameter.default is not None and found.get(parameter.name) == parameter.default_text:
            del found[parameter.name]
    return found


# -- errors -----------------------------------------------------------------------------------------------------------


def _answer_errors(router: APIGatewayHttpResolver, paths: Paths) -> None:
    def not_found(error: NotFoundError) -> RouterResponse[str]:
        methods = paths.methods(router.current_event.path)
        if methods:
            raise MethodNotAllowed(methods)
        fix = f"use {' or '.join(paths.near(unseal(router.current_event.path)))}; /openapi.json has all paths"
        raise RouteNotFound("the API has no such path", where="path", fix=fix)

    def refused(error: ShardweaveError) -> RouterResponse[str]:
        router.context[EXCHANGE].says(error)
        return _answered(problem(error))

    def failed(error: Exception) -> RouterResponse[str]:
        exchange = router.context[EXCHANGE]
        exchange.problem, exchange.failure, exchange.failing = INTERNAL, error, True
        return _answered(internal_problem())

    router.not_found(not_found)
    router.exception_handler(ShardweaveError)(refused)
    router.exception_handler(Exception)(failed)


# -- what the OpenAPI document is made from ---------------------------------------------------------------------------


def _described_handler(operation: Operation) -> Callable[..., Any]:
    def handle() -> None:
        """Only its signature is read."""

    handle.__name__ = operation.name
    handle.__signature__ = _signature(operation)  # type: ignore[attr-defined]
    return handle


def _signature(operation: Operation) -> inspect.Signature:
    """The signature of a handler that would take everything by its name."""
    shown = [each for each in operation.path_parameters if each.name not in operation.claims]
    found = [_path_argument(each) for each in shown]
    found += [_query_argument(number, each) for number, each in enumerate(operation.query_parameters)]
    found += [_header_argument(number, each) for number, each in enumerate(operation.header_parameters)]
    if operation.body is not None:
        media_type = operation.body.media_types[0]
        found.append(_argument("body", Annotated[model_of(operation.body.model), params.Body(media_type=media_type)]))
    return inspect.Signature(found)


def _path_argument(parameter: Parameter) -> inspect.Parameter:
    described = params.Path(title=parameter.name, description=parameter.description)
    return _argument(parameter.name, Annotated[parameter.annotation, described])


def _query_argument(number: int, parameter: Parameter) -> inspect.Parameter:
    described = params.Query(alias=parameter.name, title=parameter.name, description=parameter.description)
    default = inspect.Parameter.empty if parameter.required else parameter.default
    return _argument(f"query_{number}", Annotated[parameter.annotation, described], default)


def _header_argument(number: int, parameter: Parameter) -> inspect.Parameter:
    described = params.Header(alias=parameter.name, title=parameter.name, description=parameter.description)
    return _argument(f"header_{number}", Annotated[parameter.annotation, described], parameter.default)


def _argument(name: str, annotation: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)


def _responses(operation: Operation, *, limited: bool) -> dict[int, OpenAPIResponse]:
    well = {answer.status: _described(answer) for answer in (operation.answer, *operation.also)}
    return {**well, **_problems(operation, limited=limited)}


def _described(answer: Answer) -> OpenAPIResponse:
    return {
        "description": answer.description,
        "headers": {name: {"description": text, "schema": {"type": "string"}} for name, text in answer.headers.items()},
        "content": {} if answer.model is None else {JSON: {"model": model_of(answer.model)}},
    }


def _problems(operation: Operation, *, limited: bool) -> dict[int, OpenAPIResponse]:
    kinds: list[type[ShardweaveError]] = [InputError, *operation.errors, *UNAVAILABLE]
    if limited:
        kinds.append(RateExceeded)
    if operation.body is not None:
        kinds += [MalformedRequest, LimitExceeded, ValidationFailed, BodyTooLarge, UnsupportedMediaType]
    codes: dict[int, list[str]] = defaultdict(list)
    for kind in dict.fromkeys(kinds):
        codes[status_of(kind)].append(f"`{kind.code}`")
    codes[HTTPStatus.INTERNAL_SERVER_ERROR].append(f"`{INTERNAL}`")
    return {
        status: {
            "description": f"{HTTPStatus(status).phrase}: {', '.join(codes[status])}.",
            "content": {MEDIA_TYPE: {"model": Problem}},
        }
        for status in sorted(codes)
    }
