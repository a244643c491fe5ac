"""Signatures and bodies of the direct transport against botocore's."""

from __future__ import annotations

import random
import string
from decimal import Decimal
from typing import Any

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials as BotocoreCredentials
from botocore.serialize import create_serializer
from botocore.session import Session

from shardweave.table.dynamodb.transport.calls import OPERATIONS, call_of
from shardweave.table.dynamodb.transport.signing import Credentials, Signer
from shardweave.table.operations import (
    BatchGet,
    BatchWrite,
    DeleteItem,
    GetItem,
    Operation,
    PutItem,
    Query,
    Scan,
    TransactGet,
    TransactWrite,
    UpdateItem,
)

SIGNATURES, BODIES = 10_000, 2_000
KEY_NAMES = ("hashKey", "rangeKey")
REGIONS = ("us-east-1", "eu-central-1", "ap-southeast-2")


def botocore_authorization(
    credentials: Credentials, region: str, host: str, operation: str, body: bytes, moment: str
) -> str:
    """What botocore puts into `Authorization` at a moment."""
    given = BotocoreCredentials(credentials.access_key, credentials.secret_key, credentials.token)
    auth = SigV4Auth(given, "dynamodb", region)
    headers = {
        "Host": host,
        "X-Amz-Target": f"DynamoDB_20120810.{operation}",
        "Content-Type": "application/x-amz-json-1.0",
        "User-Agent": "any",
        "X-Amz-Date": moment,
    }
    if credentials.token:
        headers["X-Amz-Security-Token"] = credentials.token
    request = AWSRequest("POST", f"https://{host}/", headers=headers, data=body)
    request.context["timestamp"] = moment
    signature = auth.signature(auth.string_to_sign(request, auth.canonical_request(request)), request)
    auth._inject_signature_to_request(request, signature)
    return str(request.headers["Authorization"])


def headers_of(head: bytes) -> dict[str, str]:
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST / HTTP/1.1"
    assert lines[-2:] == ["", ""]
    return dict(line.split(": ", 1) for line in lines[1:-2])


def test_a_signature_is_botocores() -> None:
    """A5, A37: for any keys, region, host, day and body; the kept key never outlives its day or its credentials."""
    draw = random.Random(18)

    def text(length: int) -> str:
        return "".join(draw.choices(string.ascii_letters + string.digits + "/+=", k=length))

    signers = [
        (Credentials(text(20), text(40), draw.choice([None, text(300)])), region, host)
        for region in REGIONS
        for host in (f"dynamodb.{region}.amazonaws.com", "127.0.0.1:8000", "[::1]:8000")
    ]
    made = [Signer(*each) for each in signers]
    now = 1_700_000_000.0
    for _ in range(SIGNATURES):
        number = draw.randrange(len(made))
        credentials, region, host = signers[number]
        if draw.random() < 0.01:
            credentials = Credentials(text(20), text(40), draw.choice([None, text(30)]))
            signers[number] = (credentials, region, host)
            made[number].replace(credentials)
        now += draw.choice([0, 0.5, 60, 86_400, -3600])
        operation, body = draw.choice(list(OPERATIONS.values())), draw.randbytes(draw.randrange(300))
        headers = headers_of(made[number].head(operation, body, now))
        moment = headers["X-Amz-Date"]
        expected = botocore_authorization(credentials, region, host, operation, body, moment)
        assert headers["Authorization"] == expected
        assert headers["Content-Length"] == str(len(body))
        assert headers.get("X-Amz-Security-Token") == credentials.token


def native(draw: random.Random, depth: int = 0) -> Any:
    kind = draw.randrange(7 if depth > 2 else 10)
    if kind == 0:
        return draw.choice(["", "é", "😀", 'a"\\\n\x7f', "\u2028", "x" * 50])
    if kind == 1:
        return draw.randrange(-(10**30), 10**30)
    if kind == 2:
        return Decimal(draw.randrange(10**6)) / 1000
    if kind == 3:
        return draw.randbytes(draw.randrange(9))
    if kind in (4, 5):
        return draw.choice([None, True, False])
    if kind == 6:
        return draw.choice([{"a", "é"}, {1, Decimal("2.5")}, {b"\x00", b"\xff"}])
    if kind == 7:
        return [native(draw, depth + 1) for _ in range(draw.randrange(4))]
    return {draw.choice(["a", "é", 'b"']): native(draw, depth + 1) for _ in range(draw.randrange(3))}


def operation_of(draw: random.Random) -> Operation[Any]:
    key = {"hashKey": draw.choice(["h", "é", "😀"]), "rangeKey": "r"}
    item = {**key, "a": native(draw), 'b"': native(draw)}
    return draw.choice(
        [
            GetItem(key, consistent=draw.random() < 0.5, projection=draw.choice([None, ("a", "é")])),
            BatchGet((key,)),
            TransactGet((key,)),
            Query(
                "hashKey", key["hashKey"], "rangeKey", limit=draw.choice([None, 5]), start_key=draw.choice([None, key])
            ),
            Scan(limit=3),
            PutItem(item),
            UpdateItem(key, set={"a": native(draw)}, add={"n": 1}, remove=("é",)),
            DeleteItem(key),
            TransactWrite((PutItem(item),), "token"),
            BatchWrite((item,), (key,)),
        ]
    )


def test_a_body_has_the_bytes_that_botocore_sends() -> None:
    """A8, A41."""
    model = Session().get_service_model("dynamodb")
    serializer = create_serializer("json", include_validation=False)
    draw = random.Random(18)
    for _ in range(BODIES):
        operation = operation_of(draw)
        call = call_of(operation, "orders", KEY_NAMES)
        theirs = serializer.serialize_to_request(operation.request("orders"), model.operation_model(call.operation))
        assert call.body == theirs["body"]


@pytest.mark.parametrize("name", ["a\ud800", "\udc00"])
def test_half_a_character_in_a_name_is_sent_as_botocore_sends_it(name: str) -> None:
    """A41."""
    model = Session().get_service_model("dynamodb")
    operation = GetItem({"hashKey": "h", "rangeKey": "r"}, projection=(name,))
    theirs = create_serializer("json", include_validation=False).serialize_to_request(
        operation.request("orders"), model.operation_model("GetItem")
    )
    assert call_of(operation, "orders", KEY_NAMES).body == theirs["body"]


def test_a_transaction_without_a_token_gets_one_that_stays() -> None:
    """A8."""
    operation = TransactWrite((PutItem({"hashKey": "h", "rangeKey": "r"}),))
    one, other = (call_of(operation, "orders", KEY_NAMES).body for _ in range(2))
    assert b'"ClientRequestToken": "' in one
    assert one != other
