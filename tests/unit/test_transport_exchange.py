"""One call of the direct transport and its attempts, without a connection: bytes in, what to do next out."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from shardweave.errors import (
    AccessDenied,
    ConditionFailed,
    InvalidRequest,
    ShardweaveError,
    TableError,
    TableNotFound,
    TableUnavailable,
    Throttled,
    TransactionCanceled,
)
from shardweave.errors.outcomes import maybe_written
from shardweave.table.conditions import Missing
from shardweave.table.dynamodb.error_replies import error_of, parsed_error
from shardweave.table.dynamodb.replies import ReplyParser as BotocoreParser
from shardweave.table.dynamodb.transport.calls import call_of
from shardweave.table.dynamodb.transport.exchange import Exchange, Step
from shardweave.table.dynamodb.transport.quota import RetryQuota
from shardweave.table.dynamodb.transport.retries import StandardRetries
from shardweave.table.dynamodb.transport.signing import Credentials, Signer
from shardweave.table.operations import (
    BatchGet,
    BatchWrite,
    GetItem,
    Operation,
    PutItem,
    Query,
    TransactGet,
    TransactWrite,
)

KEY = {"hashKey": "h", "rangeKey": "r"}
OTHER = {"hashKey": "h", "rangeKey": "other"}
TYPED = {"hashKey": {"S": "h"}, "rangeKey": {"S": "r"}}
TYPED_OTHER = {"hashKey": {"S": "h"}, "rangeKey": {"S": "other"}}
CREATION = PutItem(KEY, Missing("hashKey"), return_on_failure=True)
PUT = PutItem(KEY)
READ = GetItem(KEY)
NOW = 1_700_000_000.0


def exchange_of(
    operation: Operation[Any],
    *,
    attempts: int = 3,
    guard: Callable[[], None] | None = None,
    needs_checksum: bool = False,
) -> Exchange[Any]:
    signer = Signer(Credentials("key", "secret"), "us-east-1", "localhost")
    call = call_of(operation, "orders", ("hashKey", "rangeKey"), guard)
    return Exchange(call, signer, StandardRetries(RetryQuota(), attempts, lambda: 1.0), needs_checksum=needs_checksum)


def reply(body: Any = None, status: int = 200, raw: bytes | None = None, **headers: str) -> bytes:
    content = json.dumps({} if body is None else body).encode() if raw is None else raw
    lines = [f"HTTP/1.1 {status} x", f"Content-Length: {len(content)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode() + content


def refused(code: str, status: int = 400, **fields: Any) -> bytes:
    return reply({"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "no", **fields}, status)


def begin(exchange: Exchange[Any]) -> bytes:
    request = exchange.begin(NOW)
    exchange.sent(len(request))
    return request


def ended(exchange: Exchange[Any], *replies: bytes) -> Step:
    """The last step after these replies to as many attempts."""
    for each in replies:
        begin(exchange)
        step = exchange.receive(each)
    return step


# -- attempts ---------------------------------------------------------------------------------------------------------


def test_an_answer_ends_the_call_and_the_connection_is_kept() -> None:
    exchange = exchange_of(READ)
    assert ended(exchange, reply({"Item": TYPED})) is Step.DONE
    assert exchange.answer is not None
    assert exchange.answer.item == KEY
    assert exchange.error is None
    assert exchange.keeps_connection


def test_each_attempt_is_signed_anew_has_the_same_body_and_asks_the_guard_after_that() -> None:
    """A3, A4, A8."""
    asked: list[str] = []
    exchange = exchange_of(TransactWrite((PUT,)), guard=lambda: asked.append("asked"))
    first = exchange.begin(NOW)
    assert exchange.lost("gone") is Step.PAUSE
    second = exchange.begin(NOW + 1)
    assert asked == ["asked", "asked"]
    (one, body), (other, same) = (request.split(b"\r\n\r\n", 1) for request in (first, second))
    assert body == same
    assert b"ClientRequestToken" in body
    assert one != other


def test_a_guard_that_raises_leaves_nothing_to_send() -> None:
    """A4."""

    def refuse() -> None:
        raise ConnectionError("of the guard")

    exchange = exchange_of(PUT, guard=refuse)
    with pytest.raises(ConnectionError, match="of the guard"):
        exchange.begin(NOW)
    assert not exchange.call.attempts.maybe_written
    assert exchange.number == 0


def test_an_attempt_without_a_connection_counts_and_asks_no_guard() -> None:
    """A1."""
    asked: list[str] = []
    exchange = exchange_of(CREATION, attempts=2, guard=lambda: asked.append("asked"))
    assert exchange.unconnected("refused") is Step.PAUSE
    assert exchange.unconnected("refused") is Step.DONE
    assert asked == []
    assert isinstance(exchange.error, TableUnavailable)
    assert not maybe_written(exchange.error)


@pytest.mark.parametrize(("in_doubt", "expected"), [(False, False), (True, True)])
def test_what_did_not_leave_as_a_whole_was_not_carried_out(in_doubt: bool, expected: bool) -> None:
    """A1: unless TLS can't say how much left."""
    exchange = exchange_of(PUT)
    request = exchange.begin(NOW)
    exchange.sent(len(request) - 1)
    if in_doubt:
        exchange.half_sent()
    assert exchange.lost("gone") is (Step.DONE if expected else Step.PAUSE)
    assert exchange.error is not None
    assert maybe_written(exchange.error) is expected


