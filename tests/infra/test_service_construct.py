"""A service as a construct of another app: all that a deployment by itself has, beside what is there."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import Stack
from aws_cdk.assertions import Template

from shardweave.cdk import ShardweaveService
from shardweave.cdk.service_construct import OF_A_STACK
from shardweave.errors import ConfigurationError
from tests.infra.conftest import FLAGS, ROOT, app_with, template_for

EXAMPLE = ROOT / "examples" / "cdk_app"
CHOSEN = {"issuer": "https://login.example.com/", "audience": "orders"}


def kinds(template: dict[str, Any]) -> Counter[str]:
    return Counter(each["Type"] for each in template["Resources"].values())


def test_it_has_what_a_deployment_by_itself_has() -> None:
    stack = Stack(app_with(), "Mine")
    ShardweaveService(stack, "Users", service="user_service", stage="prod", log_days=30, **CHOSEN)
    made = dict(Template.from_stack(stack).to_json())
    assert kinds(made) == kinds(template_for(stage="prod", logDays="30", **CHOSEN))


def test_two_services_stand_in_one_stack() -> None:
    stack = Stack(app_with(), "Mine")
    services = [ShardweaveService(stack, name, service=name) for name in ("user_service", "order_tracking")]
    made = dict(Template.from_stack(stack).to_json())
    tables = [each for each in made["Resources"].values() if each["Type"] == "AWS::DynamoDB::GlobalTable"]
    names = {each["Properties"]["TableName"] for each in tables}
    assert names == {"shardweave-user-service-dev", "shardweave-order-tracking-dev"}
    assert len({service.node.path for service in services}) == 2


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"isuer": "x"}, "it is spelled issuer"),
        ({"log_days": 2}, "logDays"),
        *(({name: "x"}, "does not choose that") for name in sorted(OF_A_STACK)),
    ],
)
def test_a_choice_that_it_does_not_have_is_refused(choices: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigurationError, match=message):
        ShardweaveService(Stack(app_with(), "Mine"), "Users", service="user_service", **choices)


def test_the_example_of_an_app_of_one_s_own_is_synthesized(tmp_path: Path) -> None:
    variables = {name: value for name, value in os.environ.items() if name != "SHARDWEAVE_PROJECT"}
    context = json.dumps({**FLAGS, "aws:cdk:bundling-stacks": []})
    variables |= {"CDK_OUTDIR": str(tmp_path), "CDK_CONTEXT_JSON": context}
    done = subprocess.run(
        [sys.executable, "app.py"], cwd=EXAMPLE, env=variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    made = json.loads((tmp_path / "Shop.template.json").read_text())
    assert {"AWS::SQS::Queue", "AWS::DynamoDB::GlobalTable", "AWS::ApiGatewayV2::Api"} <= set(kinds(made))
    assert "OrdersUrl" in made["Outputs"]
    (table,) = (each for each in made["Resources"].values() if each["Type"] == "AWS::DynamoDB::GlobalTable")
    assert (table["Properties"]["TableName"], table["DeletionPolicy"]) == (
        "shardweave-orders-prod",
        "RetainExceptOnCreate",
    )


def test_the_construct_of_the_guide_is_made(monkeypatch: pytest.MonkeyPatch) -> None:
    (example,) = re.findall(
        r"^```python\n(.*?)^```", (ROOT / "docs" / "deploy.md").read_text(), re.MULTILINE | re.DOTALL
    )
    monkeypatch.chdir(EXAMPLE)
    names: dict[str, Any] = {"stack": Stack(app_with(), "Mine"), "issuer": CHOSEN["issuer"]}
    exec(compile(example, "docs/deploy.md", "exec", dont_inherit=True), names)
    assert isinstance(names["orders"], ShardweaveService)
