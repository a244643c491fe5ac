"""How many records to ask of a lane, so that a second round is unlikely and little is read in vain.

A hashed record falls into each of `lanes` shards with probability 1/lanes, so the number of the next `count` records
that stand in one lane is binomial, and by the union bound some lane is drained with a chance of at most
lanes x P(X >= m) when each is asked for m. The fetch is the least m

    with a chance of at most 1 in 1,000     while the lanes together read no more than 2 x count + lanes x 4
    with a chance of at most 1 in 20        in any case

so a page over few lanes costs the same number of requests wherever it is, and one over many reads little in vain.
Never less than what one read unit pays for anyway, 4 records of 1 KB: learning their real size would save little, and
the same page would cost this much now and that much later. Never more than `count`, which is all that can be needed of
one lane. So the first reads of a page of `limit` records read at most

    lanes x min(limit + 1, 4)                     while that is the least that is asked for
    2 x (limit + 1) + lanes x 4                   while a second round is then as unlikely as 1 in 20

Lanes of one branch and generation share its records evenly, those of different ones need not: of two branches, one over
a single shard and one over 64, each may hold half of the page, which the one has in one lane. So a lane counts as one
of as many as its branch has in its generation, times the number of such groups; where all have as many lanes, that is
the number of lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from functools import lru_cache

from .lanes import Lane

RARE_CHANCE = 0.001
RETRY_CHANCE = 0.05
MAX_FETCH = 1000
RECORDS_PER_UNIT = 4


Group = tuple[int, int]
"""A branch, and when a generation begins."""


def group_of(lane: Lane) -> Group:
    """The branch and the generation of a lane."""
    return lane.rank, lane.generation.begins


def sharing(lanes: Iterable[Lane]) -> Mapping[Group, int]:
    """Among how many lanes a page is shared, as far as a lane of each group is asked for its part."""
    groups = Counter(map(group_of, lanes))
    return {group: count * len(groups) for group, count in groups.items()}


@lru_cache(maxsize=4096)
def fetch_size(lanes: int, count: int) -> int:
    """Records to ask of each of `lanes` lanes for the next `count` records."""
    if lanes <= 1:
        return max(1, min(count, MAX_FETCH))
    chance = 1 / lanes
    tail = 1.0
    term = (1 - chance) ** count
    size = 0
    room = 2 * count // lanes + RECORDS_PER_UNIT
    while size < count and lanes * tail > (RARE_CHANCE if size < room else RETRY_CHANCE):
        tail -= term
        term *= (count - size) / (size + 1) * chance / (1 - chance)
        size += 1
    return max(1, min(max(size, min(RECORDS_PER_UNIT, count)), MAX_FETCH))
