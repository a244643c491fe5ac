"""Which way a table on DynamoDB takes, as it is made by programs and functions."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from shardweave.errors import ConfigurationError
from shardweave.table.dynamodb import DynamoDBTable, new_session
from shardweave.table.operations import Describe, GetItem, PutItem
from tests.integration.scripted_server import LAYOUT, Reply, ScriptedServer

KEY = {"hashKey": "h", "rangeKey": "r"}


@pytest.fixture
def around(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment with keys and a region, and nothing else of AWS."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    return monkeypatch


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    made = ScriptedServer([Reply()])
    yield made
    made.close()


def sent_by_us(server: ScriptedServer, table: DynamoDBTable, *operations: Any) -> list[bool]:
    """Of each operation, whether its request was our own transport's."""
    for operation in operations:
        table.run(operation)
    return [request.headers["User-Agent"] == "shardweave" for request in server.requests]


def test_operations_on_items_go_directly_until_the_clients_are_asked_for(
    around: pytest.MonkeyPatch, server: ScriptedServer
) -> None:
    table = DynamoDBTable(LAYOUT, "orders", endpoint_url=server.url, transport="direct")
    assert table.run_many is not None
    assert sent_by_us(server, table, GetItem(KEY), PutItem(KEY)) == [True, True]
    assert table.connection.client.meta.endpoint_url == server.url
    assert table.run_many is None
    assert sent_by_us(server, table, GetItem(KEY)) == [True, True, False]
    table.close()


def test_other_operations_make_the_clients_and_change_nothing(around: pytest.MonkeyPatch) -> None:
    described = {
        "TableName": "orders",
        "TableStatus": "ACTIVE",
        "AttributeDefinitions": [],
        "GlobalSecondaryIndexes": [],
    }
    server = ScriptedServer([Reply({"Table": described}), Reply()])
    table = DynamoDBTable(LAYOUT, "orders", endpoint_url=server.url, transport="direct")
    assert sent_by_us(server, table, Describe(), GetItem(KEY)) == [False, True]
    table.close()
    server.close()


def test_the_environment_leaves_everything_to_botocore(around: pytest.MonkeyPatch, server: ScriptedServer) -> None:
    around.setenv("SHARDWEAVE_TRANSPORT", "botocore")
    table = DynamoDBTable(LAYOUT, "orders", endpoint_url=server.url, transport="direct")
    assert sent_by_us(server, table, GetItem(KEY), PutItem(KEY)) == [False, False]
    table.close()


def test_who_insists_is_told_why_not(around: pytest.MonkeyPatch, server: ScriptedServer) -> None:
    around.setenv("AWS_PROFILE", "other")
    with pytest.raises(ConfigurationError, match="AWS_PROFILE is set"):
        DynamoDBTable(LAYOUT, "orders", endpoint_url=server.url, transport="direct")
    assert server.requests == []


def test_where_a_mock_is_loaded_everything_goes_by_botocore(around: pytest.MonkeyPatch, server: ScriptedServer) -> None:
    """A38: as it is in these tests, which know moto."""
    table = DynamoDBTable(LAYOUT, "orders", endpoint_url=server.url)
    assert table.run_many is None
    assert sent_by_us(server, table, GetItem(KEY)) == [False]
    table.close()


def test_a_session_that_makes_other_clients_leaves_the_choice_open_and_one_that_was_told_something_does_not(
    around: pytest.MonkeyPatch,
) -> None:
    session = new_session()
    session.create_client("secretsmanager").close()
    assert session.is_plain
    for tell in (
        lambda told: told.set_credentials("key", "secret"),
        lambda told: told.register("before-send.dynamodb", lambda **_: None),
        lambda told: told.set_config_variable("region", "eu-central-1"),
        lambda told: told.set_default_client_config(None),
    ):
        told = new_session()
        tell(told)
        assert not told.is_plain
