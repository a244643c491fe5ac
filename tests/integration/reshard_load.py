"""A load on a server while records move: reads, page walks and writes from threads, each answer checked as it comes.

Some users are there before and never change; every walk has to meet each of them exactly once, and no user twice but
one that was given another place in the walk's order meanwhile. Each writer has users of its own, and knows what the
last write that was acknowledged left of them. A request that is answered with 503 is repeated after `Retry-After`, and
a walk that takes longer than tokens live is begun anew, as the documents tell clients to; everything else unexpected is
a fault. So a slow machine does less, and nothing else.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from shardweave.database.data_folder import DataFolder
from shardweave.keys.key_format import key_format
from shardweave.service.loader import service_schema
from shardweave.store import Store
from tests.integration.local_server import LocalServer

RETRY_SECONDS = 600
"""No measure: what is not answered by then never will be."""
PAUSE_SECONDS = 0.02
"""Between two requests of one part of a load."""
BENEFICIARY = "moved"
BY_TIME, BY_NAME = "index=created", f"beneficiaryId={BENEFICIARY}&index=userBeneficiaryLastName"
WALKS = (BY_TIME, BY_NAME)
FEWEST, MOST = 20, 100
"""Of the users that a writer has at a time."""
PATH = "/v1/_reshard/user"
KINDS = ("reads", "walks", "writes")
"""What a load does; its end waits until each was done."""
SECONDS_A_THOUSAND_USERS = 600
"""No measure: after that something has stopped."""


@dataclass(frozen=True)
class Timed:
    """One request, repetitions included: what it was, when it began, how long it took; in seconds of `monotonic`."""

    kind: str
    began: float
    seconds: float


class Session:
    """One connection, for one thread. `timed` is told of each request that has a kind."""

    def __init__(self, server: LocalServer, timed: Callable[[Timed], object] = lambda _: None) -> None:
        self._connection = server.connection()
        self._timed = timed
        self.repeated = 0

    def close(self) -> None:
        self._connection.close()

    def call(self, method: str, target: str, document: Any = None, kind: str = "") -> tuple[int, Any]:
        """Status and document; repeated as long as the answer says that it may be."""
        body = None if document is None else json.dumps(document).encode()
        began = time.monotonic()
        while True:
            self._connection.request(method, target, body, {"content-type": "application/json"} if body else {})
            response = self._connection.getresponse()
            content = response.read()
            if response.status != http.client.SERVICE_UNAVAILABLE or time.monotonic() - began > RETRY_SECONDS:
                break
            self.repeated += 1
            time.sleep(int(response.headers["retry-after"]))
        if kind:
            self._timed(Timed(kind, began, time.monotonic() - began))
        return response.status, json.loads(content) if content else None

    def walk(self, query: str, limit: int, life: float = math.inf, pause: float = PAUSE_SECONDS) -> Iterator[str]:
        """The ids of all users, page by page. Raises LivedOut where that takes longer than the `life` of tokens."""
        began, token = time.monotonic(), ""
        while True:
            target = f"/v1/users?{query}&limit={limit}{token and f'&nextToken={token}'}"
            status, page = self.call("GET", target, kind=f"page of {limit}")
            if status == http.client.BAD_REQUEST and time.monotonic() - began >= life:
                assert page["type"].endswith(":cursor_expired"), page
                raise LivedOut
            assert status == http.client.OK, (query, status, page)
            assert page["complete"], page
            yield from (user["userId"] for user in page["items"])
            if page["nextToken"] is None:
                return
            token = page["nextToken"]
            time.sleep(pause)


class LivedOut(Exception):
    """A walk's token is older than tokens live: the walk is begun anew."""


