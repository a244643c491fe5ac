"""The cost of a document: the reads that it may need, computed before it is executed.

A list costs its lanes, and one for each record of its page; a record by key costs one. What a relation leads to costs
one for each record that leads there, or `PER_LIST` where it leads to a list; what is asked for twice counts twice. So
nested lists of lists are dear however few records there are, and a document is refused by its text and the plan alone.
"""

from __future__ import annotations

from collections.abc import Iterable

from ...errors import LimitExceeded
from .documents import Selected

PER_LIST = 10
"""Records that a list of related ones is taken to have."""


def cost_of(selected: Iterable[Selected], records: int) -> int:
    """The reads that relations of a number of records may need."""
    total = 0
    for each in selected:
        total += max((cost_of([one], records) for one in each.among.values()), default=0)
        for relation in each.relations:
            many = each.entity.relations[relation.name].many
            reached = records * (PER_LIST if many else 1)
            total += reached + cost_of([relation.selected], reached)
    return total


def check_cost(cost: int, most: int) -> None:
    """Raises LimitExceeded for a document that may read too much."""
    if cost > most:
        raise LimitExceeded(
            f"the document may cost {cost:,} reads, {most:,} are possible",
            where="query",
            fix="ask for fewer relations or lists at once, or give lists a lower limit",
        )
