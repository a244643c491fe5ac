"""The log of the local server: whole lines, with time and level, and no floods."""

from __future__ import annotations

import io
import logging
import re
import threading
from collections.abc import Iterator

import pytest

from shardweave.local.log import FLOOD_SECONDS, LOG, METRICS, configure

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (INFO|WARNING|ERROR) .*")


class Clock:
    """A clock that is set."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def stream(clock: Clock) -> Iterator[io.StringIO]:
    kept = logging.getLogger(), LOG, METRICS, logging.getLogger("uvicorn")
    before = [(each, list(each.handlers), each.level, each.propagate) for each in kept]
    output = io.StringIO()
    configure(output, clock)
    yield output
    for each, handlers, level, propagate in before:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


def test_every_line_has_its_time_and_level_whatever_thread_writes_it(stream: io.StringIO) -> None:
    def write(name: int) -> None:
        for number in range(200):
            LOG.info("GET /v1/users 200 %s-%s", name, number)

    threads = [threading.Thread(target=write, args=(name,)) for name in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 1600
    assert all(map(LINE.fullmatch, lines))


def test_a_fault_that_comes_again_and_again_is_one_line_with_a_count(stream: io.StringIO, clock: Clock) -> None:
    for _ in range(300):
        LOG.error("builtins.OSError\n  poller.py:70 _read")
        clock.now += 0.2
    assert stream.getvalue().count("OSError") == 1
    clock.now = FLOOD_SECONDS
    LOG.error("builtins.OSError\n  poller.py:70 _read")
    assert stream.getvalue().count("OSError") == 2
    assert stream.getvalue().endswith("  299 more like it since the last one\n")
    LOG.error("another")
    LOG.info("another")
    LOG.info("another")
    assert stream.getvalue().count("another") == 3


def test_so_is_what_the_event_loop_says_when_there_are_no_file_descriptors(stream: io.StringIO) -> None:
    for _ in range(20):
        logging.getLogger("asyncio").error("socket.accept() out of system resource\nsocket: %s", "<...>")
    assert stream.getvalue().count("out of system resource") == 1


def test_metrics_are_written_as_they_are(stream: io.StringIO) -> None:
    METRICS.info('{"entity": "user"}')
    assert stream.getvalue() == '{"entity": "user"}\n'
