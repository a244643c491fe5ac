"""Log groups, each for one writer, with a limited retention."""

from __future__ import annotations

from typing import cast

from aws_cdk import Aws, Fn, aws_logs
from constructs import Construct

from .configuration import Configuration
from .removal import kept_when_made

VENDED = "/aws/vendedlogs"
"""The prefix of groups that AWS services write to without using the account's only resource policy for logs."""


def log_group(
    scope: Construct, construct_id: str, configuration: Configuration, *, vended: bool = False
) -> aws_logs.LogGroup:
    """A log group. A protected stage keeps the group when the stack is deleted. `vended`: an AWS service writes to it;
    then its name contains the stack's name and a suffix that distinguishes it from a group that an earlier stack
    left."""
    made = Fn.select(2, Fn.split("/", Aws.STACK_ID))
    name = f"{VENDED}/{configuration.stack_name}/{made}" if vended else None
    removal = kept_when_made(configuration.protected)
    group = aws_logs.LogGroup(scope, construct_id, log_group_name=name, removal_policy=removal)
    cast(aws_logs.CfnLogGroup, group.node.default_child).retention_in_days = configuration.log_days
    return group
