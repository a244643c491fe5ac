"""A process's connection to the server: a Table whose requests and answers meet what networks do.

Before a request is sent: it is signed, the guard is asked, and then any time may pass. It may be lost, arrive late, be
throttled, meet a transaction, be carried out and its answer lost, also to a client that sends it again by itself and is
throttled then; the process may die before or after. A request that was signed too long ago by the process's own clock,
which may be wrong, is refused.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Any, TypeVar

from shardweave.errors import (
    CancellationReason,
    ShardweaveError,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
)
from shardweave.table import Guard
from shardweave.table.fault_injection import WRITES
from shardweave.table.layout import TableLayout
from shardweave.table.operations import (
    DeleteItem,
    Operation,
    PutItem,
    TransactAnswer,
    TransactWrite,
    UpdateItem,
    may_be_repeated,
)
from tests.simulator.scheduler import Process
from tests.simulator.server import Applying, Server

R = TypeVar("R")


NAP_MS = 60_000


@dataclass(frozen=True)
class Weather:
    """How often what goes wrong, as probabilities of a request."""

    lost_request: float = 0.01
    lost_answer: float = 0.015
    late: float = 0.01
    throttled: float = 0.01
    conflict: float = 0.01
    crash: float = 0.0
    stall: float = 0.02
    """That a process stops between its check and its sending for as long as its request can still be accepted."""
    nap: float = 0.0
    """That a process stops before it signs a request, for up to `NAP_MS`."""


@dataclass
class Late:
    """A write that nobody waits for, under way."""

    operation: Operation[Any]
    signed: int
    by: str
    arrives: int


class Network:
    """What is under way, for all processes. `accepted_ms` is how long a signed request is accepted."""

    def __init__(self, server: Server, accepted_ms: int) -> None:
        self.server = server
        self.accepted_ms = accepted_ms
        self.late: list[Late] = []
        self.arrived_late = lambda operation, by: None

    def happen(self) -> int | None:
        now = self.server.simulation.now
        for each in [each for each in self.late if each.arrives <= now]:
            self.late.remove(each)
            if self.is_accepted(each.signed):
                with contextlib.suppress(ShardweaveError):
                    self.server.execute(each.operation, each.by)
                    self.arrived_late(each.operation, each.by)
        return min((each.arrives for each in self.late), default=None)

    def is_accepted(self, signed: int) -> bool:
        return abs(self.server.simulation.now - signed) <= self.accepted_ms


class Connection:
    """The Table of one process."""

    def __init__(self, network: Network, process: Process, weather: Weather) -> None:
        self._network = network
        self._server = network.server
        self._process = process
        self._weather = weather
        self.calls = 0

    @property
    def layout(self) -> TableLayout:
        return self._server.layout

    @property
    def guards_inside_writes(self) -> bool:
        return False

    def close(self) -> None:
        pass

    def run(self, operation: Operation[R], *, guard: Guard | None = None) -> R:
        simulation, weather = self._server.simulation, self._weather
        draw = simulation.random.random
        self.calls += 1
        self._maybe_die()
        if weather.nap and isinstance(operation, WRITES) and draw() < weather.nap:
            simulation.sleep(int(draw() * NAP_MS))
        signed = self._process.wall_ms()
        if guard is not None:
            guard()
        if guard is not None and draw() < weather.stall:
            simulation.sleep(int(draw() * 2 * self._network.accepted_ms))
        else:
            simulation.pause()
        fate = draw()
        if fate < weather.lost_request:
            raise TableUnavailable("the request was lost", where=operation.method, fix="retry")
        fate -= weather.lost_request
        if fate < weather.late and isinstance(operation, WRITES):
            arrives = simulation.now + int(draw() * 2 * self._network.accepted_ms)
            self._network.late.append(Late(operation, signed, self._process.name, arrives))
            raise TableUnavailable("the request is late", where=operation.method, fix="retry")
        fate -= weather.late
        if not self._network.is_accepted(signed):
            raise TableUnavailable("the signature is too old", where=operation.method, fix="retry")
        if fate < weather.throttled:
            raise Throttled
        fate -= weather.throttled
        if fate < weather.conflict:
            self._meet_transaction(operation)
        fate -= weather.conflict
        answer = self._server.execute(operation, self._process.name)
        if isinstance(answer, Applying):
            simulation.wait_for(answer)
            answer = TransactAnswer()
        elif draw() < 0.3:
            simulation.pause()
        self._maybe_die()
        if 0 <= fate < weather.lost_answer:
            raise self._unanswered(operation, sent_again=fate < weather.lost_answer / 2)
        result: R = answer
        return result

    def _maybe_die(self) -> None:
        if self._weather.crash and self._server.simulation.random.random() < self._weather.crash:
            self._process.crash()

    @staticmethod
    def _unanswered(operation: Operation[Any], *, sent_again: bool) -> ShardweaveError:
        """What a lost answer ends with: that, or how a client that sent again by itself was refused then."""
        if sent_again and isinstance(operation, WRITES) and may_be_repeated(operation):
            throttled = Throttled()
            throttled.maybe_written = True
            return throttled
        return TableUnavailable("the answer was lost", where=operation.method, fix="retry")

    @staticmethod
    def _meet_transaction(operation: Operation[Any]) -> None:
        if isinstance(operation, TransactWrite):
            others = [CancellationReason("None")] * (len(operation.actions) - 1)
            raise TransactionCanceled([CancellationReason("TransactionConflict"), *others])
        if isinstance(operation, PutItem | UpdateItem | DeleteItem):
            raise TransactionConflict("a transaction is in progress on the same item", where="write", fix="retry")
