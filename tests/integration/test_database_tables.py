"""The database on DynamoDB: the same methods and answers as on a table in memory."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterator
from typing import Any

import boto3
import pytest

from shardweave import AsyncDatabase, Database, errors
from shardweave.table.dynamodb import DynamoDBTable, create_table
from tests.integration.emulated_account import own_account
from tests.integration.scripted_server import Reply, ScriptedServer
from tests.unit.database_world import SCHEMA, Account, Clock, Team, accounts

TABLE = "accounts"


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An account that is made up, with an empty table."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with own_account():
        table = DynamoDBTable(SCHEMA.layout, TABLE, region="us-east-1")
        create_table(table)
        table.close()
        yield


@pytest.mark.usefixtures("credentials")
def test_a_database_on_dynamodb_answers_as_one_in_memory_does() -> None:
    with (
        Database(SCHEMA, table_name=TABLE, region="us-east-1", clock=Clock()) as there,
        Database(SCHEMA, clock=Clock()) as here,
    ):
        for db in (there, here):
            db.create(Team(team_id="red", name="Red"))
            for each in accounts(12):
                db.create(each)
            db.update(Account, "red003", {"city": "Rome"})
            db.delete(Account, "red004")
        for asked in (
            {"team_id": "red", "index": "teamCity"},
            {"team_id": "red", "city": "Oslo"},
            {"index": "created", "limit": 5},
        ):
            assert there.query(Account, **asked).items == here.query(Account, **asked).items
        assert there.find_by(Account, "city", "Oslo").items == here.find_by(Account, "city", "Oslo").items
        assert there.count(Account, team_id="red") == 11
        assert there.get_by(Account, "email", "red3@example.org") == here.get(Account, "red003")


@pytest.mark.usefixtures("credentials")
def test_a_client_that_was_given_stays_open() -> None:
    client = boto3.client("dynamodb", region_name="us-east-1")
    with Database(SCHEMA, table_name=TABLE, client=client) as db:
        db.create(Team(team_id="red", name="Red"))
    with Database(SCHEMA, table_name=TABLE, client=client) as db:
        assert db.get(Team, "red") == Team(team_id="red", name="Red")


@pytest.mark.usefixtures("credentials")
def test_a_table_that_is_not_there_is_named() -> None:
    with (
        Database(SCHEMA, table_name="acounts", region="us-east-1") as db,
        pytest.raises(errors.TableNotFound, match="check names and region"),
    ):
        db.get(Team, "red")


@pytest.fixture
def empty(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server where every item is missing, and credentials for it."""
    for name in [name for name in os.environ if name.startswith("AWS_")]:
        monkeypatch.delenv(name)
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    server = ScriptedServer([Reply()])
    yield server.url
    server.close()


def asked(url: str, transport: str, observe: Callable[[Any], object]) -> None:
    where: dict[str, Any] = {"table_name": TABLE, "endpoint_url": url, "region": "us-east-1"}
    with Database(SCHEMA, **where, transport=transport, observe=observe) as db:
        assert db.get(Team, "red") is None


def asked_by_a_loop(url: str, transport: str, observe: Callable[[Any], object]) -> None:
    async def ask() -> None:
        where: dict[str, Any] = {"table_name": TABLE, "endpoint_url": url, "region": "us-east-1"}
        async with AsyncDatabase(SCHEMA, **where, transport=transport, observe=observe) as db:
            assert await db.get(Team, "red") is None

    asyncio.run(ask())


@pytest.mark.parametrize("ask", [asked, asked_by_a_loop])
def test_a_database_is_told_of_each_attempt_of_the_transport_that_it_chose(
    empty: str, ask: Callable[[str, str, Callable[[Any], object]], None]
) -> None:
    direct: list[Any] = []
    ask(empty, "direct", direct.append)
    assert {(each.method, each.status) for each in direct} == {("get_item", 200)}
    other: list[Any] = []
    ask(empty, "botocore", other.append)
    assert other == []
