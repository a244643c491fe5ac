"""Changes as Lambda tells of them."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shardweave.errors import MalformedRequest
from shardweave.table.lambda_stream import decode_change, encode_change
from shardweave.table.stream_operations import StreamRecord

TOLD = {
    "eventID": "e1",
    "eventName": "MODIFY",
    "eventVersion": "1.1",
    "eventSource": "aws:dynamodb",
    "awsRegion": "eu-west-1",
    "dynamodb": {
        "ApproximateCreationDateTime": 1795832888.0,
        "Keys": {"hashKey": {"S": "user!1"}, "rangeKey": {"S": "userId#a"}},
        "OldImage": {"hashKey": {"S": "user!1"}, "rangeKey": {"S": "userId#a"}, "age": {"N": "41"}},
        "NewImage": {
            "hashKey": {"S": "user!1"},
            "rangeKey": {"S": "userId#a"},
            "age": {"N": "42"},
            "price": {"N": "1.50"},
            "picture": {"B": "AAH/"},
            "parts": {"L": [{"M": {"raw": {"B": "/w=="}}}, {"NULL": True}]},
            "hashes": {"BS": ["AA==", "AQ=="]},
        },
        "SequenceNumber": "100000000003498069978",
        "SizeBytes": 100,
        "StreamViewType": "NEW_AND_OLD_IMAGES",
    },
    "eventSourceARN": "arn:aws:dynamodb:eu-west-1:123456789012:table/t/stream/2026",
}


def test_a_change_has_native_values() -> None:
    change = decode_change(TOLD)
    assert (change.event, change.event_id, change.sequence) == ("MODIFY", "e1", "100000000003498069978")
    assert change.key == {"hashKey": "user!1", "rangeKey": "userId#a"}
    assert change.old is not None
    assert change.old["age"] == 41
    assert change.new is not None
    assert change.new["price"] == Decimal("1.5")
    assert change.new["picture"] == b"\x00\x01\xff"
    assert change.new["parts"] == [{"raw": b"\xff"}, None]
    assert change.new["hashes"] == {b"\x00", b"\x01"}
    assert not change.by_service


def test_a_removal_by_ttl_is_marked() -> None:
    removal = {**TOLD, "userIdentity": {"type": "Service", "principalId": "dynamodb.amazonaws.com"}}
    assert decode_change(removal).by_service


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1), inner, max_size=3),
    max_leaves=8,
)
ITEMS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), VALUES, max_size=4)


@given(ITEMS, st.none() | ITEMS, st.none() | ITEMS, st.booleans())
def test_every_change_comes_back_from_its_record(
    key: dict[str, Any], old: dict[str, Any] | None, new: dict[str, Any] | None, by_service: bool
) -> None:
    change = StreamRecord("REMOVE", key, old, new, "17", "e", 1795832888.25, by_service)
    assert decode_change(encode_change(change)) == change


@pytest.mark.parametrize(
    "broken",
    [
        {},
        {"dynamodb": {}},
        {**TOLD, "eventName": "RENAME"},
        {**TOLD, "dynamodb": {**TOLD["dynamodb"], "Keys": {"hashKey": {"Q": "secret value"}}}},
        {**TOLD, "dynamodb": {**TOLD["dynamodb"], "Keys": {"hashKey": "secret value"}}},
        {**TOLD, "dynamodb": {**TOLD["dynamodb"], "NewImage": {"n": {"N": "secret value"}}}},
        {**TOLD, "dynamodb": {**TOLD["dynamodb"], "NewImage": {"n": {"B": "%"}}}},
    ],
)
def test_what_is_no_change_is_refused_without_its_values(broken: dict[str, Any]) -> None:
    with pytest.raises(MalformedRequest) as caught:
        decode_change(broken)
    assert "secret" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_record_has_numbers_in_plain_digits() -> None:
    numbers = {"great": Decimal("1E+125"), "small": Decimal("-1E-130"), "set": {Decimal("1.50"), 10**40}}
    images = encode_change(StreamRecord("MODIFY", {"n": 10**50}, numbers, {"in": [numbers]}, "17", "e", 0.0))[
        "dynamodb"
    ]
    typed = {
        "great": {"N": "1" + "0" * 125},
        "small": {"N": "-0." + "0" * 129 + "1"},
        "set": {"NS": ["1.5", "1" + "0" * 40]},
    }
    assert images["Keys"] == {"n": {"N": "1" + "0" * 50}}
    assert images["OldImage"] == typed
    assert images["NewImage"] == {"in": {"L": [{"M": typed}]}}
