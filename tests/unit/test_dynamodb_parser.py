"""Replies of DynamoDB give the same answers and errors from both parsers: ours, which takes the JSON as it is, and
botocore's, which walks the service's model. And a broken reply is never a success."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from collections.abc import Mapping
from typing import Any

import botocore.session
import pytest
from botocore.awsrequest import HeadersDict
from botocore.parsers import JSONParser, ResponseParserFactory

from shardweave.table.dynamodb.answers import answer
from shardweave.table.dynamodb.replies import BROKEN, ReplyParser, ReplyParserFactory, refuse_broken
from shardweave.table.dynamodb.trust import readable
from shardweave.table.operations import (
    BatchGet,
    BatchWrite,
    DeleteItem,
    Describe,
    GetItem,
    Operation,
    PutItem,
    Query,
    Scan,
    TransactGet,
    TransactWrite,
    UpdateItem,
)

MODEL = botocore.session.Session().get_service_model("dynamodb")
NAMES = {"get_item": "GetItem", "batch_get_item": "BatchGetItem", "transact_get_items": "TransactGetItems"} | {
    "query": "Query",
    "scan": "Scan",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "transact_write_items": "TransactWriteItems",
    "batch_write_item": "BatchWriteItem",
    "describe_table": "DescribeTable",
}

KEY = {"hashKey": {"S": "user!1"}, "rangeKey": {"S": "userId#1"}}
ITEM = {
    **KEY,
    "empty": {"S": ""},
    "S": {"S": "an attribute that is named like a kind"},
    "text": {"S": 'Gómez "Ð" \U0001f600 \u0000'},
    "whole": {"N": "17"},
    "negative": {"N": "-0.5"},
    "large": {"N": "1.5E+125"},
    "long": {"N": "12345678901234567890123456789012345678"},
    "yes": {"BOOL": True},
    "no": {"BOOL": False},
    "nothing": {"NULL": True},
    "binary": {"B": base64.b64encode(bytes(range(256))).decode()},
    "emptyBinary": {"B": ""},
    "texts": {"SS": ["b", "a"]},
    "numbers": {"NS": ["1", "2.50", "-3"]},
    "binaries": {"BS": ["AA==", "/+8="]},
    "list": {"L": [{"S": "x"}, {"N": "1"}, {"L": []}, {"M": {}}, {"B": "AQ=="}, {"NULL": True}]},
    "map": {"M": {"S": {"S": "x"}, "B": {"M": {"N": {"N": "1"}, "BS": {"BS": ["AQ=="]}}}, "": {"BOOL": False}}},
}
ONE_UNIT = {"TableName": "t", "CapacityUnits": 0.5}
NATIVE_KEY = {"hashKey": "user!1", "rangeKey": "userId#1"}
QUERY = Query("hashKey", "user!1", "rangeKey")

ANSWERS: dict[str, tuple[Operation[Any], Mapping[str, Any]]] = {
    "an item": (GetItem(NATIVE_KEY), {"Item": ITEM, "ConsumedCapacity": ONE_UNIT}),
    "no item": (GetItem(NATIVE_KEY), {"ConsumedCapacity": ONE_UNIT}),
    "nothing but an object": (GetItem(NATIVE_KEY), {}),
    "nulls": (GetItem(NATIVE_KEY), {"Item": None, "ConsumedCapacity": None}),
    "what the model does not know": (GetItem(NATIVE_KEY), {"Item": KEY, "New": {"More": [1]}}),
    "a page": (QUERY, {"Items": [ITEM, KEY, {}], "Count": 3, "ScannedCount": 5, "LastEvaluatedKey": KEY}),
    "the last page": (QUERY, {"Items": [KEY], "Count": 1, "ScannedCount": 1, "ConsumedCapacity": ONE_UNIT}),
    "an empty page with more": (QUERY, {"Items": [], "Count": 0, "ScannedCount": 9, "LastEvaluatedKey": KEY}),
    "an empty page": (QUERY, {"Items": [], "Count": 0, "ScannedCount": 0}),
    "a count": (QUERY, {"Count": 7, "ScannedCount": 9}),
    "a page with nulls": (QUERY, {"Items": [KEY], "Count": 1, "ScannedCount": 1, "LastEvaluatedKey": None}),
    "a scan": (Scan(), {"Items": [ITEM], "Count": 1, "ScannedCount": 1}),
    "a batch": (
        BatchGet((NATIVE_KEY,)),
        {
            "Responses": {"t": [ITEM]},
            "UnprocessedKeys": {"t": {"Keys": [{**KEY, "b": {"B": "AQ=="}}], "ConsistentRead": True}},
            "ConsumedCapacity": [ONE_UNIT],
        },
    ),
    "a whole batch": (BatchGet((NATIVE_KEY,)), {"Responses": {"t": []}, "UnprocessedKeys": {}}),
    "a snapshot": (TransactGet((NATIVE_KEY,)), {"Responses": [{"Item": ITEM}, {}], "ConsumedCapacity": [ONE_UNIT]}),
    "a put": (PutItem(NATIVE_KEY), {"ConsumedCapacity": ONE_UNIT}),
    "what a put replaced": (PutItem(NATIVE_KEY), {"Attributes": ITEM}),
    "what an update made": (UpdateItem(NATIVE_KEY), {"Attributes": {"n": {"N": "3"}}, "ConsumedCapacity": ONE_UNIT}),
    "what a delete removed": (DeleteItem(NATIVE_KEY), {"Attributes": ITEM, "ItemCollectionMetrics": {}}),
    "a transaction": (TransactWrite((PutItem(NATIVE_KEY),)), {"ConsumedCapacity": [ONE_UNIT, ONE_UNIT]}),
    "unprocessed writes": (
        BatchWrite((NATIVE_KEY,)),
        {"UnprocessedItems": {"t": [{"PutRequest": {"Item": ITEM}}, {"DeleteRequest": {"Key": KEY}}]}},
    ),
    "a whole batch of writes": (BatchWrite((NATIVE_KEY,)), {"UnprocessedItems": {}, "ConsumedCapacity": [ONE_UNIT]}),
    "a description": (
        Describe(),
        {
            "Table": {
                "TableName": "t",
                "TableStatus": "ACTIVE",
                "CreationDateTime": 1726880933.5,
                "ItemCount": 3,
                "AttributeDefinitions": [{"AttributeName": "hashKey", "AttributeType": "S"}],
                "KeySchema": [{"AttributeName": "hashKey", "KeyType": "HASH"}],
            }
        },
    ),
}


def response(body: Any, status: int = 200, **headers: str) -> dict[str, Any]:
    """What botocore gives a parser; `body` is bytes, or becomes JSON."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    given = {"x-amzn-RequestId": "ABC", "Content-Type": "application/x-amz-json-1.0", **headers}
    return {"status_code": status, "headers": HeadersDict(given), "body": content, "context": {"operation_name": "Any"}}


