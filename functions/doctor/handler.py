"""The doctor: examines the deployed table, every night and when it is asked to.

Environment: TABLE_NAME, SERVICE, KEY_FORMAT, STAGE. The event may name checks, `{"checks": ["layout"]}`; without, all
are run. The answer lists the faults, each with its place and its fix, and under `remaining` the checks that there was
no time for: the next event's `checks`.
"""

from __future__ import annotations

import os
from dataclasses import asdict
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from shardweave.service.doctor import examine
from shardweave.table import Table

ENOUGH_MS = 30_000
"""A check is begun only with this much time left."""

logger = Logger(service=os.environ.get("SERVICE"))
metrics = Metrics(namespace="Shardweave", service=os.environ.get("SERVICE"))
metrics.set_default_dimensions(stage=os.environ.get("STAGE", "dev"))


@cache
def table() -> Table:
    """The deployed table."""
    from shardweave.service.build import deployed_table

    return deployed_table(os.environ)


@logger.inject_lambda_context(log_event=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Examine the table."""
    report = examine(table(), event.get("checks", ()), hurry=lambda: context.get_remaining_time_in_millis() < ENOUGH_MS)
    for fault in report.faults:
        logger.warning("fault", extra={"where": fault.where, "what": fault.message, "fix": fault.fix})
    logger.info("examined", extra={"faults": len(report.faults), "remaining": report.remaining})
    metrics.add_metric("Faults", MetricUnit.Count, len(report.faults))
    return {"faults": [asdict(fault) for fault in report.faults], "remaining": list(report.remaining)}
