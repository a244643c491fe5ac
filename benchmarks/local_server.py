"""What a request costs at the local server, over the embedded table, beside a bare route of the same HTTP server."""

from __future__ import annotations

import http.client
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from benchmarks.tables import Table

TITLE = "local server: CPU of a get, a page, a create and a sign-up beside a bare route"
ROUNDS = 12
REQUESTS = 96
CLIENTS = (1, 8)
ROOT = Path(__file__).parent.parent
NAMES = ("ja", "ma", "jo", "a", "e", "s", "g", "b", "k", "l")

Request = tuple[str, str, bytes]


@dataclass
class Kind:
    """One kind of request, with the CPU milliseconds of each round by the number of clients."""

    name: str
    target: float | None
    make: Callable[[random.Random], Request]
    spent: dict[int, list[float]] = field(default_factory=lambda: {count: [] for count in CLIENTS})


@dataclass(frozen=True)
class Served:
    """A server's process and where it answers."""

    process: subprocess.Popen[str]
    address: str

    def cpu_ms(self) -> float:
        """What all threads of the process took until now."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((each / "schedstat").read_text(encoding="ascii").split()[0]) for each in tasks) / 1e6


@contextmanager
def served(arguments: list[str], log: IO[str]) -> Iterator[Served]:
    """A server, from its line that it is ready on."""
    paths = os.pathsep.join([str(ROOT), str(ROOT / "shared")])
    process = subprocess.Popen(
        [sys.executable, "-P", "-m", *arguments],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=log,
        text=True,
    )
    try:
        line = process.stdout.readline()  # type: ignore[union-attr]
        yield Served(process, line.split()[1])
    finally:
        process.terminate()
        process.communicate()


def run() -> list[Table]:
    """CPU milliseconds of each kind of request."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        log = stack.enter_context((folder / "log").open("w", encoding="utf-8"))
        ours = ["shardweave.local", "--service", "user_service", "--port", "0", "--data", str(folder / "data")]
        server = stack.enter_context(served(ours, log))
        bare = stack.enter_context(served(["benchmarks.served.bare"], log))
        place = stack.enter_context(Client(server.address)).get("/v1/users?limit=500")
        ids = [each["userId"] for each in json.loads(place)["items"]]
        nothing = Kind("a bare route", None, lambda _: ("GET", "/", b""))
        kinds = kinds_of(ids)
        chance = random.Random(1)
        for number in range(ROUNDS):
            for count in CLIENTS[:: 1 if number % 2 else -1]:
                for kind in (nothing, *kinds):
                    asked = bare if kind is nothing else server
                    kind.spent[count].append(round_of(asked, count, [kind.make(chance) for _ in range(REQUESTS)]))
    return [costs(nothing, kinds)]


def kinds_of(ids: list[str]) -> list[Kind]:
    """The kinds of requests to the sample service."""

    def page(chance: random.Random) -> Request:
        return "GET", f"/v1/users?firstNameCanonical.prefix={chance.choice(NAMES)}&limit=25", b""

    def person(chance: random.Random) -> dict[str, str]:
        name = "".join(chance.choices("abcdefghij", k=8))
        return {"firstName": name, "lastName": name[::-1], "beneficiaryId": f"b{chance.randrange(400)}"}

    def create(chance: random.Random) -> Request:
        return "POST", "/v1/users", json.dumps(person(chance)).encode()

    def sign_up(chance: random.Random) -> Request:
        address = f"{chance.getrandbits(64):x}@example.com"
        return "POST", "/v1/sign-up", json.dumps({**person(chance), "email": address}).encode()

    return [
        Kind("a get", 1.1, lambda chance: ("GET", f"/v1/users/{chance.choice(ids)}", b"")),
        Kind("a page of 25 over four lanes", 3.0, page),
        Kind("a create", 2.0, create),
        Kind("a sign-up: two records in a transaction", 3.0, sign_up),
    ]


class Client:
    """A connection that is kept."""

    def __init__(self, address: str) -> None:
        parts = urlsplit(address)
        self._connection = http.client.HTTPConnection(parts.hostname or "", parts.port)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def get(self, target: str) -> bytes:
        return self.ask(("GET", target, b""))

    def ask(self, request: Request) -> bytes:
        """The body of the answer. Raises RuntimeError for one that is no success."""
        method, target, body = request
        self._connection.request(method, target, body or None, {"content-type": "application/json"} if body else {})
        answer = self._connection.getresponse()
        content = answer.read()
        if answer.status >= 300:
            raise RuntimeError(f"{answer.status}: {content[:300]!r}")
        return content


def round_of(server: Served, count: int, requests: list[Request]) -> float:
    """CPU milliseconds of the server for each of the requests, by so many clients at once."""
    with ExitStack() as stack:
        clients = [stack.enter_context(Client(server.address)) for _ in range(count)]
        pool = stack.enter_context(ThreadPoolExecutor(count))
        began = server.cpu_ms()
        list(pool.map(lambda at: [clients[at].ask(each) for each in requests[at::count]], range(count)))
        return (server.cpu_ms() - began) / len(requests)


def costs(nothing: Kind, kinds: list[Kind]) -> Table:
    columns = ["request"]
    for count in CLIENTS:
        clients = "one client" if count == 1 else f"{count} clients"
        columns += [f"{clients}: best ms", "median ms"]
    rows = [
        [
            kind.name,
            *(figure for spent in kind.spent.values() for figure in (min(spent), statistics.median(spent))),
            "" if kind.target is None else kind.target,
        ]
        for kind in (nothing, *kinds)
    ]
    return Table(
        "CPU of the server for a request",
        [*columns, "target"],
        rows,
        f"All threads of the process; {ROUNDS} rounds of {REQUESTS} requests a kind, in turn, over connections that "
        "are kept, with the 5,000 users and the e-mails of the sample data in a file. The bare route is an ASGI "
        "application under the same uvicorn and httptools that answers a few bytes.",
    )
