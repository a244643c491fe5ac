"""What many clients, slow ones and hostile ones can take of the local server: a bounded part, and never the whole."""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from shardweave import __version__
from shardweave.api.problems import TYPE_PREFIX
from shardweave.errors import Throttled
from shardweave.local.asgi import WAITING_WRITES, AsgiApi
from shardweave.local.operator_pages import Metrics, health
from shardweave.local.protocol import LimitedProtocol
from shardweave.local.server import HttpServer, listen
from shardweave.local.workers import Deadline, Workers
from shardweave.service.build import Service, Settings, build
from shardweave.table.embedded import EmbeddedTable
from tests.unit.api_world import CURSOR_KEYS, Client, json_of, user_service

LONG_SECONDS = 600.0
THREADS = 2
USER = json.dumps({"firstName": "A", "lastName": "B", "beneficiaryId": "b"}).encode()
BIG = 8 * 1024 * 1024


def scope(method: str, path: str = "/v1/users", **headers: str) -> dict[str, Any]:
    sent = {"host": "127.0.0.1", "content-type": "application/json"}
    sent |= {name.replace("_", "-"): text for name, text in headers.items()}
    return {
        "type": "http",
        "http_version": "1.1",
        "method": method,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": [(name.encode(), text.encode()) for name, text in sent.items()],
    }


async def ask(app: AsgiApi, method: str, path: str = "/v1/users", body: bytes = b"", **headers: str) -> dict[str, Any]:
    """The status, the headers and the JSON of an answer."""
    sent: list[Any] = []

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope(method, path, **headers), receive, send)
    found = {name.decode(): text.decode() for name, text in sent[0]["headers"]}
    body = b"".join(message.get("body", b"") for message in sent[1:])
    return {"status": sent[0]["status"], "headers": found, "json": json.loads(body) if body else None}


def code_of(answer: dict[str, Any]) -> str:
    return str(answer["json"]["type"]).removeprefix(TYPE_PREFIX)


@pytest.fixture
def app() -> Iterator[AsgiApi]:
    service = user_service()
    made = AsgiApi(service.api, {}, THREADS)
    yield made
    made.close()
    service.close()


# -- writes that wait for another process


class Held:
    """A service on a file whose lock for writing another process holds."""

    def __init__(self, path: Path, busy_seconds: float) -> None:
        self.table: EmbeddedTable

        def opened(layout: Any) -> EmbeddedTable:
            self.table = EmbeddedTable(layout, path, busy_seconds=busy_seconds)
            return self.table

        self.service: Service = build(Settings(cursor_keys=CURSOR_KEYS), open_table=opened)
        self.app = AsgiApi(self.service.api, {}, THREADS)
        self.holder = sqlite3.connect(path, isolation_level=None)
        self.holder.execute("BEGIN IMMEDIATE")

    def close(self) -> None:
        self.holder.close()
        self.app.close()
        self.service.close()


def test_reads_are_answered_beside_writes_that_wait_which_are_bounded_and_end_at_a_stop(tmp_path: Path) -> None:
    held = Held(tmp_path / "file", LONG_SECONDS)

    async def run() -> list[dict[str, Any]]:
        most = THREADS // 2 + WAITING_WRITES
        writes = [asyncio.create_task(ask(held.app, "POST", body=USER)) for _ in range(most)]
        while held.app.writes.accepted < most:
            await asyncio.sleep(0)
        for _ in range(3):
            assert (await ask(held.app, "GET"))["json"]["items"] == []
        shed = await ask(held.app, "POST", body=USER)
        assert (shed["status"], code_of(shed), shed["headers"]["retry-after"]) == (503, "throttled", "1")
        assert not any(write.done() for write in writes)
        held.table.stop_waiting()
        return list(await asyncio.gather(*writes))

    answers = asyncio.run(run())
    assert {answer["status"] for answer in answers} == {503}
    assert held.app.writes.accepted == 0
    held.close()


def test_a_write_that_waited_long_enough_is_to_come_back_and_health_says_so(tmp_path: Path) -> None:
    held = Held(tmp_path / "file", 0.01)
    answer = asyncio.run(ask(held.app, "POST", body=USER))
    assert (answer["status"], code_of(answer), answer["headers"]["retry-after"]) == (503, "throttled", "1")
    assert health(held.table)["statusCode"] == 503
    held.holder.execute("ROLLBACK")
    assert asyncio.run(ask(held.app, "POST", body=USER))["status"] == 201
    assert json.loads(health(held.table)["body"]) == {"status": "ok", "version": __version__}
    held.close()


# -- time and number of requests


def test_work_that_could_not_begin_in_time_is_not_begun() -> None:
    now = [0.0]
    workers = Workers("test", 1, 1)
    deadline = Deadline.after(30.0, lambda: now[0])
    assert deadline.get_remaining_time_in_millis() == 30_000
    assert asyncio.run(workers.run(lambda: "done", deadline)) == "done"
    now[0] = 30.0
    begun: list[str] = []
    with pytest.raises(Throttled, match="waited for as long"):
        asyncio.run(workers.run(lambda: begun.append("begun"), deadline))
    assert begun == []
    assert workers.accepted == 0
    workers.close()