def summed(body: Any, status: int = 200) -> dict[str, Any]:
    """The same with DynamoDB's checksum."""
    plain = response(body, status)
    return response(body, status, **{"x-amz-crc32": str(zlib.crc32(plain["body"]))})


def shape_of(operation: Operation[Any]) -> Any:
    return MODEL.operation_model(NAMES[operation.method]).output_shape


# -- answers ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ANSWERS)
@pytest.mark.parametrize("make", [response, summed])
def test_an_answer_is_the_same_from_both_parsers(case: str, make: Any) -> None:
    operation, body = ANSWERS[case]
    reply = make(body)
    ours, stock = (parser.parse(reply, shape_of(operation)) for parser in (ReplyParser(), JSONParser()))
    assert answer(operation, ours, "t") == answer(operation, stock, "t")
    assert ours["ResponseMetadata"] == stock["ResponseMetadata"]


def test_an_answer_has_each_kind_of_value() -> None:
    operation, body = ANSWERS["an item"]
    item = answer(operation, ReplyParser().parse(response(body), shape_of(operation)), "t").item
    assert item["binary"] == bytes(range(256))
    assert item["binaries"] == {b"\x00", b"\xff\xef"}
    assert item["numbers"] == {1, 2.5, -3}
    assert item["map"] == {"S": "x", "B": {"N": 1, "BS": {b"\x01"}}, "": False}
    assert item["list"] == ["x", 1, [], {}, b"\x01", None]
    assert [type(item[name]).__name__ for name in ("whole", "negative", "large", "yes")] == [
        "int",
        "Decimal",
        "int",
        "bool",
    ]


