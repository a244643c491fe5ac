"""Work that goes on beside a test, and whose failures are the test's."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE_SECONDS = 0.005
LEAST = 8
"""How often each work is done at least: how long a block lasts, and which thread gets how much of it, is up to the
machine."""


@contextmanager
def beside(*works: Callable[[random.Random], None]) -> Iterator[None]:
    """Threads that do their work again and again as long as the block lasts, and until each has done it `LEAST`
    times."""
    ended = threading.Event()
    raised: list[BaseException] = []
    done = [0] * len(works)

    def loop(number: int, work: Callable[[random.Random], None]) -> None:
        drawn = random.Random(number)
        try:
            while not ended.wait(PAUSE_SECONDS):
                work(drawn)
                done[number] += 1
        except BaseException as error:  # noqa: BLE001 - told in the thread of the test
            raised.append(error)

    threads = [threading.Thread(target=loop, args=each) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    try:
        yield
        while min(done) < LEAST and not raised:
            time.sleep(PAUSE_SECONDS)
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert raised == []