def test_a_request_that_found_no_thread_in_its_time_is_to_come_back() -> None:
    service = user_service()
    app = AsgiApi(service.api, {}, THREADS, request_seconds=0.0)
    answer = asyncio.run(ask(app, "POST", body=USER))
    assert (answer["status"], code_of(answer)) == (503, "throttled")
    assert json_of(Client(service.api).get("/v1/users"))["items"] == []
    app.close()
    service.close()


# -- bodies


@pytest.mark.parametrize("method", ["POST", "PATCH"])
def test_a_body_with_too_many_members_is_refused_before_they_are_validated(app: AsgiApi, method: str) -> None:
    body = json.dumps({f"k{number}": 1 for number in range(80_000)}).encode()
    assert len(body) < app._api.max_body_bytes
    answer = asyncio.run(ask(app, method, "/v1/users" if method == "POST" else "/v1/users/u", body))
    assert code_of(answer) == "limit_exceeded"
    assert "errors" not in answer["json"]


@pytest.mark.parametrize(
    "document",
    [
        {"phone": [1] * 50_001},
        {"phone": [{"a": 1} for _ in range(20_001)]},
        {"phone": [[[0] * 100] * 100] * 6},
    ],
)
def test_so_is_one_with_too_many_values_wherever_they_stand(app: AsgiApi, document: Any) -> None:
    assert code_of(asyncio.run(ask(app, "POST", body=json.dumps(document).encode()))) == "limit_exceeded"


# -- what pages of other origins send


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({}, 201),
        ({"origin": "http://127.0.0.1"}, 201),
        ({"origin": "http://127.0.0.1", "sec_fetch_site": "same-origin"}, 201),
        ({"sec_fetch_site": "none"}, 201),
        ({"origin": "http://127.0.0.1:3000"}, 403),
        ({"origin": "https://example.com"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1", "sec_fetch_site": "cross-site"}, 403),
        ({"sec_fetch_site": "same-site"}, 403),
    ],
)
def test_what_a_page_of_another_origin_sends_changes_nothing(
    app: AsgiApi, headers: dict[str, str], status: int
) -> None:
    answer = asyncio.run(ask(app, "POST", body=USER, **headers))
    assert answer["status"] == status
    assert len(asyncio.run(ask(app, "GET", **headers))["json"]["items"]) == (status == 201)
    if status == 403:
        for method, path in (("DELETE", "/v1/users/u"), ("POST", "/v1/_reshard/user/abort"), ("PUT", "/v1/users/u")):
            assert code_of(asyncio.run(ask(app, method, path, **headers))) == "forbidden"


