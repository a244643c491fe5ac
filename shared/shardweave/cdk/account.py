"""The account and region of a command: from `--profile` and `--region`, else from the environment variables of the AWS
tools."""

from __future__ import annotations

import argparse
from collections.abc import MutableMapping


def add_account_options(parser: argparse.ArgumentParser) -> None:
    """`--profile` and `--region`."""
    parser.add_argument("--profile", metavar="NAME", help="of the AWS tools' settings (default: AWS_PROFILE)")
    parser.add_argument("--region", metavar="NAME", help="where the stack is (default: AWS_REGION)")


def choose_account(variables: MutableMapping[str, str], profile: str | None, region: str | None) -> None:
    """Make all tools use the same account and region. boto3 reads another variable for the region than the other
    tools."""
    if profile is not None:
        variables["AWS_PROFILE"] = profile
    if region is not None:
        variables.update({"AWS_REGION": region, "AWS_DEFAULT_REGION": region})
    elif "AWS_REGION" in variables:
        variables.setdefault("AWS_DEFAULT_REGION", variables["AWS_REGION"])
