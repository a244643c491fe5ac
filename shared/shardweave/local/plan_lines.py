"""What a query did and why, in a few lines of the log, for whoever develops a service.

user by firstName, ascending, 25 a page: 4 lanes, 4 reads in 1 round, 31 records read, 25 given, 2 units, 8.1 ms
  because firstName uses every condition
  because 4 lanes in 1 generation, 1 stage
"""

from __future__ import annotations

from ..query.plan import Plan
from ..query.spec import QueryStats


def plan_lines(plan: Plan, stats: QueryStats) -> list[str]:
    """The log lines of a query (a page or a count), without values of records."""
    indexes = ", ".join(dict.fromkeys(branch.view.title for branch in plan.branches))
    order = "descending" if plan.descending else "ascending"
    cost = [
        _number(len(plan.lanes), "lane"),
        f"{_number(stats.requests, 'read')} in {_number(stats.rounds, 'round')}",
        f"{_number(stats.scanned, 'record')} read",
        f"{stats.returned} given",
        f"{stats.units:g} units",
        f"{stats.milliseconds:.1f} ms",
    ]
    if stats.cut_by:
        cost.append(f"cut by {stats.cut_by}")
    if stats.failed_lanes:
        cost.append(f"{_number(stats.failed_lanes, 'lane')} failed")
    first = f"{plan.entity_names} by {indexes}, {order}, {plan.limit} a page: {', '.join(cost)}"
    return [first, *(f"  because {reason}" for reason in plan.reasons)]


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'' if count == 1 else 's'}"
