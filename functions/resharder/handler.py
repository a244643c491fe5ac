"""The resharder: is given every change of the table, and woken by the watchdog.

Environment: SERVICE, KEY_FORMAT, STAGE. An event of the stream is handled change by change, and ends at the first
failure, so that no later change overtakes it. What was done before is reported as done, and the rest comes again. When
it is the first change that fails, the call fails as a whole: only then does Lambda split the batch, until the change at
fault stands alone, and gives up nothing else with it. `{"wake": true}` is the watchdog's event. CloudFormation's
event, when the stack is created, decides the lookups of the new table, see `deployment`. The log has counts by shard
and places of failures, no values.
"""

from __future__ import annotations

import os
from functools import cache
from typing import Any

from aws_lambda_powertools import Logger, Metrics
from aws_lambda_powertools.metrics import MetricUnit
from aws_lambda_powertools.utilities.batch import BatchProcessor, EventType
from aws_lambda_powertools.utilities.data_classes.dynamo_db_stream_event import DynamoDBRecord
from aws_lambda_powertools.utilities.typing import LambdaContext

from functions.resharder import deployment
from shardweave.errors import ShardweaveError
from shardweave.reshard.change_handler import ChangeHandler
from shardweave.table.lambda_stream import decode_change
from shardweave.table.retry import RetryClock

logger = Logger(service=os.environ.get("SERVICE"))
metrics = Metrics(namespace="Shardweave", service=os.environ.get("SERVICE"))
metrics.set_default_dimensions(stage=os.environ.get("STAGE", "dev"))


class OrderedBatch(BatchProcessor):
    """Stops at the first failure, and reports it: a shard's changes are handled in their order, or not yet."""

    def __init__(self) -> None:
        super().__init__(event_type=EventType.DynamoDBStreams, raise_on_entire_batch_failure=False)

    def process(self) -> list[tuple[Any, ...]]:
        outcomes: list[tuple[Any, ...]] = []
        for record in self.records:
            outcomes.append(self._process_record(record))
            if self.fail_messages:
                break
        return outcomes


@cache
def change_handler() -> ChangeHandler:
    """What this environment's service does with changes."""
    from shardweave.service import build

    return build.change_handler(os.environ)


def handle(record: DynamoDBRecord) -> None:
    """One change."""
    change_handler().handle(decode_change(record.raw_event))


@logger.inject_lambda_context(log_event=False)
@metrics.log_metrics(capture_cold_start_metric=True)
def handler(event: dict[str, Any], context: LambdaContext) -> dict[str, Any]:
    """Handle a batch of changes, or wake, or decide the lookups of a new table."""
    if deployment.is_of_cloudformation(event):
        return decide_lookups(event)
    if event.get("wake"):
        woken = change_handler().wake()
        logger.info("woken", extra={"work": woken})
        metrics.add_metric("WorkWoken", MetricUnit.Count, woken)
        proposals = change_handler().proposals()
        metrics.add_metric("ReshardsProposed", MetricUnit.Count, len(proposals))
        for entity, why in proposals.items():
            logger.warning("a re-shard is proposed, or would not help", extra={"entity": entity, "why": why})
        return {"woken": woken}
    return dict(changes(event["Records"]))


def decide_lookups(event: dict[str, Any]) -> dict[str, Any]:
    """Decide which lookups of a new table may be relied on, and tell CloudFormation."""
    from shardweave.service import build
    from shardweave.table.dynamodb.stack import stack_status

    failure = deployment.decide(
        event, stack_status, lambda: build.deployed_store(os.environ).decide_lookups(), RetryClock()
    )
    logger.info("lookups", extra={"request": event["RequestType"], "failure": failure})
    deployment.answer(event, failure)
    return {"failure": failure}


def changes(records: list[dict[str, Any]]) -> dict[str, Any]:
    """Handle changes in order, and answer which of them failed, if one did. Raises ShardweaveError when it is the
    first."""
    batch = OrderedBatch()
    with batch(records=records, handler=handle):
        batch.process()
    traffic = change_handler().drain()
    done, failed = len(batch.success_messages), len(batch.fail_messages)
    shards = {shard: each.changes for shard, each in traffic.items()}
    logger.info("changes", extra={"done": done, "of": len(records), "shards": shards})
    metrics.add_metric("Changes", MetricUnit.Count, done)
    metrics.add_metric("ChangedBytes", MetricUnit.Bytes, sum(each.bytes for each in traffic.values()))
    metrics.add_metric("FailedChanges", MetricUnit.Count, failed)
    for _, failure, _ in batch.exceptions:
        if failure is not None:
            log_failure(failure)
    if failed and not done:
        raise ShardweaveError("the first change of the batch failed", where="Records", fix="see the log before this")
    return dict(batch.response())


def log_failure(failure: BaseException) -> None:
    """Where it happened, and its class; what it says may hold values."""
    from shardweave.api.safe_traceback import trace

    logger.error("a change failed", extra={"trace": trace(failure)})
