"""HTTP/1.1 on one connection, with limits: uvicorn's protocol, whose refusals are problem documents here too.

Guarantees: the head of a request is whole `head_seconds` after the connection was made, or after the first byte of a
later request, else the connection ends; so nobody holds one by sending slowly. Nor by reading slowly: an answer is
taken within `answer_seconds`, and where the answers that wait together exceed `max_untaken_bytes`, those that have
waited longest are dropped with their connections. What is no HTTP, a head over 64 KiB, more than `MAX_PIPELINED`
requests before the first answer, and a connection over the limit are answered with a problem document, or with nothing
where an answer is under way, and the connection is closed.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

from httptools import HttpParserInvalidMethodError
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from ..api.app import REQUEST_ID, new_request_id
from ..api.problems import problem
from ..errors import LimitExceeded, MalformedRequest, RequestTimeout, ShardweaveError, Throttled

MAX_CONNECTIONS = 1000
MAX_HEAD_BYTES = 64 * 1024
MAX_PIPELINED = 16
MAX_UNTAKEN_BYTES = 64 * 1024 * 1024
HEAD_SECONDS = 10.0
ANSWER_SECONDS = 30.0


class LimitedProtocol(HttpToolsProtocol):
    """One connection."""

    head_seconds = HEAD_SECONDS
    answer_seconds = ANSWER_SECONDS
    max_connections = MAX_CONNECTIONS
    max_untaken_bytes = MAX_UNTAKEN_BYTES

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None
        self._answer_timer: asyncio.TimerHandle | None = None
        self._in_head = False
        self._head_bytes = self._unfinished_bytes = 0
        self._began_later = False
        self._refusal: ShardweaveError | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        # Whatever the client has not taken counts as waiting.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.max_connections:
            self._refuse(Throttled("The server has too many connections at once."))
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take what came; a head that is whole by then is waited for no more."""
        if self.transport.is_closing():
            return
        if self._is_idle and self._head_timer is None:
            self._wait_for_head()
        self._began_later = False
        super().data_received(data)
        # The parser keeps a header to itself until it is whole, so all that came for this head is counted.
        self._unfinished_bytes += len(data) if self._in_head and not self._began_later else 0
        if self._unfinished_bytes > MAX_HEAD_BYTES:
            self._refuse(_head_too_large())

    def connection_lost(self, exc: Exception | None) -> None:
        """End the waiting."""
        self._stop_waiting()
        self._stop_waiting_for_reader()
        super().connection_lost(exc)

    # -- the parser's calls

    def on_message_begin(self) -> None:
        """A request begins."""
        super().on_message_begin()
        self._in_head = True
        self._head_bytes = self._unfinished_bytes = 0
        if len(self.pipeline) >= MAX_PIPELINED:
            self._refuse_in_parser(Throttled("More requests were sent at once than are answered on one connection."))

    def on_url(self, url: bytes) -> None:
        """A part of the target came."""
        super().on_url(url)
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header is whole."""
        super().on_header(name, value)
        self._count_head(len(name) + len(value) + 4)

    def on_message_complete(self) -> None:
        """A request is whole; what comes after it is another one."""
        super().on_message_complete()
        self._began_later = True

    def on_headers_complete(self) -> None:
        """A head is whole. The target is left as it was sent: the application reads it, and its path strictly."""
        self._in_head = False
        self._unfinished_bytes = 0
        self._stop_waiting()
        target, self.url = self.url, b"/"
        super().on_headers_complete()
        self.scope["raw_path"], _, self.scope["query_string"] = target.partition(b"?")
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Refuse what can't be read."""
        del msg
        if isinstance(sys.exc_info()[1], HttpParserInvalidMethodError):
            unread = MalformedRequest("must be a method of HTTP", where="method", fix="send GET, say, in upper case")
        else:
            unread = MalformedRequest("the bytes that were sent are not an HTTP/1.1 request", fix="check the client")
        self._refuse(self._refusal or unread)

    # -- a client that does not take its answer

    def pause_writing(self) -> None:
        """Something waits for the client to take it."""
        super().pause_writing()
        self._answer_timer = self.loop.call_later(self.answer_seconds, self.transport.abort)
        self._drop_what_waits_longest()

    def resume_writing(self) -> None:
        """All was taken."""
        super().resume_writing()
        self._stop_waiting_for_reader()

    @property
    def _untaken_bytes(self) -> int:
        return self.transport.get_write_buffer_size()

    def _drop_what_waits_longest(self) -> None:
        waiting = [each for each in self.connections if isinstance(each, LimitedProtocol) and each._answer_timer]
        excess = sum(each._untaken_bytes for each in waiting) - self.max_untaken_bytes
        for each in sorted(waiting, key=_answer_due):
            if excess <= 0 or each is self:
                return
            excess -= each._untaken_bytes
            each.transport.abort()

    def _stop_waiting_for_reader(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None

    # -- a head that does not come

    @property
    def _is_idle(self) -> bool:
        return self._in_head or self.cycle is None or self.cycle.response_complete

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._head_is_late)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self._in_head:
            message = f"the request's line and headers did not come within {self.head_seconds:g} seconds"
            self._refuse(RequestTimeout(message, fix="send it at once"))
        else:
            self.transport.close()

    # -- refusals

    @property
    def _may_refuse(self) -> bool:
        """Whether what is written now is taken for the answer to what is refused."""
        if self.cycle is None or self.cycle.response_complete:
            return True
        return self.cycle.more_body and not self.cycle.response_started and not self.pipeline

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse_in_parser(_head_too_large())

    def _refuse_in_parser(self, error: ShardweaveError) -> None:
        """Refuse while the parser calls: it ends what it is at, and has `send_400_response` called."""
        self._refusal = error
        raise error

    def _refuse(self, error: ShardweaveError) -> None:
        """Answer where no other request is due an answer, and close the connection."""
        self._stop_waiting()
        if self._may_refuse:
            self.transport.write(_refusal_bytes(error))
        self.transport.close()


def _answer_due(connection: LimitedProtocol) -> float:
    timer = connection._answer_timer
    return 0.0 if timer is None else timer.when()


def _head_too_large() -> LimitExceeded:
    message = f"the request's line and headers have more than {MAX_HEAD_BYTES} bytes"
    return LimitExceeded(message, where="headers", fix="send less, or use POST .../query")


def _refusal_bytes(error: ShardweaveError) -> bytes:
    answer = problem(error)
    named = {REQUEST_ID: new_request_id(), "content-length": str(len(answer.body)), "connection": "close"}
    lines = [f"{name}: {value}\r\n".encode("latin-1") for name, value in {**answer.all_headers, **named}.items()]
    return b"".join([STATUS_LINE[answer.status], *lines, b"\r\n", answer.body])
