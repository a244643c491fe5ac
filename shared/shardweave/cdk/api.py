"""The HTTP API: one function behind one route, which always requires authentication.

Callers send a token of the configured issuer (JWT authorizer), or, without an issuer, sign with AWS credentials (IAM).
The one route takes every path, so no path can be added without its authorizer; the function decides which paths exist.
The stage is throttled and logs who sent each request, which one it was and how long it took, never a body.
"""

from __future__ import annotations

import jsii
from aws_cdk import Duration, aws_logs
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_apigatewayv2 as http
from aws_cdk import aws_apigatewayv2_authorizers as authorizers
from aws_cdk import aws_apigatewayv2_integrations as integrations
from aws_cdk import aws_cloudwatch as cloudwatch
from aws_cdk import aws_lambda as lambda_
from constructs import Construct

from .configuration import Configuration
from .domain import Domain
from .function import NAMESPACE, Function
from .key_rings import KeyRings
from .log import log_group
from .rights import use_records
from .table import Table

TIMEOUT = Duration.seconds(29)
"""An HTTP API waits 30 seconds at most."""


class Api(Construct):
    """The API of a deployment."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        configuration: Configuration,
        table: Table,
        key_rings: KeyRings,
        layer: lambda_.ILayerVersion,
    ) -> None:
        super().__init__(scope, construct_id)
        self.function = Function(
            self,
            "Handler",
            name="api",
            description=f"The HTTP API of {configuration.service}",
            configuration=configuration,
            layer=layer,
            statements=[*use_records(table), *key_rings.rights("GetSecretValue")],
            environment={
                "TABLE_NAME": table.table.table_name,
                "THROTTLE": str(configuration.lanes),
                "TENANT_REQUESTS": str(configuration.rates.requests),
                "TENANT_READ_UNITS": str(configuration.rates.read_units),
                "QUERY_READ_UNITS": str(configuration.query_read_units),
                "RELATED_RECORDS": str(configuration.related_records),
                "HIDDEN_INDEXES": ",".join(configuration.hidden),
                "RESHARD_WAITS": configuration.reshard_waits,
                "OPERATORS": configuration.operators,
                **key_rings.environment,
            },
            timeout=TIMEOUT,
            memory_mb=configuration.memory_mb,
            warm=configuration.warm,
            concurrency=configuration.concurrency,
        )
        self.api = http.HttpApi(
            self,
            "Api",
            api_name=configuration.stack_name,
            description=f"Shardweave: {configuration.service}, stage {configuration.stage}",
            create_default_stage=False,
            default_authorizer=_authorizer(configuration),
            default_integration=integrations.HttpLambdaIntegration("Handler", self.function.alias),
        )
        self.access_log = log_group(self, "AccessLog", configuration, vended=True)
        self.stage = http.HttpStage(
            self,
            "Stage",
            http_api=self.api,
            stage_name="$default",
            auto_deploy=True,
            detailed_metrics_enabled=True,
            throttle=http.ThrottleSettings(
                rate_limit=configuration.requests_per_second, burst_limit=configuration.burst
            ),
            access_log_settings=_AccessLog(self.access_log),
        )
        if configuration.domain is not None:
            Domain(self, "Domain", domain=configuration.domain, api=self.api, stage=self.stage)
        self._refused = self.access_log.add_metric_filter(
            "Refused",
            filter_pattern=aws_logs.FilterPattern.string_value("$.status", "=", "429"),
            metric_namespace=NAMESPACE,
            metric_name=f"Refused-{configuration.stack_name}",
        )

    def refused(self, period: Duration) -> cloudwatch.Metric:
        """The number of throttled calls. The gateway's own metric counts them together with all other 4xx answers."""
        return self._refused.metric(period=period, statistic=cloudwatch.Stats.SUM)


def _authorizer(configuration: Configuration) -> http.IHttpRouteAuthorizer:
    if configuration.issuer is None:
        return authorizers.HttpIamAuthorizer()
    return authorizers.HttpJwtAuthorizer(
        "Tokens", configuration.issuer.url, jwt_audience=list(configuration.issuer.audiences)
    )


@jsii.implements(http.IAccessLogSettings)
class _AccessLog:
    """The access log: one JSON object a request. Paths and queries may contain values, so they are not logged."""

    def __init__(self, group: aws_logs.ILogGroup) -> None:
        self._group = group

    @property
    def destination(self) -> http.IAccessLogDestination:
        return http.LogGroupLogDestination(self._group)

    @property
    def format(self) -> apigateway.AccessLogFormat:
        context = apigateway.AccessLogField
        fields = {
            "requestId": context.context_request_id(),
            "time": context.context_request_time_epoch(),
            "method": context.context_http_method(),
            "status": context.context_status(),
            "responseLength": context.context_response_length(),
            "milliseconds": context.context_response_latency(),
            "integrationMilliseconds": context.context_integration_latency(),
            "integrationError": context.context_integration_error_message(),
            "error": context.context_error_message(),
            "sourceIp": context.context_identity_source_ip(),
            "subject": "$context.authorizer.claims.sub",
            "caller": context.context_identity_user_arn(),
        }
        parts = ",".join(f'"{name}":"{value}"' for name, value in fields.items())
        return apigateway.AccessLogFormat.custom(f"{{{parts}}}")
