"""How many records to ask of a lane, so that a second round is unlikely and little is read in vain.

A hashed record falls into each of `lanes` shards with probability 1/lanes, so the number of the next `count` records
that stand in one lane is binomial. The fetch is the least `m` with lanes x P(X >= m) <= 5 %: by the union bound no
lane is drained in 95 % of pages. Never less than what one read unit pays for anyway.
"""

from __future__ import annotations

from functools import lru_cache

READ_UNIT_BYTES = 4096
RETRY_CHANCE = 0.05
MAX_FETCH = 1000
ASSUMED_RECORD_BYTES = 1024.0


@lru_cache(maxsize=4096)
def fetch_size(lanes: int, count: int, per_unit: int) -> int:
    """Records to ask of each of `lanes` lanes for the next `count` records; `per_unit` fit a read unit."""
    if lanes <= 1:
        return max(1, min(max(count, per_unit), MAX_FETCH))
    chance = 1 / lanes
    tail = 1.0
    term = (1 - chance) ** count
    size = 0
    while lanes * tail > RETRY_CHANCE and size < count:
        tail -= term
        term *= (count - size) / (size + 1) * chance / (1 - chance)
        size += 1
    return max(1, min(max(size, per_unit), MAX_FETCH))


def records_per_unit(mean_bytes: float) -> int:
    """Records that one read unit pays for, 1 to 25."""
    return max(1, min(25, int(READ_UNIT_BYTES // max(mean_bytes, 1.0))))


class RecordSizes:
    """The mean size of an entity's records in an index, learned from what was read. A hint: it decides how much is
    asked for, never what is answered, so threads may race on it."""

    def __init__(self) -> None:
        self._means: dict[tuple[str, str | None], float] = {}

    def mean(self, entity: str, index: str | None) -> float:
        """Bytes."""
        return self._means.get((entity, index), ASSUMED_RECORD_BYTES)

    def learn(self, entity: str, index: str | None, size: int) -> None:
        """Take one more record into account."""
        self._means[entity, index] = 0.9 * self.mean(entity, index) + 0.1 * size
