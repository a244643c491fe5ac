"""Memory of the server's process: after a burst of requests, free memory is returned to the operating system.

The C library (with another one than glibc nothing is done) keeps freed memory for the thread that freed it, and returns
only memory at the end of the heap. The server has dozens of threads. So the number of separate heaps is limited, large
blocks are memory mappings of their own, which are returned when they are freed, and once a second the free memory
inside heaps is returned, if a request was answered since the last time.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

HEAPS = 2
OWN_MAPPING_BYTES = 64 * 1024

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""Parameters of glibc's `mallopt`."""


class Memory:
    """The memory of this process. `answers` returns the number of requests answered so far."""

    def __init__(self, answers: Callable[[], int]) -> None:
        self._answers = answers
        self._answered = 0
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)
        if self._trim is not None:
            library.mallopt(_M_ARENA_MAX, HEAPS)
            library.mallopt(_M_MMAP_THRESHOLD, OWN_MAPPING_BYTES)

    def give_back(self) -> None:
        """Return free memory to the operating system, unless no request was answered since the last call."""
        answered = self._answers()
        if self._trim is not None and answered != self._answered:
            self._trim(0)
        self._answered = answered
