"""Requests that do not come whole, and what is no request: each ends in time, with a problem document."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

from shardweave.api.problems import TYPE_PREFIX
from shardweave.local.asgi import AsgiApi
from shardweave.local.protocol import MAX_HEAD_BYTES, LimitedProtocol
from shardweave.local.server import HttpServer, listen
from tests.unit.api_world import Client, json_of, user_service

HEAD = b"POST /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 50\r\n\r\n"


class Impatient(LimitedProtocol):
    """Waits a moment, and serves two at once."""

    head_seconds = 0.1
    max_connections = 2


class Patient(LimitedProtocol):
    """Waits longer than any machine takes to send what is on its way, and serves two at once."""

    head_seconds = 600
    max_connections = 2


class Later(LimitedProtocol):
    """Waits for the first request of a connection for as long as it takes, and for the next ones a moment."""

    @property
    def head_seconds(self) -> float:  # type: ignore[override]
        return 600 if self.cycle is None else Impatient.head_seconds


@pytest.fixture(scope="module")
def address() -> Iterator[tuple[str, int]]:
    """Where an impatient server answers: for what never comes whole."""
    yield from serving(Impatient, Impatient.head_seconds)


@pytest.fixture(scope="module")
def patient() -> Iterator[tuple[str, int]]:
    """Where a patient server answers: for what comes, however slowly."""
    yield from serving(Patient)


@pytest.fixture(scope="module")
def bodiless() -> Iterator[tuple[str, int]]:
    """Where a server answers that waits for heads, and for bodies only a moment: for bodies that never come."""
    yield from serving(Patient, body_seconds=Impatient.head_seconds)


def serving(protocol: type[LimitedProtocol], body_seconds: float = 600) -> Iterator[tuple[str, int]]:
    service = user_service()
    app = AsgiApi(service.api, {}, 2, body_seconds=body_seconds)
    ready = threading.Event()
    server = HttpServer(app, ready.set, protocol)
    with listen("127.0.0.1", 0) as listening:
        thread = threading.Thread(target=lambda: server.run(sockets=[listening]))
        thread.start()
        assert ready.wait(600)
        try:
            yield listening.getsockname()[:2]
        finally:
            server.should_exit = True
            thread.join()
            app.close()
            service.close()


def answered(address: tuple[str, int], *parts: bytes) -> tuple[int, dict[str, Any]]:
    """What comes back until the server ends the connection: the status, and the problem."""
    with socket.create_connection(address, timeout=600) as raw:
        for part in parts:
            raw.sendall(part)
        return problem_from(raw)


def answered_in_time(address: tuple[str, int], *parts: bytes) -> tuple[int, dict[str, Any]]:
    """The same of an impatient server, for parts that come one by one. A machine may be too slow to send them while it
    waits: then they are sent anew."""
    while True:
        begun = time.monotonic()
        with socket.create_connection(address, timeout=600) as raw, contextlib.suppress(ConnectionError):
            for number, part in enumerate(parts):
                time.sleep(0.02 if number else 0)
                raw.sendall(part)
            if time.monotonic() - begun < Impatient.head_seconds:
                return problem_from(raw)


def problem_from(raw: socket.socket) -> tuple[int, dict[str, Any]]:
    received = b""
    while chunk := raw.recv(65536):
        received += chunk
    if not received:
        return 0, {}
    head, _, body = received.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head.lower()
    assert b"connection: close" in head.lower()
    problem = json.loads(body)
    assert problem["status"] == int(head.split()[1])
    assert problem["fix"]
    return problem["status"], problem


@pytest.mark.parametrize(
    ("sent", "status", "code"),
    [
        ((b"GET /v1/us",), 408, "request_timeout"),
        ((b"G", b"E", b"T"), 408, "request_timeout"),
        ((b"GET /v1/users HTTP/1.1\r\nHost: x",), 408, "request_timeout"),
        ((HEAD, b'{"firstName": '), 408, "request_timeout"),
        ((HEAD,), 408, "request_timeout"),
        ((b"nonsense\r\n\r\n",), 400, "malformed_request"),
        ((b"\x16\x03\x01\x00\xf7\x01\x00\r\n\r\n",), 400, "malformed_request"),
        ((b"GET /v1/users HTTP/1.1\r\nHost: x\r\nX: " + b"x" * (MAX_HEAD_BYTES + 1),), 400, "limit_exceeded"),
        ((b"GET /" + b"x" * (MAX_HEAD_BYTES + 1),), 400, "limit_exceeded"),
        ((b"POST /v1/users HTTP/1.1\r\nHost: other\r\nContent-Length: 9\r\n\r\n",), 400, "malformed_request"),
        ((), 0, ""),
    ],
)
def test_what_does_not_come_whole_or_is_no_request_ends_with_a_problem(
    address: tuple[str, int], patient: tuple[str, int], sent: tuple[bytes, ...], status: int, code: str
) -> None:
    found, problem = answered_in_time(address, *sent) if status in (0, 408) else answered(patient, *sent)
    assert found == status
    assert problem.get("type", "").removeprefix("urn:shardweave:error:") == code


def test_more_connections_than_the_server_takes_are_refused(patient: tuple[str, int]) -> None:
    with socket.create_connection(patient) as one, socket.create_connection(patient) as two:
        found, problem = answered(patient)
        assert (found, problem["title"]) == (503, "The table is busy")
        assert one.fileno() != two.fileno()


REQUEST = b"GET /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


def ask(raw: socket.socket) -> None:
    raw.sendall(REQUEST)
    received = b""
    while not received.endswith(b'"complete":true}'):
        received += raw.recv(65536)
    assert received.startswith(b"HTTP/1.1 200")


def test_a_connection_that_was_answered_may_ask_again(patient: tuple[str, int]) -> None:
    with socket.create_connection(patient, timeout=600) as raw:
        for _ in range(3):
            ask(raw)


def test_for_a_later_request_of_a_connection_the_server_waits_as_long_as_for_the_first() -> None:
    with contextlib.contextmanager(serving)(Later) as address, socket.create_connection(address, timeout=600) as raw:
        ask(raw)
        raw.sendall(REQUEST[:-5])
        assert raw.recv(65536).startswith(b"HTTP/1.1 408")


@pytest.mark.parametrize(
    ("target", "host", "status"),
    [
        (b"http://127.0.0.1:1/v1/users?limit=1", b"127.0.0.1", 200),
        (b"HTTP://localhost/v1/users", b"other", 200),
        (b"https://[::1]/v1/users", b"127.0.0.1", 200),
        (b"http://other/v1/users", b"127.0.0.1", 400),
        (b"http://127.0.0.1@other/v1/users", b"127.0.0.1", 400),
        (b"http://127.0.0.1", b"127.0.0.1", 404),
        (b"ftp://127.0.0.1/v1/users", b"127.0.0.1", 404),
        (b"/http://127.0.0.1/v1/users", b"127.0.0.1", 404),
    ],
)
def test_a_target_that_is_a_whole_url_names_the_path_and_the_host(
    patient: tuple[str, int], target: bytes, host: bytes, status: int
) -> None:
    with socket.create_connection(patient, timeout=600) as raw:
        raw.sendall(b"GET " + target + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
        assert raw.recv(65536).split()[1] == str(status).encode()


SCOPE = {
    "type": "http",
    "method": "POST",
    "raw_path": b"/v1/users",
    "query_string": b"",
    "headers": [(b"host", b"127.0.0.1"), (b"content-type", b"application/json")],
}


class Sent(list[Any]):
    """What an application sends."""

    async def send(self, message: Any) -> None:
        self.append(message)


def test_a_body_that_has_not_come_when_the_server_stops_is_said_to_be_late() -> None:
    """The server cancels what it no longer waits for."""
    app, sent = AsgiApi(user_service().api, {}, 1), Sent()

    async def run() -> None:
        started = asyncio.Event()

        async def receive() -> Any:
            started.set()
            await asyncio.sleep(6000)

        task = asyncio.get_running_loop().create_task(app(SCOPE, receive, sent.send))
        await asyncio.wait_for(started.wait(), 600)
        task.cancel()
        await task

    asyncio.run(run())
    app.close()
    assert sent[0]["status"] == 408
    assert json.loads(sent[1]["body"])["detail"] == "the body did not come before the server stopped"


TOO_LONG = b"POST /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1048577\r\n"


@pytest.mark.parametrize("more", [b"", b"Expect: 100-continue\r\n"])
def test_a_body_that_is_declared_too_long_is_refused_before_any_of_it_was_sent(
    bodiless: tuple[str, int], more: bytes
) -> None:
    status, problem = answered(bodiless, TOO_LONG + more + b"\r\n")
    assert (status, problem["type"].removeprefix(TYPE_PREFIX)) == (413, "body_too_large")


def test_whoever_sends_a_body_that_is_declared_too_long_comes_to_the_answer(patient: tuple[str, int]) -> None:
    status, _ = answered(patient, TOO_LONG + b"\r\n", bytes(1024 * 1024 + 1))
    assert status == 413


def test_a_body_may_be_declared_as_long_as_the_limit(bodiless: tuple[str, int]) -> None:
    status, problem = answered(bodiless, TOO_LONG.replace(b"1048577", b"1048576") + b"Content-Type: x/y\r\n\r\n")
    assert (status, problem["type"].removeprefix(TYPE_PREFIX)) == (408, "request_timeout")


def test_a_client_that_goes_away_in_the_middle_of_a_body_changes_nothing() -> None:
    service = user_service()
    app, sent = AsgiApi(service.api, {}, 1), Sent()
    whole = json.dumps({"firstName": "A", "lastName": "B", "beneficiaryId": "b"}).encode()
    messages = iter([{"type": "http.request", "body": whole, "more_body": True}, {"type": "http.disconnect"}])

    async def receive() -> Any:
        return next(messages)

    asyncio.run(app(SCOPE, receive, sent.send))
    app.close()
    assert sent[0]["status"] == 408
    assert json_of(Client(service.api).get("/v1/users"))["items"] == []