def test_a_reply_that_comes_before_the_request_is_sent_closes_the_connection() -> None:
    """A6: a refusal counts, an answer does not."""
    exchange = exchange_of(PUT)
    exchange.begin(NOW)
    assert exchange.receive(reply(raw=b"<html>too large</html>", status=413)) is Step.DONE
    assert isinstance(exchange.error, InvalidRequest)
    assert not exchange.keeps_connection
    exchange = exchange_of(CREATION)
    exchange.begin(NOW)
    assert exchange.receive(reply({})) is Step.PAUSE
    assert not exchange.keeps_connection


@pytest.mark.parametrize("behind", [b"H", reply({"Item": TYPED})])
def test_more_than_one_reply_is_none(behind: bytes) -> None:
    """A11."""
    exchange = exchange_of(READ)
    assert ended(exchange, reply({"Item": TYPED}) + behind) is Step.PAUSE
    assert not exchange.keeps_connection
    assert exchange.answer is None


# -- what a write says ------------------------------------------------------------------------------------------------

UNCLEAR: Mapping[str, bytes] = {
    "500": refused("InternalServerError", 500),
    "503": refused("ServiceUnavailableException", 503),
    "a wrong checksum": reply({}, x_amz_crc32="1"),
    "a checksum that is no number": reply({}, x_amz_crc32="+0"),
    "a refusal with a wrong checksum": reply({"__type": "ConditionalCheckFailedException"}, 400, x_amz_crc32="1"),
    "a proxy's page": reply(raw=b"<html>", status=502),
    "no object": reply([]),
    "an empty body": reply(raw=b""),
    "another form": reply({"Attributes": {"a": {"X": "1"}}}),
    "another item": reply({"Attributes": TYPED_OTHER}),
    "no reply": b"",
}
ENDS: Mapping[str, bytes] = {
    "throttled": refused("ThrottlingException"),
    "in conflict": refused("TransactionConflictException"),
    "denied": refused("AccessDeniedException"),
    "expired": refused("ExpiredTokenException"),
    "skewed": refused("RequestTimeTooSkewed"),
    "a condition": refused("ConditionalCheckFailedException"),
    "not valid": refused("ValidationException"),
    "too large": reply(raw=b"<html>", status=413),
}


