"""Faults of the machine under the local server: it says each once, answers what it can, and goes on when it is over."""

from __future__ import annotations

import contextlib
import itertools
import json
import resource
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from tests.integration.local_server import START_SECONDS, Answer, LocalServer, launch
from tests.integration.test_http_server import USER, problem_code

JSON = {"content-type": "application/json"}
KEPT_BYTES = 30 * 1024 * 1024


def everybody(server: LocalServer) -> list[str]:
    """The ids of all users, in order."""
    found: list[str] = []
    token = ""
    while True:
        page = server.get(f"/v1/users?index=created&limit=500{token and f'&nextToken={token}'}").json
        found += [user["userId"] for user in page["items"]]
        if page["nextToken"] is None:
            return sorted(found)
        token = page["nextToken"]


def faults(server: LocalServer) -> list[str]:
    """The lines of the log that tell of more than requests."""
    return [line for line in server.log.read_text().splitlines() if " INFO " not in line]


def firsts_of(told: list[str]) -> list[str]:
    """The lines that stand for themselves, without their times: no counts of others, no lines of tracebacks."""
    return [line.split(" ", 1)[1] for line in told if line[:4].isdecimal() and " more like it" not in line]


def resident_bytes(server: LocalServer) -> int:
    """How much memory the process has."""
    status = Path(f"/proc/{server.process.pid}/status").read_text()
    kilobytes = next(line.split()[1] for line in status.splitlines() if line.startswith("VmRSS:"))
    return int(kilobytes) * 1024


def at_once(clients: int, ask: Callable[[], object]) -> None:
    """So many clients ask the same at once."""
    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_what_hostile_clients_made_it_keep_goes_back(tmp_path: Path) -> None:
    server = LocalServer.start(tmp_path / "data", "--empty")
    parts = urlsplit(server.address)
    at_once(16, lambda: [server.post("/v1/users", {"unknown": 1}) for _ in range(10)])
    server.get("/openapi.json")
    before = resident_bytes(server)
    body = json.dumps({f"k{number}": 1 for number in range(80_000)}).encode()
    at_once(16, lambda: [server.request("POST", "/v1/users", body, JSON) for _ in range(4)])
    with contextlib.ExitStack() as stack:
        for _ in range(60):
            raw = stack.enter_context(socket.socket())
            raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            raw.connect((parts.hostname, parts.port))
            raw.sendall(b"GET /openapi.json HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" * 12)
        chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in json.dumps(USER).encode() + b" " * 100_000)
        head = b"POST /v1/users HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
        with socket.create_connection((parts.hostname, parts.port)) as sender:
            sender.sendall(head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks + b"0\r\n\r\n")
            assert sender.recv(65536).startswith(b"HTTP/1.1 201")
        assert len(server.get("/v1/users").json["items"]) == 1
    ends = time.monotonic() + START_SECONDS
    while resident_bytes(server) > before + KEPT_BYTES and time.monotonic() < ends:
        server.get("/v1/users?limit=1")
        time.sleep(0.1)
    assert resident_bytes(server) <= before + KEPT_BYTES
    assert server.stop() == 0
    assert faults(server) == []


def test_no_file_descriptors_are_one_line_and_later_forgotten(tmp_path: Path) -> None:
    server = LocalServer.start(tmp_path / "data", "--empty")
    parts = urlsplit(server.address)
    before = resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE)
    used = len(list(Path(f"/proc/{server.process.pid}/fd").iterdir()))
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, (used + 2, before[1]))
    with contextlib.ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(socket.create_connection((parts.hostname, parts.port)))
        while "out of system resource" not in server.log.read_text():
            time.sleep(0.01)
    resource.prlimit(server.process.pid, resource.RLIMIT_NOFILE, before)
    assert server.get("/v1/users").status == 200
    assert server.get("/health").json["status"] == "ok"
    assert server.stop() == 0
    told, firsts = faults(server), firsts_of(faults(server))
    assert "ERROR socket.accept() out of system resource: Too many open files" in firsts
    assert len(firsts) == len(set(firsts))
    assert any(" more like it, the last at " in line and "socket.accept()" in line for line in told)


def test_a_disk_that_is_full_is_said_at_once_and_later_forgotten(tmp_path: Path) -> None:
    """A limit on the size of files stands for the disk."""
    server = LocalServer.start(tmp_path / "data", "--empty")
    before = resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE)
    limit = (tmp_path / "data" / "user_service-ordered.sqlite-wal").stat().st_size + 400_000
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (limit, before[1]))
    kept: list[str] = []
    refused: list[Answer] = []
    for number in itertools.count():
        answer = server.post("/v1/users", {**USER, "userId": f"u{number}"})
        if answer.status == 201:
            kept.append(f"u{number}")
        else:
            refused.append(answer)
        if len(refused) == 20:
            break
    assert {(answer.status, problem_code(answer)) for answer in refused} <= {
        (507, "table_full"),
        (503, "table_unusable"),
    }
    assert all("nothing was changed" in answer.json["detail"] and answer.json["fix"] for answer in refused)
    assert server.get("/health").status in (503, 507)
    assert everybody(server) == sorted(kept)
    resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, before)
    assert server.get("/health").json["status"] == "ok"
    assert server.post("/v1/users", {**USER, "userId": "later"}).status == 201
    assert everybody(server) == sorted([*kept, "later"])
    assert server.stop() == 0
    firsts = firsts_of(faults(server))
    assert len(firsts) == len(set(firsts)) <= 1
    again = LocalServer.start(tmp_path / "data", "--empty")
    assert everybody(again) == sorted([*kept, "later"])
    assert again.stop() == 0


def test_ready_is_not_said_before_a_write_has_succeeded(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = launch(tmp_path / "data", "--empty", log=log, module="tests.integration.unwritable_server")
    ready = process.stdout.readline() if process.stdout is not None else ""
    process.terminate()
    process.communicate(timeout=START_SECONDS)
    assert (ready, process.returncode) == ("", 1)
    assert "error: The disk of the table's file is full" in log.read_text()
