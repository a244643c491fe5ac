"""Logs: a group of its own for whatever writes one, kept for a while and no longer."""

from __future__ import annotations

from typing import cast

from aws_cdk import Aws, Fn, aws_logs
from constructs import Construct

from .configuration import Configuration
from .removal import kept_when_made

VENDED = "/aws/vendedlogs"
"""Below it groups that AWS services write to need no room in the one resource policy that an account has for logs."""


def log_group(
    scope: Construct, construct_id: str, configuration: Configuration, *, vended: bool = False
) -> aws_logs.LogGroup:
    """A log group. A protected stage keeps the group when the stack goes. `vended`: an AWS service writes to it.
    Its name then has that of the stack and what tells it from an earlier stack's kept group."""
    made = Fn.select(2, Fn.split("/", Aws.STACK_ID))
    name = f"{VENDED}/{configuration.stack_name}/{made}" if vended else None
    removal = kept_when_made(configuration.protected)
    group = aws_logs.LogGroup(scope, construct_id, log_group_name=name, removal_policy=removal)
    cast(aws_logs.CfnLogGroup, group.node.default_child).retention_in_days = configuration.log_days
    return group
