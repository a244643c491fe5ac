"""`./run destroy STACK`: deletes a stage's stack, like `./run cdk destroy STACK`.

Reasons against it are reported at once. The CDK needs an app with a stack of that name, so it gets an empty one:
neither the service nor its schema is needed, and no asset is made.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import boto3
from aws_cdk import App, CliCredentialsStackSynthesizer, Environment, Stack
from botocore.exceptions import BotoCoreError, ClientError

from ..database.project import command_name, guide
from ..errors import ConfigurationError, ShardweaveError
from ..errors.exit_codes import EXIT_CODES, exit_code_of
from .account import add_account_options, choose_account
from .cdk_command import cdk
from .choices import CHOICES
from .deployed_stack import described, is_locked, unlock
from .options import add_options, choices_of, parsed, stack_of
from .target import target_of


def main(arguments: list[str]) -> int:
    try:
        options, others = parsed(parser_of(), arguments)
        given = choices_of(options)
        choices = {**CHOICES, **given}
        target = target_of(choices)
        name = stack_named(options.stack, given)
        choose_account(os.environ, options.profile, options.region or target.region_unless(os.environ))
        session = boto3.session.Session()
        account = session.client("sts").get_caller_identity()["Account"]
        target.check(account, session.region_name)
        say(f"{name} in account {account}, {session.region_name}")
        check_removable(described(session.client("cloudformation"), name), name)
        environment = (account, session.region_name or "")
        return destroy(name, environment, others, own_credentials=choices["deployWith"] == "credentials")
    except ShardweaveError as error:
        say(f"error: {error}")
        return exit_code_of(error)
    except (ClientError, BotoCoreError) as error:
        say(f"error: AWS can't be asked: {error}\nFix: log in, and set AWS_PROFILE and AWS_REGION")
        return 1


def parser_of() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog=command_name("destroy"),
        allow_abbrev=False,
        epilog=EXIT_CODES,
        description="Remove a stage's stack. What holds records of a protected stage stays; "
        f"{guide('deploy.md')} says how to remove that too. "
        "Other arguments (--force, where there is no terminal to ask) go to `cdk destroy`.",
    )
    parser.add_argument("stack", nargs="?", metavar="STACK", help="its name; or say it by --service and --stage")
    add_options(parser)
    add_account_options(parser)
    return parser


def stack_named(name: str | None, given: Mapping[str, str]) -> str:
    """The name of the stack, given by itself or by its service and stage. Raises ConfigurationError if neither is
    given, or if they differ."""
    said = "service" in given or "stage" in given
    if name is None and not said:
        raise ConfigurationError(
            "nothing says which stack is meant.",
            where=command_name("destroy"),
            fix="name it, or give --service and --stage",
        )
    if name is not None and said and name != stack_of(given):
        raise ConfigurationError(
            f"the options mean {stack_of(given)}.", where=name[:160], fix="leave out either the name or the options"
        )
    return name or stack_of(given)


def check_removable(found: Mapping[str, Any] | None, name: str) -> None:
    """Refuse to delete a stack that does not exist or is protected. Raises ConfigurationError."""
    if found is None:
        raise ConfigurationError(
            "there is no such stack.", where=name[:160], fix="name one of `aws cloudformation list-stacks`"
        )
    if is_locked(found):
        raise ConfigurationError(
            "the stack is protected from being removed.",
            where=name,
            fix=f"if it is to go, run `{unlock(name)}`; its table, secrets and logs stay also then",
        )


def destroy(
    name: str,
    environment: tuple[str, str],
    others: Sequence[str],
    *,
    own_credentials: bool,
    run: Callable[[Sequence[str]], int] = cdk,
) -> int:
    """Delete the stack with the CDK, and return its exit code."""
    with tempfile.TemporaryDirectory() as folder:
        app = App(outdir=folder)
        account, region = environment
        Stack(
            app,
            "Stack",
            stack_name=name,
            env=Environment(account=account, region=region or None),
            synthesizer=CliCredentialsStackSynthesizer() if own_credentials else None,
        )
        app.synth()
        return run(["destroy", "--all", "--app", folder, *others])


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
