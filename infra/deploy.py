"""`./run deploy`: the stack into an AWS account, as often as needed.

The first deployment makes everything at once. A later one looks at the table that is there: several index changes are
rolled out in waves, each waiting until the table has it, and queries do not use an index before it is filled. It can be
interrupted and started again at any time. The stage of a service that is kept is written into its manifest at the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from infra.cdk_command import cdk
from infra.configuration import CHOICES, Configuration, stack_name
from infra.kept_choices import kept_choices
from infra.manifest import write_manifest
from infra.options import add_options, context_of, given_choices, parsed
from infra.sources import ROOT
from infra.waves import Wave, plan_waves
from shardweave.errors import ConfigurationError, ShardweaveError
from shardweave.manifest import encode_index, manifest_of
from shardweave.table.dynamodb import DynamoDBTable
from shardweave.table.layout import IndexLayout, TableLayout
from shardweave.table.operations import Describe

POLL_SECONDS = 10.0


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="./run deploy",
        allow_abbrev=False,
        description="Deploy the stack to the AWS account of your credentials. Other arguments go to `cdk deploy`.",
    )
    add_options(parser)
    parser.add_argument("--poll", type=float, default=POLL_SECONDS, metavar="SECONDS", help=argparse.SUPPRESS)
    # boto3 reads the one name of it, every other tool the other.
    if "AWS_REGION" in os.environ:
        os.environ.setdefault("AWS_DEFAULT_REGION", os.environ["AWS_REGION"])
    try:
        options, others = parsed(parser, arguments)
        keep_choices(options)
        configuration = Configuration.from_context(Given(options))
        deployment = Deployment(configuration, context_of(options), others, options.poll)
        code = deployment.run()
    except ShardweaveError as error:
        say(f"error: {error}")
        return 1
    except (ClientError, BotoCoreError) as error:
        say(f"error: AWS can't be asked: {error}\nFix: log in, and set AWS_PROFILE and AWS_REGION")
        return 1
    if code == 0 and configuration.protected:
        file = write_manifest(configuration.service, manifest_of(configuration.schema))
        say(f"{file.relative_to(ROOT)} says what is deployed now; commit it")
    return code


class Given:
    """The options as the CDK's context would give them."""

    def __init__(self, options: argparse.Namespace) -> None:
        pairs = [part for part in context_of(options) if part != "-c"]
        self._given = dict(pair.partition("=")[::2] for pair in pairs)

    def try_get_context(self, key: str) -> object:
        return self._given.get(key)


def keep_choices(options: argparse.Namespace) -> None:
    """Add what the stage was deployed with to the options, where they don't say otherwise."""
    name = stack_name(options.service or CHOICES["service"], options.stage or CHOICES["stage"])
    kept = kept_choices(stack_outputs(boto3.client("cloudformation"), name), given_choices(options), CHOICES)
    for choice, value in kept.items():
        say(f"As at the last deployment: -c {choice}={value}")
        options.context.append(f"{choice}={value}")


@dataclass(frozen=True)
class Deployment:
    """One run of the command."""

    configuration: Configuration
    context: list[str]
    others: list[str]
    poll_seconds: float

    def run(self) -> int:
        """Deploy all waves, and give the exit code of the first that failed."""
        session = boto3.session.Session()
        account = session.client("sts").get_caller_identity()["Account"]
        name = self.configuration.stack_name
        say(f"{name} in account {account}, {session.region_name}")
        table = deployed_table(session.client("cloudformation"), name)
        if table is None:
            return self._deploy([])
        settled = self._settled(table)
        waves = plan_waves(settled, self.configuration.schema.layout.indexes)
        for number, wave in enumerate(waves, 1):
            if len(waves) > 1:
                say(f"Wave {number} of {len(waves)}: {wave.meaning}")
            if code := self._deploy(_context_of(wave)):
                return code
            self._settled(table)
        return 0

    def _deploy(self, context: list[str]) -> int:
        return cdk(["deploy", self.configuration.stack_name, *self.context, *context, *self.others])

    def _settled(self, table: str) -> tuple[IndexLayout, ...]:
        """The table's indexes, once none is on its way any more."""
        connected = DynamoDBTable(TableLayout(), table)
        try:
            while True:
                found = connected.run(Describe())
                moving = {name: state for name, state in found.index_states.items() if state != "ACTIVE"}
                if found.status == "ACTIVE" and not moving:
                    return found.indexes
                said = ", ".join(f"{name} is {state}" for name, state in moving.items()) or found.status
                say(f"Waiting: {said} ({found.items:,} records)")
                time.sleep(self.poll_seconds)
        finally:
            connected.close()


def _context_of(wave: Wave) -> list[str]:
    indexes = json.dumps({index.name: encode_index(index) for index in wave.indexes})
    hidden = ["-c", f"hidden={','.join(wave.hidden)}"] if wave.hidden else []
    return ["-c", f"indexes={indexes}", *hidden]


def described(cloudformation: Any, stack: str) -> Mapping[str, Any] | None:
    """What CloudFormation says of a stack, None when there is none that was deployed."""
    try:
        (found,) = cloudformation.describe_stacks(StackName=stack)["Stacks"]
    except ClientError as error:
        if error.response["Error"]["Code"] == "ValidationError":
            return None
        raise
    return None if found["StackStatus"] in ("REVIEW_IN_PROGRESS", "DELETE_COMPLETE") else dict(found)


def stack_outputs(cloudformation: Any, stack: str) -> dict[str, str]:
    """The outputs of a deployed stack, none when there is no such stack."""
    found = described(cloudformation, stack) or {}
    return {output["OutputKey"]: output["OutputValue"] for output in found.get("Outputs", ())}


def deployed_table(cloudformation: Any, stack: str) -> str | None:
    """The name of a deployed stack's table, or None when there is no such stack. Raises ConfigurationError when the
    stack is not in a state that can be updated."""
    found = described(cloudformation, stack)
    if found is None:
        return None
    outputs = stack_outputs(cloudformation, stack)
    if "TableName" not in outputs:
        raise ConfigurationError(
            f"the stack is {found['StackStatus']} and has no table.",
            where=stack,
            fix=f"remove it with `./run cdk destroy {stack}` and deploy again",
        )
    return str(outputs["TableName"])


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
