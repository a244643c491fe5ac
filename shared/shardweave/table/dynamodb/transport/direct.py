"""The direct transport of one table: operations on items over non-blocking sockets.

One object serves all threads and event loops. A call runs in the calling thread; several reads of one call run in
parallel in that thread, each with its own outcome. A forked process does not use the connections and locks of its
parent.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar, cast

from ....errors import ShardweaveError
from ....errors.outcomes import note_maybe_written
from ... import Guard
from ...many import Lanes, Outcome, too_late
from ...operations import Operation
from ...retry import system_random
from ...waiting import loop_work
from .calls import call_of
from .connection import Clocks
from .exchange import Call, Exchange
from .pool import Pool
from .quota import RetryQuota
from .retries import GivenRetries, StandardRetries
from .rounds import Endpoint, Limits, Observe, Round
from .signing import Signer

R = TypeVar("R")

ATTEMPT_FACTOR = 4
"""The factor between the inactivity timeout and the maximum duration of an attempt."""


class DirectTransport:
    """Carries operations out on one table."""

    def __init__(
        self,
        table: str,
        key_names: tuple[str, str],
        endpoint: Endpoint,
        signer: Signer,
        *,
        needs_checksum: bool,
        connections: int,
        connect_timeout: float,
        read_timeout: float,
        max_attempts: int,
        observe: Observe | None = None,
        clocks: Clocks | None = None,
        draw: Callable[[], float] | None = None,
    ) -> None:
        self._table = table
        self._key_names = key_names
        self._endpoint = endpoint
        self._signer = signer
        self._needs_checksum = needs_checksum
        self._clocks = clocks or Clocks()
        self._limits = Limits(connect_timeout, read_timeout, ATTEMPT_FACTOR * read_timeout)
        self._max_attempts = max_attempts
        self._observe = observe
        self._quota = RetryQuota()
        self._draw = draw or system_random
        self._callers: set[object] = set()
        self.pool = Pool(connections, self._clocks.monotonic)
        _TRANSPORTS.add(self)

    def run(self, operation: Operation[Any], guard: Guard | None = None) -> Any:
        """Carry out one operation. Raises as `Table.run`."""
        return self.call(call_of(operation, self._table, self._key_names, guard))

    def call(self, call: Call[R]) -> R:
        """Carry out one call. Raises as `run`."""
        exchange = Exchange(
            call,
            self._signer,
            StandardRetries(self._quota, self._max_attempts, self._draw),
            needs_checksum=self._needs_checksum,
        )
        try:
            with self._running() as nested:
                self._round().run(lambda _: exchange, 1, 1, _nothing, single=True, nested=nested)
        except BaseException as error:
            if call.attempts.maybe_written:
                note_maybe_written(error)
            raise
        if exchange.error is not None:
            raise exchange.error
        return cast(R, exchange.answer)

    def run_many(self, lanes: Lanes[R]) -> Sequence[Outcome[R]]:
        """Carry out reads in parallel. Returns their outcomes in order."""
        operations, outcomes = lanes.operations, cast(list[Outcome[R]], [None] * len(lanes.operations))
        until = None if lanes.seconds is None else self._clocks.monotonic() + lanes.seconds
        if self.pool.idle < min(lanes.at_once, len(operations)):
            self._resolve()

        def make(number: int) -> Exchange[R]:
            call = call_of(operations[number], self._table, self._key_names)
            retries = GivenRetries(partial(lanes.pause_after, number))
            return Exchange(call, self._signer, retries, needs_checksum=self._needs_checksum)

        def done(number: int, ended: Exchange[R] | ShardweaveError, milliseconds: float) -> None:
            if isinstance(ended, ShardweaveError):
                outcomes[number] = Outcome(None, ended, milliseconds)
            elif ended.succeeded:
                outcomes[number] = Outcome(ended.answer, None, milliseconds)
            else:
                outcomes[number] = Outcome(None, ended.error, milliseconds)

        with self._running() as nested:
            late = self._round().run(make, len(operations), lanes.at_once, done, until=until, nested=nested)
        for number, error, milliseconds in late:
            outcomes[number] = Outcome(None, error or too_late(), milliseconds, late=True)
        return outcomes

    def close(self) -> None:
        """Close idle connections; connections in use are closed when their calls end. Later calls don't pool
        connections."""
        self.pool.close()

    def leave_to_parent(self) -> None:
        """Reset the state in a forked process."""
        self.pool.leave_to_parent()
        self._quota.unlock()
        self._endpoint.unlock()

    @contextmanager
    def _running(self) -> Iterator[bool]:
        """Whether this thread, or this work of an event loop, is already in a call, whose guard makes this call."""
        caller = loop_work() or threading.get_ident()
        nested = caller in self._callers
        self._callers.add(caller)
        try:
            yield nested
        finally:
            if not nested:
                self._callers.discard(caller)

    def _round(self) -> Round:
        return Round(self.pool, self._endpoint, self._limits, self._clocks, self._observe)

    def _resolve(self) -> None:
        """Resolve the addresses before a round begins, since this would block every lane of the round."""
        try:
            self._endpoint.addresses()
        except OSError:
            # Each lane that needs a connection gets the error itself.
            return


_TRANSPORTS: weakref.WeakSet[DirectTransport] = weakref.WeakSet()


def _leave_all_to_parent() -> None:
    for transport in list(_TRANSPORTS):
        transport.leave_to_parent()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_leave_all_to_parent)


def _nothing(number: int, ended: Any, milliseconds: float) -> None:
    """Nothing: the exchange has its outcome."""
