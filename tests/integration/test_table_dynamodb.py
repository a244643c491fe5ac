"""What the table on DynamoDB does with boto3: attempts, the guard, failures, and the stream's positions."""

from __future__ import annotations

import os
import subprocess
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import shardweave
from shardweave.errors import (
    AccessDenied,
    ConditionFailed,
    ConfigurationError,
    IdempotentParameterMismatch,
    InvalidRequest,
    RecordTooLarge,
    ShardweaveError,
    StreamTrimmed,
    TableError,
    TableNotFound,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
)
from shardweave.table import Table
from shardweave.table.dynamodb import DynamoDBTable, create_table
from shardweave.table.layout import IndexLayout, KeyAttribute, TableLayout
from shardweave.table.operations import (
    BatchGet,
    BatchWrite,
    Describe,
    GetItem,
    Put,
    StreamRead,
    StreamShard,
    StreamShards,
    TransactGet,
    TransactWrite,
)
from tests.integration.scripted_server import Reply, ScriptedServer, error

KEY = {"hashKey": "h", "rangeKey": "r"}
TYPED_KEY = {"hashKey": {"S": "h"}, "rangeKey": {"S": "r"}}
LAYOUT = TableLayout(
    indexes=(IndexLayout("byN", KeyAttribute("hashKey"), KeyAttribute("n", "N")),), ttl_attribute="ttl"
)

Script = Callable[..., tuple[DynamoDBTable, ScriptedServer]]


@pytest.fixture(autouse=True)
def credentials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")


@pytest.fixture
def script() -> Iterator[Script]:
    """Makes a table whose requests are answered by the given replies, at one attempt each unless asked otherwise."""
    made: list[tuple[DynamoDBTable, ScriptedServer]] = []

    def make(*replies: Reply, max_attempts: int = 1, **settings: Any) -> tuple[DynamoDBTable, ScriptedServer]:
        server = ScriptedServer(replies)
        table = DynamoDBTable(
            LAYOUT, "orders", endpoint_url=server.url, region="us-east-1", max_attempts=max_attempts, **settings
        )
        made.append((table, server))
        return table, server

    yield make
    for table, server in made:
        table.close()
        server.close()


# -- what it is -------------------------------------------------------------------------------------------------------


def test_it_is_a_table(script: Script) -> None:
    made, _ = script(Reply())
    table: Table = made
    assert table.layout is LAYOUT


def test_the_table_package_does_not_import_boto3() -> None:
    code = "import sys, shardweave.table; sys.exit(any(name.startswith(('boto3', 'botocore')) for name in sys.modules))"
    library = str(Path(shardweave.__file__).parents[1])
    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": library}, check=False)
    assert done.returncode == 0


def test_a_missing_region_is_a_configuration_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION", raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    with pytest.raises(ConfigurationError):
        DynamoDBTable(LAYOUT, "orders")


def test_an_operation_is_one_signed_request_with_its_parameters(script: Script) -> None:
    table, server = script(Reply({"Item": {**TYPED_KEY, "n": {"N": "1.50"}, "b": {"B": "AP8="}}}))
    answer = table.run(GetItem(KEY, consistent=True))
    assert answer.item == {**KEY, "n": 1.5, "b": b"\x00\xff"}
    (request,) = server.requests
    assert request.operation == "GetItem"
    assert request.parameters == GetItem(KEY, consistent=True).request("orders")
    assert request.headers["Authorization"].startswith("AWS4-HMAC-SHA256")


# -- attempts and the guard -------------------------------------------------------------------------------------------


class Stopped(Exception):
    pass


def test_a_failed_attempt_is_repeated_and_each_attempt_asks_the_guard(script: Script) -> None:
    table, server = script(error("InternalServerError", status=500), Reply(), max_attempts=3)
    asked: list[int] = []
    table.run(Put(KEY), guard=lambda: asked.append(len(server.requests)))
    assert asked == [0, 1]
    assert len(server.requests) == 2


