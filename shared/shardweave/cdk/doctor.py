"""The doctor, every night: checks that the table fits the schema and that every record is in its place.

A check that did not finish in one night continues in the next. The function may write its progress, nothing else.
"""

from __future__ import annotations

from aws_cdk import Duration, aws_sqs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from ..maintenance.progress import progress_key
from .configuration import Configuration
from .function import Function
from .rights import describe, examine
from .schedule import schedule
from .table import Table

HOUR = "3"
READ_UNITS = 500
"""The maximum read units per second: some hundred thousand items in a night."""


class Doctor(Construct):
    """The doctor's function and its schedule."""

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
            "Handler",
            name="doctor",
            description=f"Examines the table of {configuration.service}",
            configuration=configuration,
            layer=layer,
            statements=[*describe(table), *examine(table, progress_key(configuration.schema, "doctor"))],
            environment={
                "TABLE_NAME": table.table.table_name,
                "RESHARD_WAITS": configuration.reshard_waits,
                "HIDDEN_INDEXES": ",".join(configuration.hidden),
                "DOCTOR_READ_UNITS": str(READ_UNITS),
            },
            timeout=Duration.minutes(15),
            memory_mb=512,
            failures=failures,
        )
        schedule(
            self,
            "Nightly",
            meaning="Examines the table",
            when=scheduler.ScheduleExpression.cron(hour=HOUR, minute="0"),
            function=self.function,
            event={},
            failures=failures,
        )
