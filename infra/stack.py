"""The stack: one deployment of one service, put together from its constructs.

Its outputs are what a caller needs to reach it.
"""

from __future__ import annotations

from aws_cdk import CfnOutput, Stack, Tags
from constructs import Construct

from infra.configuration import Configuration
from infra.table import Table


class ShardweaveStack(Stack):
    """Everything that a service needs in an account."""

    def __init__(self, scope: Construct, configuration: Configuration) -> None:
        super().__init__(
            scope,
            configuration.stack_name,
            description=f"Shardweave: {configuration.service}, stage {configuration.stage}",
            termination_protection=configuration.protected,
        )
        Tags.of(self).add("service", configuration.service)
        Tags.of(self).add("stage", configuration.stage)
        table = Table(self, "Table", layout=configuration.schema.layout, protected=configuration.protected).table
        CfnOutput(self, "TableName", value=table.table_name, description="The table that holds every record")
        CfnOutput(self, "StreamArn", value=table.table_stream_arn or "", description="The stream of its changes")