def lose(exchange: Exchange[Any], case: str) -> Step:
    begin(exchange)
    return exchange.receive(UNCLEAR[case]) if UNCLEAR[case] else exchange.ended()


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("case", [case for case in UNCLEAR if not case.startswith("another")])
def test_what_ends_a_write_after_a_lost_answer_says_that_it_may_be_written(case: str, end: str) -> None:
    """A1, A9."""
    exchange = exchange_of(CREATION, attempts=2)
    assert lose(exchange, case) is Step.PAUSE
    assert ended(exchange, ENDS[end]) is Step.DONE
    assert exchange.error is not None
    assert maybe_written(exchange.error)


@pytest.mark.parametrize("end", ENDS)
def test_a_refusal_says_that_nothing_is_written(end: str) -> None:
    """A1."""
    exchange = exchange_of(CREATION, attempts=1)
    assert ended(exchange, ENDS[end]) is Step.DONE
    assert exchange.error is not None
    assert not maybe_written(exchange.error)


@pytest.mark.parametrize("operation", [PUT, BatchWrite((KEY,))])
@pytest.mark.parametrize("case", UNCLEAR)
def test_a_write_without_a_condition_is_not_sent_again(case: str, operation: Operation[Any]) -> None:
    """A1, A9."""
    if case == "another item" and operation is not PUT:
        return
    exchange = exchange_of(operation)
    if case in ("another form", "another item") and operation is not PUT:
        return
    assert lose(exchange, case) is Step.DONE
    assert isinstance(exchange.error, TableError)
    assert maybe_written(exchange.error)


def test_what_a_guard_raises_after_a_lost_answer_leaves_the_write_in_doubt() -> None:
    """A1, A4."""
    stopped = False

    def guard() -> None:
        if stopped:
            raise TimeoutError

    exchange = exchange_of(CREATION, guard=guard)
    assert lose(exchange, "500") is Step.PAUSE
    stopped = True
    with pytest.raises(TimeoutError):
        exchange.begin(NOW)
    assert exchange.call.attempts.maybe_written


# -- errors -----------------------------------------------------------------------------------------------------------


def test_no_clock_is_corrected() -> None:
    """A5."""
    exchange = exchange_of(PUT)
    begin(exchange)
    skewed = reply({"__type": "RequestTimeTooSkewed"}, 400, Date="Tue, 14 Nov 2023 22:00:00 GMT")
    assert exchange.receive(skewed) is Step.DONE
    other = exchange_of(PUT)
    assert begin(exchange) == begin(other)


@pytest.mark.parametrize("code", ["ExpiredTokenException", "InvalidSignatureException", "AccessDeniedException"])
def test_refused_credentials_end_the_call_at_once(code: str) -> None:
    """A37."""
    exchange = exchange_of(PUT)
    assert ended(exchange, refused(code)) is Step.DONE
    assert isinstance(exchange.error, AccessDenied)


@pytest.mark.parametrize("status", [301, 302, 307, 308, 501, 505])
def test_what_says_go_elsewhere_or_never_is_asked_once(status: int) -> None:
    """A20."""
    exchange = exchange_of(READ)
    assert ended(exchange, reply(raw=b"", status=status, Location="http://elsewhere")) is Step.DONE
    assert isinstance(exchange.error, TableError)


def test_another_success_is_a_success() -> None:
    """A20."""
    exchange = exchange_of(PUT)
    assert ended(exchange, reply({}, 202)) is Step.DONE
    assert exchange.error is None


BINARY = {**TYPED, "b": {"B": base64.b64encode(b"\x00\xff").decode()}}


def test_binary_in_the_items_of_errors_is_bytes() -> None:
    """A18."""
    failed = exchange_of(CREATION)
    ended(failed, refused("ConditionalCheckFailedException", Item=BINARY))
    assert isinstance(failed.error, ConditionFailed)
    assert failed.error.item == {**KEY, "b": b"\x00\xff"}
    canceled = exchange_of(TransactWrite((PUT,), "token"))
    reasons = [{"Code": "ConditionalCheckFailed", "Item": BINARY}]
    ended(canceled, refused("TransactionCanceledException", CancellationReasons=reasons))
    assert isinstance(canceled.error, TransactionCanceled)
    assert canceled.error.reasons[0].item == {**KEY, "b": b"\x00\xff"}


