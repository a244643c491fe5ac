"""The API as an ASGI application: a request becomes the event that an HTTP API would make of it.

Requests are answered in threads, so a slow request does not block others. Writes have threads of their own, so that
writes waiting for their turn do not delay reads; so do the operator's pages. The number of requests is limited, and
requests above the limit are refused at once with 503. Each request has `request_seconds` to be answered.

The path is decoded strictly, from the bytes that were sent. A body over the limit is not kept; if its declared length
is over the limit, the request is answered before the body is read. A request must be addressed to a name of this
machine, so a web page whose own host name resolves to 127.0.0.1 gets no answer. A page of another origin, a form for
example, can't change anything unless its origin is named. The body must arrive within `body_seconds`. A request that is
cut off because the server stops gets an answer that says so.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from ..api.app import REQUEST_ID, Api, new_request_id
from ..api.bodies import too_large
from ..api.lambda_event import event_of
from ..api.problems import problem
from ..errors import (
    Forbidden,
    MalformedRequest,
    MethodNotAllowed,
    OutcomeUnknown,
    RequestTimeout,
    ShardweaveError,
)
from .cross_origin import NO_ORIGINS, NamedOrigins
from .workers import REQUEST_SECONDS, Deadline, Workers

Message = Mapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
Event = Mapping[str, Any]
Page = Callable[[Event], dict[str, Any]]
"""A function that answers a request outside the API, given its event."""

BODY_SECONDS = 30.0

DRAINED_BYTES = 16 * 1024 * 1024
"""How much of a too large body is read and dropped, so that the sender gets to reading the answer."""

WAITING_READS, WAITING_WRITES, WAITING_PAGES = 240, 56, 14
PAGE_THREADS = 2

_PAGE_METHODS = ("GET", "HEAD")
_SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
_SAME_SITE = ("same-origin", "none")


class AsgiApi:
    """One API and the pages beside it. `threads` threads answer reads, and half as many answer writes. `authorize`
    returns the authorizer's part of an event for a request's headers. Pages of the named `origins` may use the API too.
    `answers` counts the answers by method and status."""

    def __init__(
        self,
        api: Api,
        pages: Mapping[str, Page],
        threads: int,
        *,
        body_seconds: float = BODY_SECONDS,
        request_seconds: float = REQUEST_SECONDS,
        authorize: Callable[[Mapping[str, str]], dict[str, Any]] = lambda headers: {},
        origins: NamedOrigins = NO_ORIGINS,
    ) -> None:
        self._api = api
        self._origins = origins
        self._authorize = authorize
        self._body_seconds = body_seconds
        self._request_seconds = request_seconds
        self._pages = pages
        self._questions = {each.path for each in api.operations if each.method == "POST" and not each.is_audited}
        self.reads = Workers("read", threads, WAITING_READS)
        self.writes = Workers("write", max(1, threads // 2), WAITING_WRITES)
        self._page_workers = Workers("page", PAGE_THREADS, WAITING_PAGES)
        self.answers = Counter[str]()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        await self._send_answer(scope, send, await self._answer(scope, receive, new_request_id()))
        if self._declares_too_much(_headers(scope)):
            await self._drop_body(scope, receive)
        await send({"type": "http.response.body", "body": b""})

    def close(self) -> None:
        """Accept no more requests. Running ones end by themselves, at the latest when the table is closed."""
        for workers in (self.reads, self.writes, self._page_workers):
            workers.close()

    async def _send_answer(self, scope: Message, send: Send, answer: dict[str, Any]) -> None:
        """Send everything but the end. Until the client has taken it, only the connection keeps what was sent."""
        self.answers[f"{scope['method']} {answer['statusCode']}"] += 1
        body = answer.pop("body").encode()
        bodiless = answer["statusCode"] in (204, 304) or scope["method"] == "HEAD"
        headers = {**answer["headers"], **({} if bodiless else {"content-length": str(len(body))})}
        encoded = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": answer["statusCode"], "headers": encoded})
        await send({"type": "http.response.body", "body": b"" if bodiless else body, "more_body": True})

    async def _answer(self, scope: Message, receive: Receive, request_id: str) -> dict[str, Any]:
        try:
            answer = await self._answer_or_raise(scope, receive, request_id)
        except ShardweaveError as error:
            answer = problem(error).as_lambda_answer()
            # The rest of the body is not waited for.
            answer["headers"] = {**answer["headers"], "connection": "close"}
        except asyncio.CancelledError:
            stopped = OutcomeUnknown("the server stopped while it carried out the request", fix="ask again, and see")
            answer = problem(stopped).as_lambda_answer()
        allowed = self._origins.headers(_headers(scope))
        answer["headers"] = {REQUEST_ID: request_id, **answer["headers"], **allowed}
        return answer

    async def _answer_or_raise(self, scope: Message, receive: Receive, request_id: str) -> dict[str, Any]:
        headers = _headers(scope)
        _check_hosts(scope)
        target, headers["host"] = _target(scope["raw_path"].decode("latin-1"), headers.get("host", ""))
        _check_host(headers["host"])
        preflight = self._origins.preflight(scope["method"], headers)
        if preflight is not None:
            return preflight
        if not self._origins.holds(headers):
            _check_origin(scope["method"], headers)
        if self._declares_too_much(headers):
            raise too_large(self._api.max_body_bytes)
        body = await self._body(receive)
        query = scope["query_string"].decode("latin-1")
        event = event_of(scope["method"], target, query, headers, body, self._authorize(headers))
        event["requestContext"]["requestId"] = request_id
        return await self._run(scope["method"], event)

    async def _run(self, method: str, event: Event) -> dict[str, Any]:
        deadline = Deadline.after(self._request_seconds)
        page = self._pages.get(event["rawPath"])
        if page is not None:
            if method not in _PAGE_METHODS:
                return problem(MethodNotAllowed(_PAGE_METHODS)).as_lambda_answer()
            return await self._page_workers.run(lambda: page(event), deadline)
        is_read = method in _SAFE_METHODS or event["rawPath"] in self._questions
        workers = self.reads if is_read else self.writes
        return await workers.run(lambda: self._api.resolve(event, deadline), deadline)

    async def _body(self, receive: Receive) -> bytes:
        """The whole body. Raises RequestTimeout, also when the server stops first; see `_read_body`."""
        try:
            async with asyncio.timeout(self._body_seconds):
                return await _read_body(receive, self._api.max_body_bytes)
        except TimeoutError:
            message = f"the body did not come within {self._body_seconds:g} seconds"
        except asyncio.CancelledError:
            message = "the body did not come before the server stopped"
        raise RequestTimeout(message, where="body", fix="send it whole, at once")

    def _declares_too_much(self, headers: Mapping[str, str]) -> bool:
        return int(headers.get("content-length", "0")) > self._api.max_body_bytes

    async def _drop_body(self, scope: Message, receive: Receive) -> None:
        """Read and drop a body whose request was answered already. A sender that asked whether to send its body will
        not send it."""
        if "expect" in _headers(scope):
            return
        # The whole answer has been sent, so nothing that ends this early can affect it.
        with contextlib.suppress(TimeoutError, asyncio.CancelledError, ShardweaveError):
            async with asyncio.timeout(self._body_seconds):
                await _read_body(receive, 0)


def _headers(scope: Message) -> dict[str, str]:
    found: dict[str, str] = {}
    for raw_name, raw_value in scope["headers"]:
        name, value = raw_name.decode("latin-1").lower(), raw_value.decode("latin-1")
        found[name] = f"{found[name]}, {value}" if name in found else value
    return found


def _target(raw: str, host: str) -> tuple[str, str]:
    """The requested path, and the host. A target that is a whole URL, as proxies send it, contains both, and then the
    Host header does not count (RFC 9112, section 3.2.2)."""
    scheme, separator, rest = raw.partition("://")
    if not separator or scheme.lower() not in ("http", "https"):
        return raw, host
    authority, slash, path = rest.partition("/")
    return (slash + path) or "/", authority


def _check_host(host: str) -> None:
    name = host.rsplit("]", 1)[0].lstrip("[") if host.startswith("[") else host.partition(":")[0]
    if not name or name.lower() == "localhost":
        return
    try:
        if ipaddress.ip_address(name).is_loopback:
            return
    except ValueError:
        pass
    raise MalformedRequest("the request is addressed to another machine", where="host", fix="use 127.0.0.1")


def _check_hosts(scope: Message) -> None:
    """Check that there is one Host header: two could contradict each other (RFC 9112, section 3.2). Raises
    MalformedRequest."""
    hosts = sum(name.lower() == b"host" for name, _ in scope["headers"])
    if hosts > 1 or (not hosts and scope.get("http_version") == "1.1"):
        raise MalformedRequest(f"the request has {hosts or 'no'} Host headers", where="host", fix="send one")


def _check_origin(method: str, headers: Mapping[str, str]) -> None:
    """Refuse a changing request from a page of another origin: a page can make a browser send a form without a
    preflight request. Browsers say so in a header, other clients send none. Raises Forbidden."""
    if method in _SAFE_METHODS:
        return
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    same = site in _SAME_SITE if site is not None else origin is None or urlsplit(origin).netloc == headers["host"]
    if not same:
        message = "what a page of another origin sends changes nothing here"
        raise Forbidden(
            message,
            where="origin",
            fix="send it from a page of this server, or start that with --cors-origin and the page's origin",
        )


async def _read_body(receive: Receive, limit: int) -> bytes:
    """The whole body. Raises BodyTooLarge after dropping a part of a too large body, RequestTimeout if the connection
    ends before the body does."""
    chunks: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise RequestTimeout("the connection ended before the body did", where="body", fix="send it whole")
        chunk = message.get("body", b"")
        size += len(chunk)
        if size <= limit:
            chunks.append(chunk)
        if not message.get("more_body", False) or size > limit + DRAINED_BYTES:
            break
    if size > limit:
        raise too_large(limit)
    return b"".join(chunks)
