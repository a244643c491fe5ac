"""What runs beside the local server ends when the server does, whatever it waits for."""

from __future__ import annotations

import threading
from pathlib import Path

from shardweave.local.background import Background, Stopping, pause
from shardweave.reshard.change_handler import Traffic
from shardweave.table.embedded import EmbeddedTable
from shardweave.table.stream_operations import StreamRecord
from tests.unit.store_world import SCHEMA

LONG_SECONDS = 600.0


class Waits:
    """A handler that pauses for long as soon as it is woken."""

    def __init__(self, stopping: threading.Event) -> None:
        self._stopping = stopping
        self.woken = threading.Event()

    def handle(self, change: StreamRecord) -> None:
        raise AssertionError(change)

    def drain(self) -> dict[str, Traffic]:
        return {}

    def wake(self) -> int:
        self.woken.set()
        pause(self._stopping, LONG_SECONDS)
        return 0


def test_a_pause_of_the_handler_ends_when_it_is_stopped(tmp_path: Path) -> None:
    stopping, failures = threading.Event(), list[Exception]()
    handler = Waits(stopping)
    table = EmbeddedTable(SCHEMA.layout)
    background = Background(
        handler, table, tmp_path / "position", failed=failures.append, wake_seconds=0.01, stopping=stopping
    )
    background.start()
    assert handler.woken.wait(LONG_SECONDS)
    background.stop()
    assert [type(failure) for failure in failures] == [Stopping]


def test_a_pause_without_a_stop_is_one() -> None:
    pause(threading.Event(), 0)
