"""`shardweave explorer`: requests are passed on to the stage with the caller's token or signature, for nobody else."""

from __future__ import annotations

import argparse
import http.client
import io
import json
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from botocore.session import Session

from shardweave.cli.console import Streams
from shardweave.cli.explorer import run, token_in, upstream_of
from shardweave.cli.forwarding import Forwarder, Upstream
from shardweave.errors import ConfigurationError
from shardweave.table.dynamodb.gateway_signature import gateway_signer
from tests.unit.cli_world import shardweave


class Stage(BaseHTTPRequestHandler):
    """An API that says what it was asked."""

    def _answer(self) -> None:
        size = int(self.headers.get("content-length", "0"))
        asked = {
            "method": self.command,
            "path": self.path,
            "headers": {name.lower(): text for name, text in self.headers.items()},
            "body": self.rfile.read(size).decode(),
        }
        body = json.dumps(asked).encode()
        self.send_response(201 if self.command == "POST" else 200)
        self.send_header("etag", '"r1"')
        self.send_header("content-security-policy", "default-src 'none'")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    do_GET = do_HEAD = do_POST = do_PATCH = do_DELETE = _answer  # noqa: N815 - as http.server has them

    def log_message(self, format: str, *arguments: object) -> None:
        """Requests are not news."""


@contextmanager
def serving(stop: Callable[[], None], wait: Callable[[], None]) -> Iterator[None]:
    thread = threading.Thread(target=wait)
    thread.start()
    try:
        yield
    finally:
        stop()
        thread.join()


@pytest.fixture
def stage() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Stage) as server, serving(server.shutdown, lambda: server.serve_forever(0.01)):
        yield f"127.0.0.1:{server.server_port}"


@pytest.fixture
def token(tmp_path: Path) -> Path:
    file = tmp_path / "token"
    file.write_text("abc.def\n")
    return file


@pytest.fixture
def forwarder(stage: str, token: Path) -> Iterator[Forwarder]:
    with Forwarder(Upstream("http", stage, "/prod"), token_in(token)) as found, serving(found.stop, found.wait):
        yield found


def ask(address: str, method: str = "GET", path: str = "", body: bytes | None = None, **headers: str) -> Any:
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.netloc, timeout=600)
    try:
        given = {name.replace("_", "-"): text for name, text in headers.items()}
        connection.request(method, parts.path + path, body, given)
        answer = connection.getresponse()
        return answer, answer.read()
    finally:
        connection.close()


def test_a_request_is_passed_on_with_the_token_and_what_the_page_sends(forwarder: Forwarder) -> None:
    answer, body = ask(
        forwarder.address,
        "POST",
        "/v1/users/query?a=%20b",
        b'{"limit": 1}',
        content_type="application/json",
        if_match='"r0"',
        cookie="secret=1",
        x_forwarded_for="eve",
    )
    asked = json.loads(body)
    assert (answer.status, answer.getheader("etag")) == (201, '"r1"')
    assert answer.getheader("content-security-policy") == "default-src 'none'"
    assert (asked["method"], asked["path"], asked["body"]) == ("POST", "/prod/v1/users/query?a=%20b", '{"limit": 1}')
    sent = asked["headers"]
    assert (sent["authorization"], sent["content-type"], sent["if-match"]) == (
        "Bearer abc.def",
        "application/json",
        '"r0"',
    )
    assert not {"cookie", "x-forwarded-for"} & sent.keys()
    assert ask(forwarder.address, "HEAD", "/explorer")[1] == b""


def test_a_new_token_in_the_file_is_used_at_once(forwarder: Forwarder, token: Path) -> None:
    token.write_text("new")
    assert json.loads(ask(forwarder.address, path="/explorer")[1])["headers"]["authorization"] == "Bearer new"
    token.unlink()
    answer, body = ask(forwarder.address, path="/explorer")
    assert (answer.status, "holds no token" in json.loads(body)["detail"]) == (502, True)


