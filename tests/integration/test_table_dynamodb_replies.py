"""How the table on DynamoDB reads replies over the wire: the same with either parser, never a broken one as good."""

from __future__ import annotations

import base64
import gzip
import json
import zlib
from typing import Any

import boto3
import pytest

from shardweave.errors import ConditionFailed, InvalidRequest, TableError, TableUnavailable, TransactionCanceled
from shardweave.table.conditions import Missing
from shardweave.table.dynamodb import DynamoDBTable
from shardweave.table.operations import GetItem, PutItem, Query, TransactWrite
from tests.integration.scripted_server import LAYOUT, Reply, Script, error

KEY = {"hashKey": "h", "rangeKey": "r"}
CREATION = PutItem(KEY, Missing("hashKey"), return_on_failure=True)
TYPED_KEY = {"hashKey": {"S": "h"}, "rangeKey": {"S": "r"}}
TYPED_ITEM = {**TYPED_KEY, "b": {"B": base64.b64encode(b"\x00\xff").decode()}, "m": {"M": {"n": {"NS": ["1", "2.5"]}}}}
ITEM = {**KEY, "b": b"\x00\xff", "m": {"n": {1, 2.5}}}
PAGE = {"Items": [TYPED_ITEM], "Count": 1, "ScannedCount": 1}
WHOLE = json.dumps(PAGE).encode()

