"""How many records to ask of a lane, so that a second round is unlikely and little is read in vain.

A hashed record falls into each of `lanes` shards with probability 1/lanes, so the number of the next `count` records
that stand in one lane is binomial. The fetch is the least `m` with lanes x P(X >= m) <= 5 %: by the union bound no
lane is drained in 95 % of pages. Never less than what one read unit pays for anyway, for records of 1 KB: learning
their real size would save little, and the same page would cost this much now and that much later.
"""

from __future__ import annotations

from functools import lru_cache

RETRY_CHANCE = 0.05
MAX_FETCH = 1000
RECORDS_PER_UNIT = 4


@lru_cache(maxsize=4096)
def fetch_size(lanes: int, count: int) -> int:
    """Records to ask of each of `lanes` lanes for the next `count` records."""
    if lanes <= 1:
        return max(1, min(max(count, RECORDS_PER_UNIT), MAX_FETCH))
    chance = 1 / lanes
    tail = 1.0
    term = (1 - chance) ** count
    size = 0
    while lanes * tail > RETRY_CHANCE and size < count:
        tail -= term
        term *= (count - size) / (size + 1) * chance / (1 - chance)
        size += 1
    return max(1, min(max(size, RECORDS_PER_UNIT), MAX_FETCH))
