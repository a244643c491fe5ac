"""A process that is stopped at any step of a guarded write: what its guard allowed arrives in time, or is refused.

A guard says that a lease is valid; DynamoDB refuses a signature that is 15 minutes old. So nothing that a writer sends
is carried out later than 15 minutes after its lease has ended, wherever the process stops and for however long
(decision 0012, requirement A4). A stop is a jump of all clocks before one line of the transport; every line of a call
has its turn.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from shardweave.errors import ShardweaveError
from shardweave.table.dynamodb.transport import direct
from shardweave.table.dynamodb.transport.connection import Clocks
from shardweave.table.dynamodb.transport.direct import DirectTransport
from tests.integration.raw_server import Peer, Request, Turn, closing, transport_to, whole
from tests.integration.transport_world import PUT, World

TRANSPORT = str(Path(direct.__file__).parent)
ACCEPTED_SECONDS = 900
LEASE_SECONDS = 10.0
STOPS = (LEASE_SECONDS + 1, ACCEPTED_SECONDS - 5.0, 3600.0)


@dataclass
class Time:
    """What all clocks of one history show, and what the table accepted when."""

    now: float = 1_700_000_000.0
    accepted: list[float] = field(default_factory=list)
    failing: int = 0
    """So many accepted requests are answered with a failure, as if nobody knew."""

    @property
    def clocks(self) -> Clocks:
        return Clocks(wall=lambda: self.now, boot=lambda: self.now, monotonic=lambda: self.now)

    @property
    def turn(self) -> Turn:
        """Answers a request as DynamoDB does, by the age of its signature."""

        def answer(peer: Peer, request: Request) -> None:
            now = self.now
            if now - request.signed > ACCEPTED_SECONDS:
                kind = "com.amazon.coral.service#InvalidSignatureException"
                peer.send(whole({"__type": kind, "message": "Signature expired"}, 400))
                return
            self.accepted.append(now)
            if self.failing:
                self.failing -= 1
                peer.send(whole({"__type": "com.amazon.coral.service#InternalServerError"}, 500))
                return
            peer.send(whole({}))

        return answer


@contextmanager
def stopped(time: Time, stops: Mapping[int, float]) -> Iterator[Callable[[], int]]:
    """Lets time pass before the n-th line of the transport that this thread carries out, for each n of `stops`. Gives
    how many lines were carried out."""
    passed = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal passed
        if not frame.f_code.co_filename.startswith(TRANSPORT):
            return None
        if event == "line":
            time.now += stops.get(passed, 0.0)
            passed += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield lambda: passed
    finally:
        sys.settrace(before)


Write = Callable[[DirectTransport, Callable[[], None]], object]


def guarded(transport: DirectTransport, guard: Callable[[], None]) -> None:
    """As the library writes."""
    transport.run(PUT, guard)


def guarded_too_early(transport: DirectTransport, guard: Callable[[], None]) -> None:
    """As no writer may: the guard is asked before the signature is made."""
    guard()
    transport.run(PUT)


class LeaseEnded(Exception):
    """What the guard raises."""


@dataclass
class Histories:
    """Plays one guarded write after the other against one server."""

    world: World
    write: Write = guarded
    failing: int = 0
    lines: int = 0
    """How many lines of the transport the last write carried out."""
    refused: int = 0
    """How many writes did not succeed."""

    def __post_init__(self) -> None:
        self._server = self.world.server()

    def late(self, stops: Mapping[int, float]) -> float:
        """How many seconds after the end of its lease the last request of a write was accepted, at the most; `stops`
        has the seconds for which the process is stopped, by the line before which it is."""
        time = Time(failing=self.failing)
        ends = time.now + LEASE_SECONDS

        def guard() -> None:
            if time.now > ends:
                raise LeaseEnded

        self._server.then(time.turn)
        transport = transport_to(self._server, self.world.trusted, clocks=time.clocks, max_attempts=3, draw=lambda: 0.0)
        with closing(transport), stopped(time, stops) as passed:
            try:
                self.write(transport, guard)
            except (ShardweaveError, LeaseEnded):
                self.refused += 1
        self.lines = passed()
        return max(time.accepted, default=ends) - ends


@pytest.mark.parametrize("failing", [0, 1], ids=["answered", "repeated"])
def test_what_is_sent_after_a_stop_comes_in_time_or_is_refused(world: World, failing: int) -> None:
    """A4: at each line (with TLS, whose lines are many: each fourth), for a moment that ends the lease, for nearly as
    long as a signature lasts, and for an hour."""
    histories = Histories(world, failing=failing)
    assert histories.late({}) < 0
    lines = range(0, histories.lines, 1 if world.context is None else 4)
    assert histories.lines > 150
    for seconds in STOPS:
        histories.refused = 0
        assert [line for line in lines if histories.late({line: seconds}) > ACCEPTED_SECONDS] == []
        assert histories.refused > 0


def test_two_stops_do_not_add_up(plain: World) -> None:
    """A4: of all pairs of lines and lengths, two hundred."""
    histories, draw = Histories(plain, failing=1), random.Random(1)
    histories.late({})
    pairs = [draw.sample(range(histories.lines), 2) for _ in range(200)]
    stops = [{line: draw.choice(STOPS) for line in pair} for pair in pairs]
    assert [each for each in stops if histories.late(each) > ACCEPTED_SECONDS] == []


def test_a_guard_before_the_signature_would_be_found(plain: World) -> None:
    histories = Histories(plain, guarded_too_early)
    histories.late({})
    late = [line for line in range(histories.lines) if histories.late({line: STOPS[-1]}) > ACCEPTED_SECONDS]
    assert len(late) > 10
