"""Removing a stack: found by its name or by service and stage, refused before anything is waited for, and without the
service or its assets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from shardweave.cdk.destroy import check_removable, destroy, main, parser_of, stack_named
from shardweave.cdk.options import choices_of, parsed
from shardweave.errors import ConfigurationError

STACK = "shardweave-order-tracking-prod"


def named(*arguments: str) -> str:
    options, _ = parsed(parser_of(), list(arguments))
    return stack_named(options.stack, choices_of(options))


def test_a_stack_is_named_by_itself_or_by_its_service_and_stage() -> None:
    assert named(STACK) == STACK
    assert named("--service", "order_tracking", "--stage", "prod") == STACK
    assert named(STACK, "-c", "service=order_tracking", "-c", "stage=prod") == STACK
    assert named(STACK, "--force") == STACK


def test_a_name_that_is_not_that_of_the_options_is_refused() -> None:
    with pytest.raises(ConfigurationError, match="the options mean shardweave-user-service-dev"):
        named(STACK, "--stage", "dev")
    with pytest.raises(ConfigurationError, match="nothing says which stack"):
        named()


def test_protection_is_said_with_the_command_that_takes_it_off() -> None:
    with pytest.raises(ConfigurationError, match=f"--no-enable-termination-protection --stack-name {STACK}`"):
        check_removable({"StackStatus": "UPDATE_COMPLETE", "EnableTerminationProtection": True}, STACK)
    with pytest.raises(ConfigurationError, match="no such stack"):
        check_removable(None, STACK)
    for status in ("UPDATE_COMPLETE", "ROLLBACK_COMPLETE", "DELETE_FAILED"):
        check_removable({"StackStatus": status, "EnableTerminationProtection": False}, STACK)


@pytest.mark.parametrize("own_credentials", [False, True])
def test_the_cdk_gets_an_empty_stack_of_that_name_and_no_assets(own_credentials: bool) -> None:
    seen: list[Any] = []

    def cdk(arguments: Sequence[str]) -> int:
        folder = Path(arguments[arguments.index("--app") + 1])
        artifacts = json.loads((folder / "manifest.json").read_text())["artifacts"].values()
        (stack,) = (each for each in artifacts if each["type"] == "aws:cloudformation:stack")
        template = json.loads((folder / stack["properties"]["templateFile"]).read_text())
        seen.append((stack["properties"]["stackName"], stack["environment"], template.get("Resources", {})))
        assert not list(folder.glob("asset.*"))
        assert ("assumeRoleArn" in stack["properties"]) != own_credentials
        assert arguments[-1] == "--force"
        return 3

    where = ("123456789012", "eu-west-1")
    assert destroy(STACK, where, ["--force"], own_credentials=own_credentials, run=cdk) == 3
    assert seen == [(STACK, "aws://123456789012/eu-west-1", {})]


def test_what_is_wrong_is_said_before_an_account_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "give --service and --stage" in capsys.readouterr().err
