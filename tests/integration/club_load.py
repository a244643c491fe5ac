"""Clients of the club who write and read a few records at once, until the server is killed, and note what they saw.

Every write has a note of its own, so what a read shows is known to be of one write. What was sent with a key and not
answered is sent again, first of all, when the server is there again.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.integration.linearizable import Absent, Noted, Request, State, possible_states
from tests.integration.local_server import LocalServer

MEMBERS = [f"m{number}" for number in range(10)]
SIGNED = [f"s{number}" for number in range(5)]
HANDLES = [None, "h0", "h1", "h2", "h3", "h4", "h5"]
ADDRESSES = [f"a{number}" for number in range(4)]
CLIENTS = 5
MOST_OWN = 12
"""Of the addresses that a client keeps for itself."""
AGAIN_SECONDS = 0.05

Place = tuple[str, str]
"""A collection, and a key."""


def team_of(member: str) -> str:
    """Members never change their team."""
    return f"team{int(member[1:]) % 3}" if member in MEMBERS else "signed"


@dataclass
class Sent:
    """What is sent: the requests for single records that it amounts to, by place."""

    method: str
    target: str
    document: Any = None
    headers: dict[str, str] = field(default_factory=dict)
    requests: list[tuple[Place, Request]] = field(default_factory=list)
    judge: Callable[[int, Any, str], None] = lambda status, document, tag: None


class Killed(Exception):
    """No answer came."""


@dataclass
class History:
    """All that clients sent and saw. `faults` are answers that may never come; `answers` counts those that came."""

    requests: defaultdict[Place, list[Request]] = field(default_factory=lambda: defaultdict(list))
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    tags: dict[str, str] = field(default_factory=dict)
    latest: dict[str, str] = field(default_factory=dict)
    """The note that was seen last of each member."""
    signed_up: list[tuple[str, str, Request]] = field(default_factory=list)
    """Member, address that nobody else uses, and the request that made both, until it is given up."""
    given_up: set[str] = field(default_factory=set)
    faults: list[str] = field(default_factory=list)
    deaths: list[float] = field(default_factory=list)
    before: dict[Place, set[State]] = field(default_factory=dict)
    """What each record may be before what is in `requests`."""
    kinds: Counter[str] = field(default_factory=Counter)
    answers: int = 0
    _moments: Iterator[int] = field(default_factory=itertools.count)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def moment(self) -> float:
        """A moment after all before it."""
        return float(next(self._moments))

    def died(self) -> None:
        """The server is dead, and no client has a connection."""
        self.deaths.append(self.moment())

    def check(self, repeated: set[Request]) -> None:
        """Every record can have been what was seen of it. What is over is kept as the states that it leads to, where
        none of its requests is to be repeated. Raises NotLinearizable."""
        for place, requests in self.requests.items():
            states = possible_states(requests, self.deaths, self.before.get(place, (None,)))
            if repeated.isdisjoint(requests):
                self.before[place] = states
                requests.clear()

    def see(self, record: dict[str, Any], tag: str = "") -> tuple[str, str | None]:
        """The state that a member's record shows. The same note always comes with the same record and tag."""
        note = record["note"]
        with self._lock:
            known, tagged = self.shown.setdefault(note, record), self.tags.setdefault(note, tag) if tag else tag
        if known != record or tagged != tag:
            self.faults.append(f"{note} is {record} with {tag}, and was {known} with {tagged}")
        self.latest[record["memberId"]] = note
        return note, record.get("handle")