@pytest.mark.parametrize("item", [{"a": {"X": 1}}, {"a": 1}, [1], {"a": {"N": "x"}}, {"a": {"B": "a"}}])
def test_an_error_of_another_form_is_an_unavailable_table(item: Any) -> None:
    """A18."""
    exchange = exchange_of(CREATION, attempts=1)
    ended(exchange, refused("ConditionalCheckFailedException", Item=item))
    assert isinstance(exchange.error, TableUnavailable)


@pytest.mark.parametrize("field", ["throttlingReasons", "ThrottlingReasons"])
def test_throttling_carries_its_reasons(field: str) -> None:
    """A19."""
    exchange = exchange_of(READ, attempts=1)
    ended(exchange, refused("ThrottlingException", **{field: [{"reason": "KeyRange", "resource": "arn"}]}))
    assert isinstance(exchange.error, Throttled)
    assert exchange.error.reasons == ("KeyRange arn",)


@pytest.mark.parametrize("status", [400, 404, 413, 429, 500, 503])
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"<html>no</html>",
        b"[]",
        b"null",
        b'"text"',
        b"{}",
        b"{",
        b"\xff\xfe",
        b'{"__type": "ns#Code", "message": "m"}',
        b'{"__type": "Code:http://internal.amazon.com/coral/", "Message": "m"}',
        b'{"__type": "a#b#Code:more#x"}',
        b'{"__type": "#Code"}',
        b'{"__type": ""}',
        b'{"__type": null}',
        b'{"message": "m", "Message": "n"}',
        b'{"message": null}',
        b'{"code": "Other"}',
    ],
)
def test_the_code_and_message_of_an_error_are_those_that_botocore_finds(body: bytes, status: int) -> None:
    """A19."""
    response = {"status_code": status, "headers": {}, "body": body}
    theirs = BotocoreParser().parse(response, None)["Error"]
    try:
        loaded = json.loads(body.decode())
    except ValueError:
        loaded = None
    ours = parsed_error(status, loaded if isinstance(loaded, dict) else None)["Error"]
    assert ours["Code"] == theirs["Code"]
    if isinstance(loaded, dict):
        assert ours["Message"] == theirs["Message"]


@pytest.mark.parametrize("code", [5, {"a": 1}, ["a"], True])
def test_a_code_that_is_no_text_is_none(code: Any) -> None:
    """A19."""
    assert parsed_error(400, {"__type": code, "message": "m"})["Error"] == {"Code": "400", "Message": ""}


# -- answers ----------------------------------------------------------------------------------------------------------

PAGE = {"Items": [TYPED], "Count": 1, "ScannedCount": 1}
MISFITS: Mapping[str, tuple[Operation[Any], Any]] = {
    "another item": (READ, {"Item": TYPED_OTHER}),
    "an item without its own key": (READ, {"Item": {**TYPED, "rangeKey": {"N": "1"}}}),
    "an item of another batch": (BatchGet((KEY,)), {"Responses": {"orders": [TYPED_OTHER]}}),
    "more items than the batch": (BatchGet((KEY,)), {"Responses": {"orders": [TYPED, TYPED]}}),
    "keys of another batch left": (BatchGet((KEY,)), {"UnprocessedKeys": {"orders": {"Keys": [TYPED_OTHER]}}}),
    "items in another order": (TransactGet((KEY, OTHER)), {"Responses": [{"Item": TYPED_OTHER}, {"Item": TYPED}]}),
    "fewer items": (TransactGet((KEY, OTHER)), {"Responses": [{"Item": TYPED}]}),
    "a page of another hash key": (Query("hashKey", "x", "rangeKey"), PAGE),
    "a page of another index": (Query("otherKey", "h", "rangeKey"), {**PAGE, "LastEvaluatedKey": TYPED}),
}


