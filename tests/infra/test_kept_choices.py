"""What a stage was deployed with is kept, and a later deployment says only what is to change."""

from __future__ import annotations

import argparse
import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from shardweave.cdk.choices import CHOICES
from shardweave.cdk.deployed_stack import described, outputs_of
from shardweave.cdk.kept_choices import OF_A_RUN, encode_choices, kept_choices
from shardweave.cdk.options import add_options, choices_of
from tests.infra.conftest import template_for

ISSUER = "https://login.example.com/"


def test_what_is_not_the_default_is_kept_and_what_belongs_to_a_run_is_not() -> None:
    given = {**CHOICES, "stage": "prod", "issuer": ISSUER, "indexes": "{}", "layer": "host"}
    assert json.loads(encode_choices(given, CHOICES)) == {"issuer": ISSUER}
    assert set(CHOICES) >= OF_A_RUN


def test_what_is_given_wins_also_when_it_takes_back() -> None:
    outputs = {"Choices": json.dumps({"issuer": ISSUER, "audience": "orders", "lanes": "64"})}
    assert kept_choices(outputs, (), CHOICES) == {"issuer": ISSUER, "audience": "orders", "lanes": "64"}
    assert kept_choices(outputs, {"issuer", "lanes"}, CHOICES) == {"audience": "orders"}


def test_what_this_version_does_not_know_is_left_out_and_older_stacks_keep_nothing() -> None:
    assert kept_choices({"Choices": '{"gone": "1"}'}, (), CHOICES) == {}
    assert kept_choices({"TableName": "t"}, (), CHOICES) == {}


@pytest.mark.parametrize("stage", ["prod", "dev"])
def test_the_template_has_them_as_an_output(stage: str) -> None:
    template = template_for(stage=stage, issuer=ISSUER, audience="orders")
    (output,) = (each for name, each in template["Outputs"].items() if name == "Choices")
    assert json.loads(output["Value"]) == {"audience": "orders", "issuer": ISSUER}


def test_options_say_which_choices_are_given() -> None:
    parser = argparse.ArgumentParser()
    add_options(parser)
    options = parser.parse_args(["--stage", "prod", "-c", "issuer=", "-c", "lanes=64"])
    assert choices_of(options) == {"stage": "prod", "issuer": "", "lanes": "64"}


class Stacks:
    """CloudFormation with one stack, or none."""

    def __init__(self, *stacks: Any) -> None:
        self._stacks = stacks

    def describe_stacks(self, **asked: Any) -> Any:
        if not self._stacks:
            raise ClientError({"Error": {"Code": "ValidationError"}}, "DescribeStacks")
        return {"Stacks": list(self._stacks)}


def test_a_stack_that_was_never_deployed_has_no_outputs() -> None:
    outputs = [{"OutputKey": "Choices", "OutputValue": "{}"}]
    assert outputs_of(described(Stacks(), "s")) == {}
    for status, said in (("REVIEW_IN_PROGRESS", {}), ("UPDATE_COMPLETE", {"Choices": "{}"})):
        assert outputs_of(described(Stacks({"StackStatus": status, "Outputs": outputs}), "s")) == said
