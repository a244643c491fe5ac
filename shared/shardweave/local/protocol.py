"""HTTP/1.1 on one connection, with limits: uvicorn's protocol, with refusals as problem documents.

Guarantees: the head of a request must be complete `head_seconds` after the connection was made, or after the first byte
of a later request, or the connection is closed, so a slow sender can't hold a connection. Nor can a slow reader: an
answer must be read within `answer_seconds`, and if the unread answers of all connections exceed `max_untaken_bytes`,
the connections whose answers have waited longest are closed. Invalid HTTP, a head over 64 KiB, more than
`MAX_PIPELINED` requests before the first answer, and a connection over the limit get a problem document (or nothing, if
another answer is being sent), and the connection is closed.
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
        """Start the time limit for the first request."""
        super().connection_made(transport)
        # Everything that the client has not read counts as waiting.
        transport.set_write_buffer_limits(high=0)
        if len(self.connections) > self.max_connections:
            self._refuse(Throttled("The server has too many connections at once."))
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Parse received bytes; stop the time limit of a head that is now complete."""
        if self.transport.is_closing():
            return
        if self._is_idle and self._head_timer is None:
            self._wait_for_head()
        self._began_later = False
        super().data_received(data)
        # The parser keeps an incomplete header to itself, so all received bytes of this head are counted.
        self._unfinished_bytes += len(data) if self._in_head and not self._began_later else 0
        if self._unfinished_bytes > MAX_HEAD_BYTES:
            self._refuse(_head_too_large())

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the time limits."""
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
        """A part of the target was received."""
        super().on_url(url)
        self._count_head(len(url))

    def on_header(self, name: bytes, value: bytes) -> None:
        """A header is complete."""
        super().on_header(name, value)
        self._count_head(len(name) + len(value) + 4)

    def on_message_complete(self) -> None:
        """A request is complete; further bytes belong to another request."""
        super().on_message_complete()
        self._began_later = True

    def on_headers_complete(self) -> None:
        """A head is complete. The target is passed on as it was sent, since the application decodes the path
        strictly."""
        self._in_head = False
        self._unfinished_bytes = 0
        self._stop_waiting()
        target, self.url = self.url, b"/"
        super().on_headers_complete()
        self.scope["raw_path"], _, self.scope["query_string"] = target.partition(b"?")
        if self.parser.should_upgrade():
            self.cycle.keep_alive = False

    def send_400_response(self, msg: str) -> None:
        """Refuse invalid HTTP."""
        del msg
        if isinstance(sys.exc_info()[1], HttpParserInvalidMethodError):
            unread = MalformedRequest("must be a method of HTTP", where="method", fix="send GET, say, in upper case")
        else:
            unread = MalformedRequest("the bytes that were sent are not an HTTP/1.1 request", fix="check the client")
        self._refuse(self._refusal or unread)

    # -- a client that does not take its answer

    def pause_writing(self) -> None:
        """Unread bytes have reached the limit of the write buffer."""
        super().pause_writing()
        self._answer_timer = self.loop.call_later(self.answer_seconds, self.transport.abort)
        self._drop_what_waits_longest()

    def resume_writing(self) -> None:
        """The client has read everything."""
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

    # -- a head that is incomplete

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
        """Whether the client would take an answer written now for the answer to the refused request."""
        if self.cycle is None or self.cycle.response_complete:
            return True
        return self.cycle.more_body and not self.cycle.response_started and not self.pipeline

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MAX_HEAD_BYTES:
            self._refuse_in_parser(_head_too_large())

    def _refuse_in_parser(self, error: ShardweaveError) -> None:
        """Refuse a request inside a call of the parser: it stops parsing, and then `send_400_response` is called."""
        self._refusal = error
        raise error

    def _refuse(self, error: ShardweaveError) -> None:
        """Answer, unless another request's answer is due first, and close the connection."""
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
