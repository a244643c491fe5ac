"""A stage that is kept: its first deployment fails and is repeated, its stack is protected, and it goes over to a
restored table.

The tests are steps of one story, in the order of the file.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from shardweave.cdk.configuration import stack_name
from shardweave.cdk.deploy_local import CALLER, api_of, reshards
from shardweave.cdk.emulator import ACCOUNT, CREDENTIALS, REGION, Emulator
from shardweave.cdk.sources import ROOT
from shardweave.keys.key_format import ORDERED
from shardweave.service.loader import service_schema
from tests.e2e.conftest import SERVICE, Deployed, output_of

STAGE = "kept"
NAME = stack_name(SERVICE, STAGE)
DOMAIN = "api.example.com"
CERTIFICATE = f"arn:aws:acm:{REGION}:{ACCOUNT}:certificate/4f1f2c9e-1111-2222-3333-444455556666"
CHOICES = {"operators": CALLER, "domain": DOMAIN, "certificate": CERTIFICATE, "layer": "host"}
PERSON = {"firstName": "Ana", "lastName": "Gómez", "beneficiaryId": "b1"}
RESTORED = f"{NAME}-restored"


def run(emulator: Emulator, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a command as an operator of the emulated account does."""
    return subprocess.run(
        [ROOT / "run", *arguments], env=emulator.variables, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def stack(start_emulator: Callable[..., Emulator]) -> Deployed:
    """An account that is ready, where somebody else has the domain's name."""
    emulator = start_emulator()
    done = run(emulator, "cdk", "bootstrap", f"aws://{ACCOUNT}/{REGION}")
    assert done.returncode == 0, done.stderr[-3000:]
    stack = Deployed(emulator, NAME, {})
    stack.client("apigatewayv2").create_domain_name(DomainName=DOMAIN)
    return stack


def deploy(stack: Deployed, manifests: Path, **choices: str) -> subprocess.CompletedProcess[str]:
    options: list[str | Path] = ["--service", SERVICE, "--stage", STAGE, "--poll", "0.2", "--manifests", manifests]
    options += ["--require-approval", "never", "--output", output_of(stack.emulator)]
    return run(stack.emulator, "deploy", *options, *of_context(choices))


def of_context(choices: dict[str, str]) -> Sequence[str]:
    return [part for name, value in choices.items() for part in ("-c", f"{name}={value}")]


def described(stack: Deployed) -> dict[str, Any]:
    (found,) = stack.client("cloudformation").describe_stacks(StackName=NAME)["Stacks"]
    return dict(found)


def outputs(stack: Deployed) -> dict[str, str]:
    return {each["OutputKey"]: each["OutputValue"] for each in described(stack)["Outputs"]}


def protection_of_table(stack: Deployed) -> bool:
    """As the deployed template says it: the emulator does not carry a replica's protection out."""
    body = stack.client("cloudformation").get_template(StackName=NAME, TemplateStage="Original")["TemplateBody"]
    made = (json.loads(body) if isinstance(body, str) else body)["Resources"].values()
    (table,) = (each for each in made if each["Type"] == "AWS::DynamoDB::GlobalTable")
    return bool(table["Properties"]["Replicas"][0]["DeletionProtectionEnabled"])


def tables(stack: Deployed) -> list[str]:
    return sorted(stack.client("dynamodb").list_tables()["TableNames"])


def test_in_another_account_or_region_nothing_is_begun(stack: Deployed, tmp_path: Path) -> None:
    for choice, value in (("account", "123456789012"), ("region", "eu-west-1")):
        done = deploy(stack, tmp_path, **{choice: value})
        assert done.returncode == 2
        assert f"the stage belongs to {value}" in done.stderr
    assert not list(output_of(stack.emulator).rglob("manifest.json")), "nothing was synthesized"


def test_a_first_deployment_that_fails_leaves_nothing(stack: Deployed, tmp_path: Path) -> None:
    done = deploy(stack, tmp_path, **CHOICES)
    assert done.returncode != 0
    assert "already exists" in done.stdout + done.stderr
    assert described(stack)["StackStatus"] == "ROLLBACK_COMPLETE"
    assert tables(stack) == []
    assert stack.client("secretsmanager").list_secrets()["SecretList"] == []
    assert not described(stack).get("EnableTerminationProtection")


def test_the_same_command_makes_the_stage_when_the_cause_is_gone(stack: Deployed, tmp_path: Path) -> None:
    stack.client("apigatewayv2").delete_domain_name(DomainName=DOMAIN)
    done = deploy(stack, tmp_path, **CHOICES)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert "Wave 2 of 2: protecting the stack and its table" in done.stderr
    assert described(stack)["EnableTerminationProtection"] is True
    assert protection_of_table(stack) is True
    assert (tmp_path / f"{SERVICE}.json").exists()


def test_that_the_stack_is_protected_is_said_by_whichever_command_would_remove_it(stack: Deployed) -> None:
    for command in (["destroy", NAME], ["cdk", "destroy", NAME], ["destroy", "--service", SERVICE, "--stage", STAGE]):
        done = run(stack.emulator, *command, "--force")
        assert done.returncode == 2
        assert "--no-enable-termination-protection" in done.stderr
    assert described(stack)["StackStatus"].endswith("_COMPLETE")


def test_who_deployed_it_may_move_records(stack: Deployed) -> None:
    api = api_of(stack.emulator, outputs(stack), credentials=CREDENTIALS)
    tokens = list(service_schema(SERVICE, ORDERED).entities)
    assert ("/v1/_reshard/user", {"charBits": 2, "chars": 2}) in list(reshards(api, tokens))


def test_the_stage_goes_over_to_a_restored_table(stack: Deployed, tmp_path: Path) -> None:
    api = api_of(stack.emulator, outputs(stack), credentials=CREDENTIALS)
    assert api.call("POST", "/v1/users", PERSON).status == 201
    dynamodb = stack.client("dynamodb")
    dynamodb.restore_table_to_point_in_time(
        SourceTableName=NAME, TargetTableName=RESTORED, UseLatestRestorableTime=True
    )
    late = api.call("POST", "/v1/users", {**PERSON, "firstName": "Late"})
    assert late.status == 201
    streams = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}
    dynamodb.update_table(TableName=RESTORED, StreamSpecification=streams)
    stream = dynamodb.describe_table(TableName=RESTORED)["Table"]["LatestStreamArn"]
    refused = deploy(stack, tmp_path, layer="host", table=stream)
    assert refused.returncode == 2
    assert "Enabled=true,AttributeName=_expires" in refused.stderr
    assert outputs(stack)["TableName"] == NAME
    expiring = {"Enabled": True, "AttributeName": "_expires"}
    dynamodb.update_time_to_live(TableName=RESTORED, TimeToLiveSpecification=expiring)
    done = deploy(stack, tmp_path, layer="host", table=stream)
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]
    assert outputs(stack)["TableName"] == RESTORED
    listed = api.get("/v1/users", index="created").document["items"]
    assert [user["firstName"] for user in listed] == ["Ana"]
    assert tables(stack) == [NAME, RESTORED]


def test_it_stays_with_that_table_until_another_is_named(stack: Deployed, tmp_path: Path) -> None:
    kept = json.loads(outputs(stack)["Choices"])
    assert kept["table"].split("/")[1] == RESTORED
    done = deploy(stack, tmp_path, layer="host", table="")
    assert done.returncode == 2
    assert f"records are in the table {RESTORED}" in done.stderr
