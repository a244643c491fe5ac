"""Work that goes on beside a test, and whose failures are the test's."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

PAUSE_SECONDS = 0.005


@contextmanager
def beside(*works: Callable[[random.Random], None]) -> Iterator[None]:
    """Threads that do their work again and again as long as the block lasts."""
    ended = threading.Event()
    raised: list[BaseException] = []

    def loop(seed: int, work: Callable[[random.Random], None]) -> None:
        drawn = random.Random(seed)
        try:
            while not ended.wait(PAUSE_SECONDS):
                work(drawn)
        except BaseException as error:  # noqa: BLE001 - told in the thread of the test
            raised.append(error)

    threads = [threading.Thread(target=loop, args=(seed, work)) for seed, work in enumerate(works)]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()
    assert raised == []
