"""How many records to read from a lane, so that a second round is unlikely and few unneeded records are read.

A hashed record falls into each of `lanes` shards with probability 1/lanes, so the number X of the next `count` records
that are in one lane is binomial. By the union bound, if `m` records are read from each lane, some lane needs a second
read with a probability of at most lanes x P(X >= m). The fetch is the least m

    with a chance of at most 1 in 1,000     while the lanes together read no more than 2 x count + lanes x 4
    with a chance of at most 1 in 20        in any case

so a page over few lanes needs the same number of requests wherever it is, and a page over many lanes reads few unneeded
records. The size is never less than 4 records of 1 KB, which cost one read unit anyway: using the real size of records
would save little, and the same page would have different costs at different times. It is never more than `count`, since
more can't be needed from one lane. So the first reads of a page of `limit` records read at most

    lanes x min(limit + 1, 4)                     while that is the least that is asked for
    2 x (limit + 1) + lanes x 4                   while a second round is then as unlikely as 1 in 20

The records of one branch and generation are evenly spread over its lanes, but different branches and generations may
have different numbers of records: with one branch over a single shard and one over 64, each may have half of the page,
which for the first is in one lane. So the number of lanes is taken as the number of lanes of the lane's own branch and
generation, times the number of such groups. If all groups have the same number of lanes, that is the number of all
lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache

from .lanes import Lane

RARE_CHANCE = 0.001
RETRY_CHANCE = 0.05
MAX_FETCH = 1000
RECORDS_PER_UNIT = 4


Group = tuple[int, int]
"""A branch, and the begin of a generation."""


def group_of(lane: Lane) -> Group:
    """The branch and the generation of a lane."""
    return lane.rank, lane.generation.begins


def sharing(lanes: Iterable[Lane]) -> Mapping[Group, int]:
    """The number of lanes to assume for the read size of a lane of each group."""
    groups = Counter(map(group_of, lanes))
    return {group: count * len(groups) for group, count in groups.items()}


def fetch_sizes(lanes: Sequence[Lane], unfinished: Iterable[Lane], count: int) -> list[int]:
    """The number of records to read from each of some of the unfinished lanes for the next `count` records."""
    shares = sharing(unfinished)
    return [fetch_size(shares[group_of(lane)], count) for lane in lanes]


@lru_cache(maxsize=4096)
def fetch_size(lanes: int, count: int) -> int:
    """The number of records to read from each of `lanes` lanes for the next `count` records."""
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
