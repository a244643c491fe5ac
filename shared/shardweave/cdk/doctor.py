"""The doctor, every night: whether the table is what the schema says."""

from __future__ import annotations

from aws_cdk import Duration, aws_sqs
from aws_cdk import aws_lambda as lambda_
from aws_cdk import aws_scheduler as scheduler
from constructs import Construct

from .configuration import Configuration
from .function import Function
from .rights import describe
from .schedule import schedule
from .table import Table

HOUR = "3"


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
            statements=describe(table),
            environment={"TABLE_NAME": table.table.table_name},
            timeout=Duration.minutes(5),
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
