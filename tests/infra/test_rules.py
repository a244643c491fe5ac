"""The stack against AWS's published rules for solutions and for serverless applications."""

from __future__ import annotations

from aws_cdk import Validations
from cdk_nag import AwsSolutionsChecks, ServerlessChecks

from infra.configuration import Configuration
from infra.stack import ShardweaveStack
from tests.infra.conftest import app_with


def test_a_stage_that_is_kept_breaks_no_rule() -> None:
    app = app_with(stage="prod")
    Validations.of(app).add_plugins(AwsSolutionsChecks(app), ServerlessChecks(app))
    ShardweaveStack(app, Configuration.from_context(app.node))
    app.synth()
