"""`./run deploy`: deploys the stack to an AWS account, and can be repeated.

The first deployment creates everything and then protects it, so that a failed one can be repeated. A later deployment
reads the existing table: several index changes are rolled out in waves, each waiting until the table has the change,
and queries do not use an index before it is filled. All templates are made by one synthesis. The command can be
interrupted and started again at any time. The facts of the last deployment are read from the stage's own stack, so a
change that would hide its records is refused, from any checkout. At the end, the stage of a service that is kept is
written to the service's manifest.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import boto3
from botocore.exceptions import BotoCoreError, ClientError

from ..database.project import command_name, shown_path
from ..errors import ConfigurationError, Fault, SchemaError, ShardweaveError
from ..errors.exit_codes import EXIT_CODES, exit_code_of
from ..keys.key_format import ORDERED
from ..reshard.control import control_key, decode_control
from ..reshard.declaration_guard import moving_faults
from ..reshard.phases import ReshardState
from ..schema.manifest import encode_index, manifest_of, new_bumps
from ..service.loader import service_schema
from ..table import Table
from ..table.dynamodb import DynamoDBTable
from ..table.layout import IndexLayout, TableLayout
from ..table.operations import Describe, GetItem
from .account import add_account_options, choose_account
from .cdk_command import cdk
from .choices import CHOICES
from .configuration import Configuration, chosen_service
from .deployed_stack import described, outputs_of, stage_record, table_of
from .existing_table import ExistingTable, existing_table_faults
from .kept_choices import kept_choices
from .manifest import FOLDER, read_manifest, write_manifest
from .options import Given, add_options, choices_of, context_of, parsed, stack_of, with_service
from .sources import ROOT
from .stage_state import StageRecord, stage_faults, unheard_of
from .table_units import TableUnits
from .target import check_regions, target_of
from .waves import Wave, encode_waves, everything_else, first_waves, plan_waves, wave_name

POLL_SECONDS = 10.0


def main(arguments: list[str]) -> int:
    try:
        options, others = parsed(parser_of(), with_service(arguments))
        service_schema(chosen_service(choices_of(options).get("service", "")), ORDERED)
        stack_of(choices_of(options))
        target = target_of({**CHOICES, **choices_of(options)})
        choose_account(os.environ, options.profile, options.region or target.region_unless(os.environ))
        session = boto3.session.Session()
        account = session.client("sts").get_caller_identity()["Account"]
        target.check(account, session.region_name)
        deployment = deployment_of(session.client("cloudformation"), options, others)
        deployment.configuration.target.check(account, session.region_name)
        check_regions(deployment.choices, session.region_name)
        say(f"{deployment.configuration.stack_name} in account {account}, {session.region_name}")
        code = deployment.run()
    except KeyboardInterrupt:
        say("stopped; the same command goes on from there")
        return 130
    except ShardweaveError as error:
        say(f"error: {error}")
        return exit_code_of(error)
    except (ClientError, BotoCoreError) as error:
        say(f"error: AWS can't be asked: {error}\nFix: log in, and set AWS_PROFILE and AWS_REGION")
        return 1
    configuration = deployment.configuration
    if code == 0 and configuration.protected:
        file = write_manifest(configuration.service, manifest_of(configuration.schema), options.manifests)
        say(f"{shown_path(file)} says what is deployed now; commit it")
    return code


def parser_of() -> argparse.ArgumentParser:
    """The command line."""
    parser = argparse.ArgumentParser(
        prog=command_name("deploy"),
        usage="%(prog)s [SERVICE] [options]",
        allow_abbrev=False,
        epilog=EXIT_CODES,
        description="Deploy the stack to the AWS account of your credentials. Other arguments go to `cdk deploy`.",
    )
    add_options(parser)
    parser.add_argument("--poll", type=float, default=POLL_SECONDS, metavar="SECONDS", help=argparse.SUPPRESS)
    parser.add_argument("--manifests", type=Path, default=FOLDER, metavar="FOLDER", help=argparse.SUPPRESS)
    parser.add_argument("-o", "--output", default=str(ROOT / "cdk.out"), metavar="FOLDER", help="of the templates")
    add_account_options(parser)
    return parser


def deployment_of(cloudformation: Any, options: argparse.Namespace, others: list[str]) -> Deployment:
    """The deployment that the options request; for options that are not given, those of the stage's last deployment
    count."""
    choices = choices_of(options)
    found = described(cloudformation, stack_of(choices))
    kept = kept_choices(outputs_of(found), choices, CHOICES)
    for choice, value in kept.items():
        say(f"As at the last deployment: -c {choice}={value}")
    choices |= kept
    configuration = Configuration.from_context(Given(choices))
    return Deployment(configuration, found, choices, others, Path(options.output), options.poll)


@dataclass(frozen=True)
class Deployment:
    """One run of the command. `found` is CloudFormation's description of the stack, None if there was no stack."""

    configuration: Configuration
    found: Mapping[str, Any] | None
    choices: Mapping[str, str]
    others: list[str]
    output: Path
    poll_seconds: float
    cdk: Callable[[Sequence[str]], int] = cdk

    def run(self) -> int:
        """Deploy all waves, and return the exit code of the first that failed."""
        name, wanted = self.configuration.stack_name, self.configuration.schema.layout.indexes
        table = table_of(self.found, name)
        existing = self.configuration.table
        if existing is not None:
            check_existing(existing, self.configuration.schema.layout, self.configuration.table_units)
        if table is None:
            return self.roll_out(first_waves(wanted, protected=self.configuration.protected), wanted)
        table = table_after(table, existing, name)
        record = stage_record(boto3.client("cloudformation"), name)
        if record is None:
            say(f"{name} does not say what it was deployed with: only infra/manifests/ stands against a change")
        settled = self._settled(table)
        self._check(record, settled, table)
        waves = plan_waves(settled, wanted) if existing is None else everything_else(wanted)
        return self.roll_out(waves, (*settled, *wanted), lambda: self._settled(table))

    def roll_out(
        self,
        waves: Sequence[Wave],
        indexes: Sequence[IndexLayout],
        settle: Callable[[], object] = lambda: None,
    ) -> int:
        """Synthesize once and deploy each wave; between waves, wait until the table has the changes. `indexes` are all
        that the waves name."""
        known = {index.name: encode_index(index) for index in indexes}
        context = context_of({**self.choices, "indexes": json.dumps(known), "waves": encode_waves(waves)})
        if code := self.cdk(["synth", "**", "--quiet", "--output", str(self.output), *context]):
            return code
        for number, wave in enumerate(waves, 1):
            if len(waves) > 1:
                say(f"Wave {number} of {len(waves)}: {wave.meaning}")
            app = str(self.output / f"assembly-{wave_name(number)}")
            if code := self.cdk(["deploy", "--all", "--app", app, *self.others]):
                return code
            settle()
        return 0

    def _check(self, record: StageRecord | None, indexes: tuple[IndexLayout, ...], table: str) -> None:
        """Refuse a change that would hide the stage's records. Raises SchemaError."""
        connected = DynamoDBTable(TableLayout(), table)
        try:
            found = faults_of(self.configuration, record, [index.name for index in indexes], connected)
        finally:
            connected.close()
        if found:
            raise SchemaError(found)

    def _settled(self, table: str) -> tuple[IndexLayout, ...]:
        """The table's indexes, after all running changes of indexes have ended."""
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


