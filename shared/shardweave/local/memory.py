"""Memory of the server's process: what a burst of requests took goes back to the system when it is over.

The C library (glibc; elsewhere nothing is done) keeps what is freed for the thread that freed it, of which the server
has dozens, and returns only what lies at the end. So few threads' heaps are kept apart, whatever is large is a mapping
of its own that ends with it, and what is free inside is given back once a second, if anything was answered meanwhile.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable

HEAPS = 2
OWN_MAPPING_BYTES = 64 * 1024

_M_MMAP_THRESHOLD, _M_ARENA_MAX = -3, -8
"""As `mallopt` of glibc takes them."""


class Memory:
    """What the process has of it. `answers` says how many requests were answered so far."""

    def __init__(self, answers: Callable[[], int]) -> None:
        self._answers = answers
        self._answered = 0
        library = ctypes.CDLL(None)
        self._trim = getattr(library, "malloc_trim", None)
        if self._trim is not None:
            library.mallopt(_M_ARENA_MAX, HEAPS)
            library.mallopt(_M_MMAP_THRESHOLD, OWN_MAPPING_BYTES)

    def give_back(self) -> None:
        """Give back what is free, unless nothing was answered since the last time."""
        answered = self._answers()
        if self._trim is not None and answered != self._answered:
            self._trim(0)
        self._answered = answered