def test_a_guard_that_raises_on_a_later_attempt_stops_the_call(script: Script) -> None:
    table, server = script(error("InternalServerError", status=500), max_attempts=3)

    def stop_after_the_first() -> None:
        if server.requests:
            raise Stopped

    with pytest.raises(Stopped):
        table.run(Put(KEY), guard=stop_after_the_first)
    assert len(server.requests) == 1


def test_what_a_guard_raises_is_never_repeated(script: Script) -> None:
    table, server = script(Reply(), max_attempts=3)
    asked: list[str] = []

    def refuse() -> None:
        asked.append("asked")
        raise ConnectionError("a guard's own failure, however it is named")

    with pytest.raises(ConnectionError):
        table.run(Put(KEY), guard=refuse)
    assert asked == ["asked"]
    assert server.requests == []


def test_a_guard_is_asked_after_the_attempt_was_signed(script: Script) -> None:
    table, server = script(Reply())
    seen: list[Any] = []
    table.connection.client.meta.events.register("before-sign.dynamodb", lambda **_: seen.append("signing"))
    table.run(Put(KEY), guard=lambda: seen.append("guard"))
    assert seen == ["signing", "guard"]
    assert len(server.requests) == 1


def test_tables_that_share_a_client_ask_a_guard_once(script: Script) -> None:
    first, _ = script(Reply())
    second = DynamoDBTable(LAYOUT, "other", client=first.connection.client)
    asked: list[str] = []
    first.run(Put(KEY), guard=lambda: asked.append("first"))
    second.run(Put(KEY), guard=lambda: asked.append("second"))
    assert asked == ["first", "second"]


def test_a_repeated_transaction_keeps_its_token(script: Script) -> None:
    table, server = script(error("InternalServerError", status=500), Reply(), max_attempts=2)
    table.run(TransactWrite((Put(KEY),)))
    first, second = (request.parameters["ClientRequestToken"] for request in server.requests)
    assert first == second


def test_a_given_client_stays_open(script: Script) -> None:
    owner, server = script(Reply())
    borrower = DynamoDBTable(LAYOUT, "other", client=owner.connection.client)
    borrower.close()
    owner.run(Put(KEY))
    assert len(server.requests) == 1


# -- failures ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (error("ConditionalCheckFailedException"), ConditionFailed),
        (error("TransactionConflictException"), TransactionConflict),
        (error("TransactionInProgressException"), TransactionInProgress),
        (error("IdempotentParameterMismatchException"), IdempotentParameterMismatch),
        (error("ProvisionedThroughputExceededException"), Throttled),
        (error("RequestLimitExceeded"), Throttled),
        (error("ThrottlingException"), Throttled),
        (error("ValidationException"), InvalidRequest),
        (error("SerializationException"), InvalidRequest),
        (error("ValidationException", "Item size has exceeded the maximum allowed size"), RecordTooLarge),
        (error("ValidationException", "Item size to update has exceeded the maximum allowed size"), RecordTooLarge),
        (error("AccessDeniedException"), AccessDenied),
        (error("UnrecognizedClientException"), AccessDenied),
        (error("InvalidSignatureException"), AccessDenied),
        (error("ExpiredTokenException"), AccessDenied),
        (error("ResourceNotFoundException"), TableNotFound),
        (error("InternalServerError", status=500), TableUnavailable),
        (error("ServiceUnavailableException", status=503), TableUnavailable),
        (error("SomethingNew", status=500), TableUnavailable),
        (Reply(raw=b"<html>bad gateway</html>", status=502), TableUnavailable),
        (error("SomethingNew"), TableError),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_each_failure_is_an_error_of_ours(script: Script, reply: Reply, expected: type[ShardweaveError]) -> None:
    table, _ = script(reply)
    with pytest.raises(ShardweaveError) as raised:
        table.run(Put(KEY))
    assert type(raised.value) is expected


