"""Checksums of two sets, by bucket: equal if both sets are equal, in any order.

Each thing has a bucket, by a hash of it, and adds a number to it, by another. What one side adds the other takes away,
so that a bucket that is not 0 at the end has something that only one side has. 256 buckets are 2 KB, however large a
table is.

Pure.
"""

from __future__ import annotations

import hashlib
from array import array

BUCKETS = 256
END = 1 << 64
"""Above the number of every thing."""
MAX_HELD = 50_000
"""How many things are held at once where they are counted in slices of their numbers."""
_WRAP = 1 << 64


class Sums:
    """The sums of two sides."""

    def __init__(self, encoded: bytes = b"") -> None:
        self._sums = array("Q", encoded or bytes(8 * BUCKETS))

    def add(self, thing: str, times: int) -> None:
        """Add a member a number of times; a negative number subtracts it."""
        bucket, number = digests(thing)
        self._sums[bucket] = (self._sums[bucket] + number * times) % _WRAP

    def merge(self, other: Sums) -> None:
        """Add another's sums."""
        for bucket, number in enumerate(other._sums):
            self._sums[bucket] = (self._sums[bucket] + number) % _WRAP

    @property
    def unequal(self) -> frozenset[int]:
        """The buckets in which the sides differ."""
        return frozenset(bucket for bucket, number in enumerate(self._sums) if number)

    def encode(self) -> bytes:
        return self._sums.tobytes()


def digests(thing: str) -> tuple[int, int]:
    """The bucket of a thing, and its number."""
    found = hashlib.blake2b(thing.encode(), digest_size=16).digest()
    return int.from_bytes(found[:8]) % BUCKETS, int.from_bytes(found[8:])
