"""The stack against AWS's published rules for solutions and for serverless applications."""

from __future__ import annotations

import pytest
from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from shardweave.cdk.configuration import Configuration
from shardweave.cdk.stack import ShardweaveStack
from shardweave.service.files import service_names
from tests.infra.conftest import LARGEST, app_with


@pytest.mark.parametrize("choices", [{"stage": "prod"}, LARGEST], ids=["none", "all"])
@pytest.mark.parametrize("service", service_names())
def test_a_stage_that_is_kept_breaks_no_rule(service: str, choices: dict[str, str]) -> None:
    app = app_with(service=service, **choices)
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    ShardweaveStack(app, Configuration.from_context(app.node))
    app.synth()
