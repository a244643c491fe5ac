"""Metrics of queries in CloudWatch's embedded metric format: one JSON line for each queried entity.

    Queries           pages and counts
    Lanes             the fan-out: shards times indexes that were read
    Requests, Rounds  reads, and how often they were sent and waited for
    ReadUnits
    RecordsRead, RecordsReturned
    EmptyLanes        lanes that had nothing
    LaneFailures      lanes that failed
    UnreadableRecords records on the way that can't be read; also where no query met them
    DeadlineCuts      pages that ended at their deadline or budget, and queries that had no time at all

Every figure is given query by query, so that CloudWatch has their distribution. Dimensions are `service`, those of the
deployment, and `entity` (those of a query of several, separated by commas); no figure has a name of a shard or a value
in it.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping

from aws_lambda_powertools.metrics import EphemeralMetrics, MetricUnit

from ..query.plan import Plan
from ..query.spec import QueryStats

NAMESPACE = "Shardweave"


class QueryMetrics:
    """Collects the cost of queries until `flush` passes it to `write`, line by line. For one thread."""

    def __init__(self, write: Callable[[str], object], *, service: str, dimensions: Mapping[str, str]) -> None:
        self._write = write
        self._dimensions = {**dimensions, "service": service}
        self._seen: dict[str, list[QueryStats]] = defaultdict(list)
        self._unreadable: Counter[str] = Counter()

    def observe(self, plan: Plan, stats: QueryStats) -> None:
        """Add the cost of a page or count: an `Observer` of a QueryRunner."""
        self._seen[plan.entity_names].append(stats)

    def count_unreadable(self, entities: Iterable[str]) -> None:
        """Add one unreadable record, not met by a query, for each of these entity tokens."""
        self._unreadable.update(entities)

    def flush(self) -> None:
        """Write and reset the collected metrics. Nothing is written if there were no queries."""
        seen, self._seen = self._seen, defaultdict(list)
        unreadable, self._unreadable = self._unreadable, Counter()
        for entity in {**seen, **unreadable}:
            metrics = EphemeralMetrics(namespace=NAMESPACE, default_dimensions={**self._dimensions, "entity": entity})
            for stats in seen[entity]:
                for name, figure in _figures(stats).items():
                    metrics.add_metric(name, MetricUnit.Count, figure)
            if unreadable[entity]:
                metrics.add_metric("UnreadableRecords", MetricUnit.Count, unreadable[entity])
            self._write(json.dumps(metrics.serialize_metric_set()))


def _figures(stats: QueryStats) -> dict[str, float]:
    return {
        "Queries": 1,
        "Lanes": stats.lanes,
        "Requests": stats.requests,
        "Rounds": stats.rounds,
        "ReadUnits": stats.units,
        "RecordsRead": stats.scanned,
        "RecordsReturned": stats.returned,
        "EmptyLanes": stats.empty,
        "LaneFailures": stats.failed_lanes,
        "UnreadableRecords": len(stats.unreadable),
        "DeadlineCuts": int(stats.cut),
    }
