"""What commands and the app refuse: a choice or an option that is spelled otherwise would decide nothing."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from shardweave.cdk.account import choose_account
from shardweave.cdk.choices import check_names
from shardweave.cdk.configuration import Configuration
from shardweave.cdk.deploy import deployment_of, parser_of
from shardweave.cdk.deploy import main as deploy_main
from shardweave.cdk.deploy_local import (
    CALLER,
    STAGE,
    check_port,
    choices_here,
    example_of,
    first_collection,
    only_one_at_a_time,
    port,
)
from shardweave.cdk.emulator import Process
from shardweave.cdk.options import Given, add_options, choices_of, context_of, parsed, stack_of
from shardweave.errors import ConfigurationError


def options_of(*arguments: str) -> tuple[argparse.Namespace, list[str]]:
    parser = argparse.ArgumentParser(allow_abbrev=False)
    add_options(parser)
    return parsed(parser, list(arguments))


@pytest.mark.parametrize("name", ["isuer", "alarmtopic", "Stage"])
def test_a_choice_that_is_spelled_otherwise_is_refused_with_its_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"there is no such choice.* it is spelled"):
        options_of("-c", f"{name}=x")


def test_the_app_refuses_it_too() -> None:
    with pytest.raises(ConfigurationError, match="context `isuer`"):
        check_names(["service", "isuer"])


@pytest.mark.parametrize("option", ["--stagee", "--stag", "--servise=x"])
def test_an_option_that_is_nearly_one_is_refused(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options_of(option, "prod")
    assert "it is spelled --s" in capsys.readouterr().err


def test_what_is_the_cdks_goes_to_the_cdk() -> None:
    _, others = options_of("--stage", "prod", "--require-approval", "never", "-q")
    assert others == ["--require-approval", "never", "-q"]


def test_a_choice_without_a_value_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        options_of("-c", "stage")
    assert "give -c stage=VALUE" in capsys.readouterr().err


REFUSED = {
    "an audience alone": ("audience=orders", "says nothing without an issuer"),
    "a wave by hand": ("indexes=junk", "must be a wave of indexes"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_choices_that_can_not_mean_anything_are_refused(case: str) -> None:
    choice, message = REFUSED[case]
    options, _ = options_of("-c", choice)
    with pytest.raises(ConfigurationError, match=message):
        Configuration.from_context(Given(choices_of(options)))


PROD = {"service": "order_tracking", "stage": "prod"}
SAME_STAGE = {
    "by options": ["--service", "order_tracking", "--stage", "prod"],
    "by the context": ["-c", "service=order_tracking", "-c", "stage=prod"],
    "by one of each": ["--service=order_tracking", "--context=stage=prod"],
    "by the last that is said": ["-c", "stage=dev", "-c", "service=order_tracking", "-c", "stage=prod"],
    "by the context before an option": ["-c", "stage=prod", "-c", "service=order_tracking", "--stage", "dev"],
}


@pytest.mark.parametrize("spelled", SAME_STAGE)
def test_every_spelling_of_a_stage_names_the_stack_that_is_made(spelled: str) -> None:
    options, _ = options_of(*SAME_STAGE[spelled])
    for choices in (choices_of(options), without_operators(choices_here(options))):
        assert choices == PROD
        assert stack_of(choices) == "shardweave-order-tracking-prod"
        assert Configuration.from_context(Given(choices)).stack_name == stack_of(choices)
        assert sorted(context_of(choices)) == ["-c", "-c", "service=order_tracking", "stage=prod"]


def without_operators(choices: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in choices.items() if name != "operators"}


def test_who_deploys_to_an_emulator_is_its_operator_unless_others_are_named() -> None:
    assert choices_here(options_of()[0])["operators"] == CALLER
    configuration = Configuration.from_context(Given(choices_here(options_of()[0])))
    assert configuration.operators == CALLER
    assert choices_here(options_of("-c", "operators=")[0])["operators"] == ""
    assert "operators" not in choices_here(options_of("-c", "issuer=https://a.example/", "-c", "audience=b")[0])


@pytest.mark.parametrize("pinned", ["account=123456789012", "region=eu-west-1"])
def test_an_emulator_is_no_account_that_is_pinned(pinned: str) -> None:
    with pytest.raises(ConfigurationError, match=f"the stage belongs to {pinned.partition('=')[2]}"):
        choices_here(options_of("-c", pinned)[0])


def test_choices_of_the_project_count_where_the_command_line_says_nothing(tmp_path: Path) -> None:
    project = tmp_path / "cdk.json"
    project.write_text(json.dumps({"context": {"@aws-cdk/x": "y", "account": "123456789012", "lanes": "8"}}))
    options, _ = options_of("-c", "lanes=64")
    assert choices_of(options, project) == {"account": "123456789012", "lanes": "64"}


@pytest.mark.parametrize("spelled", SAME_STAGE)
def test_what_is_kept_is_that_of_the_stage_which_is_deployed(spelled: str) -> None:
    stacks = StacksByName({"shardweave-order-tracking-prod": {"lanes": "64"}, "shardweave-user-service-dev": {}})
    deployment = deployment_of(stacks, *parsed(parser_of(), SAME_STAGE[spelled]))
    assert deployment.choices == {"lanes": "64", **PROD}
    assert (deployment.configuration.stack_name, deployment.configuration.lanes) == (stack_of(PROD), 64)
    assert stacks.asked == [stack_of(PROD)]


class StacksByName:
    """CloudFormation, with what each stack was deployed with. It remembers which were asked for."""

    def __init__(self, kept: Mapping[str, Mapping[str, str]]) -> None:
        self._kept = kept
        self.asked: list[str] = []

    def describe_stacks(self, StackName: str) -> dict[str, Any]:  # noqa: N803
        self.asked.append(StackName)
        output = {"OutputKey": "Choices", "OutputValue": json.dumps(self._kept[StackName])}
        return {"Stacks": [{"StackStatus": "UPDATE_COMPLETE", "Outputs": [output]}]}


def test_an_emulator_has_a_stage_of_its_own_unless_one_is_said() -> None:
    assert stack_of(choices_here(options_of()[0])) == f"shardweave-user-service-{STAGE}"
    assert stack_of(choices_of(options_of()[0])) == "shardweave-user-service-dev"


@pytest.mark.parametrize("text", ["0", "65536", "99999", "-1", "²", "http"])
def test_what_is_no_port_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="1 to 65535"):
        port(text)
    assert port("4567") == 4567


def test_another_port_than_that_of_the_emulator_which_lives_is_refused() -> None:
    with pytest.raises(ConfigurationError, match=r"runs already, on 4871.*--stop"):
        check_port(4999, Process(1, 4871))
    for asked, found in ((None, Process(1, 4871)), (4871, Process(1, 4871)), (4999, None)):
        check_port(asked, found)


def test_two_deployments_from_one_folder_do_not_meet(tmp_path: Path) -> None:
    for _ in range(2):
        with only_one_at_a_time(tmp_path), pytest.raises(ConfigurationError, match="another one is deploying"):
            only_one_at_a_time(tmp_path).__enter__()


def test_an_unknown_service_is_refused_before_an_account_is_asked(capsys: pytest.CaptureFixture[str]) -> None:
    assert deploy_main(["--service", "nosuch"]) == 2
    assert "there is no service 'nosuch'" in capsys.readouterr().err


def test_profile_and_region_are_given_to_every_tool_by_the_name_that_it_reads() -> None:
    variables = {"AWS_REGION": "eu-west-1"}
    choose_account(variables, None, None)
    assert variables == {"AWS_REGION": "eu-west-1", "AWS_DEFAULT_REGION": "eu-west-1"}
    choose_account(variables, "work", "us-west-2")
    assert variables == {"AWS_PROFILE": "work", "AWS_REGION": "us-west-2", "AWS_DEFAULT_REGION": "us-west-2"}


def test_the_calls_that_are_printed_are_of_a_collection_that_can_be_listed() -> None:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/New"}}}}
    new = {
        "type": "object",
        "required": ["at", "id"],
        "properties": {
            "at": {"type": "string", "format": "date-time"},
            "id": {"type": "string", "format": "uuid"},
            "more": {"type": "string"},
        },
    }
    path = {"get": {}, "post": {"requestBody": body}}
    described = {"paths": {"/v1/closed": path, "/v1/open": path}, "components": {"schemas": {"New": new}}}
    found = first_collection(described, lambda path: path == "/v1/open")
    assert found is not None
    assert found == ("/v1/open", example_of(new, described))
    assert found[1]["at"].endswith("Z")
    assert set(found[1]) == {"at", "id"}
    assert first_collection(described, lambda path: False) is None