def test_a_failed_condition_carries_the_item(script: Script) -> None:
    table, _ = script(error("ConditionalCheckFailedException", Item={**TYPED_KEY, "n": {"N": "1"}}))
    with pytest.raises(ConditionFailed) as raised:
        table.run(Put(KEY, return_on_failure=True))
    assert raised.value.item == {**KEY, "n": 1}


def test_a_canceled_transaction_carries_its_reasons(script: Script) -> None:
    reasons = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "...", "Item": TYPED_KEY},
        {"Code": "TransactionConflict", "Message": "..."},
    ]
    table, _ = script(error("TransactionCanceledException", CancellationReasons=reasons))
    with pytest.raises(TransactionCanceled) as raised:
        table.run(TransactWrite((Put(KEY),)))
    assert [(reason.code, reason.item) for reason in raised.value.reasons] == [
        ("None", None),
        ("ConditionalCheckFailed", KEY),
        ("TransactionConflict", None),
    ]


@pytest.mark.parametrize(
    ("code", "field"),
    [("ThrottlingException", "throttlingReasons"), ("ProvisionedThroughputExceededException", "ThrottlingReasons")],
)
def test_throttling_carries_its_reasons_with_the_resource(script: Script, code: str, field: str) -> None:
    reasons = [{"reason": "TableWriteKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:...:table/orders"}]
    table, _ = script(error(code, "Throughput exceeds", **{field: reasons}))
    with pytest.raises(Throttled) as raised:
        table.run(Put(KEY))
    assert raised.value.reasons == ("TableWriteKeyRangeThroughputExceeded arn:aws:dynamodb:...:table/orders",)


def test_silence_is_an_unavailable_table(script: Script) -> None:
    table, server = script(Reply(silent=True), read_timeout=0.2)
    with pytest.raises(TableUnavailable):
        table.run(Put(KEY))
    assert len(server.requests) == 1


def test_a_closed_port_is_an_unavailable_table(script: Script) -> None:
    table, server = script(Reply())
    server.close()
    with pytest.raises(TableUnavailable):
        table.run(Put(KEY))


