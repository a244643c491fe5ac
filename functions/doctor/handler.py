"""The doctor: goes over the deployed table, every night and when it is asked to, and says what is not as it has to be.

Environment: TABLE_NAME, SERVICE, KEY_FORMAT, STAGE, HIDDEN_INDEXES, RESHARD_WAITS, and DOCTOR_READ_UNITS: how many read
units it spends in a second, at most. The event may name kinds of faults that are left out, `{"skip":
["unknown_item"]}`. What it has not come to when its time is over, it goes on with the next time. The answer is the
report so far; each fault that is named is in the log. It repairs nothing: that is `shardweave doctor --repair`, which
somebody runs who may write.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.typing import LambdaContext

from shardweave.maintenance.doctor import Doctor
from shardweave.maintenance.fault_kinds import KINDS, Severity
from shardweave.schema.entity import now_ms
from shardweave.store import Store

ENOUGH_MS = 30_000
"""Nothing more is begun with less time left."""

logger = Logger(service=os.environ.get("SERVICE"))
metrics = Metrics(namespace="Shardweave", service=os.environ.get("SERVICE"))
metrics.set_default_dimensions(stage=os.environ.get("STAGE", "dev"))


@cache
def store() -> Store:
    """The store on the deployed table."""
    from shardweave.service.build import deployed_store

    return deployed_store(os.environ)


@logger.inject_lambda_context(log_event=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Examine the table, as far as there is time."""
    doctor = Doctor(
        store().parts,
        now_ms,
        skip=event.get("skip", ()),
        rate=float(os.environ.get("DOCTOR_READ_UNITS", "0")),
        hidden=[name for name in os.environ.get("HIDDEN_INDEXES", "").split(",") if name],
    )
    report = doctor.run(stop=lambda: context.get_remaining_time_in_millis() < ENOUGH_MS)
    for fault in report.layout:
        logger.warning("fault", extra={"where": fault.where, "what": fault.message, "fix": fault.fix})
    for finding in report.findings.all_named:
        kind = KINDS[finding.kind]
        logger.warning("fault", extra={**finding.document(), "what": kind.what, "fix": kind.repair})
    for what in report.unfinished:
        logger.warning("not examined", extra={"what": what, "fix": "run `shardweave doctor` to its end"})
    left = {severity: report.findings.left(severity) for severity in Severity}
    others = len(report.layout) + len(report.unfinished)
    for name, count in {
        "Faults": others + sum(left.values()),
        "FaultsForAPerson": others + left[Severity.NEEDS_A_PERSON],
        "ItemsExamined": report.read,
    }.items():
        metrics.add_metric(name, MetricUnit.Count, count)
    document = report.document()
    logger.info("examined", extra={name: document[name] for name in ("done", "verdict", "read", "units", "found")})
    return document
