"""What an account would refuse half way through is refused when the template is made."""

from __future__ import annotations

from typing import Any

import pytest
from aws_cdk import Aws

from shardweave.cdk.limits import LONGEST_TOKEN_BYTES, MOST_ENVIRONMENT_BYTES, check_environment, check_output
from shardweave.errors import ConfigurationError
from tests.infra.conftest import template_for
from tests.infra.templates import properties, resources

USERS = [f"arn:aws:iam::123456789012:user/operators/number-{number:03}" for number in range(90)]


def test_more_operators_than_an_environment_or_an_output_holds_are_refused_with_the_choice_to_shorten() -> None:
    with pytest.raises(ConfigurationError, match="OPERATORS alone has 4,688") as caught:
        template_for(operators=",".join(USERS))
    assert "shorten the choice behind OPERATORS" in str(caught.value)
    with pytest.raises(ConfigurationError, match="operators alone has 2,0") as caught:
        template_for(operators=",".join(USERS[:39]))
    assert "shorten -c operators" in str(caught.value)
    assert template_for(operators=",".join(USERS[:15]))


def test_exactly_what_is_possible_passes() -> None:
    check_environment("api", {"A": "x" * (MOST_ENVIRONMENT_BYTES - 1)})
    check_environment("api", {"A": "x" * (MOST_ENVIRONMENT_BYTES - 2 - LONGEST_TOKEN_BYTES), "B": Aws.STACK_ID})
    check_output("Choices", "x" * 1024, {"operators": "x"})
    for variables in ({"A": "x" * MOST_ENVIRONMENT_BYTES}, {"A": "é" * 2048}):
        with pytest.raises(ConfigurationError):
            check_environment("api", variables)


def test_each_region_has_a_dashboard_of_its_own(template: dict[str, Any]) -> None:
    name = properties(template, "AWS::CloudWatch::Dashboard")["DashboardName"]
    assert name == {"Fn::Join": ["", ["shardweave-user-service-dev-", {"Ref": "AWS::Region"}]]}


def test_the_access_log_lies_where_services_may_write_and_is_each_stacks_own(template: dict[str, Any]) -> None:
    groups = [each["Properties"] for each in resources(template, "AWS::Logs::LogGroup").values()]
    (named,) = (each["LogGroupName"] for each in groups if "LogGroupName" in each)
    prefix, made = named["Fn::Join"][1]
    assert prefix == "/aws/vendedlogs/shardweave-user-service-dev/"
    assert made == {"Fn::Select": [2, {"Fn::Split": ["/", {"Ref": "AWS::StackId"}]}]}
