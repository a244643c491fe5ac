"""The stack: one deployment of one service, with what only a stack of its own has.

Its outputs are what a caller needs to reach the service.
"""

from __future__ import annotations

import json

from aws_cdk import Annotations, CfnOutput, CliCredentialsStackSynthesizer, Environment, Stack
from constructs import Construct

from ..errors import ConfigurationError
from .configuration import Configuration
from .kept_choices import OUTPUT
from .layer_packages import PLATFORMS
from .limits import check_output
from .provision import provision
from .stage_state import encode_stage_record

_BUNDLING_STACKS = "aws:cdk:bundling-stacks"
"""A value in the CDK's context: the stacks whose assets are made."""


class ShardweaveStack(Stack):
    """All resources of a service in an account. Raises ConfigurationError if its assets can't be made."""

    def __init__(self, scope: Construct, configuration: Configuration) -> None:
        target = configuration.target
        super().__init__(
            scope,
            configuration.stack_name,
            stack_name=configuration.stack_name,
            description=f"Shardweave: {configuration.service}, stage {configuration.stage}",
            env=Environment(account=target.account or None, region=target.region or None),
            termination_protection=configuration.locked,
            synthesizer=CliCredentialsStackSynthesizer() if configuration.own_credentials else None,
        )
        self.template_options.metadata = encode_stage_record(configuration.stage_record)
        self._provide_assets(configuration)
        made = provision(self, configuration)
        table, api = made.table, made.api
        CfnOutput(self, "ApiUrl", value=api.api.api_endpoint, description="Where the API answers")
        CfnOutput(self, "ApiId", value=api.api.api_id, description="The API's own name")
        CfnOutput(self, "TableName", value=table.table.table_name, description="The table that holds every record")
        check_output(OUTPUT, configuration.choices, json.loads(configuration.choices))
        CfnOutput(self, OUTPUT, value=configuration.choices, description="What the stage was deployed with")
        CfnOutput(self, "StreamArn", value=table.table.table_stream_arn or "", description="The stream of its changes")

    def _provide_assets(self, configuration: Configuration) -> None:
        if not self.bundling_required:
            return
        try:
            PLATFORMS[configuration.layer].packages()
        except ConfigurationError as error:
            if not configuration.assets_optional:
                raise
            self.node.set_context(_BUNDLING_STACKS, [])
            Annotations.of(self).add_warning_v2(
                "shardweave:assets", f"The template is complete, but can't be deployed from here: {error.message}"
            )
