"""The store over boto3: what its client repeats by itself is not mistaken for another writer's work."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import boto3
import pytest
from botocore.config import Config

from shardweave.errors import OutcomeUnknown
from shardweave.schema.shard_maps import StaticMaps
from shardweave.store import RetryClock, Store
from shardweave.table.dynamodb import DynamoDBTable
from shardweave.table.values import to_attribute_values
from tests.integration.scripted_server import Reply, ScriptedServer, error
from tests.unit.store_world import SCHEMA, Clock, Note

Script = Callable[..., Store]

FAILED_INSIDE = error("InternalServerError", status=500)


@pytest.fixture
def scripted() -> Iterator[Script]:
    """A store whose table answers from a script; boto3 retries as it does."""
    opened: list[tuple[ScriptedServer, DynamoDBTable]] = []

    def script(*replies: Reply) -> Store:
        server = ScriptedServer(replies)
        table = DynamoDBTable(SCHEMA.layout, "notes", client=client(server.url))
        opened.append((server, table))
        return Store(SCHEMA, table, maps=StaticMaps(), clock=Clock(), waiting=RetryClock(sleep=lambda _: None))

    yield script
    for server, table in opened:
        table.close()
        server.close()


def client(url: str) -> object:
    return boto3.session.Session("test", "test", region_name="us-east-1").client(
        "dynamodb", endpoint_url=url, config=Config(retries={"mode": "standard", "total_max_attempts": 3})
    )


def stored(rev: str) -> dict[str, object]:
    return to_attribute_values({"hashKey": "note!0", "rangeKey": "noteId#a", "rev": rev})


def test_a_delete_that_boto3_repeats_and_that_finds_nothing_then_has_removed_the_record(scripted: Script) -> None:
    store = scripted(FAILED_INSIDE, error("ConditionalCheckFailedException"))
    assert store.delete(Note, "a", rev="r") is True


def test_a_write_that_boto3_repeats_and_that_meets_another_revision_then_has_an_unknown_outcome(
    scripted: Script,
) -> None:
    store = scripted(FAILED_INSIDE, error("ConditionalCheckFailedException", Item=stored("another")))
    with pytest.raises(OutcomeUnknown):
        store.create({"noteId": "a", "text": ""}, Note)


def test_a_delete_that_is_sent_once_and_finds_nothing_has_removed_nothing(scripted: Script) -> None:
    store = scripted(error("ConditionalCheckFailedException"), Reply())
    assert store.delete(Note, "a", rev="r") is False