def test_missing_credentials_are_denied_access(script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    table, _ = script(Reply())
    with pytest.raises(AccessDenied):
        table.run(Put(KEY))


@pytest.mark.parametrize(
    "message",
    [
        "lower bound operand: AttributeValue: {S:secret}, upper bound operand: AttributeValue: {S:se}cret}",
        "Input collection [secret, [secret]] contains duplicates.",
        "Value 'secret 'secret' at 'clientRequestToken' failed",
        'Value "secret" is refused',
        "The parameter cannot be converted to a numeric value: secret",
    ],
)
def test_what_dynamodb_quotes_is_not_passed_on(script: Script, message: str) -> None:
    table, _ = script(error("ValidationException", message))
    with pytest.raises(InvalidRequest) as raised:
        table.run(Put({**KEY, "a": "secret"}))
    shown = "".join(traceback.format_exception(raised.value))
    assert "secret" not in str(raised.value)
    assert message not in shown


def test_what_dynamodb_names_is_passed_on(script: Script) -> None:
    table, _ = script(
        error("ValidationException", "Type mismatch for Index Key n Expected: N Actual: S IndexName: byN")
    )
    with pytest.raises(InvalidRequest, match="Index Key n Expected: N Actual: S IndexName: byN"):
        table.run(Put(KEY))


# -- answers ----------------------------------------------------------------------------------------------------------


def test_what_a_batch_did_not_process_is_answered(script: Script) -> None:
    other = {"hashKey": {"S": "h"}, "rangeKey": {"S": "other"}}
    table, _ = script(
        Reply(
            {
                "Responses": {"orders": [TYPED_KEY]},
                "UnprocessedKeys": {"orders": {"Keys": [other], "ConsistentRead": True}},
                "ConsumedCapacity": [{"TableName": "orders", "CapacityUnits": 1.5}],
            }
        ),
        Reply(
            {"UnprocessedItems": {"orders": [{"PutRequest": {"Item": TYPED_KEY}}, {"DeleteRequest": {"Key": other}}]}}
        ),
    )
    read = table.run(BatchGet((KEY, {"hashKey": "h", "rangeKey": "other"})))
    assert (read.items, read.unprocessed, read.units) == ((KEY,), ({"hashKey": "h", "rangeKey": "other"},), 1.5)
    written = table.run(BatchWrite(puts=(KEY,), deletes=({"hashKey": "h", "rangeKey": "other"},)))
    assert written.unprocessed_puts == (KEY,)
    assert written.unprocessed_deletes == ({"hashKey": "h", "rangeKey": "other"},)
    assert written.units == 0.0


def test_a_transactions_units_are_added_up(script: Script) -> None:
    consumed = [{"TableName": "orders", "CapacityUnits": 2.0}, {"TableName": "orders", "CapacityUnits": 4.0}]
    table, _ = script(Reply({"Responses": [{}, {"Item": TYPED_KEY}], "ConsumedCapacity": consumed}))
    answer = table.run(TransactGet((KEY, KEY)))
    assert answer.items == (None, KEY)
    assert answer.units == 6.0


def described(status: str = "ACTIVE", index_status: str = "ACTIVE") -> Reply:
    return Reply(
        {
            "Table": {
                "TableName": "orders",
                "TableStatus": status,
                "LatestStreamArn": "arn:stream",
                "ItemCount": 5,
                "TableSizeBytes": 500,
                "AttributeDefinitions": [
                    {"AttributeName": "hashKey", "AttributeType": "S"},
                    {"AttributeName": "rangeKey", "AttributeType": "S"},
                    {"AttributeName": "n", "AttributeType": "N"},
                ],
                "GlobalSecondaryIndexes": [
                    {
                        "IndexName": "byN",
                        "IndexStatus": index_status,
                        "KeySchema": [
                            {"AttributeName": "hashKey", "KeyType": "HASH"},
                            {"AttributeName": "n", "KeyType": "RANGE"},
                        ],
                        "Projection": {"ProjectionType": "ALL"},
                    },
                    {
                        "IndexName": "ofOthers",
                        "IndexStatus": "DELETING",
                        "KeySchema": [{"AttributeName": "n", "KeyType": "HASH"}],
                        "Projection": {"ProjectionType": "KEYS_ONLY"},
                    },
                ],
            }
        }
    )


def test_a_description_knows_the_state_of_each_index(script: Script) -> None:
    table, _ = script(described(index_status="CREATING"))
    description = table.run(Describe())
    assert (description.name, description.status) == ("orders", "ACTIVE")
    assert (description.items, description.bytes) == (5, 500)
    assert description.indexes == LAYOUT.indexes
    assert description.index_states == {"byN": "CREATING", "ofOthers": "DELETING"}


def test_creating_a_table_waits_for_it_and_sets_its_ttl(script: Script) -> None:
    without_others = described().body["Table"] | {"GlobalSecondaryIndexes": []}
    table, server = script(Reply(), described("CREATING"), Reply({"Table": without_others}), Reply())
    create_table(table)
    operations = [request.operation for request in server.requests]
    assert operations == ["CreateTable", "DescribeTable", "DescribeTable", "UpdateTimeToLive"]
    assert server.requests[0].parameters == LAYOUT.create_request("orders")
    assert server.requests[-1].parameters["TimeToLiveSpecification"] == {"Enabled": True, "AttributeName": "ttl"}


def test_creating_a_table_does_not_wait_for_ever(script: Script) -> None:
    table, _ = script(Reply(), described("CREATING"))
    with pytest.raises(TableUnavailable):
        create_table(table, timeout=0)


# -- the stream -------------------------------------------------------------------------------------------------------


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