def test_a_reply_without_a_request_id_has_none_in_either() -> None:
    reply = {**response({"Count": 0, "ScannedCount": 0}), "headers": {}}
    ours, stock = (parser.parse(reply, shape_of(QUERY)) for parser in (ReplyParser(), JSONParser()))
    assert ours == stock


def test_an_operation_on_the_table_is_parsed_by_botocore() -> None:
    operation, body = ANSWERS["a description"]
    ours, stock = (parser.parse(response(body), shape_of(operation)) for parser in (ReplyParser(), JSONParser()))
    assert ours == stock


# -- errors -----------------------------------------------------------------------------------------------------------

PREFIX = "com.amazonaws.dynamodb.v20120810#"
REASONS = [
    {"Code": "None"},
    {"Code": "ConditionalCheckFailed", "Message": "The conditional request failed", "Item": ITEM},
    {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"},
    {"Code": "ThrottlingError", "Message": "..."},
]
THROTTLING = [{"reason": "TableReadKeyRangeThroughputExceeded", "resource": "arn:aws:dynamodb:...:table/t"}]

ERRORS: dict[str, dict[str, Any]] = {
    "plain": response({"__type": f"{PREFIX}ValidationException", "message": "wrong"}, 400),
    "capital message": response({"__type": f"{PREFIX}TransactionInProgressException", "Message": "wait"}, 400),
    "short type": response({"__type": "ResourceNotFoundException:extra", "message": "none"}, 400),
    "no message": response({"__type": f"{PREFIX}InternalServerError"}, 500),
    "no type": response({"message": "what"}, 400),
    "failed condition": response({"__type": f"{PREFIX}ConditionalCheckFailedException", "message": "no"}, 400),
    "failed condition with item": response(
        {"__type": f"{PREFIX}ConditionalCheckFailedException", "message": "no", "Item": ITEM}, 400
    ),
    "canceled": summed(
        {"__type": f"{PREFIX}TransactionCanceledException", "Message": "no", "CancellationReasons": REASONS}, 400
    ),
    "throttled": response(
        {"__type": f"{PREFIX}ProvisionedThroughputExceededException", "message": "", "ThrottlingReasons": THROTTLING},
        400,
    ),
    "throttled, as spelled elsewhere": response(
        {"__type": f"{PREFIX}ThrottlingException", "message": "slow", "throttlingReasons": THROTTLING}, 400
    ),
    "unknown code": response({"__type": f"{PREFIX}SomethingNew", "message": "new"}, 400),
    "no body": response(b"", 500),
    "no body, refused": response(b"", 403),
    "a page of a proxy": response(b"<html><body>Bad gateway</body></html>", 502),
    "text of a proxy": response(b"upstream timed out", 504),
    "text of a proxy, refused": response(b"forbidden", 403),
    "truncated": response(b'{"__type":"com.amazonaws.dynam', 500),
    "redirect": response(b"", 301),
    "query error": response({"__type": f"{PREFIX}A"}, 400, **{"x-amzn-query-error": "Old.Code;Sender"}),
}


def both_errors(reply: Mapping[str, Any]) -> list[Any]:
    """As botocore parses an error: what every error has, then what the model says of this one."""
    parsed = []
    for parser in (ReplyParser(), JSONParser()):
        found = parser.parse(reply, shape_of(QUERY))
        shape = MODEL.shape_for_error_code(found["Error"]["Code"])
        modeled = parser.parse(reply, shape) if shape is not None else {}
        parsed.append(found | modeled)
    return parsed


@pytest.mark.parametrize("case", ERRORS)
def test_an_error_is_the_same_from_both_parsers(case: str) -> None:
    ours, stock = both_errors(ERRORS[case])
    assert ours == stock


@pytest.mark.parametrize(
    "content",
    [gzip.compress(b"{}"), b"\xff\xfe", b"[]", b'"text"', b"null"],
    ids=["gzip", "no text", "[]", '""', "null"],
)
@pytest.mark.parametrize(("status", "code"), [(400, "400"), (502, "502")])
def test_an_error_that_botocores_parser_fails_on_is_told_by_its_status(content: bytes, status: int, code: str) -> None:
    with pytest.raises((AttributeError, ValueError)):
        JSONParser().parse(response(content, status), shape_of(QUERY))
    parsed = ReplyParser().parse(response(content, status), shape_of(QUERY))
    assert parsed["Error"]["Code"] == code
    assert parsed["ResponseMetadata"]["HTTPStatusCode"] == status


# -- broken replies ---------------------------------------------------------------------------------------------------

WHOLE = json.dumps({"Items": [ITEM], "Count": 1, "ScannedCount": 1}).encode()
BROKEN_REPLIES = {
    "empty": response(b""),
    "truncated": response(WHOLE[:-1]),
    "cut in half": response(WHOLE[: len(WHOLE) // 2]),
    "page of a proxy": response(b"<html>please log in</html>"),
    "no object": response(b"[]"),
    "null": response(b"null"),
    "no text": response(b'{"\xff":1}'),
    "half a surrogate": response(b'{"\xed\xa0\x80":1}'),
    "compressed without being asked": response(gzip.compress(WHOLE)),
    "nested without end": response(b"[" * 100_000),
    "another checksum": response(WHOLE, **{"x-amz-crc32": str(zlib.crc32(WHOLE) ^ 1)}),
    "no checksum of any body": response(WHOLE, **{"x-amz-crc32": "none"}),
    "one bit of another": response(WHOLE.replace(b"userId#1", b"userId#3"), **{"x-amz-crc32": str(zlib.crc32(WHOLE))}),
}


@pytest.mark.parametrize("case", BROKEN_REPLIES)
@pytest.mark.parametrize("operation", [QUERY, PutItem(NATIVE_KEY), Describe()], ids=lambda each: each.method)
def test_a_broken_reply_is_an_error(case: str, operation: Operation[Any]) -> None:
    parsed = ReplyParser().parse(BROKEN_REPLIES[case], shape_of(operation))
    assert parsed.keys() == {"Error", "ResponseMetadata"}
    assert parsed["Error"] == BROKEN


@pytest.mark.parametrize("case", BROKEN_REPLIES)
def test_botocores_parser_is_kept_from_a_broken_reply(case: str) -> None:
    reply = dict(BROKEN_REPLIES[case])
    customized: dict[str, Any] = {}
    refuse_broken(response_dict=reply, customized_response_dict=customized)
    assert customized["Error"] == BROKEN
    assert JSONParser().parse(reply, shape_of(PutItem(NATIVE_KEY))).keys() == {"ResponseMetadata"}


def test_a_whole_reply_is_left_alone() -> None:
    reply, customized = summed(WHOLE), dict[str, Any]()
    refuse_broken(response_dict=reply, customized_response_dict=customized)
    assert (reply, customized) == (summed(WHOLE), {})
    assert readable(reply) == json.loads(WHOLE)


def test_every_way_to_cut_a_reply_breaks_it() -> None:
    assert all(readable(response(WHOLE[:length])) is None for length in range(len(WHOLE)))


# -- other protocols --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("protocol", ["rest-json", "query", "rest-xml", "ec2"])
def test_other_protocols_are_parsed_by_botocore(protocol: str) -> None:
    ours, stock = (factory.create_parser(protocol) for factory in (ReplyParserFactory(), ResponseParserFactory()))
    assert type(ours) is type(stock)
