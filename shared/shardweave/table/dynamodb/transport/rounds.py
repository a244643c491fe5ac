"""The driver of exchanges: carries out several in parallel, in the calling thread or as work of an event loop.

The two differ only in how they wait: for sockets see `watch`, for everything else `waiting`. A round has its own
selector and shares only the pool with other rounds. It creates and starts an exchange when it has a slot for it; an
exchange holds neither slot nor connection during a pause. An event belongs to the lane for which it was registered, and
to the connection that the lane had then, since socket numbers may be reused within one batch of events.

If a lane ends without a complete reply, its connection is closed, also after an exception of a callback, an interrupt,
or a deadline: connections are never returned to the pool half read.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush
from itertools import count
from typing import Any, Protocol

from ....errors import ShardweaveError
from .connection import Address, Clocks, Connecting, Connection
from .exchange import Exchange, Step
from .pool import Pool
from .watch import READ, WRITE, Watch, new_watch

CHUNK = 64 * 1024
NEVER = float("inf")


@dataclass(frozen=True)
class Limits:
    """Timeouts in seconds: for connecting with TLS, for inactivity, and for a whole attempt."""

    connect: float
    silence: float
    attempt: float


class Endpoint(Protocol):
    """The endpoint of connections."""

    def addresses(self, *, anew: bool = False) -> Sequence[Address]:
        """The addresses of the host. Raises OSError."""

    def secured(self, sock: socket.socket) -> socket.socket:
        """The socket, with TLS if it is used."""

    def unlock(self) -> None:
        """Reset the lock in a forked process."""


@dataclass(frozen=True)
class Attempted:
    """The report of an attempt to an observer, without content and signature. `failure` is empty if a reply was read
    completely."""

    method: str
    number: int
    status: int
    request_id: str
    reused: bool
    failure: str
    milliseconds: float


Observe = Callable[[Attempted], object]

Late = tuple[int, ShardweaveError | None, float]
"""An exchange that ran out of time: its number, the error of its last attempt, if that failed, and the milliseconds."""


class Lane:
    """One exchange of a round, and its current slot and connection."""

    __slots__ = (
        "attempt_ends",
        "begun",
        "connecting",
        "connection",
        "ends",
        "exchange",
        "made",
        "mask",
        "number",
        "started",
        "under_way",
        "unsent",
        "watched",
    )

    def __init__(self, number: int, started: float) -> None:
        self.number = number
        self.started = started
        self.exchange: Any = None
        self.connection: Connection | None = None
        self.connecting: Connecting | None = None
        self.unsent: memoryview | None = None
        self.watched: dict[socket.socket, tuple[int, int]] = {}
        self.ends = NEVER
        self.attempt_ends = NEVER
        self.begun = started
        self.made = False
        self.under_way = False


class Round:
    """One round, for one thread or one piece of an event loop's work."""

    def __init__(
        self,
        pool: Pool,
        endpoint: Endpoint,
        limits: Limits,
        clocks: Clocks,
        observe: Observe | None = None,
    ) -> None:
        self._pool = pool
        self._endpoint = endpoint
        self._limits = limits
        self._now = clocks.monotonic
        self._clocks = clocks
        self._observe = observe
        self._watching: Watch | None = None
        self._slots = 0
        self._process = pool.process
        self._lanes: set[Lane] = set()
        self._sending: Lane | None = None
        self._paused: list[tuple[float, int, Lane]] = []
        self._order = count()
        self._timer = NEVER

    def run(
        self,
        make: Callable[[int], Exchange[Any]],
        total: int,
        at_once: int,
        done: Callable[[int, Exchange[Any] | ShardweaveError, float], object],
        *,
        until: float | None = None,
        single: bool = False,
        nested: bool = False,
    ) -> list[Late]:
        """Carry out all exchanges. `make` creates the exchange with a number below `total`; if it raises an error of
        the library, this is the exchange's outcome. At most `at_once` exchanges run in parallel. `done` is called for
        each finished one with its number, the exchange or the error, and the milliseconds. Returns the exchanges for
        which `until`, a time of the clock, left no time. A round that is `nested` in another one of its thread, such as
        a read of a guard, does not wait for slots."""
        self._make, self._done, self._single, self._nested = make, done, single, nested
        self._until = NEVER if until is None else until
        self._left = iter(range(total))
        self._next: int | None = next(self._left, None)
        self._watching = new_watch(many=not single)
        self._late: list[Late] = []
        try:
            while self._next is not None or self._lanes or self._paused:
                now = self._now()
                if now >= self._until:
                    self._give_up(now)
                    break
                self._start(at_once, now)
                self._wait()
        finally:
            self._close()
        return self._late

    # -- starting

    def _start(self, at_once: int, now: float) -> None:
        """Start due exchanges as far as slots are free. It waits for a slot only if it has none."""
        while len(self._lanes) < at_once and (self._next is not None or (self._paused and self._paused[0][0] <= now)):
            if self._slots == 0:
                until = None if self._until == NEVER else self._until
                if self._nested:
                    self._pool.exceed(single=self._single)
                elif not self._pool.take_slot(single=self._single, until=until):
                    return
            elif not self._pool.try_slot(single=self._single):
                return
            self._slots += 1
            now = self._now()
            if self._paused and self._paused[0][0] <= now:
                lane = heappop(self._paused)[2]
            elif self._next is not None:
                lane = Lane(self._next, now)
                self._next = next(self._left, None)
            else:
                self._give_slot()
                return
            self._lanes.add(lane)
            self._open(lane, now)

    def _open(self, lane: Lane, now: float) -> None:
        if not lane.made:
            try:
                lane.exchange = self._make(lane.number)
            except ShardweaveError as error:
                self._leave(lane)
                self._done(lane.number, error, 0.0)
                return
            lane.made = True
        lane.begun = now
        connection = self._pool.take()
        if connection is not None:
            lane.connection = connection
            self._begin(lane)
            return
        lane.ends = lane.attempt_ends = now + self._limits.connect
        try:
            addresses = self._endpoint.addresses(anew=lane.exchange.number > 0)
        except OSError as error:
            self._unconnected(lane, type(error).__name__)
            return
        lane.connecting = Connecting(addresses, self._limits.silence)
        self._try_next_address(lane, now)

    def _try_next_address(self, lane: Lane, now: float) -> None:
        connecting = lane.connecting
        assert connecting is not None
        sock = connecting.start_next(now)
        if sock is not None:
            self._watch(lane, sock, WRITE)
        elif not connecting.pending:
            self._unconnected(lane, connecting.reason)
            return
        lane.ends = min(lane.attempt_ends, connecting.next_at if connecting.has_more else NEVER)
        self._timer = min(self._timer, lane.ends)

    def _connected(self, lane: Lane, sock: socket.socket) -> None:
        connecting, lane.connecting = lane.connecting, None
        assert connecting is not None
        self._unwatch(lane)
        connecting.close()
        lane.ends = lane.attempt_ends
        self._timer = min(self._timer, lane.ends)
        try:
            lane.connection = Connection(self._endpoint.secured(sock), self._clocks)
        except OSError as error:
            sock.close()
            self._unconnected(lane, type(error).__name__)
            return
        self._pool.add(lane.connection)
        self._shake_hands(lane)

    def _shake_hands(self, lane: Lane) -> None:
        connection = lane.connection
        assert connection is not None
        try:
            done = connection.shake_hands()
        except (OSError, ValueError) as error:
            self._unconnected(lane, type(error).__name__)
            return
        if done:
            self._begin(lane)
        else:
            self._watch(lane, connection.socket, WRITE if connection.wants_write else READ)

    def _begin(self, lane: Lane) -> None:
        """Begin an attempt on a connection: sign, call the guard, send. Their exceptions end the round."""
        request = lane.exchange.begin(self._clocks.wall())
        lane.under_way = True
        now = self._now()
        lane.attempt_ends = now + self._limits.attempt
        lane.unsent = memoryview(request)
        self._send(lane)

    # -- what happens on a connection

    def _wait(self) -> None:
        """Wait for the next events, and process them."""
        assert self._watching is not None
        if not self._lanes and not self._paused:
            return
        now = self._now()
        due = min(self._timer, self._until)
        if self._paused and (self._paused[0][0] > now or not self._lanes):
            # A due exchange without a slot waits for another lane to end.
            due = min(due, self._paused[0][0])
        seconds = None if due == NEVER else max(0.0, due - now)
        for sock, (lane, connection) in self._watching.wait(seconds):
            if lane in self._lanes and lane.connection is connection and sock in lane.watched:
                self._ready(lane, sock)
        if self._timer <= (now := self._now()):
            self._time_out(now)

    def _ready(self, lane: Lane, sock: socket.socket) -> None:
        if lane.connecting is not None:
            self._ready_to_connect(lane, sock)
        elif lane.under_way:
            if lane.unsent is not None:
                self._send(lane)
            else:
                self._receive(lane)
        else:
            self._shake_hands(lane)

    def _ready_to_connect(self, lane: Lane, sock: socket.socket) -> None:
        assert lane.connecting is not None
        self._unwatch(lane, sock)
        if lane.connecting.is_connected(sock):
            self._connected(lane, sock)
        else:
            self._try_next_address(lane, self._now())

    def _send(self, lane: Lane) -> None:
        """Send as much as possible, and read what has arrived meanwhile, since an answer may come before everything is
        sent."""
        connection, unsent = lane.connection, lane.unsent
        assert connection is not None
        assert unsent is not None
        # An interrupt between the two would leave untold what was sent.
        self._sending = lane
        try:
            taken = connection.send(unsent)
        except OSError as error:
            # A complete reply that arrived before the connection broke is used.
            if connection.has_tls:
                lane.exchange.half_sent()
            lane.unsent = self._sending = None
            self._receive(lane, broken=type(error).__name__)
            return
        if taken is None:
            lane.exchange.half_sent()
        else:
            lane.exchange.sent(taken)
            lane.unsent = unsent = unsent[taken:] if taken < len(unsent) else None
        self._sending = None
        self._rearm(lane, READ if unsent is None else READ | WRITE)
        if unsent is not None:
            self._receive(lane)

    def _receive(self, lane: Lane, broken: str = "") -> None:
        """Read the received bytes. `broken` is the reason why no more will arrive."""
        connection = lane.connection
        assert connection is not None
        try:
            step, more = self._received(connection, lane.exchange)
            while step is Step.READ and more:
                step, more = self._received(connection, lane.exchange)
        except OSError as error:
            broken = broken or type(error).__name__
            step = Step.READ
        if step is not Step.READ:
            self._ended(lane, step)
        elif broken:
            self._ended(lane, lane.exchange.lost(broken))
        else:
            self._rearm(lane, READ | WRITE if lane.unsent is not None or connection.wants_write else READ)

    @staticmethod
    def _received(connection: Connection, exchange: Exchange[Any]) -> tuple[Step, bool]:
        """The step after the next received bytes, and whether more may be available."""
        space = exchange.space()
        if space is not None:
            count = connection.receive_into(space)
            if count is None:
                return Step.READ, False
            return (exchange.filled(count), True) if count else (exchange.ended(), False)
        data = connection.receive(CHUNK)
        if data is None:
            return Step.READ, False
        return (exchange.receive(data), True) if data else (exchange.ended(), False)

    # -- ends

    def _ended(self, lane: Lane, step: Step) -> None:
        """Process the end of an attempt."""
        exchange, connection = lane.exchange, lane.connection
        if self._observe is not None:
            self._tell(lane)
        self._unwatch(lane)
        if connection is not None:
            if exchange.keeps_connection:
                self._pool.keep(connection)
            else:
                self._pool.drop(connection)
        lane.connection, lane.unsent, lane.under_way = None, None, False
        self._leave(lane)
        now = self._now()
        if step is Step.DONE:
            self._done(lane.number, exchange, (now - lane.started) * 1000)
        elif now + exchange.pause >= self._until:
            self._late.append((lane.number, exchange.error, (now - lane.started) * 1000))
        else:
            heappush(self._paused, (now + exchange.pause, next(self._order), lane))

    def _unconnected(self, lane: Lane, reason: str) -> None:
        if lane.connecting is not None:
            self._unwatch(lane)
            lane.connecting.close()
            lane.connecting = None
        self._ended(lane, lane.exchange.unconnected(reason))

    def _leave(self, lane: Lane) -> None:
        self._lanes.discard(lane)
        self._give_slot()

    def _give_slot(self) -> None:
        self._slots -= 1
        self._pool.give_slots(1, self._process, single=self._single)

    def _time_out(self, now: float) -> None:
        """End attempts that took too long, and return the time of the next timeout."""
        self._timer = NEVER
        for lane in list(self._lanes):
            if lane.ends <= now:
                if lane.connecting is not None and now < lane.attempt_ends:
                    self._try_next_address(lane, now)
                elif lane.under_way:
                    self._ended(lane, lane.exchange.lost("Timeout"))
                else:
                    self._unconnected(lane, "ConnectTimeout")
            if lane in self._lanes:
                self._timer = min(self._timer, lane.ends)

    def _give_up(self, now: float) -> None:
        self._late += [(lane.number, None, (now - lane.started) * 1000) for lane in self._lanes]
        self._late += [(lane.number, lane.exchange.error, (now - lane.started) * 1000) for _, _, lane in self._paused]
        rest = [] if self._next is None else [self._next, *self._left]
        self._late += [(number, None, 0.0) for number in rest]
        self._next = None

    def _close(self) -> None:
        for lane in self._lanes:
            if lane.under_way and lane is not self._sending:
                lane.exchange.given_up()
            if lane.connecting is not None:
                lane.connecting.close()
            if lane.connection is not None:
                self._pool.drop(lane.connection)
        self._lanes.clear()
        self._paused.clear()
        if self._watching is not None:
            self._watching.close()
        self._pool.give_slots(self._slots, self._process, single=self._single)
        self._slots = 0

    # -- what is watched

    def _watch(self, lane: Lane, sock: socket.socket, mask: int) -> None:
        assert self._watching is not None
        known = lane.watched.get(sock)
        if known is None:
            lane.watched[sock] = self._watching.add(sock, mask, (lane, lane.connection)), mask
        elif known[1] != mask:
            self._watching.change(known[0], mask)
            lane.watched[sock] = known[0], mask

    def _rearm(self, lane: Lane, mask: int) -> None:
        """Register the connection for its next event, with a new timeout."""
        assert lane.connection is not None
        self._watch(lane, lane.connection.socket, mask)
        lane.ends = min(self._now() + self._limits.silence, lane.attempt_ends)
        self._timer = min(self._timer, lane.ends)

    def _unwatch(self, lane: Lane, *socks: socket.socket) -> None:
        assert self._watching is not None
        for sock in socks or tuple(lane.watched):
            self._watching.remove(lane.watched.pop(sock)[0])

    def _tell(self, lane: Lane) -> None:
        """Call the observer, whose exceptions are ignored."""
        reply, exchange = lane.exchange.reply, lane.exchange
        told = Attempted(
            exchange.call.method,
            exchange.number,
            0 if reply is None else reply.status,
            "" if reply is None else reply.headers.get("x-amzn-requestid", ""),
            lane.connection is not None and lane.connection.reused,
            str(exchange.error) if reply is None else "",
            (self._now() - lane.begun) * 1000,
        )
        assert self._observe is not None
        with contextlib.suppress(Exception):
            self._observe(told)
