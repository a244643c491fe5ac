"""Background work of the local server: a handler gets the table's changes and is also called every second.

Guarantees: one thread at a time calls the handler. Its exceptions are reported, and the call is repeated. Stopping
waits for the running call, whose pauses made by `pause` end at once.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from ..reshard.change_handler import ChangeHandler
from ..table import Table
from ..table.stream_operations import StreamRecord
from .poller import Poller

WAKE_SECONDS = 1.0


class Background:
    """The poller and the timer of one table. `failed` is called with the exceptions of the handler."""

    def __init__(
        self,
        handler: ChangeHandler,
        table: Table,
        position_file: Path,
        *,
        failed: Callable[[Exception], None],
        wake_seconds: float = WAKE_SECONDS,
        stopping: threading.Event | None = None,
    ) -> None:
        self._handler = handler
        self._failed = failed
        self._wake_seconds = wake_seconds
        self._one_at_a_time = threading.Lock()
        self._stopping = stopping or threading.Event()
        self._poller = Poller(table, self._handle, position_file, failed=failed)
        self._timer = threading.Thread(target=self._wake, name="wake")

    def start(self) -> None:
        """Start the threads."""
        self._poller.start()
        self._timer.start()

    @property
    def lag(self) -> float:
        """The longest time, in seconds, that a change may have waited."""
        return self._poller.lag

    def stop_soon(self) -> None:
        """Start nothing more, and end the pauses of the running call."""
        self._stopping.set()
        self._poller.stop_soon()

    def stop(self) -> None:
        """Wait for the running call, then stop."""
        self.stop_soon()
        self._poller.stop()
        self._timer.join()

    def _handle(self, changes: tuple[StreamRecord, ...]) -> None:
        for change in changes:
            if self._stopping.is_set():
                raise Stopping
            with self._one_at_a_time:
                self._handler.handle(change)
        with self._one_at_a_time:
            self._handler.drain()

    def _wake(self) -> None:
        while not self._stopping.wait(self._wake_seconds):
            try:
                with self._one_at_a_time:
                    self._handler.wake()
            except Exception as error:  # noqa: BLE001 - a handler may raise anything, and is woken again
                self._failed(error)


class Stopping(Exception):
    """The background work is stopping: the rest of a batch is left for the next start."""


def pause(stopping: threading.Event, seconds: float) -> None:
    """Wait for some seconds. Raises Stopping if the background work is stopped meanwhile."""
    if stopping.wait(seconds):
        raise Stopping