BROKEN = {
    "truncated": Reply(raw=WHOLE[:-1]),
    "cut off": Reply(PAGE, sent=len(WHOLE) // 2),
    "cut off at once": Reply(PAGE, sent=0),
    "empty": Reply(raw=b""),
    "no JSON": Reply(raw=b"<html>please log in</html>"),
    "no object": Reply(raw=b"[]"),
    "another checksum": Reply(PAGE, headers={"x-amz-crc32": str(zlib.crc32(WHOLE) ^ 1)}),
    "compressed": Reply(raw=gzip.compress(WHOLE), headers={"Content-Encoding": "gzip"}),
}

either_parser = pytest.mark.parametrize("stock_parser", [False, True], ids=["ours", "stock"])


@either_parser
def test_a_page_is_read(script: Script, stock_parser: bool) -> None:
    reply = Reply(PAGE, headers={"x-amz-crc32": str(zlib.crc32(WHOLE))})
    table, server = script(reply, stock_parser=stock_parser)
    answer = table.run(Query("hashKey", "h", "rangeKey"))
    assert (answer.items, answer.count, answer.last_key) == ((ITEM,), 1, None)
    assert server.requests[0].headers["Accept-Encoding"] == "identity"


@either_parser
@pytest.mark.parametrize("case", BROKEN)
def test_a_write_with_a_broken_reply_is_never_a_success(script: Script, case: str, stock_parser: bool) -> None:
    table, server = script(BROKEN[case], stock_parser=stock_parser, max_attempts=2)
    with pytest.raises(TableUnavailable) as raised:
        table.run(CREATION)
    assert raised.value.maybe_written
    assert len(server.requests) == 2


@either_parser
@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_reply_is_asked_for_again(script: Script, case: str, stock_parser: bool) -> None:
    table, server = script(BROKEN[case], Reply(PAGE), stock_parser=stock_parser, max_attempts=2)
    assert table.run(Query("hashKey", "h", "rangeKey")).items == (ITEM,)
    assert len(server.requests) == 2


@either_parser
def test_a_condition_that_fails_after_a_broken_reply_may_have_been_made_false_by_it(
    script: Script, stock_parser: bool
) -> None:
    failed = error("ConditionalCheckFailedException", Item=TYPED_ITEM)
    table, _ = script(BROKEN["truncated"], failed, stock_parser=stock_parser, max_attempts=2)
    with pytest.raises(ConditionFailed) as raised:
        table.run(CREATION)
    assert raised.value.maybe_written
    assert raised.value.item == ITEM


@either_parser
def test_each_attempt_after_a_broken_reply_asks_the_guard(script: Script, stock_parser: bool) -> None:
    table, server = script(BROKEN["truncated"], Reply({}), stock_parser=stock_parser, max_attempts=2)
    asked: list[int] = []
    table.run(CREATION, guard=lambda: asked.append(len(server.requests)))
    assert asked == [0, 1]


@either_parser
def test_a_canceled_transaction_carries_its_items(script: Script, stock_parser: bool) -> None:
    reasons = [{"Code": "None"}, {"Code": "ConditionalCheckFailed", "Item": TYPED_ITEM}]
    table, _ = script(error("TransactionCanceledException", CancellationReasons=reasons), stock_parser=stock_parser)
    with pytest.raises(TransactionCanceled) as raised:
        table.run(TransactWrite((PutItem(KEY),)))
    assert [(reason.code, reason.item) for reason in raised.value.reasons] == [
        ("None", None),
        ("ConditionalCheckFailed", ITEM),
    ]


def refused(code: str, **more: Any) -> Reply:
    return Reply({"__type": code, "message": "no"}, 400, **more)


@either_parser
@pytest.mark.parametrize(
    ("reply", "expected", "may_be_written"),
    [
        (refused("com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"), ConditionFailed, False),
        (refused("ConditionalCheckFailedException:http://internal.amazon.com/coral/"), ConditionFailed, False),
        (refused("AccessDeniedException", headers={"x-amz-crc32": "1"}), TableUnavailable, True),
        (refused("RequestTimeoutException"), TableUnavailable, True),
        (Reply({"Message": "no"}, 400), TableError, False),
        (Reply(raw=b"", status=400), TableError, True),
        (Reply(raw=b"[]", status=400), TableError, True),
        (Reply(raw=b"<html>no</html>", status=403), TableError, True),
        (Reply(raw=b"<html>too large</html>", status=413), InvalidRequest, False),
        (Reply(raw=b"<html>there</html>", status=302), TableError, True),
        (Reply({"message": "no"}, 503), TableUnavailable, True),
        (Reply(closed=True), TableUnavailable, True),
        (Reply(raw=b"[]"), TableUnavailable, True),
        (Reply({"Attributes": {"a": {"X": "1"}}}), TableUnavailable, True),
    ],
)
def test_only_a_whole_refusal_says_that_nothing_was_written(
    script: Script, reply: Reply, expected: type[TableError], may_be_written: bool, stock_parser: bool
) -> None:
    table, server = script(reply, stock_parser=stock_parser)
    with pytest.raises(TableError) as raised:
        table.run(CREATION)
    assert (type(raised.value), raised.value.maybe_written) == (expected, may_be_written)
    assert len(server.requests) == 1


@either_parser
def test_a_refusal_that_was_cut_off_leaves_the_write_in_doubt(script: Script, stock_parser: bool) -> None:
    table, _ = script(refused("AccessDeniedException", sent=5), stock_parser=stock_parser)
    with pytest.raises(TableError) as raised:
        table.run(CREATION)
    # botocore gives the status of what it could not read; the direct transport takes no part of a reply.
    assert type(raised.value) is (TableError if table.run_many is None else TableUnavailable)
    assert raised.value.maybe_written


def test_what_reads_never_says_that_something_was_written(script: Script) -> None:
    table, _ = script(Reply(closed=True), Reply({"Item": {"hashKey": {"X": "1"}}}))
    for _ in range(2):
        with pytest.raises(TableUnavailable) as raised:
            table.run(GetItem(KEY))
        assert not raised.value.maybe_written


def test_an_unreadable_error_is_told_by_its_status(script: Script) -> None:
    table, _ = script(Reply(raw=gzip.compress(b"{}"), status=502, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(TableUnavailable, match="502" if table.run_many is None else "encoded"):
        table.run(PutItem(KEY))


def test_a_given_client_keeps_its_own_parser_and_what_is_broken_is_refused(script: Script) -> None:
    _, server = script(Reply(PAGE), Reply(PAGE), BROKEN["truncated"])
    client: Any = boto3.session.Session().client("dynamodb", region_name="us-east-1", endpoint_url=server.url)
    table = DynamoDBTable(LAYOUT, "orders", client=client)
    assert client.query(**Query("hashKey", "h", "rangeKey").request("orders"))["Items"][0]["b"] == {"B": b"\x00\xff"}
    assert table.run(Query("hashKey", "h", "rangeKey")).items == (ITEM,)
    with pytest.raises(TableUnavailable):
        table.run(PutItem(KEY))
    client.close()


def test_an_answer_without_its_parts_is_no_answer(script: Script) -> None:
    table, _ = script(Reply({"Items": []}), Reply({"Item": {"hashKey": {"X": "1"}}}))
    with pytest.raises(TableUnavailable):
        table.run(Query("hashKey", "h", "rangeKey"))
    with pytest.raises(TableUnavailable):
        table.run(GetItem(KEY))