def table_after(there: str, existing: ExistingTable | None, own: str) -> str:
    """The table that the stage will use, given its present one. Raises ConfigurationError if that would be a new table,
    without the records."""
    if existing is None and there != own:
        raise ConfigurationError(
            f"the stage's records are in the table {there}, which would not be used any more.",
            where="context `table`",
            fix="leave it as it was, or name the stream of the table that is to be used: -c table=ARN",
        )
    return there if existing is None else existing.name


def check_existing(table: ExistingTable, layout: TableLayout, units: TableUnits) -> None:
    """Refuse an existing table that does not fit the schema, or has other limits. Raises SchemaError."""
    client = boto3.client("dynamodb")
    found = client.describe_table(TableName=table.name)["Table"]
    ttl = client.describe_time_to_live(TableName=table.name)["TimeToLiveDescription"]
    if faults := existing_table_faults(table, found, layout, ttl, units):
        raise SchemaError(faults)


def faults_of(
    configuration: Configuration, record: StageRecord | None, indexes: list[str], table: Table
) -> list[Fault]:
    """The reasons against deploying to a stage that has these indexes. Its table is read for re-shards: while an
    entity's records move, the declarations that place them must not change."""
    wanted, service = configuration.stage_record, configuration.service
    controls = controls_of(configuration, table)
    found: list[Fault] = []
    if record is not None:
        found += stage_faults(record, wanted, absorbed=absorbed_bumps(record, wanted, controls))
    found += moving_faults(configuration.schema, controls)
    if configuration.protected:
        found += unheard_of(indexes, record, wanted.manifest, read_manifest(service), configuration.stage)
    return found


def absorbed_bumps(before: StageRecord, after: StageRecord, controls: Mapping[str, ReshardState]) -> dict[str, int]:
    """For the entities with new bumps, the time up to which a re-shard of this stage's table replaces all of them."""
    found: dict[str, int] = {}
    for token, control in controls.items():
        old, new = (record.manifest.entities.get(token) for record in (before, after))
        if old and new and new_bumps(old, new) and control.absorbed_until is not None:
            found[token] = int(control.absorbed_until)
    return found


def controls_of(configuration: Configuration, table: Table) -> dict[str, ReshardState]:
    """The states of the stage's re-shards, by token. Costs one read for each entity."""
    entities = configuration.schema.entities
    items = {token: table.run(GetItem(control_key(entity), consistent=True)).item for token, entity in entities.items()}
    return {token: decode_control(entities[token], item) for token, item in items.items() if item is not None}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
