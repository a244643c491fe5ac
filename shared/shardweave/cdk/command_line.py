"""`shardweave cdk`: the CDK's command line itself: bootstrap, diff, ...; its `destroy` of a stack is our own."""

from __future__ import annotations

from .cdk_command import cdk
from .destroy import main as destroy


def main(arguments: list[str]) -> int:
    """What `cdk` is told, done."""
    if arguments[:1] == ["destroy"] and not {"-a", "--app"} & set(arguments):
        return destroy(arguments[1:])
    return cdk(arguments)
