"""Templates as CloudFormation would get them. Each kind of stack is synthesized once a run."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template

from infra.configuration import Configuration
from infra.stack import ShardweaveStack

ROOT = Path(__file__).resolve().parents[2]
FLAGS = json.loads((ROOT / "cdk.json").read_text())["context"]


def app_with(**context: str) -> App:
    return App(context={**FLAGS, "aws:cdk:bundling-stacks": [], **context})


def configuration(**context: str) -> Configuration:
    """What the app makes of a context."""
    return Configuration.from_context(app_with(**context).node)


@cache
def template_for(**context: str) -> dict[str, Any]:
    app = app_with(**context)
    return dict(Template.from_stack(ShardweaveStack(app, Configuration.from_context(app.node))).to_json())


@pytest.fixture(scope="session")
def template() -> dict[str, Any]:
    """The stack as it comes when nothing is chosen."""
    return template_for()
