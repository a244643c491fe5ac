"""The CloudFormation stack that a deployed table belongs to."""

from __future__ import annotations

from .client import new_session


def stack_status(stack: str) -> str:
    """The status of a stack, by its name or id. Needs the permission `cloudformation:DescribeStacks`."""
    (found,) = new_session().create_client("cloudformation").describe_stacks(StackName=stack)["Stacks"]
    return str(found["StackStatus"])
