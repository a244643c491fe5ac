"""An address of a deployed API's own, as each has on the internet: an emulator answers all of them on one."""

from __future__ import annotations

import http.client
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from shardweave.cdk.deployed_api import TIMEOUT_SECONDS, DeployedApi

OF_A_CONNECTION = {"connection", "transfer-encoding", "content-length", "host"}


@contextmanager
def front(api: DeployedApi) -> Iterator[str]:
    """The address, at which every request is sent to the API as it came."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _passing_to(api))
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()


def _passing_to(api: DeployedApi) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _answer(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", "0")))
            sent = {name: text for name, text in self.headers.items() if name.lower() not in OF_A_CONNECTION}
            connection = http.client.HTTPConnection(api.address, timeout=TIMEOUT_SECONDS)
            try:
                connection.request(self.command, self.path, body or None, {**sent, "Host": api.host})
                answer = connection.getresponse()
                given = answer.read()
            finally:
                connection.close()
            self.send_response(answer.status)
            for name, text in answer.getheaders():
                if name.lower() not in OF_A_CONNECTION:
                    self.send_header(name, text)
            self.send_header("content-length", str(len(given)))
            self.end_headers()
            self.wfile.write(given)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _answer  # noqa: N815 - as http.server has them

        def log_message(self, format: str, *arguments: object) -> None:
            """Requests are not news."""

    return Handler
