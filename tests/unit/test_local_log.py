"""The log of the local server: whole lines, with time and level, and no floods."""

from __future__ import annotations

import errno
import io
import logging
import re
import threading
from collections.abc import Iterator

import pytest

from shardweave.local.log import FLOOD_SECONDS, LOG, MAX_KINDS, METRICS, LogHandler, configure
from shardweave.local.serve import log_failure

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
def kept_loggers() -> Iterator[None]:
    kept = logging.getLogger(), LOG, METRICS, logging.getLogger("uvicorn")
    before = [(each, list(each.handlers), each.level, each.propagate) for each in kept]
    yield
    for each, handlers, level, propagate in before:
        each.handlers[:], each.propagate = handlers, propagate
        each.setLevel(level)


@pytest.fixture
def stream() -> io.StringIO:
    return io.StringIO()


@pytest.fixture(autouse=True)
def log(stream: io.StringIO, clock: Clock, kept_loggers: None) -> LogHandler:
    return configure(stream, clock)


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


def test_its_end_is_told_with_the_time_of_the_last_one(log: LogHandler, stream: io.StringIO, clock: Clock) -> None:
    for _ in range(300):
        LOG.error("builtins.OSError\n  poller.py:70 _read")
        clock.now += 0.1
    log.write_counts()
    assert len(stream.getvalue().splitlines()) == 2
    clock.now = FLOOD_SECONDS
    log.write_counts()
    (told,) = stream.getvalue().splitlines()[2:]
    time = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"
    assert re.fullmatch(rf"{time} ERROR 299 more like it, the last at {time}: builtins.OSError", told)
    for _ in range(3):
        clock.now += FLOOD_SECONDS
        log.write_counts()
    assert len(stream.getvalue().splitlines()) == 3
    LOG.error("builtins.OSError\n  poller.py:70 _read")
    assert stream.getvalue().splitlines()[3].endswith(" ERROR builtins.OSError")


def test_one_that_goes_on_is_a_line_a_minute(log: LogHandler, stream: io.StringIO, clock: Clock) -> None:
    for second in range(600):
        LOG.warning("the disk is full, try %s", second)
        clock.now += 1.0
        log.write_counts()
    lines = stream.getvalue().splitlines()
    assert len(lines) == 11
    assert sum(int(line.split()[2]) for line in lines[1:]) == 599


def test_what_was_counted_is_told_when_the_process_ends(log: LogHandler, stream: io.StringIO) -> None:
    for _ in range(5):
        LOG.warning("the disk is full")
    log.write_counts(all_of_them=True)
    assert "WARNING 4 more like it, the last at" in stream.getvalue()


def test_another_fault_of_the_same_class_is_not_taken_for_the_one_that_was_written(stream: io.StringIO) -> None:
    for place in ("poller.py:70 _read", "poller.py:71 _read", "background.py:80 _wake"):
        LOG.error("builtins.OSError\n  %s", place)
    assert stream.getvalue().count("builtins.OSError") == 2


def test_faults_of_many_threads_are_all_counted(log: LogHandler, stream: io.StringIO) -> None:
    threads = [threading.Thread(target=lambda: [LOG.warning("the disk is full") for _ in range(500)]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    log.write_counts(all_of_them=True)
    assert "WARNING 3,999 more like it" in stream.getvalue()
    assert len(stream.getvalue().splitlines()) == 2


def test_the_kinds_that_are_remembered_are_bounded(log: LogHandler) -> None:
    for number in range(3 * MAX_KINDS):
        LOG.warning("fault %s", "x" * number)
    assert len(log._floods._floods) == MAX_KINDS


def failed(logger: str, message: str, failure: Exception) -> None:
    try:
        raise failure
    except type(failure):
        logging.getLogger(logger).exception(message)


def test_a_fault_of_the_operating_system_is_one_line(stream: io.StringIO) -> None:
    failed("asyncio", "socket.accept() out of system resource\nsocket: <fd=7>", OSError(errno.EMFILE, "Too many files"))
    (line,) = stream.getvalue().splitlines()
    assert line.endswith("ERROR socket.accept() out of system resource: Too many files")


def test_so_is_one_of_what_runs_in_the_background(stream: io.StringIO) -> None:
    log_failure(OSError(errno.ENOSPC, "No space left on device"))
    log_failure(OSError(errno.EMFILE, "Too many open files", "/data/position"))
    said = [line.split(" ", 1)[1] for line in stream.getvalue().splitlines()]
    assert said == [
        "WARNING re-shard: a file of the data folder: No space left on device",
        "WARNING re-shard: /data/position: Too many open files",
    ]


@pytest.mark.parametrize("logger", ["asyncio", "uvicorn.error"])
def test_a_foreign_exception_shows_where_it_was_and_not_its_text(stream: io.StringIO, logger: str) -> None:
    failed(logger, "Task exception was never retrieved\nfuture: <ValueError('hidden')>", ValueError("hidden"))
    assert LINE.fullmatch(stream.getvalue().splitlines()[0])
    assert "builtins.ValueError" in stream.getvalue()
    assert "test_local_log.py" in stream.getvalue()
    assert "hidden" not in stream.getvalue()


class Full(io.StringIO):
    """A file on a disk that may be full."""

    full = False

    def write(self, text: str) -> int:
        if self.full:
            raise OSError(errno.ENOSPC, "No space left on device")
        return super().write(text)


def test_lines_for_which_there_is_no_room_are_counted(kept_loggers: None, capsys: pytest.CaptureFixture[str]) -> None:
    output = Full()
    configure(output)
    output.full = True
    for number in range(20):
        LOG.info("request %s", number)
    output.full = False
    LOG.info("room again")
    LOG.info("and on")
    said = [line.split(" ", 1)[1] for line in output.getvalue().splitlines()]
    assert said == ["INFO room again", "WARNING 20 lines could not be written", "INFO and on"]
    assert capsys.readouterr().err == ""


def test_so_is_what_the_event_loop_says_when_there_are_no_file_descriptors(stream: io.StringIO) -> None:
    for _ in range(20):
        logging.getLogger("asyncio").error("socket.accept() out of system resource\nsocket: %s", "<...>")
    assert stream.getvalue().count("out of system resource") == 1


def test_metrics_are_written_as_they_are(stream: io.StringIO) -> None:
    METRICS.info('{"entity": "user"}')
    assert stream.getvalue() == '{"entity": "user"}\n'
