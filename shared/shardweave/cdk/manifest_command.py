"""`./run manifest`: compares the committed manifest of each service with its present declaration.

Without an option it prints the reasons against the next deployment; the exit code is 1 if there is one.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from ..database.project import command_name, committed_context, shown_path
from ..errors import ConfigurationError, ShardweaveError
from ..errors.exit_codes import EXIT_CODES, exit_code_of
from ..keys.key_format import ORDERED
from ..schema.manifest import Manifest, manifest_of
from ..service.files import named_service, service_names
from ..service.loader import service_schema
from .account import add_account_options, choose_account
from .configuration import stack_name
from .deployed_stack import described, stage_record
from .manifest import (
    FOLDER,
    faults,
    index_changes,
    read_manifest,
    wave_faults,
    with_waves,
    write_manifest,
)


def main(arguments: list[str]) -> int:
    options = options_of(arguments)
    choose_account(os.environ, options.profile, options.region)
    try:
        return max(show(service, options) for service in services(options.service))
    except ShardweaveError as error:
        print(f"error: {error}", file=sys.stderr)
        return exit_code_of(error)
    except (ClientError, BotoCoreError) as error:
        print(f"error: AWS can't be asked: {error}\nFix: log in, and set AWS_PROFILE and AWS_REGION", file=sys.stderr)
    return 1


def options_of(arguments: list[str]) -> argparse.Namespace:
    """The parsed arguments."""
    parser = argparse.ArgumentParser(
        prog=command_name("manifest"),
        allow_abbrev=False,
        epilog=EXIT_CODES,
        description=f"Compare what is declared with what has been deployed ({shown_path(FOLDER)}/, committed).",
    )
    parser.add_argument("service", nargs="*", help="names or paths of services (default: all)")
    change = parser.add_mutually_exclusive_group()
    change.add_argument(
        "--from", dest="stage", metavar="STAGE", help="take note of what a stage was deployed with, as its stack says"
    )
    change.add_argument("--write", action="store_true", help="what is declared has been deployed: write it down")
    change.add_argument("--waves", action="store_true", help="note that several index changes are meant, one by one")
    parser.add_argument("--even-so", action="store_true", help="--write also what could not be deployed over the old")
    add_account_options(parser)
    return parser.parse_args(arguments)


def services(given: Sequence[str]) -> list[str]:
    """The names of the given services; without any, all services, including the one that `cdk.json` names. Raises
    ConfigurationError if there is none."""
    chosen = committed_context().get("service")
    there = [*service_names(), *([chosen] if isinstance(chosen, str) and chosen else [])]
    found = sorted(set(map(named_service, given or there)))
    if not found:
        raise ConfigurationError(
            "no service is here.", where=command_name("manifest"), fix="name its file, such as orders.py"
        )
    return found


def show(service: str, options: argparse.Namespace, folder: Path = FOLDER) -> int:
    """Print the state of a service's manifest, after the change that the options request."""
    wanted, deployed = manifest_of(service_schema(service, ORDERED)), read_manifest(service, folder)
    if options.stage:
        deployed = written(service, deployed_to(boto3.client("cloudformation"), service, options.stage), folder)
    elif options.write:
        broken = faults(deployed, wanted)
        if broken and not options.even_so:
            print(f"{service}: not written, since it could not be deployed over what the manifest says:")
            print(*(f"  - {fault}" for fault in broken), sep="\n")
            print("  `--from STAGE` writes what a stage has; where its stack does not say, `--write --even-so`")
            return 1
        deployed = written(service, wanted, folder)
    if deployed is None:
        print(f"{service}: never deployed")
        return 0
    if options.waves:
        deployed = written(service, with_waves(deployed, wanted), folder)
    found = [*faults(deployed, wanted), *wave_faults(deployed, wanted)]
    changes = index_changes(deployed.indexes, wanted.indexes)
    print(f"{service}: +{len(changes.create)} -{len(changes.delete)} indexes, {len(found)} fault(s)")
    for fault in found:
        print(f"  - {fault}")
    return 1 if found else 0


def written(service: str, manifest: Manifest, folder: Path) -> Manifest:
    """Write the manifest of a service, and return it."""
    print(f"{service}: written to {shown_path(write_manifest(service, manifest, folder))}; commit it")
    return manifest


def deployed_to(cloudformation: object, service: str, stage: str) -> Manifest:
    """The manifest with which a stage was deployed. Raises ConfigurationError if there is no stack, or it has no
    manifest."""
    name = stack_name(service, stage)
    if described(cloudformation, name) is None:
        raise ConfigurationError("there is no such stack.", where=name, fix="name a stage that was deployed")
    record = stage_record(cloudformation, name)
    if record is None:
        raise ConfigurationError(
            "it was deployed before stacks said what with.", where=name, fix="use `--write --even-so` where it was this"
        )
    return record.manifest


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
