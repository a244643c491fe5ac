"""Which account and region a command goes to: `--profile` and `--region`, else what the AWS tools' variables say."""

from __future__ import annotations

import argparse
from collections.abc import MutableMapping


def add_account_options(parser: argparse.ArgumentParser) -> None:
    """`--profile` and `--region`."""
    parser.add_argument("--profile", metavar="NAME", help="of the AWS tools' settings (default: AWS_PROFILE)")
    parser.add_argument("--region", metavar="NAME", help="where the stack is (default: AWS_REGION)")


def choose_account(variables: MutableMapping[str, str], profile: str | None, region: str | None) -> None:
    """Let every tool go to one place. boto3 reads the one name of a region, every other tool the other."""
    if profile is not None:
        variables["AWS_PROFILE"] = profile
    if region is not None:
        variables.update({"AWS_REGION": region, "AWS_DEFAULT_REGION": region})
    elif "AWS_REGION" in variables:
        variables.setdefault("AWS_DEFAULT_REGION", variables["AWS_REGION"])
