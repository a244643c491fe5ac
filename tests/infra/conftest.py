"""Templates as CloudFormation would get them. Each kind of stack is synthesized once a run."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from aws_cdk import App
from aws_cdk.assertions import Template

from shardweave.cdk.configuration import Configuration
from shardweave.cdk.stack import ShardweaveStack

ROOT = Path(__file__).resolve().parents[2]
FLAGS = json.loads((ROOT / "cdk.json").read_text())["context"]

_OF_ACCOUNT = "eu-west-1:123456789012"
RESTORED = f"arn:aws:dynamodb:{_OF_ACCOUNT}:table/orders-restored/stream/2026-01-31T09:30:00.000"
LARGEST = {
    "stage": "prod",
    "issuer": "https://login.example.com/",
    "audience": "orders,stock",
    "alarmTopic": f"arn:aws:sns:{_OF_ACCOUNT}:alarms",
    "canary": "on",
    "operators": "group:movers",
    "reshardPolicy": "apply",
    "memory": "3008",
    "warm": "2",
    "concurrency": "50",
    "tenantRequests": "600",
    "tenantReadUnits": "20000",
    "queryReadUnits": "5000",
    "relatedRecords": "500",
    "tableReadUnits": "4000",
    "tableWriteUnits": "2000",
    "logDays": "365",
    "domain": "api.example.com",
    "certificate": f"arn:aws:acm:{_OF_ACCOUNT}:certificate/4f1f2c9e-1111-2222-3333-444455556666",
    "encryptionKey": f"arn:aws:kms:{_OF_ACCOUNT}:key/5a1f2c9e-1111-2222-3333-444455556666",
    "tags": "team=orders,costCenter=4711",
    "account": "123456789012",
    "region": "eu-west-1",
}
"""All that can be chosen to be there besides, at once."""


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
