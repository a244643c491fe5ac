"""What the table on DynamoDB does with boto3: attempts, the guard, failures, answers."""

from __future__ import annotations

import os
import subprocess
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
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
    TableError,
    TableNotFound,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
    TransactionConflict,
    TransactionInProgress,
)
from shardweave.errors.outcomes import maybe_written
from shardweave.query.cursor import CursorKeys
from shardweave.service.build import Settings, dynamodb_table
from shardweave.table import Table
from shardweave.table.conditions import Missing
from shardweave.table.dynamodb import DynamoDBTable, create_table
from shardweave.table.operations import BatchGet, BatchWrite, Describe, GetItem, PutItem, TransactGet, TransactWrite
from tests.integration.scripted_server import LAYOUT, Reply, Script, error
from tests.integration.transport_world import until

KEY = {"hashKey": "h", "rangeKey": "r"}
CREATION = PutItem(KEY, Missing("hashKey"))
TYPED_KEY = {"hashKey": {"S": "h"}, "rangeKey": {"S": "r"}}


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
    table.run(CREATION, guard=lambda: asked.append(len(server.requests)))
    assert asked == [0, 1]
    assert len(server.requests) == 2


def test_a_guard_that_raises_on_a_later_attempt_stops_the_call(script: Script) -> None:
    table, server = script(error("InternalServerError", status=500), max_attempts=3)

    def stop_after_the_first() -> None:
        if server.requests:
            raise Stopped

    with pytest.raises(Stopped) as raised:
        table.run(CREATION, guard=stop_after_the_first)
    assert maybe_written(raised.value)
    assert len(server.requests) == 1


def test_what_a_guard_raises_is_never_repeated(script: Script) -> None:
    table, server = script(Reply(), max_attempts=3)
    asked: list[str] = []

    def refuse() -> None:
        asked.append("asked")
        raise ConnectionError("a guard's own failure, however it is named")

    with pytest.raises(ConnectionError):
        table.run(PutItem(KEY), guard=refuse)
    assert asked == ["asked"]
    assert server.requests == []


def test_a_guard_is_asked_after_the_attempt_was_signed(script: Script) -> None:
    table, server = script(Reply())
    seen: list[Any] = []
    table.connection.client.meta.events.register("before-sign.dynamodb", lambda **_: seen.append("signing"))
    table.run(PutItem(KEY), guard=lambda: seen.append("guard"))
    assert seen == ["signing", "guard"]
    assert len(server.requests) == 1


def test_tables_that_share_a_client_ask_a_guard_once(script: Script) -> None:
    first, _ = script(Reply())
    second = DynamoDBTable(LAYOUT, "other", client=first.connection.client)
    asked: list[str] = []
    first.run(PutItem(KEY), guard=lambda: asked.append("first"))
    second.run(PutItem(KEY), guard=lambda: asked.append("second"))
    assert asked == ["first", "second"]


def test_threads_keep_their_connections_when_the_pool_has_one_for_each(script: Script) -> None:
    table, server = script(Reply(), max_pool_connections=6)
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(table.run, [GetItem(KEY)] * 60))
    assert len(server.requests) == 60
    assert server.connections <= 6


def test_a_service_has_a_connection_for_every_read_that_may_run_at_once() -> None:
    settings = Settings(CursorKeys("k", {"k": b"k" * 32}), table_name="orders", region="us-east-1", throttle=77)
    table = dynamodb_table(settings, LAYOUT)
    assert isinstance(table, DynamoDBTable)
    assert table.connection.client.meta.config.max_pool_connections == 77
    table.close()


def test_a_repeated_transaction_keeps_its_token(script: Script) -> None:
    table, server = script(error("InternalServerError", status=500), Reply(), max_attempts=2)
    table.run(TransactWrite((PutItem(KEY),)))
    first, second = (request.parameters["ClientRequestToken"] for request in server.requests)
    assert first == second


def test_a_given_client_stays_open(script: Script) -> None:
    owner, server = script(Reply())
    borrower = DynamoDBTable(LAYOUT, "other", client=owner.connection.client)
    borrower.close()
    owner.run(PutItem(KEY))
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
        table.run(PutItem(KEY))
    assert type(raised.value) is expected


@pytest.mark.parametrize(
    "operation",
    [GetItem(KEY), PutItem(KEY), BatchGet((KEY,)), BatchWrite((KEY,)), TransactGet((KEY,))],
)
def test_a_table_that_does_not_exist_is_named(script: Script, operation: Any) -> None:
    table, _ = script(error("ResourceNotFoundException"))
    with pytest.raises(TableNotFound, match="the table orders, or what the request names in it, does not exist"):
        table.run(operation)


def test_a_failed_condition_carries_the_item(script: Script) -> None:
    table, _ = script(error("ConditionalCheckFailedException", Item={**TYPED_KEY, "n": {"N": "1"}}))
    with pytest.raises(ConditionFailed) as raised:
        table.run(PutItem(KEY, return_on_failure=True))
    assert raised.value.item == {**KEY, "n": 1}


@pytest.mark.parametrize("before", [0, 1])
def test_a_failed_condition_says_whether_an_earlier_attempt_may_have_made_it_false(script: Script, before: int) -> None:
    replies = [error("InternalServerError", status=500)] * before + [error("ConditionalCheckFailedException")]
    table, server = script(*replies, max_attempts=2)
    with pytest.raises(ConditionFailed) as raised:
        table.run(CREATION)
    assert raised.value.maybe_written is (before > 0)
    assert len(server.requests) == before + 1


def test_a_canceled_transaction_carries_its_reasons(script: Script) -> None:
    reasons = [
        {"Code": "None"},
        {"Code": "ConditionalCheckFailed", "Message": "...", "Item": TYPED_KEY},
        {"Code": "TransactionConflict", "Message": "..."},
    ]
    table, _ = script(error("TransactionCanceledException", CancellationReasons=reasons))
    with pytest.raises(TransactionCanceled) as raised:
        table.run(TransactWrite((PutItem(KEY),)))
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
        table.run(PutItem(KEY))
    assert raised.value.reasons == ("TableWriteKeyRangeThroughputExceeded arn:aws:dynamodb:...:table/orders",)


def test_silence_is_an_unavailable_table(script: Script) -> None:
    table, server = script(Reply(silent=True), read_timeout=0.2)
    with pytest.raises(TableUnavailable):
        table.run(PutItem(KEY))
    until(lambda: bool(server.requests))  # It may still be on its way.
    assert len(server.requests) == 1


def test_a_closed_port_is_an_unavailable_table(script: Script) -> None:
    table, server = script(Reply())
    server.close()
    with pytest.raises(TableUnavailable):
        table.run(PutItem(KEY))


def test_missing_credentials_are_denied_access(script: Script, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(tmp_path / "none"))
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    _, server = script(Reply())
    table = DynamoDBTable(LAYOUT, "orders", endpoint_url=server.url, region="us-east-1")
    with pytest.raises(AccessDenied):
        table.run(PutItem(KEY))


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
        table.run(PutItem({**KEY, "a": "secret"}))
    shown = "".join(traceback.format_exception(raised.value))
    assert "secret" not in str(raised.value)
    assert message not in shown


def test_what_dynamodb_names_is_passed_on(script: Script) -> None:
    table, _ = script(
        error("ValidationException", "Type mismatch for Index Key n Expected: N Actual: S IndexName: byN")
    )
    with pytest.raises(InvalidRequest, match="Index Key n Expected: N Actual: S IndexName: byN"):
        table.run(PutItem(KEY))


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
