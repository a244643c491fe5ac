"""Logs: a group of its own for whatever writes one, kept for a while and no longer."""

from __future__ import annotations

from aws_cdk import RemovalPolicy, aws_logs
from constructs import Construct

from infra.configuration import Configuration


def log_group(scope: Construct, construct_id: str, configuration: Configuration) -> aws_logs.LogGroup:
    """A log group. A protected stage keeps entries for three months and the group when the stack goes."""
    if configuration.protected:
        kept, removal = aws_logs.RetentionDays.THREE_MONTHS, RemovalPolicy.RETAIN
    else:
        kept, removal = aws_logs.RetentionDays.ONE_WEEK, RemovalPolicy.DESTROY
    return aws_logs.LogGroup(scope, construct_id, retention=kept, removal_policy=removal)