@pytest.mark.parametrize("case", MISFITS)
def test_an_answer_to_another_request_is_none(case: str) -> None:
    """A15."""
    operation, body = MISFITS[case]
    exchange = exchange_of(operation)
    assert ended(exchange, reply(body)) is Step.PAUSE
    assert not exchange.keeps_connection
    assert exchange.answer is None


@pytest.mark.parametrize(
    ("operation", "body"),
    [
        (READ, {}),
        (GetItem(KEY, projection=("a",)), {"Item": {"a": {"S": "x"}}}),
        (BatchGet((KEY, OTHER)), {"Responses": {"orders": [TYPED_OTHER]}}),
        (TransactGet((KEY, OTHER)), {"Responses": [{"Item": TYPED}, {}]}),
        (Query("hashKey", "h", "rangeKey"), {**PAGE, "LastEvaluatedKey": TYPED}),
        (Query("otherKey", "h", "rangeKey"), PAGE),
    ],
)
def test_what_does_not_show_its_key_is_taken(operation: Operation[Any], body: Any) -> None:
    """A15: a projection may leave the key out."""
    exchange = exchange_of(operation)
    assert ended(exchange, reply(body)) is Step.DONE
    assert exchange.error is None


@pytest.mark.parametrize("needs_checksum", [True, False])
def test_the_service_itself_always_sends_a_checksum(needs_checksum: bool) -> None:
    """A16."""
    content = json.dumps({"Item": TYPED}).encode()
    exchange = exchange_of(READ, attempts=1, needs_checksum=needs_checksum)
    ended(exchange, reply(raw=content))
    assert isinstance(exchange.error, ShardweaveError) is needs_checksum
    with_checksum = exchange_of(READ, attempts=1, needs_checksum=needs_checksum)
    ended(with_checksum, reply(raw=content, x_amz_crc32=str(zlib.crc32(content))))
    assert with_checksum.error is None


@pytest.mark.parametrize("checksum", ["0x1", " 1 2", "+1", "1.0", "-1", "١"])
def test_a_checksum_is_plain_digits(checksum: str) -> None:
    """A16."""
    exchange = exchange_of(READ, attempts=1)
    begin(exchange)
    head = f"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nx-amz-crc32: {checksum}\r\n\r\n"
    exchange.receive(head.encode() + b"{}")
    assert isinstance(exchange.error, TableUnavailable)


@pytest.mark.parametrize(("asked_for", "expected"), [("2000", 2.0), ("60000", 5.025), ("x", 0.025), ("-5", 0.025)])
def test_a_server_may_ask_for_a_longer_pause(asked_for: str, expected: float) -> None:
    """A31."""
    exchange = exchange_of(READ)
    begin(exchange)
    exchange.receive(reply({"__type": "InternalServerError"}, 500, x_amz_retry_after=asked_for))
    assert exchange.pause == pytest.approx(expected)


@pytest.mark.parametrize("status", [307, 400, 404])
@pytest.mark.parametrize("message", ["", "<html>the page of a proxy</html>"])
def test_an_answer_that_is_not_dynamodb_s_is_said_to_be_none(status: int, message: str) -> None:
    """botocore takes a page for a message."""
    error = error_of({**parsed_error(status, None), "Error": {"Code": str(status), "Message": message}}, "get_item")
    assert str(error).startswith(f"get_item: the answer has status {status} and is not DynamoDB's. Fix: check the")
    unknown = error_of(parsed_error(status, {"__type": "x#NewException", "message": message}), "get_item")
    assert str(unknown) == "get_item: DynamoDB refused the request with NewException" + (f": {message}" * bool(message))


@pytest.mark.parametrize("operation", [READ, PUT, BatchGet((KEY,)), TransactWrite((PUT,))], ids=repr)
def test_a_table_that_does_not_exist_is_named(operation: Operation[Any]) -> None:
    exchange = exchange_of(operation)
    assert ended(exchange, refused("ResourceNotFoundException")) is Step.DONE
    assert isinstance(exchange.error, TableNotFound)
    assert "the table orders, or what the request names in it, does not exist" in str(exchange.error)
