"""The API: a request in, an answer out, for every way that requests come in.

Guarantees: `handle` never raises; an answer that is not a success is a problem document; an operation runs only on a
request that passed its own description (path, parameters each known and given once, media type, size, JSON object).
It keeps nothing between requests and is safe for many threads.

Whoever runs it may observe each request: the route's template, the status and the time, never a value.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

from ..errors import InputError, MethodNotAllowed, RouteNotFound, ShardweaveError, UnknownName
from .bodies import read_document
from .messages import Request, Response
from .operation import Answer, Call, Operation
from .problems import INTERNAL, internal_problem, problem

MAX_BODY_BYTES = 1024 * 1024

_PARAMETER = re.compile(r"\{(\w+)\}")


@dataclass(frozen=True)
class Observation:
    """One request, as it may be logged. `route` is the path's template, empty when there is none. `problem` is the
    code of the error, `failure` what was raised when the API itself is at fault."""

    method: str
    route: str
    status: int
    milliseconds: float
    problem: str = ""
    failure: BaseException | None = None


Observe = Callable[[Observation], None]


class Api:
    """The operations of a service behind one entrance."""

    def __init__(
        self,
        operations: Sequence[Operation],
        *,
        title: str,
        description: str = "",
        version: str = "1",
        max_body_bytes: int = MAX_BODY_BYTES,
        observe: Observe | None = None,
    ) -> None:
        described = Operation(
            "GET",
            "/openapi.json",
            "getOpenApi",
            "This description",
            lambda _: Response.json(200, self.openapi),
            Answer(200, "The OpenAPI document."),
        )
        self.operations = (*operations, described)
        self.max_body_bytes = max_body_bytes
        self._information = {"title": title, "version": version, "description": description}
        self._routes = Routes(self.operations)
        self._observe = observe

    @cached_property
    def openapi(self) -> bytes:
        """The OpenAPI document."""
        from .openapi import openapi_document

        return json.dumps(openapi_document(self.operations, **self._information)).encode()

    def handle(self, request: Request) -> Response:
        """The answer to a request. HEAD is GET without the body."""
        started = time.perf_counter()
        route, code = "", ""
        failure: BaseException | None = None
        try:
            operation, path = self._routes.find("GET" if request.method == "HEAD" else request.method, request.path)
            route = operation.path
            response = operation.run(self._call(operation, request, path))
        except ShardweaveError as error:
            response, code = problem(error), error.code
            failure = error if response.status == 500 else None
        except Exception as error:  # noqa: BLE001 - the one place where a fault of the API itself becomes an answer
            response, code, failure = internal_problem(), INTERNAL, error
        if self._observe is not None:
            spent = (time.perf_counter() - started) * 1000
            self._observe(Observation(request.method, route, response.status, spent, code, failure))
        return Response(response.status, b"", response.headers) if request.method == "HEAD" else response

    def _call(self, operation: Operation, request: Request, path: dict[str, str]) -> Call:
        query = _checked_query(operation, request)
        if operation.body is None:
            return Call(request, path, query)
        return Call(request, path, query, read_document(request, operation.body, self.max_body_bytes))


def _checked_query(operation: Operation, request: Request) -> dict[str, str]:
    allowed = [parameter.name for parameter in operation.query_parameters]
    found: dict[str, str] = {}
    for name, value in request.query:
        if name not in allowed:
            fix = f"use some of {', '.join(allowed)}" if allowed else "leave it out, there are none here"
            raise UnknownName("there is no such query parameter", where=name[:80], fix=fix)
        if name in found:
            raise InputError("the query parameter is given more than once", where=name, fix="give it once")
        found[name] = value
    return found


class Routes:
    """Templates of paths. A template without parameters wins over one with; the last parameter of a template takes
    the rest of the path, so that a `/` in it needs no agreement on who decodes it."""

    def __init__(self, operations: Sequence[Operation]) -> None:
        self._methods: dict[str, dict[str, Operation]] = {}
        for operation in operations:
            self._methods.setdefault(operation.path, {})[operation.method] = operation
        self._patterns = [
            (_pattern(template), template) for template in sorted(self._methods) if _PARAMETER.search(template)
        ]

    def find(self, method: str, path: str) -> tuple[Operation, dict[str, str]]:
        """The operation and the path's parameters. Raises RouteNotFound, MethodNotAllowed."""
        template, values = self._template(path)
        methods = self._methods[template]
        if method not in methods:
            raise MethodNotAllowed(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
        return methods[method], values

    def _template(self, path: str) -> tuple[str, dict[str, str]]:
        if path in self._methods and not _PARAMETER.search(path):
            return path, {}
        for pattern, template in self._patterns:
            match = pattern.fullmatch(path)
            if match is not None:
                return template, match.groupdict()
        known = ", ".join(template for template in self._methods if not _PARAMETER.search(template))
        raise RouteNotFound("the API has no such path", where="path", fix=f"use one of {known}, or a path below")


def _pattern(template: str) -> re.Pattern[str]:
    parts = _PARAMETER.split(template)
    last = len(parts) - 2
    text = "".join(
        re.escape(part) if position % 2 == 0 else f"(?P<{part}>{'.+' if position == last else '[^/]+'})"
        for position, part in enumerate(parts)
    )
    return re.compile(text, re.DOTALL)
