"""A re-shard of a running server, over HTTP, while others read, write and walk through its pages.

`--reshard-users 20000` has more users than the default.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.integration.local_server import Answer, LocalServer

MOST_SECONDS = 120
RETRIES = 5
RETRIED = (409, 503, 504)
"""What the documents say to try again: a conflict that says so, and what the table or a moving record refused."""


@dataclass
class Load:
    """Requests by others, until it is stopped. `changed` is what each writer's users are called last."""

    server: LocalServer
    users: list[str]
    stopped: threading.Event = field(default_factory=threading.Event)
    changed: dict[str, str] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    requests: int = 0
    walks: int = 0

    def __post_init__(self) -> None:
        half = len(self.users) // 4
        work: list[Callable[[], None]] = [
            lambda: self._write(self.users[:half]),
            lambda: self._write(self.users[half : 2 * half]),
            lambda: self._read(self.users),
            lambda: self._walk(set(self.users)),
        ]
        self._threads = [threading.Thread(target=self._run, args=(each,)) for each in work]

    def __enter__(self) -> Load:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopped.set()
        for thread in self._threads:
            thread.join()

    def _run(self, work: Callable[[], None]) -> None:
        try:
            while not self.stopped.is_set():
                work()
        except Exception as error:  # noqa: BLE001 - it is told where the test looks
            self.faults.append(repr(error))

    def _ask(self, method: str, target: str, document: Any = None) -> Answer:
        body = None if document is None else json.dumps(document).encode()
        headers = {"content-type": "application/json"} if body else {}
        for attempt in range(RETRIES):
            answer = self.server.request(method, target, body, headers)
            self.requests += 1
            if answer.status not in RETRIED:
                return answer
            time.sleep(0.05 * 2**attempt)
        return answer

    def _write(self, users: list[str]) -> None:
        for position, user in enumerate(users):
            if self.stopped.is_set():
                return
            name = f"Name {self.requests} {position}"
            answer = self._ask("PATCH", f"/v1/users/{user}", {"lastName": name})
            assert answer.status == 200, f"PATCH {answer.status}: {answer.body[:300]!r}"
            self.changed[user] = name

    def _read(self, users: list[str]) -> None:
        for user in users[::7]:
            if self.stopped.is_set():
                return
            answer = self._ask("GET", f"/v1/users/{user}")
            assert answer.status == 200, f"GET {answer.status}: {answer.body[:300]!r}"

    def _walk(self, users: set[str]) -> None:
        """Through all pages in the order of `created`, which nobody changes."""
        seen: list[str] = []
        token = ""
        while not self.stopped.is_set():
            answer = self._ask("GET", f"/v1/users?index=created&limit=250{token}")
            assert answer.status == 200, f"list {answer.status}: {answer.body[:300]!r}"
            seen += [each["userId"] for each in answer.json["items"]]
            if answer.json["nextToken"] is None:
                assert len(seen) == len(set(seen)), "a record was on two pages"
                assert set(seen) == users, f"{len(users - set(seen))} records were on no page"
                self.walks += 1
                return
            token = f"&nextToken={answer.json['nextToken']}"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LocalServer]:
    started = LocalServer.start(tmp_path / "data", "--empty", "--reshard-waits", "fast")
    yield started
    started.stop()


@pytest.fixture
def users(server: LocalServer, request: pytest.FixtureRequest) -> list[str]:
    count = request.config.getoption("--reshard-users")
    made = []
    for start in range(0, count, 100):
        puts = [
            {"userId": f"u{number:06d}", "beneficiaryId": f"b{number % 9}", "firstName": "Ann", "lastName": "Lee"}
            for number in range(start, min(start + 100, count))
        ]
        answer = server.post("/v1/users/batch-write", {"puts": puts})
        assert answer.status == 200, answer.body[:300]
        made += [each["userId"] for each in puts]
    return made


def status(server: LocalServer) -> Any:
    return server.get("/v1/_reshard/user").json


def until(server: LocalServer, reached: Callable[[Any], bool]) -> Any:
    """The status when it is so."""
    ends = time.monotonic() + MOST_SECONDS
    while True:
        found = status(server)
        assert not found["attention"], found
        if reached(found):
            return found
        assert time.monotonic() < ends, f"it is still {found}"
        time.sleep(0.1)


def start(server: LocalServer, char_bits: int, chars: int) -> None:
    ends = time.monotonic() + MOST_SECONDS
    while True:
        answer = server.post("/v1/_reshard/user", {"charBits": char_bits, "chars": chars})
        if answer.status == 202:
            return
        assert answer.status == 409, answer.body[:300]
        assert time.monotonic() < ends, answer.body[:300]
        time.sleep(0.5)


def ended(found: Any) -> bool:
    return not found["moving"]


def test_there_and_back_and_two_that_are_taken_back(server: LocalServer, users: list[str]) -> None:
    with Load(server, users) as load:
        start(server, 2, 2)
        assert server.post("/v1/_reshard/user", {"charBits": 2, "chars": 3}).status == 409
        assert until(server, ended)["shards"] == 16
        for phase in ("dual_old", "dual_new"):
            start(server, 2, 3)
            until(server, lambda found, phase=phase: found["phase"] == phase)
            assert server.post("/v1/_reshard/user/abort", {}).status == 202
            assert until(server, ended)["shards"] == 16
        start(server, 2, 1)
        assert until(server, ended)["shards"] == 4
    assert not load.faults
    assert load.walks > 0
    for user, name in load.changed.items():
        assert server.get(f"/v1/users/{user}").json["lastName"] == name
    assert server.post("/v1/users/count", {}).json["count"] == len(users)
