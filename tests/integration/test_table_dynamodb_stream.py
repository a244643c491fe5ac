"""What the table on DynamoDB does with its stream: shards, iterators, positions."""

from __future__ import annotations

import time
from typing import Any

import pytest

from shardweave.errors import StreamTrimmed, TableNotFound
from shardweave.table.stream_operations import StreamRead, StreamShard, StreamShards
from tests.integration.scripted_server import Reply, Script, ScriptedServer, error

KEY = {"hashKey": "h", "rangeKey": "r"}
TYPED_KEY = {"hashKey": {"S": "h"}, "rangeKey": {"S": "r"}}


def described() -> Reply:
    return Reply({"Table": {"TableName": "orders", "TableStatus": "ACTIVE", "LatestStreamArn": "arn:stream"}})


def change(sequence: str, by_service: bool = False) -> dict[str, Any]:
    record: dict[str, Any] = {
        "eventID": f"event-{sequence}",
        "eventName": "REMOVE",
        "dynamodb": {
            "ApproximateCreationDateTime": 1700000000,
            "Keys": TYPED_KEY,
            "OldImage": TYPED_KEY,
            "SequenceNumber": sequence,
        },
    }
    if by_service:
        record["userIdentity"] = {"Type": "Service", "PrincipalId": "dynamodb.amazonaws.com"}
    return record


def iterator(name: str) -> Reply:
    return Reply({"ShardIterator": name})


def page(*records: dict[str, Any], following: str | None = "next") -> Reply:
    return Reply({"Records": list(records), **({"NextShardIterator": following} if following else {})})


def asked(server: ScriptedServer) -> list[tuple[str, Any]]:
    """What was asked of the stream: for an iterator the position, for records the iterator."""
    told = {"GetShardIterator": "ShardIteratorType", "GetRecords": "ShardIterator"}
    return [
        (request.operation, request.parameters.get("SequenceNumber") or request.parameters[told[request.operation]])
        for request in server.requests
        if request.operation in told
    ]


def test_shards_are_listed_over_all_pages_parents_first(script: Script) -> None:
    def shard(name: str, parent: str | None = None, closed: bool = False) -> dict[str, Any]:
        ending = {"EndingSequenceNumber": "9"} if closed else {}
        return {
            "ShardId": name,
            "SequenceNumberRange": {"StartingSequenceNumber": "1", **ending},
            **({"ParentShardId": parent} if parent else {}),
        }

    first = {"Shards": [shard("c", "b"), shard("b", "a", closed=True)], "LastEvaluatedShardId": "b"}
    second = {"Shards": [shard("a", "gone", closed=True), shard("d", "b")]}
    table, server = script(described(), Reply({"StreamDescription": first}), Reply({"StreamDescription": second}))
    assert table.run(StreamShards()) == (
        StreamShard("a", "gone", closed=True),
        StreamShard("b", "a", closed=True),
        StreamShard("c", "b"),
        StreamShard("d", "b"),
    )
    assert server.requests[-1].parameters == {"StreamArn": "arn:stream", "ExclusiveStartShardId": "b"}


def test_a_record_is_read_with_its_mark(script: Script) -> None:
    table, _ = script(described(), iterator("i"), page(change("1"), change("2", by_service=True)))
    first, second = table.run(StreamRead("shard")).records
    assert (first.event, first.key, first.old, first.new) == ("REMOVE", KEY, KEY, None)
    assert (first.sequence, first.event_id, first.created) == ("1", "event-1", 1700000000.0)
    assert (first.by_service, second.by_service) == (False, True)


def test_reading_goes_on_after_the_last_record(script: Script) -> None:
    table, server = script(described(), iterator("i"), page(change("7")), iterator("j"), page(following=None))
    read = table.run(StreamRead("shard"))
    assert (read.position, read.closed) == ("7", False)
    assert table.run(StreamRead("shard", read.position)).closed
    assert asked(server) == [
        ("GetShardIterator", "TRIM_HORIZON"),
        ("GetRecords", "i"),
        ("GetShardIterator", "7"),
        ("GetRecords", "j"),
    ]


def test_empty_pages_are_walked_by_their_iterators(script: Script) -> None:
    table, server = script(
        described(), iterator("i"), page(following="j"), page(following="k"), page(change("9"), following="l")
    )
    position = "TRIM_HORIZON"
    while not (read := table.run(StreamRead("shard", position))).records:
        position = read.position
    assert read.position == "9"
    assert asked(server)[1:] == [("GetRecords", "i"), ("GetRecords", "j"), ("GetRecords", "k")]


def test_an_expired_iterator_is_replaced_by_the_position_before_it(script: Script) -> None:
    table, server = script(
        described(),
        iterator("i"),
        page(following="j"),
        error("ExpiredIteratorException"),
        iterator("fresh"),
        page(change("9")),
    )
    read = table.run(StreamRead("shard", "5"))
    assert [record.sequence for record in table.run(StreamRead("shard", read.position)).records] == ["9"]
    assert asked(server)[-2:] == [("GetShardIterator", "5"), ("GetRecords", "fresh")]


def test_an_expired_iterator_of_the_latest_position_is_a_gap(script: Script) -> None:
    table, _ = script(described(), iterator("i"), page(following="j"), error("ExpiredIteratorException"))
    read = table.run(StreamRead("shard", "LATEST"))
    with pytest.raises(StreamTrimmed):
        table.run(StreamRead("shard", read.position))


@pytest.mark.parametrize("code", ["TrimmedDataAccessException", "ResourceNotFoundException"])
def test_a_position_that_is_no_longer_kept_is_trimmed(script: Script, code: str) -> None:
    table, _ = script(described(), error(code))
    with pytest.raises(StreamTrimmed):
        table.run(StreamRead("shard", "5"))


def test_a_table_without_a_stream_says_so(script: Script) -> None:
    table, _ = script(Reply({"Table": {"TableName": "orders", "TableStatus": "ACTIVE"}}))
    with pytest.raises(TableNotFound, match="stream"):
        table.run(StreamShards())


def test_reading_the_stream_asks_the_guard(script: Script) -> None:
    table, server = script(described(), iterator("i"), page())
    asked_at: list[float] = []
    table.run(StreamRead("shard"), guard=lambda: asked_at.append(time.monotonic()))
    assert len(asked_at) == len(server.requests) == 3
