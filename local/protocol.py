"""HTTP/1.1 on one connection, with limits: uvicorn's protocol, whose refusals are problem documents here too.

Guarantees: the head of a request is whole `head_seconds` after the connection was made, or after the first byte of a
later request, else the connection ends; so nobody holds one by sending slowly. What is no HTTP, a head over 64 KiB, and
a connection over the limit are answered with a problem document, and the connection is closed.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from shardweave.api.application import REQUEST_ID, new_request_id
from shardweave.api.problems import problem
from shardweave.errors import LimitExceeded, MalformedRequest, RequestTimeout, ShardweaveError, Throttled

MAX_CONNECTIONS = 1000
MAX_HEAD_BYTES = 64 * 1024
HEAD_SECONDS = 10.0
_TOO_LARGE = 431


class LimitedProtocol(H11Protocol):
    """One connection."""

    head_seconds = HEAD_SECONDS
    max_connections = MAX_CONNECTIONS

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._head_timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        if len(self.connections) > self.max_connections:
            self._refuse(Throttled("The server has too many connections at once."))
        else:
            self._wait_for_head()

    def data_received(self, data: bytes) -> None:
        """Take what came; a head that is whole by then is waited for no more."""
        if self.transport.is_closing():
            return
        if self._head_timer is None and self.conn.their_state is h11.IDLE:
            self._wait_for_head()
        super().data_received(data)
        if self.conn.their_state is not h11.IDLE:
            self._stop_waiting()

    def connection_lost(self, exc: Exception | None) -> None:
        """End the waiting."""
        self._stop_waiting()
        super().connection_lost(exc)

    def send_400_response(self, msg: str) -> None:
        """Refuse what can't be read; it is called while the parser's error is handled."""
        if getattr(sys.exc_info()[1], "error_status_hint", 400) == _TOO_LARGE:
            message = f"the request's line and headers have more than {MAX_HEAD_BYTES} bytes"
            self._refuse(LimitExceeded(message, where="headers", fix="send less, or use POST .../query"))
        else:
            self._refuse(MalformedRequest("the bytes that were sent are no HTTP/1.1 request", fix="check the client"))

    def _wait_for_head(self) -> None:
        self._head_timer = self.loop.call_later(self.head_seconds, self._head_is_late)

    def _stop_waiting(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _head_is_late(self) -> None:
        self._head_timer = None
        if self.transport.is_closing() or self.conn.their_state is not h11.IDLE:
            return
        if self.conn.trailing_data[0]:
            message = f"the request's line and headers did not come within {self.head_seconds:g} seconds"
            self._refuse(RequestTimeout(message, fix="send it at once"))
        else:
            self.transport.close()

    def _refuse(self, error: ShardweaveError) -> None:
        """Answer when nothing was answered yet, and close the connection."""
        self._stop_waiting()
        if self.conn.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            answer = problem(error)
            named = {REQUEST_ID: new_request_id()}
            headers = {**answer.all_headers, **named, "content-length": str(len(answer.body)), "connection": "close"}
            for event in (
                h11.Response(status_code=answer.status, headers=list(headers.items())),
                h11.Data(data=answer.body),
                h11.EndOfMessage(),
            ):
                self.transport.write(self.conn.send(event) or b"")
        self.transport.close()
