"""The API: from an event of an HTTP API to the return value of its function, for Lambda and for the local server.

Guarantees: an answer that is not a success is a problem document; an operation runs only on a request that passed its
own description (path, parameters each known and given once, media type, size, JSON object). It keeps no state between
requests and is safe for many threads.

An observer gets the route's template, the status and the time of each request, never a value.
"""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from ..errors import Unauthenticated
from ..store.noticed import identity_of
from ..wire.unreadable import logged, unreadable_in
from .http import PageFacts, Response
from .openapi import tidied
from .operation import Answer, Call, Operation
from .paths import Paths

if TYPE_CHECKING:
    from aws_lambda_powertools.event_handler import APIGatewayHttpResolver

    from .rate_limit import RateLimit
    from .router import Exchange

MAX_BODY_BYTES = 1024 * 1024
REQUEST_ID = "x-request-id"
"""The header of every answer with the request id, which is also in the logs."""
ANSWER_MS = 500
"""The part of a function's time that is reserved for making the answer."""


@dataclass(frozen=True)
class Observation:
    """One request, as it may be logged. `route` is the path's template, empty when there is none. `problem` is the code
    of the error, `failure` what was raised when the API itself is at fault, `page` describes a list. `failing`: the
    service failed for a reason that callers can't cause. `audit` is its entry in the audit trail, `beside` the entries
    of the records that were written beside. `unreadable` are the unreadable stored records that it met, `uncounted` the
    entities of those that no query's metrics count."""

    method: str
    route: str
    status: int
    milliseconds: float
    problem: str = ""
    failure: BaseException | None = None
    page: PageFacts | None = None
    failing: bool = False
    request_id: str = ""
    audit: dict[str, Any] | None = None
    unreadable: tuple[Mapping[str, str], ...] = ()
    beside: tuple[dict[str, Any], ...] = ()
    uncounted: tuple[str, ...] = ()


Observe = Callable[[Observation], None]


class Api:
    """The operations of a service. `claims` together are a caller's tenant; `restricted`: some callers could be
    refused, so the OpenAPI document requires authentication; `limit` is the rate limit of a tenant."""

    def __init__(
        self,
        operations: Sequence[Operation],
        *,
        title: str,
        description: str = "",
        version: str = "1",
        max_body_bytes: int = MAX_BODY_BYTES,
        observe: Observe | None = None,
        claims: Sequence[str] = (),
        restricted: bool = False,
        limit: RateLimit | None = None,
    ) -> None:
        described = Operation(
            "GET",
            "/openapi.json",
            "getOpenApi",
            "This description",
            self._describe,
            Answer(200, "The OpenAPI document."),
            errors=(Unauthenticated,) if restricted else (),
            counted=False,
        )
        self._limit = limit
        self._restricted = restricted
        self.operations = (*operations, described)
        self.max_body_bytes = max_body_bytes
        self._title, self._version, self._description = title, version, description
        self._paths = Paths(self.operations)
        self._observe = observe
        self._claims = tuple(claims)
        self._threads = threading.local()

    @cached_property
    def openapi(self) -> bytes:
        """The OpenAPI document."""
        from .router import describing_router

        document = describing_router(self.operations, limited=self._limit is not None).get_openapi_json_schema(
            title=self._title,
            version=self._version,
            description=self._description,
            tags=list(dict.fromkeys(each.tag for each in self.operations if each.tag)),
        )
        return tidied(document)

    def resolve(self, event: Mapping[str, Any], context: Any = None) -> dict[str, Any]:
        """The return value of the function for an event (payload format 2.0). HEAD is GET without the body."""
        from aws_lambda_powertools.utilities.data_classes import APIGatewayProxyEventV2

        from .router import EXCHANGE, Exchange

        started = time.perf_counter()
        routed, router = self._sealed(event), self._router
        exchange = Exchange(_time_left_ms(context), event["requestContext"].get("requestId") or new_request_id())
        # Powertools keeps the event on a class that all resolvers share; the instance's own hides it from threads.
        router.current_event = APIGatewayProxyEventV2(routed)
        router.context[EXCHANGE] = exchange
        try:
            answer = router.resolve(routed, context)
        finally:
            # A thread may be idle for long, and would keep the body in memory.
            del router.current_event
        method = routed["requestContext"]["http"]["method"]
        if self._observe is not None:
            spent = (time.perf_counter() - started) * 1000
            status = answer["statusCode"]
            self._observe(_observation(method, status, spent, exchange))
        answer["headers"][REQUEST_ID] = exchange.request_id
        return {**answer, "body": ""} if method == "HEAD" else answer

    def _describe(self, call: Call) -> Response:
        if self._restricted and not call.caller.is_known:
            raise Unauthenticated("the description is for callers who say who they are", fix="send a token")
        return Response.json(200, self.openapi)

    @property
    def _router(self) -> APIGatewayHttpResolver:
        """This thread's own."""
        from .router import build_router

        if not hasattr(self._threads, "router"):
            self._threads.router = build_router(
                self.operations, self._paths, self.max_body_bytes, self._claims, self._limit
            )
        router: APIGatewayHttpResolver = self._threads.router
        return router

    def _sealed(self, event: Mapping[str, Any]) -> dict[str, Any]:
        context = event["requestContext"]
        http = {**context["http"], "method": str(context["http"]["method"]).upper()}
        path = _without_stage(str(event["rawPath"]), str(context.get("stage") or "$default"))
        return {
            **event,
            "rawPath": self._paths.seal(path),
            "rawQueryString": event.get("rawQueryString") or "",
            "requestContext": {**context, "stage": "$default", "http": http},
        }


def _observation(method: str, status: int, milliseconds: float, exchange: Exchange) -> Observation:
    said, ended = exchange.audit, (status, exchange.problem, exchange.request_id)
    beside = () if said is None else tuple(said.of_beside(each).document(*ended) for each in exchange.beside)
    raised = () if exchange.failure is None else unreadable_in(exchange.failure)
    met = {identity_of(each): each for each in (*exchange.noticed.values(), *raised)}
    for each in exchange.unreadable:
        met.pop(identity_of(each), None)
    noticed = tuple(met.values())
    return Observation(
        method,
        exchange.route,
        status,
        milliseconds,
        exchange.problem,
        exchange.failure,
        exchange.page,
        exchange.failing,
        exchange.request_id,
        None if said is None else said.document(*ended),
        tuple(map(logged, (*exchange.unreadable, *noticed))),
        beside,
        tuple(each.entity for each in noticed),
    )


def new_request_id() -> str:
    """A request id for a request without one."""
    return secrets.token_hex(8)


def _time_left_ms(context: Any) -> int | None:
    return None if context is None else max(1, context.get_remaining_time_in_millis() - ANSWER_MS)


def _without_stage(path: str, stage: str) -> str:
    prefix = f"/{stage}"
    if stage != "$default" and (path == prefix or path.startswith(prefix + "/")):
        return path[len(prefix) :] or "/"
    return path
