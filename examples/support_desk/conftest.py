"""What tests may take: a fresh `database`, its `clock`, and a `client` of the service's routes."""

from __future__ import annotations

from types import ModuleType

import pytest

import support_desk
from shardweave import Schema

pytest_plugins = ["shardweave.testing"]
collect_ignore = ["cdk.out"]


@pytest.fixture
def schema() -> Schema:
    return support_desk.schema()


@pytest.fixture
def service() -> ModuleType:
    return support_desk