def test_only_who_knows_the_address_is_answered(forwarder: Forwarder) -> None:
    root = "/".join(forwarder.address.split("/")[:3])
    for path in ("", "/", "/explorer", "/v1/users", "/x/explorer", "//explorer"):
        assert ask(root, path=path)[0].status == 404, path
    assert ask(forwarder.address, path="/explorer", host="localhost")[0].status == 404
    assert ask(forwarder.address, path="/explorer", host="evil.example")[0].status == 404
    assert ask(forwarder.address, path="/explorer")[0].status == 200


def test_a_body_that_is_too_long_is_not_passed_on(forwarder: Forwarder) -> None:
    assert ask(forwarder.address, "POST", "/v1/users", content_length=str(2**21))[0].status == 413
    assert ask(forwarder.address, "POST", "/v1/users", content_length="-1")[0].status == 413


def test_a_stage_that_does_not_answer_is_a_problem(token: Path) -> None:
    with socket.socket() as taken:  # It listens to nobody, and no other process can.
        taken.bind(("127.0.0.1", 0))
        upstream = Upstream("http", f"127.0.0.1:{taken.getsockname()[1]}")
        with Forwarder(upstream, token_in(token)) as found, serving(found.stop, found.wait):
            answer, body = ask(found.address, path="/explorer")
    assert (answer.status, json.loads(body)["detail"]) == (502, "the API does not answer: ConnectionRefusedError")


def test_without_a_token_requests_are_signed_as_botocore_signs_them() -> None:
    session = Session()
    session.set_credentials("AKID", "secret", "session")
    sign = gateway_signer(session, "eu-central-1")
    url, body = "https://abc.example/prod/v1/users/a%20b?limit=1&x=%2F", b"{}"
    headers = sign("POST", url, body, {"host": "abc.example", "content-type": "application/json"})
    assert headers["X-Amz-Security-Token"] == "session"
    scope = f"{headers['X-Amz-Date'][:8]}/eu-central-1/execute-api/aws4_request"
    assert headers["Authorization"].startswith(
        f"AWS4-HMAC-SHA256 Credential=AKID/{scope}, SignedHeaders=content-type;host;"
    )
    again = AWSRequest("POST", url, data=body, headers={"host": "abc.example", "content-type": "application/json"})
    again.context["timestamp"] = headers["X-Amz-Date"]
    auth = SigV4Auth(Credentials("AKID", "secret", "session"), "execute-api", "eu-central-1")
    again.headers["X-Amz-Date"], again.headers["X-Amz-Security-Token"] = headers["X-Amz-Date"], "session"
    expected = auth.signature(auth.string_to_sign(again, auth.canonical_request(again)), again)
    assert headers["Authorization"].endswith(f"Signature={expected}")


def test_who_has_no_credentials_or_no_region_is_told_so(tmp_path: Path) -> None:
    session = Session(session_vars={"region": (None, "NO_SUCH_VARIABLE", None, None)})
    session.set_credentials("AKID", "secret")
    with pytest.raises(ConfigurationError, match="there is no AWS region"):
        gateway_signer(session)
    with pytest.raises(ConfigurationError, match="holds no token"):
        token_in(tmp_path / "missing")


@pytest.mark.parametrize(
    "url",
    ["abc", "http://abc.example", "https://", "https://a.example?x=1", "ftp://a", "https://a:99999", "https://u@a"],
)
def test_an_address_that_is_none_is_refused(url: str, token: Path) -> None:
    outcome = shardweave("explorer", url, "--token-file", str(token), "--no-browser")
    assert outcome.code == 2
    assert "URL: must be an https address" in outcome.errors


def test_the_address_of_a_stage_may_be_that_of_its_page() -> None:
    assert upstream_of("https://a.example/dev/explorer") == Upstream("https", "a.example", "/dev")
    assert upstream_of("http://localhost:8123/") == Upstream("http", "localhost:8123", "")


def test_the_command_says_where_the_page_is(stage: str, token: Path) -> None:
    options = argparse.Namespace(url=f"http://{stage}", token_file=token, region=None, port=0, no_browser=True)
    output = io.BytesIO()
    told: list[int] = []

    def until(forwarder: Forwarder) -> None:
        address = output.getvalue().decode().split()[1]
        with serving(forwarder.stop, forwarder.wait):
            told.append(ask(address)[0].status)

    assert run(options, Streams(io.BytesIO(), output, io.StringIO()), until) == 0
    assert told == [200]
