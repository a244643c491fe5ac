"""An HTTP server on the loopback interface that answers DynamoDB's requests from a script, for what no emulator does:
throttling, failures, silence, unreadable answers. boto3 is the real one, with its retries and its signing."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from shardweave.table.dynamodb import DynamoDBTable
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from tests.integration.local_server import START_SECONDS

LAYOUT = TableLayout(
    indexes=(IndexLayout("byN", KeyAttribute("hashKey"), KeyAttribute("n", "N")),), ttl_attribute="ttl"
)
"""Of the tables that a script answers for."""
UNHURRIED = {"connect_timeout": float(START_SECONDS), "read_timeout": float(START_SECONDS)}
"""However long the machine takes, an answer that comes is waited for."""


@dataclass(frozen=True)
class Reply:
    """One answer: a status with a JSON body, or `raw` bytes, and `headers` besides the usual ones. With `sent` only so
    many bytes of the body arrive before the connection closes; with `closed` it closes at once, with `silent` when the
    server is closed."""

    body: Mapping[str, Any] = field(default_factory=dict)
    status: int = 200
    raw: bytes | None = None
    silent: bool = False
    closed: bool = False
    headers: Mapping[str, str] = field(default_factory=dict)
    sent: int | None = None

    @property
    def content(self) -> bytes:
        return json.dumps(self.body).encode() if self.raw is None else self.raw


def error(code: str, message: str = "", status: int = 400, **fields: Any) -> Reply:
    """DynamoDB's form of an error."""
    return Reply({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **fields}, status)


@dataclass(frozen=True)
class Request:
    """What arrived: the operation's name, its parameters, its headers."""

    operation: str
    parameters: Mapping[str, Any]
    headers: Mapping[str, str]


class Listening(ThreadingHTTPServer):
    """Many may connect before the first of them is served; the system makes those beyond wait for a second."""

    request_queue_size = 200


class ScriptedServer:
    """Answers each request with the next reply; the last one answers all that follow."""

    def __init__(self, replies: Sequence[Reply]) -> None:
        self.requests: list[Request] = []
        self.connections = 0
        self._replies = list(replies)
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._server = Listening(("127.0.0.1", 0), self._handler())
        self._thread = threading.Thread(target=self._server.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"

    def close(self) -> None:
        self._closed.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def _answer(self, request: Request) -> Reply:
        with self._lock:
            self.requests.append(request)
            return self._replies.pop(0) if len(self._replies) > 1 else self._replies[0]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        scripted = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                with scripted._lock:
                    scripted.connections += 1

            def do_POST(self) -> None:
                parameters = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                operation = self.headers["X-Amz-Target"].partition(".")[2]
                reply = scripted._answer(Request(operation, parameters, dict(self.headers)))
                if reply.silent:
                    scripted._closed.wait()
                    return
                if reply.closed:
                    self.close_connection = True
                    return
                self.send_response(reply.status)
                self.send_header("Content-Type", "application/x-amz-json-1.0")
                self.send_header("Content-Length", str(len(reply.content)))
                for name, value in reply.headers.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.content[: reply.sent])
                self.close_connection = reply.sent is not None

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing: the tests see what arrived in `requests`."""

        return Handler


def table_over(transport: Any, layout: TableLayout, name: str, url: str, **settings: Any) -> DynamoDBTable:
    """A table over one transport, whatever other tests have around them."""
    with pytest.MonkeyPatch.context() as environment:
        for variable in [variable for variable in os.environ if variable.startswith("AWS_")]:
            environment.delenv(variable)
        environment.setenv("AWS_ACCESS_KEY_ID", "test")
        environment.setenv("AWS_SECRET_ACCESS_KEY", "test")
        chosen = {**UNHURRIED, **settings}
        return DynamoDBTable(layout, name, endpoint_url=url, region="us-east-1", transport=transport, **chosen)


Script = Callable[..., tuple[DynamoDBTable, ScriptedServer]]
"""Makes a table of LAYOUT, and the server that answers its requests with the given replies."""
