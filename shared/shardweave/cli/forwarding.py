"""A server on this machine that forwards requests to an API and adds the caller's credentials.

Guarantees: it listens on loopback. It forwards only requests below a random path, as long as a key, that are addressed
to it by IP address, so that neither another program nor a page of another host name can use it. The caller's token or
signature is sent only to the one API. Nothing is stored or logged.
"""

from __future__ import annotations

import http.client
import ipaddress
import json
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from hmac import compare_digest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType

from ..errors import ConfigurationError

Authorize = Callable[[str, str, bytes, dict[str, str]], Mapping[str, str]]
"""A function that returns a request's headers (given method, URL, body, headers) with the credentials. Raises
ConfigurationError."""

PASSED_ON = ("accept", "content-type", "if-match", "if-none-match", "idempotency-key")
KEPT_HERE = {"connection", "keep-alive", "transfer-encoding", "content-length", "date", "server"}
MAX_BODY_BYTES = 1024 * 1024
TIMEOUT_SECONDS = 40


@dataclass(frozen=True)
class Upstream:
    """The API: `host` may have a port, `root` is the path of a stage, empty for none."""

    scheme: str
    host: str
    root: str = ""

    def send(self, method: str, target: str, body: bytes, authorize: Authorize, headers: dict[str, str]) -> Answer:
        """The answer to one request. Raises OSError, HTTPException, ConfigurationError."""
        path = self.root + target
        signed = authorize(method, f"{self.scheme}://{self.host}{path}", body, {**headers, "host": self.host})
        kind = http.client.HTTPSConnection if self.scheme == "https" else http.client.HTTPConnection
        connection = kind(self.host, timeout=TIMEOUT_SECONDS)
        try:
            connection.request(method, path, body or None, dict(signed))
            answer = connection.getresponse()
            kept = {name: text for name, text in answer.getheaders() if name.lower() not in KEPT_HERE}
            return Answer(answer.status, kept, answer.read())
        finally:
            connection.close()


@dataclass(frozen=True)
class Answer:
    """The answer to send back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @classmethod
    def refusing(cls, status: int, detail: str) -> Answer:
        """A problem document of this server."""
        body = json.dumps({"title": "Not passed on", "status": status, "detail": detail}).encode()
        return cls(status, {"content-type": "application/problem+json", "cache-control": "no-store"}, body)


class Forwarder:
    """The server, which runs in threads of its own inside a `with` block."""

    def __init__(self, upstream: Upstream, authorize: Authorize, port: int = 0) -> None:
        self._upstream = upstream
        self._authorize = authorize
        self._secret = secrets.token_urlsafe(24)
        forwarder = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                forwarder.answer(self)

            do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = _answer  # noqa: N815 - as http.server has them

            def log_message(self, format: str, *arguments: object) -> None:
                """Log nothing: paths contain keys, and the secret."""

        try:
            self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        except (OSError, OverflowError):
            raise ConfigurationError(f"{port} can't be listened on", where="--port", fix="choose another") from None
        self._server.daemon_threads = True

    def __enter__(self) -> Forwarder:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._server.server_close()

    @property
    def address(self) -> str:
        """The URL of the API on this server, with the secret path."""
        return f"http://127.0.0.1:{self._server.server_port}/{self._secret}"

    def wait(self) -> None:
        """Answer requests until `stop` or Ctrl+C."""
        try:
            self._server.serve_forever(poll_interval=0.05)
        except KeyboardInterrupt:
            return

    def stop(self) -> None:
        """End `wait`, from another thread."""
        self._server.shutdown()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Answer one request."""
        found = self._answered(request)
        request.send_response(found.status)
        for name, text in found.headers.items():
            request.send_header(name, text)
        request.send_header("content-length", str(len(found.body)))
        request.end_headers()
        if request.command != "HEAD":
            request.wfile.write(found.body)

    def _answered(self, request: BaseHTTPRequestHandler) -> Answer:
        _, secret, rest = [*request.path.split("/", 2), "", ""][:3]
        here = f"127.0.0.1:{self._server.server_port}"
        if request.headers.get("host") != here or not compare_digest(secret.encode(), self._secret.encode()):
            request.close_connection = True
            return Answer.refusing(404, "this address is not of the Explorer that was started here")
        size = request.headers.get("content-length", "0")
        if not size.isdecimal() or int(size) > MAX_BODY_BYTES:
            request.close_connection = True
            return Answer.refusing(413, "the body is too long")
        body = request.rfile.read(int(size))
        headers = {name: request.headers[name] for name in PASSED_ON if request.headers.get(name) is not None}
        try:
            return self._upstream.send(request.command, f"/{rest}", body, self._authorize, headers)
        except ConfigurationError as error:
            return Answer.refusing(502, str(error))
        except (OSError, http.client.HTTPException) as error:
            return Answer.refusing(502, f"the API does not answer: {type(error).__name__}")


def is_loopback(host: str) -> bool:
    """Whether a host name is this machine's."""
    try:
        return host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
