"""The handling of the stream: the resharder gets every change of the table, in order, and a schedule starts it.

Safe settings: reading begins at the oldest change in the stream, so that none is missed when the mapping is created
again. A batch has at most 100 changes or one second. Changes that were handled before a failure are not repeated
(partial batch response), and the rest is split in halves until the failing change is alone. It is tried 10 times, or
for 6 hours; then its description is sent to the queue of failures, which has an alarm, and the shard continues. Changes
are delivered at least once, in order for each item.
"""

from __future__ import annotations

import jsii
from aws_cdk import CustomResource, Duration, RemovalPolicy, aws_sqs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from .acknowledgments import acknowledge
from .configuration import Configuration
from .function import Function
from .removal import kept_when_made
from .rights import describe_stack, move_records, read_stream
from .schedule import schedule
from .table import Table

BATCH = 100
WINDOW = Duration.seconds(1)
RETRIES = 10
MAX_AGE = Duration.hours(6)
WATCHDOG = Duration.minutes(5)


class Resharding(Construct):
    """The resharder with its triggers. `lookups`: the lookups of a new table have been decided, see
    `functions.resharder.deployment`; functions that write records depend on it."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        configuration: Configuration,
        table: Table,
        layer: lambda_.ILayerVersion,
        failures: aws_sqs.IQueue,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Resharder",
            name="resharder",
            description=f"Is given every change of the table of {configuration.service}",
            configuration=configuration,
            layer=layer,
            statements=[*read_stream(table), *move_records(table), describe_stack(self)],
            environment={
                "TABLE_NAME": table.table.table_name,
                "HIDDEN_INDEXES": ",".join(configuration.hidden),
                "RESHARD_WAITS": configuration.reshard_waits,
                "RESHARD_POLICY": configuration.reshard_policy,
            },
            timeout=Duration.seconds(90),
            failures=failures,
        )
        self.mapping = lambda_.EventSourceMapping(
            self,
            "Stream",
            target=self.function.alias,
            event_source_arn=table.table.table_stream_arn,
            starting_position=lambda_.StartingPosition.TRIM_HORIZON,
            batch_size=BATCH,
            max_batching_window=WINDOW,
            report_batch_item_failures=True,
            bisect_batch_on_error=True,
            retry_attempts=RETRIES,
            max_record_age=MAX_AGE,
            on_failure=_Described(failures),
        )
        self.lookups = CustomResource(
            self,
            "Lookups",
            service_token=self.function.alias.function_arn,
            resource_type="Custom::Lookups",
            service_timeout=Duration.minutes(5),
            removal_policy=RemovalPolicy.RETAIN,  # there is nothing to remove, so nobody is asked to
        )
        schedule(
            self,
            "Watchdog",
            meaning="Wakes work that nobody has gone on with",
            when=scheduler.ScheduleExpression.rate(WATCHDOG),
            function=self.function,
            event={"wake": True},
            failures=failures,
        )


@jsii.implements(lambda_.IEventSourceDlq)
class _Described:
    """The queue for descriptions of batches that failed for good. The function may send to it already."""

    def __init__(self, queue: aws_sqs.IQueue) -> None:
        self._queue = queue

    @jsii.member(jsii_name="bind")
    def bind(
        self, target: lambda_.IEventSourceMapping, target_handler: lambda_.IFunction
    ) -> lambda_.DlqDestinationConfig:
        """The queue as a destination."""
        return lambda_.DlqDestinationConfig(destination=self._queue.queue_arn)


class Failures(Construct):
    """The queue for what failed for good: descriptions of stream batches, events of schedules. `protected`: it is kept
    when the stack is deleted, since its messages may still be needed."""

    def __init__(self, scope: Construct, construct_id: str, *, protected: bool) -> None:
        super().__init__(scope, construct_id)
        self.queue = aws_sqs.Queue(
            self,
            "Queue",
            encryption=aws_sqs.QueueEncryption.SQS_MANAGED,
            enforce_ssl=True,
            retention_period=Duration.days(14),
            removal_policy=kept_when_made(protected),
        )
        for finding in ("AwsSolutions-SQS3", "Serverless-SQSRedrivePolicy"):
            acknowledge(self.queue, finding, "It is itself where failures end, and has an alarm.")
