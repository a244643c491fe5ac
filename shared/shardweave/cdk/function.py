"""A function: its code, its rights, its log, and the alias through which it is called.

Guarantees: it runs on arm64 and the newest Python, with the layer. It has its own log group, which is created with it
and keeps entries for its retention. Its role may write this log, send traces, and what is given here, nothing else. It
is called through the alias `live`, so a new version takes over completely: at once, or first for a tenth of the calls
(`canary`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import jsii
from aws_cdk import Duration, aws_codedeploy, aws_iam, aws_sqs
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from ..database.project import brought
from .acknowledgments import acknowledge
from .assets import made_asset
from .configuration import Configuration
from .layer import ARCHITECTURE, RUNTIME
from .limits import check_environment
from .log import log_group
from .sources import copy_sources

FUNCTIONS = brought("functions")
CODEDEPLOY_POLICY = "AWSCodeDeployRoleForLambdaLimited"
NAMESPACE = "Shardweave"
"""The namespace of the metrics that functions write, with the dimensions `service` and `stage`."""


class Function(Construct):
    """The function of `functions/<name>/handler.py`.

    `statements` are its rights, `warm` the number of instances kept ready, `concurrency` the maximum number running at
    once; `failures` receives the events of asynchronous calls that failed for good.
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str,
        description: str,
        configuration: Configuration,
        layer: lambda_.ILayerVersion,
        statements: Sequence[aws_iam.PolicyStatement],
        environment: Mapping[str, str],
        timeout: Duration,
        memory_mb: int = 1024,
        warm: int = 0,
        concurrency: int | None = None,
        failures: aws_sqs.IQueue | None = None,
    ) -> None:
        super().__init__(scope, construct_id)
        self.name = name
        self._configuration = configuration
        self.log_group = log_group(self, "Log", configuration)
        self.role = aws_iam.Role(
            self,
            "Role",
            assumed_by=aws_iam.ServicePrincipal("lambda.amazonaws.com"),
            description=f"What the {name} function of {configuration.stack_name} may do",
        )
        self.log_group.grant_write(self.role)
        for statement in statements:
            self.role.add_to_policy(statement)
        variables = {
            "SERVICE": configuration.service,
            "STAGE": configuration.stage,
            "KEY_FORMAT": configuration.key_format,
            **environment,
        }
        if configuration.transport != "auto":
            variables["SHARDWEAVE_TRANSPORT"] = configuration.transport
        check_environment(name, variables)
        self.function = lambda_.Function(
            self,
            "Function",
            description=description,
            code=made_asset(f"function {name}", (FUNCTIONS / "__init__.py", FUNCTIONS / name), _copying(name)),
            handler=f"functions.{name}.handler.handler",
            runtime=RUNTIME,
            architecture=ARCHITECTURE,
            layers=[layer],
            role=self.role,
            memory_size=memory_mb,
            reserved_concurrent_executions=concurrency,
            timeout=timeout,
            environment=variables,
            log_group=self.log_group,
            logging_format=lambda_.LoggingFormat.JSON,
            tracing=lambda_.Tracing.ACTIVE,
            snap_start=lambda_.SnapStartConf.ON_PUBLISHED_VERSIONS if configuration.snap_start else None,
        )
        # For asynchronous calls the alias' own settings count, and they are created with it.
        self.alias = lambda_.Alias(
            self,
            "Alias",
            alias_name="live",
            version=self.function.current_version,
            provisioned_concurrent_executions=warm or None,
            on_failure=None if failures is None else FailureDestination(failures),
            retry_attempts=None if failures is None else 2,
        )
        acknowledge(
            self.role,
            "AwsSolutions-IAM5[Resource::*]",
            "Only what takes no resource is allowed for all: sending traces, and ListStreams for the stream's reader.",
        )
        acknowledge(
            self.function,
            "Serverless-LambdaDLQ",
            "It is only called by a caller that waits for the answer."
            if failures is None
            else "The alias sends what failed for good to an on-failure destination, which says more.",
        )

    def shift_gradually(self, alarms: Sequence[cloudwatch.IAlarm]) -> None:
        """If the configuration asks for it, let new versions take over a tenth of the calls first, and return to the
        old version on an alarm."""
        if self._configuration.canary:
            group = aws_codedeploy.LambdaDeploymentGroup(
                self,
                "Canary",
                alias=self.alias,
                alarms=list(alarms),
                deployment_config=aws_codedeploy.LambdaDeploymentConfig.CANARY_10_PERCENT_5_MINUTES,
            )
            acknowledge(
                group,
                f"AwsSolutions-IAM4[Policy::arn:<AWS::Partition>:iam::aws:policy/service-role/{CODEDEPLOY_POLICY}]",
                "It is what AWS keeps for CodeDeploy's work with functions, and the least that it takes.",
            )


@jsii.implements(lambda_.IDestination)
class FailureDestination:
    """The queue for events of asynchronous calls that failed for good. The function may only send to it."""

    def __init__(self, queue: aws_sqs.IQueue) -> None:
        self._queue = queue

    @jsii.member(jsii_name="bind")
    def bind(
        self, scope: Construct, function: lambda_.IFunction, options: lambda_.DestinationOptions | None = None
    ) -> lambda_.DestinationConfig:
        """Allow the function to send to the queue."""
        self._queue.grant(function, "sqs:SendMessage")
        return lambda_.DestinationConfig(destination=self._queue.queue_arn)


def _copying(name: str) -> Callable[[Path], None]:
    def copy(folder: Path) -> None:
        package = folder / FUNCTIONS.name
        package.mkdir()
        (package / "__init__.py").write_bytes((FUNCTIONS / "__init__.py").read_bytes())
        copy_sources(FUNCTIONS / name, package)

    return copy