@pytest.mark.parametrize("media_type", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
def test_a_body_of_a_type_that_a_form_sends_is_refused(app: AsgiApi, media_type: str) -> None:
    answer = asyncio.run(ask(app, "POST", body=USER, content_type=media_type))
    assert code_of(answer) == "unsupported_media_type"


# -- connections


class Patient(LimitedProtocol):
    """Waits for what is sent for as long as it takes."""

    head_seconds = LONG_SECONDS


class Small(Patient):
    """Keeps little for clients, and for as long as it takes."""

    answer_seconds = LONG_SECONDS
    max_untaken_bytes = 2 * BIG


class Hasty(Patient):
    """Keeps an answer for a moment."""

    answer_seconds = 0.2


class Served:
    """A server with a page that is longer than what the system keeps for a connection."""

    def __init__(self, protocol: type[LimitedProtocol]) -> None:
        self.service = user_service()
        page = {"statusCode": 200, "headers": {"content-type": "text/plain"}, "body": "x" * BIG}
        self.app = AsgiApi(self.service.api, {"/big": lambda _: dict(page)}, THREADS)
        ready = threading.Event()
        self.server = HttpServer(self.app, ready.set, protocol)
        self.listening = listen("127.0.0.1", 0)
        self.address = self.listening.getsockname()[:2]
        self._thread = threading.Thread(target=lambda: self.server.run(sockets=[self.listening]))
        self._thread.start()
        assert ready.wait(LONG_SECONDS)

    def asked(self, *sent: bytes) -> bytes:
        """What comes back until the server ends the connection."""
        with socket.create_connection(self.address, timeout=LONG_SECONDS) as raw:
            for each in sent:
                raw.sendall(each)
            received = b""
            # A connection that is ended before all that was sent is read ends so.
            with contextlib.suppress(ConnectionResetError):
                while chunk := raw.recv(65536):
                    received += chunk
        return received

    def stop(self) -> None:
        self.server.should_exit = True
        self._thread.join()
        self.app.close()
        self.service.close()


@pytest.fixture
def served() -> Iterator[Callable[[type[LimitedProtocol]], Served]]:
    with contextlib.ExitStack() as stack:

        def start(protocol: type[LimitedProtocol]) -> Served:
            made = Served(protocol)
            stack.callback(made.stop)
            return made

        yield start


LAST = b"GET /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n"


def unread(server: Served, stack: contextlib.ExitStack, clients: int) -> None:
    """Clients who ask for a long answer and read none of it."""
    for _ in range(clients):
        raw = stack.enter_context(socket.socket())
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        raw.connect(server.address)
        raw.sendall(b"GET /big HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")


def until(condition: Callable[[], bool]) -> None:
    while not condition():
        time.sleep(0.01)


def untaken(server: Served) -> int:
    connections = list(server.server.server_state.connections)
    return sum(each.transport.get_write_buffer_size() for each in connections if each.transport is not None)


def test_of_many_clients_who_do_not_read_those_that_have_waited_longest_lose_their_answers(
    served: Callable[[type[LimitedProtocol]], Served],
) -> None:
    server = served(Small)
    with contextlib.ExitStack() as stack:
        unread(server, stack, 60)
        until(lambda: server.app.answers["GET 200"] + server.app.answers["GET 503"] == 60)
        assert server.asked(LAST).startswith(b"HTTP/1.1 200")
        until(lambda: untaken(server) <= Small.max_untaken_bytes + BIG)
        assert server.server.connections < 60


def test_an_answer_that_nobody_takes_is_dropped_in_time(served: Callable[[type[LimitedProtocol]], Served]) -> None:
    server = served(Hasty)
    with contextlib.ExitStack() as stack:
        unread(server, stack, 5)
        until(lambda: server.app.answers["GET 200"] == 5)
        until(lambda: server.server.connections == 0)
        assert server.asked(LAST).startswith(b"HTTP/1.1 200")


class Counting(Patient):
    """Counts the chunks that come."""

    chunks = 0

    def on_body(self, body: bytes) -> None:
        type(self).chunks += 1
        super().on_body(body)


def test_a_body_in_chunks_of_one_byte_is_taken_in_few_steps(
    served: Callable[[type[LimitedProtocol]], Served], app: AsgiApi
) -> None:
    """The parser takes them together; the application is told a few times."""
    server = served(Counting)
    text = USER + b" " * 100_000
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in text) + b"0\r\n\r\n"
    head = b"POST /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    steps = []
    resolved = server.app._body

    async def counted(receive: Any) -> bytes:
        async def told() -> Any:
            steps.append(1)
            return await receive()

        return await resolved(told)

    server.app._body = counted  # type: ignore[method-assign]
    received = server.asked(head + b"Connection: close\r\nTransfer-Encoding: chunked\r\n\r\n", chunks)
    assert received.startswith(b"HTTP/1.1 201")
    assert Counting.chunks == len(text)
    assert len(steps) <= 1000


@pytest.mark.parametrize(
    "headers",
    [
        b"Host: 127.0.0.1\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n",
        b"Host: 127.0.0.1\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n",
        b"Host: 127.0.0.1\r\nContent-Length: 5\r\nContent-Length: 6\r\n",
        b"Host: 127.0.0.1\r\nTransfer-Encoding: identity\r\n",
        b"Host: 127.0.0.1\r\nHost: 127.0.0.2\r\nContent-Length: 5\r\n",
        b"Content-Length: 5\r\n",
    ],
)
def test_a_request_that_two_readers_could_end_or_send_elsewhere_is_refused_and_the_connection_closed(
    served: Callable[[type[LimitedProtocol]], Served], headers: bytes
) -> None:
    server = served(Small)
    request = b"POST /v1/users HTTP/1.1\r\n" + headers + b"Content-Type: application/json\r\n\r\n"
    received = server.asked(request + b"0\r\n\r\n" + LAST)
    assert received.startswith(b"HTTP/1.1 400")
    assert b"HTTP/1.1 200" not in received
    assert b"malformed_request" in received


def test_no_more_requests_than_some_are_taken_before_the_first_is_answered(
    served: Callable[[type[LimitedProtocol]], Served],
) -> None:
    server = served(Small)
    assert server.asked(LAST.replace(b"Connection: close\r\n", b"") * 10 + LAST).count(b"HTTP/1.1 200") == 11
    assert server.asked(LAST.replace(b"Connection: close\r\n", b"") * 5000).count(b"HTTP/1.1 200") < 100


def test_metrics_count_what_was_answered_and_what_is_under_way(app: AsgiApi, tmp_path: Path) -> None:
    asyncio.run(ask(app, "GET"))
    asyncio.run(ask(app, "GET", "/nosuch"))
    (tmp_path / "file").write_bytes(b"12345")
    metrics = Metrics(lambda: app, tmp_path / "file", lambda: 7, lambda: 1.5, lambda: 12.0, started=2.0)
    assert json.loads(metrics({})["body"]) == {
        "version": __version__,
        "uptimeSeconds": 10.0,
        "answers": {"GET 200": 1, "GET 404": 1},
        "connections": 7,
        "reads": 0,
        "writes": 0,
        "tableBytes": 5,
        "logBytes": 0,
        "pollerLagSeconds": 1.5,
    }