class Client:
    """One client, of one thread."""

    def __init__(self, history: History, seed: str) -> None:
        self._history = history
        self._seed = seed
        self._chooser = random.Random(seed)
        self._number = 0
        self._again: Sent | None = None
        self._own: list[tuple[str, str]] = []

    @property
    def repeated(self) -> set[Request]:
        """The requests that are sent again in the next life."""
        return set() if self._again is None else {request for _, request in self._again.requests}

    def run(self, server: LocalServer, stop: threading.Event) -> None:
        """Ask, until no answer comes any more, or all is asked that was wanted."""
        connection = server.connection()
        try:
            if self._again is not None:
                self._ask(connection, self._again)
            while not stop.is_set():
                self._ask(connection, self._next())
        except Killed:
            pass
        except Exception as error:  # noqa: BLE001 - of whatever kind: a thread's end is to be seen by the test
            self._history.faults.append(f"{type(error).__name__}: {error}")
        finally:
            connection.close()

    def read_all(self, server: LocalServer) -> None:
        """Read every place that was ever asked for."""
        connection = server.connection()
        for collection, key in list(self._history.requests):
            self._ask(connection, self._get(collection, key))
        connection.close()

    def _ask(self, connection: http.client.HTTPConnection, sent: Sent) -> None:
        if self._again is not sent:
            for place, request in sent.requests:
                request.sent = self._history.moment()
                self._history.requests[place].append(request)
        self._again = sent if "idempotency-key" in sent.headers else None
        status, document, tag = self._answer(connection, sent)
        self._again = None
        self._history.kinds[f"{sent.method} {sent.target.partition('?')[0].rpartition('/')[0]} {status}"] += 1
        sent.judge(status, document, tag)
        moment = self._history.moment()
        for _, request in sent.requests:
            request.answered = moment
            if not request.outcome:
                self._history.faults.append(f"{sent.method} {sent.target}: {status} {document}")
        self._history.answers += 1

    def _answer(self, connection: http.client.HTTPConnection, sent: Sent) -> tuple[int, Any, str]:
        body = None if sent.document is None else json.dumps(sent.document).encode()
        headers = {**sent.headers, **({"content-type": "application/json"} if body else {})}
        while True:
            try:
                connection.request(sent.method, sent.target, body, headers)
                response = connection.getresponse()
                content = response.read()
            except (OSError, http.client.HTTPException):
                raise Killed from None
            document = json.loads(content) if content else None
            waits = response.status == 409 and document["type"].endswith(":still_in_progress")
            if response.status != http.client.SERVICE_UNAVAILABLE and not waits:
                return response.status, document, response.headers.get("etag", "")
            time.sleep(AGAIN_SECONDS)

    # -- what is asked

    def _next(self) -> Sent:
        ways = [self._create, self._put, self._patch, self._patch, self._delete, self._sign_up, self._leave]
        ways += [self._batch_write, self._batch_get, self._by_handle, self._by_team, self._read_one, self._read_one]
        return self._chooser.choice(ways)()

    def _note(self) -> str:
        self._number += 1
        return f"{self._seed}-{self._number}"

    def _once(self) -> dict[str, str]:
        return {"idempotency-key": self._note()} if self._chooser.random() < 0.4 else {}

    def _new(self, kind: str) -> tuple[str, Request, dict[str, Any]]:
        member, note, handle = self._chooser.choice(MEMBERS), self._note(), self._chooser.choice(HANDLES)
        document = {"memberId": member, "team": team_of(member), "note": note}
        document |= {} if handle is None else {"handle": handle}
        return member, Request(kind, note, handle), document

    def _create(self) -> Sent:
        member, request, document = self._new("create")
        return self._write(Sent("POST", "/v1/members", document, self._once()), member, request)

    def _put(self) -> Sent:
        member, request, document = self._new("put")
        headers = self._once() | self._condition(member, request, absent=True)
        return self._write(Sent("PUT", f"/v1/members/{member}", document, headers), member, request)

    def _patch(self) -> Sent:
        member, request, document = self._new("patch")
        request.keeps_handle = self._chooser.random() < 0.5
        change = {"note": document["note"]} | ({} if request.keeps_handle else {"handle": document.get("handle")})
        headers = self._once() | self._condition(member, request)
        return self._write(Sent("PATCH", f"/v1/members/{member}", change, headers), member, request)

    def _delete(self) -> Sent:
        member, request = self._chooser.choice(MEMBERS), Request("delete")
        headers = self._once() | self._condition(member, request)
        return self._write(Sent("DELETE", f"/v1/members/{member}", None, headers), member, request)

    def _condition(self, member: str, request: Request, *, absent: bool = False) -> dict[str, str]:
        note = self._history.latest.get(member, "")
        if absent and self._chooser.random() < 0.2:
            request.condition = Absent()
            return {"if-none-match": "*"}
        if note in self._history.tags and self._chooser.random() < 0.4:
            request.condition = Noted(note)
            return {"if-match": self._history.tags[note]}
        return {}

    def _write(self, sent: Sent, member: str, request: Request) -> Sent:
        def judge(status: int, document: Any, tag: str) -> None:
            request.outcome = outcome_of(status, document)
            if status in (200, 201):
                request.value, request.shows_value = self._history.see(document, tag), True

        sent.requests = [(("members", member), request)]
        sent.judge = judge
        return sent

    def _get(self, collection: str, key: str) -> Sent:
        request = Request("read")

        def judge(status: int, document: Any, tag: str) -> None:
            request.outcome = "done" if status in (200, 404) else ""
            if status == 200 and collection == "members":
                request.value = self._history.see(document, tag)
            elif status == 200:
                request.value = (document["memberId"], None)

        return Sent("GET", f"/v1/{collection}/{key}", requests=[((collection, key), request)], judge=judge)

    def _read_one(self) -> Sent:
        keys = [("members", each) for each in MEMBERS] + [("emails", each) for each in ADDRESSES]
        return self._get(*self._chooser.choice(keys))

    def _by_handle(self) -> Sent:
        handle = self._chooser.choice(HANDLES[1:])
        return self._listing(f"handle&handle={handle}", lambda member: False)

    def _by_team(self) -> Sent:
        team = self._chooser.choice(sorted({team_of(each) for each in MEMBERS}))
        return self._listing(f"team&team={team}", lambda member: team_of(member) == team)

    def _listing(self, lookup: str, expected: Callable[[str], bool]) -> Sent:
        """Those that are listed are read; so are those that would be."""
        places = {each: Request("read") for each in MEMBERS}
        sent = Sent("GET", f"/v1/members?lookup={lookup}&limit=500")

        def judge(status: int, document: Any, tag: str) -> None:
            assert (status, document["complete"]) == (200, True), document
            listed = Counter(each["memberId"] for each in document["items"])
            assert not [each for each, times in listed.items() if times > 1], document
            for each in document["items"]:
                if each["memberId"] in places:
                    places[each["memberId"]].value = self._history.see(each)
            for member, request in places.items():
                request.outcome = "done" if listed[member] or expected(member) else "refused"

        sent.requests = [(("members", member), request) for member, request in places.items()]
        sent.judge = judge
        return sent

    def _batch_get(self) -> Sent:
        members = self._chooser.sample(MEMBERS, 4)
        reads = [Request("read") for _ in members]

        def judge(status: int, document: Any, tag: str) -> None:
            assert (status, document["unprocessed"]) == (200, []), document
            for request, record in zip(reads, document["items"], strict=True):
                request.outcome = "done"
                request.value = None if record is None else self._history.see(record)

        requests = [(("members", member), request) for member, request in zip(members, reads, strict=True)]
        return Sent("POST", "/v1/members/batch-get", {"keys": members}, requests=requests, judge=judge)

    def _batch_write(self) -> Sent:
        members = self._chooser.sample(MEMBERS, 3)
        puts = [Request("put", self._note(), self._chooser.choice(HANDLES)) for _ in members[:2]]
        removal = Request("remove")
        documents = [
            {"memberId": member, "team": team_of(member), "note": put.note, "handle": put.handle}
            for member, put in zip(members, puts, strict=False)
        ]

        def judge(status: int, document: Any, tag: str) -> None:
            assert status == 200, document
            for put, told in zip(puts, document["puts"], strict=True):
                put.outcome = batch_outcome(told)
                if put.outcome == "done":
                    put.value, put.shows_value = self._history.see(told["item"]), True
            removal.outcome = batch_outcome(document["deletes"][0])

        requests = [(("members", member), each) for member, each in zip(members, [*puts, removal], strict=True)]
        body = {"puts": documents, "deletes": members[2:]}
        return Sent("POST", "/v1/members/batch-write", body, requests=requests, judge=judge)

    def _sign_up(self) -> Sent:
        if len(self._own) >= MOST_OWN:
            return self._give_up()
        note = self._note()
        own = self._chooser.random() < 0.5
        address = f"of-{note}" if own else self._chooser.choice(ADDRESSES)
        member = note if own else self._chooser.choice(SIGNED)
        both = Request("create", note), Request("create", member)

        def judge(status: int, document: Any, tag: str) -> None:
            outcome = outcome_of(status, document)
            # It is not said which of the two exists.
            both[0].outcome = both[1].outcome = "refused" if outcome == "exists" else outcome

        body = {"memberId": member, "address": address, "team": team_of(member), "note": note}
        requests = [(("members", member), both[0]), (("emails", address), both[1])]
        if own:
            self._own.append((note, address))
            self._history.signed_up.append((note, address, both[0]))
        return Sent("POST", "/v1/sign-up", body, self._once(), requests, judge)

    def _give_up(self) -> Sent:
        """First the address of a member, and another time the member."""
        member, address = own = self._chooser.choice(self._own)
        if member in self._history.given_up:
            self._own.remove(own)
            return self._removal("members", member)
        self._history.given_up.add(member)
        return self._removal("emails", address)

    def _leave(self) -> Sent:
        """An address that others take too is given up, or a member who has had one."""
        if self._chooser.random() < 0.5:
            return self._removal("members", self._chooser.choice(SIGNED))
        return self._removal("emails", self._chooser.choice(ADDRESSES))

    def _removal(self, collection: str, key: str) -> Sent:
        request = Request("delete")

        def judge(status: int, document: Any, tag: str) -> None:
            request.outcome = outcome_of(status, document)

        return Sent("DELETE", f"/v1/{collection}/{key}", None, self._once(), [((collection, key), request)], judge)


def outcome_of(status: int, document: Any) -> str:
    """What an answer to a write says of the record."""
    if status in (200, 201, 204):
        return "done"
    code = str(document["type"]).rpartition(":")[2]
    return {
        (404, "not_found"): "missing",
        (409, "already_exists"): "exists",
        (409, "value_taken"): "refused",
        (409, "conflict"): "refused",
        (409, "has_children"): "refused",
        (412, "precondition_failed"): "mismatch",
    }.get((status, code), "")


def batch_outcome(told: dict[str, Any]) -> str:
    """What the answer to a batch says of one record."""
    if told["status"] == "failed":
        return outcome_of(told["problem"]["status"], told["problem"])
    return {"written": "done", "unprocessed": "refused"}.get(told["status"], "")
