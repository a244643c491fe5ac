"""`shardweave cdk`: the CDK's own command line (bootstrap, diff, ...). Its `destroy` of a stack is replaced by ours."""

from __future__ import annotations

from .cdk_command import cdk
from .destroy import main as destroy


def main(arguments: list[str]) -> int:
    """Run `cdk` with the arguments."""
    if arguments[:1] == ["destroy"] and not {"-a", "--app"} & set(arguments):
        return destroy(arguments[1:])
    return cdk(arguments)