@dataclass
class Load:
    """What runs beside a re-shard. `kept` are the users that never change; `limit` is how many a page has,
    `life` how many seconds tokens live, `pause` how many are between two requests of a part."""

    server: LocalServer
    kept: tuple[str, ...]
    limit: int = 250
    life: float = math.inf
    pause: float = PAUSE_SECONDS
    writers: int = 2
    faults: list[str] = field(default_factory=list)
    done: Counter[str] = field(default_factory=Counter)
    timed: list[Timed] = field(default_factory=list)
    left: dict[str, Mapping[str, Any] | None] = field(default_factory=dict)
    """What the last acknowledged write left of each user of a writer; None when that removed it."""
    renamed: dict[str, float] = field(default_factory=dict)
    """When each user got another last name, in seconds of `monotonic`: infinity until the answer is there."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """The load, until the block ends."""
        stop = threading.Event()
        tasks: list[Callable[[Session], Iterator[str]]] = [self._reads, *(self._walks(each) for each in WALKS)]
        tasks += [self._writes(number) for number in range(self.writers)]
        threads = [threading.Thread(target=self._run, args=(task, stop)) for task in tasks]
        for thread in threads:
            thread.start()
        try:
            yield
            while not all(self.done[kind] for kind in KINDS) and not self.faults:
                time.sleep(PAUSE_SECONDS)
        finally:
            stop.set()
            for thread in threads:
                thread.join()

    def check_what_is_there(self) -> None:
        """Every acknowledged write, by its key and in lists, and nothing else."""
        session = Session(self.server)
        there = {name for name, record in self.left.items() if record is not None}
        for query in WALKS:
            assert self._walked(session, query) == Counter({*self.kept, *there}), query
        for name, record in self.left.items():
            status, found = session.call("GET", f"/v1/users/{name}")
            assert status == (404 if record is None else 200), (name, status)
            assert record is None or record.items() <= found.items(), name
        session.close()

    # -- parts

    def _walked(self, session: Session, query: str) -> Counter[str]:
        """All users of a walk, which is begun anew where it takes longer than tokens live."""
        while True:
            try:
                return Counter(session.walk(query, self.limit, self.life, pause=0))
            except LivedOut:
                continue

    def _run(self, task: Callable[[Session], Iterator[str]], stop: threading.Event) -> None:
        session = Session(self.server, self.timed.append)
        try:
            for done in task(session):
                self.done[done] += 1
                if stop.is_set():
                    break
                time.sleep(self.pause)
        except Exception as error:  # noqa: BLE001 - of whatever kind: a thread's end is to be seen by the test
            self.faults.append(f"{type(error).__name__}: {error}")
        self.done["repeated"] += session.repeated
        session.close()

    def _reads(self, session: Session) -> Iterator[str]:
        chooser = random.Random(1)
        while True:
            name = chooser.choice(self.kept)
            status, found = session.call("GET", f"/v1/users/{name}", kind="read")
            assert (status, found.get("userId")) == (200, name), found
            yield "reads"

    def _walks(self, query: str) -> Callable[[Session], Iterator[str]]:
        def walks(session: Session) -> Iterator[str]:
            while True:
                began = time.monotonic()
                try:
                    met = Counter(session.walk(query, self.limit, self.life, self.pause))
                except LivedOut:
                    yield "lived out"
                    continue
                moved = {name for name, at in self.renamed.copy().items() if at >= began and query == BY_NAME}
                missed = [name for name in self.kept if not met[name]]
                double = [name for name, times in met.items() if times > 1 and name not in moved]
                assert not missed, (query, len(missed), missed[:3])
                assert not double, (query, len(double), double[:3])
                yield "walks"

        return walks

    def _writes(self, writer: int) -> Callable[[Session], Iterator[str]]:
        chooser = random.Random(writer)

        def writes(session: Session) -> Iterator[str]:
            own: list[str] = []
            number = 0
            while True:
                kinds = ["create"] * (len(own) < MOST) + ["update", "update", "delete"]
                kind = chooser.choice(kinds) if len(own) > FEWEST else "create"
                if kind == "create":
                    number += 1
                    own.append(f"own-{writer}-{number}")
                    self._create(session, own[-1])
                elif kind == "update":
                    self._update(session, chooser.choice(own))
                else:
                    self._delete(session, own.pop(chooser.randrange(len(own))))
                yield "writes"

        return writes

    def _create(self, session: Session, name: str) -> None:
        status, found = session.call("POST", "/v1/users", user(name), kind="create")
        assert status == http.client.CREATED, (status, found)
        self.left[name] = found

    def _update(self, session: Session, name: str) -> None:
        change = {"lastName": f"Changed {random.random()}"}
        self.renamed[name] = math.inf
        status, found = session.call("PATCH", f"/v1/users/{name}", change, kind="update")
        self.renamed[name] = time.monotonic()
        assert status == http.client.OK, (status, found)
        self.left[name] = found

    def _delete(self, session: Session, name: str) -> None:
        status, found = session.call("DELETE", f"/v1/users/{name}", kind="delete")
        assert status == http.client.NO_CONTENT, (status, found)
        self.left[name] = None


class Operating:
    """An operator of a server that has so many users."""

    def __init__(self, session: Session, users: int) -> None:
        self._session = session
        self._seconds = SECONDS_A_THOUSAND_USERS * (1 + users // 1000)
        self.steps: dict[tuple[int, str, str], list[float]] = {}
        """When each step of each re-shard was seen first and last; more rounds of a step count as one."""

    def status(self) -> dict[str, Any]:
        status, found = self._session.call("GET", PATH)
        assert status == 200, found
        assert not found["attention"], found
        now = time.monotonic()
        seen = self.steps.setdefault((found["version"], found["phase"], found["step"]), [now, now])
        seen[1] = now
        return dict(found)

    def start(self, target: Mapping[str, int]) -> None:
        """Refused as long as processes may not know yet of the last one's end."""
        ends = time.monotonic() + self._seconds
        while time.monotonic() < ends:
            status, found = self._session.call("POST", PATH, target)
            if status == 202:
                return
            assert (status, found["type"].rpartition(":")[2]) == (409, "conflict"), found
            time.sleep(0.1)
        raise AssertionError(found)

    def is_refused(self, target: Mapping[str, int]) -> bool:
        """Whether a start is refused since another re-shard is under way."""
        status, found = self._session.call("POST", PATH, target)
        return status == 409 and str(found["type"]).endswith("conflict")

    def aborts(self) -> bool:
        """Whether the re-shard is taken back; refused once there is no way back."""
        status, found = self._session.call("POST", f"{PATH}/abort")
        if status == 202:
            assert found["aborting"] or not found["moving"], found
            return True
        assert (status, found["type"].rpartition(":")[2]) == (409, "reshard_refused"), found
        return False

    def wait_for(self, **wanted: Any) -> list[str]:
        """The phases on the way to where the status says so."""
        return self.wait_until(lambda found: all(found[name] == value for name, value in wanted.items()))

    def wait_until(self, reached: Callable[[dict[str, Any]], bool]) -> list[str]:
        """The phases on the way there."""
        phases: list[str] = []
        ends = time.monotonic() + self._seconds
        while time.monotonic() < ends:
            found = self.status()
            if found["phase"] not in phases[-1:]:
                phases.append(found["phase"])
            if reached(found):
                return phases
            time.sleep(0.1)
        raise AssertionError(self.status())


def user(name: str) -> dict[str, Any]:
    """A new user, which is in every index."""
    names = {"firstName": "Ann", "lastName": f"Of {name}"}
    return {"userId": name, **names, "beneficiaryId": BENEFICIARY, "phone": "+41 44 668 18 00"}


def fill(data: Path, names: tuple[str, ...], service: str = "user_service") -> None:
    """A data folder with these users of a service, for a server to be started on."""
    schema = service_schema(service, key_format("ordered"))
    table = DataFolder(data).open_table(schema, service, "ordered", create=True)
    store, model = Store(schema, table), schema.entity("user").model
    for start in range(0, len(names), 25):
        store.batch_write([model.model_validate(user(name)) for name in names[start : start + 25]])
    table.close()


def waits_for(walk_seconds: int) -> str:
    """Waits for walks that take so long at most, and as short as that allows; there is one machine, and one clock."""
    waits = {"leaseMs": 300, "acceptedMs": 0, "requestMs": 700, "clocksMs": 0, "quietMs": 500, "recheckMs": []}
    return json.dumps({**waits, "cursorLifeMs": walk_seconds * 1000})
